#include "poly/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/gather.h"
#include "support/integers.h"

namespace pipec::poly {

namespace {

/// Constant dimensions of more points are not computed as a whole in every tile.
constexpr std::int64_t kWholePoints = 64;

struct Rational {
    std::int64_t num = 1, den = 1;
    friend bool operator==(const Rational&, const Rational&) = default;
};

Rational times(const Rational& a, std::int64_t num, std::int64_t den) {
    const std::int64_t n = a.num * num, d = a.den * den, common = std::gcd(n, d);
    return {n / common, d / common};
}

/// Extends a reach so that tiles begin at a point before the first one that is needed, and hold a multiple of `n`.
Distance rounded(const Distance& reach, std::int64_t scale, std::int64_t n, std::int64_t first) {
    const std::int64_t end = first + n * ceil_quotient(ceil_quotient(reach.hi, scale) - first, n);
    return {std::min(reach.lo, scale * first), std::max(reach.hi, scale * (end - 1) + 1)};
}

/// The part of a reach that has points of a member with this scale, in tiles whose ends are multiples of it: the last
/// one of a tile [0, 64) with scale 16 is at 48.
Distance of_points(const Distance& reach, std::int64_t scale) {
    return {scale * ceil_quotient(reach.lo, scale), scale * floor_quotient(reach.hi - 1, scale) + 1};
}

/// The reach of all members in one dimension: from readers to what they read, each rounded to multiples of `n` points.
void find_reach(Group& group, int dim, std::int64_t n, const FirstPoint& first_point) {
    const auto g = static_cast<std::size_t>(dim);
    std::vector<std::optional<Distance>> reach(group.stages.size());
    for (const int s : group.live_outs) reach[group.position(s)] = Distance{};
    auto edge = group.edges.rbegin();
    for (std::size_t p = group.stages.size(); p-- > 0;) {
        Distance from = reach[p].value_or(Distance{});
        for (const Alignment& a : group.alignment[p]) {
            if (a.dim != dim) continue;
            const std::int64_t needed = ceil_quotient(from.lo, a.scale);
            from =
                rounded(from, a.scale, n, first_point ? first_point(group, p, needed) : n * floor_quotient(needed, n));
        }
        group.reach[p][g] = from;
        for (const Alignment& a : group.alignment[p]) {
            if (a.dim == dim) from = of_points(from, a.scale);
        }
        for (; edge != group.edges.rend() && edge->reader_place == p; ++edge) {
            const Distance next{from.lo + edge->distance[g].lo, from.hi + edge->distance[g].hi};
            auto& known = reach[edge->producer_place];
            known = known ? Distance{std::min(known->lo, next.lo), std::max(known->hi, next.hi)} : next;
        }
    }
}

/// Where a stage's dimension is, while the group is being aligned.
struct DimPlace {
    int dim = -1;
    Rational scale;
};

class Aligner {
public:
    Aligner(const ir::Pipeline& pipeline, const Model& model, const std::vector<Dependence>& dependences,
            const std::vector<int>& stages)
        : pipeline_(pipeline), model_(model) {
        group_.stages = stages;
        std::sort(group_.stages.begin(), group_.stages.end());
        for (const int s : group_.stages) {
            places_.emplace_back(stage(s).dims.size());
            whole_.emplace_back(stage(s).dims.size(), false);
        }
        std::set<int> live;
        for (const Dependence& d : dependences) {
            const bool of_member = d.source.kind == ir::Source::Kind::Stage && is_member(d.source.index);
            if (is_member(d.reader))
                (of_member ? inner_ : outer_).push_back(&d);
            else if (of_member)
                live.insert(d.source.index);
        }
        for (const int s : group_.stages) {
            if (stage(s).output >= 0 || live.count(s) > 0) group_.live_outs.push_back(s);
        }
    }

