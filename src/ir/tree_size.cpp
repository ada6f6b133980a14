#include "ir/tree_size.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ir/visit.h"

namespace pipec::ir {

std::size_t tree_size(const Expr& e, std::size_t limit) {
    std::unordered_map<const Node*, std::size_t> known;
    const std::function<std::size_t(const Expr&)> size = [&](const Expr& node) -> std::size_t {
        if (const auto found = known.find(node.get()); found != known.end()) return found->second;
        std::size_t result = 1;
        for_each_child(*node, [&](const Expr& child) { result = std::min(result + size(child), limit); });
        known.emplace(node.get(), result);
        return result;
    };
    return size(e);
}

}  // namespace pipec::ir
