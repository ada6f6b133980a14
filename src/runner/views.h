// Files as buffers see them: which channels, in which order of dimensions, converted how. The same for whole files and
// for parts of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runner/arguments.h"
#include "runner/parts.h"

namespace pipec::runner {

/// "[2, 5]", as a place in an array.
std::string position_text(const Extents& at);

class InputView {
public:
    /// `type`, `extents`: what the file holds; `is_array`: not an image, but an array of any rank. Throws Error where
    /// it cannot be the buffer.
    InputView(Buffer buffer, FileBinding binding, ir::Type type, Extents extents, bool is_array);

    [[nodiscard]] const Extents& extents() const { return extents_; }  ///< of the buffer
    [[nodiscard]] const std::string& description() const { return description_; }
    /// A part that is made of whole pixels: all channels, where the file is an image.
    [[nodiscard]] Box of_whole_pixels(Box part) const;
    /// What of the file makes such a part of the buffer.
    [[nodiscard]] Box in_file(const Box& part) const;
    /// The dimension of the buffer in which windows are read band by band: an image's rows, otherwise the longest one
    /// but the last; and what a dimension is in the file.
    [[nodiscard]] std::size_t band_dim(const Extents& window) const;
    [[nodiscard]] std::size_t file_dim(std::size_t dim) const;
    /// The part that begins at `lo` of the buffer, dense and row-major, from that part of the file. Throws Error where
    /// a value does not fit the buffer's type.
    [[nodiscard]] Array to_buffer(Array from_file, const Extents& lo) const;

private:
    Buffer buffer_;
    FileBinding binding_;
    Extents file_extents_, extents_;
    bool is_array_;
    std::vector<int> dims_;  ///< of an image: input_dims()
    std::string description_;
};

class OutputView {
public:
    /// `extents` are the buffer's. Throws Error where the file cannot hold it.
    OutputView(Buffer buffer, FileBinding binding, const Extents& extents);

    [[nodiscard]] ir::Type file_type() const { return file_type_; }
    [[nodiscard]] const Extents& file_extents() const { return file_extents_; }
    [[nodiscard]] bool is_array() const { return is_array_; }
    /// What a part of the buffer, which has all channels, is of the file.
    [[nodiscard]] Box in_file(const Box& part) const;
    /// As for inputs.
    [[nodiscard]] std::size_t band_dim(const Extents& window) const;
    [[nodiscard]] std::size_t file_dim(std::size_t dim) const;
    /// That part, from the contents of the buffer's (dense, row-major), which begins at `lo`. Throws Error where a
    /// value does not fit the file.
    [[nodiscard]] Array to_file(const Array& contents, const Extents& lo) const;

private:
    Buffer buffer_;
    FileBinding binding_;
    bool is_array_;
    std::array<int, 3> dims_{};
    ir::Type file_type_;
    Extents file_extents_;
};

}  // namespace pipec::runner
