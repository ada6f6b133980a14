// The functions of a compiled pipeline for windows (docs/windows.md), in C++ terms.
#pragma once

#include <string>
#include <vector>

#include "runner/arguments.h"
#include "runner/parts.h"

namespace pipec::runner {

/// A window for each buffer, inputs first. A buffer that is not needed has an empty one; one without dimensions has the
/// box without dimensions, which is not empty, or none.
using WindowBoxes = std::vector<std::optional<Box>>;

class Windows {
public:
    /// Throws Error where the pipeline was compiled without them.
    explicit Windows(const Library& library);

    /// Sets the windows of all buffers.
    void set(const WindowBoxes& boxes);
    /// The window struct.
    [[nodiscard]] const void* get() const { return memory_.data(); }
    [[nodiscard]] const abi::pipe_window_info& info() const { return info_; }

    /// From the outputs' windows those of the inputs. Throws Error.
    void require(const Arguments& args, WindowBoxes& boxes);
    /// For the windows as set. Throws Error.
    [[nodiscard]] std::size_t workspace_size(const Arguments& args) const;
    /// Why a launch of these windows was refused.
    [[nodiscard]] Error refused(const Arguments& args, abi::pipe_status status) const;

private:
    [[nodiscard]] std::int64_t* at(std::size_t offset) const;
    const Library& library_;
    const abi::pipe_window_info& info_;
    Memory memory_;
};

}  // namespace pipec::runner
