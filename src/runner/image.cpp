// Image files through OpenImageIO. Values go through as they are stored: no premultiplication, no colour transform.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runner/files.h"
#include "runner/oiio.h"

namespace pipec::runner {

namespace {

std::optional<ir::Type> element_type(OIIO::TypeDesc type) {
    switch (type.basetype) {
        case OIIO::TypeDesc::UINT8: return ir::Type::UInt8;
        case OIIO::TypeDesc::INT8: return ir::Type::Int8;
        case OIIO::TypeDesc::UINT16: return ir::Type::UInt16;
        case OIIO::TypeDesc::INT16: return ir::Type::Int16;
        case OIIO::TypeDesc::UINT32: return ir::Type::UInt32;
        case OIIO::TypeDesc::INT32: return ir::Type::Int32;
        case OIIO::TypeDesc::HALF: return ir::Type::Float16;
        case OIIO::TypeDesc::FLOAT: return ir::Type::Float32;
        case OIIO::TypeDesc::DOUBLE: return ir::Type::Float64;
        default: return std::nullopt;
    }
}

/// OpenImageIO's messages end in newlines and may have several lines.
std::string one_line(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.empty() ? "the file is damaged or of an unknown format" : text;
}

}  // namespace

namespace oiio {

OIIO::TypeDesc file_type(ir::Type type) {
    switch (type) {
        case ir::Type::UInt8: return OIIO::TypeDesc::UINT8;
        case ir::Type::Int8: return OIIO::TypeDesc::INT8;
        case ir::Type::UInt16: return OIIO::TypeDesc::UINT16;
        case ir::Type::Int16: return OIIO::TypeDesc::INT16;
        case ir::Type::UInt32: return OIIO::TypeDesc::UINT32;
        case ir::Type::Int32: return OIIO::TypeDesc::INT32;
        case ir::Type::Float16: return OIIO::TypeDesc::HALF;
        case ir::Type::Float32: return OIIO::TypeDesc::FLOAT;
        case ir::Type::Float64: return OIIO::TypeDesc::DOUBLE;
        default: return OIIO::TypeDesc::UNKNOWN;
    }
}

Error unreadable(const std::string& path, const std::string& reason) {
    return file_error(fmt::format("cannot read {}: {}", path, one_line(reason)));
}

Error unwritable(const std::string& shown, const std::string& reason) {
    return file_error(fmt::format("cannot write {}: {}", shown, one_line(reason)));
}

Opened open_input(const std::string& path) {
    OIIO::ImageSpec config;
    config.attribute("oiio:UnassociatedAlpha", 1);
    std::unique_ptr<OIIO::ImageInput> input = OIIO::ImageInput::open(path, &config);
    if (!input) throw unreadable(path, OIIO::geterror());
    const OIIO::ImageSpec& spec = input->spec();
    if (spec.deep) throw unreadable(path, "deep images are not supported");
    if (spec.depth > 1) throw unreadable(path, "volumes are not supported");
    const std::optional<ir::Type> type = element_type(spec.format);
    if (!type) throw unreadable(path, fmt::format("its pixels have the type {}", spec.format.c_str()));
    if (*type == ir::Type::Float64 && spec.height == 1) {
        // OpenImageIO 2.4 would return zeros.
        throw unreadable(path, "images of float64 with a single row are not supported");
    }
    for (const OIIO::TypeDesc& channel : spec.channelformats) {
        // A mixture of float types is read as the widest; of integers and floats it has no common meaning.
        const std::optional<ir::Type> other = element_type(channel);
        if (!other || ir::is_float(*other) != ir::is_float(*type)) {
            throw unreadable(path, "its channels have integer and float types at once");
        }
    }
    return {std::move(input), *type};
}

std::unique_ptr<OIIO::ImageOutput> open_output(const std::string& path, const std::string& shown, ir::Type type,
                                               OIIO::ImageSpec spec) {
    spec.attribute("oiio:UnassociatedAlpha", 1);
    // Some formats would store the time, and the same run would write other bytes.
    spec.attribute("DateTime", "1970:01:01 00:00:00");
    std::unique_ptr<OIIO::ImageOutput> output = OIIO::ImageOutput::create(path);
    if (!output) throw unwritable(shown, OIIO::geterror());
    if (!output->open(path, spec)) throw unwritable(shown, output->geterror());
    if (output->spec().format != spec.format) {
        throw unwritable(shown, fmt::format("the format cannot hold pixels of type {}", ir::name(type)));
    }
    return output;
}

OIIO::ImageSpec spec_of(ir::Type type, const Extents& image) {
    return {static_cast<int>(image[1]), static_cast<int>(image[0]), static_cast<int>(image[2]), file_type(type)};
}

}  // namespace oiio

Array read_image(const std::string& path) {
    const auto [input, type] = oiio::open_input(path);
    const OIIO::ImageSpec& spec = input->spec();
    Array image(type, {spec.height, spec.width, spec.nchannels});
    if (!input->read_image(0, 0, 0, spec.nchannels, spec.format, image.data.data())) {
        throw oiio::unreadable(path, input->geterror());
    }
    return image;
}

void write_image(const std::string& path, const std::string& shown, const Array& image) {
    const auto output = oiio::open_output(path, shown, image.type, oiio::spec_of(image.type, image.extents));
    if (!output->write_image(oiio::file_type(image.type), image.data.data()) || !output->close()) {
        throw oiio::unwritable(shown, output->geterror());
    }
}

std::string image_writer(const std::string& path) {
    const std::unique_ptr<OIIO::ImageOutput> output = OIIO::ImageOutput::create(path);
    if (!output) {
        (void)OIIO::geterror();  // taken, so that OpenImageIO does not print it at exit
        return {};
    }
    return output->format_name();
}

}  // namespace pipec::runner
