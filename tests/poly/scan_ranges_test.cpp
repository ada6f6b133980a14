// Ranges of scans against the values that scans have: random definitions, and those that people write.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>

#include "ir/build.h"
#include "ir/print.h"
#include "oracle.h"
#include "poly/stage_ranges.h"
#include "support_lib/compile.h"

namespace pipec::test::scan_ranges_test {
namespace {

using ir::BinaryOp;
using ir::Type;

/// The range of the only stage of a pipeline of `v: int32[C]` with `n(x in 0..C): int32 = e`.
std::string range_of(const std::string& e, const std::string& type = "int32") {
    SourceManager sources;
    compiler::Settings settings;
    settings.last = compiler::Phase::Elaborate;
    const testing::Compiled compiled = testing::compile_text(
        sources, "test.pipe",
        "pipeline p(v: uint8[C], w: int32[C], g: float32[C], k: int32) -> n: " + type + "[C] { n(x) = " + e + " }\n",
        settings);
    if (compiled.diags.has_errors()) return "an error";
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    std::vector<poly::ValueRange> params;
    for (const ir::ScalarParameter& param : pipeline.params) params.push_back(poly::type_range_of(param.type));
    const poly::StageRanges ranges = poly::stage_ranges(pipeline, {IntRange{1, 4000}}, params, {}, true);
    return text(ranges.values.back());
}

TEST(ScanRanges, OfCounters) {
    EXPECT_EQ(range_of("if x == 0 then 0 else min(n(x - 1) + 1, 17)"), "[0, 17]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if v(x) == v(x - 1) then min(n(x - 1) + 1, 17) else 0"), "[0, 17]");
    EXPECT_EQ(range_of("if x == C - 1 then 0 else min(n(x + 1) + 1, 17)"), "[0, 17]");
    EXPECT_EQ(range_of("if x == 0 then 17 else max(n(x - 1) - 1, 0)"), "[0, 17]");
    EXPECT_EQ(range_of("if x == 0 then 5 else clamp(n(x - 1) + w(x), -3, 9)"), "[-3, 9]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if n(x - 1) < 17 then n(x - 1) + 1 else 0"), "[0, 17]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if n(x - 1) >= 17 then 17 else n(x - 1) + 1"), "[0, 17]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if n(x - 1) < 100 then n(x - 1) + 7 else n(x - 1)"), "[0, 106]");
    EXPECT_EQ(range_of("if x == 0 then 0 else let m = n(x - 1) + 1 in if m == 8 then 0 else min(m, 8)"), "[0, 7]");
    EXPECT_EQ(range_of("if x == 0 then 0 else (n(x - 1) + 1) % 10"), "[0, 9]");
    EXPECT_EQ(range_of("if x == 0 then v(x) else min(n(x - 1), v(x))"), "[0, 255]");
    EXPECT_EQ(range_of("if x == 0 then v(x) else max(n(x - 1) - 4, v(x))"), "[0, 255]");
    EXPECT_EQ(range_of("if x > 0 then (if v(x) > 9 then v(x) else n(x - 1)) else 0"), "[0, 255]");
    EXPECT_EQ(range_of("if x == 0 then v(x) else (n(x - 1) + v(x)) / 2"), "[0, 255]");
    EXPECT_EQ(range_of("min((if x > 0 then n(x - 1) else 0) + 1, C - 1)"), "[0, 3999]");
    EXPECT_EQ(range_of("if x == 0 then 1 else 3 - n(x - 1)"), "[1, 2]");
}

TEST(ScanRanges, OfFloats) {
    EXPECT_EQ(range_of("if x == 0 then 0.5 else clamp(n(x - 1) + g(x), 0, 1)", "float32"), "[0.000000, 1.000000]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if 0 <= g(x) <= 1 then max(g(x), n(x - 1)) else n(x - 1)", "float32"),
              "[0.000000, 1.000000]");
}

TEST(ScanRanges, OfWhatGrowsAreThoseOfTheType) {
    const std::string all = text(poly::type_range(Type::Int32));
    EXPECT_EQ(range_of("if x == 0 then 0 else n(x - 1) + 1"), all);
    EXPECT_EQ(range_of("if x == 0 then 0 else n(x - 1) + v(x)"), all);
    EXPECT_EQ(range_of("if x == 0 then 1 else n(x - 1) * 2"), all);
    EXPECT_EQ(range_of("if x == 0 then w(x) else max(n(x - 1), 3)"), all);
    // It goes down until it wraps.
    EXPECT_EQ(range_of("if x == 0 then 0 else min(n(x - 1) - 1, 17)"), "[-2147483648, 17]");
    EXPECT_EQ(range_of("if x == 0 then 0 else if n(x - 1) != 17 then n(x - 1) + 3 else 0"), all);
}

