// Updates that share targets, in shared memory and beside it: the generated kernels in the emulator against the
// interpreter, with what the compiler chooses and with other choices.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>

#include "codegen/lower.h"
#include "device_runs.h"
#include "fusion/group_fields.h"
#include "reference/interpreter.h"

namespace pipec::testing::histogram_run_test {
namespace {

// Adding 0 makes 0 of -0, of which `min` and `max` may give either.
constexpr const char* kPrograms = R"(
pipeline bytes(img: uint8[R, C]) -> hist: int32[256] {
    accumulate hist(b in 0..256): int32 = b - 3 { for y in 0..R, x in 0..C { hist(img(y, x)) += 1 } }
}
pipeline words(img: uint16[R, C]) -> hist: uint32[65536] {
    accumulate hist(b in 0..65536): uint32 = 7 { for y in 0..R, x in 0..C { hist(img(y, x)) += 1 } }
}
pipeline weighted(img: uint8[R, C], weight: int16[R, C]) -> hist: int32[256], long: int64[256] {
    accumulate hist(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { hist(img(y, x)) += weight(y, x) } }
    accumulate long(b in 0..256): int64 = 1 { for y in 0..R, x in 1..C { long(img(y, x)) += int64(weight(y, x)) << 33 } }
}
pipeline extremes(img: uint8[R, C], v: float32[R, C]) -> least: float32[256], most: float64[100], top: uint8[256] {
    accumulate least(b in 0..256): float32 = 5 { for y in 0..R, x in 0..C { least(img(y, x)) min= v(y, x) + 0 } }
    accumulate most(b in 0..100): float64 = -3 {
        for y in 0..R, x in 0..C { most(img(y, x) % 100) max= float64(v(y, x)) * 2 + 0 }
    }
    accumulate top(b in 0..256): uint8 = 9 { for y in 0..R, x in 0..C { top(img(y, x)) max= img(y, min(x + 1, C - 1)) } }
}
pipeline joint(a: uint8[R, C], b: uint8[R, C], mask: uint8[R, C]) -> hist: int32[64, 64], inside: int32[64, 16] {
    accumulate hist(i in 0..64, j in 0..64): int32 = 0 {
        for y in 0..R, x in 0..C { hist(a(y, x) / 4, b(y, x) / 4) += 1 }
    }
    accumulate inside(i in 0..64, j in 0..16): int32 = 0 {
        for y in 0..R, x in 0..C {
            if mask(y, x) > 99 { inside(a(y, x) / 4, b(y, x) / 16) += 1 }
            if x > 2 { inside(a(y, x - 3) / 4, 3) += 2 }
            inside(63, b(y, x) / 16) += 5
        }
    }
}
pipeline channels(img: uint8[R, C, 3], planes: uint8[3, R, C] order(1, 2, 0)) -> hist: int32[3, 256], turned: int32[256] {
    accumulate hist(c in 0..3, b in 0..256): int32 = 0 {
        for y in 0..R, x in 0..C, c in 0..3 { hist(c, img(y, x, c)) += 1 }
    }
    accumulate turned(b in 0..256): int32 = 0 {
        for c in 0..3, x in 0..C, y in 0..R { turned(planes(c, y, x)) += c + 1 }
    }
}
pipeline tiles(img: uint8[R, C]) -> hist: int32[R / 37 + 1, C / 41 + 1, 256], parts: uint32[3, 3, 256] where R < 4096, C < 4096 {
    accumulate hist(i in 0..R / 37 + 1, j in 0..C / 41 + 1, b in 0..256): int32 = 1 {
        for y in 0..R, x in 0..C { hist(y / 37, x / 41, img(y, x)) += 1 }
    }
    accumulate parts(i in 0..3, j in 0..3, b in 0..256): uint32 = 0 {
        for y in 0..R, x in 0..C { parts(clamp(2 - y * 3 / R, 0, 2), clamp(x * 3 / C, 0, 2), img(y, x)) += 1 }
    }
}
pipeline rows(img: uint8[R, C]) -> hist: int32[R, 64], after: int32[R, 64], columns: int32[C + 5, 8] {
    accumulate hist(y in 0..R, b in 0..64): int32 = 0 { for y in 0..R, x in 0..C { hist(R - 1 - y, img(y, x) / 4) += 1 } }
    accumulate after(y in 0..R, b in 0..64): int32 = hist(y, b) {
        for y in 0..R, x in 3..C { after(y, img(y, x) / 4) max= int32(img(y, x - 3)) }
        for y in 0..R, x in 0..C { if img(y, x) > 9 { after(y, img(y, x) / 4) += hist(y, 5) } }
    }
    accumulate columns(x in 0..C + 5, b in 0..8): int32 = 0 {
        for y in 0..R, x in 0..C { columns(x + (if img(y, x) > 99 then 5 else 0), img(y, x) / 32) += 1 }
    }
}
pipeline wide(img: uint8[R, C], v: float64[R, C]) -> one: int64[1], times: uint64[7], last: float64[3, 5], sparse: uint32[2, 3] {
    accumulate one(b in 0..1): int64 = -9 { for y in 0..R, x in 0..C { one(min(img(y, x), 0)) += int64(img(y, x)) << 20 } }
    accumulate times(b in 0..7): uint64 = 3 { for y in 0..R, x in 0..C { times(img(y, x) % 7) *= uint64(img(y, x)) + 1 } }
    accumulate last(i in 0..3, b in 0..5): float64 = 0.5 {
        for y in 0..R, x in 0..C { last(img(y, x) % 3, x % 5) min= v(R - 1 - y, x) + 0 }
        for y in 0..R, x in 0..C { last(2 - img(y, x) % 3, 4) max= 0 - v(y, x) }
    }
    accumulate sparse(i in 0..2, j in 0..3): uint32 = 4000000000 {
        for y in 2..R, x in 5..C { if img(y, x) == 77 { sparse(x % 2, y % 3) += 300000000 } }
    }
}
pipeline shears(img: uint8[R, C], cosine: float32[5], sine: float32[5]) -> profile: int32[9, R], lines: int32[5, 200] {
    accumulate profile(a in 0..9, y in 0..R): int32 = 0 {
        for a in 0..9, y in 0..R, x in 0..C {
            profile(a, clamp(y + ((x - C / 2) * (a - 4) >> 3), 0, R - 1)) += int32(img(y, x))
        }
    }
    accumulate lines(a in 0..5, d in 0..200): int32 = 1 {
        for y in 0..R, x in 0..C, a in 0..5 {
            if img(y, x) > 50 {
                lines(a, clamp(int32(round((x - C / 2.0) * cosine(a) + (y - R / 2.0) * sine(a))) + 100, 0, 199)) += 1
            }
        }
    }
}
pipeline labels(img: uint8[R, C], far: uint16[R, C])
    -> area: int32[97 * R], total: int64[R + 3, 3], latest: int32[C + 5], votes: uint32[2 * R + 1, 5] where R < 4096, C < 4096 {
    accumulate area(l in 0..97 * R): int32 = 1 { for y in 0..R, x in 0..C { area(clamp(img(y, x) * 60, 0, 97 * R - 1)) += 1 } }
    accumulate total(l in 0..R + 3, c in 0..3): int64 = 0 {
        for y in 0..R, x in 0..C, c in 0..3 { total(min(far(y, x), R + 2), c) += int64(img(y, x)) << c }
        for y in 0..R, x in 0..C { if img(y, x) > 99 { total(min(img(y, x), R + 2), 2 - img(y, x) % 3) += x } }
    }
    accumulate shifted(l in 2..C + 7): int32 = 5 {
        for y in 0..R, x in 0..C { shifted(clamp(int32(far(y, x)), 2, C + 6)) max= y }
    }
    latest(l) = shifted(l + 2)
    accumulate votes(l in 0..2 * R + 1, k in 0..5): uint32 = 9 {
        for y in 0..R, x in 0..C { votes(clamp(y + int32(img(y, x)) - 90, 0, 2 * R), x % 5) += 3 }
    }
}
pipeline uniform(img: uint8[R, C], k: int32) -> out: int32[100] {
    accumulate hist(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { hist(img(y, x)) += 1 } }
    accumulate out(b in 0..100): int32 = k {
        for y in 0..R, x in 0..C {
            let mean = (sum(b in 0..256) hist(b) * b) / (R * C)
            out(clamp(img(y, x) - mean + k % 7, 0, 99)) += (sum(b in 0..100) hist(b + k % 2)) + x
        }
    }
}
pipeline equalise(img: uint8[R, C]) -> out: uint8[R, C] {
    accumulate hist(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { hist(img(y, x)) += 1 } }
    cdf(v in 0..256): int32 = sum(j in 0..=v) hist(j)
    out(y, x) = uint8(cdf(int32(img(y, x))) % 256)
}
)";

class Histograms : public DeviceRuns {
protected:
    void SetUp() override { compile("histogram.pipe", kPrograms); }
    /// All stages with this shape of a histogram. Large tables take their time in the emulator.
    void compare_all(const std::string& shape, const std::vector<Images>& runs, bool large = false) {
        codegen::CudaOptions options;
        for (const codegen::Unit& unit : units()) {
            fusion::Schedule& schedule = options.schedules[unit.pipeline->name];
            for (const ir::Stage& stage : unit.pipeline->stages) {
                if (!std::holds_alternative<ir::Accumulate>(stage.definition) || ir::bytes(stage.type) < 4) continue;
                fusion::GroupSchedule& group = schedule.groups.emplace_back();
                group.stages = {stage.name};
                set_value(fusion::Field::Histogram, shape, group);
            }
        }
        compare(options, runs, shape, [&](const std::string& name) { return large || name != "words"; });
    }
    static std::vector<Sizes> sized(std::initializer_list<std::tuple<int, int>> images) {
        std::vector<Sizes> sizes;
        for (const auto& [r, c] : images) sizes.push_back({{"R", r}, {"C", c}});
        return sizes;
    }
};

TEST_F(Histograms, AsTheCompilerChooses) {
    compare_all("auto", {{sized({{1, 1}, {1, 77}, {53, 1}, {39, 83}, {75, 128}, {80, 96}}), Fill::Smooth}}, true);
}

TEST_F(Histograms, OfConstantAndExtremeValues) {
    compare_all("auto", {{sized({{38, 83}}), Fill::Constant}, {sized({{17, 64}, {5, 83}}), Fill::Extreme}});
}

TEST_F(Histograms, WithManySmallBlocks) {
    compare_all("32x2x4x1x2x1", {{sized({{39, 83}}), Fill::Smooth}});
}

TEST_F(Histograms, WithoutCopies) {
    compare_all("64x1x1x2x1", {{sized({{39, 83}, {1, 1}, {7, 1}, {1, 96}}), Fill::Smooth}});
}

TEST_F(Histograms, InPartsAndRegions) {
    compare_all("64x4x32x3x2x3", {{sized({{39, 83}, {1, 35}}), Fill::Smooth}});
    compare_all("128x2x2x1x2x0x16x32", {{sized({{39, 83}, {1, 1}}), Fill::Smooth}});
}

}  // namespace
}  // namespace pipec::testing::histogram_run_test
