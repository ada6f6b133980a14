// In place of image.cpp in a pipec-run that is built without OpenImageIO (PIPEC_IMAGES=OFF), for machines that have
// none: .npy files and portable maps are read and written all the same.
#include <fmt/format.h>

#include "runner/error.h"
#include "runner/files.h"
#include "runner/parts.h"

namespace pipec::runner {

namespace {

Error not_built_in(const char* verb, const std::string& path) {
    return usage_error(fmt::format(
        "cannot {} {}: this pipec-run was built without image files\n  note: it knows .npy, .zarr, .pfm, and "
        "binary .pgm and .ppm with 8 or 16 bits",
        verb, path));
}

}  // namespace

Array read_image(const std::string& path) {
    throw not_built_in("read", path);
}

void write_image(const std::string& /*path*/, const std::string& shown, const Array& /*image*/) {
    throw not_built_in("write", shown);
}

std::unique_ptr<PartReader> open_image(const std::string& path) {
    throw not_built_in("read", path);
}

Extents image_blocks(const Extents& extents) {
    return extents;
}

std::unique_ptr<PartWriter> create_image(const std::string& /*path*/, const std::string& shown, ir::Type /*type*/,
                                         const Extents& /*extents*/) {
    throw not_built_in("write", shown);
}

std::string image_writer(const std::string& path) {
    throw not_built_in("write", path);
}

}  // namespace pipec::runner
