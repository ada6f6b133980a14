// What in a kernel depends on how its threads run: collectives, and the order of accesses to shared memory.
#pragma once

#include <string>
#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen::kernel {

/// Sentences about shuffles and barriers that not all lanes reach, conditions that are marked as uniform and are not,
/// reads of shared arrays that no barrier separates from what was written before, and what kernel_written.h finds.
/// `kernel` is well-formed otherwise.
std::vector<std::string> verify_flow(const ir::Pipeline& pipeline, const Kernel& kernel);

/// Calls `f` on every statement, also those inside of others, in the order of the text.
template <class F>
void for_each_stmt(const Body& body, const F& f);
template <class F>
void for_each_stmt(const Stmt& stmt, const F& f) {
    f(stmt);
    if (const auto* loop = std::get_if<For>(&stmt.value)) for_each_stmt(loop->body, f);
    if (const auto* branch = std::get_if<If>(&stmt.value)) {
        for_each_stmt(branch->then, f);
        for_each_stmt(branch->otherwise, f);
    }
}
template <class F>
void for_each_stmt(const Body& body, const F& f) {
    for (const Stmt& stmt : body) for_each_stmt(stmt, f);
}

/// The expressions that a statement evaluates itself (not those of statements inside of it), in order; none is null.
std::vector<ir::Expr> expressions(const Stmt& stmt);

/// An expression as text, no longer than its graph; `locals` are the names of the kernel's arrays.
std::string expression_text(ir::Pipeline pipeline, const ir::Expr& e, const std::vector<std::string>& locals);

}  // namespace pipec::codegen::kernel
