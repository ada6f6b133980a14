// What the search for a pipeline's schedule may take, so that compile time stays bounded: counted in steps that do not
// depend on the machine, so that a program has one schedule. When it is spent, the best of what was found is the
// answer.
#pragma once

#include <algorithm>
#include <cstddef>

namespace pipec::fusion {

class SearchBudget {
public:
    /// Stages of all groups that are judged, added up. The examples take up to 40,000; with the default cost model a
    /// step takes about 10 us.
    static constexpr std::size_t kSteps = 120'000;
    /// With the paper's cost function, whose search is wider.
    static constexpr std::size_t kPaperSteps = 1'200'000;
    /// A group that is judged with all tiles takes that many times as long as one with a few.
    static constexpr std::size_t kAllTiles = 3;

    explicit SearchBudget(std::size_t steps) : all_(steps), left_(steps) {}
    void spend(std::size_t steps) { left_ -= std::min(left_, steps); }
    [[nodiscard]] bool is_spent() const { return left_ == 0; }
    [[nodiscard]] bool has(std::size_t percent) const { return left_ >= all_ / 100 * percent; }
    /// A part of all that there was, or what is left.
    [[nodiscard]] std::size_t part(std::size_t percent) const { return std::min(left_, all_ / 100 * percent); }

private:
    std::size_t all_, left_;
};

}  // namespace pipec::fusion
