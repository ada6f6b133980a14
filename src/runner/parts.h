// Files of which parts are read or written, so that no image need ever be in memory as a whole.
//
// An image is an array [rows, columns, channels], as in files.h.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runner/array.h"

namespace pipec::runner {

/// A part of an array: lo <= index < hi in each dimension.
struct Box {
    Extents lo, hi;
    [[nodiscard]] Extents extents() const;
    [[nodiscard]] bool empty() const;  ///< it has no element
    friend bool operator==(const Box&, const Box&) = default;
};
Box whole_box(const Extents& extents);
/// What both hold; empty where that is nothing.
Box intersection(const Box& a, const Box& b);

/// Calls `each` with all blocks that a part touches; they begin at multiples of `block`, in each dimension.
void for_each_block(const Box& part, const Extents& block, const std::function<void(const Box&)>& each);

/// Copies what two dense arrays both hold, each of a part of the same whole, from one to the other.
void copy_common(ir::Type type, const std::byte* from, const Box& from_part, std::byte* to, const Box& to_part);

class PartReader {
public:
    PartReader() = default;
    PartReader(const PartReader&) = delete;
    PartReader& operator=(const PartReader&) = delete;
    virtual ~PartReader() = default;

    /// A dense array of the part. Throws Error.
    virtual Array read(const Box& part) = 0;

    ir::Type type = ir::Type::UInt8;
    Extents extents;
    /// What is read at once, in each dimension: a tile, a strip, a chunk, 1 where anything goes.
    Extents grain;
    /// Not empty: no part of such a file can be read by itself, and why; the first read() reads all of it.
    std::string whole = {};
};

/// Opens a file without reading its elements. Throws Error.
std::unique_ptr<PartReader> open_parts(const std::string& path);

class PartWriter {
public:
    PartWriter() = default;
    PartWriter(const PartWriter&) = delete;
    PartWriter& operator=(const PartWriter&) = delete;
    virtual ~PartWriter() = default;

    /// `part` begins at `lo`. Parts come in any order, do not overlap, and are all of the array in the end. Throws
    /// Error.
    virtual void write(const Array& part, const Extents& lo) = 0;
    /// After the last part. Throws Error.
    virtual void finish() = 0;
};

/// Throws Error, which names the formats, where files like this one cannot be written by parts.
void check_parts_writable(const std::string& path);

/// The blocks that such a file is written in, which begin at their multiples: parts that cut one wait in memory for the
/// rest of it.
Extents part_blocks(const std::string& path, const Extents& extents);

/// Makes the file `path`, whose name says how; `shown` is its name in errors. Throws Error.
std::unique_ptr<PartWriter> create_parts(const std::string& path, const std::string& shown, ir::Type type,
                                         const Extents& extents);

/// Puts parts together to the blocks that a file is written in. At the edges blocks end where the array does.
class BlockWriter : public PartWriter {
public:
    BlockWriter(ir::Type type, Extents extents, Extents block);
    ~BlockWriter() override;
    void write(const Array& part, const Extents& lo) final;

protected:
    /// A dense part that is made of whole blocks.
    virtual void write_blocks(const Box& place, const std::byte* elements) = 0;
    [[nodiscard]] ir::Type type() const { return type_; }
    [[nodiscard]] const Extents& block() const { return block_; }

private:
    struct Block;
    /// Those of them that a part has as a whole.
    [[nodiscard]] Box whole_blocks(Box part) const;
    ir::Type type_;
    Extents extents_, block_;
    std::map<Extents, std::unique_ptr<Block>> waiting_;  ///< incomplete ones, by where they begin
};

// The formats, used by the functions above.
std::unique_ptr<PartReader> open_npy(const std::string& path);
std::unique_ptr<PartWriter> create_npy(const std::string& path, const std::string& shown, ir::Type type,
                                       const Extents& extents);
/// Null where it is no portable map that pnm.cpp knows.
std::unique_ptr<PartReader> open_pnm(const std::string& path);
std::unique_ptr<PartReader> open_image(const std::string& path);
Extents image_blocks(const Extents& extents);
std::unique_ptr<PartWriter> create_image(const std::string& path, const std::string& shown, ir::Type type,
                                         const Extents& extents);
std::unique_ptr<PartReader> open_zarr(const std::string& path);
Extents zarr_chunks(const Extents& extents);
std::unique_ptr<PartWriter> create_zarr(const std::string& path, const std::string& shown, ir::Type type,
                                        const Extents& extents);
/// Throws Error where something else stands at an output's path.
void check_zarr_target(const std::string& path);

}  // namespace pipec::runner
