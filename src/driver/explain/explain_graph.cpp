#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "driver/explain/explain_svg.h"
#include "driver/explain/explain_words.h"
#include "driver/explain/layered_layout.h"

namespace pipec::driver::explain {

namespace {

constexpr double kStageHeight = 24;
constexpr double kCharacter = 7.3;  ///< of the page's font for code, in pixels
constexpr double kPadding = 12;     ///< of a kernel's box
constexpr double kTitleHeight = 20;
constexpr double kLeastScale = 0.5;  ///< names are not smaller; what is wider then is scrolled
constexpr double kPortWidth = 6;
constexpr double kMargin = 6;

/// A box of the outer graph: an input, or a kernel with its stages in a layout of their own.
struct Cluster {
    std::string title, anchor;
    std::vector<int> stages;       ///< by index in the pipeline; none: an input
    std::vector<LayoutBox> boxes;  ///< stages, then ports
    std::vector<LayoutEdge> edges;
    /// Ports at the kernel's lower and upper edge, by box: where lines to other kernels pass, lest they cross stages.
    std::map<std::size_t, std::size_t> exits, entries;
    std::set<std::size_t> entered;  ///< boxes, stages or ports, at which lines from other kernels end
};

class Graph {
public:
    explicit Graph(const PipelineReport& report) : report_(report), pipeline_(report.program.pipeline) {}
    std::string draw();

private:
    struct Place {
        std::size_t cluster = 0, box = 0;
    };
    using Passes = std::vector<LayoutEdge::Pass>;

    void add_clusters();
    void connect();
    void add_exit(const Place& place);
    void add_entry(const Place& place);
    void add_passes(std::size_t index, std::size_t from, std::size_t to, Passes& passes) const;
    void add_port(const Place& port, Passes& passes) const;
    void add_way_out(const Place& exit, Passes& passes) const;
    void add_way_in(const Place& entry, Passes& passes) const;
    [[nodiscard]] static double indent(const Cluster& cluster, double free);
    void draw_cluster(std::size_t index);
    void draw_edges();
    void draw_edge(const LayoutBox& from, const LayoutBox& to, const Passes& passes);
    [[nodiscard]] LayoutBox box_of(const Place& place) const;
    [[nodiscard]] static double width_of(const std::string& name) {
        return static_cast<double>(name.size()) * kCharacter + 18;
    }

