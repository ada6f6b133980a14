// Random affine programs against enumeration: for small sizes every point is evaluated and what is read is compared
// with the model, or, where the program was rejected, an access out of bounds must exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "builder.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/visit.h"
#include "poly/model.h"

namespace pipec::test::random_test {
namespace {

using Point = std::vector<std::int64_t>;

/// Evaluates expressions over variables and sizes; a Read calls back and is worth 0.
class Evaluator {
public:
    std::map<ir::VarId, std::int64_t> variables;
    std::vector<std::int64_t> sizes;
    std::function<void(ir::Source, const Point&)> on_read = [](ir::Source, const Point&) {};

    std::int64_t operator()(const ir::Expr& e) {
        return std::visit(ir::overloaded{
                              [&](const ir::IntConstant& n) { return n.value; },
                              [&](const ir::Variable& n) { return variables.at(n.id); },
                              [&](const ir::SizeRef& n) { return sizes.at(static_cast<std::size_t>(n.index)); },
                              [&](const ir::Unary& n) {
                                  const std::int64_t a = (*this)(n.a);
                                  return n.op == ir::UnaryOp::Neg ? -a : n.op == ir::UnaryOp::Not ? 1 - a : ~a;
                              },
                              [&](const ir::Binary& n) { return binary(n); },
                              [&](const ir::Select& n) { return (*this)((*this)(n.cond) != 0 ? n.then : n.otherwise); },
                              [&](const ir::Read& n) {
                                  Point point;
                                  for (const ir::Expr& i : n.indices) point.push_back((*this)(i));
                                  on_read(n.source, point);
                                  return std::int64_t{0};
                              },
                              [&](const ir::Reduce& n) {
                                  const std::int64_t lo = (*this)(n.ranges.at(0).lo), hi = (*this)(n.ranges.at(0).hi);
                                  for (std::int64_t v = lo; v < hi; ++v) {
                                      variables[n.ranges[0].var] = v;
                                      (*this)(n.body);
                                  }
                                  return std::int64_t{0};
                              },
                              [&](const auto&) -> std::int64_t { throw std::logic_error("not in these programs"); },
                          },
                          e->value);
    }

private:
    std::int64_t binary(const ir::Binary& n) {
        const std::int64_t a = (*this)(n.a);
        if (n.op == ir::BinaryOp::And && a == 0) return 0;
        if (n.op == ir::BinaryOp::Or && a != 0) return 1;
        const std::int64_t b = (*this)(n.b);
        const auto mod = [&] { return b == 0 ? 0 : ((a % b) + b) % b; };
        switch (n.op) {
            case ir::BinaryOp::Add: return a + b;
            case ir::BinaryOp::Sub: return a - b;
            case ir::BinaryOp::Mul: return a * b;
            case ir::BinaryOp::Div: return b == 0 ? 0 : (a - mod()) / b;
            case ir::BinaryOp::Mod: return mod();
            case ir::BinaryOp::Min: return std::min(a, b);
            case ir::BinaryOp::Max: return std::max(a, b);
            case ir::BinaryOp::Lt: return a < b;
            case ir::BinaryOp::Le: return a <= b;
            case ir::BinaryOp::Gt: return a > b;
            case ir::BinaryOp::Ge: return a >= b;
            case ir::BinaryOp::Eq: return a == b;
            case ir::BinaryOp::Ne: return a != b;
            case ir::BinaryOp::And: return b != 0;
            case ir::BinaryOp::Or: return b != 0;
            default: throw std::logic_error("not in these programs");
        }
    }
};

/// Calls f for every point of lo <= p < hi.
void for_each_point(const Point& lo, const Point& hi, const std::function<void(const Point&)>& f) {
    Point p = lo;
    for (std::size_t d = 0; d < lo.size(); ++d) {
        if (lo[d] >= hi[d]) return;
    }
    while (true) {
        f(p);
        std::size_t d = p.size();
        while (d-- > 0) {
            if (++p[d] < hi[d]) break;
            p[d] = lo[d];
        }
        if (d == static_cast<std::size_t>(-1)) return;
    }
}

class Generator {
public:
    explicit Generator(unsigned seed) : random_(seed) {}

    Program make() {
        Program t;
        size_ = t.size("R").e;
        const E R = size_;
        rank_ = pick(1, 2);
        std::vector<E> extents;
        for (int d = 0; d < rank_; ++d) extents.push_back(R * pick(1, 3) + pick(0, 12));
        std::vector<ir::Source> sources{t.input("img", extents)};
        const int stages = pick(1, 3);
        for (int s = 0; s < stages; ++s) {
            const std::vector<E> vars = variables(t);
            std::vector<Dim> dims;
            for (const E& v : vars) dims.push_back({v});
            sources.push_back(t.stage("f" + std::to_string(s), dims, value(t, vars, sources)));
        }
        const std::vector<E> vars = variables(t);
        std::vector<E> shape;
        for (int d = 0; d < rank_; ++d) shape.push_back(R + pick(0, 2));
        E result = value(t, vars, {sources.back()});
        for (const ir::Source source : sources) result = result + read(t, vars, source);
        t.output("out", vars, shape, result);
        return t;
    }

private:
    int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

