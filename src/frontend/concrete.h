// The concrete syntax tree: every token of a file in its place, comments beside it. For who cares how a program is
// written (src/format), not what it means; the other tree is ast.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::concrete {

enum class TokenKind : std::uint8_t {
    Word,          ///< keyword, type, name or number
    Punctuation,   ///< operator, bracket, separator
    String,        ///< a path
    LineComment,   ///< `//` or `///`, without its newline
    BlockComment,  ///< `/* */`
};

struct Token {
    TokenKind kind;
    SourceRange range;
};

/// The rules of grammar/PipeParser.g4; of `expr` its alternatives.
enum class Rule : std::uint8_t {
    Leaf,  ///< a token
    File,
    Constant,
    Function,
    PipelineHead,
    Where,
    Ports,
    Port,
    Block,  ///< `block` and `accBlock`
    Statement,
    Definition,
    Accumulate,
    Update,
    If,  ///< statement, `ifStatement` and `accIf`
    Binding,
    Range,
    Splice,      ///< `..k` as dimension or argument
    Brackets,    ///< what has brackets that belong to the name before them
    Dimensions,  ///< the same: dims, extents, orders
    Call,        ///< and indices
    Unary,
    Binary,  ///< and comparisons
    Reduce,
    IfExpr,
    LetExpr,
    Cast,
    Saturate,
    Nested,  ///< `(e)`, `[a, b]`
    Other,   ///< nothing of its own
};

struct Node {
    Rule rule = Rule::Other;
    int first = 0, last = -1;  ///< its tokens, as indices of File::tokens; comments may be among them
    std::vector<Node> children;
};

struct File {
    std::vector<Token> tokens;  ///< in the order of the text, comments included, without the end of file
    Node root;
};

}  // namespace pipec::concrete

namespace pipec {

/// Parses a file as parse() does, with the same diagnostics. None where there was an error.
std::optional<concrete::File> parse_concrete(const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec
