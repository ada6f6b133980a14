#include "fuzz/legality.h"

#include <fmt/format.h>

#include <chrono>

#include "reference/interpreter.h"
#include "reference/numeric.h"
#include "support_lib/data.h"

namespace pipec::testing {

namespace {

using Sizes = std::map<std::string, std::int64_t>;
using Clock = std::chrono::steady_clock;

/// All small sizes first, each with each; then larger ones at random.
Sizes sizes_of(const ir::Pipeline& pipeline, std::size_t attempt, std::mt19937_64& rng) {
    constexpr std::int64_t kSmall[] = {1, 2, 3, 4, 5, 7};
    constexpr std::int64_t kLarger[] = {1, 2, 6, 8, 9, 13, 16, 17, 31, 32, 33};
    Sizes sizes;
    for (const ir::SizeParameter& size : pipeline.sizes) {
        sizes[size.name] = attempt > 0 ? kLarger[rng() % std::size(kLarger)] : kSmall[rng() % std::size(kSmall)];
    }
    return sizes;
}

/// `where` may ask for small values of parameters.
void make_parameters_small(const ir::Pipeline& pipeline, reference::Arguments& arguments, std::mt19937_64& rng) {
    for (const ir::ScalarParameter& param : pipeline.params) {
        if (!ir::is_int(param.type)) continue;
        arguments.params[param.name] = reference::integer(param.type, static_cast<std::int64_t>(rng() % 12) - 2);
    }
}

}  // namespace

std::string found_illegal(const ir::Pipeline& pipeline, double seconds) {
    std::mt19937_64 rng(1);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int run = 0; run < 4000 && Clock::now() < end; ++run) {
        const Sizes sizes = sizes_of(pipeline, run < 60 ? 0 : 1, rng);
        if (!sizes_are_legal(pipeline, sizes)) continue;
        const Fill fill = run % 4 == 3 ? Fill::Constant : run % 2 == 0 ? Fill::Extreme : Fill::Smooth;
        reference::Arguments arguments = random_arguments(pipeline, sizes, fill, rng);
        if (rng() % 2 == 0) make_parameters_small(pipeline, arguments, rng);
        try {
            reference::run(pipeline, arguments);
        } catch (const reference::Error& error) {
            const std::string what = error.what();
            if (what.find("of `where`") != std::string::npos) continue;  // on parameters
            std::string at;
            for (const auto& [name, value] : sizes) at += fmt::format(" {}={}", name, value);
            return fmt::format("with{}: {}", at, what);
        }
    }
    return "";
}

}  // namespace pipec::testing
