// The portable maps: PGM and PPM ("P5", "P6": 8 or 16 bits, big endian), and PFM ("Pf", "PF": float32, rows from the
// bottom to the top, little endian where the scale is negative; its magnitude is not applied).
//
// OpenImageIO's reader rounds 16-bit values through floats and its writer knows 8 bits only, so these are read and
// written here. Other portable maps (text, bitmaps, other greatest values) are left to it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "runner/error.h"
#include "runner/files.h"
#include "runner/raw_parts.h"

namespace pipec::runner {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;

struct PnmHeader {
    std::int64_t rows = 0, columns = 0, channels = 1;
    ir::Type type = ir::Type::UInt8;
    bool swap = false;       ///< the elements are big endian
    bool bottom_up = false;  ///< the first row is the lowest
};

/// The next word; comments run from `#` to the end of the line.
std::string word(std::istream& file) {
    std::string text;
    while (file >> text && text.front() == '#') std::getline(file, text);
    return text;
}

std::int64_t integer(std::istream& file) {
    const std::string text = word(file);
    const bool digits = !text.empty() && text.size() < 12 && text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoll(text) : -1;
}

/// None where it is not one of the maps that this file knows. Leaves the stream at the first element.
std::optional<PnmHeader> read_pnm_header(std::istream& file) {
    const std::string magic = word(file);
    if (magic != "P5" && magic != "P6" && magic != "Pf" && magic != "PF") return std::nullopt;
    PnmHeader header;
    header.channels = magic == "P6" || magic == "PF" ? 3 : 1;
    header.columns = integer(file);
    header.rows = integer(file);
    if (header.rows < 1 || header.columns < 1 || header.rows >= kMaxExtent || header.columns >= kMaxExtent) {
        return std::nullopt;
    }
    if (magic[1] == 'f' || magic[1] == 'F') {
        const std::string scale = word(file);
        if (scale.empty()) return std::nullopt;
        header.type = ir::Type::Float32;
        header.swap = scale.front() != '-';
        header.bottom_up = true;
    } else {
        const std::int64_t greatest = integer(file);
        if (greatest != 255 && greatest != 65535) return std::nullopt;
        header.type = greatest == 255 ? ir::Type::UInt8 : ir::Type::UInt16;
        header.swap = true;
    }
    file.get();  // the one white space between header and elements
    return header;
}

void swap_bytes(std::byte* row, std::size_t size, std::size_t width) {
    for (std::byte* at = row; at != row + size; at += width) std::reverse(at, at + width);
}

/// Calls `each` with the rows in the order of the file.
template <class F>
void for_each_row(const PnmHeader& header, std::byte* data, std::size_t row_bytes, F&& each) {
    for (std::int64_t i = 0; i < header.rows; ++i) {
        const std::int64_t row = header.bottom_up ? header.rows - 1 - i : i;
        each(data + static_cast<std::size_t>(row) * row_bytes);
    }
}

}  // namespace

std::optional<Array> read_pnm(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::optional<PnmHeader> header = read_pnm_header(file);
    if (!header) return std::nullopt;
    Array image(header->type, {header->rows, header->columns, header->channels});
    const std::size_t row_bytes = image.data.size() / static_cast<std::size_t>(header->rows);
    const auto width = static_cast<std::size_t>(ir::bytes(header->type));
    for_each_row(*header, image.data.data(), row_bytes, [&](std::byte* row) {
        if (!file.read(reinterpret_cast<char*>(row), static_cast<std::streamsize>(row_bytes))) {
            throw file_error(fmt::format("cannot read {}: it ends before its last row", path));
        }
        if (header->swap) swap_bytes(row, row_bytes, width);
    });
    return image;
}

std::unique_ptr<PartReader> open_pnm(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::optional<PnmHeader> header = read_pnm_header(file);
    if (!header) return nullptr;
    return open_raw(path, {header->type,
                           {header->rows, header->columns, header->channels},
                           file.tellg(),
                           false,
                           header->bottom_up,
                           header->swap});
}

void write_pnm(const std::string& path, const Array& image) {
    const PnmHeader header = {image.extents[0],
                              image.extents[1],
                              image.extents[2],
                              image.type,
                              image.type == ir::Type::UInt16,
                              image.type == ir::Type::Float32};
    const bool color = header.channels == 3;
    const char* magic = header.bottom_up ? (color ? "PF" : "Pf") : (color ? "P6" : "P5");
    const char* scale = header.bottom_up ? "-1.0" : header.type == ir::Type::UInt8 ? "255" : "65535";
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << fmt::format("{}\n{} {}\n{}\n", magic, header.columns, header.rows, scale);
    const std::size_t row_bytes = image.data.size() / static_cast<std::size_t>(header.rows);
    Memory row(row_bytes);
    for_each_row(header, image.data.data(), row_bytes, [&](const std::byte* from) {
        std::memcpy(row.data(), from, row_bytes);
        if (header.swap) swap_bytes(row.data(), row_bytes, static_cast<std::size_t>(ir::bytes(header.type)));
        file.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row_bytes));
    });
    file.close();
    if (!file) throw file_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace pipec::runner
