// Calling generated code as a stranger would: through pipe_info alone, with images that lie in memory in every way that
// the interface allows.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "reference/interpreter.h"
#include "runner/pipe_abi.h"

struct CUstream_st;

namespace pipec::testing {

/// How the caller's images lie in memory.
enum class Layout {
    Dense,     ///< in the declared order, strides left to the callee
    Pitched,   ///< in the declared order, every row longer than it need be
    Sparse,    ///< in the declared order, elements apart
    Reversed,  ///< dense with the first dimension innermost
    Rotated,   ///< pitched, with the last dimension outermost
};
inline constexpr Layout kLayouts[] = {Layout::Dense, Layout::Pitched, Layout::Sparse, Layout::Reversed,
                                      Layout::Rotated};
const char* name(Layout layout);

/// The memory that a pipeline works on, with the bytes that the test sees of it ("mirror") at hand. Every function
/// throws std::runtime_error where something failed.
class Memory {
public:
    virtual ~Memory() = default;
    /// Memory that holds the mirror's bytes; it is the mirror itself where code runs on the host.
    virtual void* place(std::byte* mirror, std::size_t bytes) = 0;
    /// Memory for the workspace that nobody has written, null for 0 bytes.
    virtual void* scratch(std::size_t bytes) = 0;
    /// After a launch on this stream: waits, and verifies what can be about the scratch.
    virtual CUstream_st* stream() { return nullptr; }
    virtual void finish() = 0;
    /// Brings the mirror of `placed` up to date.
    virtual void fetch(std::byte* mirror, const void* placed, std::size_t bytes) = 0;
};

/// Strides of an image of these extents that lies in memory so.
std::vector<std::int64_t> strides_of(const runner::abi::pipe_buffer_info& info,
                                     const std::vector<std::int64_t>& extents, Layout layout);

/// Resolves, checks and launches. Besides the results this verifies, and throws std::runtime_error otherwise: all calls
/// succeed, inputs are unchanged, nothing is written outside of the outputs' elements and the workspace.
std::map<std::string, reference::Array> run_library(const runner::abi::pipe_info& info,
                                                    const reference::Arguments& arguments, Layout layout,
                                                    Memory& memory);

}  // namespace pipec::testing
