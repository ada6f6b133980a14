#include "driver/explain/layered_layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace pipec::driver {

namespace {

constexpr int kOrderSweeps = 12;
constexpr int kPlaceSweeps = 10;
constexpr double kPassWidth = 6;

/// A box, or where a long edge crosses a layer.
struct Node {
    double width = 0;
    std::size_t layer = 0;
    double center = 0;
    std::vector<std::size_t> above, below;  ///< neighbours
};

class Layout {
public:
    Layout(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges, const LayoutSpacing& spacing)
        : boxes_(boxes), edges_(edges), spacing_(spacing) {}

    std::pair<double, double> run() {
        assign_layers();
        add_passes();
        order_layers();
        place_nodes();
        return finish();
    }

private:
    void assign_layers();
    void add_passes();
    void order_layers();
    void place_nodes();
    void place_layer(std::vector<std::size_t>& layer, bool by_above);
    std::pair<double, double> finish();

    std::vector<LayoutBox>& boxes_;
    std::vector<LayoutEdge>& edges_;
    const LayoutSpacing& spacing_;
    std::vector<Node> nodes_;                        // boxes first
    std::vector<std::vector<std::size_t>> layers_;   // nodes from left to right
    std::vector<std::vector<std::size_t>> crossed_;  // nodes of each edge between its ends
};

/// The longest path from the top; what nothing is above of stands right over its highest reader.
void Layout::assign_layers() {
    nodes_.resize(boxes_.size());
    std::vector<std::size_t> by_end(edges_.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::sort(by_end.begin(), by_end.end(),
              [&](std::size_t a, std::size_t b) { return edges_[a].from < edges_[b].from; });
    for (std::size_t i = 0; i < boxes_.size(); ++i) nodes_[i].width = boxes_[i].width;
    for (const std::size_t e : by_end) {
        Node &from = nodes_[edges_[e].from], &to = nodes_[edges_[e].to];
        to.layer = std::max(to.layer, from.layer + 1);
    }
    for (std::size_t i = boxes_.size(); i-- > 0;) {
        std::size_t highest = SIZE_MAX;
        bool has_above = false;
        for (const LayoutEdge& edge : edges_) {
            if (edge.from == i) highest = std::min(highest, nodes_[edge.to].layer);
            has_above = has_above || edge.to == i;
        }
        const bool is_free = boxes_[i].pin == LayoutBox::Pin::Free;
        if (is_free && !has_above && highest != SIZE_MAX) nodes_[i].layer = highest - 1;
    }
    std::size_t last = 0;
    for (const Node& node : nodes_) last = std::max(last, node.layer);
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
        if (boxes_[i].pin == LayoutBox::Pin::Bottom) nodes_[i].layer = last;
    }
}

void Layout::add_passes() {
    for (const LayoutEdge& edge : edges_) {
        std::vector<std::size_t>& crossed = crossed_.emplace_back();
        std::size_t last = edge.from;
        const auto connect = [&](std::size_t to) {
            nodes_[last].below.push_back(to);
            nodes_[to].above.push_back(last);
            last = to;
        };
        for (std::size_t layer = nodes_[edge.from].layer + 1; layer < nodes_[edge.to].layer; ++layer) {
            crossed.push_back(nodes_.size());
            Node& pass = nodes_.emplace_back();
            pass.width = kPassWidth;
            pass.layer = layer;
            connect(crossed.back());
        }
        connect(edge.to);
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        layers_.resize(std::max(layers_.size(), nodes_[n].layer + 1));
        layers_[nodes_[n].layer].push_back(n);
    }
}

/// Each node at the mean of its neighbours' places, down and up in turns: few edges cross.
void Layout::order_layers() {
    std::vector<double> place(nodes_.size(), 0);
    const auto number = [&](const std::vector<std::size_t>& layer) {
        for (std::size_t i = 0; i < layer.size(); ++i) {
            place[layer[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(layer.size());
        }
    };
    for (const auto& layer : layers_) number(layer);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
        const bool down = sweep % 2 == 0;
        for (std::size_t l = 0; l < layers_.size(); ++l) {
            std::vector<std::size_t>& layer = layers_[down ? l : layers_.size() - 1 - l];
            std::vector<double> wanted(place);
            for (const std::size_t n : layer) {
                const std::vector<std::size_t>& neighbours = down ? nodes_[n].above : nodes_[n].below;
                if (neighbours.empty()) continue;
                double sum = 0;
                for (const std::size_t other : neighbours) sum += place[other];
                wanted[n] = sum / static_cast<double>(neighbours.size());
            }
            std::stable_sort(layer.begin(), layer.end(),
                             [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
            number(layer);
        }
    }
}

/// The centers nearest to those of the neighbours, in least squares, that keep order and distances: where neighbours in
/// the layer want to be too close, they become one block at the mean of what they want (isotonic regression).
void Layout::place_layer(std::vector<std::size_t>& layer, bool by_above) {
    struct Block {
        double sum = 0, count = 0;
        std::size_t length = 0;
    };
    std::vector<double> offset;  // of centers, where all stand as close as they may
    std::vector<Block> blocks;
    double at = 0;
    for (std::size_t i = 0; i < layer.size(); ++i) {
        const Node& node = nodes_[layer[i]];
        if (i > 0) at += nodes_[layer[i - 1]].width / 2 + spacing_.across + node.width / 2;
        offset.push_back(at);
        const std::vector<std::size_t>& neighbours = by_above ? node.above : node.below;
        double wanted = node.center;
        if (!neighbours.empty()) {
            wanted = 0;
            for (const std::size_t other : neighbours) wanted += nodes_[other].center;
            wanted /= static_cast<double>(neighbours.size());
        }
        blocks.push_back({wanted - at, 1, 1});
        while (blocks.size() > 1) {
            Block &last = blocks.back(), &before = blocks[blocks.size() - 2];
            if (before.sum / before.count <= last.sum / last.count) break;
            before = {before.sum + last.sum, before.count + last.count, before.length + last.length};
            blocks.pop_back();
        }
    }
    std::size_t i = 0;
    for (const Block& block : blocks) {
        for (std::size_t k = 0; k < block.length; ++k, ++i)
            nodes_[layer[i]].center = block.sum / block.count + offset[i];
    }
}

void Layout::place_nodes() {
    for (auto& layer : layers_) place_layer(layer, true);
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
        for (std::size_t l = layers_.size(); l-- > 0;) place_layer(layers_[l], false);
        for (auto& layer : layers_) place_layer(layer, true);
    }
}

std::pair<double, double> Layout::finish() {
    double left = 0, right = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const double from = nodes_[n].center - nodes_[n].width / 2, to = nodes_[n].center + nodes_[n].width / 2;
        left = n == 0 ? from : std::min(left, from);
        right = n == 0 ? to : std::max(right, to);
    }
    std::vector<double> top, height;
    double y = 0;
    for (const auto& layer : layers_) {
        double tallest = 0;
        for (const std::size_t n : layer) {
            if (n < boxes_.size()) tallest = std::max(tallest, boxes_[n].height);
        }
        top.push_back(y);
        height.push_back(tallest);
        y += tallest + spacing_.down;
    }
    for (std::size_t n = 0; n < boxes_.size(); ++n) {
        const std::size_t layer = nodes_[n].layer;
        boxes_[n].x = nodes_[n].center - nodes_[n].width / 2 - left;
        boxes_[n].y = top[layer] + (height[layer] - boxes_[n].height) / 2;
        boxes_[n].top = top[layer];
        boxes_[n].bottom = top[layer] + height[layer];
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) {
        edges_[e].passes.clear();
        for (const std::size_t n : crossed_[e]) {
            const std::size_t layer = nodes_[n].layer;
            edges_[e].passes.push_back({nodes_[n].center - left, top[layer], top[layer] + height[layer]});
        }
    }
    return {right - left, layers_.empty() ? 0 : y - spacing_.down};
}

}  // namespace

std::pair<double, double> lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges,
                                  const LayoutSpacing& spacing) {
    return Layout(boxes, edges, spacing).run();
}

}  // namespace pipec::driver
