// Which stages cost less to compute again wherever they are read than to write and read back.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "fusion/index_factors.h"
#include "fusion/inline.h"
#include "fusion/instructions.h"
#include "fusion/point_nodes.h"
#include "fusion/sparse_stages.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/canonical.h"
#include "ir/reduction.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::fusion {

namespace {

/// Operations that may be done again: about what a GPU does in the time that writing and reading a float takes.
constexpr std::int64_t kRepeatedWork = 64;
/// Distinct reads that a stage which is worth repeating may have.
constexpr int kRepeatedReads = 3;
/// Operations, at most, of a stage that only reads one element of another array: a GPU issues as many while a warp
/// reads at places that depend on data.
constexpr std::int64_t kGatheredWork = 24;
/// Operations that a stage may grow to by what is computed inside of it.
constexpr std::int64_t kLargestStage = 600;
/// The same for a stage that is asked for in parts: fused or not, its values are computed once for each point.
constexpr std::int64_t kLargestOfParts = 2400;

}  // namespace

std::int64_t operations(const ir::Expr& node) {
    return std::visit(
        ir::overloaded{[&](const ir::Binary& n) -> std::int64_t {
                           const bool division = n.op == ir::BinaryOp::Div || n.op == ir::BinaryOp::Mod;
                           return division && !ir::as_int(n.b) ? 8 : 1;
                       },
                       [](const ir::Unary&) -> std::int64_t { return 1; },
                       [](const ir::Cast& n) -> std::int64_t { return n.exact ? 0 : 1; },
                       [](const ir::Select&) -> std::int64_t { return 2; },
                       [](const ir::Read&) -> std::int64_t { return 4; },
                       [](const ir::Call& n) -> std::int64_t { return static_cast<std::int64_t>(instructions(n.fn)); },
                       [](const auto&) -> std::int64_t { return 0; }},
        node->value);
}

