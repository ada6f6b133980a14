// `pipec lsp`: the language server (src/lsp) on standard input and output.
#pragma once

namespace pipec::driver {

/// argv[0] is "lsp". Returns the exit code.
int lsp_command(int argc, char** argv);

}  // namespace pipec::driver
