// Which format a path means, and what the formats can hold.
#include "runner/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runner/error.h"
#include "runner/parts.h"

namespace fs = std::filesystem;

namespace pipec::runner {

namespace {

using enum ir::Type;

/// What a format can hold. OpenImageIO would store other types too, converted by its rules instead of ours. (TIFF could
/// hold float64, but OpenImageIO 2.4 reads zeros from such a file with one row.)
struct FormatInfo {
    std::string_view writer;  ///< OpenImageIO's name
    std::vector<ir::Type> types;
    std::vector<std::int64_t> channels;  ///< any number if empty
};

const std::vector<FormatInfo>& formats() {
    static const std::vector<FormatInfo> table = {
        {"png", {UInt8, UInt16}, {1, 2, 3, 4}},
        {"tiff", {UInt8, UInt16, UInt32, Int8, Int16, Int32, Float32}, {}},
        {"openexr", {Float32, Float16, UInt32}, {}},
        {"pfm", {Float32}, {1, 3}},
        {"pgm", {UInt8, UInt16}, {1}},
        {"ppm", {UInt8, UInt16}, {1, 3}},
        {"hdr", {Float32}, {3}},
        {"jpeg", {UInt8}, {1, 3}},
        {"jpeg2000", {UInt8, UInt16}, {1, 2, 3, 4}},
        {"webp", {UInt8}, {3, 4}},
        {"bmp", {UInt8}, {1, 3, 4}},
        {"targa", {UInt8}, {1, 2, 3, 4}},
    };
    return table;
}

std::string extension(const std::string& path) {
    std::string result = fs::path(path).extension().string();
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
    return result;
}

/// The name in `formats` of the portable map that the extension means, or null.
const char* portable_map(const std::string& path) {
    const std::string ending = extension(path);
    if (ending == ".pfm") return "pfm";
    if (ending == ".pgm") return "pgm";
    return ending == ".ppm" || ending == ".pnm" ? "ppm" : nullptr;
}

/// A directory may be given with a / at the end.
fs::path without_slash(const fs::path& path) {
    return path.has_filename() ? path : path.parent_path();
}

}  // namespace

bool is_npy(const std::string& path) {
    return extension(path) == ".npy";
}

bool is_zarr(const std::string& path) {
    const fs::path name = without_slash(path);
    std::error_code error;
    return extension(name.string()) == ".zarr" || fs::exists(name / ".zarray", error);
}

bool is_array(const std::string& path) {
    return is_npy(path) || is_zarr(path);
}

void check_readable(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw file_error(fmt::format("cannot read {}: {}", path, error.message()));
    if (fs::is_directory(status) && !is_zarr(path))
        throw file_error(fmt::format("cannot read {}: it is a directory", path));
    if (access(path.c_str(), R_OK) != 0) {
        throw file_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
}

Array read_file(const std::string& path) {
    check_readable(path);
    try {
        if (is_npy(path)) return read_npy(path);
        if (is_zarr(path)) {
            const std::unique_ptr<PartReader> reader = open_zarr(path);
            return reader->read(whole_box(reader->extents));
        }
        if (portable_map(path) != nullptr) {
            if (auto image = read_pnm(path)) return std::move(*image);
        }
        return read_image(path);
    } catch (const std::bad_alloc&) {
        throw file_error(fmt::format("cannot read {}: there is not enough memory for it", path));
    }
}

std::vector<ir::Type> storable_types(const std::string& path, std::int64_t channels, const std::string& name) {
    const char* map = portable_map(path);
    const std::string writer = map != nullptr ? map : image_writer(path);
    if (writer.empty()) {
        throw usage_error(
            fmt::format("cannot write {}: {}\n  note: known are .png .tif .exr .pfm .hdr .jpg and others of "
                        "OpenImageIO, and .npy and .zarr for arrays of any shape",
                        path,
                        extension(path).empty() ? "its name has no extension that says the format"
                                                : "`" + extension(path) + "` is no known image format"));
    }
    const auto format =
        std::find_if(formats().begin(), formats().end(), [&](const FormatInfo& info) { return info.writer == writer; });
    if (format == formats().end()) return {UInt8};
    const std::vector<std::int64_t>& allowed = format->channels;
    if (channels > 0 && !allowed.empty() && std::find(allowed.begin(), allowed.end(), channels) == allowed.end()) {
        throw usage_error(
            fmt::format("cannot write {}: `{}` has {} channel{}; {} files have {}\n  note: `--channels {}=...` "
                        "writes some of them, and .tif, .exr and .npy files hold any number",
                        path, name, channels, channels == 1 ? "" : "s", extension(path),
                        fmt::join(allowed, allowed.size() == 2 ? " or " : ", "), name));
    }
    return format->types;
}

ir::Type default_storage(ir::Type buffer, const std::vector<ir::Type>& storable) {
    const auto holds = [&](ir::Type type) {
        return std::find(storable.begin(), storable.end(), type) != storable.end();
    };
    if (holds(buffer)) return buffer;
    if (ir::is_float(buffer)) {
        if (buffer == Float64 && holds(Float32)) return Float32;
        const auto wider = std::find_if(storable.begin(), storable.end(), [](ir::Type t) { return ir::is_float(t); });
        return wider != storable.end() ? *wider : holds(UInt8) ? UInt8 : storable.front();
    }
    ir::Type best = storable.front();
    const auto rank = [&](ir::Type t) {  // integers first, then wide enough, then narrow
        if (!ir::is_int(t)) return 1000;
        return ir::bits(t) >= ir::bits(buffer) ? ir::bits(t) : 500 - ir::bits(t);
    };
    for (const ir::Type type : storable) {
        if (rank(type) < rank(best)) best = type;
    }
    return best;
}

void check_writable(const std::string& path) {
    const fs::path target = without_slash(path);
    const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
    std::error_code error;
    if (is_zarr(path)) {
        check_zarr_target(path);
    } else if (fs::is_directory(target, error)) {
        throw file_error(fmt::format("cannot write {}: it is a directory", path));
    }
    if (!fs::is_directory(parent, error)) {
        throw file_error(fmt::format("cannot write {}: there is no directory {}", path, parent.string()));
    }
    const bool replaces = fs::exists(target, error);
    if (replaces && !is_zarr(path) && !fs::is_regular_file(target, error)) {
        throw file_error(fmt::format("cannot write {}: it is not a regular file", path));
    }
    if (access(parent.c_str(), W_OK) != 0 || (replaces && access(target.c_str(), W_OK) != 0)) {
        throw file_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
}

void write_file(const std::string& file, const std::string& shown, const Array& array) {
    if (is_npy(file)) return write_npy(file, array);
    if (is_zarr(file)) {
        const std::unique_ptr<PartWriter> writer = create_zarr(file, shown, array.type, array.extents);
        writer->write(array, Extents(array.extents.size(), 0));
        return writer->finish();
    }
    if (portable_map(file) != nullptr) return write_pnm(file, array);
    write_image(file, shown, array);
}

}  // namespace pipec::runner
