// Loops of several points of a thread, several terms in each turn: windows whose size is a parameter. The bits are
// those of the interpreter for every number of terms, also none.
#include "device_runs.h"

#include "codegen/lower.h"
#include "fusion/schedule.h"

namespace pipec::testing::point_loops_run_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

/// Each run has another number of terms, N - 1.
constexpr const char* kPrograms = R"(
    import "boundary"
    pipeline columns(f: uint16[R + 9, C], n: uint8[N]) -> out: uint32[R, C] where N <= 9 {
        out(y, x) = sum(i in 0..N - 1) uint32(f(y + i, x)) * n(i)
    }
    pipeline rows(f: uint8[R, C + 9], n: uint8[N]) -> low: uint8[R, C], high: int32[R, C] where N <= 9 {
        low(y, x) = min(j in 0..N - 1) f(y, x + j)
        high(y, x) = max(j in 0..N - 1) f(y, x + j) - 300
    }
    pipeline window(f: int32[R + 9, C + 9], n: uint8[N]) -> out: int32[R, C] where N <= 9 {
        out(y, x) = sum(i in 0..N - 1, j in 0..N - 1) f(y + i, x + j) * (i + 1)
    }
    pipeline floats(f: float32[R + 9, C + 9], n: uint8[N]) -> total: float32[R, C], least: float32[R, C] where N <= 9 {
        total(y, x) = sum(i in 0..N - 1, j in 0..N - 1) f(y + i, x + j)
        least(y, x) = min(i in 0..N - 1) f(y + i, x)
    }
    pipeline weighted(f: float32[R + 60, C], w: float32[N]) -> out: float32[R, C] where N <= 60 {
        out(y, x) = (sum(i in 0..N - 1) w(i) * f(y + i, x)) / (1 + (sum(i in 0..N - 1) w(i) * (if f(y + i, x) > 0 then 1 else 0)))
    }
    pipeline mixed(f: float32[N, R, C]) -> total: float32[R, C], count: int32[R, C] {
        total(y, x) = sum(k in 0..N) f(k, y, x)
        count(y, x) = sum(k in 0..N) (if f(k, y, x) > 0 then 1 else 0)
    }
    pipeline shared(f: float32[R + 9, C + 9], n: uint8[N]) -> out: float32[R, C] where N <= 9 {
        g(y in 0..R + 9, x in 0..C + 9) = f(y, x) * f(y, x)
        out(y, x) = (max(i in 0..N - 1, j in 0..N - 1) g(y + i, x + j)) - g(y, x)
    }
)";

const std::vector<Sizes> kSizes{{{"R", 1}, {"C", 1}, {"N", 1}},
                                {{"R", 21}, {"C", 70}, {"N", 2}},
                                {{"R", 35}, {"C", 131}, {"N", 8}},
                                {{"R", 18}, {"C", 260}, {"N", 9}}};

class PointLoops : public DeviceRuns {
protected:
    void SetUp() override { compile("loops.pipe", kPrograms); }
    /// All stages of each pipeline in one group.
    codegen::CudaOptions grouped(Strategy strategy) {
        codegen::CudaOptions options;
        for (const codegen::Unit& unit : units()) {
            GroupSchedule group;
            for (const ir::Stage& stage : unit.pipeline->stages) group.stages.push_back(stage.name);
            group.strategy = strategy;
            if (strategy == Strategy::Otptb) group.tile = {4, 4, 1}, group.vector = 4;
            options.schedules[unit.pipeline->name] = fusion::Schedule{{}, {group}};
        }
        return options;
    }
    [[nodiscard]] std::string code(const std::string& pipeline, const codegen::CudaOptions& options) {
        for (const codegen::Unit& unit : units()) {
            if (unit.pipeline->name == pipeline) return to_string(codegen::lower(unit, sources_, options));
        }
        return "";
    }
};

TEST_F(PointLoops, HaveTheBitsOfTheDefinitionInTilesOfBlocks) {
    compare(grouped(Strategy::Otptb), kSizes, Fill::Extreme, "otptb");
}

TEST_F(PointLoops, HaveTheBitsOfTheDefinitionInTilesOfWarps) {
    compare(grouped(Strategy::Otpw), kSizes, Fill::Extreme, "otpw");
}

TEST_F(PointLoops, HaveTheBitsOfTheDefinitionInRegisterTiles) {
    const auto wanted = [](const std::string& name) { return name != "shared"; };  // data say which point is read
    compare(grouped(Strategy::RegisterTile), {{kSizes, Fill::Extreme}}, "register_tile", wanted);
}

TEST_F(PointLoops, HaveTheBitsOfTheDefinitionByThemselves) {
    fusion::Gpu gpu = fusion::default_target().gpu();
    gpu.sms = 2;  // two blocks are enough for several points of a thread
    codegen::CudaOptions options = grouped(Strategy::Stage);
    options.target = fusion::Target(gpu);
    const auto wanted = [](const std::string& name) { return name != "shared"; };
    compare(options, {{kSizes, Fill::Extreme}}, "stage", wanted);
}

TEST_F(PointLoops, ReadWhatNeighboursShareOnce) {
    // Of 4 terms of 4 points below each other, 7 elements of `f`, and 4 of `n`.
    const std::string columns = code("columns", grouped(Strategy::Otptb));
    const std::size_t turn = columns.find("step 4");
    ASSERT_NE(turn, std::string::npos) << columns;
    const std::string loop = columns.substr(turn, columns.find("for i", turn) - turn);
    for (const char* read : {"y_i + i,", "y_i + i + 3,", "y_i + i + 6,"}) EXPECT_NE(loop.find(read), std::string::npos);
    EXPECT_EQ(loop.find("y_i + i + 7,"), std::string::npos);
    // A sum that may be a tree of blocks is no such loop, and what is found in its loop stays there.
    EXPECT_EQ(code("mixed", grouped(Strategy::Otptb)).find("step 4"), std::string::npos);
}

}  // namespace
}  // namespace pipec::testing::point_loops_run_test