namespace {

struct Facts {
    std::int64_t cost = 0;
    bool loops = false;
    int inputs_read = 0;     ///< distinct reads of anything
    int reads = 0;           ///< as they are written
    int bytes_read = 0;      ///< by distinct reads
    bool of_stages = false;  ///< some are reads of stages
};

/// Equal expressions count once, apart from the reads as they are written.
Facts facts_of(const ir::Expr& value, ir::UniqueExpressions& nodes) {
    Facts facts;
    const auto is_read = [](const ir::Expr& e) { return ir::as<ir::Read>(e) != nullptr ? 1 : 0; };
    ir::for_each_node(value, [&](const ir::Expr& e) { facts.reads += is_read(e); });
    ir::for_each_node(nodes.get(value), [&](const ir::Expr& e) {
        facts.cost += operations(e);
        facts.loops = facts.loops || ir::as<ir::Reduce>(e) != nullptr;
        facts.inputs_read += is_read(e);
        facts.bytes_read += is_read(e) * ir::bytes(e->type);
        const auto* read = ir::as<ir::Read>(e);
        facts.of_stages = facts.of_stages || (read != nullptr && read->source.kind == ir::Source::Kind::Stage);
    });
    return facts;
}

/// A read in the expression of a stage, and the loops of the reductions around it, or of the update that it is part of.
struct PointRead {
    const ir::Read* read;
    std::vector<ir::Range> loops;
    int reader;
    bool in_update;    ///< the loops alone are gone through, not the reader's points
    PointNodes alike;  ///< equal where another reader has the same loops and reads the same at its own points
};

/// How the stages that come later read one stage.
struct Readers {
    std::set<int> stages;
    std::vector<PointRead> points;  ///< with distinct index tuples and loops, of each reader
    std::set<PointNodes> known;     ///< the same
    std::set<std::size_t> looped;   ///< dimensions that the variables of reductions are part of the indices of
    bool in_loops = false;          ///< some are inside of reductions
    bool in_update = false;
};

/// Finds the reads of all stages. Of two reductions over the same ranges the variables count as the same.
class Reads {
public:
    explicit Reads(const ir::Pipeline& pipeline) : pipeline_(pipeline), readers_(pipeline.stages.size()) {
        for (; reader_ < static_cast<int>(readers_.size()); ++reader_) {
            const ir::Stage& stage = pipeline.stages[static_cast<std::size_t>(reader_)];
            const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
            add_root(accumulate ? accumulate->init : std::get<ir::Pure>(stage.definition).value, {});
            if (accumulate == nullptr) continue;
            update_ = true;
            for (const ir::Update& update : accumulate->updates) {
                add_root(update.guard, update.domain);
                for (const ir::Expr& index : update.indices) add_root(index, update.domain);
                add_root(update.value, update.domain);
            }
            update_ = false;
        }
    }
    const Readers& of(std::size_t stage) const { return readers_[stage]; }

private:
    /// `e` may be null.
    void add_root(const ir::Expr& e, const std::vector<ir::Range>& loops) {
        if (!e) return;
        seen_.clear();
        const ir::Expr root = canonical_.get(e);
        roots_.push_back(root);
        add(root, loops);  // roots_ grows on the way
    }
    void add(const ir::Expr& e, const std::vector<ir::Range>& loops) {
        if (!seen_.insert(e.get()).second) return;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            std::vector<ir::Range> inner = loops;
            for (const ir::Range& range : reduce->ranges) {
                add(range.lo, inner), add(range.hi, inner);
                inner.push_back(range);
            }
            return add(reduce->body, inner);
        }
        if (const auto* read = ir::as<ir::Read>(e); read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            Readers& of = readers_[static_cast<std::size_t>(read->source.index)];
            const bool first = of.stages.insert(reader_).second;
            PointNodes point = point_nodes(nodes_, read->indices);
            for (const ir::Range& range : loops) {
                point.push_back(nodes_.get(range.lo).get());
                point.push_back(nodes_.get(range.hi).get());
            }
            const bool known = !of.known.insert(std::move(point)).second;
            of.in_update = of.in_update || update_;
            of.in_loops = of.in_loops || !loops.empty();
            if (first || !known)
                of.points.push_back(
                    {read, loops, reader_, update_, loops.empty() ? PointNodes{} : alike(*read, loops)});
            for (std::size_t d = 0; d < read->indices.size(); ++d) {
                if (mentions(read->indices[d], loops)) of.looped.insert(d);
            }
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, loops); });
    }

    static bool mentions(const ir::Expr& index, const std::vector<ir::Range>& loops) {
        bool found = false;
        ir::for_each_node(index, [&](const ir::Expr& e) {
            const auto* variable = ir::as<ir::Variable>(e);
            found = found || (variable != nullptr && std::ranges::any_of(loops, [&](const ir::Range& range) {
                                  return range.var == variable->id;
                              }));
        });
        return found;
    }

    /// The read and its loops with the reader's dimensions by number.
    PointNodes alike(const ir::Read& read, const std::vector<ir::Range>& loops) {
        constexpr ir::VarId kFirst = -1'000'000;  // apart from those of loops, which count down from -1
        std::map<ir::VarId, ir::Expr> numbered;
        const ir::Stage& reader = pipeline_.stages[static_cast<std::size_t>(reader_)];
        for (std::size_t d = 0; d < reader.dims.size(); ++d) {
            numbered[reader.dims[d].var] = ir::variable(kFirst - static_cast<ir::VarId>(d), ir::Type::Int32);
        }
        std::vector<ir::Expr> all = read.indices;
        for (const ir::Range& range : loops) all.insert(all.end(), {range.lo, range.hi});
        for (ir::Expr& e : all) e = roots_.emplace_back(ir::substitute(e, numbered));
        return point_nodes(nodes_, all);
    }

    const ir::Pipeline& pipeline_;
    int reader_ = 0;
    bool update_ = false;  ///< what is added is evaluated for each update of an accumulate
    std::vector<Readers> readers_;
    std::vector<ir::Expr> roots_;  ///< what the reads are parts of
    ir::CanonicalVariables canonical_;
    ir::UniqueExpressions nodes_;
    std::unordered_set<const ir::Node*> seen_;
};

