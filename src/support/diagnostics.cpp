#include "support/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>
#include <utility>

namespace pipec {

Diagnostics::Builder& Diagnostics::Builder::note(SourceRange range, std::string message) {
    if (diagnostic_ != nullptr) diagnostic_->notes.push_back({range, std::move(message)});
    return *this;
}

Diagnostics::Builder& Diagnostics::Builder::suggest(SourceRange range, std::string replacement) {
    if (diagnostic_ != nullptr) diagnostic_->fixits.push_back({range, std::move(replacement)});
    return *this;
}

Diagnostics::Builder Diagnostics::add(const DiagnosticInfo& info, SourceRange range, std::string message) {
    Severity severity = info.severity;
    if (severity == Severity::Warning) {
        if (options_.none || options_.disabled.contains(info.id)) return Builder(nullptr);
        if (options_.all_as_errors || options_.as_errors.contains(info.id)) severity = Severity::Error;
    }
    ++(severity == Severity::Error ? errors_ : warnings_);
    diagnostics_.push_back({severity, info.id, range, std::move(message), {}, {}});
    return Builder(&diagnostics_.back());
}

void Diagnostics::sort_from(std::size_t first) {
    const auto place = [](const Diagnostic& d) { return std::tuple(d.range.file, d.range.begin); };
    std::stable_sort(diagnostics_.begin() + static_cast<std::ptrdiff_t>(std::min(first, diagnostics_.size())),
                     diagnostics_.end(), [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
}

namespace {

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`; no character is edited twice.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Distances between the prefixes of `a` and `b`: the row of a prefix of `a`, and the two rows before it.
    std::vector<std::size_t> row(b.size() + 1);
    std::vector<std::size_t> above;
    std::vector<std::size_t> two_above;
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        two_above = std::exchange(above, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({substituted, above[j] + 1, row[j - 1] + 1});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
        }
    }
    return row.back();
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& candidates) {
    // Any name of one or two characters is close to any other.
    const std::size_t limit = name.size() < 3 ? 0 : name.size() / 3;
    std::optional<std::string> best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = equal_but_for_case(name, candidate) ? 0 : edit_distance(name, candidate);
        if (distance < best_distance && candidate != name) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace pipec
