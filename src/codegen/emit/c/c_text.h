// C++ expression text with its precedence, so that parentheses stand only where they are needed (and where compilers
// would warn without them).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipec::codegen {

/// C++ operators, loosest first. Primary: names, literals, calls, subscripts.
enum class Precedence {
    Ternary,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Shift,
    Sum,
    Product,
    Unary,
    Primary
};

struct Text {
    std::string text;
    Precedence precedence = Precedence::Primary;
};

/// `text`, in parentheses where it binds less tightly than `need`.
inline std::string at_least(const Text& text, Precedence need) {
    return text.precedence < need ? "(" + text.text + ")" : text.text;
}

/// A literal: a negative one is an operand of unary minus.
inline Text literal(std::string text) {
    const bool negative = text.front() == '-';
    return {std::move(text), negative ? Precedence::Unary : Precedence::Primary};
}

/// `a op b`. Mixing && with ||, or bit operators and shifts with anything, takes parentheses.
inline Text infix(std::string_view op, Precedence precedence, const Text& a, const Text& b) {
    Precedence left = precedence, right = static_cast<Precedence>(static_cast<int>(precedence) + 1);
    switch (precedence) {
        case Precedence::Or: left = right = Precedence::BitOr; break;
        case Precedence::And: left = right = Precedence::BitOr; break;
        case Precedence::BitOr:
        case Precedence::BitXor:
        case Precedence::BitAnd:
        case Precedence::Shift: left = right = Precedence::Unary; break;
        case Precedence::Equality:
        case Precedence::Relation: left = right = Precedence::Shift; break;
        default: break;
    }
    // (a && b) && c and (a | b) | c need none.
    if (a.precedence == precedence && precedence != Precedence::Shift && precedence < Precedence::Equality) {
        left = precedence;
    }
    return {at_least(a, left) + " " + std::string(op) + " " + at_least(b, right), precedence};
}

/// `op a`, never `--a`.
inline Text prefix(std::string_view op, const Text& a) {
    std::string operand = at_least(a, Precedence::Unary);
    if (operand.front() == op.front()) operand = "(" + operand + ")";
    return {std::string(op) + operand, Precedence::Unary};
}

/// `a, b, c`.
inline std::string list_text(const std::vector<Text>& parts) {
    std::string text;
    for (const Text& part : parts) text.append(text.empty() ? "" : ", ").append(part.text);
    return text;
}

inline Text call_text(std::string_view function, const std::vector<Text>& args) {
    return {std::string(function) + "(" + list_text(args) + ")", Precedence::Primary};
}

}  // namespace pipec::codegen
