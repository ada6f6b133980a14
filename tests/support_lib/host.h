// Host-target code, compiled by the system's compiler, loaded and called as a stranger would: through pipe_info alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/host.h"
#include "reference/interpreter.h"
#include "runner/pipe_abi.h"

namespace pipec::testing {

/// A loaded shared object; its files live in a temporary directory of its own and go with it.
class HostLibrary {
public:
    /// Generates, compiles and loads the code for these pipelines. Throws std::runtime_error with the compiler's
    /// messages where it refuses; `flags` are added to the command line.
    HostLibrary(const std::vector<codegen::Unit>& units, const SourceManager& sources, const std::string& flags = "");
    ~HostLibrary();
    HostLibrary(const HostLibrary&) = delete;
    HostLibrary& operator=(const HostLibrary&) = delete;

    /// Throws std::runtime_error where there is no such pipeline.
    [[nodiscard]] const runner::abi::pipe_info& info(const std::string& pipeline) const;

private:
    std::string directory_;
    void* handle_ = nullptr;
};

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

/// Resolves, checks and launches. Besides the results this verifies, and throws std::runtime_error otherwise: all calls
/// succeed, inputs are unchanged, nothing is written outside of the outputs' elements and the workspace.
std::map<std::string, reference::Array> run_host(const runner::abi::pipe_info& info,
                                                 const reference::Arguments& arguments, Layout layout = Layout::Dense);

}  // namespace pipec::testing
