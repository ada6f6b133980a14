#include "driver/explain/explain_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "driver/explain/explain_words.h"
#include "fusion/strategy.h"
#include "support/unicode.h"

namespace pipec::driver::explain {

namespace {

constexpr std::size_t kBarWidth = 32;
constexpr std::size_t kLabelWidth = 11;
constexpr std::size_t kLineWidth = 100;

/// Words in lines that begin with `indent` blanks, the first one at `column` already.
std::string wrapped(const std::string& words, std::size_t indent, std::size_t column) {
    std::string result;
    std::size_t at = column;
    for (std::size_t begin = 0; begin < words.size();) {
        const std::size_t end = std::min(words.find(' ', begin), words.size());
        const std::string word = words.substr(begin, end - begin);
        if (at > indent && at + 1 + word.size() > kLineWidth) {
            result += "\n" + std::string(indent, ' ');
            at = indent;
        } else if (begin > 0) {
            result += " ";
            ++at;
        }
        result += word;
        at += word.size();
        begin = end + 1;
    }
    return result;
}

class TextReport {
public:
    std::string run(const std::vector<PipelineReport>& reports) {
        for (const PipelineReport& report : reports) pipeline(report);
        return std::move(text_);
    }

private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        std::string line = fmt::format(format, std::forward<Args>(args)...);
        line.erase(line.find_last_not_of(' ') + 1);
        text_ += line + "\n";
    }
    /// "  label      words", the words broken into lines.
    void fact(const std::string& label, const std::string& words) {
        line("  {:{}}{}", label, kLabelWidth, wrapped(words, kLabelWidth + 2, kLabelWidth + 2));
    }

    void pipeline(const PipelineReport& report);
    void group(const PipelineReport& report, std::size_t index);
    void stages(const GroupReport& group);
    void time(const cost::TimePrediction& time);
    void choice(const std::string& label, const std::string& seconds, const std::string& difference,
                const std::string& words);
    void alternatives(const GroupReport& group);
    void merges(const PipelineReport& report);