    std::vector<E> variables(Program& t) {
        std::vector<E> result;
        for (int d = 0; d < rank_; ++d) result.push_back(t.var(std::string(1, static_cast<char>('x' + d))));
        return result;
    }

    E index(const std::vector<E>& vars, int d) {
        const E R = size_;
        const E v = vars[static_cast<std::size_t>(pick(0, 5) == 0 ? pick(0, rank_ - 1) : d)];
        switch (pick(0, 11)) {
            case 0: return v / 2 + pick(0, 1);
            case 1: return clamp(v + pick(-2, 2), 0, R - 1);
            case 2: return (v + pick(0, 3)) % pick(1, 3);
            case 3: return max(v - pick(0, 2), 0);
            case 4: return (v + pick(0, 2)) / 3 + v / 2;
            case 5: return R - 1 - v;
            case 6: return when(v % 2 == 0, v / 2, (v + 1) / 2);
            default: return v + pick(0, 2);
        }
    }

    E read(Program& t, const std::vector<E>& vars, ir::Source source) {
        std::vector<E> indices;
        for (int d = 0; d < rank_; ++d) indices.push_back(index(vars, d));
        return t.read(source, indices);
    }

    E condition(const std::vector<E>& vars) {
        const E R = size_;
        const E v = vars[static_cast<std::size_t>(pick(0, rank_ - 1))];
        switch (pick(0, 4)) {
            case 0: return v > pick(0, 2);
            case 1: return v < R - pick(0, 2);
            case 2: return v % 2 == pick(0, 1);
            case 3: return v > 0 && v < R;
            default: return v == 0 || v > pick(1, 3);
        }
    }

    E value(Program& t, const std::vector<E>& vars, const std::vector<ir::Source>& sources) {
        E result = 0;
        const int reads = pick(1, 2);
        for (int i = 0; i < reads; ++i) {
            const ir::Source source = sources[static_cast<std::size_t>(pick(0, static_cast<int>(sources.size()) - 1))];
            E term = read(t, vars, source);
            if (pick(0, 3) == 0) term = when(condition(vars), term, read(t, vars, source));
            if (pick(0, 5) == 0) {
                const E k = t.var("k");
                std::vector<E> indices;
                for (int d = 0; d < rank_; ++d) indices.push_back(vars[static_cast<std::size_t>(d)] + k);
                term = sum({Program::range(k, 0, pick(0, 1) == 0 ? E(3) : E(size_) - 1)}, t.read(source, indices));
            }
            result = result + term;
        }
        return result;
    }

