#include "driver/explain/explain_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/explain/explain_svg.h"
#include "driver/explain/explain_words.h"
#include "fusion/strategy.h"

namespace pipec::driver::explain {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6575; --line: #d5dae2; --paper: #ffffff; --card: #f6f8fa;
  --accent: #2f6fd6; --stage: #ffffff; --live: #dcebff; --bar: #a9b4c3; --output: #d4f0dd; --input: #fdf0d2; --warn: #b4551d;
  --c0: #9ec1f4; --c1: #8fd3c6; --c2: #f4cf8e; --c3: #e7a9c4; --c4: #b9b1ea; --c5: #b7cf8f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8ef; --soft: #98a3b3; --line: #36404e; --paper: #12171e;
  --card: #1a212b; --accent: #6ea6ff; --stage: #232c38; --live: #1f3a5f; --output: #1d4630; --input: #4a3d1c; --bar: #56647a;
  --warn: #f0a070; --c0: #2e568f; --c1: #22695d; --c2: #7a5b1f; --c3: #7a3a58; --c4: #50479a; --c5: #4d6327; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1180px; padding: 24px 20px 60px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 36px 0 8px; }
h3 { font-size: 16px; margin: 0; font-weight: 600; overflow-wrap: anywhere; } h4 { font-size: 14px; margin: 18px 0 6px; }
p { margin: 4px 0; } .soft { color: var(--soft); }
h2 code, h3 code { font-size: 0.95em !important; } code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
section.kernel { border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: 14px 18px;
  margin: 18px 0; }
.head { display: flex; justify-content: space-between; gap: 20px; } .head .time { font-weight: 600; white-space: nowrap; }
.columns { display: flex; flex-wrap: wrap; gap: 8px 40px; } .columns > * { flex: 1 1 420px; min-width: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
td code { white-space: nowrap; } td.names code { white-space: normal; }
th { text-align: left; color: var(--soft); font-weight: 500; } th, td { padding: 3px 12px 3px 0; vertical-align: top;
  border-bottom: 1px solid var(--line); } tr:last-child td { border-bottom: 0; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 8px 0; } dt { color: var(--soft); }
dd { margin: 0; }
.bars { display: grid; grid-template-columns: max-content max-content 1fr; gap: 3px 12px; align-items: center;
  font-size: 14px; } .bars .number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { height: 12px; border-radius: 3px; background: var(--bar); min-width: 1px; } .bar.bound { background: var(--accent); }
.slower { color: var(--soft); } .faster { color: var(--warn); font-weight: 600; }
svg text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: var(--ink); text-anchor: middle; }
svg text.title { text-anchor: start; fill: var(--soft); font-family: system-ui, sans-serif; paint-order: stroke;
  stroke: var(--card); stroke-width: 5px; }
svg .kernel { fill: var(--card); stroke: var(--line); stroke-width: 1.5; } svg a:hover .kernel { stroke: var(--accent); }
svg .stage { fill: var(--stage); stroke: var(--soft); } svg .live { fill: var(--live); stroke: var(--soft); }
svg .output { fill: var(--output); stroke: var(--soft); } svg .input { fill: var(--input); stroke: var(--soft); }
svg .edges path { fill: none; stroke: var(--soft); stroke-opacity: 0.7; }
svg.graph { display: block; max-width: 100%; height: auto; margin: 12px auto; }
.tile svg { max-width: 100%; } .tile rect, .key { stroke: var(--ink); stroke-opacity: 0.35; }
.tile rect.own { fill: none; stroke-opacity: 1; stroke-dasharray: 5 4; }
)"
                               R"(
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
figure { margin: 8px 0; } figcaption { color: var(--soft); font-size: 13px; } figcaption ul { list-style: none;
  margin: 4px 0; padding: 0; } .key { display: inline-block; width: 11px; height: 11px; margin-right: 6px;
  border: 1px solid var(--line); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--soft); justify-content: center; }
.key.input { background: var(--input); } .key.stage { background: var(--stage); } .key.live { background: var(--live); }
.key.output { background: var(--output); }
.overview { margin: 12px 0 20px; }  a { color: var(--accent); }
pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; margin: 6px 0; }
pre.source { max-height: 520px; overflow-y: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.source .line { display: block; padding-left: 6ch; text-indent: -6ch; }
details { margin-top: 14px; } summary { cursor: pointer; font-weight: 600; font-size: 14px; }
)";

std::string code(const std::string& text) {
    return "<code>" + escaped(text) + "</code>";
}

std::vector<std::string> names_of(const GroupReport& group) {
    std::vector<std::string> names;
    for (const StageReport& stage : group.stages) names.push_back(stage.name);
    return names;
}

