#include "harris.h"

HALIDE_REGISTER_GENERATOR(bench::Harris<false>, harris)
