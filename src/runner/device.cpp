// The CPU as a device, and which device it is to be.
#include "runner/device.h"

#include <fmt/format.h>

#include <chrono>

#include "runner/error.h"

namespace pipec::runner {

namespace {

class Cpu : public Device {
public:
    [[nodiscard]] std::string name() const override { return "the CPU"; }
    void* copy_in(const Memory& host) override { return host.data(); }
    void* room_for(const Memory& host) override { return host.data(); }
    void copy_out(const Memory&, const void*) override {}
    void* scratch(std::size_t bytes) override { return scratch_.emplace_back(bytes).data(); }
    Launched launch(const abi::pipe_info& info, const void* args, void* workspace, std::size_t bytes,
                    int times) override {
        const auto start = std::chrono::steady_clock::now();
        abi::pipe_status status = abi::PIPE_OK;
        for (int i = 0; i < times && status == abi::PIPE_OK; ++i) status = info.launch(args, workspace, bytes, nullptr);
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        return {status, time.count()};
    }

private:
    std::vector<Memory> scratch_;
};

}  // namespace

std::unique_ptr<Device> open_cpu() {
    return std::make_unique<Cpu>();
}

std::optional<int> choose_device(const std::string& wish, const abi::pipe_info& info) {
    const std::string_view target = info.target;
    if (target != "host" && target != "cuda") {
        throw run_error(fmt::format("`{}` is compiled for `{}`, which this program does not know", info.name, target));
    }
    const bool on_gpu = target == "cuda";
    if (wish != "auto" && (wish == "cpu") == on_gpu) {
        throw usage_error(fmt::format("--device {}: `{}` is compiled for {}", wish, info.name,
                                      on_gpu ? "a GPU (target `cuda`)" : "the CPU (target `host`)"));
    }
    if (!on_gpu) return std::nullopt;
    return wish == "auto" || wish == "gpu" ? 0 : std::stoi(wish);
}

std::unique_ptr<Device> open_device(const std::string& wish, const abi::pipe_info& info) {
    const std::optional<int> gpu = choose_device(wish, info);
    return gpu ? open_gpu(*gpu) : open_cpu();
}

}  // namespace pipec::runner