    std::string text_;
};

std::string stage_names(const GroupReport& group) {
    std::vector<std::string> names;
    for (const StageReport& stage : group.stages) names.push_back(stage.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

void TextReport::pipeline(const PipelineReport& report) {
    if (!text_.empty()) line("");
    line("{}: {}, predicted {}", report.name, plural(report.groups.size(), "kernel"), duration(report.seconds));
    line("  {}{}{}", report.gpu.name, report.sizes.empty() ? "" : ", ", sizes(report));
    const auto unknown = std::count_if(report.groups.begin(), report.groups.end(),
                                       [](const GroupReport& group) { return !group.time.has_value(); });
    if (unknown > 0)
        line("  without {} of which nothing is predicted", plural(static_cast<std::size_t>(unknown), "kernel"));
    for (std::size_t g = 0; g < report.groups.size(); ++g) group(report, g);
    merges(report);
}

void TextReport::group(const PipelineReport& report, std::size_t index) {
    const GroupReport& group = report.groups[index];
    const std::string head = fmt::format("kernel {}: ", index + 1);
    line("");
    line("{}{}", head, wrapped(stage_names(group), head.size(), head.size()));
    fact("strategy", fmt::format("{}: {}", fusion::name(group.schedule.strategy), group.meaning));
    if (const std::string how = parameters(group.schedule, group.dims); !how.empty()) fact("", how);
    if (!group.tile.empty()) fact("tile", tile(group));
    stages(group);
    if (group.traffic) fact("memory", traffic(*group.traffic));
    if (group.time) {
        fact("", fmt::format("{} reach global memory, {} the L2 cache", memory(group.time->dram_bytes),
                             memory(group.time->l2_bytes)));
        fact("resources", resources(group, report.gpu));
        fact("grid", grid(*group.time));
        time(*group.time);
    } else {
        fact("time", "not predicted: " + group.unknown);
    }
    alternatives(group);
}

/// A table as wide as its widest entries.
void TextReport::stages(const GroupReport& group) {
    std::vector<std::array<std::string, 5>> rows;
    for (const StageReport& stage : group.stages) {
        std::string computes;
        if (!stage.part.empty()) {
            computes = computed(stage);
            if (const std::string more = again(stage); !more.empty()) computes += fmt::format(" ({})", more);
        }
        rows.push_back({stage.name, kept(stage), computes, overlap(stage), stage.place});
    }
    std::array<std::size_t, 5> width{};
    for (const auto& row : rows) {
        for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string text;
        for (std::size_t c = 0; c < rows[r].size(); ++c) {
            if (width[c] > 0) text += fmt::format("{:{}}  ", rows[r][c], width[c]);
        }
        line("  {:{}}{}", r == 0 ? "stages" : "", kLabelWidth, text);
        if (!group.stages[r].inlined.empty()) {
            const std::string inside = fmt::format("with {}", fmt::join(group.stages[r].inlined, ", "));
            line("  {:{}}  {}", "", kLabelWidth, wrapped(inside, kLabelWidth + 4, kLabelWidth + 4));
        }
    }
}

void TextReport::time(const cost::TimePrediction& time) {
    fact("time", fmt::format("{}, bound by {}", duration(time.seconds), bound(time)));
    double longest = 0;
    for (const Term& term : terms(time)) longest = std::max(longest, term.seconds);
    for (const Term& term : terms(time)) {
        const auto bar = static_cast<std::size_t>(longest > 0 ? term.seconds / longest * kBarWidth + 0.5 : 0);
        line("  {:{}}{:18}{:>8}  {}", "", kLabelWidth, (term.is_resource ? "" : "+ ") + term.name,
             duration(term.seconds), std::string(bar, '#'));
    }
}

/// "  label      41.4 us  -32%  words", the words broken into lines.
void TextReport::choice(const std::string& label, const std::string& seconds, const std::string& difference,
                        const std::string& words) {
    const std::string head = fmt::format("  {:{}}{:>8} {:>6}  ", label, kLabelWidth, seconds, difference);
    line("{}{}", head, wrapped(words, head.size(), head.size()));
}

void TextReport::alternatives(const GroupReport& group) {
    std::string label = "instead";
    const auto next = [&](const std::optional<double>& seconds, const std::string& words) {
        const std::string difference = seconds && group.time ? change(*seconds, group.time->seconds) : "";
        choice(label, seconds ? duration(*seconds) : "-", difference, words);
        label.clear();
    };
    bool is_best = true;
    for (const Alternative& other : group.alternatives) {
        if (!other.time) {
            next(std::nullopt, fmt::format("{} is impossible: {}", other.what, printable(other.refusal)));
            continue;
        }
        std::string words = fmt::format("{}; bound by {}", name_of(other), bound(*other.time));
        if (is_best) {
            std::vector<std::string> parts;
            for (const Term& term : terms(*other.time)) {
                if (term.is_resource) parts.push_back(fmt::format("{} {}", term.name, duration(term.seconds)));
            }
            words += fmt::format(" ({})", fmt::join(parts, ", "));
        }
        next(other.time->seconds, words);
        is_best = false;
    }
    if (group.apart) next(group.apart, fmt::format("{} apart", plural(group.stages.size(), "kernel")));
}

void TextReport::merges(const PipelineReport& report) {
    if (report.merges.empty()) return;
    line("");
    line("one kernel instead of two, where one reads the other");
    for (const MergeReport& merge : report.merges) {
        const std::string label = fmt::format("{} and {}", merge.producer + 1, merge.reader + 1);
        const Alternative& merged = merge.merged;
        if (!merged.time) {
            const std::string where = merged.place.empty() ? "" : fmt::format(" ({})", merged.place);
            const std::string what = merged.what.empty() ? "" : merged.what + ": ";
            choice(label, "-", "", fmt::format("impossible: {}{}{}", what, printable(merged.refusal), where));
            continue;
        }
        const std::string instead = merge.now ? fmt::format("instead of {}: ", duration(*merge.now)) : "";
        choice(label, duration(merged.time->seconds), merge.now ? change(merged.time->seconds, *merge.now) : "",
               fmt::format("{}{}; bound by {}", instead, name_of(merged), bound(*merged.time)));
    }
}

}  // namespace

std::string to_text(const std::vector<PipelineReport>& reports) {
    return TextReport().run(reports);
}

}  // namespace pipec::driver::explain
