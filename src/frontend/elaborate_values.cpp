#include "frontend/elaborate_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

Value make_table(std::vector<Value> elements) {
    return {Table{std::make_shared<const std::vector<Value>>(std::move(elements))}};
}

Value map_elements(const Value& table, const std::function<Value(const Value&)>& f) {
    std::vector<Value> elements;
    for (const Value& e : *table.as<Table>()->elements) {
        elements.push_back(f(e));
        if (elements.back().is<Poison>()) return poison();
    }
    return make_table(std::move(elements));
}

bool is_image(const Value& value) {
    const auto* table = value.as<Table>();
    return value.is<Image>() || (table != nullptr && std::ranges::all_of(*table->elements, is_image));
}

std::string describe(const Value& value) {
    return std::visit(overloaded{
                          [](const Poison&) -> std::string { return "an error"; },
                          [](const UntypedInt&) -> std::string { return "an integer constant"; },
                          [](const UntypedFloat&) -> std::string { return "a float constant"; },
                          [](const Scalar& s) { return fmt::format("a scalar of type {}", ir::name(s.expr->type)); },
                          [](const Table&) -> std::string { return "a table"; },
                          [](const Image&) -> std::string { return "an image"; },
                          [](const Array&) -> std::string { return "a stage array"; },
                          [](const Function&) -> std::string { return "a function"; },
                      },
                      value.v);
}

std::optional<Int128> constant_int(const Value& value) {
    if (const auto* i = value.as<UntypedInt>()) return i->value;
    const auto* s = value.as<Scalar>();
    if (s == nullptr || !ir::is_int(s->expr->type)) return std::nullopt;
    const auto bits = ir::as_int(s->expr);
    if (!bits) return std::nullopt;
    if (s->expr->type == ir::Type::UInt64) return static_cast<Int128>(static_cast<std::uint64_t>(*bits));
    return static_cast<Int128>(*bits);
}

std::optional<bool> constant_bool(const Value& value) {
    const auto* s = value.as<Scalar>();
    if (s == nullptr || s->expr->type != ir::Type::Bool) return std::nullopt;
    const auto bits = ir::as_int(s->expr);
    return bits ? std::optional(*bits != 0) : std::nullopt;
}

bool is_constant(const Value& value) {
    return std::visit(overloaded{
                          [](const UntypedInt&) { return true; },
                          [](const UntypedFloat&) { return true; },
                          [](const Scalar& s) {
                              bool result = true;
                              ir::for_each_node(s.expr, [&](const ir::Expr& e) {
                                  result = result && !ir::as<ir::Read>(e) && !ir::as<ir::Variable>(e) &&
                                           !ir::as<ir::SizeRef>(e) && !ir::as<ir::ParamRef>(e);
                              });
                              return result;
                          },
                          [](const Table& t) { return std::ranges::all_of(*t.elements, is_constant); },
                          [](const auto&) { return false; },
                      },
                      value.v);
}

double as_double(const Value& untyped) {
    if (const auto* i = untyped.as<UntypedInt>()) return static_cast<double>(i->value);
    return untyped.as<UntypedFloat>()->value;
}

ir::Expr exact(const Value& value) {
    if (is_untyped(value)) return ir::float_constant(ir::Type::Float64, as_double(value));
    const auto* scalar = value.as<Scalar>();
    return scalar == nullptr ? nullptr : scalar->exact;
}

std::string to_string(Int128 value) {
    if (value < 0) return "-" + to_string(-value);
    if (value > INT64_MAX) return fmt::format("{}", static_cast<std::uint64_t>(value));
    return fmt::format("{}", static_cast<std::int64_t>(value));
}

std::optional<std::vector<std::size_t>> table_shape(const Value& value) {
    const auto* table = value.as<Table>();
    if (table == nullptr) return std::vector<std::size_t>{};
    std::optional<std::vector<std::size_t>> inner;
    for (const Value& element : *table->elements) {
        auto shape = table_shape(element);
        if (!shape || (inner && *inner != *shape)) return std::nullopt;
        inner = std::move(shape);
    }
    std::vector<std::size_t> result{table->elements->size()};
    if (inner) result.insert(result.end(), inner->begin(), inner->end());
    return result;
}

std::optional<std::string> fingerprint(const Value& value) {
    return std::visit(
        overloaded{
            [](const UntypedInt& i) -> std::optional<std::string> { return "i" + to_string(i.value); },
            [](const UntypedFloat& f) -> std::optional<std::string> {
                return fmt::format("f{:x}", std::bit_cast<std::uint64_t>(f.value));
            },
            [](const Scalar& s) -> std::optional<std::string> {
                if (const auto* i = ir::as<ir::IntConstant>(s.expr)) {
                    return fmt::format("{}:{}", ir::name(s.expr->type), i->value);
                }
                if (const auto* f = ir::as<ir::FloatConstant>(s.expr)) {
                    return fmt::format("{}:{:x}", ir::name(s.expr->type), std::bit_cast<std::uint64_t>(f->value));
                }
                if (const auto* p = ir::as<ir::ParamRef>(s.expr)) return fmt::format("p{}", p->index);
                if (const auto* p = ir::as<ir::SizeRef>(s.expr)) return fmt::format("s{}", p->index);
                return std::nullopt;
            },
            [](const Table& t) -> std::optional<std::string> {
                std::string result = "[";
                for (const Value& e : *t.elements) {
                    const auto text = fingerprint(e);
                    if (!text) return std::nullopt;
                    result += *text + ",";
                }
                return result + "]";
            },
            [](const Image& i) -> std::optional<std::string> {
                return fmt::format("{}{}", i.source.kind == ir::Source::Kind::Input ? "I" : "S", i.source.index);
            },
            [](const auto&) -> std::optional<std::string> { return std::nullopt; },
        },
        value.v);
}

