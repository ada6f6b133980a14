// What is known of the values behind opaque parameters, beyond their intervals: from the operators that give them, and
// from the definitions of the stages that they are read of.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/isl_affine.h"
#include "poly/isl_affine_limits.h"

namespace pipec::poly {

using ir::BinaryOp;

namespace {

/// The constants by which the program multiplies `size`, and n of a size that is a quotient H / n.
std::set<std::int64_t> factors_in(const ir::Pipeline& pipeline, const ir::Expr& size) {
    constexpr std::size_t kMostFactors = 3;  // each splits a question in two
    std::set<std::int64_t> factors;
    if (const auto* quotient = ir::as<ir::Binary>(size); quotient != nullptr && quotient->op == BinaryOp::Div) {
        const auto number = ir::as_int(quotient->b);
        if (number && *number > 1 && *number < kIndexLimit) factors.insert(*number);
    }
    const auto look = [&](const ir::Expr& e) {
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr || n->op != BinaryOp::Mul || factors.size() >= kMostFactors) return;
        for (const auto& [factor, other] : {std::pair(n->a, n->b), std::pair(n->b, n->a)}) {
            const auto number = ir::as_int(factor);
            if (number && *number > 1 && *number < kIndexLimit && ir::structurally_equal(other, size))
                factors.insert(*number);
        }
    };
    for (const ir::Stage& stage : pipeline.stages) {
        for (const ir::Expr& e : ir::expressions(stage)) ir::for_each_node(e, look);
    }
    return factors;
}

}  // namespace

/// What operators on integers say of their result beyond its interval: a % b < b for all b > 0, also where b is a size.
void AffineTranslator::describe(const ir::Expr& e, Name name) {
    if (!ir::is_int(e->type) || integers_ == Integers::Exact) return;
    if (const auto* read = ir::as<ir::Read>(e)) return describe_limits(e, name, describe_read(*read, name));
    if (const auto* reduce = ir::as<ir::Reduce>(e)) return describe_place(*reduce, name);
    if (ir::as<ir::Cast>(e) != nullptr) return describe_cast(e, name);
    describe_limits(e, name, false);
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return;
    // A variable from lo to hi times a size that is not negative is from lo to hi times the size: `tile * H`.
    const auto describe_product = [&](const ir::Expr& factor, const ir::Expr& size) {
        const IntRange range = ranges_.integer(factor);
        if (!ir::is_uniform(size) || ranges_.integer(size).lo < 0 || !fits(range, e->type)) return false;
        const auto times = [&](Wide v) {
            return ir::binary(BinaryOp::Mul, ir::int_constant(e->type, static_cast<std::int64_t>(v)), size);
        };
        add_limit(times(range.lo), name, false);
        add_limit(times(range.hi), name, true);
        return true;
    };
    if (n->op == BinaryOp::Mul && fits(ranges_.unwrapped(e), e->type) && !describe_product(n->a, n->b)) {
        describe_product(n->b, n->a);
    }
    if (n->op == BinaryOp::Div) {
        describe_scaled(*n, name);
        describe_block(*n, name);
    }
    const bool positive_b = ranges_.integer(n->b).lo > 0, natural_a = ranges_.integer(n->a).lo >= 0;
    if (n->op == BinaryOp::Mod && positive_b) add_limit(n->b, name, true, true);
    if (n->op == BinaryOp::BitAnd && ranges_.integer(n->b).lo >= 0) add_limit(n->b, name, true);
    if (n->op == BinaryOp::BitAnd && natural_a) add_limit(n->a, name, true);
    if ((n->op == BinaryOp::Div && natural_a && positive_b) || (n->op == BinaryOp::Shr && natural_a))
        add_limit(n->a, name, true);
}

