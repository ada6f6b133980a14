// Windows of single programs: how tight `required` is, what it says where data decide, and what launches refuse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/generated.h"
#include "support/render.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::window_test {
namespace {

/// A program of one pipeline `p`, compiled for the host, and arguments for it.
class Windowed {
public:
    explicit Windowed(const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes = {{"R", 40}, {"C", 60}},
                      HostTiling tiling = HostTiling::Usual)
        : compiled_(compile_text(sources_, "p.pipe", text)) {
        if (compiled_.pipelines.empty() || !compiled_.ok()) {
            throw std::runtime_error(render_text(compiled_.diags, sources_));
        }
        std::vector<codegen::Unit> units{{&compiled_.pipelines.front(), &compiled_.models.front()}};
        library_.emplace(units, sources_, "-O1 -DPIPE_NO_VERSIONS", tiling, true);
        std::mt19937_64 rng(7);
        arguments = random_arguments(compiled_.definitions.front(), sizes, Fill::Smooth, rng);
    }

    [[nodiscard]] WindowedPipeline pipeline() const { return library_->windowed("p"); }
    [[nodiscard]] Windows required(const Windows& outputs) const {
        return required_windows(pipeline(), arguments, outputs);
    }
    [[nodiscard]] std::string problem(const Windows& outputs, const Windows& held) const {
        return window_problem(pipeline(), arguments, outputs, held);
    }
    [[nodiscard]] std::map<std::string, reference::Array> whole() const {
        return reference::run(compiled_.definitions.front(), arguments);
    }
    /// From here on launches run on the device, too.
    void add_device() {
        const std::vector<codegen::Unit> units{{&compiled_.pipelines.front(), &compiled_.models.front()}};
        device_.emplace(units, sources_, codegen::CudaOptions{.deterministic = true, .schedules = {}}, true);
    }
    /// The windows, launched, are these parts of what the interpreter gives.
    void expect_equal(const Windows& outputs) const {
        const auto expected = whole();
        const auto actual = run_host_windows(pipeline(), arguments, outputs, required(outputs));
        for (const auto& [output, box] : outputs) {
            EXPECT_EQ(difference(part_of(expected.at(output), box), actual.at(output)), "") << output;
        }
        if (!device_) return;
        const auto on_device =
            run_device_windows(device_->windowed("p"), arguments, outputs, required(outputs), Layout::Dense, 1);
        for (const auto& [output, box] : outputs) {
            EXPECT_EQ(difference(part_of(expected.at(output), box), on_device.at(output)), "") << output;
        }
    }

