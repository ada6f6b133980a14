// Arrays in Zarr's format, version 2: a directory with a description, .zarray, and a file for each chunk.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runner/convert.h"
#include "runner/error.h"
#include "runner/files.h"
#include "runner/inflate.h"
#include "runner/parts.h"
#include "runner/pending.h"
#include "runner/raw_parts.h"

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace pipec::runner {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr double kMostChunkBytes = 0x1p31;
constexpr std::int64_t kChunk = 512, kChunkOfOthers = 16;

Error unreadable(const std::string& path, const std::string& reason) {
    return file_error(fmt::format("cannot read {}: {}", path, reason));
}
Error unwritable(const std::string& path, int reason) {
    return file_error(fmt::format("cannot write {}: {}", path, std::strerror(reason)));
}

/// The name of the chunk that begins at `lo`.
std::string chunk_name(const Extents& lo, const Extents& chunk, const std::string& separator) {
    Extents number = lo;
    for (std::size_t dim = 0; dim < lo.size(); ++dim) number[dim] /= chunk[dim];
    return number.empty() ? "0" : fmt::format("{}", fmt::join(number, separator));
}

/// One element with the value that missing chunks have.
Array fill_element(ir::Type type, const Json& value) {
    Array number(ir::Type::Float64, {1});
    double as_double = 0;
    if (value.is_number_integer() && !ir::is_float(type)) {  // 64 bits do not pass through a double
        const std::uint64_t bits = value.is_number_unsigned() ? value.get<std::uint64_t>()
                                                              : static_cast<std::uint64_t>(value.get<std::int64_t>());
        Array integer(type, {1});
        std::memcpy(integer.data.data(), &bits, integer.data.size());
        return integer;
    }
    if (value.is_number()) as_double = value.get<double>();
    if (value.is_boolean()) as_double = value.get<bool>() ? 1 : 0;
    if (value == "NaN") as_double = std::numeric_limits<double>::quiet_NaN();
    if (value == "Infinity") as_double = std::numeric_limits<double>::infinity();
    if (value == "-Infinity") as_double = -std::numeric_limits<double>::infinity();
    std::memcpy(number.data.data(), &as_double, sizeof as_double);
    return convert(std::move(number), type, Scaling::Raw).array;
}

class ZarrReader : public PartReader {
public:
    explicit ZarrReader(const std::string& path) : path_(path) {
        std::ifstream file(fs::path(path) / ".zarray");
        if (!file) {
            throw unreadable(path, fs::exists(fs::path(path) / ".zgroup")
                                       ? "it is a group of Zarr arrays; name one of them"
                                   : fs::exists(fs::path(path) / "zarr.json")
                                       ? "it is in Zarr's format of version 3; version 2 can be read"
                                       : "it has no Zarr array: there is no .zarray in it");
        }
        const Json about = Json::parse(file, nullptr, false);
        try {
            describe(about);
        } catch (const Json::exception&) {
            throw unreadable(path, "its .zarray is damaged");
        }
    }

    Array read(const Box& part) override {
        Array result(type, part.extents());
        for_each_block(part, grain, [&](const Box& chunk) {
            copy_common(type, read_chunk(chunk.lo).data.data(), chunk, result.data.data(), part);
        });
        return result;
    }

private:
    void describe(const Json& about) {
        if (about.at("zarr_format") != 2) throw unreadable(path_, "it is not in Zarr's format of version 2");
        const Json& dtype = about.at("dtype");
        const auto element = dtype.is_string() ? parse_element_type(dtype.get<std::string>()) : std::nullopt;
        if (!element) {
            throw unreadable(path_, fmt::format("its elements, {}, are not numbers of 8 to 64 bits", dtype.dump()));
        }
        type = element->type;
        big_endian_ = element->big_endian;
        extents = about.at("shape").get<Extents>();
        grain = about.at("chunks").get<Extents>();
        const auto positive = [](std::int64_t n) { return n > 0; };
        const auto negative = [](std::int64_t n) { return n < 0; };
        if (extents.size() != grain.size() || !std::all_of(grain.begin(), grain.end(), positive) ||
            std::any_of(extents.begin(), extents.end(), negative)) {
            throw unreadable(path_, "its .zarray is damaged");
        }
        const double chunk_bytes =
            std::accumulate(grain.begin(), grain.end(), double(ir::bytes(type)), std::multiplies<>());
        if (chunk_bytes > kMostChunkBytes) throw unreadable(path_, "its chunks have more than 2 GiB");
        const Json compressor = about.value("compressor", Json()), filters = about.value("filters", Json());
        if (!compressor.is_null()) {
            const std::string name = compressor.at("id").get<std::string>();
            compressed_ = true;
            if (name != "zlib" && name != "gzip") {
                throw unreadable(path_, fmt::format("its compressor is `{}`; known are zlib, gzip and none", name));
            }
            if (!can_inflate()) throw unreadable(path_, "this pipec-run was built without zlib, which its chunks need");
        }
        if (!filters.is_null() && !filters.empty()) {
            throw unreadable(path_, fmt::format("its chunks have a filter, {}; none is known",
                                                filters.at(0).value("id", std::string("?"))));
        }
        first_inmost_ = about.value("order", std::string("C")) == "F";
        separator_ = about.value("dimension_separator", std::string("."));
        fill_ = fill_element(type, about.value("fill_value", Json()));
    }

    /// The one that begins at `lo`.
    [[nodiscard]] Array read_chunk(const Extents& lo) const {
        Extents stored = grain;
        if (first_inmost_) std::reverse(stored.begin(), stored.end());
        Array chunk(type, stored);
        const std::string file = (fs::path(path_) / chunk_name(lo, grain, separator_)).string();
        std::ifstream stream(file, std::ios::binary | std::ios::ate);
        if (!stream) {
            if (fs::exists(file)) throw unreadable(file, std::strerror(errno));
            const std::size_t width = fill_.data.size();
            for (std::size_t at = 0; at < chunk.data.size(); at += width) {
                std::memcpy(chunk.data.data() + at, fill_.data.data(), width);
            }
        } else {
            const auto size = static_cast<std::size_t>(stream.tellg());
            stream.seekg(0);
            if (compressed_) {
                Memory packed(size);
                stream.read(reinterpret_cast<char*>(packed.data()), static_cast<std::streamsize>(size));
                if (!stream || !inflate(packed.data(), size, chunk.data.data(), chunk.data.size())) {
                    throw unreadable(file, "the chunk is damaged");
                }
            } else {
                if (size != chunk.data.size()) throw unreadable(file, "the chunk has another size than its array says");
                stream.read(reinterpret_cast<char*>(chunk.data.data()), static_cast<std::streamsize>(size));
                if (!stream) throw unreadable(file, std::strerror(errno));
            }
            tidy_elements(chunk, big_endian_);
        }
        if (!first_inmost_) return chunk;
        std::vector<int> dims(grain.size());
        std::iota(dims.rbegin(), dims.rend(), 0);
        return transpose(chunk, dims);
    }

    std::string path_;
    bool big_endian_ = false, first_inmost_ = false, compressed_ = false;
    std::string separator_;
    Array fill_;
};

class ZarrWriter : public BlockWriter {
public:
    ZarrWriter(std::string path, std::string shown, ir::Type type, const Extents& extents)
        : BlockWriter(type, extents, zarr_chunks(extents)), path_(std::move(path)), shown_(std::move(shown)) {
        const Json about = {{"zarr_format", 2},      {"shape", extents},
                            {"chunks", block()},     {"dtype", element_type_name(type)},
                            {"compressor", nullptr}, {"fill_value", type == ir::Type::Bool ? Json(false) : Json(0)},
                            {"order", "C"},          {"filters", nullptr}};
        const std::string text = about.dump(4) + "\n";
        {
            const PendingLock lock;
            std::error_code error;
            fs::create_directory(path_, error);
            if (error) throw unwritable(shown_, error.value());
        }
        write_file(".zarray", reinterpret_cast<const std::byte*>(text.data()), text.size());
    }

    void finish() override {}

protected:
    void write_blocks(const Box& place, const std::byte* elements) override {
        for_each_block(place, block(), [&](const Box& whole) {  // chunks at the edges are as large as others
            const Array chunk(type(), block());
            if (intersection(whole, place) != whole) std::memset(chunk.data.data(), 0, chunk.data.size());
            copy_common(type(), elements, place, chunk.data.data(), whole);
            write_file(chunk_name(whole.lo, block(), "."), chunk.data.data(), chunk.data.size());
        });
    }

private:
    void write_file(const std::string& name, const std::byte* bytes, std::size_t size) const {
        const PendingLock lock;
        std::ofstream file(fs::path(path_) / name, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
        file.close();
        if (!file) throw unwritable(shown_, errno);
    }

    std::string path_, shown_;
};

}  // namespace

std::unique_ptr<PartReader> open_zarr(const std::string& path) {
    return std::make_unique<ZarrReader>(path);
}

Extents zarr_chunks(const Extents& extents) {
    // Whole dimensions where they are short, such as channels; squares of the last two others.
    Extents chunk = extents;
    int squared = 0;
    for (std::size_t dim = extents.size(); dim-- > 0;) {
        chunk[dim] = std::max<std::int64_t>(extents[dim], 1);
        if (extents[dim] <= kChunkOfOthers) continue;
        chunk[dim] = std::min(extents[dim], squared++ < 2 ? kChunk : kChunkOfOthers);
    }
    return chunk;
}

std::unique_ptr<PartWriter> create_zarr(const std::string& path, const std::string& shown, ir::Type type,
                                        const Extents& extents) {
    return std::make_unique<ZarrWriter>(path, shown, type, extents);
}

void check_zarr_target(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error) || fs::exists(fs::path(path) / ".zarray", error)) return;
    throw file_error(fmt::format("cannot write {}: something else is there, no Zarr array", path));
}

}  // namespace pipec::runner
