// Rows and columns of tiles, and how a person writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pipec::runner {

struct TileShape {
    std::int64_t rows = 1, columns = 1;
    friend bool operator==(const TileShape&, const TileShape&) = default;
};

/// "ROWSxCOLS"; none where it is not of that form.
std::optional<TileShape> parse_tile_shape(const std::string& text);

}  // namespace pipec::runner
