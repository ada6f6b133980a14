// The fixed parts of generated sources come in pieces; a file has those that it uses, and those that these need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipec::codegen {

/// A declaration with its comment, or (without names) a heading for the pieces behind it.
struct Piece {
    std::string_view names;  ///< by which others use it, with blanks between
    std::string_view text;
};

/// The texts of the pieces that have a name which `code`, or another piece that is taken, mentions outside of comments
/// and literals: in their order, each with an empty line behind it.
std::string used_pieces(const std::vector<Piece>& pieces, std::string_view code);

}  // namespace pipec::codegen
