// Syntax errors that come from other languages, for the parser only: casts, comparisons, choices and declarations as C,
// Python, Rust and others write them.
#pragma once

#include <antlr4-runtime.h>

#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::syntax {

/// Where a syntax error is.
struct ErrorPlace {
    antlr4::TokenStream& tokens;
    const antlr4::Token& found;
    const antlr4::Token* statement;            ///< the first token of the statement around it; may be null
    std::size_t rule;                          ///< that is being parsed
    const std::vector<std::size_t>& expected;  ///< types of tokens; may be empty
    bool in_function;                          ///< the statement is one of a `fn f(a) { ... }`
};

/// Said of `float f;` and of Halide's `Func f;`.
inline constexpr std::string_view kNothingDeclared =
    "nothing is declared: `f(y, x) = e` defines an image, `let a = e` names a number";

/// Reports what is meant and how it is written. False, and nothing is reported, where that is not known.
bool report_foreign_syntax(const ErrorPlace& place, const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec::syntax
