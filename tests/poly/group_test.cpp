// Dependences, alignment and scaling, against enumeration: for small images every point that a tile needs, found by
// following the reads one by one, must lie in the box that the group gives, and every read at a distance that it gives.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/group.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::poly::group_test {
namespace {

using testing::Compiled;

class GroupTest : public ::testing::Test {
protected:
    void compile(const std::string& text) {
        compiled_ = testing::compile_text(sources_, "test.pipe", text);
        ASSERT_EQ(render_text(compiled_.diags, sources_), "");
        dependences_ = find_dependences(pipeline(), model());
    }
    const ir::Pipeline& pipeline() const { return compiled_.pipelines.front(); }
    const Model& model() const { return compiled_.models.front(); }
    int stage(const std::string& name) const {
        for (std::size_t i = 0; i < pipeline().stages.size(); ++i) {
            if (pipeline().stages[i].name == name) return static_cast<int>(i);
        }
        throw std::runtime_error("no stage " + name);
    }
    std::vector<int> stages(const std::vector<std::string>& names) const {
        std::vector<int> result;
        for (const std::string& name : names) result.push_back(stage(name));
        return result;
    }
    std::vector<int> all() const {
        std::vector<int> result;
        for (std::size_t i = 0; i < pipeline().stages.size(); ++i) result.push_back(static_cast<int>(i));
        return result;
    }
    Group group(const std::vector<int>& members) {
        auto result = make_group(pipeline(), model(), dependences_, members);
        if (const auto* illegal = std::get_if<Illegal>(&result)) throw std::runtime_error(illegal->reason);
        return std::get<Group>(result);
    }
    std::string reason(const std::vector<int>& members) {
        const auto result = make_group(pipeline(), model(), dependences_, members);
        const auto* illegal = std::get_if<Illegal>(&result);
        return illegal == nullptr ? "" : illegal->reason;
    }
    std::string text(const Group& g) { return to_string(pipeline(), g); }

    /// Follows every read from every tile of `size` and compares; returns the number of reads followed.
    int enumerate(const Group& g, std::int64_t size_value, std::int64_t tile);

