// Launches of one pipeline from several threads at once, each with its own buffers: C++ sees the same header.
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "blur.h"

namespace {

struct Free {
    void operator()(void* p) const { std::free(p); }
};

bool run(float seed) {
    const int rows = 40, columns = 61;
    std::vector<float> img(3 * (rows + 2) * (columns + 2), seed), out(3 * rows * columns, -1);
    blur_args args;
    blur_defaults(&args);
    args.img = img.data();
    args.out = out.data();
    args.img_extent[0] = 3;
    args.img_extent[1] = rows + 2;
    args.img_extent[2] = columns + 2;
    const size_t bytes = blur_workspace_size(&args);
    const std::unique_ptr<void, Free> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    for (int i = 0; i < 20; ++i) {
        if (blur_launch(&args, workspace.get(), bytes, nullptr) != PIPE_OK) return false;
    }
    for (const float v : out) {
        if (v != seed) return false;
    }
    return true;
}

}  // namespace

int main() {
    std::vector<int> good(4);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&good, i] { good[static_cast<std::size_t>(i)] = run(static_cast<float>(3 * i)); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int g : good) {
        if (!g) return 1;
    }
    return 0;
}