    std::variant<Group, Illegal> run() {
        for (const int s : group_.stages) {
            if (stage(s).scan && s != group_.stages.front()) {
                return Illegal{
                    fmt::format("`{}` reads itself, and is not in one kernel with stages before it", stage(s).name),
                    stage(s).range};
            }
            for (std::size_t dim = 0; dim < stage(s).dims.size() && group_.stages.size() > 1; ++dim) {
                if (constant_extent(s, dim) != 0) continue;  // a tile would have no points to deal out
                return Illegal{fmt::format("no point of `{}` is ever needed", stage(s).name), stage(s).range};
            }
        }
        for (const int s : group_.stages) {
            if (auto reason = find_free(s)) return *reason;
        }
        for (const Dependence* d : inner_) {
            if (auto reason = find_whole(*d)) return *reason;
        }
        spread_free();
        if (auto reason = align()) return *reason;
        put_channels_outside();
        for (const int s : group_.stages) {
            if (auto reason = check_gather(s)) return *reason;
        }
        make_scales_integers();
        measure_distances();
        if (auto reason = check_scan()) return *reason;
        group_.reach.assign(group_.stages.size(), std::vector<Distance>(static_cast<std::size_t>(group_.rank)));
        for (int g = 0; g < group_.rank; ++g) find_reach(group_, g, 1, {});
        return std::move(group_);
    }

private:
    [[nodiscard]] const ir::Stage& stage(int index) const {
        return pipeline_.stages.at(static_cast<std::size_t>(index));
    }
    [[nodiscard]] bool is_member(int s) const {
        return std::binary_search(group_.stages.begin(), group_.stages.end(), s);
    }
    [[nodiscard]] std::optional<std::int64_t> constant_extent(int s, std::size_t dim) const {
        const Interval& box = model_.domains.at(static_cast<std::size_t>(s)).box[dim];
        const auto lo = ir::as_int(box.lo), hi = ir::as_int(box.hi);
        if (!lo || !hi) return std::nullopt;
        return std::max<std::int64_t>(0, *hi - *lo);
    }
    [[nodiscard]] std::string dim_name(int s, std::size_t dim) const {
        return pipeline_.variables.at(static_cast<std::size_t>(stage(s).dims[dim].var)).name;
    }

    [[nodiscard]] const ir::Accumulate* accumulate(int s) const {
        return std::get_if<ir::Accumulate>(&stage(s).definition);
    }

    /// What an accumulate's updates scatter to is computed as a whole; what they read is there before the group runs.
    std::optional<Illegal> find_free(int s) {
        if (accumulate(s) == nullptr) return std::nullopt;
        for (const Dependence* d : inner_) {
            if (d->reader != s) continue;
            return Illegal{fmt::format("`{}` accumulates what `{}` is, which must be there before", stage(s).name,
                                       stage(d->source.index).name),
                           d->range};
        }
        const Gather gather = find_gather(*accumulate(s));
        if (!gather.any()) {
            return Illegal{fmt::format("`{}` accumulates, and any of its points may have any update", stage(s).name),
                           stage(s).range};
        }
        for (std::size_t i = 0; i < gather.owned.size(); ++i) {
            if (gather.owned[i]) continue;
            if (constant_extent(s, i).value_or(kWholePoints + 1) > kWholePoints) {
                return Illegal{
                    fmt::format("`{}` accumulates anywhere in dimension `{}`", stage(s).name, dim_name(s, i)),
                    stage(s).range};
            }
            whole_[group_.position(s)][i] = true;
        }
        return std::nullopt;
    }

    /// Tiles along a dimension in which an accumulate is whole would all do its updates again: where its readers walk
    /// along it, they are computed as a whole, too, and so are theirs.
    void spread_free() {
        std::set<int> spread;
        for (const int s : group_.stages) {
            if (accumulate(s) != nullptr) spread.insert(s);
        }
        for (const int reader : group_.stages) {  // behind what they read
            for (const Dependence* d : inner_) {
                if (d->reader != reader || spread.count(d->source.index) == 0) continue;
                const std::vector<bool>& whole = whole_[group_.position(d->source.index)];
                for (std::size_t i = 0; i < whole.size(); ++i) {
                    if (!whole[i] || !d->indices[i] || d->indices[i]->dim < 0) continue;
                    const auto dim = static_cast<std::size_t>(d->indices[i]->dim);
                    if (constant_extent(reader, dim).value_or(kWholePoints + 1) > kWholePoints) continue;
                    whole_[group_.position(reader)][dim] = true;
                    spread.insert(reader);
                }
            }
        }
    }