/// Values between two bounds at most, where these say so.
std::optional<std::int64_t> most_values(const ir::Expr& lo, const ir::Expr& hi) {
    const auto begin = lo ? ir::as_int(lo) : std::nullopt;
    if (!begin || !hi) return std::nullopt;
    if (const auto end = ir::as_int(hi)) return std::max<std::int64_t>(0, *end - *begin);
    const auto* n = ir::as<ir::Binary>(hi);
    if (*begin != 0 || n == nullptr || n->op != ir::BinaryOp::Min) return std::nullopt;
    return ir::as_int(n->a) ? ir::as_int(n->a) : ir::as_int(n->b);
}

/// How often the iterations of the loops at all points of the reader ask for the same point, at most; nothing where
/// that is not known. Different values of the variables in the indices ask for different points: each variable is part
/// of one index, and of two in one index, one steps over all values of the other (64 * block + term). What no index
/// mentions (the channels of a picture whose weights have none) asks for the same point again.
std::optional<std::int64_t> times_asked(const PointRead& of, const ir::Stage& reader) {
    std::map<ir::VarId, std::optional<std::int64_t>> values;  // of the variables that are still to be found
    if (!of.in_update) {
        for (const ir::Dimension& dim : reader.dims) values[dim.var] = most_values(dim.lo, dim.hi);
    }
    for (const ir::Range& range : of.loops) values[range.var] = most_values(range.lo, range.hi);
    for (const ir::Expr& index : of.read->indices) {
        const auto factors = index_factors(index);
        if (!factors) return std::nullopt;
        std::vector<std::pair<std::int64_t, ir::VarId>> by_step;
        for (const auto& [var, factor] : *factors) by_step.emplace_back(std::abs(factor), var);
        std::ranges::sort(by_step);
        std::int64_t covered = 0;
        for (std::size_t i = 0; i < by_step.size(); ++i) {
            const auto [step, var] = by_step[i];
            const auto found = values.find(var);
            if (found == values.end() || step <= covered) return std::nullopt;
            if (i + 1 < by_step.size()) {
                if (!found->second) return std::nullopt;
                covered += step * (*found->second - 1);
            }
            values.erase(found);
        }
    }
    std::int64_t times = 1;
    for (const auto& [var, count] : values) {
        if (!count || *count > kRepeatedWork) return std::nullopt;
        times = std::min(kRepeatedWork + 1, times * std::max<std::int64_t>(1, *count));
    }
    return times;
}

bool is_one_to_one(const PointRead& of, const ir::Stage& reader) {
    return times_asked(of, reader) == 1;
}

/// Each index is a distinct dimension of the reader, plus a constant, or a constant: each point of the reader asks for
/// another point. Empty where that is not so; otherwise one number for each index: of the dimension, or -1.
std::vector<ir::VarId> translation(const ir::Read& read, const ir::Stage& reader) {
    std::vector<ir::VarId> result;
    std::set<ir::VarId> seen;
    for (const ir::Expr& index : read.indices) {
        ir::Expr e = index;
        if (ir::as_int(e)) {
            result.push_back(-1);
            continue;
        }
        if (const auto* sum = ir::as<ir::Binary>(e)) {
            const bool shift = (sum->op == ir::BinaryOp::Add || sum->op == ir::BinaryOp::Sub) && ir::as_int(sum->b);
            if (!shift) return {};
            e = sum->a;
        }
        const auto* variable = ir::as<ir::Variable>(e);
        if (variable == nullptr || !seen.insert(variable->id).second) return {};
        result.push_back(variable->id);
    }
    return seen.size() == reader.dims.size() ? result : std::vector<ir::VarId>{};
}

/// No point of the stage is asked for twice: its only reader asks for one point, or for several that differ in indices
/// that are constants (the channels of an image).
bool reads_once(const Readers& by, const ir::Pipeline& pipeline) {
    if (by.stages.size() != 1) return false;
    const ir::Stage& reader = pipeline.stages[static_cast<std::size_t>(*by.stages.begin())];
    const ir::Read& one = *by.points.front().read;
    if (by.in_loops) return by.points.size() == 1 && is_one_to_one(by.points.front(), reader);
    const std::vector<ir::VarId> first = translation(one, reader);
    if (first.empty()) return false;
    return std::all_of(by.points.begin(), by.points.end(), [&](const PointRead& point) {
        if (translation(*point.read, reader) != first) return false;
        for (std::size_t d = 0; d < first.size(); ++d) {
            const bool same = ir::structurally_equal(point.read->indices[d], one.indices[d]);
            if (first[d] >= 0 && !same) return false;
        }
        return true;
    });
}

