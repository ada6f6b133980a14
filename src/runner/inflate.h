// Decompression by zlib, which a build may lack.
#pragma once

#include <cstddef>

namespace pipec::runner {

/// Whether this build has zlib.
bool can_inflate();

/// Decompresses what has the form of zlib or gzip. False where that is damaged, or not `to_size` bytes.
bool inflate(const std::byte* from, std::size_t from_size, std::byte* to, std::size_t to_size);

}  // namespace pipec::runner
