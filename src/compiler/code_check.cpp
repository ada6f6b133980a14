#include "compiler/code_check.h"

namespace pipec::compiler {

std::optional<fusion::Refused> CodeCheck::refusal(const ir::Pipeline& pipeline, const poly::Model& model,
                                                  const std::vector<poly::Dependence>& dependences,
                                                  const poly::Group& group,
                                                  const fusion::GroupSchedule& schedule) const {
    codegen::MadeGroups none;
    return (made == nullptr ? none : *made)
        .refusal(pipeline, model, dependences, target, fast_math, group, schedule, sources);
}

}  // namespace pipec::compiler
