// Questions about syntax trees that elaboration asks before it evaluates them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontend/ast.h"

namespace pipec::elab {

/// The direct subexpressions in the order of the text (bounds of a reduction before its body).
std::vector<ast::Expr> children(const ast::Expr& e);

/// True when one of the names occurs in `e` (as a value; where it is bound anew does not matter here).
bool mentions(const ast::Expr& e, const std::set<std::string>& names);

/// The names that occur in `e` as values, and those that its lets and reductions bind.
std::set<std::string> mentioned_names(const ast::Expr& e);
std::set<std::string> bound_names(const ast::Expr& e);

/// Calls with `..name` among their arguments, outermost first.
std::vector<const ast::Call*> calls_with_splice(const ast::Expr& e, const std::string& name);

}  // namespace pipec::elab
