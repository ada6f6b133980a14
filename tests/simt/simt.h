// The SIMT emulator as a test sees it: which order the lanes run in, what was counted, what went wrong.
//
// Memory, streams and launches are those of cuda_runtime.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {

enum class Kind {
    OutOfBounds,    ///< an access to memory that is not the kernel's
    Uninitialized,  ///< a read of device or shared memory that nobody wrote
    Misaligned,     ///< an access that its type's alignment forbids
    Race,           ///< two lanes, one of them writes, nothing between
    Divergence,     ///< lanes wait for lanes that will not come
    BadCollective,  ///< a mask without the lane itself, a value of a lane that is not there
    HostAccess,     ///< host code that touches device memory
    Undefined       ///< other behaviour that C++ leaves undefined: overflow, division by zero, shifts
};
const char* kind_name(Kind kind);

struct Fault {
    Kind kind;
    std::string kernel;  ///< without template arguments and namespaces; empty for host code
    std::string text;    ///< the whole report, several lines
};

/// While one lives, a fault ends the work of the device (which then answers cudaErrorLaunchFailure) and is kept here;
/// without one it is printed and ends the program with exit code 86. Its end makes the device usable again.
class CatchFaults {
public:
    CatchFaults();
    ~CatchFaults();
    CatchFaults(const CatchFaults&) = delete;
    CatchFaults& operator=(const CatchFaults&) = delete;
    [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
    /// All reports, for messages.
    [[nodiscard]] std::string text() const;

private:
    friend void keep(Fault fault);
    std::vector<Fault> faults_;
    CatchFaults* outer_;
};

/// In which order blocks, and lanes of a block, run where they have the choice. Correct kernels do not notice.
struct Order {
    enum class Mode : std::uint8_t { Forward, Backward, Random } mode = Mode::Forward;
    std::uint64_t seed = 0;  ///< for Random
};
void set_order(Order order);
/// 0 is forward, 1 backward, anything else a seed.
void set_order(std::uint64_t seed);

/// The device's compute capability, and what its kernels are compiled for: 90 is 9.0, which it is without this.
void set_capability(int number);

struct Statistics {
    std::uint64_t launches = 0, blocks = 0, lanes = 0;
    std::uint64_t early_launches = 0;                   ///< of these: while the kernel before may still be at work
    std::uint64_t global_read = 0, global_written = 0;  ///< bytes that lanes asked for, before any cache
    std::uint64_t shared_read = 0, shared_written = 0;
    std::uint64_t atomics = 0;
    std::uint64_t block_barriers = 0, warp_barriers = 0;  ///< once for all lanes that take part
    std::uint64_t shuffles = 0, votes = 0;                ///< likewise
};
/// Since the last reset, of this process.
const Statistics& statistics();
void reset_statistics();

/// The first of these bytes of device memory that nobody wrote, or `bytes`.
std::size_t first_unwritten(const void* device_pointer, std::size_t bytes);

}  // namespace simt
