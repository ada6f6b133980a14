#include "fusion/size_versions.h"

#include <algorithm>
#include <array>
#include <set>

#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Colour, colour with alpha, grey. Compilers take as long for each as for the pipeline itself.
constexpr std::array<std::int64_t, 3> kChannels = {3, 4, 1};
/// The most channels that lanes cannot go along by themselves: half of a warp.
constexpr std::int64_t kFewChannels = 16;
/// Features of which a table of sums has fewer elements than a GPU has threads, and sizes that count them.
constexpr std::int64_t kFewFeatures = 32;
constexpr std::size_t kMostFeatureSizes = 3;
/// Nodes of expressions of all stages: up to kFewVersionNodes there is code for each number of channels, up to
/// kMostVersionNodes for colour, and for defaults.
constexpr std::int64_t kFewVersionNodes = 300, kMostVersionNodes = 1000;

bool is_size(const ir::Expr& e, int size) {
    const auto* n = ir::as<ir::SizeRef>(e);
    return n != nullptr && n->index == size;
}

/// An index that is the same for a whole pixel, or one of its elements.
bool is_plain_index(const ir::Expr& index) {
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
        if (!is_innermost() || is_of_matrix()) return false;
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) follow(s);
        // Of more than three dimensions two are an image's, [N, H, W, C], where both are read beside their places.
        return !read_beside_ && (least_rank_ == 3 || beside_.size() > 1);
    }

private:
    /// Of some input whose other extents are sizes, too, for [3, H, W] has rows there; and wherever else it stands it
    /// is a whole extent.
    bool is_innermost() {
        bool result = false;
        const auto is_constant = [](const ir::Expr& extent) { return ir::as_int(extent).has_value(); };
        for (const ir::Buffer& input : pipeline_.inputs) {
            if (input.rank() < 3 || std::ranges::any_of(input.extents, is_constant) ||
                !is_size(input.extents[static_cast<std::size_t>(input.order.back())], size_)) {
                continue;
            }
            result = true;
            least_rank_ = std::min(least_rank_, input.rank());
        }
        const auto is_whole = [&](const ir::Expr& extent) {
            return is_size(extent, size_) || !ir::uses_size(extent, size_);
        };
        return result && std::ranges::all_of(buffers(pipeline_), [&](const ir::Buffer* buffer) {
                   return std::ranges::all_of(buffer->extents, is_whole);
               });
    }

    /// It is the width of an image, [H, W] beside [T, H, W], or a number of features, of which a matrix makes others.
    [[nodiscard]] bool is_of_matrix() const {
        return std::ranges::any_of(buffers(pipeline_), [&](const ir::Buffer* buffer) {
            return buffer->rank() == 2 &&
                   std::ranges::any_of(buffer->extents,
                                       [&](const ir::Expr& extent) { return is_size(extent, size_); }) &&
                   std::ranges::any_of(buffer->extents, [&](const ir::Expr& extent) {
                       return !is_size(extent, size_) && !ir::as_int(extent);
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
                bool has_channels = false;
                std::set<std::size_t> beside;
                for (std::size_t d = 0; d < read->indices.size(); ++d) {
                    const ir::Expr& index = read->indices[d];
                    const auto* variable = ir::as<ir::Variable>(index);
                    if (counts(read->source, d)) {
                        read_beside_ = read_beside_ || !is_plain_index(index);
                        if (variable != nullptr) channels.insert(variable->id);
                        has_channels = true;
                    } else {
                        if (!is_plain_index(index)) beside.insert(d);
                    }
                }
                if (has_channels) beside_.merge(beside);
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
    std::set<std::size_t> beside_;  ///< dimensions along which something that has channels is read beside its place
};

/// The sizes that are the innermost extent of an input of three or more dimensions, and along which nothing reads
/// beside its own place: every index there is an index variable by itself, or a constant.
std::vector<int> channel_sizes(const ir::Pipeline& pipeline) {
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        const int size = static_cast<int>(i);
        if (!ir::parameter_of(pipeline, i) && Channels(pipeline, size).run()) result.push_back(size);
    }
    return result;
}

/// Features of samples, as in sum(n in 0..N) r(n, k) * x(n, d): k and d, which are the places of the sums, come behind
/// n in what is read. Sums of products of two matrices, of which n is the innermost dimension of one, are many.
class Features {
public:
    explicit Features(const ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    /// The extents of stages of such sums that have several, all of them sizes.
    [[nodiscard]] std::set<int> run() const {
        std::set<int> result;
        for (const ir::Stage& stage : pipeline_.stages) {
            const auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || stage.dims.size() < 2) continue;
            std::set<int> sizes;
            for (std::size_t d = 0; d < stage.dims.size(); ++d) {
                const ir::Expr extent = this->extent(stage, d, pure->value);
                const auto* size = extent ? ir::as<ir::SizeRef>(extent) : nullptr;
                if (size == nullptr || ir::parameter_of(pipeline_, static_cast<std::size_t>(size->index))) break;
                sizes.insert(size->index);
            }
            if (sizes.size() == stage.dims.size() && has_sum_of_samples(pure->value, sizes)) result.merge(sizes);
        }
        return result;
    }

private:
    /// Null where nothing tells.
    [[nodiscard]] ir::Expr extent(const ir::Stage& stage, std::size_t d, const ir::Expr& value) const {
        if (stage.dims[d].is_explicit()) return stage.dims[d].hi;
        if (stage.output >= 0) return pipeline_.outputs[static_cast<std::size_t>(stage.output)].buffer.extents[d];
        ir::Expr result;
        ir::for_each_node(value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source.kind != ir::Source::Kind::Input) return;
            for (std::size_t i = 0; i < read->indices.size(); ++i) {
                const auto* variable = ir::as<ir::Variable>(read->indices[i]);
                if (variable == nullptr || variable->id != stage.dims[d].var) continue;
                result = pipeline_.inputs[static_cast<std::size_t>(read->source.index)].extents[i];
            }
        });
        return result;
    }

    [[nodiscard]] static bool has_sum_of_samples(const ir::Expr& value, const std::set<int>& sizes) {
        return ir::any_node(value, [&](const ir::Expr& e) {
            const auto* reduce = ir::as<ir::Reduce>(e);
            if (reduce == nullptr || reduce->ranges.size() != 1) return false;
            const auto* samples = ir::as<ir::SizeRef>(reduce->ranges.front().hi);
            if (samples == nullptr || sizes.contains(samples->index)) return false;
            const ir::VarId n = reduce->ranges.front().var;
            bool behind = false, others = false;
            ir::for_each_node(reduce->body, [&](const ir::Expr& node) {
                const auto* read = ir::as<ir::Read>(node);
                if (read == nullptr) return;
                const auto is_sample = [&](const ir::Expr& index) {
                    const auto* variable = ir::as<ir::Variable>(index);
                    return variable != nullptr && variable->id == n;
                };
                if (std::ranges::none_of(read->indices, is_sample)) return;
                // (Of the frames of a film each has an image.)
                const bool first = read->indices.size() == 2 && is_sample(read->indices.front());
                (first ? behind : others) = true;
            });
            return behind && !others;
        });
    }

    const ir::Pipeline& pipeline_;
};

/// None where there are many.
std::set<int> feature_sizes(const ir::Pipeline& pipeline) {
    const std::set<int> result = Features(pipeline).run();
    return result.size() <= kMostFeatureSizes ? result : std::set<int>{};
}

/// The defaults of parameters that are sizes, but for those that extents of buffers follow, which differ from launch to
/// launch, and numbers of steps, as of t in 0..steps: a step is the same code, however many there are.
std::vector<ir::KnownSize> defaults(const ir::Pipeline& pipeline) {
    std::vector<ir::KnownSize> result;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        const auto param = ir::parameter_of(pipeline, i);
        const ir::Expr preset = param ? pipeline.params[*param].default_value : nullptr;
        const auto value = preset ? ir::as_int(preset) : std::nullopt;
        const auto uses = [&](const ir::Expr& e) { return e && ir::uses_size(e, static_cast<int>(i)); };
        const bool shapes = std::ranges::any_of(
            buffers(pipeline), [&](const ir::Buffer* buffer) { return std::ranges::any_of(buffer->extents, uses); });
        const bool steps = std::ranges::any_of(pipeline.stages, [&](const ir::Stage& stage) {
            return stage.scan && uses(stage.dims[static_cast<std::size_t>(stage.scan->dim)].hi);
        });
        if (value && !shapes && !steps) result.push_back({static_cast<int>(i), *value});
    }
    return result;
}

