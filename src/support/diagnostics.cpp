#include "support/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

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

std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& candidates) {
    const std::size_t limit = std::max<std::size_t>(1, name.size() / 3);
    std::optional<std::string> best;
    std::size_t best_distance = limit + 1;
    for (const std::string& candidate : candidates) {
        // Levenshtein distance with a rolling row.
        std::vector<std::size_t> row(candidate.size() + 1);
        std::iota(row.begin(), row.end(), std::size_t{0});
        for (std::size_t i = 0; i < name.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i + 1;
            for (std::size_t j = 0; j < candidate.size(); ++j) {
                const std::size_t substitute = diagonal + (name[i] == candidate[j] ? 0 : 1);
                diagonal = row[j + 1];
                row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
            }
        }
        if (row.back() < best_distance && candidate != name) {
            best_distance = row.back();
            best = candidate;
        }
    }
    return best;
}

}  // namespace pipec
