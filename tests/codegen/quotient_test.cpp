// Divisions and square roots without branches: the same bits as those of the language, also for operands that ask for
// the second way, and also when that way follows although nothing asked for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <regex>
#include <string>

#include "codegen/expr/reciprocal.h"
#include "compiler/passes.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::quotient_test {
namespace {

bool same_bits(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

float significand(std::uint32_t bits) {
    return std::bit_cast<float>(0x3f800000u + bits);
}

float quotient(float x, const codegen::Reciprocal& by) {
    return std::fmaf(x, by.high, x * by.low);
}

/// All significands, of both signs; other exponents only scale them.
TEST(Reciprocal, DividesEverySignificand) {
    for (const float divisor : {3.0f, 0.3f, 255.0f, -1.1f, 12.92f, 0.1f}) {
        const auto by = codegen::exact_reciprocal(divisor);
        ASSERT_TRUE(by) << divisor;
        for (std::uint32_t bits = 0; bits < 1u << 23; ++bits) {
            const float x = significand(bits);
            ASSERT_TRUE(same_bits(quotient(x, *by), x / divisor)) << x << " / " << divisor;
        }
    }
}

TEST(Reciprocal, OfRandomDivisors) {
    std::mt19937 rng(5);
    const auto random = [&] { return significand(static_cast<std::uint32_t>(rng()) >> 9); };
    int found = 0;
    for (int i = 0; i < 4000; ++i) {
        const float divisor = std::ldexp(random(), int(rng() % 38) - 19);
        const auto by = codegen::exact_reciprocal(divisor);
        if (!by) continue;
        ++found;
        for (int j = 0; j < 1000; ++j) {
            const float x = std::ldexp(random(), int(rng() % 160) - 80);
            ASSERT_TRUE(same_bits(quotient(x, *by), x / divisor)) << fmt::format("{:a} / {:a}", x, divisor);
        }
        for (const float x : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-80f, -0x1p-80f, 0x1.fffffep127f}) {
            ASSERT_TRUE(same_bits(quotient(x, *by), x / divisor)) << fmt::format("{:a} / {:a}", x, divisor);
        }
    }
    EXPECT_GT(found, 3200);
}

TEST(Reciprocal, ThereIsNone) {
    for (const double divisor : {0.0, -0.0, 1.0, 0.25, -1024.0, 0.1, 1e30, 1e-30, double(INFINITY), double(NAN)}) {
        EXPECT_FALSE(codegen::exact_reciprocal(divisor)) << divisor;
    }
    EXPECT_TRUE(codegen::exact_reciprocal(0.1f));
}

constexpr const char* kProgram = R"(pipeline p(a: float32[R, C], b: float32[R, C], m: uint8[R, C])
    -> out: float32[R, C], last: float32[R, C] {
    ratio(y, x) = a(y, x) / b(y, x) + a(y, x) / 0.3
    length(y, x) = sqrt(a(y, x)) * rsqrt(b(y, x)) + float32(m(y, x)) / 1.1
    out(y, x) = ratio(y, x) - length(clamp(y + 1, 0, R - 1), x) / ratio(y, clamp(x + 1, 0, C - 1))
    last(y, x) = sqrt(out(y, x)) / 0.3
})";

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// A program's code under a strategy.
struct Code {
    explicit Code(fusion::Strategy strategy, const char* program = kProgram) {
        Diagnostics diags;
        checked = compiler::check(sources, sources.add("p.pipe", program), {}, diags);
        const std::vector<codegen::Unit> units = checked.units();
        compiler::ScheduleRequest request;
        request.strategy = strategy;
        if (strategy == fusion::Strategy::RegisterTile) {
            request.changed = {fusion::Field::Block, fusion::Field::Tile};
            request.values.block = {32, 2, 1};
            request.values.tile = {4, 4, 1};
        }
        codegen::CudaOptions options;
        options.schedules = compiler::schedule(compiler::prepare(checked), request, fusion::default_target(),
                                               {.include_dirs = {}, .analysis = {}, .fast_math = false}, sources)
                                .schedules;
        header = codegen::header("p.pipe", "p", units);
        source = codegen::cuda_source("p.pipe", "p.h", units, sources, options);
    }
    [[nodiscard]] const ir::Pipeline& pipeline() const { return checked.definitions.front(); }

