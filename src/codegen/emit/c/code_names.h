// What generated code calls the things of one pipeline. Every name is used for one thing in the whole of the pipeline's
// code, so that code can be moved between functions without a thought.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/c/c_names.h"
#include "codegen/emit/host/host.h"

namespace pipec::codegen {

struct CodeNames {
    std::string prefix;    ///< of the public functions
    ArgumentNames fields;  ///< of the argument struct
    std::vector<std::string> sizes, params;
    std::vector<std::string> buffers;      ///< inputs, then outputs
    std::vector<std::string> stages;       ///< an output's stage has the output's name
    std::vector<std::string> views;        ///< types, of buffers
    std::vector<std::string> stage_views;  ///< types, of stages; an output's is its buffer's
    std::vector<std::string> functions;    ///< one for each stage
    std::vector<std::string> edges;        ///< on the host a second one
    std::vector<std::string> updates;      ///< and a third one, of accumulates
    Names taken;                           ///< all of these and those of the fixed part; locals are added to copies
};

/// `reserved`: names that are taken besides those of helpers and of the runtime for all targets.
CodeNames code_names(const Unit& unit, const std::string& prefix, const std::vector<std::string_view>& reserved = {});

/// "`img`" for the buffer that gives a size, "the arguments" where the caller passes it.
std::string size_origin(const Unit& unit, const poly::SizeSolution& solution);

/// The buffer with this number, inputs first.
const ir::Buffer& buffer_at(const ir::Pipeline& pipeline, std::size_t number);
std::size_t buffer_count(const ir::Pipeline& pipeline);
/// The number of the buffer that determines a size; not for explicit ones.
std::size_t buffer_number(const ir::Pipeline& pipeline, const poly::SizeSolution& solution);

}  // namespace pipec::codegen