/// A definition of `previous` and `data` over int32, full of what is near to a limit.
class Definitions {
public:
    Definitions(unsigned seed, ir::Expr previous, ir::Expr data)
        : random_(seed), previous_(std::move(previous)), data_(std::move(data)) {}

    int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

    ir::Expr value(int depth) {
        if (depth <= 0) {
            switch (pick(0, 4)) {
                case 0: return constant();
                case 1: return data_;
                default: return previous_;
            }
        }
        const auto part = [&] { return value(depth - 1 - pick(0, 1)); };
        switch (pick(0, 10)) {
            case 0:
            case 1: return ir::binary(BinaryOp::Add, part(), pick(0, 1) == 0 ? constant() : part());
            case 2: return ir::binary(BinaryOp::Sub, part(), part());
            case 3:
            case 4: return ir::binary(pick(0, 1) == 0 ? BinaryOp::Min : BinaryOp::Max, part(), constant());
            case 5: return ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Min, part(), constant()), constant());
            case 6: return ir::binary(pick(0, 1) == 0 ? BinaryOp::Mod : BinaryOp::Div, part(), constant());
            case 7: return ir::cast(Type::Int32, ir::cast(Type::Int8, part()));  // wraps
            case 8: return ir::binary(BinaryOp::Mul, part(), constant());
            default: {
                constexpr std::array kComparisons{BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                                  BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
                const ir::Expr side = pick(0, 2) == 0 ? part() : previous_;
                const ir::Expr condition =
                    ir::binary(kComparisons[static_cast<std::size_t>(pick(0, 5))], side, constant());
                return ir::select(condition, part(), part());
            }
        }
    }

private:
    ir::Expr constant() {
        const int large = pick(0, 9) == 0 ? 2'000'000'000 : 0;
        return ir::int_constant(Type::Int32, large + pick(-20, 20));
    }

    std::mt19937 random_;
    ir::Expr previous_, data_;
};

TEST(ScanRanges, HoldTheValuesOfRandomScans) {
    int narrow = 0;
    constexpr int kScans = 4000;
    for (unsigned seed = 0; seed < kScans; ++seed) {
        ir::Pipeline pipeline;
        const ir::VarId x = ir::new_variable(pipeline, "x"), before = ir::new_variable(pipeline, "before"),
                        data = ir::new_variable(pipeline, "data");
        const auto number = [](int n) { return ir::int_constant(Type::Int32, n); };
        const ir::Expr at = ir::variable(x, Type::Int32);
        const ir::Expr previous =
            ir::read({ir::Source::Kind::Stage, 0}, Type::Int32, {ir::binary(BinaryOp::Sub, at, number(1))});
        Definitions make(seed, previous, ir::variable(data, Type::Int32));
        const ir::Expr first = number(make.pick(-20, 20)), then = make.value(make.pick(1, 4));
        ir::Stage stage;
        stage.name = "n";
        stage.type = Type::Int32;
        stage.dims.push_back({x, number(0), number(64), {}});
        stage.definition = ir::Pure{ir::select(ir::binary(BinaryOp::Eq, at, number(0)), first, then)};
        stage.scan = ir::Scan{};
        pipeline.stages.push_back(stage);
        const int lo = make.pick(-20, 20), hi = lo + make.pick(0, 30);
        poly::ValueRanges ranges(pipeline, {});
        ranges.bind(data, IntRange{lo, hi});
        ranges.bind_index(x, number(0), number(64));
        ranges.know_stage(poly::type_range(Type::Int32));
        const ValueRange range = poly::scan_range(ranges, stage, 0);
        if (!(range == ValueRange(poly::type_range(Type::Int32)))) ++narrow;
        // The same with a variable for what is read, on data that are at an end or anywhere.
        const std::function<ir::Expr(const ir::Expr&)> local = [&](const ir::Expr& e) -> ir::Expr {
            return ir::as<ir::Read>(e) != nullptr ? ir::variable(before, Type::Int32) : ir::map_children(e, local);
        };
        const ir::Expr step = local(then);
        for (int trial = 0; trial < 8; ++trial) {
            Oracle oracle;
            Value value = oracle(first);
            for (int i = 0; i < 64; ++i) {
                ASSERT_TRUE(is_in(range, value))
                    << "seed " << seed << ": " << ir::to_string(pipeline, then) << " from " << text(oracle(first))
                    << " with data in " << lo << ".." << hi << " is " << text(value) << ", not in " << text(range);
                oracle.variables[before] = value;
                const int kind = trial < 4 ? trial : make.pick(0, 2);
                oracle.variables[data] = test::number(Type::Int32, kind == 0 ? lo : kind == 1 ? hi : make.pick(lo, hi));
                value = oracle(step);
            }
        }
    }
    EXPECT_GT(narrow, kScans / 10);
}

}  // namespace
}  // namespace pipec::test::scan_ranges_test
