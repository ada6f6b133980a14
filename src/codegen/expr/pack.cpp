#include "codegen/expr/pack.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/expr/strides.h"
#include "codegen/expr/uses.h"
#include "codegen/kernel/shared_memory.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

constexpr std::int64_t kCount = 16;

/// Elements of one group differ by a constant offset only.
using GroupKey = std::vector<std::int64_t>;

struct Place {
    GroupKey key;
    std::int64_t offset = 0;                                    ///< constant part
    std::vector<std::pair<ir::Expr, std::int64_t>> known_part;  ///< the rest of what known strides give
};

std::int64_t as_key(const ir::Expr& e) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(e.get()));
}

Place place_of(Rewriter& rewriter, const Element& element, const std::vector<std::int64_t>& strides) {
    Place place;
    place.key = {static_cast<std::int64_t>(element.source.kind), element.source.index};
    for (std::size_t d = 0; d < element.indices.size(); ++d) {
        const auto sum = rewriter.linear(element.indices[d]);
        if (!sum) {  // data, say
            place.key.insert(place.key.end(), {-1, as_key(element.indices[d])});
            place.known_part.emplace_back(element.indices[d], strides[d]);
            continue;
        }
        std::vector<std::pair<std::int64_t, std::int64_t>> terms;
        for (const auto& [atom, factor] : sum->terms) terms.emplace_back(as_key(atom), factor);
        std::sort(terms.begin(), terms.end());
        place.key.push_back(static_cast<std::int64_t>(terms.size()));
        for (const auto& [atom, factor] : terms) place.key.insert(place.key.end(), {atom, factor});
        if (strides[d] == 0) {
            place.key.push_back(sum->constant);
            continue;
        }
        place.offset += strides[d] * sum->constant;
        for (const auto& [atom, factor] : sum->terms) place.known_part.emplace_back(atom, factor * strides[d]);
    }
    return place;
}

/// What a source is, as far as packs ask.
struct Array {
    const std::string& name;
    ir::Type type;
};

Array array_of(const ir::Pipeline& pipeline, const std::vector<kernel::SharedArray>& shared, ir::Source source) {
    const auto i = static_cast<std::size_t>(source.index);
    if (kernel::is_local(source)) return {shared.at(i).name, shared.at(i).type};
    if (source.kind == ir::Source::Kind::Input) return {pipeline.inputs.at(i).name, pipeline.inputs.at(i).type};
    return {pipeline.stages.at(i).name, pipeline.stages.at(i).type};
}

/// Elements of an array by their offset.
using Offsets = std::map<std::int64_t, std::size_t>;

std::int64_t floor_multiple(std::int64_t a, std::int64_t b) {
    return a - ((a % b) + b) % b;
}

/// The `width` elements from `first` on, kFiller for those that are not there.
Pack filled(const Offsets& at, std::int64_t first, std::int64_t width) {
    Pack pack;
    for (std::int64_t i = first; i < first + width; ++i) {
        const auto found = at.find(i);
        pack.push_back(found == at.end() ? kFiller : found->second);
    }
    return pack;
}

/// The fewest packs for those of the `width` elements from `first` on that are there. Where several would be needed,
/// one of at most `filling` elements has others besides.
std::vector<Pack> split(const Offsets& at, std::int64_t first, std::int64_t width, std::int64_t filling) {
    Pack pack = filled(at, first, width);
    const auto fillers = std::count(pack.begin(), pack.end(), kFiller);
    if (fillers == width) return {};
    if (fillers == 0) return {std::move(pack)};
    std::vector<Pack> packs = split(at, first, width / 2, filling);
    for (Pack& right : split(at, first + width / 2, width / 2, filling)) packs.push_back(std::move(right));
    if (packs.size() > 1 && width <= filling) return {std::move(pack)};
    return packs;
}

/// Packs of at most `widest` elements; of at most `filling` with others besides.
std::vector<Pack> packs_of(const Offsets& at, std::int64_t widest, std::int64_t filling) {
    std::vector<Pack> packs;
    for (auto i = at.begin(); i != at.end();) {
        const std::int64_t first = floor_multiple(i->first, widest);
        for (Pack& pack : split(at, first, widest, filling)) packs.push_back(std::move(pack));
        i = at.lower_bound(first + widest);
    }
    return packs;
}