    /// Tiles must share an accumulate's updates.
    std::optional<Illegal> check_gather(int s) {
        const auto& places = places_[group_.position(s)];
        const bool shared = std::any_of(places.begin(), places.end(), [](const DimPlace& p) { return p.dim >= 0; });
        if (accumulate(s) == nullptr || shared) return std::nullopt;
        return Illegal{fmt::format("every tile would need all of `{}`, which accumulates", stage(s).name),
                       stage(s).range};
    }

    /// Dimensions that some reader does not walk along with it must be computed as a whole.
    std::optional<Illegal> find_whole(const Dependence& d) {
        const int producer = d.source.index;
        for (std::size_t i = 0; i < d.indices.size(); ++i) {
            if (d.indices[i] && d.indices[i]->dim >= 0) continue;
            if (auto reason = make_whole(producer, i, d)) return reason;
        }
        return std::nullopt;
    }

    std::optional<Illegal> make_whole(int s, std::size_t dim, const Dependence& d) {
        if (constant_extent(s, dim).value_or(kWholePoints + 1) <= kWholePoints) {
            whole_[group_.position(s)][dim] = true;
            return std::nullopt;
        }
        return Illegal{fmt::format("`{}` reads `{}` in dimension `{}` at no constant distance", stage(d.reader).name,
                                   stage(d.source.index).name, dim_name(s, dim)),
                       d.range};
    }

    /// Spreads places from one stage along the dependences, both ways, and starts again where a dimension turns out to
    /// be one that must be computed as a whole.
    std::optional<Illegal> align() {
        const std::vector<std::vector<Ends>> touching = dependences_by_member();
        for (bool again = true; again;) {
            again = false;
            for (auto& places : places_) std::fill(places.begin(), places.end(), DimPlace{});
            group_.rank = 0;
            std::vector<bool> reached(group_.stages.size(), false);
            const std::size_t seed = first_seed();
            for (std::size_t i = 0; i < places_[seed].size(); ++i) {
                if (!whole_[seed][i]) places_[seed][i] = {group_.rank++, {}};
            }
            reached[seed] = true;
            std::deque<std::size_t> queue{seed};
            while (!again) {
                if (queue.empty()) {
                    const auto next = place_beside(reached);
                    if (!next) break;
                    queue.push_back(*next);
                    reached[*next] = true;
                }
                const std::size_t at = queue.front();
                queue.pop_front();
                for (const Ends& ends : touching[at]) {
                    const auto& [d, reader, producer] = ends;
                    const std::size_t other = at == reader ? producer : reader;
                    const auto conflict = join(*d, reader, producer, at == reader);
                    if (conflict) {
                        if (auto reason = make_whole(group_.stages[conflict->first], conflict->second, *d))
                            return reason;
                        again = true;
                        break;
                    }
                    if (!reached[other]) queue.push_back(other);
                    reached[other] = true;
                }
            }
            if (again) continue;
            for (std::size_t p = 0; p < places_.size(); ++p) {
                if (!reached[p]) {
                    return Illegal{
                        fmt::format("nothing connects `{}` with the other stages", stage(group_.stages[p]).name),
                        stage(group_.stages[p]).range};
                }
                for (std::size_t i = 0; i < places_[p].size(); ++i) {
                    if (places_[p][i].dim >= 0 || whole_[p][i]) continue;
                    if (constant_extent(group_.stages[p], i).value_or(kWholePoints + 1) > kWholePoints) {
                        return Illegal{fmt::format("dimension `{}` of `{}` is in no relation to the other stages",
                                                   dim_name(group_.stages[p], i), stage(group_.stages[p]).name),
                                       stage(group_.stages[p]).range};
                    }
                    whole_[p][i] = true;
                    again = true;
                }
            }
        }
        return std::nullopt;
    }

