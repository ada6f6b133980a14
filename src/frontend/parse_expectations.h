// What could stand at a syntax error, in words, for the parser only.
#pragma once

#include <antlr4-runtime.h>

#include <string>
#include <vector>

namespace pipec::syntax {

/// What a name would be where the parser is: "the name of an input".
std::string name_in_words(antlr4::Parser& parser, const std::vector<std::size_t>& expected);

/// What the types of tokens `expected` amount to: "an operator", "`)`".
std::vector<std::string> expectations(antlr4::Parser& parser, const std::vector<std::size_t>& expected);

}  // namespace pipec::syntax
