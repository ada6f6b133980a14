#include "runner/measure.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "runner/convert.h"

namespace pipec::runner {

namespace {

constexpr double kBatchMilliseconds = 20;  ///< long beside what a launch costs the CPU
constexpr int kMostLaunches = 1000;        ///< of a batch
constexpr int kBatches = 5;

/// The next number of a sequence (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014).
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30U) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27U) * 0x94D049BB133111EBU;
    return z ^ z >> 31U;
}

}  // namespace

Array random_array(ir::Type type, const Extents& extents, std::uint64_t seed) {
    constexpr std::uint64_t kGreatest = UINT16_MAX;
    const std::uint64_t greatest = ir::is_float(type) ? kGreatest : std::min(kGreatest, ir::int_max(type));
    Array numbers(ir::Type::UInt16, extents);
    for (std::uint16_t& n : std::span(reinterpret_cast<std::uint16_t*>(numbers.data.data()), numbers.size())) {
        n = static_cast<std::uint16_t>(next_random(seed) % (greatest + 1));
    }
    return convert(std::move(numbers), type, ir::is_float(type) ? Scaling::Normalized : Scaling::Raw).array;
}

std::vector<double> batch_means(const std::function<double(int times)>& launch) {
    launch(1);  // loads the code
    const double once = std::max(launch(1), 1e-3);
    const int times = std::clamp(static_cast<int>(kBatchMilliseconds / once), 1, kMostLaunches);
    launch(times);  // until clocks are where they stay
    std::vector<double> result;
    result.reserve(kBatches);
    for (int batch = 0; batch < kBatches; ++batch) result.push_back(launch(times) / times);
    return result;
}

std::size_t count_different(Array array, Array expected, double tolerance) {
    const bool integers = !ir::is_float(array.type);
    const Array given = convert(std::move(array), ir::Type::Float64, Scaling::Raw).array;
    const Array wanted = convert(std::move(expected), ir::Type::Float64, Scaling::Raw).array;
    const std::span values(reinterpret_cast<const double*>(given.data.data()), given.size());
    const std::span expectations(reinterpret_cast<const double*>(wanted.data.data()), wanted.size());
    double greatest = 0;
    for (const double e : expectations) greatest = std::isfinite(e) ? std::max(greatest, std::abs(e)) : greatest;
    double allowed = tolerance * greatest;
    if (integers && tolerance > 0) allowed = std::max(allowed, 1.0);
    std::size_t different = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double v = values[i], e = expectations[i];
        const bool equal = v == e || (std::isnan(v) && std::isnan(e));
        if (!equal && !(std::abs(v - e) <= allowed)) ++different;
    }
    return different;
}

}  // namespace pipec::runner
