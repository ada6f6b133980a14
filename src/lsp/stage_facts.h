// What analysis and scheduling decide about each stage, in words.
#pragma once

#include <map>
#include <vector>

#include "lsp/analysis.h"

namespace pipec::lsp {

/// Of a program without errors, by where the name of the definition begins. Throws nothing for what cannot be
/// scheduled.
std::map<ElaborationRecord::Place, std::vector<StageFacts>> stage_facts(const compiler::Checked& checked,
                                                                        const SourceManager& sources);

}  // namespace pipec::lsp
