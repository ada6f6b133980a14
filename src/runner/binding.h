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

#include <array>
#include <string>
#include <vector>

#include "runner/library.h"

namespace pipec::runner {

/// For each dimension of an input the one of the image (extents: rows, columns, channels) that it is. Throws Error,
/// naming `path`, where the image cannot be that buffer.
std::vector<int> input_dims(const Extents& image, const Buffer& buffer, const std::string& path);

/// The dimensions of an output that are an image's rows, columns and channels; -1: the image has one of them. Throws
/// Error where the output is no image.
std::array<int, 3> output_dims(const Buffer& buffer, const std::string& path);

/// "512 x 512 with 3 channels" for an image, rows first.
std::string image_text(const Extents& image);

}  // namespace pipec::runner