bool is_equal(const StageReport& a, const StageReport& b) {
    return a.place == b.place && a.type == b.type && kept(a) == kept(b) && computed(a) == computed(b) &&
           again(a) == again(b) && overlap(a) == overlap(b) && a.inlined.size() == b.inlined.size();
}

bool is_equal(const SourceLine& a, const SourceLine& b) {
    return a.file == b.file && a.number == b.number;
}

/// Kernels that differ in names only: the page would say the same of both. The turns of a loop in the program are like
/// that, except the first one where it reads an input.
bool is_equal(const GroupReport& a, const GroupReport& b) {
    const auto equal = [](const auto& x, const auto& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                          [](const auto& one, const auto& other) { return is_equal(one, other); });
    };
    const auto reads = [](const GroupReport& group) { return memory(group.traffic->inputs + group.traffic->stages); };
    const auto writes = [](const GroupReport& group) { return memory(group.traffic->outputs); };
    if (!a.time || !b.time || !a.traffic || !b.traffic) return false;
    return a.schedule.strategy == b.schedule.strategy &&
           parameters(a.schedule, a.dims) == parameters(b.schedule, b.dims) && a.tile == b.tile &&
           duration(a.time->seconds) == duration(b.time->seconds) && reads(a) == reads(b) && writes(a) == writes(b) &&
           equal(a.source, b.source) && equal(a.stages, b.stages);
}

/// The kernels, equal ones together, by their first one.
std::vector<std::vector<std::size_t>> folded_kernels(const PipelineReport& report) {
    std::vector<std::vector<std::size_t>> result;
    for (std::size_t g = 0; g < report.groups.size(); ++g) {
        const auto same = std::find_if(result.begin(), result.end(), [&](const std::vector<std::size_t>& kernels) {
            return is_equal(report.groups[kernels.front()], report.groups[g]);
        });
        if (same == result.end()) {
            result.push_back({g});
        } else {
            same->push_back(g);
        }
    }
    return result;
}

class Page {
public:
    std::string run(const std::string& title, const std::vector<PipelineReport>& reports) {
        add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>{}"
            "</style>\n</head>\n<body>\n<h1>{}</h1>\n",
            escaped(title), kStyle, escaped(title));
        for (const PipelineReport& report : reports) pipeline(report);
        html_ += "</body>\n</html>\n";
        return std::move(html_);
    }

private:
    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        html_ += fmt::format(format, std::forward<Args>(args)...);
    }
    void pipeline(const PipelineReport& report);
    void kernel(const PipelineReport& report, std::size_t index, const std::vector<std::size_t>& equal);
    void equal_kernels(const PipelineReport& report, const std::vector<std::size_t>& equal);
    void facts(const PipelineReport& report, const GroupReport& group);
    void overview(const PipelineReport& report, const std::vector<std::vector<std::size_t>>& folded);
    void source(const GroupReport& group);
    void stages(const GroupReport& group);
    void bars(const cost::TimePrediction& time);
    void alternatives(const GroupReport& group);
    void alternative(const std::optional<double>& seconds, const std::optional<double>& now, const std::string& what,
                     const std::optional<cost::TimePrediction>& time);
    void table_of_choices(const std::string& first);
    void merges(const PipelineReport& report);

    std::string html_;
};

void Page::pipeline(const PipelineReport& report) {
    add("<h2>{}: {}, {}</h2>\n<p class=\"soft\">Predicted for {}{}{}. Nothing was measured.</p>\n", code(report.name),
        plural(report.groups.size(), "kernel"), duration(report.seconds), escaped(report.gpu.name),
        report.sizes.empty() ? "" : ", ", escaped(sizes(report)));
    const std::vector<std::vector<std::size_t>> folded = folded_kernels(report);
    overview(report, folded);
    add("<div class=\"scroll\">{}</div>\n", graph_picture(report));
    html_ +=
        "<p class=\"legend\"><span><span class=\"key input\"></span>input</span> <span><span class=\"key "
        "stage\"></span>"
        "stays in its kernel</span> <span><span class=\"key live\"></span>through memory to another kernel</span> "
        "<span><span class=\"key output\"></span>output</span></p>\n";
    for (const std::vector<std::size_t>& equal : folded) kernel(report, equal.front(), equal);
    merges(report);
}

