// Parts of images through OpenImageIO: TIFF and OpenEXR have tiles or strips; other formats are read as a whole.
#include <fmt/format.h>

#include <algorithm>

#include "runner/files.h"
#include "runner/oiio.h"
#include "runner/parts.h"
#include "runner/pending.h"

namespace pipec::runner {

namespace {

constexpr std::int64_t kTile = 256;
/// A strip above this is read as if the format had no parts: libtiff has all of it in memory.
constexpr std::int64_t kMostStripBytes = std::int64_t{64} << 20;
/// Where an uncompressed image comes near the 4 GiB that a TIFF file can have, it becomes a BigTIFF.
constexpr std::int64_t kBigTiffBytes = std::int64_t{3} << 30;
/// Lines that OpenEXR's usual compressions take together.
constexpr std::int64_t kExrLines = 16;

class ImageReader : public PartReader {
public:
    explicit ImageReader(std::string path) : path_(std::move(path)) {
        oiio::Opened opened = oiio::open_input(path_);
        input_ = std::move(opened.input);
        const OIIO::ImageSpec& spec = input_->spec();
        type = opened.type;
        extents = {spec.height, spec.width, spec.nchannels};
        grain = {1, extents[1], extents[2]};
        const std::string format = input_->format_name();
        if (format != "tiff" && format != "openexr") {
            whole = fmt::format("a {} file is read as a whole", format);
        } else if (spec.tile_width > 0) {
            grain = {spec.tile_height, spec.tile_width, extents[2]};
        } else {
            const std::int64_t lines = format == "openexr" ? kExrLines : spec.get_int_attribute("tiff:RowsPerStrip", 1);
            grain[0] = std::clamp<std::int64_t>(lines, 1, extents[0]);
            const auto bytes = static_cast<std::int64_t>(byte_size(type, {grain[0], extents[1], extents[2]}));
            if (bytes > kMostStripBytes) whole = fmt::format("it is stored in strips of {} rows", grain[0]);
        }
        if (!whole.empty()) grain = {1, 1, 1};
    }

    Array read(const Box& part) override {
        if (!whole.empty() && image_.extents.empty()) image_ = read_blocks(whole_box(extents));
        if (!whole.empty()) {
            Array result(type, part.extents());
            copy_common(type, image_.data.data(), whole_box(extents), result.data.data(), part);
            return result;
        }
        Box blocks = part;  // of whole tiles, or of whole rows
        for (std::size_t dim = 0; dim < 2; ++dim) {
            const std::int64_t unit = dim == 0 && !tiled() ? 1 : grain[dim];
            blocks.lo[dim] = part.lo[dim] / unit * unit;
            blocks.hi[dim] = std::min((part.hi[dim] + unit - 1) / unit * unit, extents[dim]);
        }
        Array array = read_blocks(blocks);
        if (blocks == part) return array;
        Array result(type, part.extents());
        copy_common(type, array.data.data(), blocks, result.data.data(), part);
        return result;
    }

private:
    [[nodiscard]] bool tiled() const { return input_->spec().tile_width > 0; }

    Array read_blocks(const Box& part) {
        const OIIO::ImageSpec& spec = input_->spec();
        Array array(type, part.extents());
        const auto at = [](std::int64_t begin, int origin) { return static_cast<int>(begin) + origin; };
        const int first = at(part.lo[0], spec.y), last = at(part.hi[0], spec.y);
        const bool good =
            tiled() ? input_->read_tiles(0, 0, at(part.lo[1], spec.x), at(part.hi[1], spec.x), first, last, spec.z,
                                         spec.z + 1, 0, spec.nchannels, oiio::file_type(type), array.data.data())
                    : input_->read_scanlines(0, 0, first, last, spec.z, 0, spec.nchannels, oiio::file_type(type),
                                             array.data.data());
        if (!good) throw oiio::unreadable(path_, input_->geterror());
        return array;
    }

    std::string path_;
    std::unique_ptr<OIIO::ImageInput> input_;
    Array image_;  ///< all of it, where it is read as a whole
};

class TiffWriter : public BlockWriter {
public:
    TiffWriter(const std::string& path, std::string shown, ir::Type type, const Extents& image)
        : BlockWriter(type, image, image_blocks(image)), shown_(std::move(shown)) {
        OIIO::ImageSpec spec = oiio::spec_of(type, image);
        spec.tile_width = spec.tile_height = static_cast<int>(kTile);
        spec.tile_depth = 1;
        if (static_cast<std::int64_t>(byte_size(type, image)) > kBigTiffBytes) spec.attribute("tiff:bigtiff", 1);
        const PendingLock lock;
        output_ = oiio::open_output(path, shown_, type, spec);
    }

    void finish() override {
        if (!output_->close()) throw oiio::unwritable(shown_, output_->geterror());
    }

protected:
    void write_blocks(const Box& place, const std::byte* elements) override {
        const auto at = [](std::int64_t n) { return static_cast<int>(n); };
        if (!output_->write_tiles(at(place.lo[1]), at(place.hi[1]), at(place.lo[0]), at(place.hi[0]), 0, 1,
                                  oiio::file_type(type()), elements)) {
            throw oiio::unwritable(shown_, output_->geterror());
        }
    }

private:
    std::string shown_;
    std::unique_ptr<OIIO::ImageOutput> output_;
};

}  // namespace

std::unique_ptr<PartReader> open_image(const std::string& path) {
    return std::make_unique<ImageReader>(path);
}

Extents image_blocks(const Extents& extents) {
    return {kTile, kTile, extents[2]};
}

std::unique_ptr<PartWriter> create_image(const std::string& path, const std::string& shown, ir::Type type,
                                         const Extents& extents) {
    return std::make_unique<TiffWriter>(path, shown, type, extents);
}

}  // namespace pipec::runner
