// Reads that a condition on data keeps in bounds, wherever the condition stands: on the emulated device, which sees a
// read outside of an array, against the interpreter.
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "device_runs.h"

namespace pipec::testing::guarded_reads_run_test {
namespace {

constexpr const char* kPrograms = R"(
import "boundary"
pipeline both(k: int32[R, C], w: float32[10]) -> out: int32[R, C], either: int32[R, C] {
    out(y, x) = if k(y, x) >= 0 and k(y, x) < 10 and w(k(y, x)) > 0 then 1 else 0
    either(y, x) = if k(y, x) < 0 or k(y, x) >= 10 or w(k(y, x)) > 0 then 1 else 0
}
pipeline branches(k: int32[R, C], q: uint8[R, C], w: float32[10]) -> out: float32[R, C], shared: float32[R, C] {
    out(y, x) = if k(y, x) < 0 then 1 else if k(y, x) > 9 then 2
                else if q(y, x) > 100 then w(k(y, x)) else w(k(y, x)) * 2
    shared(y, x) = let i = k(y, x), ok = i >= 0 and i < 10 in
                   (if ok then w(i) else 0) + (if q(y, x) > 100 and ok then w(i) * 2 else 1)
}
pipeline windows(k: int32[R, C], w: float32[10]) -> out: float32[R, C], some: int32[R, C] {
    near = clamp_to_edge(k)
    v(y, x) = let i = near(y, x) in if 0 <= i < 10 then w(i) else 0
    out(y, x) = max(a in -1..=1, b in -1..=1) v(y + a, x + b)
    some(y, x) = if any(a in -2..=2) (near(y, x + a) >= 0 and near(y, x + a) < 10 and w(near(y, x + a)) > 0) then 1 else 0
}
pipeline places(k: uint8[R, C], v: float32[256], u: int32[R, C], w: int32[10], t: float32[5]) -> out: int32[R, C], two: float32[R, C] {
    out(y, x) = if x <= k(y, x) and v(x) > 0 then 1 else 0
    two(y, x) = if 0 <= u(y, x) < 10 and 0 <= w(u(y, x)) < 5 and t(w(u(y, x))) > 0 then t(w(u(y, x))) else 0
}
pipeline scans(k: int32[R, C], w: int32[10]) -> out: int32[R, C], rows: int32[R, C], own: int32[R, C] {
    out(y, x in 0..C) = if x == 0 then k(y, x)
                        else let b = out(y, x - 1) in if 0 <= b < 10 then w(b) else k(y, x) % 11
    rows(y in 0..R, x in 0..C) = if y == 0 then k(y, x)
        else min(rows(y - 1, min(x + 1, C - 1)), rows(y - 1, max(x - 2, 0))) +
             (if 0 <= k(y, x) < 10 and w(k(y, x)) > 3 then w(k(y, x)) else 3)
    own(y in 0..R, x in 0..C) = if y == 0 then k(y, x)
                                else let b = own(y - 1, C - 1 - x) in if 0 <= b < 10 then w(b) else k(y, x) % 11
}
// Conditions that are stages; and places of a grid on one of another size, which are in bounds by themselves.
pipeline named(k: int32[R, C], w: float32[10]) -> out: float32[R, C], h: int32[16] {
    inside(y, x) = 0 <= k(y, x) < 10
    later(x) = x > 0
    good(y, x) = inside(y, x) and w(k(y, x)) > 0
    out(y, x) = if good(y, x) then w(k(y, x)) else if later(x) then k(y, x - 1) else 1
    accumulate h(i in 0..16): int32 = 0 { for y in 0..R, x in 0..C { if inside(y, x) { h(k(y, x)) += 1 } } }
}
pipeline grids(a: uint8[3, 7], k: int32[R, C]) -> out: int32[R, C], centres: int32[R, C], ends: int32[R, C], bins: int32[9]
    where R <= 1024, C <= 1024
{
    out(y, x) = a(y * 3 / R, 7 * x / C)
    centres(y, x) = a((2 * y + 1) * 3 / (2 * R), (2 * x + 1) * 7 / (2 * C))
    ends(y, x) = a(y * 2 / max(R - 1, 1), x * 6 / max(C - 1, 1)) + k(y * (R - 1) / R, x * (C - 1) / C)
    accumulate bins(i in 0..9): int32 = 0 { for y in 0..R, x in 0..C { bins(x * 9 / C) += k(y, x) } }
}
// A stage's value says where its point is.
pipeline told(f: float32[R, C], k: int32[R, C]) -> out: float32[R, C], both: int32[R, C] {
    near(x) = min(x, 1)
    out(y, x) = if near(x) > 0 then f(y, x - 1) else 1
    both(y, x) = if near(x) > 0 and k(y, x - 1) > 3 then 1 else 0
}
pipeline totals(k: int32[R, C], w: int32[10], p: int32 = 3) -> out: int64[R], h: int32[16] {
    out(y) = if p >= 0 and p < 10 and w(p) > 0 then sum(a in 0..R, b in 0..C) (if 0 <= k(a, b) < 10 then w(k(a, b)) else 0)
             else sum(a in 0..R, b in 0..C) k(a, b) % 3
    accumulate h(i in 0..16): int32 = 0 {
        for y in 0..R, x in 0..C { if 0 <= k(y, x) < 10 and 0 <= w(k(y, x)) < 16 { h(w(k(y, x))) += 1 } }
    }
}
)";

class GuardedReads : public DeviceRuns {
protected:
    void SetUp() override { compile("guarded.pipe", kPrograms); }
    const std::vector<Sizes> sizes_{{{"R", 1}, {"C", 1}}, {{"R", 9}, {"C", 37}}, {{"R", 3}, {"C", 300}}};
};

TEST_F(GuardedReads, StageByStage) {
    compare({}, sizes_, Fill::Extreme, "by stages");
}

TEST_F(GuardedReads, InTiles) {
    const auto in_tiles = [](const std::string& name) { return name == "windows" || name == "both"; };
    for (const fusion::Strategy strategy : {fusion::Strategy::Otptb, fusion::Strategy::RegisterTile}) {
        codegen::CudaOptions options;
        for (const std::string name : {"windows", "both"}) {
            fusion::GroupSchedule& group = options.schedules[name].groups.emplace_back();
            group.stages = name == "both" ? std::vector<std::string>{"out"} : std::vector<std::string>{"v", "out"};
            group.strategy = strategy;
            group.block = {32, 2, 1};
        }
        compare(options, {{sizes_, Fill::Extreme}}, std::string(fusion::name(strategy)), in_tiles);
    }
}

}  // namespace
}  // namespace pipec::testing::guarded_reads_run_test
