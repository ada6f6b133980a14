#include "engine/shadow.h"

#include <algorithm>

namespace simt {

std::array<const void*, site_count> sites;

SiteId find_site(const void* pc, std::size_t slot) {
    static std::size_t used = 0;
    while (slot == 0 || sites[slot] != pc) {
        if (slot != 0 && sites[slot] == nullptr) {
            if (used > site_count / 4 * 3) return 0;
            ++used;
            sites[slot] = pc;
            break;
        }
        slot = (slot + 1) % site_count;
    }
    return static_cast<SiteId>(slot);
}

void Cells::split(std::size_t word) {
    std::fill_n(bytes + 4 * word, 4, words[word]);
    words[word].split = 1;
}

void Cells::set(std::size_t at, std::size_t count, Record write) {
    Cell cell{};
    cell.write = write;
    for (const std::size_t end = at + count; at < end;) {
        const std::size_t word = at / 4;
        if (at % 4 == 0 && end - at >= 4) {
            words[word] = cell;
            at += 4;
        } else {
            if (words[word].split == 0) split(word);
            bytes[at++] = cell;
        }
    }
}

}  // namespace simt