    const PipelineReport& report_;
    const ir::Pipeline& pipeline_;
    std::vector<Cluster> clusters_;
    std::vector<LayoutBox> boxes_;   ///< of clusters
    std::vector<LayoutEdge> edges_;  ///< between clusters
    std::map<ir::Source, Place> places_;
    std::set<std::pair<ir::Source, int>> reads_;  ///< source and reader
    std::string svg_;
};

void Graph::add_clusters() {
    for (std::size_t i = 0; i < pipeline_.inputs.size(); ++i) {
        clusters_.emplace_back().title = pipeline_.inputs[i].name;
        boxes_.push_back({width_of(pipeline_.inputs[i].name), kStageHeight});
        places_[{ir::Source::Kind::Input, static_cast<int>(i)}] = {clusters_.size() - 1, 0};
    }
    std::map<std::string, int> index;
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) index[pipeline_.stages[s].name] = static_cast<int>(s);
    for (std::size_t g = 0; g < report_.groups.size(); ++g) {
        const GroupReport& group = report_.groups[g];
        Cluster cluster;
        cluster.anchor = fmt::format("{}-{}", report_.name, g + 1);
        cluster.title = fmt::format("{}", g + 1);
        if (group.time) cluster.title += ": " + duration(group.time->seconds);
        for (const StageReport& stage : group.stages) {
            cluster.stages.push_back(index.at(stage.name));
            places_[{ir::Source::Kind::Stage, cluster.stages.back()}] = {clusters_.size(), cluster.boxes.size()};
            cluster.boxes.push_back({width_of(stage.name), kStageHeight});
        }
        clusters_.push_back(std::move(cluster));
        boxes_.emplace_back();
    }
}

void Graph::connect() {
    for (const poly::Dependence& d : report_.dependences) {
        if (!reads_.emplace(d.source, d.reader).second) continue;
        const Place from = places_.at(d.source), to = places_.at({ir::Source::Kind::Stage, d.reader});
        if (from.cluster == to.cluster) clusters_[from.cluster].edges.push_back({from.box, to.box, {}});
    }
    std::set<std::pair<std::size_t, std::size_t>> between;  // one edge, however many stages it is for
    for (const auto& [source, reader] : reads_) {
        const Place from = places_.at(source), to = places_.at({ir::Source::Kind::Stage, reader});
        if (from.cluster == to.cluster) continue;
        if (between.emplace(from.cluster, to.cluster).second) edges_.push_back({from.cluster, to.cluster, {}});
        add_exit(from);
        add_entry(to);
    }
}

void Graph::add_exit(const Place& place) {
    Cluster& cluster = clusters_[place.cluster];
    if (cluster.stages.empty() || cluster.exits.count(place.box) > 0) return;
    const auto is_out = [&](const LayoutEdge& edge) { return edge.from == place.box; };
    const bool is_below_entry = cluster.stages.size() > 1 && cluster.boxes[place.box].pin == LayoutBox::Pin::Top;
    if (std::none_of(cluster.edges.begin(), cluster.edges.end(), is_out) && !is_below_entry) {
        cluster.boxes[place.box].pin = LayoutBox::Pin::Bottom;
        return;
    }
    cluster.exits[place.box] = cluster.boxes.size();
    cluster.edges.push_back({place.box, cluster.boxes.size(), {}});
    cluster.boxes.push_back({kPortWidth, 0, LayoutBox::Pin::Bottom});
}

void Graph::add_entry(const Place& place) {
    Cluster& cluster = clusters_[place.cluster];
    if (cluster.entries.count(place.box) > 0 || cluster.entered.count(place.box) > 0) return;
    const auto is_in = [&](const LayoutEdge& edge) { return edge.to == place.box; };
    const bool is_above_exit = cluster.stages.size() > 1 && cluster.boxes[place.box].pin == LayoutBox::Pin::Bottom;
    if (std::none_of(cluster.edges.begin(), cluster.edges.end(), is_in) && !is_above_exit) {
        cluster.boxes[place.box].pin = LayoutBox::Pin::Top;
        cluster.entered.insert(place.box);
        return;
    }
    cluster.entries[place.box] = cluster.boxes.size();
    cluster.entered.insert(cluster.boxes.size());
    cluster.edges.push_back({cluster.boxes.size(), place.box, {}});
    cluster.boxes.push_back({kPortWidth, 0, LayoutBox::Pin::Top});
}

LayoutBox Graph::box_of(const Place& place) const {
    LayoutBox box = boxes_[place.cluster];
    if (clusters_[place.cluster].stages.empty()) return box;
    LayoutBox inner = clusters_[place.cluster].boxes[place.box];
    inner.x += box.x + kPadding;
    inner.y += box.y + kPadding + kTitleHeight;
    return inner;
}

/// A curve that is vertical at both ends and along the layers that it crosses.
void Graph::draw_edge(const LayoutBox& from, const LayoutBox& to, const Passes& passes) {
    double x = from.x + from.width / 2, y = from.y + from.height;
    std::string path = fmt::format("M{:.1f} {:.1f}", x, y);
    const auto curve = [&](double to_x, double to_y) {
        const double middle = (y + to_y) / 2;
        path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, middle, to_x, middle, to_x, to_y);
        x = to_x;
        y = to_y;
    };
    for (const LayoutEdge::Pass& pass : passes) {
        curve(pass.x, pass.top);
        path += fmt::format("V{:.1f}", pass.bottom);
        y = pass.bottom;
    }
    curve(to.x + to.width / 2, to.y);
    svg_ += fmt::format("<path d=\"{}\"/>\n", path);
}

void Graph::draw_cluster(std::size_t index) {
    const Cluster& cluster = clusters_[index];
    const LayoutBox& box = boxes_[index];
    const auto rectangle = [&](const LayoutBox& b, const std::string& kind) {
        svg_ += fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4"/>)", kind,
                            b.x, b.y, b.width, b.height);
    };
    const auto label = [&](const LayoutBox& b, const std::string& text) {
        svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", b.x + b.width / 2, b.y + b.height / 2 + 4,
                            escaped(text));
    };
    if (cluster.stages.empty()) {
        rectangle(box, "input");
        label(box, cluster.title);
        return;
    }
    svg_ += fmt::format("<a href=\"#{}\"><text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></a>\n",
                        escaped(cluster.anchor), box.x + kPadding, box.y + kPadding + 6, escaped(cluster.title));
    for (std::size_t s = 0; s < cluster.stages.size(); ++s) {
        const StageReport& stage = report_.groups[index - pipeline_.inputs.size()].stages[s];
        const LayoutBox inner = box_of({index, s});
        svg_ += fmt::format("<g><title>{}: {}{}</title>", escaped(stage.name), escaped(kept(stage)),
                            stage.inlined.empty() ? "" : "; with " + escaped(list(stage.inlined)));
        rectangle(inner, stage.is_output ? "output" : stage.is_live ? "live" : "stage");
        label(inner, stage.name);
        svg_ += "</g>\n";
    }
}

/// What the line between two boxes of a kernel passes.
void Graph::add_passes(std::size_t index, std::size_t from, std::size_t to, Passes& passes) const {
    const LayoutBox& box = boxes_[index];
    for (const LayoutEdge& edge : clusters_[index].edges) {
        if (edge.from != from || edge.to != to) continue;
        for (LayoutEdge::Pass pass : edge.passes) {
            pass.x += box.x + kPadding;
            pass.top += box.y + kPadding + kTitleHeight;
            pass.bottom += box.y + kPadding + kTitleHeight;
            passes.push_back(pass);
        }
    }
}

