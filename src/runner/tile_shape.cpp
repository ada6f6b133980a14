#include "runner/tile_shape.h"

#include <charconv>

namespace pipec::runner {

namespace {

std::optional<std::int64_t> size(std::string_view text) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMost) return std::nullopt;
    return value;
}

}  // namespace

std::optional<TileShape> parse_tile_shape(const std::string& text) {
    const std::size_t x = text.find('x');
    if (x == std::string::npos) return std::nullopt;
    const auto rows = size(std::string_view(text).substr(0, x)), columns = size(std::string_view(text).substr(x + 1));
    if (!rows || !columns) return std::nullopt;
    return TileShape{*rows, *columns};
}

}  // namespace pipec::runner