    SourceManager sources_;
    Compiled compiled_;
    std::vector<Dependence> dependences_;
};

using Environment = std::map<ir::VarId, std::int64_t>;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return b == 0 ? 0 : a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

/// Calls `visit` for every read that evaluating `e` performs; data is taken to be 0.
std::int64_t evaluate(const ir::Expr& e, Environment& at, std::int64_t size,
                      const std::function<void(const ir::Read&, const std::vector<std::int64_t>&)>& visit) {
    const auto next = [&](const ir::Expr& operand) { return evaluate(operand, at, size, visit); };
    return std::visit(ir::overloaded{
                          [&](const ir::IntConstant& n) -> std::int64_t { return n.value; },
                          [&](const ir::Variable& n) -> std::int64_t { return at.at(n.id); },
                          [&](const ir::SizeRef&) -> std::int64_t { return size; },
                          [&](const ir::Binary& n) -> std::int64_t {
                              const std::int64_t a = next(n.a);
                              if (n.op == ir::BinaryOp::And) return a != 0 && next(n.b) != 0;
                              if (n.op == ir::BinaryOp::Or) return a != 0 || next(n.b) != 0;
                              const std::int64_t b = next(n.b);
                              switch (n.op) {
                                  case ir::BinaryOp::Add: return a + b;
                                  case ir::BinaryOp::Sub: return a - b;
                                  case ir::BinaryOp::Mul: return a * b;
                                  case ir::BinaryOp::Div: return floor_div(a, b);
                                  case ir::BinaryOp::Mod: return b == 0 ? 0 : a - b * floor_div(a, b);
                                  case ir::BinaryOp::Min: return std::min(a, b);
                                  case ir::BinaryOp::Max: return std::max(a, b);
                                  case ir::BinaryOp::Eq: return a == b;
                                  case ir::BinaryOp::Ne: return a != b;
                                  case ir::BinaryOp::Lt: return a < b;
                                  case ir::BinaryOp::Le: return a <= b;
                                  case ir::BinaryOp::Gt: return a > b;
                                  default: return a >= b;
                              }
                          },
                          [&](const ir::Select& n) -> std::int64_t {
                              return next(n.cond) != 0 || !n.otherwise ? next(n.then) : next(n.otherwise);
                          },
                          [&](const ir::Let& n) -> std::int64_t {
                              at[n.var] = next(n.value);
                              return next(n.body);
                          },
                          [&](const ir::Read& n) -> std::int64_t {
                              std::vector<std::int64_t> indices;
                              for (const ir::Expr& index : n.indices) indices.push_back(next(index));
                              visit(n, indices);
                              return 0;
                          },
                          [&](const ir::Reduce& n) -> std::int64_t {
                              const std::function<void(std::size_t)> loop = [&](std::size_t i) {
                                  if (i == n.ranges.size()) {
                                      next(n.body);
                                      return;
                                  }
                                  const std::int64_t hi = next(n.ranges[i].hi);
                                  for (std::int64_t v = next(n.ranges[i].lo); v < hi; ++v) {
                                      at[n.ranges[i].var] = v;
                                      loop(i + 1);
                                  }
                              };
                              loop(0);
                              return 0;
                          },
                          [&](const auto&) -> std::int64_t {
                              for (const ir::Expr& operand : ir::children(e)) next(operand);
                              return 0;
                          },
                      },
                      e->value);
}

int GroupTest::enumerate(const Group& g, std::int64_t size_value, std::int64_t tile) {
    int reads = 0;
    Environment none;
    const auto constant = [&](const ir::Expr& e) { return evaluate(e, none, size_value, [](auto&&...) {}); };
    using Point = std::vector<std::int64_t>;
    // What each tile of the live-outs needs; a tile is named by its origin.
    std::map<Point, std::map<int, std::set<Point>>> needed;
    const auto each_point = [&](int s, const std::function<void(const Point&)>& f) {
        const Domain& domain = model().domains[static_cast<std::size_t>(s)];
        Point lo, hi;
        for (const Interval& i : domain.box) lo.push_back(constant(i.lo)), hi.push_back(constant(i.hi));
        Point at = lo;
        for (std::size_t d = 0; d < at.size(); ++d) {
            if (hi[d] <= lo[d]) return;
        }
        while (true) {
            f(at);
            std::size_t d = at.size();
            while (d > 0 && ++at[d - 1] == hi[d - 1]) --d, at[d] = lo[d];
            if (d == 0) return;
        }
    };
    for (const int s : g.live_outs) {
        each_point(s, [&](const Point& at) {
            Point origin(static_cast<std::size_t>(g.rank), 0);
            const auto& alignment = g.alignment[g.position(s)];
            for (std::size_t d = 0; d < at.size(); ++d) {
                if (alignment[d].dim < 0) continue;
                origin[static_cast<std::size_t>(alignment[d].dim)] = floor_div(at[d] * alignment[d].scale, tile) * tile;
            }
            needed[origin][s].insert(at);
        });
    }
    for (auto& [origin, points] : needed) {
        for (auto s = g.stages.rbegin(); s != g.stages.rend(); ++s) {
            const ir::Stage& reader = pipeline().stages[static_cast<std::size_t>(*s)];
            const std::size_t position = g.position(*s);
            for (const Point& at : points[*s]) {
                for (std::size_t d = 0; d < at.size(); ++d) {  // the point lies in the box of its tile
                    const Alignment& a = g.alignment[position][d];
                    if (a.dim < 0) continue;
                    const auto dim = static_cast<std::size_t>(a.dim);
                    const TileExtent extent = tile_extent(a, g.reach[position][dim], tile);
                    const std::int64_t first = origin[dim] / a.scale + extent.first;
                    EXPECT_GE(at[d], first) << reader.name;
                    EXPECT_LT(at[d], first + extent.count) << reader.name;
                }
                Environment environment;
                for (std::size_t d = 0; d < at.size(); ++d) environment[reader.dims[d].var] = at[d];
                evaluate(std::get<ir::Pure>(reader.definition).value, environment, size_value,
                         [&](const ir::Read& read, const std::vector<std::int64_t>& indices) {
                             ++reads;
                             if (read.source.kind == ir::Source::Kind::Stage &&
                                 std::count(g.stages.begin(), g.stages.end(), read.source.index) > 0) {
                                 points[read.source.index].insert(indices);
                             }
                         });
                if (HasFailure()) return reads;
            }
        }
    }
    return reads;
}

// Tiles dealt the points of such a stage out to threads, and divided by their number.
TEST_F(GroupTest, WhatIsNeverNeededIsNoMember) {
    compile(
        "pipeline p(img: uint8[R, C]) -> out: uint8[R, C] {\n"
        "    never(y, x): uint8 = uint8(img(y, x) / 2)\n"
        "    out(y, x) = if y + 0 <= y then img(y, x) else never(y - 2, x)\n"
        "}\n");
    EXPECT_EQ(reason(all()), "no point of `never` is ever needed");
    EXPECT_EQ(reason(stages({"never"})), "");
}

TEST_F(GroupTest, AStencilReachesAsFarAsItsReaders) {
    compile(R"(pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        a(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
        b(y, x) = a(y - 1, x) + a(y + 2, x)
        out(y, x) = b(y, x - 3) + b(y, x + 1) + a(y, x)
    })");
    const Group g = group(all());
    EXPECT_EQ(text(g),
              "a(g0, g1) reach -1..2, -3..1\n"
              "b(g0, g1) reach 0..0, -3..1\n"
              "out(g0, g1) reach 0..0, 0..0 live-out\n");
    EXPECT_GT(enumerate(g, 11, 4), 100);
}

