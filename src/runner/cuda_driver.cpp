// Finding the functions of libcuda and the GPUs, and wording errors.
#include "runner/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace pipec::runner::cuda {

std::string Driver::text(Result error) const {
    const char *name = nullptr, *sentence = nullptr;
    if (error_name(error, &name) != 0 || error_string(error, &sentence) != 0) return fmt::format("error {}", error);
    return fmt::format("{} ({})", sentence, name);
}

void Driver::check(Result result, const std::string& call) const {
    if (result != 0) throw run_error(fmt::format("{} failed: {}", call, text(result)));
}

Driver load_driver() {
    // It is never closed: it has threads of its own, and the compiled pipeline's CUDA runtime uses it, too.
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw run_error(
            fmt::format("there is no CUDA driver: {}\n  note: libcuda.so.1 comes with NVIDIA's driver", dlerror()));
    }
    Driver driver;
#define PIPEC_CUDA_FIND(name, symbol, ...)                                          \
    driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, #symbol)); \
    if (driver.name == nullptr) throw run_error("the CUDA driver is too old: libcuda.so.1 has no " #symbol);
    PIPEC_CUDA_FUNCTIONS(PIPEC_CUDA_FIND)
#undef PIPEC_CUDA_FIND
    driver.check(driver.init(0), "cuInit");
    return driver;
}

int count_gpus(const Driver& driver) {
    int count = 0;
    driver.check(driver.device_count(&count), "cuDeviceGetCount");
    if (count == 0) throw run_error("there is no GPU: the CUDA driver sees none");
    return count;
}

DeviceNumber find_gpu(const Driver& driver, int ordinal) {
    const int count = count_gpus(driver);
    if (ordinal >= count) {
        throw run_error(count == 1 ? fmt::format("there is no GPU {}: there is one, number 0", ordinal)
                                   : fmt::format("there is no GPU {}: there are {}, from 0", ordinal, count));
    }
    DeviceNumber device = 0;
    driver.check(driver.device(&device, ordinal), fmt::format("cuDeviceGet of GPU {}", ordinal));
    return device;
}

std::string gpu_name(const Driver& driver, DeviceNumber device) {
    std::array<char, 256> text{};
    driver.check(driver.device_name(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetName");
    return text.data();
}

}  // namespace pipec::runner::cuda
