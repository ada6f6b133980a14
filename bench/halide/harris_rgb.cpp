#include "harris.h"

HALIDE_REGISTER_GENERATOR(bench::Harris<true>, harris_rgb)