/// The most elements, of `widest`, that lie in one row of a buffer or of a stage in the workspace, wherever a vector of
/// them begins at a multiple of their count: a vector that reaches beyond what is read is in the same row then.
std::int64_t row_vector(const ir::Pipeline& pipeline, const poly::Model& model, ir::Source source,
                        std::int64_t widest) {
    const std::vector<int> order = memory_order(pipeline, source);
    if (order.empty()) return 1;
    const auto inner = static_cast<std::size_t>(order.back());
    const auto index = static_cast<std::size_t>(source.index);
    std::optional<std::int64_t> extent;
    if (const ir::Buffer* buffer = buffer_of(pipeline, source)) {
        extent = ir::as_int(buffer->extents[inner]);
    } else {
        // A stage's row begins with the first point of its domain.
        const poly::Interval& all = model.domains.at(index).box.at(inner);
        if (const auto lo = ir::as_int(all.lo), hi = ir::as_int(all.hi); lo && hi && *lo == 0) extent = *hi;
    }
    if (!extent) return 1;
    while (widest > 1 && *extent % widest != 0) widest /= 2;
    return widest;
}

}  // namespace

std::vector<Pack> find_packs(Rewriter& rewriter, const ir::Pipeline& pipeline, const poly::Model& model,
                             const std::vector<Element>& elements, const std::vector<kernel::SharedArray>& shared,
                             std::int64_t most_bytes, bool fill) {
    struct Group {
        Offsets at;
        std::int64_t widest = 1, filling = 1;
    };
    std::map<GroupKey, Group> groups;
    std::vector<Pack> packs;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const ir::Source source = elements[i].source;
        const Place place =
            place_of(rewriter, elements[i],
                     kernel::is_local(source) ? strides_of(shared.at(static_cast<std::size_t>(source.index)))
                                              : known_strides(pipeline, model, source));
        Group& group = groups[place.key];
        if (!group.at.emplace(place.offset, i).second) packs.push_back({i});
        group.widest = std::min(
            kCount, std::max<std::int64_t>(1, most_bytes / ir::bytes(array_of(pipeline, shared, source).type)));
        // What fills a pack must be in the same row.
        const auto in_row = [&](std::int64_t width) {
            if (width == 1 || !fill || !kernel::is_local(source)) return true;
            const std::vector<std::int64_t>& extents = shared.at(static_cast<std::size_t>(source.index)).extents;
            return !extents.empty() && extents.back() % width == 0;  // a single value has no row
        };
        while (!in_row(group.widest)) group.widest /= 2;
        const auto aligned = [&](const auto& term) { return rewriter.is_multiple(term, group.widest); };
        while (group.widest > 1 && !std::all_of(place.known_part.begin(), place.known_part.end(), aligned)) {
            group.widest /= 2;
        }
        if (fill) {
            group.filling = kernel::is_local(source) ? group.widest : row_vector(pipeline, model, source, group.widest);
        }
    }
    for (const auto& [key, group] : groups) {
        const std::vector<Pack> of_group = packs_of(group.at, group.widest, group.filling);
        packs.insert(packs.end(), of_group.begin(), of_group.end());
    }
    std::sort(packs.begin(), packs.end());
    return packs;
}

std::int64_t access_count(const std::vector<std::int64_t>& offsets, std::int64_t widest, bool fill) {
    Offsets at;
    for (const std::int64_t offset : offsets) at.emplace(offset, 0);
    return static_cast<std::int64_t>(packs_of(at, widest, fill ? widest : 1).size());
}

