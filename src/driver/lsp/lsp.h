// `pipec lsp`: the language server (src/lsp) on standard input and output.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// argv[0] is "lsp". Returns the exit code.
int lsp_command(int argc, char** argv);
void describe_lsp(const AppVisitor& visit);

}  // namespace pipec::driver
