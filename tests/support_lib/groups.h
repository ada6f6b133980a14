// Which stages of a program can be one kernel, for tests that try them all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "support_lib/compile.h"

namespace pipec::testing {

/// A pipeline as code generation sees it: cheap stages inside of their readers.
struct Inlined {
    ir::Pipeline pipeline;
    poly::Model model;
    std::vector<poly::Dependence> dependences;
};
Inlined inline_cheap(const ir::Pipeline& pipeline, const poly::Model& model);

/// Legal groups, each once: every stage with one that it reads, and what becomes of that as more and more is added that
/// its members read, and then that reads them, as long as all can be one kernel.
std::vector<poly::Group> legal_groups(const Inlined& program);

/// A few of many, spread over all; all of them where there are few, or with PIPEC_ALL_GROUPS=1 in the environment.
std::vector<poly::Group> some_of(std::vector<poly::Group> groups);

/// The group of these stages; none where it is not legal.
std::optional<poly::Group> legal_group(const Inlined& program, const std::vector<int>& stages);

/// All stages of the first pipeline in a program's text as one group, which has to be legal.
struct WholeGroup {
    Inlined program;
    poly::Group group;
};
WholeGroup whole_group(const std::string& text);

}  // namespace pipec::testing
