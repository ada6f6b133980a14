// Host-target code, compiled by the system's compiler and loaded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/emit/host/host.h"
#include "codegen/windows.h"
#include "support_lib/run.h"
#include "support_lib/window.h"

namespace pipec::testing {

/// Flags with which undefined behaviour ends the test. Its checks would keep the compiler from making vectors anyway,
/// so that optimising took three times as long and tested nothing more.
inline constexpr const char* kNothingUndefined = "-O0 -fsanitize=undefined -fno-sanitize-recover=all";

/// How pipelines run: stage by stage, as the compiler schedules them, or so with tiles of a few points.
enum class HostTiling { None, Usual, Small };

/// A loaded shared object; its files live in a temporary directory of its own and go with it.
class HostLibrary {
public:
    /// Generates, compiles and loads the code for these pipelines. Throws std::runtime_error with the compiler's
    /// messages where it refuses; `flags` are added to the command line.
    HostLibrary(const std::vector<codegen::Unit>& units, const SourceManager& sources, const std::string& flags = "",
                HostTiling tiling = HostTiling::Usual, bool windows = false);
    /// Of a text that is generated already, whose header is called generated.h.
    HostLibrary(const std::string& header, const std::string& source, const std::string& flags);
    ~HostLibrary();
    HostLibrary(const HostLibrary&) = delete;
    HostLibrary& operator=(const HostLibrary&) = delete;

    /// Throws std::runtime_error where there is no such pipeline.
    [[nodiscard]] const runner::abi::pipe_info& info(const std::string& pipeline) const;
    /// The same with the functions for windows, where the code has them.
    [[nodiscard]] WindowedPipeline windowed(const std::string& pipeline) const;

private:
    std::string directory_;
    void* handle_ = nullptr;
};

/// launch_windows on the host's memory.
std::map<std::string, reference::Array> run_host_windows(const WindowedPipeline& pipeline,
                                                         const reference::Arguments& arguments, const Windows& outputs,
                                                         const Windows& held, Layout layout = Layout::Dense);

/// run_library on the host's memory, with guards around every buffer.
std::map<std::string, reference::Array> run_host(const runner::abi::pipe_info& info,
                                                 const reference::Arguments& arguments, Layout layout = Layout::Dense);

}  // namespace pipec::testing
