// New programs from given ones, token by token: what comes out is nearly right, which takes it past the lexer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipec::fuzz {

/// Words, numbers, operators, single characters and runs of blanks; put together they are the text.
std::vector<std::string_view> pieces_of(std::string_view text);

class Mutator {
public:
    /// Inputs get about `longest` bytes at most. Throws std::invalid_argument where no seed has that few or fewer.
    Mutator(std::vector<std::string> seeds, std::size_t longest);
    // Pieces point into the seeds.
    Mutator(const Mutator&) = delete;
    Mutator& operator=(const Mutator&) = delete;

    /// The input with this number, always the same for one seed, whichever were made before.
    [[nodiscard]] std::string input(std::uint64_t seed, std::uint64_t number) const;

private:
    std::vector<std::string> texts_;
    std::vector<std::vector<std::string_view>> seeds_;
    std::vector<std::string_view> words_;  ///< of all seeds, each as often as it stands there
    std::size_t longest_ = 0;
};

}  // namespace pipec::fuzz
