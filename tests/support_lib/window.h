// Calling generated functions for windows as a stranger would: through pipe_window_info, with memory that holds just
// the windows.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/interpreter.h"
#include "runner/pipe_abi.h"
#include "support_lib/run.h"

namespace pipec::testing {

/// lo <= index < hi of each dimension.
using WindowBox = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// By buffer. One without dimensions is there where it is wanted, with an empty box.
using Windows = std::map<std::string, WindowBox>;

struct WindowedPipeline {
    const runner::abi::pipe_info* info;
    const runner::abi::pipe_window_info* windows;
};

/// The windows of the inputs that those of the outputs need. Throws std::runtime_error where `required` refuses.
Windows required_windows(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                         const Windows& outputs);

/// Launches windows: those of the outputs, and the inputs that `held` says. Besides the results, which have the
/// windows' extents, this verifies that inputs are unchanged and nothing else is written, and throws
/// std::runtime_error otherwise.
std::map<std::string, reference::Array> launch_windows(const WindowedPipeline& pipeline,
                                                       const reference::Arguments& arguments, const Windows& outputs,
                                                       const Windows& held, Layout layout, Memory& memory);

/// What check_window says of them; empty where nothing is wrong. Strides are dense, and every pointer is good.
std::string window_problem(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                           const Windows& outputs, const Windows& held);

/// The elements of a window.
reference::Array part_of(const reference::Array& whole, const WindowBox& window);

/// A window of each output: whole, a pixel, empty, or any; all of constant extents.
template <class Rng>
Windows random_windows(const runner::abi::pipe_info& info, const std::map<std::string, reference::Array>& outputs,
                       Rng& rng) {
    Windows result;
    for (int i = 0; i < info.buffer_count; ++i) {
        const runner::abi::pipe_buffer_info& buffer = info.buffers[i];
        if (!buffer.is_output) continue;
        const std::vector<std::int64_t>& extents = outputs.at(buffer.name).extents;
        if (rng() % 6 == 0) continue;  // not wanted
        WindowBox box;
        for (int d = 0; d < buffer.rank; ++d) {
            const std::int64_t extent = extents[static_cast<std::size_t>(d)];
            const auto any = [&](std::int64_t below) {
                return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(below));
            };
            if (buffer.fixed_extent[d] != 0 || rng() % 8 == 0) {
                box.emplace_back(0, extent);
            } else if (rng() % 4 == 0) {
                const std::int64_t at = rng() % 3 == 0 ? 0 : rng() % 2 == 0 ? extent - 1 : any(extent);
                box.emplace_back(at, at + 1);
            } else {
                const std::int64_t lo = any(extent);
                box.emplace_back(lo, lo + 1 + any(extent - lo));
            }
        }
        result.emplace(buffer.name, box);
    }
    return result;
}

}  // namespace pipec::testing
