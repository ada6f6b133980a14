// Small integers, two in a register, in the SIMT emulator against the interpreter: at the ends of what halves hold,
// read by stages that are in halves and by others, in rows and columns of other scales.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/lower.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::register_halves_test {
namespace {

struct Program {
    const char* name;
    const char* text;
    std::vector<std::string> stages;
    std::vector<std::string> halves;  ///< those that are computed in halves
};

const Program kPrograms[] = {
    {"Colours",
     R"(pipeline p(img: uint8[R + 4, C + 4, 3]) -> out: uint8[R, C, 3] {
    const W = [1, 4, 6, 4, 1]
    down(y, x, c) = sum(i in 0..5) W[i] * int32(img(y + i, x, c))
    out(y, x, c) = uint8((sum(j in 0..5) W[j] * down(y, x + j, c) + 128) / 256)
})",
     {"down", "out"},
     {"down", "out"}},
    // 257 * 255 = 65535; halves that are read alone, by a shift and a minimum; a stage that is an output too.
    {"Ends",
     R"(pipeline p(img: uint8[R + 2, C + 2]) -> out: uint16[R, C], full: uint16[R + 2, C], float: float32[R, C] {
    full(y, x) = uint16(uint16(img(y, x)) + 250 * uint16(img(y, x + 1)) + 6 * uint16(img(y, x + 2)))
    out(y, x) = uint16(min(full(y, x) >> 3, 4000) + full(y + 2, x))
    float(y, x) = (full(y, x) + full(y + 1, x)) * 0.5
})",
     {"full", "out", "float"},
     {"full"}},
    // What leaves the range on the way only, and what does not fit.
    {"Signs",
     R"(pipeline p(img: uint8[R + 2, C + 2]) -> out: uint8[R, C], far: int32[R, C] {
    edge(y, x) = 2 * int32(img(y, x)) - 3 * int32(img(y + 1, x)) - int32(img(y + 2, x)) + 1020
    low(y, x) = (-int32(img(y, x)) - (3 - 2 * int32(img(y + 1, x))) + 258) >> 2
    far(y, x) = edge(y, x) - 4 * edge(y, x + 1) + low(y, x)
    out(y, x) = uint8((edge(y, x) + edge(y, x + 1) + 2 * edge(y, x + 2)) / 32)
})",
     {"edge", "low", "far", "out"},
     {"edge", "low", "out"}},
    {"Wrapping",
     R"(pipeline p(img: uint16[R + 2, C + 4]) -> out: uint16[R, C], same: uint16[R, C] {
    total(y, x) = uint16(img(y, x) * 3 + img(y + 1, x) - 2 * img(y + 2, x))
    mean(y, x) = uint16((img(y, x) + 2 * img(y + 1, x) + img(y, x + 2)) / 4)
    out(y, x) = uint16(total(y, x) - total(y, x + 1) + mean(y, x) + mean(y, x + 2))
    same(y, x) = mean(y, x)
})",
     {"total", "mean", "out", "same"},
     {}},
    // Minima and maxima tell halves apart: what they are of may not leave the range on the way either.
    {"Extremes",
     R"(pipeline p(img: uint16[R + 4, C + 4], small: uint8[R + 4, C + 4])
    -> out: uint16[R, C], range: int32[R, C], above: int32[R, C] {
    low(y, x) = min(i in 0..4) img(y + i, x)
    high(y, x) = max(i in 0..5) (int32(small(y + i, x)) + 255 * i)
    out(y, x) = min(max(low(y, x), low(y, x + 4)), low(y, x + 2))
    range(y, x) = max(high(y, x), high(y, x + 1)) - min(high(y, x + 2), high(y, x + 3))
    above(y, x) = max(int32(img(y, x)) - int32(img(y + 1, x)), 0) + min(small(y, x), small(y + 1, x)) + 2
})",
     {"low", "high", "out", "range", "above"},
     {"low", "high"}},
    // Points of different formulas, one of which does not fit.
    {"Channels",
     R"(pipeline p(img: uint8[R + 1, C, 3]) -> out: int32[R, C, 3] {
    mix(y, x, c) = (if c == 1 then 300 else 2) * int32(img(y, x, c)) + int32(img(y + 1, x, c)) + 1
    out(y, x, c) = mix(y, x, c) / 4
})",
     {"mix", "out"},
     {}},
    {"Scales",
     R"(pipeline p(img: uint8[2 * R + 4, 2 * C + 4]) -> out: uint8[2 * R, 2 * C] {
    small(y, x) = (int32(img(2 * y, 2 * x)) + 3 * int32(img(2 * y + 1, 2 * x)) + 3 * int32(img(2 * y + 1, 2 * x + 1)) + 1) / 8
    wide(y, x) = 3 * small(y / 2, x / 2) + small((y + 1) / 2, (x + 1) / 2) + 2
    out(y, x) = uint8((wide(y, x) + 2 * wide(y, x) + wide(y, x)) >> 4)
})",
     {"small", "wide", "out"},
     {"small", "wide", "out"}},
};

void PrintTo(const Program& program, std::ostream* out) {
    *out << program.name;
}

class RegisterHalves : public ::testing::TestWithParam<Program> {};

TEST_P(RegisterHalves, EqualReference) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", GetParam().text);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    std::mt19937_64 rng(20261121);
    fusion::GroupSchedule group;
    group.stages = GetParam().stages;
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 2, 1};
    group.tile = {4, 4, 1};
    codegen::CudaOptions options;
    options.schedules["p"] = fusion::Schedule{{}, {group}};
    const std::string code = codegen::cuda_source("p.pipe", "p.h", units, sources, options);
    for (const std::string& stage : GetParam().stages) {
        const auto& halves = GetParam().halves;
        const bool wanted = std::find(halves.begin(), halves.end(), stage) != halves.end();
        EXPECT_EQ(code.find(fmt::format("uint32_t {}_0_0", stage)) != std::string::npos, wanted) << stage;
    }
    const DeviceLibrary library(units, sources, options);
    for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(27, 300)}) {
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
            const reference::Arguments arguments =
                random_arguments(*units.front().pipeline, {{"R", rows}, {"C", columns}}, fill, rng);
            const auto actual = run_device(library.info("p"), arguments, Layout::Dense, rng());
            for (const auto& [output, array] : reference::run(*units.front().pipeline, arguments)) {
                ASSERT_EQ(difference(array, actual.at(output)), "") << output;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, RegisterHalves, ::testing::ValuesIn(kPrograms),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace pipec::testing::register_halves_test