TEST_F(GroupTest, DownAndUpAgainIsScaled) {
    compile(R"(pipeline p(img: float32[2 * R + 8]) -> out: float32[2 * R] {
        a(x) = img(x + 4)
        down(x) = a(2 * x - 1) + a(2 * x) + a(2 * x + 1)
        out(x) = a(x) - (down(x / 2) + down((x + 1) / 2))
    })");
    const Group g = group(all());
    EXPECT_EQ(text(g),
              "a(g0) reach -1..2\n"
              "down(g0 / 2) reach -1..1\n"
              "out(g0) reach 0..0 live-out\n");
    EXPECT_EQ(tile_unit(g, 0), 2);
    EXPECT_GT(enumerate(g, 9, 6), 50);
}

TEST_F(GroupTest, AReachIsRoundedToVectors) {
    compile(R"(pipeline p(img: float32[2 * R + 60]) -> out: float32[2 * R] {
        a(x) = img(x + 30)
        down(x) = a(2 * x - 1) + a(2 * x) + a(2 * x + 1)
        up(x) = down(x / 2) + down((x + 1) / 2)
        out(x) = a(x + 1) - up(x - 1) * up(x)
    })");
    const Group exact = group(all());
    EXPECT_EQ(text(with_multiple(exact, 0, 1)), text(exact));
    for (const int n : {2, 4, 8}) {
        const Group g = with_multiple(exact, 0, n);
        for (const std::int64_t size : {2 * n, 6 * n}) {
            for (std::size_t p = 0; p < g.stages.size(); ++p) {
                const TileExtent extent = tile_extent(g.alignment[p][0], g.reach[p][0], size);
                EXPECT_EQ(extent.first % n, 0);
                EXPECT_EQ(extent.count % n, 0);
                const TileExtent least = tile_extent(g.alignment[p][0], exact.reach[p][0], size);
                EXPECT_LE(extent.first, least.first);
                EXPECT_GE(extent.first + extent.count, least.first + least.count);
            }
            EXPECT_GT(enumerate(g, 9, size), 50);
        }
    }
    // up: [-1, n) from x - 1 becomes [-4, n); down is read at [-2, n / 2 + 1) and has [-4, n / 2 + 4).
    EXPECT_EQ(text(with_multiple(exact, 0, 4)),
              "a(g0) reach -12..8\n"
              "down(g0 / 2) reach -8..7\n"
              "up(g0) reach -4..0\n"
              "out(g0) reach 0..0 live-out\n");
}

TEST_F(GroupTest, TransposedDimensionsAreMapped) {
    compile(R"(pipeline p(img: float32[R, C]) -> out: float32[C, R] {
        a(y, x) = img(y, x) * 2
        out(u, v) = a(v, u) + 1
    })");
    const Group g = group(all());
    EXPECT_EQ(text(g), "a(g1, g0) reach 0..0, 0..0\nout(g0, g1) reach 0..0, 0..0 live-out\n");
    enumerate(g, 7, 4);
}

