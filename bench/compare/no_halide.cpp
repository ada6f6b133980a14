// In place of halide_program.cpp where Halide is not installed.
#include <stdexcept>

#include "program.h"

namespace pipec::bench {

std::unique_ptr<Program> halide_program(void* /*library*/, const Problem& /*problem*/) {
    throw std::runtime_error("built without Halide");
}

}  // namespace pipec::bench