/// A line is straight beside the stages that stand in a port's row.
void Graph::add_port(const Place& port, Passes& passes) const {
    const LayoutBox box = box_of(port);
    passes.push_back({box.x + box.width / 2, box.y - kStageHeight / 2, box.y + kStageHeight / 2});
}

/// A line that leaves a kernel or an input is straight beside what is lower in its layer.
void Graph::add_way_out(const Place& exit, Passes& passes) const {
    const LayoutBox &outer = boxes_[exit.cluster], box = box_of(exit);
    passes.push_back({box.x + box.width / 2, outer.y + outer.height, outer.bottom});
}

/// A line that enters a kernel is straight beside what is higher in its layer, and beside the kernel's title.
void Graph::add_way_in(const Place& entry, Passes& passes) const {
    const LayoutBox &outer = boxes_[entry.cluster], box = box_of(entry);
    passes.push_back({box.x + box.width / 2, outer.top, outer.y + kPadding + kTitleHeight});
}

/// How far the stages are moved to the right in a kernel that is wider by `free`: to its middle, and until the lines
/// that enter pass the title on its right.
double Graph::indent(const Cluster& cluster, double free) {
    double indent = free / 2;
    const double title = static_cast<double>(cluster.title.size()) * kCharacter;
    for (const std::size_t entered : cluster.entered) {
        const LayoutBox& box = cluster.boxes[entered];
        indent = std::max(indent, title - (box.x + box.width / 2));
    }
    return indent;
}

void Graph::draw_edges() {
    svg_ += "<g class=\"edges\">\n";
    for (const auto& [source, reader] : reads_) {
        const Place from = places_.at(source), to = places_.at({ir::Source::Kind::Stage, reader});
        Passes passes;
        if (from.cluster == to.cluster) {
            add_passes(from.cluster, from.box, to.box, passes);
        } else {
            const Cluster &above = clusters_[from.cluster], &below = clusters_[to.cluster];
            const auto exit = above.exits.find(from.box);
            if (exit != above.exits.end()) {
                add_passes(from.cluster, from.box, exit->second, passes);
                add_port({from.cluster, exit->second}, passes);
            }
            add_way_out({from.cluster, exit != above.exits.end() ? exit->second : from.box}, passes);
            for (const LayoutEdge& edge : edges_) {
                if (edge.from != from.cluster || edge.to != to.cluster) continue;
                passes.insert(passes.end(), edge.passes.begin(), edge.passes.end());
            }
            const auto entry = below.entries.find(to.box);
            add_way_in({to.cluster, entry != below.entries.end() ? entry->second : to.box}, passes);
            if (entry != below.entries.end()) {
                add_port({to.cluster, entry->second}, passes);
                add_passes(to.cluster, entry->second, to.box, passes);
            }
        }
        draw_edge(box_of(from), box_of(to), passes);
    }
    svg_ += "</g>\n";
}

std::string Graph::draw() {
    add_clusters();
    connect();
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        Cluster& cluster = clusters_[c];
        if (cluster.stages.empty()) continue;
        const auto [width, height] = lay_out(cluster.boxes, cluster.edges, {14, 26});
        const double wide = std::max(width, width_of(cluster.title));
        const double right = indent(cluster, wide - width);
        for (LayoutBox& box : cluster.boxes) box.x += right;
        for (LayoutEdge& edge : cluster.edges) {
            for (LayoutEdge::Pass& pass : edge.passes) pass.x += right;
        }
        boxes_[c].width = std::max(wide, width + right) + 2 * kPadding;
        boxes_[c].height = height + 2 * kPadding + kTitleHeight;
    }
    const auto [width, height] = lay_out(boxes_, edges_, {28, 44});
    svg_ = fmt::format(
        "<svg class=\"graph\" viewBox=\"{:.0f} {:.0f} {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "style=\"min-width: {:.0f}px\" role=\"img\" aria-label=\"the stages and kernels of {}\">\n",
        -kMargin, -kMargin, width + 2 * kMargin, height + 2 * kMargin, width + 2 * kMargin, height + 2 * kMargin,
        kLeastScale * (width + 2 * kMargin), escaped(report_.name));
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        if (clusters_[c].stages.empty()) continue;
        const LayoutBox& box = boxes_[c];
        svg_ += fmt::format(
            "<a href=\"#{}\"><rect class=\"kernel\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\" rx=\"8\"/></a>\n",
            escaped(clusters_[c].anchor), box.x, box.y, box.width, box.height);
    }
    draw_edges();
    for (std::size_t c = 0; c < clusters_.size(); ++c) draw_cluster(c);
    return svg_ + "</svg>\n";
}

}  // namespace

std::string graph_picture(const PipelineReport& report) {
    return Graph(report).draw();
}

}  // namespace pipec::driver::explain