    reference::Arguments arguments;

private:
    SourceManager sources_;
    Compiled compiled_;
    std::optional<HostLibrary> library_;
    std::optional<DeviceLibrary> device_;
};

/// The window of `img` that a window of `out` needs; the launch is compared with the whole as well.
WindowBox needed(const std::string& text, const WindowBox& out) {
    const Windowed program(text);
    program.expect_equal({{"out", out}});
    return program.required({{"out", out}}).at("img");
}

const WindowBox kNothing{{0, 0}, {0, 0}};

TEST(Window, AStencilNeedsItsHalo) {
    const std::string text =
        "pipeline p(img: float32[R + 4, C + 2]) -> out: float32[R, C] {\n"
        "    a(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)\n"
        "    b(y, x) = a(y, x) + a(y, x + 2)\n"
        "    out(y, x) = b(y + 1, x) + b(y + 2, x)\n}\n";
    EXPECT_EQ(needed(text, {{10, 20}, {5, 6}}), (WindowBox{{11, 24}, {5, 8}}));
    EXPECT_EQ(needed(text, {{0, 40}, {0, 60}}), (WindowBox{{1, 44}, {0, 62}}));
}

TEST(Window, BordersAreThoseOfTheImage) {
    for (const char* boundary : {"clamp_to_edge", "constant"}) {
        const std::string text = fmt::format(
            "import \"boundary\"\npipeline p(img: float32[R, C]) -> out: float32[R, C] {{\n"
            "    f = {}(img)\n    out(y, x) = f(y - 2, x - 3) + f(y, x + 1)\n}}\n",
            boundary);
        EXPECT_EQ(needed(text, {{10, 20}, {5, 6}}), (WindowBox{{8, 20}, {2, 7}})) << boundary;
        EXPECT_EQ(needed(text, {{5, 6}, {59, 60}}), (WindowBox{{3, 6}, {56, 60}})) << boundary;
    }
}

TEST(Window, RatesScaleIt) {
    EXPECT_EQ(needed("pipeline p(img: float32[2 * R, 2 * C]) -> out: float32[R, C] {\n"
                     "    out(y, x) = img(2 * y, 2 * x) + img(2 * y + 1, 2 * x + 1)\n}\n",
                     {{10, 20}, {5, 6}}),
              (WindowBox{{20, 40}, {10, 12}}));
    EXPECT_EQ(needed("pipeline p(img: float32[R, C]) -> out: float32[2 * R - 2, 2 * C - 2] {\n"
                     "    out(y, x) = img(y / 2, x / 2) + img((y + 1) / 2, x / 2 + 1)\n}\n",
                     {{11, 20}, {5, 6}}),
              (WindowBox{{5, 11}, {2, 4}}));
    // A coordinate that would wrap is no reason to read everything: the sizes say that it does not.
    EXPECT_EQ(needed("pipeline p(img: float32[R, C]) -> out: float32[R, C] {\n"
                     "    out(y, x) = img(clamp(3 * y - 40, 0, R - 1), C - 1 - x)\n}\n",
                     {{14, 20}, {5, 7}}),
              (WindowBox{{2, 18}, {53, 55}}));
}

TEST(Window, ConditionsDecideWhatIsRead) {
    const std::string text =
        "pipeline p(img: float32[R, C]) -> out: float32[R, C] {\n"
        "    a(y, x) = img(y, x) * 2\n"
        "    out(y, x) = if x >= 10 and y > 0 then a(y - 1, x - 10) else 1\n}\n";
    EXPECT_EQ(needed(text, {{10, 20}, {8, 12}}), (WindowBox{{9, 19}, {0, 2}}));
    EXPECT_EQ(needed(text, {{10, 20}, {3, 10}}), kNothing);
    EXPECT_EQ(needed(text, {{0, 1}, {3, 20}}), kNothing);
}

TEST(Window, ParametersAreKnownWhenItRuns) {
    const std::string text =
        "pipeline p(img: float32[R, C], dx: int32 = 4, n: int32 = 2) -> out: float32[R, C] where n >= 0, n < 5 {\n"
        "    out(y, x) = sum(i in 0..n) img(min(y + i, R - 1), clamp(x + dx, 0, C - 1))\n}\n";
    Windowed program(text, {{"R", 40}, {"C", 60}, {"n", 2}});
    program.arguments.params["dx"] = {ir::Type::Int32, 4, 0};
    program.arguments.params["n"] = {ir::Type::Int32, 2, 0};
    const Windows out{{"out", {{3, 5}, {10, 12}}}};
    EXPECT_EQ(program.required(out).at("img"), (WindowBox{{3, 6}, {14, 16}}));
    program.expect_equal(out);
    program.arguments.params["dx"] = {ir::Type::Int32, -11, 0};
    program.arguments.params["n"] = {ir::Type::Int32, 0, 0};
    program.arguments.sizes["n"] = 0;
    EXPECT_EQ(program.required(out).at("img"), kNothing);
    program.expect_equal(out);
}

TEST(Window, WhereDataDecideAllOfADimensionIsNeeded) {
    EXPECT_EQ(needed("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n"
                     "    out(y, x) = img(y, clamp(img(y, x), 0, C - 1))\n}\n",
                     {{10, 20}, {5, 6}}),
              (WindowBox{{10, 20}, {0, 60}}));
    // So far as it can move.
    EXPECT_EQ(needed("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n"
                     "    out(y, x) = img(y, clamp(x + clamp(img(y, x), -2, 3), 0, C - 1))\n}\n",
                     {{10, 20}, {5, 6}}),
              (WindowBox{{10, 20}, {3, 9}}));
}

TEST(Window, ReductionsAndUpdatesNeedWhatTheyReadOfTheWhole) {
    EXPECT_EQ(needed("pipeline p(img: float32[R, C]) -> out: float32[R] {\n"
                     "    out(y) = sum(x in 0..C) img(y, x)\n}\n",
                     {{10, 20}}),
              (WindowBox{{10, 20}, {0, 60}}));
    EXPECT_EQ(needed("pipeline p(img: float32[R, C]) -> out: float32[R, C] {\n"
                     "    total() = sum(y in 0..R, x in 0..C) img(y, x)\n"
                     "    out(y, x) = img(y, x) / total()\n}\n",
                     {{10, 20}, {5, 6}}),
              (WindowBox{{0, 40}, {0, 60}}));
    EXPECT_EQ(needed("pipeline p(img: uint8[R, C]) -> out: int32[R] {\n"
                     "    accumulate out(r in 0..R): int32 = 0 {\n"
                     "        for y in 0..R, x in 3..C { out(int32(img(y, x)) % R) += 1 }\n    }\n}\n",
                     {{10, 20}}),
              (WindowBox{{0, 40}, {0, 60}}));
}

// A copy of `w` in another order (fusion/transpose_reads.h) has the rows alone that the window reads.
TEST(Window, TransposedArraysAreNoLargerThanWhatIsRead) {
    Windowed program(
        "pipeline p(img: float32[R, K], w: float32[C, K]) -> out: float32[R, C] {\n"
        "    out(y, x) = sum(k in 0..K) img(y, k) * w(x, k)\n}\n",
        {{"R", 40}, {"C", 60}, {"K", 50}});
    program.add_device();
    const Windows outputs{{"out", {{10, 20}, {5, 9}}}};
    EXPECT_EQ(program.required(outputs).at("img"), (WindowBox{{10, 20}, {0, 50}}));
    EXPECT_EQ(program.required(outputs).at("w"), (WindowBox{{5, 9}, {0, 50}}));
    program.expect_equal(outputs);
}

TEST(Window, ScansNeedWhatComesBefore) {
    EXPECT_EQ(needed("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n"
                     "    out(y, x in 0..C): int32 = img(y, x) + (if x > 0 then out(y, x - 1) else 0)\n}\n",
                     {{10, 20}, {25, 26}}),
              (WindowBox{{10, 20}, {0, 26}}));
    EXPECT_EQ(needed("pipeline p(img: int32[R, C]) -> out: int32[R, C] {\n"
                     "    s(y in 0..R, x in 0..C): int32 = img(y, x) + (if y < R - 1 then s(y + 1, x) else 0)\n"
                     "    out(y, x) = s(y, x)\n}\n",
                     {{10, 20}, {25, 26}}),
              (WindowBox{{10, 40}, {25, 26}}));
}

const std::string kSeveral =
    "pipeline p(img: float32[R, C], other: float32[R, C], k: float32[]) -> out: float32[R, C], rgb: uint8[R, C, 3] "
    "order(0, 1, 2), mean: float32[] {\n"
    "    out(y, x) = img(y, x) * k()\n"
    "    weight(i in 0..3) = k() * i\n"
    "    rgb(y, x, c) = saturate<uint8>(out(min(y + 1, R - 1), x) + other(y, x) * weight(c))\n"
    "    mean() = sum(y in 0..R, x in 0..C) other(y, x)\n}\n";

TEST(Window, OutputsAreAskedForOneByOne) {
    for (const HostTiling tiling : {HostTiling::None, HostTiling::Usual, HostTiling::Small}) {
        Windowed program(kSeveral, {{"R", 40}, {"C", 60}}, tiling);
        if (tiling == HostTiling::None) program.add_device();
        Windows some{{"out", {{1, 3}, {5, 9}}}};
        EXPECT_EQ(program.required(some).at("other"), kNothing);
        EXPECT_EQ(program.required(some).at("img"), (WindowBox{{1, 3}, {5, 9}}));
        program.expect_equal(some);
        some = {{"rgb", {{10, 12}, {5, 9}, {0, 3}}}};
        EXPECT_EQ(program.required(some).at("img"), (WindowBox{{11, 13}, {5, 9}}));
        program.expect_equal(some);
        // Far apart: what lies between is computed as well, because stages are computed in boxes.
        some = {{"out", {{0, 2}, {50, 60}}}, {"rgb", {{30, 40}, {0, 9}, {0, 3}}}};
        EXPECT_EQ(program.required(some).at("img"), (WindowBox{{0, 40}, {0, 60}}));
        program.expect_equal(some);
        some = {{"mean", {}}};
        EXPECT_EQ(program.required(some).at("other"), (WindowBox{{0, 40}, {0, 60}}));
        EXPECT_EQ(program.required(some).at("img"), kNothing);
        program.expect_equal(some);
        program.expect_equal({});
    }
}

TEST(Window, RefusalsSayWhatIsWrong) {
    const Windowed program(kSeveral);
    const Windows out{{"out", {{1, 3}, {5, 9}}}};
    EXPECT_EQ(program.problem(out, {{"img", {{1, 3}, {5, 9}}}}), "");
    EXPECT_EQ(program.problem(out, {{"img", {{0, 3}, {5, 10}}}}), "");
    EXPECT_EQ(program.problem(out, {{"img", {{1, 3}, {6, 9}}}}),
              "`img`: the window in dimension 1 is from 6 to 9, but 5 to 9 is needed");
    EXPECT_EQ(program.problem(out, {}), "`img`: the window in dimension 0 is from 0 to 0, but 1 to 3 is needed");
    EXPECT_EQ(program.problem({{"out", {{1, 41}, {5, 9}}}}, {}),
              "`out`: the window in dimension 0 is from 1 to 41, but must lie in 0 to 40");
    EXPECT_EQ(program.problem({{"out", {{3, 1}, {5, 9}}}}, {}),
              "`out`: the window in dimension 0 is from 3 to 1, but must lie in 0 to 40");
    EXPECT_EQ(program.problem({{"rgb", {{1, 3}, {5, 9}, {0, 2}}}}, {}),
              "`rgb`: the window in dimension 2 is from 0 to 2, but must be all of the constant extent, 0 to 3");
    Windowed wrong(kSeveral);
    wrong.arguments.inputs["other"] = reference::Array(ir::Type::Float32, {39, 60});
    EXPECT_EQ(wrong.problem(out, {}), "`other`: extent 0 is 39, but must be R = 40 (R = 40 from `img`)");
}

TEST(Window, CodeHasNoWarnings) {
    const Directory directory;
    SourceManager sources;
    // One without inputs, and names that the code has for itself.
    const Compiled compiled =
        compile_text(sources, "p.pipe",
                     kSeveral +
                         "pipeline none(n: int32 = 3) -> out: int32[R, C] {\n    out(y, x) = y * n + x\n}\n"
                         "pipeline need(parts: int32[whole, window]) -> box: int32[whole, window] {\n"
                         "    wrapped(y, x) = parts(y, x) / 2\n"
                         "    box(y, x) = wrapped(y, clamp(x + 1, 0, window - 1)) + wrapped(y, x)\n}\n");
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.models.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    ASSERT_EQ(units.size(), 3u);
    directory.write("p.h", codegen::header("p.pipe", "p", units, {}, true));
    directory.write("p.cpp", codegen::host_source("p.pipe", "p.h", units, sources, {}, {}, true));
    directory.write("only.c", "#include \"p.h\"\n#include \"p.h\"\nint main(void) { return 0; }\n");
    std::string output;
    const auto expect_success = [&](const std::string& command) {
        EXPECT_EQ(directory.run(command, &output), 0) << command << "\n" << output;
        EXPECT_EQ(output, "");
    };
    expect_success(PIPEC_HOST_CC " -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only $D/only.c");
    expect_success(PIPEC_HOST_CXX " -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only $D/only.c");
    expect_success(PIPEC_HOST_CXX " -std=c++17 -O2 -fopenmp -Wall -Wextra -Werror -c $D/p.cpp -o $D/p.o");
}

}  // namespace
}  // namespace pipec::testing::window_test
