// What the compiler knows about one text, for all answers about it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "frontend/names.h"
#include "lsp/text.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::lsp {

/// A stage, as the last passes leave it.
struct StageFacts {
    std::string pipeline, name, type;
    std::string domain;                   ///< `y in 1..R + 3, x in 0..C`; empty for a single value
    std::vector<std::string> ranges;      ///< of its dimensions: `1..R + 3`; empty where the program states one
    std::vector<SourceRange> dimensions;  ///< their names in the program, where they have some
    std::vector<std::string> reads;       ///< `img at (y - 1..y + 1, x)`
    std::string place;                    ///< where its values are: computed inside of others, or in a kernel
    SourceRange range;                    ///< the definition's left side
    bool made_by_call = false;            ///< in a stage function
};

/// What is asked about.
struct AnalysisRequest {
    std::string path;  ///< of the text, for imports and messages
    std::string text;
    std::map<std::string, std::string> open_files;  ///< texts of other files that are not saved, by path
    std::vector<std::string> include_dirs;
    /// With domains and schedules, which takes longer; without them only what the front end finds.
    bool full = false;
};

struct Analysis {
    SourceManager sources;
    FileId main = 0;
    Diagnostics diags;
    compiler::Checked checked;
    NameTable names;
    ElaborationRecord record;
    /// By where the name of the definition begins; several where loops and calls made several.
    std::map<ElaborationRecord::Place, std::vector<StageFacts>> stages;
    bool full = false;

    [[nodiscard]] std::string_view text() const { return sources.text(main); }
};

/// Never throws but for missing memory. Recurses as deep as programs nest.
std::shared_ptr<const Analysis> analyze(const AnalysisRequest& request);

/// A file of the analysis that is on disk: not of the standard library.
bool is_on_disk(const Analysis& analysis, FileId file);

/// The declaration or use of a name at a byte of the main file, or right before it.
struct NameAt {
    int declaration;
    SourceRange range;
};
std::optional<NameAt> name_at(const Analysis& analysis, std::size_t offset);

/// The identifier at a byte of a text, or right before it; empty where there is none.
std::string_view word_at(std::string_view text, std::size_t offset);

}  // namespace pipec::lsp
