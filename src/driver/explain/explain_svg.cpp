#include "driver/explain/explain_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "driver/explain/explain_words.h"
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
        const double scale = size / part.owned, first = static_cast<double>(part.first) * scale;
        return {first, first + static_cast<double>(part.needed) * scale};
    }
    return {0, size};
}

}  // namespace

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
