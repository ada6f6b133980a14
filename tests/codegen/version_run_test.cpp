// Code of its own for values of sizes: the interpreter's bits on the host and on the emulated device, for launches that
// have these values and for others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/passes.h"
#include "support/render.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::version_run_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Case {
    const char* name;
    const char* program;
    std::vector<const char*> conditions;  ///< of the versions, in the order in which a launch asks for them
    std::vector<Sizes> sizes;             ///< with the parameters that ranges use
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class Versions : public ::testing::TestWithParam<Case> {};

/// A program with its versions.
struct Program {
    SourceManager sources;
    Diagnostics diags;
    compiler::Settings settings;
    compiler::Checked checked;
    explicit Program(const std::string& text) {
        settings.versions = true;
        checked = compiler::check(sources, sources.add("case.pipe", text), settings, diags);
        EXPECT_FALSE(diags.has_errors()) << render_text(diags, sources);
    }
};

/// Its launch and its workspace's size ask for the versions in this order.
void expect_conditions(const std::string& code, const std::vector<const char*>& conditions) {
    std::size_t at = code.rfind("_launch(const p_args* args");
    ASSERT_NE(at, std::string::npos);
    for (const char* condition : conditions) {
        EXPECT_NE(code.find(fmt::format("if ({}) return ", condition)), std::string::npos) << condition;
        const std::size_t found = code.find(fmt::format("if ({}) return ", condition), at);
        ASSERT_NE(found, std::string::npos) << condition;
        at = found;
    }
    const std::size_t more = code.find("::version_launch(args", code.find('\n', at));
    EXPECT_GT(more, code.find("\n}\n", at));
}

TEST_P(Versions, HaveTheBitsOfAll) {
    const Program program(GetParam().program);
    const auto& [sources, diags, settings, checked] = program;
    ASSERT_FALSE(diags.has_errors());
    const fusion::Target target = fusion::default_target();
    const compiler::Scheduled scheduled = compiler::schedule(compiler::prepare(checked), {}, target, settings, sources);
    compiler::Lowered lowered = compiler::lower(checked, scheduled, settings, sources);
    lowered.versions = compiler::lower_versions(checked, {}, target, settings, sources);
    const std::string header = compiler::header_text("case.pipe", "generated", checked);
    const std::string cuda = compiler::code_text("case.pipe", "generated.h", checked, lowered, sources);
    const std::string cpp = compiler::code_text("case.pipe", "generated.h", checked, std::nullopt, sources);
    expect_conditions(cuda, GetParam().conditions);
    std::vector<const char*> on_host = GetParam().conditions;  // where a small number by itself decides nothing
    std::erase_if(on_host, [](std::string_view condition) { return condition.find("<=") != std::string_view::npos; });
    expect_conditions(cpp, on_host);
    const HostLibrary host(header, cpp, kNothingUndefined);
    const DeviceLibrary device(header, "generated.h", cuda);
    std::mt19937_64 rng(7);
    for (const ir::Pipeline& definition : checked.definitions) {
        for (const Sizes& sizes : GetParam().sizes) {
            const reference::Arguments arguments = random_arguments(definition, sizes, Fill::Smooth, rng);
            const auto expected = reference::run(definition, arguments);
            for (const Layout layout : {Layout::Dense, Layout::Rotated}) {
                const auto results = run_host(host.info(definition.name), arguments, layout);
                const auto on_device = run_device(device.info(definition.name), arguments, layout, rng());
                for (const auto& [name, array] : expected) {
                    std::string with = name;
                    for (const auto& [size, value] : sizes) with += fmt::format(", {} = {}", size, value);
                    EXPECT_EQ(difference(array, results.at(name)), "") << with << ", on the host";
                    EXPECT_EQ(difference(array, on_device.at(name)), "") << with << ", on the device";
                }
            }
        }
    }
}