// What they read of the same array says where they are.
TEST_F(GroupTest, SiblingsAreAlignedByWhatTheyRead) {
    compile(R"(pipeline p(img: float32[2 * R, 2 * C]) -> a: float32[2 * R, 2 * C], b: float32[R, C], c: float32[C, R] {
        a(y, x) = img(y, x) * 2
        b(y, x) = img(2 * y + 1, 2 * x)
        c(x, y) = img(2 * y, x)
    })");
    EXPECT_EQ(text(group(all())),
              "a(g1, g0) reach 0..0, 0..0 live-out\n"
              "b(g1 / 2, g0 / 2) reach 0..0, 0..0 live-out\n"
              "c(g0, g1 / 2) reach 0..0, 0..0 live-out\n");
    enumerate(group(all()), 7, 4);
}

TEST_F(GroupTest, SiblingsOfTheSameDomainHaveTheSamePlaces) {
    compile(R"(pipeline p(f: float32[R, C], g: float32[R, C]) -> a: float32[R, C], b: float32[R, C], c: float32[R] {
        a(y, x) = f(y, C - 1 - x)
        b(y, x) = g(y, x) + g(R - 1 - y, x)
        c(y) = sum(i in 0..3) float32(y * i)
    })");
    EXPECT_EQ(text(group(stages({"a", "b"}))),
              "a(g0, g1) reach 0..0, 0..0 live-out\n"
              "b(g0, g1) reach 0..0, 0..0 live-out\n");
    EXPECT_EQ(reason(all()), "nothing connects `c` with the other stages");
}

TEST_F(GroupTest, ChannelsThatComeLastStandBeforeRowsAndColumns) {
    compile(R"(pipeline p(img: float32[N, R, C + 2, 3]) -> out: float32[N, R, C, 3], gray: float32[N, R, C] {
        a(n, y, x, c) = img(n, y, x, c) * 2
        out(n, y, x, c) = a(n, y, x, c) + a(n, y, x + 2, c)
        gray(n, y, x) = a(n, y, x, 0)
    })");
    EXPECT_EQ(text(group(stages({"a", "out"}))),
              "a(g0, g2, g3, g1) reach 0..0, 0..0, 0..0, 0..2 live-out\n"
              "out(g0, g2, g3, g1) reach 0..0, 0..0, 0..0, 0..0 live-out\n");
    EXPECT_EQ(text(group(all())),
              "a(g0, g2, g3, all) reach 0..0, 0..0, 0..0, 0..2\n"
              "out(g0, g2, g3, g1) reach 0..0, 0..0, 0..0, 0..0 live-out\n"
              "gray(g0, g2, g3) reach 0..0, 0..0, 0..0, 0..0 live-out\n");
}

TEST_F(GroupTest, ALastDimensionOfMorePointsOrWithFewOthersStays) {
    compile(R"(pipeline p(img: float32[R, C, 5], line: float32[R, 3]) -> out: float32[R, C, 5], b: float32[R, 3] {
        a(y, x, c) = img(y, x, c) * 2
        out(y, x, c) = a(y, x, c) + 1
        m(y, c) = line(y, c) * 2
        b(y, c) = m(y, c) + 1
    })");
    EXPECT_EQ(text(group(stages({"a", "out"}))).substr(0, 13), "a(g0, g1, g2)");
    EXPECT_EQ(text(group(stages({"m", "b"}))).substr(0, 9), "m(g0, g1)");
}

TEST_F(GroupTest, ChannelsThatAreMixedAreComputedAsAWhole) {
    compile(R"(pipeline p(img: float32[3, R, C + 2]) -> out: float32[3, R, C] {
        a(c, y, x) = img(c, y, x) * 2
        gray(y, x) = a(0, y, x) + a(1, y, x) + a(2, y, x)
        out(c, y, x) = a(c, y, x + 1) * gray(y, x + 2)
    })");
    const Group g = group(all());
    EXPECT_EQ(text(g),
              "a(all, g1, g2) reach 0..0, 0..0, 1..2\n"
              "gray(g1, g2) reach 0..0, 0..0, 2..2\n"
              "out(g0, g1, g2) reach 0..0, 0..0, 0..0 live-out\n");
    enumerate(g, 7, 4);
}

TEST_F(GroupTest, BoundaryConditionsStayBounded) {
    compile(R"(import "boundary"
    pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        a(y in 0..R, x in 0..C) = img(y, x) * 2
        m = mirror(a)
        out(y, x) = m(y - 2, x + 1) + clamp_to_edge(a)(y, x - 3)
    })");
    const Group g = group(all());
    for (const int size : {1, 2, 3, 5, 9}) enumerate(g, size, 4);
}