/// `a * b / d` is below b where 0 <= a < d, and at most b where a is d or b is 0: a place of one grid on another, as
/// y * R / H is.
void AffineTranslator::describe_scaled(const ir::Binary& quotient, Name name) {
    const auto* product = ir::as<ir::Binary>(quotient.a);
    if (product == nullptr || product->op != BinaryOp::Mul) return;
    if (!fits(ranges_.unwrapped(quotient.a), quotient.a->type)) return;
    const bool second = ir::is_uniform(product->b);
    const ir::Expr &place = second ? product->a : product->b, &extent = second ? product->b : product->a;
    if (!ir::is_uniform(extent) || !ir::is_uniform(quotient.b)) return;
    std::vector<int> outer = std::exchange(open_obligations_, {});
    const isl::pw_aff a = value(place), b = value(extent), d = value(quotient.b);
    const bool certain = std::exchange(open_obligations_, std::move(outer)).empty();
    if (!certain || has_opaque(a) || has_opaque(b) || has_opaque(d)) return;
    const isl::pw_aff q = isl_.value(name), zero = constant(0);
    const isl::set below = q.ge_set(zero).intersect(q.lt_set(b)), at_most = q.ge_set(zero).intersect(q.le_set(b));
    const isl::set other = a.lt_set(zero).unite(a.gt_set(d)).unite(b.lt_set(zero)).unite(d.le_set(zero));
    const isl::set fact = below.unite(at_most.intersect(a.eq_set(d).unite(b.eq_set(zero)))).unite(other);
    facts_.push_back({fact.coalesce(), {name}});
}

/// `k / C` is below n where k < n * C: the number of a block of C, as of `out: float32[4 * C]`, or of a group of heads
/// in `h / (H / 2)`. Known of the multiples of C that the program mentions. A quotient by 0 is 0.
void AffineTranslator::describe_block(const ir::Binary& quotient, Name name) {
    if (pipeline_ == nullptr || !ir::is_uniform(quotient.b) || ranges_.integer(quotient.b).lo < 0) return;
    std::vector<int> outer = std::exchange(open_obligations_, {});
    const isl::pw_aff k = value(quotient.a), c = value(quotient.b);
    const bool certain = std::exchange(open_obligations_, std::move(outer)).empty();
    if (!certain || has_opaque(k) || has_opaque(c)) return;
    const isl::pw_aff q = isl_.value(name);
    for (const std::int64_t n : factors_in(*pipeline_, quotient.b)) {
        const isl::set inside = q.lt_set(constant(n)), outside = k.ge_set(c.scale(val(n)));
        facts_.push_back({inside.unite(outside).coalesce(), {name}});
    }
}

/// The place of a minimum or maximum lies in its range, or is the lower bound of an empty one.
void AffineTranslator::describe_place(const ir::Reduce& reduce, Name name) {
    if (!ir::gives_place(reduce.op)) return;
    const ir::Range& range = reduce.ranges.at(static_cast<std::size_t>(reduce.place));
    const ir::Expr last = ir::binary(BinaryOp::Sub, range.hi, ir::int_constant(ir::Type::Int32, 1));
    add_limit(range.lo, name, false);
    add_limit(ir::binary(BinaryOp::Max, range.lo, last), name, true);
}

/// The value of `name` is at most, or at least, `limit`. Only of a limit whose value needs no proof.
void AffineTranslator::add_limit(const ir::Expr& limit, Name name, bool upper, bool strict) {
    if (!fits(ranges_.unwrapped(limit), limit->type)) return;
    std::vector<int> outer = std::exchange(open_obligations_, {});
    const isl::pw_aff bound = value(limit);
    const bool certain = std::exchange(open_obligations_, std::move(outer)).empty();
    if (!certain || has_opaque(bound)) return;
    const isl::pw_aff described = isl_.value(name);
    const isl::set fact = !upper ? described.ge_set(bound) : strict ? described.lt_set(bound) : described.le_set(bound);
    facts_.push_back({fact, {name}});
}

/// Whether some number that was a float depends on the point. Of a copy for some points more may be known than code
/// with -ffast-math keeps, which knows the limits at all points (clamp_casts.h).
static bool has_casts_of_floats(const ir::Expr& definition) {
    bool found = false;
    ir::for_each_node(definition, [&](const ir::Expr& e) {
        const auto* cast = ir::as<ir::Cast>(e);
        found = found || (cast != nullptr && ir::is_float(cast->a->type) && !ir::is_float(e->type));
    });
    return found;
}

/// Whether data choose between values. Sets of these multiply from stage to stage, and prove little: labels and the
/// like.
static bool has_choices_of_data(const ir::Expr& definition) {
    bool found = false;
    ir::for_each_node(definition, [&](const ir::Expr& e) {
        const auto* select = ir::as<ir::Select>(e);
        if (select == nullptr || found) return;
        ir::for_each_node(select->cond,
                          [&](const ir::Expr& part) { found = found || ir::as<ir::Read>(part) != nullptr; });
    });
    return found;
}

