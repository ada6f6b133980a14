#include "fusion/channel_sizes.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Colour, colour with alpha, grey. Compilers take as long for each as for the pipeline itself.
const std::vector<std::int64_t> kUsual = {3, 4, 1};
/// Nodes of expressions of all stages: up to kFewNodes there is code for each number, up to kMostNodes for colour.
constexpr std::int64_t kFewNodes = 300, kMostNodes = 1000;

bool is_size(const ir::Expr& e, int size) {
    const auto* n = ir::as<ir::SizeRef>(e);
    return n != nullptr && n->index == size;
}

/// An index that is the same for a whole pixel, or one of its elements.
bool is_plain(const ir::Expr& index) {
    return ir::as<ir::Variable>(index) != nullptr || ir::as_int(index).has_value();
}

std::vector<const ir::Buffer*> buffers(const ir::Pipeline& pipeline) {
    std::vector<const ir::Buffer*> result;
    for (const ir::Buffer& input : pipeline.inputs) result.push_back(&input);
    for (const ir::Output& output : pipeline.outputs) result.push_back(&output.buffer);
    return result;
}

/// Follows one size through the dimensions of a pipeline.
class Channels {
public:
    Channels(const ir::Pipeline& pipeline, int size) : pipeline_(pipeline), size_(size) {}

    [[nodiscard]] bool run() {
        if (!is_innermost() || is_of_image()) return false;
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) follow(s);
        return !read_beside_ && (least_rank_ == 3 || is_stencil_);
    }

private:
    /// Of some input; and wherever else it stands it is a whole extent.
    bool is_innermost() {
        bool result = false;
        for (const ir::Buffer& input : pipeline_.inputs) {
            if (input.rank() < 3 || !is_size(input.extents[static_cast<std::size_t>(input.order.back())], size_))
                continue;
            result = true;
            least_rank_ = std::min(least_rank_, input.rank());
        }
        const auto is_whole = [&](const ir::Expr& extent) {
            return is_size(extent, size_) || !ir::any_node(extent, [&](const ir::Expr& e) { return is_size(e, size_); });
        };
        return result && std::ranges::all_of(buffers(pipeline_), [&](const ir::Buffer* buffer) {
                   return std::ranges::all_of(buffer->extents, is_whole);
               });
    }

    /// It is the width of an image, of which a buffer with more dimensions has several: [T, H, W] beside [H, W].
    [[nodiscard]] bool is_of_image() const {
        const std::vector<const ir::Buffer*> all = buffers(pipeline_);
        return std::ranges::any_of(all, [&](const ir::Buffer* image) {
            if (image->rank() != 2 || !is_size(image->extents[1], size_)) return false;
            const auto* height = ir::as<ir::SizeRef>(image->extents[0]);
            return height != nullptr && std::ranges::any_of(all, [&](const ir::Buffer* other) {
                       const std::size_t rank = other->rank();
                       return rank > 2 && is_size(other->extents[rank - 1], size_) &&
                              is_size(other->extents[rank - 2], height->index);
                   });
        });
    }

    /// Whether this dimension of what is read counts channels.
    [[nodiscard]] bool counts(ir::Source source, std::size_t d) const {
        if (source.kind == ir::Source::Kind::Stage) return of_stages_.contains({source.index, d});
        return is_size(pipeline_.inputs[static_cast<std::size_t>(source.index)].extents[d], size_);
    }

    void follow(std::size_t s) {
        const ir::Stage& stage = pipeline_.stages[s];
        std::set<ir::VarId> channels;
        for (const ir::Expr& e : ir::expressions(stage)) {
            ir::for_each_node(e, [&](const ir::Expr& node) {
                const auto* read = ir::as<ir::Read>(node);
                if (read == nullptr) return;
                for (std::size_t d = 0; d < read->indices.size(); ++d) {
                    const ir::Expr& index = read->indices[d];
                    const auto* variable = ir::as<ir::Variable>(index);
                    if (counts(read->source, d)) {
                        read_beside_ = read_beside_ || !is_plain(index);
                        if (variable != nullptr) channels.insert(variable->id);
                    } else if (!is_plain(index)) {
                        is_stencil_ = true;
                    }
                }
            });
        }
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const bool stated = stage.dims[d].is_explicit() && is_size(stage.dims[d].hi, size_);
            if (stated || channels.contains(stage.dims[d].var)) of_stages_.insert({static_cast<int>(s), d});
        }
    }

    const ir::Pipeline& pipeline_;
    int size_;
    std::size_t least_rank_ = SIZE_MAX;
    std::set<std::pair<int, std::size_t>> of_stages_;  ///< dimensions of stages that count channels
    bool read_beside_ = false;
    bool is_stencil_ = false;  ///< something reads beside its place in another dimension
};

}  // namespace

std::vector<int> channel_sizes(const ir::Pipeline& pipeline) {
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        const int size = static_cast<int>(i);
        if (!ir::parameter_of(pipeline, i) && Channels(pipeline, size).run()) result.push_back(size);
    }
    return result;
}

std::vector<std::int64_t> usual_channels(const ir::Pipeline& pipeline) {
    std::int64_t nodes = 0;
    for (const ir::Stage& stage : pipeline.stages) {
        for (const ir::Expr& e : ir::expressions(stage)) nodes += ir::node_count(e);
    }
    if (nodes > kMostNodes) return {};
    return nodes > kFewNodes ? std::vector{kUsual.front()} : kUsual;
}

}  // namespace pipec::fusion
