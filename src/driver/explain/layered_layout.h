// Where the boxes of an acyclic graph lie in a drawing: in layers from top to bottom (K. Sugiyama et al., "Methods for
// Visual Understanding of Hierarchical System Structures", 1981), long edges on paths between the boxes of the layers
// that they cross.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pipec::driver {

struct LayoutBox {
    enum class Pin { Free, Top, Bottom };  ///< in the first or last layer; Top only where no edge ends
    double width = 0, height = 0;
    Pin pin = Pin::Free;
    double x = 0, y = 0;         ///< upper left corner; set by the layout
    double top = 0, bottom = 0;  ///< of its layer, which may be higher; set by the layout
};

/// From one box to another below it.
struct LayoutEdge {
    std::size_t from = 0, to = 0;
    /// Between the layers of its ends: a place to the left or right of the boxes there, from top to bottom of the
    /// layer.
    struct Pass {
        double x = 0, top = 0, bottom = 0;
    };
    std::vector<Pass> passes;  ///< set by the layout
};

struct LayoutSpacing {
    double across = 20, down = 40;
};

/// Places the boxes, the drawing's upper left corner at (0, 0). Edges go from boxes to ones with greater numbers, or
/// from ones that are pinned to the top. Returns the drawing's width and height.
std::pair<double, double> lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges,
                                  const LayoutSpacing& spacing);

}  // namespace pipec::driver