namespace {

/// The dimension of an array whose elements lie behind each other.
std::size_t innermost(const ir::Pipeline& pipeline, const ir::Read& read) {
    return kernel::is_local(read.source) ? read.indices.size() - 1
                                         : static_cast<std::size_t>(memory_order(pipeline, read.source).back());
}

std::vector<Element> elements_of(const std::vector<ir::Expr>& reads) {
    std::vector<Element> elements;
    for (const ir::Expr& e : reads) elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    return elements;
}

/// A value that is used more often is in a register for long whatever loads it, and the load is a small part of the
/// work. nvcc spreads single loads over the code, and repeats them where registers are few; it cannot do that with
/// vectors.
constexpr int kManyUses = 32;
/// Of smaller elements each has to be unpacked, which takes as long as its load where lanes read at one place.
constexpr int kUnpacked = 4;

/// Whether an index is more than a sum of the places of a tile.
bool by_data(const ir::Read& read) {
    return std::any_of(read.indices.begin(), read.indices.end(), [](const ir::Expr& index) {
        return ir::any_node(index, [](const ir::Expr& node) {
            return ir::as<ir::Read>(node) != nullptr || ir::as<ir::Cast>(node) != nullptr ||
                   ir::as<ir::Select>(node) != nullptr;
        });
    });
}

/// Where the first element that is no filler stands.
std::size_t first_of(const Pack& pack) {
    return static_cast<std::size_t>(std::find_if(pack.begin(), pack.end(), [](std::size_t i) { return i != kFiller; }) -
                                    pack.begin());
}

}  // namespace

std::vector<Pack> PackWriter::packs(const std::vector<Element>& elements, bool fill, bool fill_rows) {
    std::vector<Element> local, global;
    std::vector<std::size_t> place_of_local, place_of_global;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        (kernel::is_local(elements[i].source) ? local : global).push_back(elements[i]);
        (kernel::is_local(elements[i].source) ? place_of_local : place_of_global).push_back(i);
    }
    const std::vector<kernel::SharedArray>& shared = build_.kernel.shared;
    std::vector<Pack> result;
    const auto take = [&](std::vector<Pack> packs, const std::vector<std::size_t>& places) {
        for (Pack& pack : packs) {
            for (std::size_t& i : pack) i = i == kFiller ? kFiller : places[i];
            result.push_back(std::move(pack));
        }
    };
    take(find_packs(rewriter_, program_.pipeline, program_.model, global, shared, global_bytes_, fill_rows),
         place_of_global);
    for (const Pack& pack : result) {
        if (pack.size() == 1) continue;
        const ir::Type type = array_of(program_.pipeline, shared, elements[pack[first_of(pack)]].source).type;
        widest_ = std::max(widest_, static_cast<std::int64_t>(pack.size()) * ir::bytes(type));
    }
    take(find_packs(rewriter_, program_.pipeline, program_.model, local, shared, fusion::kAccessBytes, fill),
         place_of_local);
    return result;
}

void PackWriter::load(kernel::Body& body, std::vector<ir::Expr>& values, bool fill) {
    load(body, values, fill, false);
}

void PackWriter::load_ahead(kernel::Body& body, std::vector<ir::Expr>& values) {
    load(body, values, false, true);
}

/// Where an element lies may depend on what was read before: first those come of which that is known, then those whose
/// places they tell, and so on.
void PackWriter::load(kernel::Body& body, std::vector<ir::Expr>& values, bool fill, bool ahead) {
    std::unordered_set<const ir::Node*> done;
    while (true) {
        std::vector<ir::Expr> reads = ir::certain_reads(values);
        std::erase_if(reads, [&](const ir::Expr& e) {
            const std::vector<ir::Expr> before = ir::certain_reads(ir::as<ir::Read>(e)->indices);
            return done.count(e.get()) > 0 ||
                   std::any_of(before.begin(), before.end(), [&](const auto& b) { return done.count(b.get()) == 0; });
        });
        if (reads.empty()) return;
        for (const ir::Expr& e : reads) done.insert(e.get());
        load_reads(body, reads, values, fill, ahead);
    }
}

void PackWriter::load_reads(kernel::Body& body, const std::vector<ir::Expr>& reads, std::vector<ir::Expr>& values,
                            bool fill, bool ahead) {
    Loaded loaded;
    for (const Pack& pack : packs(elements_of(reads), fill, true)) {
        if (pack.size() == 1 && !ahead) continue;
        add(body, load_of(pack, reads, loaded));
        std::get<kernel::Load>(body.back().value).ahead = ahead;
    }
    if (loaded.empty()) return;
    for (ir::Expr& value : values) value = with_loaded(value, loaded);
}

