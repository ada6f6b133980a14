// Tiles on a GPU: two slots, each with a stream, with memory that the GPU can copy from and to by itself, and with
// device memory. While one tile is copied and computed, the host writes the one before and reads the next.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "runner/gpu_context.h"
#include "runner/tile_device.h"

namespace pipec::runner {

namespace {

/// Of the memory that is free now, for contexts, code and what other processes take.
constexpr double kUsable = 0.9;

class GpuTiles : public TileDevice {
public:
    explicit GpuTiles(int ordinal) : context_(ordinal), driver_(context_.driver()) {
        try {
            for (Slot& slot : slots_) {
                check(driver_.create_stream(&slot.stream, 0), "cuStreamCreate");
                for (cuda::Event& event : slot.events) check(driver_.create_event(&event, 0), "cuEventCreate");
            }
            std::size_t free = 0, total = 0;
            check(driver_.memory_info(&free, &total), "cuMemGetInfo");
            free_memory_ = static_cast<std::size_t>(static_cast<double>(free) * kUsable);
        } catch (...) {
            release();
            throw;
        }
    }
    GpuTiles(const GpuTiles&) = delete;
    GpuTiles& operator=(const GpuTiles&) = delete;
    ~GpuTiles() override { release(); }

    [[nodiscard]] std::string name() const override { return context_.name(); }
    [[nodiscard]] int slots() const override { return static_cast<int>(slots_.size()); }
    [[nodiscard]] bool on_gpu() const override { return true; }
    [[nodiscard]] std::size_t free_memory() const override { return free_memory_; }

    void reserve(const std::vector<std::size_t>& buffer_bytes, std::size_t workspace_bytes) override {
        for (Slot& slot : slots_) {
            for (const std::size_t bytes : buffer_bytes) {
                slot.host.push_back(bytes == 0 ? nullptr : pinned(bytes));
                slot.device.push_back(bytes == 0 ? 0 : allocate(bytes));
            }
            slot.workspace = workspace_bytes == 0 ? 0 : allocate(workspace_bytes);
        }
    }
    std::byte* host(int slot, std::size_t buffer) override { return at(slot).host[buffer]; }
    void* address(int slot, std::size_t buffer) override { return pointer(at(slot).device[buffer]); }
    void* keep(Memory host) override {
        const cuda::Address copy = allocate(host.size());
        check(driver_.copy_to_device(copy, host.data(), host.size()),
              fmt::format("cuMemcpyHtoD of {} bytes", host.size()));
        return pointer(copy);
    }

    abi::pipe_status start(int number, const Launch& launch) override {
        Slot& slot = at(number);
        for (const Transfer& in : launch.in) {
            check(driver_.copy_to_device_later(slot.device[in.buffer], slot.host[in.buffer], in.bytes, slot.stream),
                  fmt::format("cuMemcpyHtoDAsync of {} bytes", in.bytes));
        }
        check(driver_.record_event(slot.events[0], slot.stream), "cuEventRecord");
        const abi::pipe_status status = launch.windows.launch_window(
            launch.args, launch.window, pointer(slot.workspace), launch.workspace_bytes, slot.stream);
        if ((status & 0xFF) == abi::PIPE_ERROR_DEVICE) throw context_.refused(launch.pipeline.name);
        if (status != abi::PIPE_OK) return status;
        check(driver_.record_event(slot.events[1], slot.stream), "cuEventRecord");
        for (const Transfer& out : launch.out) {
            check(driver_.copy_to_host_later(slot.host[out.buffer], slot.device[out.buffer], out.bytes, slot.stream),
                  fmt::format("cuMemcpyDtoHAsync of {} bytes", out.bytes));
        }
        return status;
    }
    double finish(int number) override {
        const Slot& slot = at(number);
        check(driver_.synchronize_stream(slot.stream), "cuStreamSynchronize");
        float milliseconds = 0;
        check(driver_.elapsed_time(&milliseconds, slot.events[0], slot.events[1]), "cuEventElapsedTime");
        return static_cast<double>(milliseconds);
    }

private:
    struct Slot {
        cuda::Stream stream = nullptr;
        std::array<cuda::Event, 2> events{};  ///< before and after the launch
        std::vector<std::byte*> host;
        std::vector<cuda::Address> device;
        cuda::Address workspace = 0;
    };

    Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
    static void* pointer(cuda::Address address) { return reinterpret_cast<void*>(address); }
    void check(cuda::Result result, const std::string& call) const { context_.check(result, call); }

    cuda::Address allocate(std::size_t bytes) {
        cuda::Address block = 0;
        check(driver_.allocate(&block, bytes), fmt::format("cuMemAlloc of {} bytes", bytes));
        blocks_.push_back(block);
        return block;
    }
    std::byte* pinned(std::size_t bytes) {
        void* block = nullptr;
        check(driver_.allocate_host(&block, bytes), fmt::format("cuMemAllocHost of {} bytes", bytes));
        host_blocks_.push_back(block);
        return static_cast<std::byte*>(block);
    }

    /// After a failed kernel these calls fail, too; that was reported.
    void release() {
        for (Slot& slot : slots_) {
            if (slot.stream != nullptr) driver_.synchronize_stream(slot.stream);
        }
        for (const cuda::Address block : blocks_) driver_.free(block);
        for (void* const block : host_blocks_) driver_.free_host(block);
        for (Slot& slot : slots_) {
            for (cuda::Event event : slot.events) {
                if (event != nullptr) driver_.destroy_event(event);
            }
            if (slot.stream != nullptr) driver_.destroy_stream(slot.stream);
        }
    }

    GpuContext context_;
    const cuda::Driver& driver_;
    std::array<Slot, 2> slots_;
    std::size_t free_memory_ = 0;
    std::vector<cuda::Address> blocks_;
    std::vector<void*> host_blocks_;
};

}  // namespace

std::unique_ptr<TileDevice> open_tile_gpu(int ordinal) {
    return std::make_unique<GpuTiles>(ordinal);
}

}  // namespace pipec::runner