    /// Gives a place to the first member that no dependence within the group has reached, for it has to do with one
    /// that has a place: both read an array from outside, at points that go along with theirs, or both have the same
    /// domain. Nothing where there is no such member.
    std::optional<std::size_t> place_beside(const std::vector<bool>& reached) {
        if (stage(group_.stages.front()).scan) return std::nullopt;
        for (std::size_t p = 0; p < places_.size(); ++p) {
            if (reached[p] || accumulate(group_.stages[p]) != nullptr) continue;
            for (const Dependence* ours : outer_) {
                if (ours->reader != group_.stages[p]) continue;
                for (const Dependence* theirs : outer_) {
                    if (theirs->source != ours->source || !reached[group_.position(theirs->reader)]) continue;
                    if (place_by(*ours, *theirs)) return p;
                }
            }
            for (std::size_t q = 0; q < places_.size(); ++q) {
                if (!reached[q] || !have_same_domain(model_, group_.stages[p], group_.stages[q])) continue;
                for (std::size_t i = 0; i < places_[p].size(); ++i) {
                    // A reader may need all of it in every tile, and none of the other.
                    whole_[p][i] = whole_[p][i] || whole_[q][i];
                    if (!whole_[p][i]) places_[p][i] = places_[q][i];
                }
                return p;
            }
        }
        return std::nullopt;
    }

    /// Places from what two members read of the same array, if that says where all long dimensions are.
    bool place_by(const Dependence& ours, const Dependence& theirs) {
        const std::size_t p = group_.position(ours.reader), q = group_.position(theirs.reader);
        std::vector<DimPlace> places(places_[p].size());
        for (std::size_t i = 0; i < ours.indices.size(); ++i) {
            if (!ours.indices[i] || !theirs.indices[i] || ours.indices[i]->dim < 0 || theirs.indices[i]->dim < 0)
                continue;
            const IndexRelation &a = *ours.indices[i], &b = *theirs.indices[i];
            const DimPlace& other = places_[q][static_cast<std::size_t>(b.dim)];
            if (other.dim < 0 || whole_[p][static_cast<std::size_t>(a.dim)]) continue;
            const DimPlace wanted{other.dim, times(times(other.scale, b.den, b.num), a.num, a.den)};
            DimPlace& place = places[static_cast<std::size_t>(a.dim)];
            const bool is_taken = std::any_of(places.begin(), places.end(),
                                              [&](const DimPlace& known) { return known.dim == wanted.dim; });
            if (place.dim != wanted.dim && (place.dim >= 0 || is_taken)) return false;
            if (place.dim == wanted.dim && !(place.scale == wanted.scale)) return false;
            place = wanted;
        }
        bool any = false;
        for (std::size_t i = 0; i < places.size(); ++i) {
            any = any || places[i].dim >= 0;
            if (places[i].dim >= 0 || whole_[p][i]) continue;
            if (constant_extent(group_.stages[p], i).value_or(kWholePoints + 1) > kWholePoints) return false;
        }
        if (any) places_[p] = std::move(places);
        return any;
    }

    /// A tile's columns and rows are those of the image, whether a program has the channels of colour first or last:
    /// short last dimensions of the group come right before the two that are left. (Outside of others, as of a video's
    /// frames, tiles of one channel would come long after those of another one, and each would read all pixels.)
    void put_channels_outside() {
        int channels = 0;
        while (channels + 2 < group_.rank && is_short(group_.rank - 1 - channels)) ++channels;
        const int first = group_.rank - channels - 2;  // of the two
        for (auto& places : places_) {
            for (DimPlace& place : places) {
                if (place.dim >= first) place.dim += place.dim < first + 2 ? channels : -2;
            }
        }
    }

    [[nodiscard]] bool is_short(int dim) const {
        for (std::size_t p = 0; p < places_.size(); ++p) {
            for (std::size_t i = 0; i < places_[p].size(); ++i) {
                if (places_[p][i].dim != dim) continue;
                if (constant_extent(group_.stages[p], i).value_or(kChannels + 1) > kChannels) return false;
            }
        }
        return true;
    }

    /// A dependence, and the positions of the members at its ends.
    struct Ends {
        const Dependence* dependence;
        std::size_t reader, producer;
    };

    /// Those that a member reads by or is read by. Alignment begins again for each dimension that must be whole, so
    /// that looking for them among all would make it cubic.
    [[nodiscard]] std::vector<std::vector<Ends>> dependences_by_member() const {
        std::vector<std::vector<Ends>> result(group_.stages.size());
        for (const Dependence* d : inner_) {
            const Ends ends{d, group_.position(d->reader), group_.position(d->source.index)};
            result[ends.reader].push_back(ends);
            if (ends.producer != ends.reader) result[ends.producer].push_back(ends);
        }
        return result;
    }

