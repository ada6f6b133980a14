// What all predictions of a kernel's time have in common.
#pragma once

#include <initializer_list>

#include "fusion/gpu.h"

namespace pipec::cost {

/// The time that several resources take together which are busy at a time: from the longest (a high exponent) to the
/// sum of all (1).
double norm(std::initializer_list<double> times, double exponent);

/// Of bytes that another kernel touched while it touched `all`, the part that is still in the L2 cache.
double in_l2(double all, const fusion::Gpu& gpu);

}  // namespace pipec::cost
