// Identifiers of generated code: from names of the language to names that C and C++ accept, each used once.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/emit/host/host.h"

namespace pipec::codegen {

/// Names that are taken in one scope.
class Names {
public:
    /// Takes `name` as it stands, for what generated code itself calls things.
    void reserve(std::string_view name) { taken_.emplace(name); }
    /// A free identifier like `wanted`, now taken: "g[3]" gives g_3, "int" int_, a second x gives x_2.
    std::string add(std::string_view wanted);
    [[nodiscard]] bool has(std::string_view name) const { return taken_.count(std::string(name)) > 0; }

private:
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, int> last_;  ///< numbers that were given to a name: none up to there is free
};

/// `name` with what is no letter, digit or underscore as an underscore, and an underscore after a word that C, C++ or
/// a usual macro has taken.
std::string identifier(std::string_view name);

/// Fields of NAME_args. A name whose fields collide with earlier ones gets an underscore; buffers come first, then
/// parameters, then sizes.
struct ArgumentNames {
    struct Buffer {
        std::string data, extent, stride;
    };
    std::vector<Buffer> buffers;  ///< inputs, then outputs
    std::vector<std::string> params;
    std::vector<std::string> sizes;  ///< one for each size; empty where an extent determines it
};
ArgumentNames argument_names(const Unit& unit);

/// The prefix of every public name of each pipeline, in the order of `units`.
std::vector<std::string> pipeline_names(const std::vector<Unit>& units);

}  // namespace pipec::codegen
