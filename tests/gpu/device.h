// The few things that the check needs of a GPU. device_cuda.cpp does them with the CUDA runtime; device_fake.cpp does
// them in host memory, so that the check itself can be tested where there is no GPU. What fails throws.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

struct CUstream_st;

namespace pipec::gpu {

using Stream = CUstream_st*;

/// Device memory, not initialised.
class Block {
public:
    explicit Block(std::size_t bytes);
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void upload(const std::byte* from) const;
    /// The bytes from `first` on.
    void download(std::byte* to, std::size_t first = 0) const;
    void fill(std::size_t first, std::size_t bytes, std::byte value) const;

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_;
};

/// A stream that does not wait for the default one.
class OwnStream {
public:
    OwnStream();
    ~OwnStream();
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    [[nodiscard]] Stream get() const { return stream_; }

private:
    Stream stream_ = nullptr;
};

using Work = std::function<void(Stream)>;

/// Work captured once.
struct Graph {
    Work replay;
    int kernels;  ///< that one replay launches
};
Graph capture(const Work& work, Stream stream);

/// Copies between device memory in stream order.
void copy(const Block& to, const Block& from, std::size_t bytes, Stream stream);

/// What is put into `then` from now on waits for what is in `first` by now. Both may be captured.
void order(Stream first, Stream then);

/// Waits for everything; throws for an error of anything before.
void wait();

/// Microseconds of one execution: the mean of `repetitions` without a pause.
double microseconds(const Work& work, int repetitions, Stream stream);

/// "NVIDIA H200, driver 13.0, runtime 13.0"
std::string describe();

}  // namespace pipec::gpu
