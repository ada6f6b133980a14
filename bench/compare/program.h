// A compiled pipeline, ready to run: pipec's or Halide's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call.h"
#include "cases.h"
#include "device.h"
#include "image.h"

namespace pipec::bench {

/// The pipeline with arguments and memory of its own.
class Program {
public:
    Program() = default;
    virtual ~Program() = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    virtual void launch(gpu::Stream stream) const = 0;
    /// After the launches have ended, in the order of pipec's outputs.
    virtual std::vector<gpu::Values> results() = 0;
    /// Bytes of memory beside inputs and outputs; none where that is not known.
    [[nodiscard]] virtual std::optional<std::size_t> workspace() const { return std::nullopt; }
};

/// A named buffer of a benchmark and its values; an output's values are of no account.
struct Image {
    std::string name;
    gpu::Values values;
};

/// What all systems are given.
struct Problem {
    gpu::Case shape;
    std::vector<gpu::Values> inputs;  ///< in the order of pipec's buffers
    std::vector<Image> images;        ///< inputs, then outputs; what Halide's programs need
    std::size_t bytes;                ///< of all images
};

/// A library of pipec, or of Halide, which is linked to its runtime (bench/halide/runtime.h): found out by its symbols.
class Library {
public:
    /// Throws where it cannot be loaded.
    Library(const std::string& file, const std::string& benchmark);
    /// Null for Halide's.
    [[nodiscard]] const runner::abi::pipe_info* info() const { return info_; }
    [[nodiscard]] std::unique_ptr<Program> program(const Problem& problem) const;

private:
    void* handle_;
    const runner::abi::pipe_info* info_ = nullptr;
};

/// From pipec's library: images of these extents, floats in [0, 1), integers of at most ten bits, as cameras give them.
/// With `repeated` each input is the same few million values again and again, and `images` is empty: that is quick for
/// large ones.
Problem make_problem(const gpu::Case& shape, const runner::abi::pipe_info& info, bool repeated = false);

/// Implemented in halide_program.cpp.
std::unique_ptr<Program> halide_program(void* library, const Problem& problem);

}  // namespace pipec::bench
