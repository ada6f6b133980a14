// device.h in host memory: a launch is a call, a stream is null, a graph is the function that was captured.
#include <chrono>
#include <cstring>
#include <new>

#include "device.h"

namespace pipec::gpu {

namespace {
constexpr std::align_val_t kAlignment{256};  // what cudaMalloc gives
}

Block::Block(std::size_t bytes) : data_(static_cast<std::byte*>(operator new(bytes, kAlignment))), bytes_(bytes) {}
Block::~Block() {
    operator delete(data_, kAlignment);
}
void Block::upload(const std::byte* from) const {
    std::memcpy(data_, from, bytes_);
}
void Block::download(std::byte* to, std::size_t first) const {
    std::memcpy(to, data_ + first, bytes_ - first);
}
void Block::fill(std::size_t first, std::size_t bytes, std::byte value) const {
    std::memset(data_ + first, std::to_integer<int>(value), bytes);
}

OwnStream::OwnStream() = default;
OwnStream::~OwnStream() = default;

Graph capture(const Work& work, Stream /*stream*/) {
    return {work, 0};
}

void copy(const Block& to, const Block& from, std::size_t bytes, Stream /*stream*/) {
    std::memcpy(to.data(), from.data(), bytes);
}

void order(Stream /*first*/, Stream /*then*/) {}

void wait() {}

double microseconds(const Work& work, int repetitions, Stream stream) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repetitions; ++i) work(stream);
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
    return elapsed.count() / repetitions;
}

std::string describe() {
    return "host memory in place of a GPU";
}

}  // namespace pipec::gpu