std::vector<ir::VarId> free_variables(const ir::Expr& e) {
    std::set<ir::VarId> used;
    std::set<ir::VarId> bound;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        if (const auto* v = ir::as<ir::Variable>(node)) used.insert(v->id);
        if (const auto* l = ir::as<ir::Let>(node)) bound.insert(l->var);
        if (const auto* r = ir::as<ir::Reduce>(node)) {
            for (const ir::Range& range : r->ranges) bound.insert(range.var);
        }
    });
    std::vector<ir::VarId> result;
    std::ranges::set_difference(used, bound, std::back_inserter(result));
    return result;
}

const Contents& ContentsOfNodes::of(const ir::Expr& e) {
    if (const auto found = known_.find(e.get()); found != known_.end()) return found->second.contents;
    Contents contents;
    const auto* read = ir::as<ir::Read>(e);
    contents.reads = read != nullptr;
    contents.self = read != nullptr && read->source == kSelf;
    contents.params = ir::as<ir::ParamRef>(e) != nullptr;
    contents.binders = ir::as<ir::Let>(e) != nullptr || ir::as<ir::Reduce>(e) != nullptr;
    ir::for_each_child(*e, [&](const ir::Expr& child) {
        const Contents& inner = of(child);
        contents.reads = contents.reads || inner.reads;
        contents.self = contents.self || inner.self;
        contents.params = contents.params || inner.params;
        contents.binders = contents.binders || inner.binders;
        contents.depth = std::max(contents.depth, inner.depth + 1);
    });
    return known_.emplace(e.get(), Known{e, contents}).first->second.contents;
}

namespace {

/// Nodes of the tree if it is only index arithmetic and leaves, `limit` or more where it is anything else.
int index_arithmetic_size(const ir::Expr& e, int limit) {
    const auto sum = [&](std::initializer_list<ir::Expr> operands) {
        int size = 1;
        for (const ir::Expr& o : operands) {
            if (size < limit) size += index_arithmetic_size(o, limit - size);
        }
        return size;
    };
    return std::visit(overloaded{
                          [](const ir::IntConstant&) { return 1; },
                          [](const ir::FloatConstant&) { return 1; },
                          [](const ir::Variable&) { return 1; },
                          [](const ir::SizeRef&) { return 1; },
                          [](const ir::ParamRef&) { return 1; },
                          [&](const ir::Cast& c) { return sum({c.a}); },
                          [&](const ir::Unary& u) { return e->type == ir::Type::Int32 ? sum({u.a}) : limit; },
                          [&](const ir::Binary& b) {
                              return e->type == ir::Type::Int32 ? sum({b.a, b.b}) : limit;
                          },
                          [&](const auto&) { return limit; },
                      },
                      e->value);
}

}  // namespace

bool is_trivial(const ir::Expr& e) {
    constexpr int kLimit = 16;
    return index_arithmetic_size(e, kLimit) < kLimit;
}

ir::Expr rename_binders(ir::Pipeline& pipeline, const ir::Expr& e) {
    std::map<ir::VarId, ir::Expr> renamed;
    std::map<ir::VarId, ir::VarId> ids;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto rename = [&](ir::VarId id) {
            if (ids.contains(id)) return;
            const ir::VariableInfo info = pipeline.variables[static_cast<std::size_t>(id)];
            const ir::VarId fresh = ir::new_variable(pipeline, info.name, info.type, info.range);
            ids.emplace(id, fresh);
            renamed.emplace(id, ir::variable(fresh, info.type, info.range));
        };
        if (const auto* l = ir::as<ir::Let>(node)) rename(l->var);
        if (const auto* r = ir::as<ir::Reduce>(node)) {
            for (const ir::Range& range : r->ranges) rename(range.var);
        }
    });
    if (ids.empty()) return e;
    std::unordered_map<const ir::Node*, ir::Expr> done;
    const std::function<ir::Expr(const ir::Expr&)> go = [&](const ir::Expr& node) -> ir::Expr {
        if (const auto found = done.find(node.get()); found != done.end()) return found->second;
        ir::Expr result = ir::map_children(node, go);
        if (const auto* l = ir::as<ir::Let>(result)) {
            result = ir::let(ids.at(l->var), l->value, l->body, result->range);
        } else if (const auto* r = ir::as<ir::Reduce>(result)) {
            std::vector<ir::Range> ranges = r->ranges;
            for (ir::Range& range : ranges) range.var = ids.at(range.var);
            result = ir::reduce_like(*r, std::move(ranges), r->body, result->range);
        }
        done.emplace(node.get(), result);
        return result;
    };
    return ir::substitute(go(e), renamed);
}

}  // namespace pipec::elab