/// An index `factor * var + offset`; of a constant the factor is 0.
struct Step {
    ir::VarId var = -1;
    std::int64_t factor = 0, offset = 0;
};

std::optional<Step> step_of(const ir::Expr& index) {
    ir::Expr e = index;
    Step step;
    if (const auto* sum = ir::as<ir::Binary>(e); sum != nullptr && ir::as_int(sum->b)) {
        const bool less = sum->op == ir::BinaryOp::Sub;
        if (less || sum->op == ir::BinaryOp::Add) {
            step.offset = less ? -*ir::as_int(sum->b) : *ir::as_int(sum->b);
            e = sum->a;
        }
    }
    if (const auto constant = ir::as_int(index)) return Step{-1, 0, *constant};
    const auto factors = index_factors(e);
    if (!factors || factors->size() != 1) return std::nullopt;
    std::tie(step.var, step.factor) = *factors->begin();
    return step;
}

/// Reads of `2 * x` and of `2 * x + 1` ask for different points: what tells such reads of one reader apart. `alike`
/// has the reader and the variables with their factors.
struct Residues {
    std::vector<std::int64_t> alike, apart;
};

Residues residues(const PointRead& point) {
    Residues result{{point.reader}, {}};
    for (const ir::Expr& index : point.read->indices) {
        const auto step = step_of(index);
        result.alike.push_back(step ? step->var : -1);
        result.alike.push_back(step ? step->factor : 0);
        const std::int64_t factor = step ? std::abs(step->factor) : 1, offset = step ? step->offset : 0;
        result.apart.push_back(factor == 0 ? offset : offset - factor * floor_quotient(offset, factor));
    }
    return result;
}

/// How often a point of the stage is computed by all of its readers; nothing where loops ask for points again and
/// again. Loops of several readers over the same count once: side by side, as the elements of a table of stages are,
/// they are one loop.
std::optional<std::int64_t> times_computed(const Readers& by, const ir::Pipeline& pipeline) {
    std::int64_t times = 0;
    std::set<PointNodes> loops;
    std::map<std::vector<std::int64_t>, std::map<std::vector<std::int64_t>, std::int64_t>> outside;  // of loops
    for (const PointRead& point : by.points) {
        if (point.loops.empty()) {
            const Residues of = residues(point);
            ++outside[of.alike][of.apart];
            continue;
        }
        const auto asked = times_asked(point, pipeline.stages[static_cast<std::size_t>(point.reader)]);
        if (!asked) return std::nullopt;
        if (loops.insert(point.alike).second || point.in_update) times += *asked;
    }
    for (const auto& [alike, apart] : outside) {
        std::int64_t most = 0;
        for (const auto& [offsets, count] : apart) most = std::max(most, count);
        times += most;
    }
    return times;
}

/// The points of a domain along its constant dimensions, and how many others there are.
struct Volume {
    double points = 1;
    int long_dims = 0;
};

using Volumes = std::map<std::string, Volume>;  ///< by stage

Volume volume_of(const poly::Domain& domain) {
    Volume result;
    for (const poly::Interval& range : domain.box) {
        const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
        if (lo && hi) {
            result.points *= static_cast<double>(std::max<std::int64_t>(0, *hi - *lo));
        } else {
            ++result.long_dims;
        }
    }
    return result;
}

