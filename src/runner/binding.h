// How the dimensions of an image file are those of a buffer.
//
//   rank 1   [columns]: an image of one row and one channel
//   rank 2   [rows, columns]: an image of one channel
//   rank 3   one dimension is the channels, the other two are rows and columns, in this order: planar [3, R, C] and
//            interleaved [R, C, 3] alike
//
// Of three dimensions the channel dimension is one with a constant extent. For an input that extent is the file's
// number of channels; for an output one of at most 4 is preferred. Where several fit, the first dimension wins, then
// the last, then the middle one. Where no dimension has a constant extent, it is the first.
//
// A .npy file has the dimensions of the buffer itself.
#pragma once

#include <string>

#include "runner/library.h"

namespace pipec::runner {

/// The contents of an input buffer, still of the file's type: a dense row-major array in the buffer's order of
/// dimensions. Throws Error (naming `path`) where the image cannot be that buffer.
Array image_to_buffer(const Array& image, const Buffer& buffer, const std::string& path);

/// The image [rows, columns, channels] that an output's contents (dense, row-major) are. Throws Error.
Array buffer_to_image(const Array& contents, const Buffer& buffer, const std::string& path);

/// "512 x 512 with 3 channels" for an image, rows first.
std::string image_text(const Array& image);

}  // namespace pipec::runner
