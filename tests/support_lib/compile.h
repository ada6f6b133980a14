// From text to checked pipelines with their polyhedral models, for tests.
#pragma once

#include <string>
#include <vector>

#include "compiler/passes.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::testing {

/// What became of one program.
struct Compiled {
    Diagnostics diags;
    std::vector<ir::Pipeline> definitions;  ///< what the interpreter is asked about
    std::vector<ir::Pipeline> pipelines;
    std::vector<poly::Model> models;  ///< models[i] belongs to pipelines[i]
    [[nodiscard]] bool ok() const { return !diags.has_errors(); }
};

/// Runs every pass up to the analysis, or to the one that the options say. The text is added to `sources` under `name`.
Compiled compile_text(SourceManager& sources, const std::string& name, const std::string& text,
                      const compiler::Settings& options = {});

/// The content of a file; throws where it cannot be read.
std::string read_file(const std::string& path);

}  // namespace pipec::testing