/// A stage with several values at each place of its long dimensions, where different reads ask for different values:
/// one loop for those to the left of a pixel, say, and one for those to the right. Together they ask for hardly more
/// than there are.
bool is_asked_in_parts(const ir::Stage& stage, const Readers& by, const ir::Pipeline& pipeline,
                       const Volumes& volumes) {
    constexpr double kLeastPoints = 4, kMostAsked = 1.25;
    const Volume own = volumes.at(stage.name);
    if (own.points < kLeastPoints || own.long_dims == 0) return false;
    double asked = 0;
    for (const PointRead& point : by.points) {
        const Volume reader = volumes.at(pipeline.stages[static_cast<std::size_t>(point.reader)].name);
        if (point.in_update || reader.long_dims != own.long_dims) return false;
        double times = reader.points;
        for (const ir::Range& range : point.loops) {
            const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
            if (!lo || !hi) return false;
            times *= static_cast<double>(std::max<std::int64_t>(0, *hi - *lo));
        }
        asked += times;
    }
    return asked <= kMostAsked * own.points;
}

/// A reader has a dimension of unknown extent along which it reads the same points again, outside of loops.
bool has_more_points(const Readers& by, const ir::Pipeline& pipeline) {
    return std::ranges::any_of(by.points, [&](const PointRead& point) {
        if (point.in_update) return false;
        const ir::Stage& reader = pipeline.stages[static_cast<std::size_t>(point.reader)];
        return std::ranges::any_of(reader.dims, [&](const ir::Dimension& dim) {
            return !most_values(dim.lo, dim.hi) &&
                   std::ranges::none_of(point.read->indices, [&](const ir::Expr& index) {
                       bool found = false;
                       ir::for_each_node(index, [&](const ir::Expr& e) {
                           const auto* variable = ir::as<ir::Variable>(e);
                           found = found || (variable != nullptr && variable->id == dim.var);
                       });
                       return found;
                   });
        });
    });
}

/// Distinct reads of a stage that stay the same along some of its dimensions.
int steady_reads(const ir::Stage& stage, const ir::Expr& value, const std::set<std::size_t>& along,
                 ir::UniqueExpressions& nodes) {
    std::set<ir::VarId> vars;
    for (const std::size_t d : along) vars.insert(stage.dims[d].var);
    int steady = 0;
    ir::for_each_node(nodes.get(value), [&](const ir::Expr& e) {
        if (ir::as<ir::Read>(e) == nullptr) return;
        bool varies = false;
        ir::for_each_node(e, [&](const ir::Expr& part) {
            const auto* variable = ir::as<ir::Variable>(part);
            varies = varies || (variable != nullptr && vars.count(variable->id) > 0);
        });
        steady += varies ? 0 : 1;
    });
    return steady;
}

/// A border, or a similar stage, whose readers' indices depend on data. Computed inside of them, it costs no more
/// reads.
bool is_gathered(const Facts& facts, const Readers& by) {
    return facts.reads == 1 && facts.cost <= kGatheredWork &&
           std::ranges::all_of(by.points, [](const PointRead& point) {
               return std::ranges::any_of(point.read->indices, ir::has_reads);
           });
}

/// Conversions and sums of few inputs: updates, which are in no tile with the stage, have no more to read.
bool is_lighter(const Facts& facts, const ir::Stage& stage) {
    return facts.cost <= kRepeatedWork / 2 && !facts.of_stages && facts.bytes_read <= ir::bytes(stage.type);
}