    /// The last stage of those with the most dimensions.
    [[nodiscard]] std::size_t first_seed() const {
        std::size_t best = 0;
        for (std::size_t p = 0; p < places_.size(); ++p) {
            if (places_[p].size() >= places_[best].size()) best = p;
        }
        return best;
    }

    /// Gives the stage at one end of a dependence the places that follow from the other end. Returns the member and
    /// dimension where two dependences disagree.
    std::optional<std::pair<std::size_t, std::size_t>> join(const Dependence& d, std::size_t reader,
                                                            std::size_t producer, bool from_reader) {
        for (std::size_t i = 0; i < d.indices.size(); ++i) {
            if (!d.indices[i] || d.indices[i]->dim < 0 || whole_[producer][i]) continue;
            const IndexRelation& r = *d.indices[i];
            const auto j = static_cast<std::size_t>(r.dim);
            if (whole_[reader][j]) return std::pair{producer, i};  // a whole tile's worth of the reader needs all of it
            DimPlace& theirs = places_[producer][i];
            DimPlace& ours = places_[reader][j];
            if (from_reader && ours.dim >= 0) {
                const DimPlace wanted{ours.dim, times(ours.scale, r.den, r.num)};
                if (theirs.dim < 0 && !has_dim(producer, wanted.dim))
                    theirs = wanted;
                else if (theirs.dim != wanted.dim || !(theirs.scale == wanted.scale))
                    return std::pair{producer, i};
            } else if (!from_reader && theirs.dim >= 0) {
                const DimPlace wanted{theirs.dim, times(theirs.scale, r.num, r.den)};
                if (ours.dim < 0 && !has_dim(reader, wanted.dim))
                    ours = wanted;
                else if (ours.dim != wanted.dim || !(ours.scale == wanted.scale))
                    return std::pair{producer, i};
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] bool has_dim(std::size_t p, int dim) const {
        return std::any_of(places_[p].begin(), places_[p].end(),
                           [&](const DimPlace& place) { return place.dim == dim; });
    }

    void make_scales_integers() {
        for (int g = 0; g < group_.rank; ++g) {
            std::int64_t multiple = 1, common = 0;
            const auto each = [&](auto f) {
                for (auto& places : places_) {
                    for (DimPlace& place : places) {
                        if (place.dim == g) f(place.scale);
                    }
                }
            };
            each([&](Rational& r) { multiple = std::lcm(multiple, r.den); });
            each([&](Rational& r) { r = times(r, multiple, 1); });
            each([&](Rational& r) { common = std::gcd(common, r.num); });
            each([&](Rational& r) { r.num /= std::max<std::int64_t>(1, common); });
        }
        for (const auto& places : places_) {
            std::vector<Alignment>& alignment = group_.alignment.emplace_back();
            for (const DimPlace& place : places) alignment.push_back({place.dim, place.dim < 0 ? 1 : place.scale.num});
        }
    }

    void measure_distances() {
        for (const Dependence* d : inner_) {
            GroupEdge edge{d->reader,
                           d->source.index,
                           group_.position(d->reader),
                           group_.position(d->source.index),
                           std::vector<Distance>(static_cast<std::size_t>(group_.rank)),
                           d->range};
            const std::vector<Alignment>& alignment = group_.alignment[edge.producer_place];
            for (std::size_t i = 0; i < d->indices.size(); ++i) {
                if (alignment[i].dim < 0) continue;
                // scale(producer) = k den and scale(reader) = k num:  k (den index - num v) is the distance.
                const IndexRelation& r = *d->indices[i];
                const std::int64_t k = alignment[i].scale / r.den;
                edge.distance[static_cast<std::size_t>(alignment[i].dim)] = {k * r.lo, k * r.hi};
            }
            group_.edges.push_back(std::move(edge));
        }
    }

    /// Of a scan there is only the value at a point while its line is computed: members read that, and each other, at
    /// their own points.
    [[nodiscard]] std::optional<Illegal> check_scan() const {
        const ir::Stage& scan = stage(group_.stages.front());
        if (!scan.scan) return std::nullopt;
        if (!scan.scan->across.empty() && group_.stages.size() > 1) {
            return Illegal{fmt::format("`{}` reads itself at other lines, and is in a kernel by itself", scan.name),
                           scan.range};
        }
        for (const GroupEdge& edge : group_.edges) {
            const std::vector<Alignment>& reader = group_.alignment[edge.reader_place];
            const bool at_own_point =
                reader == group_.alignment[edge.producer_place] &&
                std::all_of(reader.begin(), reader.end(), [](const Alignment& a) { return a.dim >= 0; }) &&
                std::all_of(edge.distance.begin(), edge.distance.end(),
                            [](const Distance& d) { return d == Distance{}; });
            if (at_own_point) continue;
            return Illegal{
                fmt::format("`{}` reads itself, and `{}` needs `{}` at other points than its own",
                            stage(group_.stages.front()).name, stage(edge.reader).name, stage(edge.producer).name),
                edge.range};
        }
        return std::nullopt;
    }

    const ir::Pipeline& pipeline_;
    const Model& model_;
    Group group_;
    std::vector<const Dependence*> inner_, outer_;  ///< of members: on members, on other arrays
    std::vector<std::vector<DimPlace>> places_;
    std::vector<std::vector<bool>> whole_;
};

}  // namespace

std::size_t Group::position(int stage) const {
    return static_cast<std::size_t>(std::lower_bound(stages.begin(), stages.end(), stage) - stages.begin());
}

bool same_box(const std::vector<Interval>& a, const std::vector<Interval>& b) {
    return std::ranges::equal(a, b, [](const Interval& x, const Interval& y) {
        return ir::structurally_equal(x.lo, y.lo) && ir::structurally_equal(x.hi, y.hi);
    });
}

bool have_same_domain(const Model& model, int a, int b) {
    return same_box(model.domains.at(static_cast<std::size_t>(a)).box,
                    model.domains.at(static_cast<std::size_t>(b)).box);
}

std::variant<Group, Illegal> make_group(const ir::Pipeline& pipeline, const Model& model,
                                        const std::vector<Dependence>& dependences, const std::vector<int>& stages) {
    return Aligner(pipeline, model, dependences, stages).run();
}

Group with_multiple(Group group, int dim, std::int64_t n, const FirstPoint& first_point) {
    find_reach(group, dim, n, first_point);
    return group;
}

TileExtent tile_extent(const Alignment& alignment, const Distance& reach, std::int64_t size) {
    const std::int64_t first = ceil_quotient(reach.lo, alignment.scale);
    const std::int64_t last = floor_quotient(size - 1 + reach.hi, alignment.scale);
    return {first, last - first + 1};
}

std::int64_t tile_unit(const Group& group, int dim) {
    std::int64_t unit = 1;
    for (const auto& alignment : group.alignment) {
        for (const Alignment& a : alignment) {
            if (a.dim == dim) unit = std::lcm(unit, a.scale);
        }
    }
    return unit;
}

std::string to_string(const ir::Pipeline& pipeline, const Group& group) {
    std::string text;
    for (std::size_t p = 0; p < group.stages.size(); ++p) {
        const ir::Stage& stage = pipeline.stages[static_cast<std::size_t>(group.stages[p])];
        std::vector<std::string> dims, reach;
        for (const Alignment& a : group.alignment[p]) {
            dims.push_back(a.dim < 0      ? "all"
                           : a.scale == 1 ? fmt::format("g{}", a.dim)
                                          : fmt::format("g{} / {}", a.dim, a.scale));
        }
        for (const Distance& d : group.reach[p]) reach.push_back(fmt::format("{}..{}", d.lo, d.hi));
        const bool live =
            std::find(group.live_outs.begin(), group.live_outs.end(), group.stages[p]) != group.live_outs.end();
        text += fmt::format("{}({}) reach {}{}\n", stage.name, fmt::join(dims, ", "), fmt::join(reach, ", "),
                            live ? " live-out" : "");
    }
    return text;
}

}  // namespace pipec::poly
