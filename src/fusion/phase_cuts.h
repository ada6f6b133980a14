// Which arrays of a pipeline lie between its phases (phases.h).
#pragma once

#include <optional>
#include <vector>

#include "fusion/inline.h"
#include "poly/reads.h"

namespace pipec::fusion {

/// How ranges grow with the images: two sets of sizes, of which the second are twice the first, parameters excepted.
class ImageGrowth {
public:
    explicit ImageGrowth(const ir::Pipeline& pipeline);

    /// Points of a box in large images; none where bounds have more than sizes in them.
    [[nodiscard]] std::optional<double> points(const std::vector<poly::Interval>& box) const;
    [[nodiscard]] double points(const ir::Buffer& buffer) const;
    /// A loop whose bounds are the same everywhere has more turns in larger images.
    [[nodiscard]] bool grows(const ir::Range& loop) const;
    /// A loop of a scope has more turns in larger images, at some point of the box of the stage.
    [[nodiscard]] bool grows(const std::vector<poly::ReadScope>& scopes, int scope, const ir::Stage& stage,
                             const poly::Domain& domain) const;

private:
    using Sizes = std::vector<std::int64_t>;
    static std::optional<double> points(const std::vector<poly::Interval>& box, const Sizes& sizes);
    Sizes large_, larger_;
};

/// For each stage the phase that gives it; -1: each phase that needs it computes it for itself.
///
/// A stage with a loop over a whole dimension of an image is given by one phase, and so is what such a loop reads,
/// where both are far smaller than the images: then no window of a phase needs a whole image that another phase has
/// read.
std::vector<int> phase_cuts(const ir::Pipeline& pipeline, const poly::Model& model);

/// A stage that can be an array of its own, and is far smaller than the largest input.
bool is_small_array(const ir::Pipeline& pipeline, const poly::Model& model, const ImageGrowth& growth,
                    std::size_t stage);

/// The stages that `stage` reads, itself excepted.
std::vector<int> stages_read(const ir::Stage& stage, int itself);

}  // namespace pipec::fusion
