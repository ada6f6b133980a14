#include "fuzz/legality.h"

#include <fmt/format.h>

#include <chrono>

#include "random/arguments.h"

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

}  // namespace

std::string found_illegal(const ir::Pipeline& pipeline, double seconds) {
    std::mt19937_64 rng(1);
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int run = 0; run < 4000 && Clock::now() < end; ++run) {
        const Sizes sizes = sizes_of(pipeline, run < 60 ? 0 : 1, rng);
        if (!sizes_are_legal(pipeline, sizes)) continue;
        const Fill fill = run % 4 == 3 ? Fill::Constant : run % 2 == 0 ? Fill::Extreme : Fill::Smooth;
        const std::optional<reference::Arguments> arguments = legal_arguments(pipeline, sizes, fill, rng);
        if (!arguments) continue;
        try {
            reference::run(pipeline, *arguments);
        } catch (const reference::Error& error) {
            std::string at;
            for (const auto& [name, value] : sizes) at += fmt::format(" {}={}", name, value);
            return fmt::format("with{}: {}", at, error.what());
        }
    }
    return "";
}

}  // namespace pipec::testing
