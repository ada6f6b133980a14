#include "format/format.h"

#include <stdexcept>
#include <vector>

#include "format/items.h"
#include "frontend/concrete.h"

namespace pipec::format {

namespace {

/// What formatting must not change.
std::vector<std::string> essence(const concrete::File& file, const SourceManager& sources) {
    std::vector<std::string> result;
    for (const Item& item : items_of(file, sources).items) result.push_back(item.text);
    return result;
}

}  // namespace

std::optional<std::string> format_text(const SourceManager& sources, FileId file, Diagnostics& diags) {
    const auto before = parse_concrete(sources, file, diags);
    if (!before) return std::nullopt;
    std::string text = layout(items_of(*before, sources));
    SourceManager written;
    const FileId copy = written.add(std::string(sources.name(file)), text);
    Diagnostics none;
    const auto after = parse_concrete(written, copy, none);
    if (!after || essence(*before, sources) != essence(*after, written)) {
        throw std::logic_error("formatting would change the program");
    }
    return text;
}

}  // namespace pipec::format
