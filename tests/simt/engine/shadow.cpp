#include "engine/shadow.h"

namespace simt {
namespace {

constexpr std::size_t site_count = 1 << 16;
std::array<const void*, site_count> sites;  // a hash table with open addressing; slot 0 stays empty
std::size_t sites_used = 0;

}  // namespace

SiteId site_of(const void* pc) {
    std::size_t slot = (reinterpret_cast<std::uintptr_t>(pc) * 0x9e3779b97f4a7c15u) >> 48;
    while (slot == 0 || sites[slot] != pc) {
        if (slot != 0 && sites[slot] == nullptr) {
            if (sites_used > site_count / 4 * 3) return 0;
            ++sites_used;
            sites[slot] = pc;
            break;
        }
        slot = (slot + 1) % site_count;
    }
    return static_cast<SiteId>(slot);
}

const void* pc_of(SiteId site) {
    return sites[site];
}

}  // namespace simt
