// Tiles on the CPU: one after the other, in the host's memory.
#include "runner/tile_device.h"

#include <chrono>
#include <optional>

#include "runner/device.h"

namespace pipec::runner {

namespace {

class CpuTiles : public TileDevice {
public:
    [[nodiscard]] std::string name() const override { return "the CPU"; }
    [[nodiscard]] int slots() const override { return 1; }
    [[nodiscard]] bool on_gpu() const override { return false; }
    [[nodiscard]] std::size_t free_memory() const override { return SIZE_MAX; }

    void reserve(const std::vector<std::size_t>& buffer_bytes, std::size_t workspace_bytes) override {
        for (const std::size_t bytes : buffer_bytes) buffers_.emplace_back(bytes);
        workspace_ = Memory(workspace_bytes);
    }
    std::byte* host(int /*slot*/, std::size_t buffer) override { return buffers_[buffer].data(); }
    void* address(int /*slot*/, std::size_t buffer) override { return buffers_[buffer].data(); }
    void* keep(Memory host) override { return kept_.emplace_back(std::move(host)).data(); }

    abi::pipe_status start(int /*slot*/, const Launch& launch) override {
        const auto start = std::chrono::steady_clock::now();
        const abi::pipe_status status = launch.windows.launch_window(launch.args, launch.window, workspace_.data(),
                                                                     launch.workspace_bytes, nullptr);
        milliseconds_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        return status;
    }
    double finish(int /*slot*/) override { return milliseconds_; }

private:
    std::vector<Memory> buffers_, kept_;
    Memory workspace_;
    double milliseconds_ = 0;
};

}  // namespace

std::unique_ptr<TileDevice> open_tile_device(const std::string& wish, const abi::pipe_info& info) {
    const std::optional<int> gpu = choose_device(wish, info);
    if (gpu) return open_tile_gpu(*gpu);
    return std::make_unique<CpuTiles>();
}

}  // namespace pipec::runner
