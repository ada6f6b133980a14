#include "codegen/expr/pack.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "codegen/expr/strides.h"
#include "codegen/expr/uses.h"
#include "codegen/kernel/shared_memory.h"
#include "ir/build.h"
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

/// The fewest packs for those of the `width` elements from `first` on that are there.
void split(const Offsets& at, std::int64_t first, std::int64_t width, std::vector<Pack>& packs) {
    Pack pack = filled(at, first, width);
    const auto fillers = std::count(pack.begin(), pack.end(), kFiller);
    if (fillers == width) return;
    if (fillers == 0) {
        packs.push_back(std::move(pack));
        return;
    }
    split(at, first, width / 2, packs);
    split(at, first + width / 2, width / 2, packs);
}

/// Packs of at most `widest` elements.
std::vector<Pack> packs_of(const Offsets& at, std::int64_t widest, bool fill) {
    std::vector<Pack> packs;
    for (auto i = at.begin(); i != at.end();) {
        const std::int64_t first = floor_multiple(i->first, widest);
        std::vector<Pack> of_vector;
        split(at, first, widest, of_vector);
        if (fill && of_vector.size() > 1) of_vector = {filled(at, first, widest)};
        packs.insert(packs.end(), of_vector.begin(), of_vector.end());
        i = at.lower_bound(first + widest);
    }
    return packs;
}

}  // namespace

std::vector<Pack> find_packs(Rewriter& rewriter, const ir::Pipeline& pipeline, const poly::Model& model,
                             const std::vector<Element>& elements, const std::vector<kernel::SharedArray>& shared,
                             std::int64_t most_bytes, bool fill) {
    struct Group {
        Offsets at;
        std::int64_t widest = 1;
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
    }
    for (const auto& [key, group] : groups) {
        const bool fills = fill && key.front() == static_cast<std::int64_t>(ir::Source::Kind::Local);
        const std::vector<Pack> of_group = packs_of(group.at, group.widest, fills);
        packs.insert(packs.end(), of_group.begin(), of_group.end());
    }
    std::sort(packs.begin(), packs.end());
    return packs;
}

std::int64_t access_count(const std::vector<std::int64_t>& offsets, std::int64_t widest, bool fill) {
    Offsets at;
    for (const std::int64_t offset : offsets) at.emplace(offset, 0);
    return static_cast<std::int64_t>(packs_of(at, widest, fill).size());
}

std::vector<ir::Expr> certain_reads(const std::vector<ir::Expr>& roots) {
    std::vector<ir::Expr> found;
    std::unordered_set<const ir::Node*> seen;
    std::vector<ir::Expr> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (ir::as<ir::Read>(e) != nullptr) found.push_back(e);
        if (const auto* n = ir::as<ir::Select>(e); n != nullptr && n->otherwise) {
            stack.push_back(n->cond);
        } else if (const auto* logic = ir::as<ir::Binary>(e); logic != nullptr && ir::is_logical(logic->op)) {
            stack.push_back(logic->a);
        } else if (const auto* loop = ir::as<ir::Reduce>(e)) {
            if (!loop->ranges.empty()) {
                stack.push_back(loop->ranges.front().hi);
                stack.push_back(loop->ranges.front().lo);
            }
        } else {
            const std::vector<ir::Expr> operands = evaluated_operands(e);
            stack.insert(stack.end(), operands.rbegin(), operands.rend());
        }
    }
    return found;
}

namespace {

/// Where the first element that is no filler stands.
std::size_t first_of(const Pack& pack) {
    return static_cast<std::size_t>(std::find_if(pack.begin(), pack.end(), [](std::size_t i) { return i != kFiller; }) -
                                    pack.begin());
}

}  // namespace

std::vector<Pack> PackWriter::packs(const std::vector<Element>& elements, bool fill) {
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
    take(find_packs(rewriter_, program_.pipeline, program_.model, global, shared, global_bytes_), place_of_global);
    for (const Pack& pack : result) {
        if (pack.size() == 1) continue;
        const ir::Type type = array_of(program_.pipeline, shared, elements[pack.front()].source).type;
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
        std::vector<ir::Expr> reads = certain_reads(values);
        std::erase_if(reads, [&](const ir::Expr& e) {
            const std::vector<ir::Expr> before = certain_reads(ir::as<ir::Read>(e)->indices);
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
    std::vector<Element> elements;
    for (const ir::Expr& e : reads) elements.push_back({ir::as<ir::Read>(e)->source, ir::as<ir::Read>(e)->indices});
    std::map<const ir::Node*, ir::Expr> loaded;
    for (const Pack& pack : packs(elements, fill)) {
        if (pack.size() == 1 && !ahead) continue;
        const std::size_t known = first_of(pack);
        const Element& element = elements[pack[known]];
        const Array array = array_of(program_.pipeline, build_.kernel.shared, element.source);
        kernel::Load load{{}, element.source, element.indices, ahead};
        if (known > 0) {  // an array in shared memory: its last dimension is the innermost one
            Linear last = *rewriter_.linear(load.indices.back());
            last.constant -= static_cast<std::int64_t>(known);
            load.indices.back() = rewriter_.expr(last);
        }
        const std::string name = array.name;
        for (const std::size_t i : pack) {
            const ir::VarId var = build_.variable(name, array.type);
            load.vars.push_back(var);
            if (i != kFiller) loaded[reads[i].get()] = ir::variable(var, array.type);
        }
        add(body, std::move(load));
    }
    if (loaded.empty()) return;
    const Rewriter::Hook hook = [&](const ir::Expr& e) {
        const auto found = loaded.find(e.get());
        return found == loaded.end() ? e : found->second;
    };
    for (ir::Expr& value : values) value = rewriter_.instance(value, {}, hook);
}

void PackWriter::store(kernel::Body& body, const std::vector<Element>& elements, const std::vector<ir::Expr>& values) {
    for (const Pack& pack : packs(elements, false)) {
        const Element& first = elements[pack.front()];
        kernel::Store store{first.source, first.indices, {}, nullptr};
        for (const std::size_t element : pack) store.values.push_back(values[element]);
        add(body, std::move(store));
    }
}

}  // namespace pipec::codegen