/// Where the time goes: a bar for each kernel, and one for equal kernels together.
void Page::overview(const PipelineReport& report, const std::vector<std::vector<std::size_t>>& folded) {
    if (report.groups.size() < 2) return;
    const auto seconds = [&](const std::vector<std::size_t>& equal) {
        const auto& time = report.groups[equal.front()].time;
        return time ? time->seconds * static_cast<double>(equal.size()) : 0;
    };
    double longest = 0;
    for (const std::vector<std::size_t>& equal : folded) longest = std::max(longest, seconds(equal));
    html_ += "<div class=\"bars overview\">\n";
    for (const std::vector<std::size_t>& equal : folded) {
        const std::size_t g = equal.front();
        const GroupReport& group = report.groups[g];
        const std::vector<std::string> names = names_of(group);
        const std::string shown =
            names.size() <= 3 ? list(names) : fmt::format("{} ... {}", names.front(), names.back());
        const std::string more = equal.size() > 1 ? fmt::format(" and {} equal", equal.size() - 1) : "";
        add("<span><a href=\"#{}-{}\">{}</a> {}{}</span><span class=\"number\">{}</span><div><div class=\"bar bound\" "
            "style=\"width: {:.1f}%\"></div></div>\n",
            escaped(report.name), g + 1, g + 1, code(shown), more, group.time ? duration(seconds(equal)) : "?",
            longest > 0 ? seconds(equal) / longest * 100 : 0.0);
    }
    html_ += "</div>\n";
}

void Page::source(const GroupReport& group) {
    if (group.source.empty()) return;
    html_ += "<div><h4>Source</h4>\n<pre class=\"source\">";
    for (std::size_t i = 0; i < group.source.size(); ++i) {
        const SourceLine& line = group.source[i];
        if (i == 0 ? group.source.back().file != line.file : group.source[i - 1].file != line.file) {
            add("<span class=\"line soft\">{}</span>", escaped(line.file));
        }
        add("<span class=\"line\"><span class=\"soft\">{:>4}</span>  {}</span>", line.number, escaped(line.text));
    }
    html_ += "</pre></div>\n";
}

void Page::kernel(const PipelineReport& report, std::size_t index, const std::vector<std::size_t>& equal) {
    const GroupReport& group = report.groups[index];
    add("<section class=\"kernel\" id=\"{}-{}\">\n<div class=\"head\"><h3>Kernel {}: {}</h3><span "
        "class=\"time\">{}</span>"
        "</div>\n",
        escaped(report.name), index + 1, index + 1, code(list(names_of(group))),
        group.time ? duration(group.time->seconds) : "not predicted");
    equal_kernels(report, equal);
    facts(report, group);
    html_ += "<div class=\"columns\">\n<div>\n";
    if (group.time) {
        bars(*group.time);
    } else {
        add("<p>{}</p>\n", escaped(group.unknown));
    }
    if (const std::string picture = tile_picture(group); !picture.empty()) add("<h4>A tile</h4>\n{}", picture);
    html_ += "</div>\n";
    source(group);
    html_ += "</div>\n";
    stages(group);
    alternatives(group);
    html_ += "</section>\n";
}

/// The kernels that a section stands for besides the first one; the graph has links to them.
void Page::equal_kernels(const PipelineReport& report, const std::vector<std::size_t>& equal) {
    if (equal.size() < 2) return;
    add("<details><summary>{} like this one</summary>\n<table>\n", plural(equal.size() - 1, "more kernel"));
    for (std::size_t i = 1; i < equal.size(); ++i) {
        add("<tr class=\"equal\" id=\"{}-{}\"><td>{}</td><td class=\"names\">", escaped(report.name), equal[i] + 1,
            equal[i] + 1);
        for (const std::string& name : names_of(report.groups[equal[i]])) html_ += code(name) + " ";
        html_ += "</td></tr>\n";
    }
    html_ += "</table></details>\n";
}

void Page::facts(const PipelineReport& report, const GroupReport& group) {
    const auto fact = [&](const char* name, const std::string& words) {
        add("<dt>{}</dt><dd>{}</dd>\n", name, escaped(words));
    };
    html_ += "<dl>\n";
    add("<dt>strategy</dt><dd>{}: {}</dd>\n", code(std::string(fusion::name(group.schedule.strategy))),
        escaped(group.meaning));
    if (const std::string how = parameters(group.schedule, group.dims); !how.empty()) fact("", how);
    if (!group.tile.empty()) fact("tile", tile(group));
    if (group.traffic) fact("memory", traffic(*group.traffic));
    if (group.time) {
        fact("", fmt::format("{} reach global memory, {} the L2 cache", memory(group.time->dram_bytes),
                             memory(group.time->l2_bytes)));
        fact("resources", resources(group, report.gpu));
        fact("grid", grid(*group.time));
    }
    html_ += "</dl>\n";
}

void Page::bars(const cost::TimePrediction& time) {
    add("<h4>Time, bound by {}</h4>\n<div class=\"bars\">\n", bound(time));
    double longest = 0;
    double bounding = 0;
    for (const Term& term : terms(time)) {
        longest = std::max(longest, term.seconds);
        if (term.is_resource) bounding = std::max(bounding, term.seconds);
    }
    for (const Term& term : terms(time)) {
        const double part = longest > 0 ? term.seconds / longest * 100 : 0;
        add("<span>{}{}</span><span class=\"number\">{}</span><div><div class=\"bar{}\" style=\"width: {:.1f}%\"></div>"
            "</div>\n",
            term.is_resource ? "" : "+ ", term.name, duration(term.seconds),
            term.is_resource && term.seconds == bounding ? " bound" : "", part);
    }
    html_ += "</div>\n<p class=\"soft\">Resources are busy at the same time; the last two terms are added.</p>\n";
}

