#include "cases.h"

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace pipec::gpu {

namespace {

/// All of the text as one number.
template <class T>
bool to_number(const std::string& text, T& result) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, result);
    return error == std::errc{} && rest == end;
}

/// "3x1080x1920"; nothing where it is not that.
std::vector<std::int64_t> extents_of(const std::string& text) {
    std::vector<std::int64_t> extents;
    std::istringstream parts(text + "x");
    for (std::string part; std::getline(parts, part, 'x');) {
        std::int64_t extent = 0;
        if (!to_number(part, extent) || extent < 1) return {};
        extents.push_back(extent);
    }
    return extents;
}

void add_word(Case& c, const std::string& word) {
    const auto fail = [&](const std::string& what) {
        throw std::runtime_error(c.place + ": error: `" + word + "` " + what);
    };
    if (word == "extreme") {
        c.extreme = true;
        return;
    }
    if (word.front() == '~') {
        if (!to_number(word.substr(1), c.tolerance) || !(c.tolerance >= 0)) fail("is no tolerance, like ~1e-5");
        return;
    }
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) fail("is none of NAME=EXTENTS, NAME=VALUE, ~TOLERANCE, extreme");
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (c.extents.contains(name) || c.values.contains(name)) fail("gives a second value for `" + name + "`");
    if (value.find('x') == std::string::npos && value.front() != '[') {
        if (value.empty()) fail("has no value");
        c.values[name] = value;
        return;
    }
    const bool bracketed = value.size() > 2 && value.front() == '[' && value.back() == ']';
    c.extents[name] = extents_of(bracketed ? value.substr(1, value.size() - 2) : value);
    if (c.extents[name].empty()) fail("has extents that are not like 3x1080x1920 or [1920]");
}

}  // namespace

std::vector<Case> read_cases(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error(file + ": error: cannot be read");
    std::vector<Case> cases;
    std::set<std::pair<std::string, std::string>> seen;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        Case c;
        c.place = file + ":" + std::to_string(number);
        if (!(words >> c.example)) continue;
        if (!(words >> c.size)) throw std::runtime_error(c.place + ": error: a case is EXAMPLE SIZE WORDS...");
        for (std::string word; words >> word;) add_word(c, word);
        if (!seen.insert({c.example, c.size}).second) {
            throw std::runtime_error(c.place + ": error: `" + c.example + " " + c.size + "` stands twice");
        }
        cases.push_back(std::move(c));
    }
    if (in.bad()) throw std::runtime_error(file + ": error: cannot be read");
    return cases;
}

}  // namespace pipec::gpu
