// What the renderings of diagnostics share.
#include "support/render.h"

#include <set>
#include <tuple>

namespace pipec {

std::vector<Diagnostic> distinct(const Diagnostics& diagnostics) {
    using Key = std::tuple<Severity, std::string_view, FileId, std::uint32_t, std::uint32_t, std::string_view>;
    std::set<Key> seen;
    std::vector<Diagnostic> result;
    for (const Diagnostic& d : diagnostics.all()) {
        if (seen.emplace(d.severity, d.id, d.range.file, d.range.begin, d.range.end, d.message).second) {
            result.push_back(d);
        }
    }
    return result;
}

}  // namespace pipec