std::int64_t definition_nodes(const ir::Pipeline& pipeline) {
    std::int64_t result = 0;
    for (const ir::Stage& stage : pipeline.stages) {
        for (const ir::Expr& e : ir::expressions(stage)) result += ir::node_count(e);
    }
    return result;
}

}  // namespace

std::vector<UsualVersion> usual_versions(const ir::Pipeline& pipeline) {
    const std::int64_t size = definition_nodes(pipeline);
    if (size > kMostVersionNodes) return {};
    const std::vector<ir::KnownSize> preset = defaults(pipeline);
    const std::vector<int> channels = channel_sizes(pipeline);
    std::vector<UsualVersion> result;
    if (channels.size() == 1) {
        for (const std::int64_t value : kChannels) {
            if (value != kChannels.front() && (size > kFewVersionNodes || !preset.empty())) continue;
            const ir::KnownSize known{channels.front(), value};
            if (!preset.empty()) {
                result.push_back({preset});
                result.back().known.push_back(known);
            }
            result.push_back({{known}});
        }
        if (size <= kFewVersionNodes && preset.empty()) {
            result.push_back({{}, {ir::KnownSize{channels.front(), kFewChannels}}});
        }
    }
    if (!preset.empty()) result.push_back({preset});
    if (result.empty() && size <= kFewVersionNodes) {
        UsualVersion few;
        for (const int feature : feature_sizes(pipeline)) few.most.push_back({feature, kFewFeatures});
        if (!few.most.empty()) result.push_back(std::move(few));
    }
    return result;
}

}  // namespace pipec::fusion