std::int64_t PackWriter::accesses(const std::vector<ir::Expr>& reads, bool fill) {
    const std::int64_t widest = widest_;
    const auto count = static_cast<std::int64_t>(packs(elements_of(reads), fill, true).size());
    widest_ = widest;
    return count;
}

kernel::Load PackWriter::load_of(const Pack& pack, const std::vector<ir::Expr>& reads, Loaded& loaded) {
    const std::size_t known = first_of(pack);
    const auto& read = *ir::as<ir::Read>(reads[pack[known]]);
    const Array array = array_of(program_.pipeline, build_.kernel.shared, read.source);
    kernel::Load load{{}, read.source, read.indices};
    if (known > 0) {
        ir::Expr& inner = load.indices[innermost(program_.pipeline, read)];
        Linear first = *rewriter_.linear(inner);
        first.constant -= static_cast<std::int64_t>(known);
        inner = rewriter_.expr(first);
    }
    const std::string name = array.name;
    for (const std::size_t i : pack) {
        const ir::VarId var = build_.variable(name, array.type);
        load.vars.push_back(var);
        if (i != kFiller) loaded[reads[i].get()] = ir::variable(var, array.type);
    }
    return load;
}

ir::Expr PackWriter::with_loaded(const ir::Expr& value, const Loaded& loaded) {
    return rewriter_.instance(value, {}, [&](const ir::Expr& e) {
        const auto found = loaded.find(e.get());
        return found == loaded.end() ? e : found->second;
    });
}

kernel::Body PackWriter::with_loads(kernel::Body body) {
    // A read is looked at after those that tell its place, as in load().
    std::unordered_set<const ir::Node*> done;
    Uses uses;
    for (kernel::Stmt& stmt : body) {
        for (const ir::Expr* value : kernel::own_values(stmt)) uses.add(*value);
    }
    while (true) {
        const std::size_t before = done.size();
        std::vector<ir::Expr> reads;
        std::vector<std::size_t> first_use;
        for (std::size_t i = 0; i < body.size(); ++i) {
            std::vector<ir::Expr> values;
            for (ir::Expr* e : kernel::own_values(body[i])) values.push_back(*e);
            for (const ir::Expr& e : ir::certain_reads(values)) {
                const auto& read = *ir::as<ir::Read>(e);
                const std::vector<ir::Expr> told = ir::certain_reads(read.indices);
                if (kernel::is_local(read.source) || done.count(e.get()) > 0 ||
                    std::any_of(told.begin(), told.end(),
                                [&](const ir::Expr& b) { return done.count(b.get()) == 0; })) {
                    continue;
                }
                done.insert(e.get());
                if (uses.of(e) > kManyUses) continue;
                if (ir::bytes(e->type) < kUnpacked && !by_data(read)) continue;
                reads.push_back(e);
                first_use.push_back(i);
            }
        }
        if (done.size() == before) return body;
        std::map<std::size_t, std::vector<Pack>> at;  // by the statement before which it is loaded
        for (Pack& pack : packs(elements_of(reads), false, true)) {
            if (pack.size() == 1) continue;
            std::size_t first = body.size();
            for (const std::size_t i : pack) first = i == kFiller ? first : std::min(first, first_use[i]);
            at[first].push_back(std::move(pack));
        }
        if (at.empty()) continue;
        kernel::Body result;
        Loaded loaded;
        for (std::size_t i = 0; i < body.size(); ++i) {
            for (const Pack& pack : at[i]) add(result, load_of(pack, reads, loaded));
            for (ir::Expr* e : kernel::own_values(body[i])) *e = with_loaded(*e, loaded);
            result.push_back(std::move(body[i]));
        }
        body = std::move(result);
    }
}

void PackWriter::store(kernel::Body& body, const std::vector<Element>& elements, const std::vector<ir::Expr>& values) {
    for (const Pack& pack : packs(elements, false, false)) {
        const Element& first = elements[pack.front()];
        kernel::Store store{first.source, first.indices, {}, nullptr};
        for (const std::size_t element : pack) store.values.push_back(values[element]);
        add(body, std::move(store));
    }
}

}  // namespace pipec::codegen
