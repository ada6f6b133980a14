// NumPy's array format: "\x93NUMPY", version, length of the header, a Python dictionary with the element type, the
// memory order and the shape, then the elements. Versions 1 to 3 are read, version 1 is written (C order, little
// endian).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>

#include "runner/error.h"
#include "runner/files.h"
#include "runner/raw_parts.h"

namespace pipec::runner {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 20U;

struct TypeCode {
    std::string_view code;
    ir::Type type;
};
constexpr std::array<TypeCode, 12> kTypes = {{{"b1", ir::Type::Bool},
                                              {"i1", ir::Type::Int8},
                                              {"i2", ir::Type::Int16},
                                              {"i4", ir::Type::Int32},
                                              {"i8", ir::Type::Int64},
                                              {"u1", ir::Type::UInt8},
                                              {"u2", ir::Type::UInt16},
                                              {"u4", ir::Type::UInt32},
                                              {"u8", ir::Type::UInt64},
                                              {"f2", ir::Type::Float16},
                                              {"f4", ir::Type::Float32},
                                              {"f8", ir::Type::Float64}}};

struct NpyHeader {
    ir::Type type = ir::Type::UInt8;
    bool big_endian = false;
    bool fortran_order = false;
    Extents extents;
};

/// The text after `'key':` up to the end of the dictionary.
std::optional<std::string_view> value_of(std::string_view dictionary, std::string_view key) {
    const std::size_t at = dictionary.find(fmt::format("'{}'", key));
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t colon = dictionary.find(':', at);
    if (colon == std::string_view::npos) return std::nullopt;
    const std::size_t begin = dictionary.find_first_not_of(' ', colon + 1);
    if (begin == std::string_view::npos) return std::nullopt;
    return dictionary.substr(begin);
}

std::optional<Extents> parse_shape(std::string_view text) {
    const std::size_t close = text.find(')');
    if (text.empty() || text.front() != '(' || close == std::string_view::npos) return std::nullopt;
    text = text.substr(1, close - 1);
    Extents extents;
    const char *at = text.data(), *end = text.data() + text.size();
    while (at != end) {
        if (*at == ' ' || *at == ',') {
            ++at;
            continue;
        }
        std::int64_t extent = 0;
        const auto [next, error] = std::from_chars(at, end, extent);
        if (error != std::errc() || extent < 0) return std::nullopt;
        extents.push_back(extent);
        at = next;
    }
    return extents;
}

std::optional<NpyHeader> parse_header(std::string_view dictionary) {
    const auto descr = value_of(dictionary, "descr");
    const auto order = value_of(dictionary, "fortran_order");
    const auto shape = value_of(dictionary, "shape");
    if (!descr || descr->size() < 6 || !order || !shape) return std::nullopt;
    NpyHeader header;
    const auto type = parse_element_type(descr->substr(1, 3));
    if (!type || descr->front() != (*descr)[4]) return std::nullopt;
    header.type = type->type;
    header.big_endian = type->big_endian;
    header.fortran_order = order->starts_with("True");
    const auto extents = parse_shape(*shape);
    if (!extents) return std::nullopt;
    header.extents = *extents;
    return header;
}

Error bad(const std::string& path, const char* reason) {
    return file_error(fmt::format("cannot read {}: {}", path, reason));
}

/// Leaves the stream at the first element. Throws Error.
NpyHeader read_npy_header(std::istream& file, const std::string& path) {
    std::array<char, 8> start{};
    if (!file.read(start.data(), start.size()) || std::string_view(start.data(), kMagic.size()) != kMagic) {
        throw bad(path, "it is not a .npy file");
    }
    std::array<unsigned char, 4> length{};
    file.read(reinterpret_cast<char*>(length.data()), start[6] == 1 ? 2 : 4);
    const std::size_t size = length[0] | static_cast<std::size_t>(length[1]) << 8U |
                             static_cast<std::size_t>(length[2]) << 16U | static_cast<std::size_t>(length[3]) << 24U;
    if (!file || size > kMaxHeader) throw bad(path, "its header is damaged");
    std::string text(size, '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(size))) throw bad(path, "its header is damaged");
    std::optional<NpyHeader> header = parse_header(text);
    if (!header) throw bad(path, "its header is damaged, or its elements are not numbers of 8 to 64 bits");
    return *std::move(header);
}

/// All that comes before the elements.
std::string header_text(ir::Type element, const Extents& extents) {
    std::string dictionary =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", element_type_name(element),
                    fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
    constexpr std::size_t kPrefix = 10, kAlign = 64;  // the elements start at a multiple of 64
    dictionary.append(kAlign - (kPrefix + dictionary.size() + 1) % kAlign, ' ');
    dictionary += '\n';
    return std::string(kMagic) + '\x01' + '\0' + static_cast<char>(dictionary.size() & 0xFFU) +
           static_cast<char>(dictionary.size() >> 8U) + dictionary;
}

}  // namespace

std::optional<ElementType> parse_element_type(std::string_view name) {
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeCode& t) { return name.substr(1) == t.code; });
    if (name.size() != 3 || type == kTypes.end()) return std::nullopt;
    return ElementType{type->type, name[0] == '>'};
}

std::string element_type_name(ir::Type type) {
    const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeCode& t) { return t.type == type; });
    return fmt::format("{}{}", ir::bytes(type) == 1 ? '|' : '<', found->code);
}

Array read_npy(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const NpyHeader header = read_npy_header(file, path);
    Extents stored = header.extents;  // as it lies in the file
    if (header.fortran_order) std::reverse(stored.begin(), stored.end());
    Array array(header.type, stored);
    file.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
    if (!file) throw bad(path, "it ends before its last element");
    tidy_elements(array, header.big_endian);
    if (!header.fortran_order) return array;
    std::vector<int> dims(stored.size());
    std::iota(dims.rbegin(), dims.rend(), 0);
    return transpose(array, dims);
}

void write_npy(const std::string& path, const Array& array) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << header_text(array.type, array.extents);
    file.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
    file.close();
    if (!file) throw file_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::unique_ptr<PartReader> open_npy(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const NpyHeader header = read_npy_header(file, path);
    return open_raw(path, {header.type, header.extents, file.tellg(), header.fortran_order, false, header.big_endian});
}

std::unique_ptr<PartWriter> create_npy(const std::string& path, const std::string& shown, ir::Type type,
                                       const Extents& extents) {
    return create_raw(path, shown, header_text(type, extents), type, extents);
}

}  // namespace pipec::runner