    std::mt19937 random_;
    ir::Expr size_;
    int rank_ = 1;
};

/// What one stage reads at the given points, by source.
std::map<ir::Source, std::set<Point>> reads(const ir::Stage& stage, const std::set<Point>& points, std::int64_t size) {
    std::map<ir::Source, std::set<Point>> result;
    Evaluator evaluate;
    evaluate.sizes = {size};
    evaluate.on_read = [&](ir::Source source, const Point& p) { result[source].insert(p); };
    for (const Point& p : points) {
        for (std::size_t d = 0; d < p.size(); ++d) evaluate.variables[stage.dims[d].var] = p[d];
        evaluate(std::get<ir::Pure>(stage.definition).value);
    }
    return result;
}

/// The points at which every stage is computed: given by `points_of`, or, for the minimum, by the readers.
bool has_violation(const ir::Pipeline& p, std::int64_t size) {
    std::map<ir::Source, std::set<Point>> needed;
    Evaluator evaluate;
    evaluate.sizes = {size};
    for (std::size_t s = p.stages.size(); s-- > 0;) {
        const ir::Stage& stage = p.stages[s];
        std::set<Point>& own = needed[{ir::Source::Kind::Stage, static_cast<int>(s)}];
        if (stage.output >= 0) {
            Point lo, hi;
            for (const ir::Dimension& d : stage.dims) {
                lo.push_back(evaluate(d.lo));
                hi.push_back(evaluate(d.hi));
            }
            for_each_point(lo, hi, [&](const Point& point) { own.insert(point); });
        }
        for (const auto& [source, points] : reads(stage, own, size))
            needed[source].insert(points.begin(), points.end());
    }
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
        for (const Point& point : needed[{ir::Source::Kind::Input, static_cast<int>(i)}]) {
            for (std::size_t d = 0; d < point.size(); ++d) {
                if (point[d] < 0 || point[d] >= evaluate(p.inputs[i].extents[d])) return true;
            }
        }
    }
    return false;
}

/// Every read of every computed point is computed or inside the input; the boxes are the hulls of what is read.
void check_model(const ir::Pipeline& p, const poly::Model& model, std::int64_t size) {
    Evaluator evaluate;
    evaluate.sizes = {size};
    std::map<ir::Source, std::set<Point>> needed;
    for (std::size_t s = p.stages.size(); s-- > 0;) {
        const ir::Stage& stage = p.stages[s];
        const poly::Domain& domain = model.domains[s];
        Point lo, hi;
        for (const poly::Interval& i : domain.box) {
            lo.push_back(evaluate(i.lo));
            hi.push_back(evaluate(i.hi));
        }
        std::set<Point> computed;
        for_each_point(lo, hi, [&](const Point& point) {
            for (std::size_t d = 0; d < point.size(); ++d) evaluate.variables[stage.dims[d].var] = point[d];
            if (domain.guard == nullptr || evaluate(domain.guard) != 0) computed.insert(point);
        });
        const std::set<Point>& need = needed[{ir::Source::Kind::Stage, static_cast<int>(s)}];
        for (const Point& point : need) ASSERT_TRUE(computed.contains(point)) << stage.name << " R = " << size;
        if (stage.output < 0 && !need.empty()) {
            for (std::size_t d = 0; d < lo.size(); ++d) {
                std::int64_t least = INT64_MAX, greatest = INT64_MIN;
                for (const Point& point : need) {
                    least = std::min(least, point[d]);
                    greatest = std::max(greatest, point[d]);
                }
                EXPECT_EQ(lo[d], least) << stage.name << " R = " << size;
                EXPECT_EQ(hi[d], greatest + 1) << stage.name << " R = " << size;
            }
            if (domain.guard != nullptr) {
                EXPECT_EQ(computed, need) << stage.name << " R = " << size;
            }
        }
        for (const auto& [source, points] : reads(stage, computed, size)) {
            needed[source].insert(points.begin(), points.end());
            if (source.kind != ir::Source::Kind::Input) continue;
            const ir::Buffer& buffer = p.inputs[static_cast<std::size_t>(source.index)];
            for (const Point& point : points) {
                for (std::size_t d = 0; d < point.size(); ++d) {
                    ASSERT_GE(point[d], 0) << stage.name << " R = " << size;
                    ASSERT_LT(point[d], evaluate(buffer.extents[d])) << stage.name << " R = " << size;
                }
            }
        }
    }
}

/// Every extent is at least 1.
bool legal(const ir::Pipeline& p, std::int64_t size) {
    Evaluator evaluate;
    evaluate.sizes = {size};
    const auto positive = [&](const ir::Buffer& b) {
        return std::all_of(b.extents.begin(), b.extents.end(), [&](const ir::Expr& e) { return evaluate(e) >= 1; });
    };
    return std::all_of(p.inputs.begin(), p.inputs.end(), positive) &&
           std::all_of(p.outputs.begin(), p.outputs.end(), [&](const ir::Output& o) { return positive(o.buffer); });
}

TEST(Random, AgreesWithEnumeration) {
    int accepted = 0, rejected = 0, undecided = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const Program program = Generator(seed).make();
        SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + ir::to_string(program.p));
        ASSERT_EQ(ir::verify(program.p), std::vector<std::string>{});
        Diagnostics diags;
        const auto model = poly::analyze(program.p, diags);
        if (model) {
            ++accepted;
            for (std::int64_t size = -2; size <= 7; ++size) {
                if (legal(program.p, size)) check_model(program.p, *model, size);
            }
            if (HasFailure()) {
                ADD_FAILURE() << poly::to_string(program.p, *model);
                return;
            }
            continue;
        }
        const auto over_budget = [](const Diagnostic& d) { return d.id == "analysis-budget"; };
        if (std::any_of(diags.all().begin(), diags.all().end(), over_budget)) {
            ++undecided;
            continue;
        }
        ++rejected;
        ASSERT_FALSE(diags.all().empty());
        EXPECT_EQ(diags.all()[0].id, "out-of-bounds") << diags.all()[0].message;
        bool found = false;
        for (std::int64_t size = -2; size <= 24 && !found; ++size) {
            found = legal(program.p, size) && has_violation(program.p, size);
        }
        EXPECT_TRUE(found) << diags.all()[0].message;
        if (HasFailure()) return;
    }
    // The generator is worth something only if it makes both kinds.
    EXPECT_GT(accepted, 10);
    EXPECT_GT(rejected, 10);
    EXPECT_LT(undecided, 20);
    std::cout << accepted << " accepted, " << rejected << " rejected, " << undecided << " undecided\n";
}

}  // namespace
}  // namespace pipec::test::random_test
