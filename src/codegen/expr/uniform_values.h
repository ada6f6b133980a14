// What is the same at all points of a kernel whose threads have many: computed once, before the first of them.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/kernel/kernel_build.h"
#include "fusion/uniform_work.h"
#include "ir/expr.h"

namespace pipec::codegen {

class UniformValues {
public:
    /// Adds definitions to the end of `body`. `is_safe`: an expression can be evaluated whatever conditions it stands
    /// behind.
    UniformValues(KernelBuilder& build, kernel::Body& body, std::function<bool(const ir::Expr&)> is_safe)
        : build_(build), body_(body), is_safe_(std::move(is_safe)) {}

    /// `e` with variables for its parts that are the same at all points and take work: floats alone, since proofs
    /// reason about integers and conditions as they are written.
    ir::Expr replaced(const ir::Expr& e);

private:
    bool is_worth(const ir::Expr& e);

    KernelBuilder& build_;
    kernel::Body& body_;
    std::function<bool(const ir::Expr&)> is_safe_;
    fusion::Sameness same_;
    std::unordered_map<const ir::Node*, std::pair<ir::Expr, ir::Expr>> known_;  ///< the node, and what stands for it
};

}  // namespace pipec::codegen
