#include "fuzz/targets/mutate.h"

#include <algorithm>
#include <cctype>
#include <random>
#include <stdexcept>

namespace pipec::fuzz {

namespace {

using Pieces = std::vector<std::string_view>;

/// At the edges of types and of what the compiler admits.
constexpr std::string_view kNumbers[] = {
    "0",   "1",   "2",    "3",     "7",    "31",    "32",         "63",         "64",         "65",  "127",  "128",
    "255", "256", "4096", "65535", "1e38", "1e-46", "0x7fffffff", "2147483648", "4294967295", "0.5", "1e309"};
constexpr std::string_view kLarge[] = {"1073741823", "1073741824", "9223372036854775807", "9223372036854775808"};
constexpr std::string_view kOperators[] = {"..=", "..", "->", "<=", ">=", "==", "!=", "<<", ">>", "+=", "*="};

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_blank(char c) {
    return c == ' ' || c == '\n';
}

/// Changes that follow each other, of one input.
class Changes {
public:
    Changes(Pieces pieces, const std::vector<Pieces>& seeds, const Pieces& words, std::mt19937_64& rng)
        : pieces_(std::move(pieces)), seeds_(seeds), words_(words), rng_(rng) {}

    void change() {
        if (pieces_.empty()) pieces_.push_back(words_[below(words_.size())]);
        const std::size_t at = below(pieces_.size());
        const std::size_t length = 1 + below(std::min<std::size_t>(pieces_.size() - at, one_in(4) ? 40 : 4));
        const auto here = pieces_.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = here + static_cast<std::ptrdiff_t>(length);
        switch (below(8)) {
            case 0: pieces_.erase(here, end); break;
            case 1: {  // once more, somewhere
                const Pieces copied(here, end);
                insert(copied.begin(), copied.end());
                break;
            }
            case 2: std::iter_swap(here, pieces_.begin() + static_cast<std::ptrdiff_t>(below(pieces_.size()))); break;
            case 3: {  // a part of another program
                const Pieces& other = seeds_[below(seeds_.size())];
                if (other.empty()) break;
                const std::size_t from = below(other.size());
                const std::size_t count = 1 + below(std::min<std::size_t>(other.size() - from, 30));
                const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
                insert(first, first + static_cast<std::ptrdiff_t>(count));
                break;
            }
            case 4: pieces_.insert(here, any()); break;
            default: *here = instead_of(*here); break;  // most often one piece for a like one
        }
    }

    [[nodiscard]] std::string text(std::size_t longest) const {
        std::string text;
        for (const std::string_view piece : pieces_) {
            if (text.size() + piece.size() > longest) break;
            text += piece;
        }
        return text;
    }

private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : rng_() % n; }
    bool one_in(std::size_t n) { return below(n) == 0; }

    template <class Iterator>
    void insert(Iterator first, Iterator last) {
        pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(below(pieces_.size() + 1)), first, last);
    }

    std::string_view number() {
        return one_in(6) ? kLarge[below(std::size(kLarge))] : kNumbers[below(std::size(kNumbers))];
    }

    std::string_view any() {
        return one_in(5) ? number() : one_in(2) ? words_[below(words_.size())] : pieces_[below(pieces_.size())];
    }

    std::string_view instead_of(std::string_view piece) {
        if (std::isdigit(static_cast<unsigned char>(piece.front())) != 0 && !one_in(4)) return number();
        if (!is_word(piece.front()) && !is_blank(piece.front()) && one_in(3)) {
            return kOperators[below(std::size(kOperators))];
        }
        for (int tries = 0; tries < 8; ++tries) {  // names for names, marks for marks
            const std::string_view other = any();
            if (is_word(other.front()) == is_word(piece.front()) && is_blank(other.front()) == is_blank(piece.front()))
                return other;
        }
        return any();
    }

    Pieces pieces_;
    const std::vector<Pieces>& seeds_;
    const Pieces& words_;
    std::mt19937_64& rng_;
};

}  // namespace

std::vector<std::string_view> pieces_of(std::string_view text) {
    Pieces pieces;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        const auto extend = [&](auto same) {
            while (end < text.size() && same(text[end])) ++end;
        };
        if (is_word(text[at])) {
            extend(is_word);
        } else if (is_blank(text[at])) {
            extend(is_blank);
        } else {
            for (const std::string_view op : kOperators) {
                if (!text.substr(at).starts_with(op)) continue;
                end = at + op.size();
                break;
            }
        }
        pieces.push_back(text.substr(at, end - at));
        at = end;
    }
    return pieces;
}

Mutator::Mutator(std::vector<std::string> seeds, std::size_t longest) {
    for (std::string& seed : seeds) {
        if (!seed.empty() && seed.size() <= longest) texts_.push_back(std::move(seed));
    }
    if (texts_.empty()) throw std::invalid_argument("no seed is short enough");
    for (const std::string& text : texts_) {
        seeds_.push_back(pieces_of(text));
        std::copy_if(seeds_.back().begin(), seeds_.back().end(), std::back_inserter(words_),
                     [](std::string_view piece) { return !is_blank(piece.front()); });
    }
    if (words_.empty()) throw std::invalid_argument("no seed has a word");
    longest_ = longest;
}

std::string Mutator::input(std::uint64_t seed, std::uint64_t number) const {
    std::seed_seq sequence{seed & 0xffffffff, seed >> 32, number & 0xffffffff, number >> 32};
    std::mt19937_64 rng(sequence);
    Changes changes(seeds_[rng() % seeds_.size()], seeds_, words_, rng);
    // Few changes keep a program nearly right; many reach what nobody would write.
    std::size_t count = 1 + rng() % 3;
    if (rng() % 8 == 0) count += rng() % 16;
    for (std::size_t i = 0; i < count; ++i) changes.change();
    return changes.text(longest_ + longest_ / 4);
}

}  // namespace pipec::fuzz
