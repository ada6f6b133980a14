// Syntax trees to checked pipelines: imports, names, compile-time evaluation, instantiation of stage functions, types.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ast.h"
#include "ir/pipeline.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec {

/// Where imports are looked up, in this order: beside the importing file, in `include_dirs`, in the standard library
/// (compiled into the binary; see frontend/stdlib.h).
struct ImportOptions {
    std::vector<std::string> include_dirs;
    /// Texts that stand for those of files, by path (absolute, without links): what an editor has not saved.
    std::map<std::string, std::string> open_files{};
};

struct ElaborationRecord;

/// A file with all that it imports, parsed.
struct Program {
    ast::File main;
    /// Every imported file once, in the order in which they were first met; imports[i] of a file are resolved by path.
    struct Imported {
        std::string resolved;  ///< path on disk, or "<stdlib>/name.pipe"
        ast::File file;
    };
    std::vector<Imported> files;
    /// For each file (by FileId) and each import in it, in order: index into `files`; -1 where it was not found.
    std::vector<std::pair<FileId, std::vector<int>>> resolved_imports;
    /// Paths of imported files on disk, for dependency files. The standard library is not among them.
    std::vector<std::string> dependencies;
};

/// Parses `path`'s text and, transitively, its imports. Missing files and cycles are reported.
Program load_program(SourceManager& sources, FileId main, const ImportOptions& options, Diagnostics& diags);

/// Elaborates and checks every pipeline of the main file. Pipelines with errors are left out. What is learnt about
/// names goes to `record` (names.h), where there is one.
std::vector<ir::Pipeline> elaborate(const Program& program, const SourceManager& sources, Diagnostics& diags,
                                    ElaborationRecord* record = nullptr);

}  // namespace pipec