    SourceManager sources;
    compiler::Checked checked;
    std::string header, source;
};

class Quotient : public ::testing::TestWithParam<fusion::Strategy> {};

INSTANTIATE_TEST_SUITE_P(Strategies, Quotient,
                         ::testing::Values(fusion::Strategy::Stage, fusion::Strategy::Otptb, fusion::Strategy::Otpw,
                                           fusion::Strategy::Hybrid, fusion::Strategy::Stream,
                                           fusion::Strategy::RegisterTile),
                         [](const auto& of) {
                             std::string name(fusion::name(of.param));
                             std::erase(name, '-');
                             return name;
                         });

TEST_P(Quotient, HasTheBitsOfTheLanguage) {
    Code code(GetParam());
    EXPECT_TRUE(contains(code.source, "is_rare("));
    // As if every tile had met a rare operand.
    const std::string always = std::regex_replace(code.source, std::regex("return rare.least[^;]*;"), "return true;");
    ASSERT_TRUE(always != code.source);
    std::mt19937_64 rng(11);
    for (const std::string& source : {code.source, always}) {
        const DeviceLibrary library(code.header, "p.h", source);
        for (const auto& [rows, columns] : {std::pair{37, 150}, std::pair{9, 64}}) {
            for (int turn = 0; turn < 4; ++turn) {
                const std::map<std::string, std::int64_t> sizes{{"R", rows}, {"C", columns}};
                auto arguments = random_arguments(code.pipeline(), sizes, Fill::Smooth, rng);
                if (turn == 1) {  // one operand of one tile
                    auto& a = arguments.inputs.at("a");
                    a.set(a.size() / 2, {ir::Type::Float32, 0, double(1e-40f)});
                }
                if (turn == 2) arguments = random_arguments(code.pipeline(), sizes, Fill::Extreme, rng);
                if (turn == 3) {  // from almost tiny to almost huge
                    for (auto& [name, array] : arguments.inputs) {
                        if (array.type != ir::Type::Float32) continue;
                        for (std::size_t i = 0; i < array.size(); ++i) {
                            const float size = significand(static_cast<std::uint32_t>(rng()) >> 9);
                            const double value = std::ldexp(size, int(rng() % 124) - 62);
                            array.set(i, {ir::Type::Float32, 0, rng() % 2 == 0 ? value : -value});
                        }
                    }
                }
                const auto actual = run_device(library.info("p"), arguments);
                for (const auto& [name, expected] : reference::run(code.pipeline(), arguments)) {
                    EXPECT_EQ(difference(expected, actual.at(name)), "") << name << " turn " << turn;
                }
            }
        }
    }
}

/// The second way of the last tile of a row begins at another lane: the emulator finds lanes that store without order.
TEST_P(Quotient, LanesThatStoreTheSamePointsWaitForEachOther) {
    const Code code(
        GetParam(),
        "pipeline p(a: float32[R, C], b: float32[R, C]) -> out: float32[R, C] { out(y, x) = a(y, x) / b(y, x) }");
    const std::string always = std::regex_replace(code.source, std::regex("return rare.least[^;]*;"), "return true;");
    ASSERT_TRUE(always != code.source);
    const DeviceLibrary library(code.header, "p.h", always);
    std::mt19937_64 rng(3);
    for (const std::int64_t columns : {60, 133, 200}) {
        const auto arguments = random_arguments(code.pipeline(), {{"R", 21}, {"C", columns}}, Fill::Smooth, rng);
        const auto actual = run_device(library.info("p"), arguments);
        for (const auto& [name, expected] : reference::run(code.pipeline(), arguments))
            EXPECT_EQ(difference(expected, actual.at(name)), "") << name << " of " << columns;
    }
}

TEST(QuotientText, NotesOnlyWhatMayBeRare) {
    Code code(fusion::Strategy::Stage);
    EXPECT_TRUE(contains(code.source, "noted_quotient_by("));
    // Of an integer nothing is noted.
    EXPECT_TRUE(std::regex_search(code.source, std::regex("[^_]quotient_by\\(float\\(m")));
}

}  // namespace
}  // namespace pipec::testing::quotient_test
