// Tables of a few values at each place that data tell: read in one access, at chosen places, on the SIMT emulator
// against the interpreter.
#include <gtest/gtest.h>

#include <string>

#include "codegen/lower.h"
#include "device_runs.h"

namespace pipec::testing::table_run_test {
namespace {

constexpr const char* kPrograms = R"(
pipeline three(img: uint8[R, C, 3], table: float32[20, 20, 3]) -> out: float32[R, C, 3] {
    out(y, x, c) =
        let i = img(y, x, 0) / 14, j = img(y, x, 1) / 14, a = img(y, x, 2) / 256.0 in
        lerp(table(i, j, c), table(i + 1, j + 1, c), a)
}
pipeline planes(img: uint8[3, R, C], table: uint16[3, 32, 32]) -> out: int32[3, R, C] {
    out(c, y, x) = let i = img(0, y, x) / 8, j = img(1, y, x) / 8 in table(c, i, j) + img(2, y, x)
}
pipeline cases(img: uint8[R, C, 4], table: uint8[40, 40, 3]) -> out: uint8[R, C, 4] {
    chosen(y, x, c) =
        let p = img(y, x, 0) / 7.0, q = img(y, x, 1) / 7.0, i = int32(p), j = int32(q), a = p - i, b = q - j in
        let corner = float32(table(i, j, c)), end = float32(table(i + 1, j + 1, c)) in
        if a > b then corner + a * (table(i + 1, j, c) - corner) + b * (end - table(i + 1, j, c))
        else if a < b then corner + b * (table(i, j + 1, c) - corner) + a * (end - table(i, j + 1, c))
        else corner + a * (table(i + 1, j, c) - corner)
    out(y, x, c) = if c == 3 then img(y, x, 3) else saturate<uint8>(round(chosen(y, x, c)))
}
pipeline behind(img: uint8[R, C], at: uint8[R, C], table: int32[256, 4]) -> out: int32[R, C], last: int32[R, C] {
    out(y, x) = let k = at(y, x) in table(k, 1) + table(k, 3) + (if img(y, x) > 99 then table(k, 2) else 0)
    last(y, x) = table(img(y, x), 3) - table(255 - img(y, x), 0)
}
)";

class Tables : public DeviceRuns {
protected:
    void SetUp() override { compile("tables.pipe", kPrograms); }
    [[nodiscard]] std::string kernels(const std::string& name, const codegen::CudaOptions& options) const {
        for (const codegen::Unit& unit : units()) {
            if (unit.pipeline->name == name) return codegen::kernel::to_string(codegen::lower(unit, sources_, options));
        }
        throw std::runtime_error("no pipeline " + name);
    }
    void compare_all(const codegen::CudaOptions& options, const std::string& what) {
        std::vector<Sizes> sizes;
        for (const auto& [r, c] : {std::pair{1, 1}, {3, 5}, {2, 70}, {37, 2}, {12, 64}, {9, 131}})
            sizes.push_back({{"R", r}, {"C", c}});
        compare(options, sizes, Fill::Smooth, what);
    }
    /// All pipelines with the stages that are not of tables in register tiles.
    [[nodiscard]] codegen::CudaOptions in_registers(const std::vector<int>& tile) const {
        codegen::CudaOptions options;
        for (const codegen::Unit& unit : units()) {
            for (const ir::Stage& stage : unit.pipeline->stages) {
                if (stage.name.find("padded") != std::string::npos) continue;
                fusion::GroupSchedule& group = options.schedules[unit.pipeline->name].groups.emplace_back();
                group.stages = {stage.name};
                group.strategy = fusion::Strategy::RegisterTile;
                group.block = {32, 2, 1};
                group.tile = {tile[0], tile[1], 4};
            }
        }
        return options;
    }
};

TEST_F(Tables, AreReadInOneAccess) {
    const codegen::CudaOptions tiles = in_registers({1, 1});
    for (const codegen::CudaOptions& options : {codegen::CudaOptions{}, tiles}) {
        EXPECT_NE(kernels("three", options).find("load out.padded, out.padded_2, out.padded_3, out.padded_4 ="),
                  std::string::npos)
            << kernels("three", options);
    }
}

TEST_F(Tables, StageByStage) {
    compare_all({}, "by stages");
}

TEST_F(Tables, InRegisters) {
    compare_all(in_registers({4, 2}), "in registers, 4 columns of 2 rows");
}

}  // namespace
}  // namespace pipec::testing::table_run_test
