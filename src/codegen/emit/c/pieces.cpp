#include "codegen/emit/c/pieces.h"

#include <cctype>
#include <set>

namespace pipec::codegen {

namespace {

using Words = std::set<std::string_view>;

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The identifiers of C++, without those in comments and literals. (Blocks of comment do not occur.)
void add_words(std::string_view code, Words& words) {
    for (std::size_t i = 0; i < code.size();) {
        if (code.substr(i, 2) == "//") {
            i = std::min(code.find('\n', i), code.size());
        } else if (code[i] == '"') {
            for (++i; i < code.size() && code[i] != '"'; ++i) i += code[i] == '\\' ? 1 : 0;
            ++i;
        } else if (is_word(code[i])) {
            const std::size_t begin = i;
            while (i < code.size() && is_word(code[i])) ++i;
            words.insert(code.substr(begin, i - begin));
        } else {
            ++i;
        }
    }
}

bool has_name_in(const Piece& piece, const Words& words) {
    std::string_view names = piece.names;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        if (words.count(names.substr(0, end)) > 0) return true;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return false;
}

}  // namespace

std::string used_pieces(const std::vector<Piece>& pieces, std::string_view code) {
    Words words;
    add_words(code, words);
    std::vector<bool> taken(pieces.size(), false);
    for (bool changed = true; changed;) {
        changed = false;
        // From the last one on: what a piece needs stands before it.
        for (std::size_t i = pieces.size(); i-- > 0;) {
            if (taken[i] || !has_name_in(pieces[i], words)) continue;
            taken[i] = changed = true;
            add_words(pieces[i].text, words);
        }
    }
    std::string result;
    std::string_view heading;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].names.empty()) heading = pieces[i].text;
        if (!taken[i]) continue;
        if (!heading.empty()) result.append(heading).append("\n");
        heading = {};
        result.append(pieces[i].text).append("\n");
    }
    return result;
}

}  // namespace pipec::codegen