TEST_F(GroupTest, SeveralLiveOuts) {
    compile(R"(pipeline p(img: float32[C + 4]) -> out: float32[C], half: float32[C / 2 + 1] {
        a(x) = img(x) + 1
        out(x) = a(x + 1) + a(x + 3)
        half(x) = a(2 * x)
    })");
    const Group g = group(all());
    EXPECT_EQ(text(g),
              "a(g0) reach 0..3\n"
              "out(g0) reach 0..0 live-out\n"
              "half(g0 / 2) reach 0..0 live-out\n");
    enumerate(g, 13, 4);
}

TEST_F(GroupTest, AMemberThatOthersReadIsLive) {
    compile(R"(pipeline p(img: float32[C + 4]) -> out: float32[C] {
        a(x) = img(x) + 1
        b(x) = a(x) + a(x + 2)
        out(x) = b(x) + b(x + 1) + a(x + 4)
    })");
    const Group g = group(stages({"a", "b"}));
    EXPECT_EQ(g.live_outs, stages({"a", "b"}));
}

TEST_F(GroupTest, WithoutABudgetReadsHaveNoRelations) {
    compile(
        "pipeline p(img: uint8[R + 8, C]) -> out: uint8[R, C] {\n"
        "    a(y, x) = if y / 2 < x then img(y, x) else img(y % 7, x)\n"
        "    out(y, x) = min(a(y, x), a(x % 7, x))\n}");
    for (const unsigned long budget : {1UL, 1000UL, 2000UL, 4000UL, 8000UL, 16000UL}) {
        std::set<std::pair<int, ir::Source>> reads, all;
        for (const Dependence& d : find_dependences(pipeline(), model(), {.max_operations = budget})) {
            reads.emplace(d.reader, d.source);
            EXPECT_EQ(d.indices.size(), 2u);
            EXPECT_FALSE(budget == 1 && (d.indices[0] || d.indices[1]));
        }
        for (const Dependence& d : dependences_) all.emplace(d.reader, d.source);
        EXPECT_EQ(reads, all) << budget;
    }
}

TEST_F(GroupTest, IndicesThatRunBackwardSayAlongWhat) {
    compile(R"(pipeline p(img: uint8[R, C], u: int32[R]) -> out: uint8[C, R] {
        out(x, y) = uint8(img(R - 1 - y, x) + img(max(R - 2 - y, 0), C - 1 - x)
                          + (if x + y < R then img(R - 1 - x - y, 0) + img(clamp(u(y), 0, R - 1), x)
                                                + img(max(R - 1 - y - (u(y) & 3), 0), x) else 0))
    })");
    std::set<std::vector<int>> against;
    for (const Dependence& d : dependences_) {
        for (std::size_t i = 0; i < d.indices.size(); ++i) EXPECT_TRUE(d.against[i] < 0 || !d.indices[i]);
        if (d.indices.size() == 2) against.insert(d.against);
    }
    EXPECT_EQ(against, (std::set<std::vector<int>>{{1, -1}, {1, 0}, {-1, -1}}));
}

TEST_F(GroupTest, SharedBranchesAreReadOnce) {
    std::string nested = "img(x)";
    for (int i = 0; i < 60; ++i) nested = "f(" + nested + ")";  // 2^60 ways through the branches
    compile(
        "fn f(v) = if v > 0.5 then v * 0.5 else v + 1\n"
        "pipeline p(img: float32[N]) -> out: float32[N] {\n    out(x) = " +
        nested + "\n}");
    EXPECT_EQ(dependences_.size(), 1u);
}

TEST_F(GroupTest, LoopsOfConstantLengthAreStencils) {
    compile(R"(pipeline p(img: float32[C + 8]) -> out: float32[C] {
        a(x) = img(x) + 1
        out(x) = sum(k in -2..3) a(x + 2 * k + 4)
    })");
    EXPECT_EQ(text(group(all())), "a(g0) reach 0..8\nout(g0) reach 0..0 live-out\n");
}

