#include "frontend/elaborate_syntax.h"

#include <algorithm>

#include "ir/visit.h"

namespace pipec::elab {

using List = std::vector<ast::Expr>;

std::vector<ast::Expr> children(const ast::Expr& e) {
    return std::visit(ir::overloaded{
                          [](const ast::TableLiteral& n) { return n.elements; },
                          [](const ast::Call& n) {
                              List list{n.callee};
                              list.insert(list.end(), n.args.begin(), n.args.end());
                              return list;
                          },
                          [](const ast::Index& n) {
                              return List{n.base, n.index};
                          },
                          [](const ast::Cast& n) { return List{n.operand}; },
                          [](const ast::Unary& n) { return List{n.operand}; },
                          [](const ast::Binary& n) {
                              return List{n.left, n.right};
                          },
                          [](const ast::Comparison& n) { return n.operands; },
                          [](const ast::If& n) {
                              return n.otherwise ? List{n.cond, n.then, n.otherwise} : List{n.cond, n.then};
                          },
                          [](const ast::Let& n) {
                              List list;
                              for (const ast::LetBinding& b : n.bindings) list.push_back(b.value);
                              list.push_back(n.body);
                              return list;
                          },
                          [](const ast::Reduce& n) {
                              List list;
                              for (const ast::IndexRange& r : n.ranges) {
                                  list.push_back(r.range.lo);
                                  list.push_back(r.range.hi);
                              }
                              list.push_back(n.body);
                              return list;
                          },
                          [](const auto&) { return List{}; },
                      },
                      e->value);
}

bool mentions(const ast::Expr& e, const std::set<std::string>& names) {
    if (const auto* ref = std::get_if<ast::NameRef>(&e->value)) return names.contains(ref->name);
    const List operands = children(e);
    return std::ranges::any_of(operands, [&](const ast::Expr& x) { return x && mentions(x, names); });
}

std::set<std::string> mentioned_names(const ast::Expr& e) {
    if (const auto* ref = std::get_if<ast::NameRef>(&e->value)) return {ref->name};
    std::set<std::string> result;
    for (const ast::Expr& child : children(e)) {
        if (child) result.merge(mentioned_names(child));
    }
    return result;
}

std::set<std::string> bound_names(const ast::Expr& e) {
    std::set<std::string> result;
    if (const auto* let = std::get_if<ast::Let>(&e->value)) {
        for (const ast::LetBinding& b : let->bindings) result.insert(b.name.text);
    }
    if (const auto* reduce = std::get_if<ast::Reduce>(&e->value)) {
        for (const ast::IndexRange& r : reduce->ranges) result.insert(r.name.text);
    }
    for (const ast::Expr& child : children(e)) {
        if (child) result.merge(bound_names(child));
    }
    return result;
}

std::vector<const ast::Call*> calls_with_splice(const ast::Expr& e, const std::string& name) {
    std::vector<const ast::Call*> result;
    if (const auto* call = std::get_if<ast::Call>(&e->value)) {
        const bool here = std::ranges::any_of(call->args, [&](const ast::Expr& arg) {
            const auto* splice = std::get_if<ast::SpliceRef>(&arg->value);
            return splice != nullptr && splice->name == name;
        });
        if (here) result.push_back(call);
    }
    for (const ast::Expr& child : children(e)) {
        if (!child) continue;
        const auto inner = calls_with_splice(child, name);
        result.insert(result.end(), inner.begin(), inner.end());
    }
    return result;
}

}  // namespace pipec::elab
