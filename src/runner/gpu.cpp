// A GPU as a device, through CUDA's driver API.
#include <fmt/format.h>

#include <array>

#include "runner/device.h"
#include "runner/gpu_context.h"

namespace pipec::runner {

namespace {

class Gpu : public Device {
public:
    explicit Gpu(int ordinal) : context_(ordinal), driver_(context_.driver()) {
        try {
            check(driver_.create_stream(&stream_, 0), "cuStreamCreate");
            for (cuda::Event& event : events_) check(driver_.create_event(&event, 0), "cuEventCreate");
        } catch (...) {
            release();
            throw;
        }
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;
    ~Gpu() override { release(); }

    [[nodiscard]] std::string name() const override { return context_.name(); }

    void* copy_in(const Memory& host) override {
        void* const copy = scratch(host.size());
        check(driver_.copy_to_device(address(copy), host.data(), host.size()),
              fmt::format("cuMemcpyHtoD of {} bytes", host.size()));
        return copy;
    }
    void* room_for(const Memory& host) override { return scratch(host.size()); }
    void copy_out(const Memory& host, const void* room) override {
        check(driver_.copy_to_host(host.data(), address(room), host.size()),
              fmt::format("cuMemcpyDtoH of {} bytes", host.size()));
    }
    void* scratch(std::size_t bytes) override {
        if (bytes == 0) return nullptr;
        cuda::Address block = 0;
        check(driver_.allocate(&block, bytes), fmt::format("cuMemAlloc of {} bytes", bytes));
        blocks_.push_back(block);
        return reinterpret_cast<void*>(block);
    }

    Launched launch(const abi::pipe_info& info, const void* args, void* workspace, std::size_t bytes,
                    int times) override {
        check(driver_.record_event(events_[0], stream_), "cuEventRecord");
        abi::pipe_status status = abi::PIPE_OK;
        for (int i = 0; i < times; ++i) {
            status = info.launch(args, workspace, bytes, stream_);
            if ((status & 0xFF) == abi::PIPE_ERROR_DEVICE) throw context_.refused(info.name);
            if (status != abi::PIPE_OK) return {status, 0};
        }
        check(driver_.record_event(events_[1], stream_), "cuEventRecord");
        check(driver_.synchronize_stream(stream_), fmt::format("`{}`: cuStreamSynchronize", info.name));
        float milliseconds = 0;
        check(driver_.elapsed_time(&milliseconds, events_[0], events_[1]), "cuEventElapsedTime");
        return {status, static_cast<double>(milliseconds)};
    }

private:
    static cuda::Address address(const void* pointer) { return reinterpret_cast<cuda::Address>(pointer); }

    void check(cuda::Result result, const std::string& call) const { context_.check(result, call); }

    /// After a failed kernel these calls fail, too; that was reported.
    void release() {
        for (const cuda::Address block : blocks_) driver_.free(block);
        for (cuda::Event event : events_) {
            if (event != nullptr) driver_.destroy_event(event);
        }
        if (stream_ != nullptr) driver_.destroy_stream(stream_);
    }

    GpuContext context_;
    const cuda::Driver& driver_;
    cuda::Stream stream_ = nullptr;
    std::array<cuda::Event, 2> events_{};  ///< before and after a launch
    std::vector<cuda::Address> blocks_;
};

}  // namespace

std::unique_ptr<Device> open_gpu(int ordinal) {
    return std::make_unique<Gpu>(ordinal);
}

std::string list_gpus() {
    const cuda::Driver driver = cuda::load_driver();
    std::string result;
    for (int ordinal = 0, count = cuda::count_gpus(driver); ordinal < count; ++ordinal) {
        const cuda::DeviceNumber device = cuda::find_gpu(driver, ordinal);
        int major = 0, minor = 0;
        for (const auto& [value, attribute] :
             {std::pair{&major, cuda::kComputeCapabilityMajor}, std::pair{&minor, cuda::kComputeCapabilityMinor}}) {
            driver.check(driver.device_attribute(value, attribute, device), "cuDeviceGetAttribute");
        }
        result += fmt::format("{} sm_{}{} {}\n", ordinal, major, minor, cuda::gpu_name(driver, device));
    }
    return result;
}

}  // namespace pipec::runner
