// Integers over sizes in the code of a launch.
#pragma once

#include <string>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

/// An integer over sizes, which stand under their names as int64_t, as an expression of type int64_t. Where it may
/// leave 64 bits it is computed before, and `failure` returned; then it is also far enough within them for what solving
/// for a size does with it. `locals`: the names that are taken in the function that is being written.
std::string size_value(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names, Names& locals,
                       Helpers& helpers, const ir::Expr& e, const std::string& failure);

}  // namespace pipec::codegen
