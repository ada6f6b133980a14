// Accumulates whose points gather what belongs to them, on the SIMT emulator against the interpreter: by themselves,
// and in one kernel with what reads them, in tiles of random sizes. The order of float sums is the program's.
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "device_runs.h"

namespace pipec::testing::gather_run_test {
namespace {

constexpr const char* kPrograms = R"(
pipeline grid(u: uint8[R, C], f: float32[R, C]) -> out: float32[R, C] {
    accumulate cells(k in 0..2, gy in -1..R / 4 + 3, gx in -1..C / 3 + 3, z in 0..5): float32 = 0.25 {
        for y in 0..R, x in 0..C {
            let z = int32(u(y, x)) % 4
            cells(0, (y + 2) / 4, (x + 1) / 3, z) += f(y, x)
            cells(1, (y + 2) / 4, (x + 1) / 3, z + 1) += 1
        }
    }
    along(k, y, x, z) = cells(k, y - 1, x, z) + 2 * cells(k, y, x, z) + cells(k, y + 1, x, z)
    out(y, x) = along(0, y / 4, x / 3, u(y, x) % 5) / along(1, (y + 3) / 4, (x + 2) / 3, 2)
}
pipeline slices(f: float32[R, C]) -> out: float32[R, C] {
    accumulate table(k in 0..2, gy in 0..R + 1, gx in -1..(C - 1) / 8 + 3, z in -1..8): float32 = 0 {
        for y in 0..R, x in 0..C {
            let z = int32(clamp(f(y, x), 0, 1) * 5 + 0.5)
            table(0, y, (x + 4) / 8, z) += f(y, x)
            table(1, y, (x + 4) / 8, z) += 1
        }
    }
    deep(k, y, x, z) = table(k, y, x, z - 1) + 2 * table(k, y, x, z) + table(k, y, x, z + 1)
    wide(k, y, x, z) = deep(k, y, x - 1, z) + deep(k, y, x, z) * 3 + deep(k, y, x + 1, z)
    slice(k, y, x) =
        let z = clamp(f(y, x), 0, 1) * 5, i = int32(z) in
        wide(k, y, x / 8, i) + wide(k, y, x / 8 + 1, i) * (z - i) + wide(k, y, x / 8, i + 1) * float32(x % 8)
    out(y, x) = slice(0, y, x) / (1 + slice(1, y, x))
}
pipeline line(f: float32[N], level: float32) -> out: float32[N], sums: float32[N / 5 + 3] {
    accumulate sums(i in 0..N / 5 + 3): float32 = float32(i) / 3 {
        for x in 2..N { if f(x) > level { sums((x - 2) / 5 + 1) += f(x) } }
        for x in 0..N, k in 0..3 { sums(x / 5) *= 1 + f(x) / 8 }
        for k in 0..3, x in 0..N - 1 { sums((x + 5) / 5) min= f(x) * k }
    }
    out(x) = sums(x / 5) + sums(x / 5 + 2)
}
pipeline kinds(u: uint8[R, C], i: int16[R, C]) -> out: int32[R / 2 + 1, C], bytes: uint8[R / 2 + 1, C], wide: uint64[R / 2 + 1] {
    accumulate most(a in 0..R / 2 + 1, x in 0..C, s in 0..3): int16 = -9 {
        for x in 0..C, y in 0..R { most(y / 2, x, u(y, x) % 3) max= i(y, x) }
        for x in 0..C, y in 0..R { most(y / 2, x, (u(y, x) + 1) % 3) += i(y, x) }
    }
    accumulate bytes(a in 0..R / 2 + 1, x in 0..C): uint8 = 3 {
        for y in 0..R, x in 0..C { bytes((1 + y) / 2, x) += u(y, x) }
        for y in 0..R, x in 0..C { bytes(y / 2, x) *= 3 }
        for y in 0..R, x in 1..C { bytes(y / 2, x - 1) max= u(y, x) }
    }
    accumulate wide(a in 0..R / 2 + 1): uint64 = 1 {
        for y in 0..R, x in 0..7 { wide(y / 2) *= uint64(u(y, min(x, C - 1))) + 3 }
    }
    out(y, x) = int32(most(y, x, 0)) + 1000 * int32(most(y, x, 1)) - int32(most(y, x, 2))
}
pipeline cubes(v: float32[N, R, C]) -> low: float32[(N + 1) / 2, (R + 1) / 2, (C + 1) / 2], at: int32[(C + 1) / 2] {
    accumulate low(a in 0..(N + 1) / 2, b in 0..(R + 1) / 2, c in 0..(C + 1) / 2): float32 = -1 {
        for y in 0..N, x in 0..R, z in 0..C { low(y / 2, x / 2, z / 2) += v(y, x, z) }
    }
    accumulate at(c in 0..(C + 1) / 2): int32 = 0 {
        for z in 0..C, k in z..z + 3 { if v(0, 0, z) > 0 { at(z / 2) += k } }
    }
}
)";

/// Each pipeline with all of its stages that may be in one kernel.
const std::map<std::string, std::vector<std::vector<std::string>>> kGroups = {
    {"grid", {{"cells", "along"}}}, {"slices", {{"table", "deep"}, {"wide", "slice", "out"}}},
    {"line", {{"sums", "out"}}},    {"kinds", {{"most", "out"}, {"bytes"}}},
    {"cubes", {{"low"}, {"at"}}},
};

class Gathering : public DeviceRuns {
protected:
    void SetUp() override { compile("gather.pipe", kPrograms); }
    void compare_all(const codegen::CudaOptions& options, const std::string& what) {
        std::vector<Sizes> sizes;
        for (const auto& [n, r, c] : {std::tuple{1, 1, 1}, {4, 3, 5}, {301, 2, 70}, {9, 37, 2}, {14, 43, 64}})
            sizes.push_back({{"N", n}, {"R", r}, {"C", c}});
        compare(options, sizes, Fill::Smooth, what);
    }
};

TEST_F(Gathering, NothingIsAtomic) {
    for (const codegen::Unit& unit : units()) {
        const codegen::kernel::Program program = codegen::lower(unit, sources_);
        EXPECT_EQ(codegen::kernel::to_string(program).find("atomic"), std::string::npos) << unit.pipeline->name;
        EXPECT_TRUE(codegen::order_dependent_updates(*unit.pipeline).empty()) << unit.pipeline->name;
    }
}

TEST_F(Gathering, StageByStage) {
    compare_all({}, "by stages");
}

TEST_F(Gathering, InTilesWithReaders) {
    std::mt19937_64 rng(3);
    const auto pick = [&](const auto& list) { return list[rng() % list.size()]; };
    const std::vector<std::array<int, 3>> blocks{{32, 4, 1}, {8, 4, 1}, {16, 2, 1}, {4, 16, 1}, {32, 1, 1}};
    for (const fusion::Strategy strategy : {fusion::Strategy::Otptb, fusion::Strategy::Otpw}) {
        codegen::CudaOptions options;
        for (const codegen::Unit& unit : units()) {
            fusion::Schedule& schedule = options.schedules[unit.pipeline->name];
            for (const std::vector<std::string>& stages : kGroups.at(unit.pipeline->name)) {
                fusion::GroupSchedule& group = schedule.groups.emplace_back();
                group.stages = stages;
                group.strategy = strategy;
                group.block = pick(blocks);
                group.vector = 1 << rng() % 2;
                group.tile = {group.vector * static_cast<int>(1 + rng() % 2), static_cast<int>(1 + rng() % 3), 1};
                const bool is_line = stages[0] == "sums" || stages[0] == "at";
                if (is_line) group.block = {group.block[0] * group.block[1], 1, 1};
            }
        }
        compare_all(options, std::string(fusion::name(strategy)));
    }
}

}  // namespace
}  // namespace pipec::testing::gather_run_test
