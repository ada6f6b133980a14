#include "driver/commands.h"

#include <algorithm>
#include <array>

#include "driver/completions.h"
#include "driver/explain/explain.h"
#include "driver/format/format.h"
#include "driver/lsp/lsp.h"
#include "driver/profile/profile.h"
#include "driver/run/library.h"
#include "driver/run/run.h"
#include "driver/tune/tune.h"

namespace pipec::driver {

std::span<const Command> commands() {
    static constexpr std::array kCommands{
        Command{"completions", completions_command, describe_completions},
        Command{"explain", explain_command, describe_explain},
        Command{"fmt", format_command, describe_format},
        Command{"library", library_command, describe_library},
        Command{"lsp", lsp_command, describe_lsp},
        Command{"profile", profile_command, describe_profile},
        Command{"run", run_command, describe_run},
        Command{"tune", tune_command, describe_tune},
    };
    return kCommands;
}

const Command* find_command(std::string_view name) {
    const auto found = std::ranges::find(commands(), name, &Command::name);
    return found == commands().end() ? nullptr : &*found;
}

}  // namespace pipec::driver
