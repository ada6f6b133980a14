// Expressions, and what statements share with them: names, types, ranges. Items and statements are in
// parse_statements.cpp. See parse_tree.h.
#include "frontend/parse_tree.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>
#include <ranges>
#include <string>

#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_builder.h"
#include "frontend/parse_tokens.h"

namespace pipec::syntax {

using grammar::PipeParser;

namespace {

const std::map<std::size_t, ir::BinaryOp> kBinaryOps = {
    {PipeParser::STAR, ir::BinaryOp::Mul},        {PipeParser::SLASH, ir::BinaryOp::Div},
    {PipeParser::PERCENT, ir::BinaryOp::Mod},     {PipeParser::PLUS, ir::BinaryOp::Add},
    {PipeParser::MINUS, ir::BinaryOp::Sub},       {PipeParser::SHIFT_LEFT, ir::BinaryOp::Shl},
    {PipeParser::SHIFT_RIGHT, ir::BinaryOp::Shr}, {PipeParser::AMPERSAND, ir::BinaryOp::BitAnd},
    {PipeParser::CARET, ir::BinaryOp::BitXor},    {PipeParser::PIPE, ir::BinaryOp::BitOr},
    {PipeParser::AND, ir::BinaryOp::And},         {PipeParser::OR, ir::BinaryOp::Or},
    {PipeParser::EQUAL, ir::BinaryOp::Eq},        {PipeParser::NOT_EQUAL, ir::BinaryOp::Ne},
    {PipeParser::LESS, ir::BinaryOp::Lt},         {PipeParser::LESS_EQUAL, ir::BinaryOp::Le},
    {PipeParser::GREATER, ir::BinaryOp::Gt},      {PipeParser::GREATER_EQUAL, ir::BinaryOp::Ge},
};
const std::map<std::size_t, ir::ReduceOp> kReduceOps = {
    {PipeParser::SUM, ir::ReduceOp::Sum},       {PipeParser::PROD, ir::ReduceOp::Prod},
    {PipeParser::MIN, ir::ReduceOp::Min},       {PipeParser::MAX, ir::ReduceOp::Max},
    {PipeParser::ANY, ir::ReduceOp::Any},       {PipeParser::ALL, ir::ReduceOp::All},
    {PipeParser::ARGMIN, ir::ReduceOp::ArgMin}, {PipeParser::ARGMAX, ir::ReduceOp::ArgMax},
};
/// Names of types elsewhere.
const std::map<std::string_view, ir::Type> kForeignTypes = {
    {"float", ir::Type::Float32},   {"double", ir::Type::Float64},  {"half", ir::Type::Float16},
    {"f16", ir::Type::Float16},     {"f32", ir::Type::Float32},     {"f64", ir::Type::Float64},
    {"int", ir::Type::Int32},       {"short", ir::Type::Int16},     {"long", ir::Type::Int64},
    {"char", ir::Type::Int8},       {"i8", ir::Type::Int8},         {"i16", ir::Type::Int16},
    {"i32", ir::Type::Int32},       {"i64", ir::Type::Int64},       {"uint", ir::Type::UInt32},
    {"byte", ir::Type::UInt8},      {"uchar", ir::Type::UInt8},     {"ushort", ir::Type::UInt16},
    {"u8", ir::Type::UInt8},        {"u16", ir::Type::UInt16},      {"u32", ir::Type::UInt32},
    {"u64", ir::Type::UInt64},      {"boolean", ir::Type::Bool},    {"Bool", ir::Type::Bool},
    {"uint8_t", ir::Type::UInt8},   {"uint16_t", ir::Type::UInt16}, {"uint32_t", ir::Type::UInt32},
    {"uint64_t", ir::Type::UInt64}, {"int8_t", ir::Type::Int8},     {"int16_t", ir::Type::Int16},
    {"int32_t", ir::Type::Int32},   {"int64_t", ir::Type::Int64},   {"size_t", ir::Type::UInt64},
    {"usize", ir::Type::UInt64},    {"isize", ir::Type::Int64},     {"single", ir::Type::Float32},
};

/// The digits without the underscores between them.
std::string digits_of(std::string text) {
    std::erase(text, '_');
    return text;
}

/// The operand that a chain of left-recursive alternatives starts with; null where `e` is no such alternative.
PipeParser::ExprContext* left_operand(PipeParser::ExprContext* e) {
    if (auto* binary = dynamic_cast<PipeParser::BinaryExprContext*>(e)) return binary->left;
    if (auto* comparison = dynamic_cast<PipeParser::ComparisonExprContext*>(e)) return comparison->left;
    if (auto* call = dynamic_cast<PipeParser::CallExprContext*>(e)) return call->callee;
    if (auto* index = dynamic_cast<PipeParser::IndexExprContext*>(e)) return index->base;
    return nullptr;
}

}  // namespace

SourceRange TreeBuilder::range(const antlr4::ParserRuleContext& context) const {
    return join(range_of(id_, *context.start), range_of(id_, *context.stop));
}

SourceRange TreeBuilder::range(const antlr4::Token& token) const {
    return range_of(id_, token);
}

ast::Name TreeBuilder::name(PipeParser::NameContext& context) const {
    return {std::string(sources_.text(range(context))), range(context)};
}

ir::Type TreeBuilder::type(PipeParser::TypeContext& context) {
    const SourceRange where = range(context);
    if (const auto known = ir::type_from_name(context.start->getText())) return *known;
    const std::string text(sources_.text(where));
    auto report = diags_.report(diag::UnknownType, where, text);
    std::vector<std::string> names;
    for (int t = 0; t <= static_cast<int>(ir::Type::Float64); ++t) {
        names.emplace_back(ir::name(static_cast<ir::Type>(t)));
    }
    const auto foreign = foreign_type(text);
    const auto meant = foreign ? std::string(ir::name(*foreign)) : closest_name(text, names).value_or("");
    if (!meant.empty()) {
        report.suggest(where, meant);
    } else if (const std::size_t digit = text.find_first_of("234"); digit + 1 == text.size() && digit > 2) {
        report.note(fmt::format("a vector is a dimension: `float32[{}, R, C]`", text[digit]));
    } else {
        report.note("the types are bool, int8 to int64, uint8 to uint64, float16, float32 and float64");
    }
    return ir::type_from_name(meant).value_or(ir::Type::Float32);
}

ast::Range TreeBuilder::range_expr(PipeParser::RangeContext& context, int depth) {
    return {expr(context.lo, depth + 1), expr(context.hi, depth + 1), context.op->getType() == PipeParser::DOTDOT_EQUAL,
            range(context)};
}

ast::IndexRange TreeBuilder::index_range(PipeParser::IndexRangeContext& context, int depth) {
    return {name(*context.name()), range_expr(*context.range(), depth)};
}

std::vector<ast::IndexRange> TreeBuilder::index_ranges(const std::vector<PipeParser::IndexRangeContext*>& contexts,
                                                       int depth) {
    std::vector<ast::IndexRange> ranges;
    for (auto* context : contexts) ranges.push_back(index_range(*context, depth));
    return ranges;
}

std::vector<ast::LetBinding> TreeBuilder::bindings(PipeParser::BindingContext& context, int depth) {
    const ast::Expr value = expr(context.expr(), depth);
    const auto names = context.name();
    const std::size_t of = context.LBRACKET() != nullptr ? names.size() : 0;
    std::vector<ast::LetBinding> result;
    for (std::size_t i = 0; i < names.size(); ++i) result.push_back({name(*names[i]), value, i, of});
    return result;
}

std::vector<ast::Expr> TreeBuilder::exprs(const std::vector<PipeParser::ExprContext*>& contexts, int depth) {
    std::vector<ast::Expr> result;
    for (auto* context : contexts) result.push_back(expr(context, depth));
    return result;
}

ast::Expr TreeBuilder::expr(PipeParser::ExprContext* context, int depth) {
    // The left-recursive alternatives form a spine down the left side, as long as a sum has terms: it is walked in a
    // loop, and its length counts as depth.
    std::vector<PipeParser::ExprContext*> spine;
    for (auto* left = left_operand(context); left != nullptr; left = left_operand(context)) {
        spine.push_back(context);
        context = left;
    }
    if (depth + static_cast<int>(spine.size()) > kMaxDepth) {
        throw TooDeep{range(*context), static_cast<int>(spine.size())};
    }
    int level = depth + static_cast<int>(spine.size());
    ast::Expr result = operand(context, level);
    bool open_chain = false;  // `result` is a comparison that a further one extends, rather than one in parentheses
    for (auto* outer : spine | std::views::reverse) {
        result = extend(outer, std::move(result), open_chain, level--);
        open_chain = dynamic_cast<PipeParser::ComparisonExprContext*>(outer) != nullptr;
    }
    return result;
}

ast::Expr TreeBuilder::extend(PipeParser::ExprContext* outer, ast::Expr left, bool open_chain, int depth) {
    const SourceRange whole = join(left->range, range(*outer));
    if (auto* binary = dynamic_cast<PipeParser::BinaryExprContext*>(outer)) {
        return make(whole, ast::Binary{kBinaryOps.at(binary->op->getType()), range(*binary->op), std::move(left),
                                       expr(binary->right, depth)});
    }
    if (auto* comparison = dynamic_cast<PipeParser::ComparisonExprContext*>(outer)) {
        ast::Comparison chain{{left}, {}};
        if (open_chain) {
            chain = std::get<ast::Comparison>(left->value);
            middle_of_chain(dynamic_cast<PipeParser::ComparisonExprContext&>(*comparison->left).right);
        }
        chain.operands.push_back(expr(comparison->right, depth));
        chain.ops.push_back(kBinaryOps.at(comparison->op->getType()));
        return make(whole, std::move(chain));
    }
    if (auto* index = dynamic_cast<PipeParser::IndexExprContext*>(outer)) {
        return make(whole, ast::Index{std::move(left), expr(index->index, depth)});
    }
    auto& call = dynamic_cast<PipeParser::CallExprContext&>(*outer);
    ast::Call result{std::move(left), {}};
    for (auto* argument : call.argument()) {
        if (argument->name() != nullptr) {
            result.args.push_back(make(range(*argument), ast::SpliceRef{name(*argument->name()).text}));
        } else {
            result.args.push_back(expr(argument->expr(), depth));
        }
    }
    return make(whole, std::move(result));
}

/// `y > 0 & x > 0`, which is `y > (0 & x) > 0`.
void TreeBuilder::middle_of_chain(PipeParser::ExprContext* middle) {
    const auto* binary = dynamic_cast<PipeParser::BinaryExprContext*>(middle);
    if (binary == nullptr) return;
    const std::size_t op = binary->op->getType();
    if (op != PipeParser::AMPERSAND && op != PipeParser::PIPE) return;
    const SourceRange where = range(*binary->op);
    diags_.report(diag::BitwiseComparison, where, binary->op->getText(), excerpt(sources_, range(*binary)))
        .suggest(where, op == PipeParser::AMPERSAND ? "and" : "or")
        .note("parentheses say that it is meant");
}

ast::Expr TreeBuilder::operand(PipeParser::ExprContext* context, int depth) {
    const SourceRange whole = range(*context);
    if (auto* primary = dynamic_cast<PipeParser::PrimaryExprContext*>(context)) {
        return this->primary(*primary->primary(), depth);
    }
    if (auto* unary = dynamic_cast<PipeParser::UnaryExprContext*>(context)) {
        ast::Expr operand = expr(unary->operand, depth + 1);
        switch (unary->op->getType()) {
            case PipeParser::MINUS: return make(whole, ast::Unary{ir::UnaryOp::Neg, std::move(operand)});
            case PipeParser::TILDE: return make(whole, ast::Unary{ir::UnaryOp::BitNot, std::move(operand)});
            case PipeParser::NOT: return make(whole, ast::Unary{ir::UnaryOp::Not, std::move(operand)});
            default: return operand;  // unary plus
        }
    }
    if (auto* reduce = dynamic_cast<PipeParser::ReduceExprContext*>(context)) {
        auto ranges = index_ranges(reduce->indexRange(), depth + 1);
        return make(whole, ast::Reduce{kReduceOps.at(reduce->reduceOp()->start->getType()), std::move(ranges),
                                       expr(reduce->body, depth + 1)});
    }
    auto& ternary = dynamic_cast<PipeParser::TernaryExprContext&>(*context);
    ast::If result{expr(ternary.cond, depth + 1), expr(ternary.then, depth + 1), expr(ternary.otherwise, depth + 1)};
    const auto text = [&](const ast::Expr& e) { return sources_.text(e->range); };
    diags_.report(diag::TernaryOperator, range(*ternary.op))
        .suggest(whole,
                 fmt::format("if {} then {} else {}", text(result.cond), text(result.then), text(result.otherwise)));
    return make(whole, std::move(result));
}

ast::Expr TreeBuilder::primary(PipeParser::PrimaryContext& context, int depth) {
    const SourceRange whole = range(context);
    if (context.INT() != nullptr) return int_literal(*context.INT()->getSymbol());
    if (context.FLOAT() != nullptr) return float_literal(*context.FLOAT()->getSymbol());
    if (context.TRUE() != nullptr) return make(whole, ast::BoolLiteral{true});
    if (context.FALSE() != nullptr) return make(whole, ast::BoolLiteral{false});
    if (context.name() != nullptr) return make(whole, ast::NameRef{name(*context.name()).text});
    if (context.SATURATE() != nullptr) {
        const ir::Type to = type(*context.type());
        return make(whole, ast::Cast{to, true, range(*context.type()), expr(context.expr(), depth + 1)});
    }
    if (context.TYPE() != nullptr) {
        const SourceRange where = range(*context.TYPE()->getSymbol());
        const ir::Type to = ir::type_from_name(context.TYPE()->getText()).value();
        return make(whole, ast::Cast{to, false, where, expr(context.expr(), depth + 1)});
    }
    if (context.LBRACKET() != nullptr) {
        return make(whole, ast::TableLiteral{exprs(context.exprs()->expr(), depth + 1)});
    }
    if (auto* choice = context.ifExpr()) {
        ast::If result{expr(choice->cond, depth + 1), expr(choice->then, depth + 1), nullptr};
        if (choice->otherwise != nullptr) result.otherwise = expr(choice->otherwise, depth + 1);
        return make(whole, std::move(result));
    }
    if (auto* let = context.letExpr()) {
        ast::Let result;
        for (auto* binding : let->binding()) {
            for (ast::LetBinding& b : bindings(*binding, depth + 1)) result.bindings.push_back(std::move(b));
        }
        result.body = expr(let->body, depth + 1);
        return make(whole, std::move(result));
    }
    // Parentheses leave no node; the range of what is inside grows to hold them, so that an enclosing range does too.
    const ast::Expr inner = expr(context.expr(), depth + 1);
    return std::make_shared<const ast::ExprNode>(ast::ExprNode{whole, inner->value});
}

ast::Expr TreeBuilder::int_literal(const antlr4::Token& token) {
    const SourceRange where = range(token);
    const std::string digits = digits_of(token.getText());
    const bool prefixed = digits.size() > 2 && !std::isdigit(static_cast<unsigned char>(digits[1]));
    const int base = !prefixed ? 10 : (digits[1] == 'x' || digits[1] == 'X') ? 16 : 2;
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    if (std::from_chars(digits.data() + (prefixed ? 2 : 0), end, value, base).ec != std::errc{}) {
        diags_.report(diag::IntegerOutOfRange, where, excerpt(sources_, where));
    }
    return make(where, ast::IntLiteral{value});
}

ast::Expr TreeBuilder::float_literal(const antlr4::Token& token) {
    const SourceRange where = range(token);
    const std::string digits = digits_of(token.getText());
    double value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) {
        diags_.report(diag::FloatOutOfRange, where, excerpt(sources_, where));
    }
    return make(where, ast::FloatLiteral{value});
}

}  // namespace pipec::syntax

namespace pipec {

std::optional<ir::Type> foreign_type(std::string_view name) {
    const auto found = syntax::kForeignTypes.find(name);
    if (found == syntax::kForeignTypes.end()) return std::nullopt;
    return found->second;
}

}  // namespace pipec
