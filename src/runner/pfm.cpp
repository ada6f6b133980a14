// Portable float map: "PF" (three channels) or "Pf" (one), width, height, scale whose sign is the byte order (negative:
// little endian), then rows of float32 from the bottom to the top. The scale's magnitude is not applied.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <fstream>

#include "runner/error.h"
#include "runner/files.h"

namespace pipec::runner {

static_assert(std::endian::native == std::endian::little);

namespace {
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;

void swap_bytes(std::byte* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, words += 4) {
        std::swap(words[0], words[3]);
        std::swap(words[1], words[2]);
    }
}
}  // namespace

Array read_pfm(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string magic;
    std::int64_t columns = 0, rows = 0;
    double scale = 0;
    file >> magic >> columns >> rows >> scale;
    if (!file || (magic != "PF" && magic != "Pf") || columns < 1 || rows < 1 || columns >= kMaxExtent ||
        rows >= kMaxExtent || scale == 0) {
        throw file_error(fmt::format("cannot read {}: it is not a PFM file", path));
    }
    file.get();  // the one white space after the header
    Array image(ir::Type::Float32, {rows, columns, magic == "PF" ? 3 : 1});
    const auto row_bytes = image.data.size() / static_cast<std::size_t>(rows);
    for (std::int64_t row = rows - 1; row >= 0; --row) {
        auto* to = image.data.data() + static_cast<std::size_t>(row) * row_bytes;
        if (!file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(row_bytes))) {
            throw file_error(fmt::format("cannot read {}: it ends before its last row", path));
        }
    }
    if (scale > 0) swap_bytes(image.data.data(), image.size());
    return image;
}

void write_pfm(const std::string& path, const Array& image) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << fmt::format("{}\n{} {}\n-1.0\n", image.extents[2] == 3 ? "PF" : "Pf", image.extents[1], image.extents[0]);
    const auto rows = static_cast<std::size_t>(image.extents[0]);
    const std::size_t row_bytes = image.data.size() / rows;
    for (std::size_t row = rows; row-- > 0;) {
        file.write(reinterpret_cast<const char*>(image.data.data() + row * row_bytes),
                   static_cast<std::streamsize>(row_bytes));
    }
    file.close();
    if (!file) throw file_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace pipec::runner