const Case kCases[] = {
    {"channels",
     R"(import "boundary"
        pipeline p(img: uint8[H, W, C], w: float32[C]) -> out: uint8[H, W, C], grey: float32[H, W], mean: float32[C] {
            at(y, x, c) = img(clamp(y, 0, H - 1), clamp(x, 0, W - 1), c)
            out(y, x, c) = uint8((sum(i in -1..=1, j in -1..=1) int32(at(y + i, x + j, c))) / 9)
            grey(y, x) = sum(c in 0..C) w(c) * img(y, x, c)
            mean(c) = (sum(y in 0..H, x in 0..W) float32(img(y, x, c))) / (H * W)
        })",
     {"plan.C == 3", "plan.C == 4", "plan.C == 1", "plan.C <= 16"},
     {{{"H", 1}, {"W", 1}, {"C", 3}},
      {{"H", 9}, {"W", 41}, {"C", 3}},
      {{"H", 7}, {"W", 35}, {"C", 4}},
      {{"H", 5}, {"W", 70}, {"C", 1}},
      {{"H", 6}, {"W", 33}, {"C", 2}},
      {{"H", 3}, {"W", 20}, {"C", 16}},
      {{"H", 6}, {"W", 3}, {"C", 37}}}},
    // The names that versions and their functions would have are taken.
    {"channels_and_a_default",
     R"(pipeline p(img: float32[C, H, W] order(1, 2, 0), r: int32 = 2, version_launch: float32[1])
                -> out: float32[C, H, W] order(1, 2, 0), best: int32[H, W] where 0 <= r <= 4 {
            at(c, y, x) = img(c, clamp(y, 0, H - 1), clamp(x, 0, W - 1)) * version_launch(0)
            start(c, y, x) = sum(i in -r..=r) at(c, y + i, x)
            out(c, y, x) = sum(j in -r..=r) start(c, y, x + j)
            best(y, x) = argmax(i in -r..=r) at(0, y + i, x)
        }
        pipeline p_C3(img: float32[H, W, C], r: int32 = 1) -> out: float32[H, W, C] {
            out(y, x, c) = img(y, x, c) * r
        })",
     {"plan.r == 2 && plan.C == 3", "plan.C == 3", "plan.r == 2"},
     {{{"H", 9}, {"W", 37}, {"C", 3}, {"r", 2}},
      {{"H", 9}, {"W", 37}, {"C", 3}, {"r", 1}},
      {{"H", 5}, {"W", 34}, {"C", 5}, {"r", 2}},
      {{"H", 4}, {"W", 12}, {"C", 4}, {"r", 0}}}},
    // A workspace of its own size, and a result whose extent has a default that the parameter decides.
    {"workspaces_and_strides",
     R"(pipeline p(img: float32[R, C], s: int32 = 2) -> out: float32[H = R / s, W = C / s], total: float32[1]
            where 1 <= s <= 3, s * H <= R, s * W <= C
        {
            up(y, x) = exp(img(y, x))
            out(y, x) = sum(i in 0..s, j in 0..s) up(s * y + i, s * x + j)
            total(k) = sum(y in 0..R, x in 0..C) up(y, x)
        })",
     {"plan.s == 2"},
     {{{"R", 9}, {"C", 70}, {"H", 4}, {"W", 35}, {"s", 2}}, {{"R", 14}, {"C", 47}, {"H", 4}, {"W", 15}, {"s", 3}}}},
};

INSTANTIATE_TEST_SUITE_P(Programs, Versions, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

/// A condition that no launch with such a value meets makes it no version.
TEST(Versions, OfValuesThatNoLaunchHasThereAreNone) {
    const Program program(
        "pipeline p(a: uint8[H, W, C]) -> b: uint8[H, W, C] where C >= 4 { b(y, x, c) = max(a(y, x, c), a(y, x, 3)) }");
    ASSERT_EQ(program.checked.versions.size(), 2U);
    EXPECT_EQ(program.checked.versions.front().known.front().value, 4);
    EXPECT_EQ(program.checked.versions.back().most.at(0).value, 16);
}

/// Nor of those that do not go with the sizes that are tuned for. What is said of a launch then is about the code for
/// all.
TEST(Versions, OfValuesThatSizesForbidThereAreNone) {
    Program program(
        "pipeline p(a: uint8[H, W, C]) -> b: uint8[H, W, C] where H < 100 * C { b(y, x, c) = uint8(255 - a(y, x, c)) "
        "}");
    ASSERT_EQ(program.checked.versions.size(), 4U);
    compiler::ModelRequest request;
    request.sizes = {{"H", 350}};
    compiler::keep_versions(program.checked, request, fusion::default_target(), program.settings, program.sources);
    ASSERT_EQ(program.checked.versions.size(), 2U);
    EXPECT_EQ(program.checked.versions.front().known.front().value, 4);
    EXPECT_EQ(compiler::choose_versions(program.checked, {{"C", 9}}).checked.pipelines.front().where.size(), 2U);
    EXPECT_EQ(compiler::choose_versions(program.checked, {{"C", 17}}).checked.pipelines.front().where.size(), 1U);
    EXPECT_TRUE(compiler::choose_versions(program.checked, {{"C", 3}}).known.front().empty());
    EXPECT_EQ(compiler::choose_versions(program.checked, {{"C", 4}}).known.front().at("C"), 4);
}

}  // namespace
}  // namespace pipec::testing::version_run_test
