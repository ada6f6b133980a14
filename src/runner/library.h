// A compiled pipeline: the shared object, and what it says about its buffers and scalars.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"
#include "runner/array.h"
#include "runner/pipe_abi.h"

namespace pipec::runner {

/// A buffer of the pipeline, in C++ terms.
struct Buffer {
    std::string name;
    ir::Type type = ir::Type::Float32;
    bool is_output = false;
    std::vector<int> order;                ///< dimensions, outermost first
    Extents fixed;                         ///< per dimension: the extent where it is a constant, else 0
    std::vector<std::string> extent_text;  ///< per dimension: "R + 2"
    const abi::pipe_buffer_info* info = nullptr;
    [[nodiscard]] std::size_t rank() const { return fixed.size(); }
};

struct Scalar {
    std::string name;
    ir::Type type = ir::Type::Float32;
    bool has_default = false;
    std::size_t offset = 0;
};

class Library {
public:
    /// Loads a shared object and finds `pipeline` in it. Throws Error.
    Library(const std::string& path, const std::string& pipeline);

    [[nodiscard]] const abi::pipe_info& info() const { return *info_; }
    /// Null where it was compiled without functions for windows.
    [[nodiscard]] const abi::pipe_window_info* window_info() const { return window_info_; }
    [[nodiscard]] const std::vector<Buffer>& buffers() const { return buffers_; }
    [[nodiscard]] const std::vector<Scalar>& parameters() const { return parameters_; }
    [[nodiscard]] const std::vector<Scalar>& sizes() const { return sizes_; }

private:
    struct Close {
        void operator()(void* handle) const;
    };
    std::unique_ptr<void, Close> handle_;
    const abi::pipe_info* info_ = nullptr;
    const abi::pipe_window_info* window_info_ = nullptr;
    std::vector<Buffer> buffers_;  ///< inputs, then outputs
    std::vector<Scalar> parameters_;
    std::vector<Scalar> sizes_;
};

/// "float32[R + 4, C + 4]".
std::string shape_text(const Buffer& buffer);

}  // namespace pipec::runner
