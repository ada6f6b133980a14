// Stages of which none reads another one, in one kernel: the bits of the definition in each strategy.
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::sibling_run_test {
namespace {

using fusion::Strategy;
using Sizes = std::map<std::string, std::int64_t>;

const std::vector<Sizes> kImages{{{"R", 1}, {"C", 1}},
                                 {{"R", 1}, {"C", 70}},
                                 {{"R", 37}, {"C", 1}},
                                 {{"R", 19}, {"C", 45}},
                                 {{"R", 67}, {"C", 133}}};

struct Case {
    const char* name;
    const char* program;
    std::vector<std::string> stages;
    std::size_t stage_kernels = 2;  ///< with Strategy::Stage: one for those that have the same points
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

const std::vector<Case> kCases{
    {"the_same_domain",
     R"(pipeline p(img: uint8[R, C]) -> a: uint8[R, C], b: int16[R, C], c: float32[R, C] {
        a(y, x) = uint8(255 - img(y, x))
        b(y, x) = int16(img(y, x) - img(y, min(x + 1, C - 1)))
        c(y, x) = float32(y + x) / 2
    })",
     {"a", "b", "c"},
     1},
    {"half_of_the_points",
     R"(pipeline p(img: uint8[3, 2 * R, 2 * C]) -> y: uint8[2 * R, 2 * C], u: uint8[R, C] {
        y(i, j) = uint8((img(0, i, j) + img(1, i, j) + img(2, i, j)) / 3)
        u(i, j) = uint8((img(2, 2 * i, 2 * j) + img(2, 2 * i + 1, 2 * j + 1)) / 2)
    })",
     {"y", "u"}},
    {"points_more",
     R"(pipeline p(img: float32[R + 9, C + 4]) -> a: float32[R, C], b: float32[R + 9, C + 1] {
        a(y, x) = img(y + 9, x) - img(y, x + 4)
        b(y, x) = img(y, x) + img(y, x + 3)
    })",
     {"a", "b"}},
    {"transposed",
     R"(pipeline p(img: float32[R, C]) -> a: float32[R, C], b: float32[C, R] {
        a(y, x) = img(y, x) * 2
        b(x, y) = img(y, x) + 1
    })",
     {"a", "b"}},
    {"mirrored",
     R"(pipeline p(img: float32[R, C]) -> a: float32[R, C], b: float32[R, C] {
        a(y, x) = img(y, C - 1 - x)
        b(y, x) = img(R - 1 - y, x)
    })",
     {"a", "b"},
     1},
    {"families",
     R"(pipeline p(img: float32[R + 2, C + 2]) -> a: float32[R, C], b: float32[R, C] {
        u(y, x) = img(y, x) + img(y + 2, x)
        v(y, x) = img(y, x) - img(y, x + 2)
        a(y, x) = u(y, x) * u(y, x + 2)
        b(y, x) = v(y, x) * v(y + 2, x)
    })",
     {"u", "v", "a", "b"},
     3},
    {"reductions",
     R"(pipeline p(img: float32[R, C + 8]) -> low: float32[R, C], high: float32[R, C], total: float32[R, C] {
        low(y, x) = min(k in 0..9) img(y, x + k)
        high(y, x) = max(k in 0..9) img(y, x + k)
        total(y, x) = sum(k in 0..9) img(y, x + k)
    })",
     {"low", "high", "total"},
     1},
};

class Siblings : public ::testing::TestWithParam<Case> {};

TEST_P(Siblings, HaveTheBitsOfTheDefinitionInOneKernel) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const ir::Pipeline& definition = compiled.definitions.front();
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    std::mt19937_64 rng(7);
    std::uint64_t order = 0;
    int possible = 0;
    for (const Strategy strategy : {Strategy::Stage, Strategy::Otptb, Strategy::Otpw, Strategy::Hybrid,
                                    Strategy::RegisterTile, Strategy::Stream}) {
        SCOPED_TRACE(std::string(fusion::name(strategy)));
        fusion::GroupSchedule group = fusion::default_group(strategy, 2);
        group.stages = GetParam().stages;
        const codegen::CudaOptions options{.schedules = {{definition.name, fusion::Schedule{{}, {group}}}}};
        try {
            const codegen::kernel::Program program = codegen::lower(units.front(), sources, options);
            ASSERT_EQ(program.steps.size(), strategy == Strategy::Stage ? GetParam().stage_kernels : 1u);
        } catch (const fusion::ScheduleError&) {
            continue;
        }
        ++possible;
        const DeviceLibrary device(units, sources, options);
        for (const Sizes& sizes : kImages) {
            const reference::Arguments arguments = random_arguments(definition, sizes, Fill::Smooth, rng);
            const auto expected = reference::run(definition, arguments);
            const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
            const auto on_device = run_device(device.info("p"), arguments, layout, order++);
            for (const auto& [name, array] : expected)
                EXPECT_EQ(difference(array, on_device.at(name)), "") << name << " of " << sizes.begin()->second;
        }
    }
    EXPECT_GE(possible, 3);
}

INSTANTIATE_TEST_SUITE_P(Groups, Siblings, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace pipec::testing::sibling_run_test
