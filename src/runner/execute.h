// One run: files into inputs, the pipeline's launch, outputs into files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/library.h"
#include "runner/options.h"

namespace pipec::runner {

/// What became of one buffer, for the report.
struct BufferReport {
    std::string name;
    bool is_output = false;
    ir::Type type = ir::Type::Float32;
    Extents extents;
    std::string file;  ///< empty for an output that was not asked for
    ir::Type file_type = ir::Type::Float32;
    double milliseconds = 0;                    ///< to load or to save, conversion included
    std::optional<std::size_t> different = {};  ///< elements that are not as expected, where something is expected
    std::string least = {}, greatest = {};      ///< values of an output with a file; empty: not known
};

/// Of a run in tiles.
struct TilesReport {
    std::int64_t count = 0, rows = 0, columns = 0;
};

struct Report {
    std::string pipeline;
    std::string target;
    std::string device;  ///< "the CPU", "NVIDIA H200 (GPU 0)"
    std::vector<BufferReport> buffers;
    std::vector<double> run_milliseconds;  ///< one for each launch, in order, or where it is measured for each batch,
                                           ///< or of all tiles
    std::size_t workspace_bytes = 0;
    std::optional<TilesReport> tiles = {};
    std::vector<std::string> warnings = {};  ///< about files that do not show what the outputs hold
};

/// Runs the pipeline as the options say. Everything that can be checked before the launch is; outputs appear when all
/// of them are complete. Throws Error.
Report execute(const Library& library, const Options& options);

}  // namespace pipec::runner