TEST_F(GroupTest, ReasonsAgainstAGroup) {
    compile(R"(pipeline p(img: float32[R, C], lut: uint8[256]) -> out: float32[R, C] {
        a(y, x) = img(y, x) + 1
        t(i in 0..256) = float32(lut(i)) * 2
        total(y) = a(y, C - 1)
        back(y, x) = a(y, C - 1 - x)
        out(y, x) = back(y, x) + total(y) + t(uint8(a(y, x)))
    })");
    EXPECT_EQ(reason(stages({"a", "total"})), "`total` reads `a` in dimension `x` at no constant distance");
    EXPECT_EQ(reason(stages({"a", "back"})), "`back` reads `a` in dimension `x` at no constant distance");
    EXPECT_EQ(reason(stages({"t", "out"})), "`out` reads `t` in dimension `i` at no constant distance");
    EXPECT_EQ(reason(stages({"total", "out"})), "");
}

TEST_F(GroupTest, WhatEveryTileNeedsAllOfStaysWholeBesideAStageOfTheSameDomain) {
    compile(R"(pipeline p(f: float32[11]) -> total: float32[], b: float32[11] {
        a(i) = f(i) * 2
        total() = a(0) + a(3) + a(10)
        b(i) = f(10 - i)
    })");
    EXPECT_EQ(text(group(all())), "a(all) reach 0..0\ntotal() reach 0..0 live-out\nb(g0) reach 0..0 live-out\n");
}

TEST_F(GroupTest, DistancesThatDifferByMoreThanAConstantDoNotAlign) {
    compile(R"(pipeline p(img: float32[4 * C + 4]) -> out: float32[C] {
        a(x) = img(x) + 1
        out(x) = a(x) + a(2 * x)
    })");
    EXPECT_EQ(reason(all()), "`out` reads `a` in dimension `x` at no constant distance");
}

TEST_F(GroupTest, AccumulatesWhoseCellsOwnTheirPointsAreMembers) {
    compile(R"(pipeline p(u: uint8[R, C]) -> out: float32[R / 8, C / 4, 5] {
    accumulate grid(k in 0..2, y in -1..R / 8 + 3, x in -1..C / 4 + 3, z in 0..9): float32 = 0 {
        for y in 0..R, x in 0..C { grid(0, (y + 4) / 8, x / 4, u(y, x) % 9) += 1 }
        for y in 0..R, x in 0..C { grid(1, y / 8, (x + 2) / 4, 3) += 2 }
    }
    rows(k, y, x, z) = grid(k, y - 1, x, z) + grid(k, y + 2, x, z)
    out(y, x, z) = rows(0, y, x, z) + rows(1, y, x + 1, z + 4)
})");
    EXPECT_EQ(text(group(stages({"grid", "rows", "out"}))), R"(grid(all, g0, g1, all) reach -1..2, 0..1
rows(all, g0, g1, all) reach 0..0, 0..1
out(g0, g1, all) reach 0..0, 0..0 live-out
)");
    EXPECT_EQ(text(group(stages({"grid"}))), "grid(all, g0, g1, all) reach 0..0, 0..0 live-out\n");
}

TEST_F(GroupTest, OtherAccumulatesAreRefused) {
    compile(R"(pipeline p(u: uint8[N]) -> a: int32[N], b: int32[256], c: int32[N, N], d: int32[N], e: int32[8] {
    double(x) = int32(u(x)) * 2
    accumulate a(x in 0..N): int32 = 0 { for x in 0..N { a(x) += double(x) } }
    accumulate b(v in 0..256): int32 = 0 { for x in 0..N { b(u(x)) += 1 } }
    accumulate c(x in 0..N, v in 0..N): int32 = 0 { for x in 0..N { c(x, clamp(int32(u(x)), 0, N - 1)) += 1 } }
    accumulate counts(v in 0..256, x in 0..N): int32 = 0 { for x in 0..N { counts(u(x), x) += 1 } }
    d(x) = counts(3, x)
    accumulate few(i in 0..8): int32 = 0 { for i in 0..8, x in 0..N { few(i) += int32(u(x)) } }
    e(i) = few(7 - i)
})");
    EXPECT_EQ(reason(stages({"double", "a"})), "`a` accumulates what `double` is, which must be there before");
    EXPECT_EQ(reason(stages({"b"})), "`b` accumulates, and any of its points may have any update");
    EXPECT_EQ(reason(stages({"c"})), "`c` accumulates anywhere in dimension `v`");
    EXPECT_EQ(reason(stages({"counts", "d"})), "`counts` accumulates anywhere in dimension `v`");
    EXPECT_EQ(reason(stages({"few", "e"})), "every tile would need all of `few`, which accumulates");
}

}  // namespace
}  // namespace pipec::poly::group_test
