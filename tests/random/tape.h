// A tape is all the randomness of a random program or schedule. Past its end every choice is 0, and 0 is everywhere the
// simplest alternative, so that a shorter tape, or one with smaller numbers, is a simpler program: shrinking tapes
// shrinks programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace pipec::testing {

using Tape = std::vector<std::uint16_t>;

/// What is read off a tape.
class Choices {
public:
    explicit Choices(const Tape& tape) : tape_(tape) {}

    std::size_t choose(std::size_t count) {
        const std::size_t value = next_ < tape_.size() ? tape_[next_] : 0;
        ++next_;
        return value % count;
    }
    /// True once in `odds` times, never past the tape's end.
    bool rarely(std::size_t odds) { return choose(odds) == odds - 1; }
    template <class List>
    const auto& pick(const List& list) {
        return list[choose(std::size(list))];
    }

private:
    const Tape& tape_;
    std::size_t next_ = 0;
};

inline Tape random_tape(std::mt19937_64& rng, std::size_t least, std::size_t most) {
    Tape tape(least + rng() % (most - least));
    for (auto& choice : tape) choice = static_cast<std::uint16_t>(rng());
    return tape;
}

/// A simpler tape that still fails: parts are cut off or set to 0 as long as that lasts. `fails` is asked at most
/// `budget` times.
inline Tape shrink(Tape tape, int budget, const std::function<bool(const Tape&)>& fails) {
    for (std::size_t length = std::max<std::size_t>(1, tape.size() / 2); length > 0 && budget > 0; length /= 2) {
        for (std::size_t at = 0; at + length <= tape.size() && budget > 0;) {
            const auto begin = static_cast<std::ptrdiff_t>(at), end = static_cast<std::ptrdiff_t>(at + length);
            Tape shorter = tape, zeroed = tape;
            shorter.erase(shorter.begin() + begin, shorter.begin() + end);
            std::fill(zeroed.begin() + begin, zeroed.begin() + end, std::uint16_t{0});
            if (--budget > 0 && fails(shorter)) {
                tape = shorter;
            } else if (zeroed != tape && --budget > 0 && fails(zeroed)) {
                tape = zeroed;
                at += length;
            } else {
                at += length;
            }
        }
    }
    return tape;
}

}  // namespace pipec::testing