/// `most_reads`: of a stage that is computed several times.
std::vector<int> inlinable_stages(const ir::Pipeline& pipeline, const Volumes& volumes, int most_reads) {
    const auto count = pipeline.stages.size();
    const Reads reads(pipeline);
    std::vector<Facts> facts(count);
    ir::UniqueExpressions nodes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto* pure = std::get_if<ir::Pure>(&pipeline.stages[i].definition);
        if (pure != nullptr) facts[i] = facts_of(pure->value, nodes);
    }
    std::vector<int> chosen;
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const Readers& by = reads.of(i);
        if (stage.output >= 0 || by.points.empty() || facts[i].loops) continue;
        if (by.in_update && !is_lighter(facts[i], stage)) continue;
        if (!std::holds_alternative<ir::Pure>(stage.definition) || stage.scan || stage.stored) continue;
        const bool in_parts = is_asked_in_parts(stage, by, pipeline, volumes);
        const bool is_one = in_parts || reads_once(by, pipeline) || is_gathered(facts[i], by);
        const auto computed = is_one ? 1 : times_computed(by, pipeline);
        if (!computed) continue;
        const bool once = in_parts || (*computed == 1 && (by.in_loops || reads_once(by, pipeline)));
        // Reading the stage's own sources at every point must not take more loads than reading the stage. A square that
        // a window asks for again and again counts as two: it is repeated where a model finds that worth it only.
        const std::int64_t repeated = once ? 0 : std::max<std::int64_t>(1, *computed - 1);
        const bool in_window = repeated > 1 && !by.in_loops;
        // What loops read has one value for each of their terms at each point: it is much larger than what it is made
        // of. What that is for all terms is read before the loop.
        const int few = by.in_loops ? kRepeatedReads : most_reads;
        const int steady =
            by.in_loops ? steady_reads(stage, std::get<ir::Pure>(stage.definition).value, by.looped, nodes) : 0;
        const std::int64_t most = has_more_points(by, pipeline) ? kRepeatedWork / 2 : kRepeatedWork;
        const bool cheap =
            facts[i].cost * repeated <= most &&
            (in_window && most_reads < kRepeatedReads ? facts[i].reads : facts[i].inputs_read - steady) <= few;
        const auto times_in = [&](int reader) { return std::ranges::count(by.points, reader, &PointRead::reader); };
        const auto grows_too_large = [&](int reader) {
            const std::int64_t largest = in_parts ? kLargestOfParts : kLargestStage;
            return facts[static_cast<std::size_t>(reader)].cost + facts[i].cost * times_in(reader) > largest;
        };
        if (!once && !cheap) continue;
        if (std::any_of(by.stages.begin(), by.stages.end(), grows_too_large)) continue;
        for (const int reader : by.stages) {
            Facts& grown = facts[static_cast<std::size_t>(reader)];
            const std::int64_t times = times_in(reader);
            grown.cost += facts[i].cost * times;
            grown.inputs_read += static_cast<int>(times) * (facts[i].inputs_read - 1);
            grown.reads += static_cast<int>(times) * (facts[i].reads - 1);
        }
        chosen.push_back(static_cast<int>(i));
    }
    return chosen;
}

/// The reductions, also those in others, of a stage that its only reader could compute, and what is read in each: what
/// is worth sharing. Reading again what few terms read costs little, as they are written out; but a stage that has a
/// value for each term of each point is better never stored.
class Loops {
public:
    Loops(const ir::Expr& value, const ir::Stage& reader, ir::UniqueExpressions& nodes)
        : reader_(reader), nodes_(nodes) {
        add(value, {});
    }
    [[nodiscard]] bool share(const Loops& other) const {
        return std::ranges::any_of(reads_, [&](const auto& loop) {
            const auto same = other.reads_.find(loop.first);
            return same != other.reads_.end() &&
                   std::ranges::any_of(loop.second, [&](const ir::Node* read) { return same->second.count(read) > 0; });
        });
    }

private:
    void add(const ir::Expr& e, const std::vector<ir::Range>& loops) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            std::vector<ir::Range> inner = loops;
            inner.insert(inner.end(), reduce->ranges.begin(), reduce->ranges.end());
            return add(reduce->body, inner);
        }
        const auto* read = ir::as<ir::Read>(e);
        if (read != nullptr && !loops.empty()) {
            PointNodes bounds;
            std::int64_t terms = 1;
            for (const ir::Range& range : loops) {
                bounds.push_back(nodes_.get(range.lo).get());
                bounds.push_back(nodes_.get(range.hi).get());
                const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
                const std::int64_t most = ir::kBlockTerms + 1;
                terms = std::min(most, terms * (lo && hi ? std::clamp<std::int64_t>(*hi - *lo, 0, most) : most));
            }
            const bool is_volume =
                read->source.kind == ir::Source::Kind::Stage && is_one_to_one({read, loops, -1, false, {}}, reader_);
            if (is_volume || terms > ir::kBlockTerms) reads_[bounds].insert(nodes_.get(e).get());
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, loops); });
    }

    const ir::Stage& reader_;
    ir::UniqueExpressions& nodes_;
    std::map<PointNodes, std::set<const ir::Node*>> reads_;  ///< by bounds, from the outermost loop inward
};

