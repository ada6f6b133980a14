// A plan as text, for `--emit plan`.
#pragma once

#include <string>
#include <vector>

#include "fusion/group_shape.h"
#include "ir/pipeline.h"
#include "plan/plan.h"

namespace pipec::plan {

/// Names of the group's dimensions: those that its stages give them.
std::vector<std::string> dimension_names(const ir::Pipeline& pipeline, const poly::Group& group);

/// Lines about a plan, each indented by two blanks or more. `pipeline` has the group's stages.
std::string to_string(const ir::Pipeline& pipeline, const fusion::GroupShape& shape, const Plan& plan);

}  // namespace pipec::plan
