#include "fusion/uniform_work.h"

#include "fusion/inline.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

bool Sameness::of(const ir::Expr& e) {
    if (const auto known = known_.find(e.get()); known != known_.end()) return known->second.second;
    bool result = ir::as<ir::Variable>(e) == nullptr && ir::as<ir::Reduce>(e) == nullptr;
    ir::for_each_child(*e, [&](const ir::Expr& child) { result = of(child) && result; });
    known_.emplace(e.get(), std::pair{e, result});
    return result;
}

std::int64_t work_of(const ir::Expr& e) {
    std::int64_t result = 0;
    ir::for_each_node(e, [&](const ir::Expr& node) { result += operations(node); });
    return result;
}

}  // namespace pipec::fusion
