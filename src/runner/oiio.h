// What reading and writing images through OpenImageIO has in common, for whole images and for parts.
#pragma once

#include <OpenImageIO/imageio.h>

#include <memory>
#include <string>

#include "runner/array.h"
#include "runner/error.h"

namespace pipec::runner::oiio {

OIIO::TypeDesc file_type(ir::Type type);

Error unreadable(const std::string& path, const std::string& reason);
Error unwritable(const std::string& shown, const std::string& reason);

struct Opened {
    std::unique_ptr<OIIO::ImageInput> input;
    ir::Type type;
};
/// Throws Error for what cannot be read, or has no pixels of one type.
Opened open_input(const std::string& path);

/// `image`: rows, columns, channels.
OIIO::ImageSpec spec_of(ir::Type type, const Extents& image);
/// Throws Error.
std::unique_ptr<OIIO::ImageOutput> open_output(const std::string& path, const std::string& shown, ir::Type type,
                                               OIIO::ImageSpec spec);

}  // namespace pipec::runner::oiio
