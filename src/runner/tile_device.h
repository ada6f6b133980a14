// Where tiles are computed. Some tiles may be under way at the same time, each in a slot with memory of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/array.h"
#include "runner/pipe_abi.h"

namespace pipec::runner {

class TileDevice {
public:
    TileDevice() = default;
    TileDevice(const TileDevice&) = delete;
    TileDevice& operator=(const TileDevice&) = delete;
    /// Waits for what is under way, and gives all memory back.
    virtual ~TileDevice() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual int slots() const = 0;
    [[nodiscard]] virtual bool on_gpu() const = 0;
    /// Memory of its own; SIZE_MAX where it works in the host's.
    [[nodiscard]] virtual std::size_t free_memory() const = 0;

    // All of these throw Error.

    /// Memory for the windows of each buffer (0 bytes: none) and for the workspace, in each slot.
    virtual void reserve(const std::vector<std::size_t>& buffer_bytes, std::size_t workspace_bytes) = 0;
    /// Where the host has a buffer's window, and where the launch has it.
    [[nodiscard]] virtual std::byte* host(int slot, std::size_t buffer) = 0;
    [[nodiscard]] virtual void* address(int slot, std::size_t buffer) = 0;
    /// The launch's copy of what stays the same; takes the memory.
    virtual void* keep(Memory host) = 0;

    struct Transfer {
        std::size_t buffer = 0, bytes = 0;
    };
    struct Launch {
        const abi::pipe_info& pipeline;
        const abi::pipe_window_info& windows;
        const void* args;
        const void* window;
        std::size_t workspace_bytes;
        std::vector<Transfer> in = {}, out = {};
    };
    /// Copies windows in, launches, and copies windows out, perhaps all of it later. Other statuses than those of a
    /// device that failed are the caller's.
    virtual abi::pipe_status start(int slot, const Launch& launch) = 0;
    /// Waits for what was started in a slot; returns the launch's milliseconds.
    virtual double finish(int slot) = 0;
};

/// As open_device (device.h).
std::unique_ptr<TileDevice> open_tile_device(const std::string& wish, const abi::pipe_info& info);

/// A GPU by its number. Throws Error.
std::unique_ptr<TileDevice> open_tile_gpu(int ordinal);

}  // namespace pipec::runner
