// The commands of `pipec`: how they run, and what options they have.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace pipec::driver {

/// Is handed a command line with all its options declared; it lives as long as the call.
using AppVisitor = std::function<void(CLI::App& app)>;

struct Command {
    std::string_view name;
    int (*run)(int argc, char** argv);
    void (*describe)(const AppVisitor& visit);
};

/// In the order of their names. What `pipec` does without one is not among them (describe_compilation).
std::span<const Command> commands();

const Command* find_command(std::string_view name);

}  // namespace pipec::driver
