// What the names in a program's text mean: each declaration, and each place where it is used. For editors; compilation
// needs no such table.
//
// A table is complete where elaboration is not: it has names in functions that nobody calls, in branches that are not
// taken, and in what is left of a program with errors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/elaborate.h"

namespace pipec {

enum class NameKind : std::uint8_t {
    Function,
    Pipeline,
    Const,
    Let,
    Stage,
    Array,  ///< of stages: `g[0] = ...`
    Input,
    Output,
    Parameter,  ///< of a pipeline
    Size,
    Argument,  ///< of a function
    Variable,  ///< of a dimension, a reduction or a loop
    Splice,    ///< `..k`
};

struct Declaration {
    std::string name;
    NameKind kind;
    SourceRange range;  ///< of the name
    SourceRange whole;  ///< of the definition
    /// Where the name can be used; of what a file declares this is the file, and those that import it can use it, too.
    SourceRange scope;
    bool of_file = false;  ///< declared by a file: a function or a constant
    std::string doc;
    std::vector<std::string> arguments;  ///< of a function: `v = 0` where there is a default
};

struct NameUse {
    SourceRange range;
    int declaration;          ///< index into NameTable::declarations
    bool definition = false;  ///< what the name stands for is said here: an output, an element of an array, an update
};

struct NameTable {
    std::vector<Declaration> declarations;
    std::vector<NameUse> uses;  ///< in the order of files and places; the declarations' own names are not among them
    /// The files whose declarations each file can use without more, by import.
    std::map<FileId, std::vector<FileId>> imports;
};

NameTable collect_names(const Program& program, const SourceManager& sources);

/// What elaboration learns about names, for who asks for it.
struct ElaborationRecord {
    using Place = std::pair<FileId, std::uint32_t>;  ///< where a name begins
    /// Each name that was looked up and found, and where what it means is declared.
    std::map<Place, Place> uses;
    /// For declarations, what their values are, in words: `int32`, `3 x 3 table`, `1.5`. Several where loops and calls
    /// made several; at most kMostValues.
    std::map<Place, std::vector<std::string>> values;
    static constexpr std::size_t kMostValues = 4;
};

/// The names of functions of the language itself.
const std::vector<std::string>& builtin_function_names();

}  // namespace pipec
