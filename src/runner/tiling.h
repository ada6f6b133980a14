// How the outputs of a pipeline are cut into tiles.
//
// Tiles are cut from the output with the most elements in rows and columns; others, such as the levels of a pyramid,
// are cut in proportion. Dimensions of constant extent, such as channels, are not cut.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/library.h"
#include "runner/parts.h"
#include "runner/tile_shape.h"

namespace pipec::runner {

class Tiling {
public:
    /// An output that is computed, with its extents.
    struct Output {
        Buffer buffer;
        Extents extents;
    };
    explicit Tiling(const std::vector<Output>& outputs);

    /// What is cut: rows and columns of the largest output.
    [[nodiscard]] TileShape whole() const { return whole_; }
    /// How many tiles lie below each other and beside each other.
    [[nodiscard]] TileShape counts(TileShape tile) const;
    /// What one tile has of an output. `at`: its number from above and from the left. Outputs without rows and columns
    /// belong to the first tile.
    [[nodiscard]] std::optional<Box> window(std::size_t output, TileShape tile, TileShape at) const;

private:
    struct Cut {
        Extents extents;
        int rows = -1, columns = -1;  ///< the dimensions that are cut; -1: none
    };
    std::vector<Cut> cuts_;
    TileShape whole_;
};

}  // namespace pipec::runner
