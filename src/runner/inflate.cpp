#include "runner/inflate.h"

#ifdef PIPEC_ZLIB
#include <zlib.h>

#include <algorithm>
#include <limits>
#endif

namespace pipec::runner {

#ifdef PIPEC_ZLIB

namespace {
constexpr int kEitherForm = 32 + MAX_WBITS;  ///< zlib's or gzip's, as the data say
}

bool can_inflate() {
    return true;
}

bool inflate(const std::byte* from, std::size_t from_size, std::byte* to, std::size_t to_size) {
    z_stream stream{};
    if (inflateInit2(&stream, kEitherForm) != Z_OK) return false;
    // zlib counts in 32 bits.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from));
    stream.next_out = reinterpret_cast<Bytef*>(to);
    int status = Z_OK;
    std::size_t from_left = from_size, to_left = to_size;
    while (status == Z_OK) {
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        const auto in = static_cast<uInt>(std::min(from_left, kMost)),
                   out = static_cast<uInt>(std::min(to_left, kMost));
        stream.avail_in = in;
        stream.avail_out = out;
        status = ::inflate(&stream, Z_NO_FLUSH);
        from_left -= in - stream.avail_in;
        to_left -= out - stream.avail_out;
        if (in == stream.avail_in && out == stream.avail_out) break;  // nothing more comes
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END && to_left == 0;
}

#else

bool can_inflate() {
    return false;
}
bool inflate(const std::byte* /*from*/, std::size_t /*from_size*/, std::byte* /*to*/, std::size_t /*to_size*/) {
    return false;
}

#endif

}  // namespace pipec::runner
