// Whether code can be generated for a group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/made_groups.h"
#include "fusion/refused.h"
#include "fusion/schedule.h"
#include "fusion/target.h"
#include "poly/dependences.h"
#include "poly/group.h"
#include "support/source.h"

namespace pipec::compiler {

/// What decides that besides the group and its schedule. All of it outlives whoever asks.
struct CodeCheck {
    const fusion::Target& target;
    const SourceManager& sources;
    bool fast_math = false;
    codegen::MadeGroups* made = nullptr;  ///< keeps the code of possible groups; null: nothing does

    /// Why no code can be generated for a group of a pipeline that inlining left, with its dependences.
    [[nodiscard]] std::optional<fusion::Refused> refusal(const ir::Pipeline& pipeline, const poly::Model& model,
                                                         const std::vector<poly::Dependence>& dependences,
                                                         const poly::Group& group,
                                                         const fusion::GroupSchedule& schedule) const;
};

}  // namespace pipec::compiler