/// Stages with reductions that are read by one stage, at its own point, which then has several loops over the same
/// ranges whose terms read the same: code generation makes one loop of them. A stage with loops that an output reads
/// joins it as well: the rest of the output is little work beside the loop, and the stage needs no memory then.
std::vector<int> merged_reductions(const ir::Pipeline& pipeline) {
    struct Part {
        int stage;
        std::int64_t cost;
        bool has_loops;
        Loops loops;
    };
    const Reads reads(pipeline);
    std::map<int, std::vector<Part>> parts;  // by reader
    ir::CanonicalVariables canonical;
    ir::UniqueExpressions nodes;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const Readers& by = reads.of(i);
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (pure == nullptr || stage.output >= 0 || stage.scan || by.in_update || by.in_loops) continue;
        if (by.points.size() != 1 || !reads_once(by, pipeline)) continue;
        const Facts facts = facts_of(pure->value, nodes);
        if (!facts.loops) continue;
        const int reader = *by.stages.begin();
        if (pipeline.stages[static_cast<std::size_t>(reader)].scan) continue;
        std::map<ir::VarId, ir::Expr> point;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            point[stage.dims[d].var] = by.points.front().read->indices[d];
        }
        const ir::Expr value = nodes.get(canonical.get(ir::substitute(pure->value, point)));
        parts[reader].push_back({static_cast<int>(i), facts.cost, has_loops(pure->value),
                                 Loops(value, pipeline.stages[static_cast<std::size_t>(reader)], nodes)});
    }
    std::vector<int> result;
    for (const auto& [reader, all] : parts) {
        std::int64_t cost =
            facts_of(std::get<ir::Pure>(pipeline.stages[static_cast<std::size_t>(reader)].definition).value, nodes)
                .cost;
        for (const Part& part : all) {
            const bool shares = std::ranges::any_of(
                all, [&](const Part& other) { return other.stage != part.stage && part.loops.share(other.loops); });
            const bool of_output = part.has_loops && pipeline.stages[static_cast<std::size_t>(reader)].output >= 0;
            if ((!shares && !of_output) || cost + part.cost > kLargestStage) continue;
            cost += part.cost;
            result.push_back(part.stage);
        }
    }
    std::ranges::sort(result);
    return result;
}

using Choose = std::function<std::vector<int>(const ir::Pipeline&)>;

/// Some stages, and those that are chosen of what is left once these are inside of their readers.
std::vector<int> with_others(const ir::Pipeline& pipeline, const std::vector<int>& some, const Choose& choose) {
    if (some.empty()) return choose(pipeline);
    const ir::Pipeline left = with_inlined(pipeline, some);
    std::set<std::string> names;
    for (const int stage : some) names.insert(pipeline.stages[static_cast<std::size_t>(stage)].name);
    for (const int stage : choose(left)) names.insert(left.stages[static_cast<std::size_t>(stage)].name);
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (names.count(pipeline.stages[i].name) > 0) result.push_back(static_cast<int>(i));
    }
    return result;
}

/// What reductions alone read is read by one stage where they become one, and that of sparse stages by their readers.
std::vector<int> chosen_stages(const ir::Pipeline& pipeline, const poly::Model& model, int most_reads) {
    Volumes volumes;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        volumes[pipeline.stages[i].name] = volume_of(model.domains[i]);
    }
    const Choose inlinable = [&](const ir::Pipeline& left) { return inlinable_stages(left, volumes, most_reads); };
    const Choose merged = [&](const ir::Pipeline& left) {
        return with_others(left, merged_reductions(left), inlinable);
    };
    return with_others(pipeline, sparse_stages(pipeline, model), merged);
}

}  // namespace

std::vector<int> cheap_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    return chosen_stages(pipeline, model, 1);
}

std::vector<int> repeatable_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    return chosen_stages(pipeline, model, kRepeatedReads);
}

}  // namespace pipec::fusion
