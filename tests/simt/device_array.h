// An array in device memory, for tests: filled, and read back.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "simt.h"

template <class T>
class DeviceArray {
public:
    /// Nobody has written it.
    explicit DeviceArray(std::size_t count) : count_(count) {
        EXPECT_EQ(cudaMalloc(&data_, count * sizeof(T)), cudaSuccess);
    }
    explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
        EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
    /// Every byte must have been written.
    [[nodiscard]] std::vector<T> download() const {
        std::vector<T> values(count_);
        EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
        EXPECT_EQ(simt::first_unwritten(data_, bytes()), bytes());
        return values;
    }

private:
    T* data_ = nullptr;
    std::size_t count_;
};