/// The definition of a stage at a point that is read of it, as a function of the reader's indices and the sizes. Null
/// where it is no small one.
ir::Expr AffineTranslator::definition_at(const ir::Read& read, const ir::Stage& stage, const ir::Expr& definition) {
    if (stage.scan || !is_small(definition)) return nullptr;
    std::map<ir::VarId, ir::Expr> indices;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) indices.emplace(stage.dims[d].var, read.indices[d]);
    // Copies of a let would bind its variable to other values.
    const ir::Expr there = ir::substitute(ir::WithoutLets().of(definition), indices);
    return is_small(there) ? there : nullptr;
}

/// The values between which data choose; the expression itself where they do not.
static void add_choices(const ir::Expr& e, std::vector<ir::Expr>& values) {
    const auto* select = ir::as<ir::Select>(e);
    if (select == nullptr || !select->otherwise || !ir::has_reads(select->cond)) {
        const bool known = std::ranges::any_of(values, [&](const ir::Expr& v) { return ir::structurally_equal(v, e); });
        if (!known) values.push_back(e);
        return;
    }
    add_choices(select->then, values);
    add_choices(select->otherwise, values);
}

/// What is read is what the definition gives, or one of the values that data choose from. A condition may mention a
/// value that is not read at all points, as the second one of `y < 5 or f(y - 5) > 3` is: there the fact has to leave
/// its whole interval possible.
bool AffineTranslator::describe_by_definition(const ir::Read& read, const ir::Stage& stage, const ir::Expr& definition,
                                              Name name) {
    if (!ir::is_int(stage.type) || inside_definitions_ >= kMostStages) return false;
    const ir::Expr there = definition_at(read, stage, definition);
    if (!there || has_casts_of_floats(there)) return false;
    std::vector<ir::Expr> choices;
    add_choices(there, choices);
    if (choices.size() > kMostPiecesOfData || std::ranges::any_of(choices, has_choices_of_data)) return false;
    const IntRange range = ranges_.unwrapped(there), known = ranges_.integer(opaque(name.index));
    if (!fits(range, stage.type)) return false;
    ++inside_definitions_;
    std::vector<int> outer = std::exchange(open_obligations_, {});
    const bool prefers_known = std::exchange(prefers_known_, false);
    std::vector<isl::pw_aff> given;
    for (const ir::Expr& choice : choices) given.push_back(value(choice));
    prefers_known_ = prefers_known;
    const bool certain = std::exchange(open_obligations_, std::move(outer)).empty();
    --inside_definitions_;
    if (!certain) return false;
    isl::set fact = isl_.nothing();
    for (const isl::pw_aff& one : given) {
        fact = fact.unite(isl_.value(name).eq_set(one));
        const isl::set defined = one.domain();
        if (isl_set_plain_is_universe(defined.get()) != isl_bool_true) fact = fact.unite(defined.complement());
        if (range.lo < known.lo) fact = fact.unite(one.lt_set(constant(known.lo)));
        if (range.hi > known.hi) fact = fact.unite(one.gt_set(constant(known.hi)));
    }
    std::vector<Name> others = names_in(fact);
    std::erase_if(others, [&](Name n) { return n.kind != Name::Kind::Opaque || n == name; });
    if (!others.empty()) {
        // One that is expensive to find is not worth it.
        const auto projected = isl_.attempt([&] { return project_out(isl_, with_opaque_bounds(fact), others); });
        if (!projected) return false;
        fact = *projected;
    }
    fact = fact.coalesce();
    if (static_cast<std::size_t>(fact.n_basic_set()) > kMostPiecesOfData) return false;
    if (isl_set_plain_is_universe(fact.get()) == isl_bool_true) return false;
    facts_.push_back({std::move(fact), {name}});
    return true;
}

/// What the definition of a stage says of a value of it, at its indices; false where it says nothing.
bool AffineTranslator::describe_read(const ir::Read& read, Name name) {
    if (pipeline_ == nullptr || read.source.kind != ir::Source::Kind::Stage) return false;
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(read.source.index));
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    return pure != nullptr && describe_by_definition(read, stage, pure->value, name);
}

}  // namespace pipec::poly