void Page::stages(const GroupReport& group) {
    const bool tiled = !group.tile.empty();
    add("<details{}><summary>{}</summary>\n<div class=\"scroll\"><table>\n<tr><th>stage</th><th>type</th><th>kept "
        "in</th>"
        "{}<th>computed inside of it</th><th>defined</th></tr>\n",
        group.stages.size() <= 8 ? " open=\"open\"" : "", plural(group.stages.size(), "stage"),
        tiled ? "<th>a tile computes</th><th>again</th><th>overlap</th>" : "");
    for (const StageReport& stage : group.stages) {
        add("<tr><td>{}</td><td>{}</td><td>{}</td>", code(stage.name), code(stage.type), escaped(kept(stage)));
        if (tiled) {
            add("<td>{}</td><td>{}</td><td>{}</td>", escaped(computed(stage)), escaped(again(stage)),
                escaped(overlap(stage)));
        }
        add("<td class=\"names\">{}</td><td>{}</td></tr>\n", stage.inlined.empty() ? "" : code(list(stage.inlined)),
            code(stage.place));
    }
    html_ += "</table></div></details>\n";
}

// ------------------------------------------------------------------------------------------------------------- choices

void Page::table_of_choices(const std::string& first) {
    add("<div class=\"scroll\"><table>\n<tr>{}<th class=\"number\">time</th><th></th><th>how</th>", first);
    for (const Term& term : terms({})) {
        if (term.is_resource) add("<th class=\"number\">{}</th>", term.name);
    }
    html_ += "</tr>\n";
}

/// The cells of a row but for the first ones, and the row's end. `what` is HTML.
void Page::alternative(const std::optional<double>& seconds, const std::optional<double>& now, const std::string& what,
                       const std::optional<cost::TimePrediction>& time) {
    const bool faster = seconds && now && *seconds < *now;
    add("<td class=\"number\">{}</td><td class=\"number {}\">{}</td><td>{}</td>", seconds ? duration(*seconds) : "",
        faster ? "faster" : "slower", seconds && now ? change(*seconds, *now) : "", what);
    for (const Term& term : terms(time.value_or(cost::TimePrediction{}))) {
        if (term.is_resource) add("<td class=\"number\">{}</td>", time ? duration(term.seconds) : "");
    }
    html_ += "</tr>\n";
}

void Page::alternatives(const GroupReport& group) {
    if (group.alternatives.empty() && !group.apart) return;
    html_ += "<details><summary>Other ways of running it</summary>\n";
    table_of_choices("");
    const auto now = group.time ? std::optional(group.time->seconds) : std::nullopt;
    if (group.time) {
        html_ += "<tr>";
        alternative(now, std::nullopt, "as it is", group.time);
    }
    for (const Alternative& other : group.alternatives) {
        html_ += "<tr>";
        if (other.time) {
            alternative(other.time->seconds, now, escaped(name_of(other)), other.time);
        } else {
            alternative(std::nullopt, now, escaped(other.what + " is impossible: " + other.refusal), std::nullopt);
        }
    }
    if (group.apart) {
        html_ += "<tr>";
        alternative(group.apart, now, plural(group.stages.size(), "kernel") + " apart", std::nullopt);
    }
    html_ += "</table></div></details>\n";
}

void Page::merges(const PipelineReport& report) {
    if (report.merges.empty()) return;
    html_ += "<h2>One kernel instead of two</h2>\n<p class=\"soft\">Where one reads the other.</p>\n";
    table_of_choices("<th>kernels</th>");
    for (const MergeReport& merge : report.merges) {
        add("<tr><td>{} and {}</td>", merge.producer + 1, merge.reader + 1);
        const Alternative& merged = merge.merged;
        if (merged.time) {
            const std::string instead = merge.now ? fmt::format(" instead of {}", duration(*merge.now)) : "";
            alternative(merged.time->seconds, merge.now, escaped(name_of(merged) + instead), merged.time);
            continue;
        }
        const std::string where = merged.place.empty() ? "" : " (" + code(merged.place) + ")";
        const std::string what = merged.what.empty() ? "" : merged.what + ": ";
        alternative(std::nullopt, merge.now, escaped("impossible: " + what + merged.refusal) + where, std::nullopt);
    }
    html_ += "</table></div>\n";
}

}  // namespace

std::string to_html(const std::string& title, const std::vector<PipelineReport>& reports) {
    return Page().run(title, reports);
}

}  // namespace pipec::driver::explain
