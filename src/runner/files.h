// Files in and out of arrays: images (the portable maps here, others by OpenImageIO), NumPy's .npy.
//
// An image is an array [rows, columns, channels] of the values as the file stores them: sRGB stays encoded, alpha stays
// unassociated, nothing is rotated. A .npy file is an array of any rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/array.h"

namespace pipec::runner {

/// True for a path that ends in .npy, or is or will be a directory with a Zarr array: it ends in .zarr, or has such an
/// array in it.
bool is_npy(const std::string& path);
bool is_zarr(const std::string& path);
/// True for a path that holds a plain array rather than an image: one of these two.
bool is_array(const std::string& path);

/// Throws Error where `path` is nothing that can be read.
void check_readable(const std::string& path);

/// Reads a file. Throws Error (Io) that names it and says what is wrong with it.
Array read_file(const std::string& path);

/// The element types that an image file of this name can hold for an image with so many channels, best first. Throws
/// Error where the extension is unknown, or where the format cannot hold so many channels (`name` is the output, for
/// the text). `channels` may be 0: not known yet.
std::vector<ir::Type> storable_types(const std::string& path, std::int64_t channels, const std::string& name);

/// The type in which values of a buffer's type are stored, where the format allows `storable` and nothing else is asked
/// for: the type itself; a float in some float type, or else in 8 bits; an integer in the narrowest type as wide as its
/// own, or else the widest one.
ir::Type default_storage(ir::Type buffer, const std::vector<ir::Type>& storable);

/// Throws Error where `path` cannot become a file: a directory, or in none, or in one that is not writable.
void check_writable(const std::string& path);

/// Writes an array to `file`, whose name says how; an image's type must be storable. `shown` is the name for errors.
void write_file(const std::string& file, const std::string& shown, const Array& array);

// The formats, used by the functions above.
Array read_npy(const std::string& path);
void write_npy(const std::string& path, const Array& array);
/// None where it is no PGM, PPM or PFM that these functions know.
std::optional<Array> read_pnm(const std::string& path);
void write_pnm(const std::string& path, const Array& image);
Array read_image(const std::string& path);
void write_image(const std::string& path, const std::string& shown, const Array& image);
/// The name of OpenImageIO's writer for this path, empty where it has none.
std::string image_writer(const std::string& path);

}  // namespace pipec::runner
