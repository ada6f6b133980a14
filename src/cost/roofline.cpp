#include "cost/roofline.h"

#include <algorithm>
#include <cmath>

namespace pipec::cost {

double norm(std::initializer_list<double> times, double exponent) {
    double sum = 0, most = *std::max_element(times.begin(), times.end());
    if (most <= 0) return 0;
    for (const double t : times) sum += std::pow(t / most, exponent);
    return most * std::pow(sum, 1 / exponent);
}

double in_l2(double all, const fusion::Gpu& gpu) {
    const double room = gpu.rates.l2_kept_part * static_cast<double>(gpu.l2_bytes);
    return all <= room ? 1 : std::max(0.0, 2 - all / room);
}

}  // namespace pipec::cost
