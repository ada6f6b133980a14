// What the example programs share: an image in memory, synthetic pictures, a workspace, and checks that end the program
// with a message. The generated header is included before this one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace example {

/// Dense planar pixels, [planes, rows, cols].
template <class T>
struct Image {
    std::int64_t planes, rows, cols;
    std::vector<T> data;

    Image(std::int64_t planes_, std::int64_t rows_, std::int64_t cols_, T value = {})
        : planes(planes_), rows(rows_), cols(cols_), data(static_cast<std::size_t>(planes_ * rows_ * cols_), value) {}

    T& operator()(std::int64_t c, std::int64_t y, std::int64_t x) { return data[at(c, y, x)]; }
    T operator()(std::int64_t c, std::int64_t y, std::int64_t x) const { return data[at(c, y, x)]; }

private:
    std::size_t at(std::int64_t c, std::int64_t y, std::int64_t x) const {
        return static_cast<std::size_t>((c * rows + y) * cols + x);
    }
};

/// An image whose pixel (c, y, x) is f(c, y, x).
template <class T, class F>
Image<T> make(std::int64_t planes, std::int64_t rows, std::int64_t cols, F f) {
    Image<T> image(planes, rows, cols);
    for (std::int64_t c = 0; c < planes; c++)
        for (std::int64_t y = 0; y < rows; y++)
            for (std::int64_t x = 0; x < cols; x++) image(c, y, x) = static_cast<T>(f(c, y, x));
    return image;
}

/// The same number in [0, 1) for the same arguments, on every machine.
inline double noise(std::int64_t c, std::int64_t y, std::int64_t x) {
    auto h = static_cast<std::uint64_t>(c * 0x9E3779B1 + y * 0x85EBCA77 + x * 0xC2B2AE3D) * 0x2545F4914F6CDD1DULL;
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ULL;
    return static_cast<double>((h ^ (h >> 32)) & 0xFFFFFF) / 0x1000000;
}

/// Ends the program unless `condition` holds.
inline void check(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
}

/// Points an argument at an image of rank 3 or 2: `bind(args.img, args.img_extent, image)`.
template <class P, std::size_t N, class T>
void bind(P*& pointer, std::int64_t (&extent)[N], Image<T>& image) {
    static_assert(N == 2 || N == 3);
    pointer = image.data.data();
    if constexpr (N == 3) extent[0] = image.planes;
    extent[N - 2] = image.rows;
    extent[N - 1] = image.cols;
}

/// Memory for intermediate images, aligned as launches ask.
class Workspace {
public:
    explicit Workspace(std::size_t bytes) : bytes_(bytes), memory_(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
    void* data() const { return memory_.get(); }
    std::size_t size() const { return bytes_; }

private:
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::size_t bytes_;
    std::unique_ptr<void, Free> memory_;
};

/// Checks the arguments, then runs the pipeline to its end. NAME's functions are passed as they are:
/// `run(args, blur_check, blur_workspace_size, blur_launch)`.
template <class Args, class Check, class Size, class Launch>
void run(const Args& args, Check check_args, Size workspace_size, Launch launch) {
    char message[256];
    if (check_args(&args, message, sizeof message) != PIPE_OK) {
        std::fprintf(stderr, "FAILED: %s\n", message);
        std::exit(1);
    }
    const Workspace workspace(workspace_size(&args));
    const pipe_status status = launch(&args, workspace.data(), workspace.size(), nullptr);
    check(status == PIPE_OK, pipe_status_string(status));
}

}  // namespace example
