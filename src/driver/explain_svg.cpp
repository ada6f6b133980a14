#include "driver/explain_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "driver/explain_words.h"
#include "driver/layered_layout.h"
#include "support/unicode.h"

namespace pipec::driver::explain {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : printable(text)) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            case '\'': result += "&#39;"; break;
            default: result += c;
        }
    }
    return result;
}

namespace {

// ---------------------------------------------------------------------------------------------------------- the graph

constexpr double kStageHeight = 24;
constexpr double kCharacter = 7.3;  ///< of the page's font for code, in pixels
constexpr double kPadding = 12;     ///< of a kernel's box
constexpr double kTitleHeight = 20;
constexpr double kMargin = 6;

/// A box of the outer graph: an input, or a kernel with its stages in a layout of their own.
struct Cluster {
    std::string title, anchor;
    std::vector<int> stages;  ///< by index in the pipeline; none: an input
    std::vector<LayoutBox> boxes;
    std::vector<LayoutEdge> edges;
};

class Graph {
public:
    explicit Graph(const PipelineReport& report) : report_(report), pipeline_(report.program.pipeline) {}
    std::string draw();

private:
    struct Place {
        std::size_t cluster = 0, box = 0;
    };
    void add_clusters();
    void connect();
    void draw_cluster(std::size_t index);
    void draw_edges();
    void draw_edge(const LayoutBox& from, const LayoutBox& to, const std::vector<LayoutEdge::Pass>& passes);
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
        clusters_.push_back({pipeline_.inputs[i].name, "", {}, {}, {}});
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

/// Edges inside of kernels, and one between kernels however many of their stages it is for.
void Graph::connect() {
    std::set<std::pair<std::size_t, std::size_t>> between;
    for (const poly::Dependence& d : report_.dependences) {
        if (!reads_.emplace(d.source, d.reader).second) continue;
        const Place from = places_.at(d.source), to = places_.at({ir::Source::Kind::Stage, d.reader});
        if (from.cluster == to.cluster) {
            clusters_[from.cluster].edges.push_back({from.box, to.box, {}});
        } else if (between.emplace(from.cluster, to.cluster).second) {
            edges_.push_back({from.cluster, to.cluster, {}});
        }
    }
}

LayoutBox Graph::box_of(const Place& place) const {
    LayoutBox box = boxes_[place.cluster];
    if (clusters_[place.cluster].stages.empty()) return box;
    const LayoutBox& inner = clusters_[place.cluster].boxes[place.box];
    return {inner.width, inner.height, box.x + kPadding + inner.x, box.y + kPadding + kTitleHeight + inner.y};
}

/// A curve that is vertical at both ends and along the layers that it crosses.
void Graph::draw_edge(const LayoutBox& from, const LayoutBox& to, const std::vector<LayoutEdge::Pass>& passes) {
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

void Graph::draw_edges() {
    svg_ += "<g class=\"edges\">\n";
    for (const auto& [source, reader] : reads_) {
        const Place from = places_.at(source), to = places_.at({ir::Source::Kind::Stage, reader});
        std::vector<LayoutEdge::Pass> passes;
        const bool inside = from.cluster == to.cluster;
        for (const LayoutEdge& edge : inside ? clusters_[from.cluster].edges : edges_) {
            if (edge.from == (inside ? from.box : from.cluster) && edge.to == (inside ? to.box : to.cluster)) {
                passes = edge.passes;
            }
        }
        if (inside) {
            const LayoutBox& box = boxes_[from.cluster];
            for (LayoutEdge::Pass& pass : passes) {
                pass.x += box.x + kPadding;
                pass.top += box.y + kPadding + kTitleHeight;
                pass.bottom += box.y + kPadding + kTitleHeight;
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
        for (LayoutBox& box : cluster.boxes) box.x += (wide - width) / 2;
        for (LayoutEdge& edge : cluster.edges) {
            for (LayoutEdge::Pass& pass : edge.passes) pass.x += (wide - width) / 2;
        }
        boxes_[c].width = wide + 2 * kPadding;
        boxes_[c].height = height + 2 * kPadding + kTitleHeight;
    }
    const auto [width, height] = lay_out(boxes_, edges_, {28, 44});
    svg_ = fmt::format(
        "<svg class=\"graph\" viewBox=\"{:.0f} {:.0f} {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "role=\"img\" aria-label=\"the stages and kernels of {}\">\n",
        -kMargin, -kMargin, width + 2 * kMargin, height + 2 * kMargin, width + 2 * kMargin, height + 2 * kMargin,
        escaped(report_.name));
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

// ----------------------------------------------------------------------------------------------------------- the tile

constexpr double kPictureWidth = 420, kPictureHeight = 240, kLeastSide = 36;
constexpr std::size_t kColors = 6;  ///< .c0 to .c5 in the page's style

/// One direction of a picture: points of the group's coordinate to pixels.
struct Axis {
    int dim = -1;  ///< of the group; -1: none
    double lo = 0, hi = 1;
    double scale = 1;
    [[nodiscard]] double at(double point) const { return (point - lo) * scale; }
};

struct Part {
    double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
    std::vector<std::string> stages;
};

/// What a tile needs of a stage in one dimension, in points of the tile.
std::pair<double, double> span(const GroupReport& group, const StageReport& stage, int dim) {
    if (dim < 0) return {0, 1};
    const double size = static_cast<double>(group.tile[static_cast<std::size_t>(dim)]);
    for (const TilePart& part : stage.part) {
        if (part.dim != dim) continue;
        const double scale = size / part.owned;
        return {-static_cast<double>(part.before) * scale, size + static_cast<double>(part.after) * scale};
    }
    return {0, size};
}

}  // namespace

std::string graph_picture(const PipelineReport& report) {
    return Graph(report).draw();
}

std::string tile_picture(const GroupReport& group) {
    if (group.tile.empty()) return "";
    const int rank = static_cast<int>(group.tile.size());
    Axis x, y;
    x.dim = rank - 1;
    y.dim = rank - 2;
    std::vector<Part> parts;  // of equal ones the first, with the names of all
    for (const StageReport& stage : group.stages) {
        Part part;
        std::tie(part.x0, part.x1) = span(group, stage, x.dim);
        std::tie(part.y0, part.y1) = span(group, stage, y.dim);
        auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
            return p.x0 == part.x0 && p.x1 == part.x1 && p.y0 == part.y0 && p.y1 == part.y1;
        });
        if (same == parts.end()) same = parts.insert(parts.end(), part);
        same->stages.push_back(stage.name);
    }
    const auto area = [](const Part& p) { return (p.x1 - p.x0) * (p.y1 - p.y0); };
    std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return area(a) > area(b); });
    for (const Part& part : parts) {
        x.lo = std::min(x.lo, part.x0), x.hi = std::max(x.hi, part.x1);
        y.lo = std::min(y.lo, part.y0), y.hi = std::max(y.hi, part.y1);
    }
    x.scale = y.scale = std::min(kPictureWidth / (x.hi - x.lo), kPictureHeight / (y.hi - y.lo));
    bool distorted = false;
    for (Axis* axis : {&x, &y}) {  // a line would show nothing
        const double least = kLeastSide / (axis->hi - axis->lo);
        distorted = distorted || axis->scale < least;
        axis->scale = std::max(axis->scale, least);
    }
    const double width = x.at(x.hi), height = y.at(y.hi);
    std::string svg = fmt::format(
        "<figure class=\"tile\"><svg viewBox=\"-1 -1 {:.1f} {:.1f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" role=\"img\" aria-label=\"a tile\">\n",
        width + 2, height + 2, width + 2, height + 2);
    std::string legend;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& p = parts[i];
        const std::string names = escaped(list(p.stages));
        svg += fmt::format(
            "<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}"
            "</title></rect>\n",
            i % kColors, x.at(p.x0), y.at(p.y0), x.at(p.x1) - x.at(p.x0), y.at(p.y1) - y.at(p.y0), names);
        const double across = p.x1 - p.x0, down = p.y1 - p.y0;
        const std::string size =
            y.dim < 0 ? fmt::format("{:.0f}", across) : fmt::format("{:.0f} x {:.0f}", down, across);
        legend += fmt::format("<li><span class=\"key c{}\"></span>{} <code>{}</code></li>\n", i % kColors, size, names);
    }
    const double tile_x = static_cast<double>(group.tile[static_cast<std::size_t>(x.dim)]);
    const double tile_y = y.dim < 0 ? 1 : static_cast<double>(group.tile[static_cast<std::size_t>(y.dim)]);
    svg += fmt::format("<rect class=\"own\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n</svg>\n",
                       x.at(0), y.at(0), x.at(tile_x) - x.at(0), y.at(tile_y) - y.at(0));
    return fmt::format(
        "{}<figcaption>What a tile needs of the stages, in the tile&#39;s coordinates{}; dashed is what it "
        "owns.<ul>{}</ul></figcaption></figure>\n",
        svg, distorted ? ", stretched" : ", to scale", legend);
}

}  // namespace pipec::driver::explain
