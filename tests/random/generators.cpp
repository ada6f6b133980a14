#include "random/generators.h"

#include "random/image_program.h"
#include "random/index_program.h"
#include "random/program.h"

namespace pipec::testing {

std::vector<ProgramGenerator> program_generators(const std::string& name) {
    const std::vector<ProgramGenerator> all = {
        {"expressions", program_text, 40, 440, {2, 9, 24}},
        {"images", image_program, 20, 200, {6, 30, 90}},
        {"indices", index_program, 20, 160, {2, 9, 24}},
    };
    if (name == "all") return all;
    for (const ProgramGenerator& generator : all) {
        if (generator.name == name) return {generator};
    }
    return {};
}

}  // namespace pipec::testing
