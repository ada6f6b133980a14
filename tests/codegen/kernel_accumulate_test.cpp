// The kernels of `accumulate`: golden texts (golden/kernel_*.txt), and which way of sharing targets is taken when.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "codegen/lower.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support_lib/compile.h"

namespace pipec::codegen::kernel_accumulate_test {
namespace {

using Strings = std::vector<std::string>;

class Accumulating : public ::testing::Test {
protected:
    void compile(const std::string& text) {
        compiled_ = testing::compile_text(sources_, "test.pipe", text);
        for (const Diagnostic& d : compiled_.diags.all()) {
            if (d.severity == Severity::Error) throw std::runtime_error(d.message);
        }
    }
    kernel::Program lowered(const std::string& text, const CudaOptions& options = {}) {
        compile(text);
        kernel::Program program = lower({&compiled_.pipelines.front(), &compiled_.models.front()}, sources_, options);
        EXPECT_EQ(ir::verify(program.pipeline), Strings{});
        EXPECT_EQ(kernel::verify(program), Strings{});
        return program;
    }
    /// The text of the updates, without the steps before them.
    std::string updates(const std::string& text, const CudaOptions& options = {}) {
        kernel::Program program = lowered(text, options);
        std::erase_if(program.steps, [](const kernel::Step& step) {
            return step.variants.front().name.find("_update") == std::string::npos;
        });
        return kernel::to_string(program);
    }
    static void golden(const std::string& name, const std::string& text) {
        const std::string path = PIPEC_SOURCE_DIR "/tests/codegen/golden/kernel_" + name + ".txt";
        if (std::getenv("PIPEC_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
        EXPECT_EQ(text, testing::read_file(path));
    }
    static CudaOptions in_order() {
        CudaOptions options;
        options.deterministic = true;
        return options;
    }
    static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

    SourceManager sources_;
    testing::Compiled compiled_;
};

TEST_F(Accumulating, AHistogramIsCountedInSharedMemory) {
    golden("histogram", updates(R"(pipeline p(img: uint8[R, C]) -> hist: int32[256] {
    accumulate hist(b in 0..256): int32 = 0 {
        for y in 0..R, x in 0..C { hist(img(y, x)) += 1 }
    }
}
)"));
}

// In a table of any size: where data or quotients choose the cell, but not where each lane's place does.
TEST_F(Accumulating, LanesShareUpdatesOfCellsThatDataChoose) {
    const auto update = [&](const std::string& target) {
        return updates(
            "pipeline p(id: int32[R, C], far: int32[R, C], n: int32) -> total: int32[N] { "
            "accumulate total(b in 0..N): int32 = 0 { for y in 0..R, x in 0..C { total(" +
            target + ") += 1 } } }");
    };
    EXPECT_TRUE(has(update("clamp(id(y, x), 0, N - 1)"), "atomic of a warp"));
    EXPECT_TRUE(has(update("clamp(id(y, x) + y, 0, N - 1)"), "atomic of a warp"));
    EXPECT_TRUE(has(update("clamp(id(y, x) + x / 8, 0, N - 1)"), "atomic of a warp"));
    EXPECT_FALSE(has(update("clamp(id(y, x) + x, 0, N - 1)"), "atomic of a warp"));
    EXPECT_TRUE(has(update("clamp(id(y, x) + x, 0, N - 1)"), "atomic"));
}

TEST_F(Accumulating, AGridOfTheImagesSizeIsUpdatedInRegions) {
    golden("grid", updates(R"(pipeline p(img: float32[R, C]) -> grid: float32[R / 8 + 2, C / 8 + 2, 11] {
    accumulate grid(gy in 0..R / 8 + 2, gx in 0..C / 8 + 2, z in 0..11): float32 = 0 {
        for y in 0..R, x in 0..C {
            let v = clamp(img(y, x), 0, 1)
            grid((R + 4 - y) / 8, (x + 4) / 8, int32(v * 10 + 0.5)) += v
        }
    }
}
)"));
}

/// Sums and counts beside each other: all of them are in the table of a block, not those of the first update alone.
TEST_F(Accumulating, UpdatesOfSeveralPlacesShareATable) {
    const std::string text = updates(R"(pipeline p(img: uint8[R, C, 3], label: uint8[R, C]) -> out: int64[16, 4] {
    accumulate out(k in 0..16, c in 0..4): int64 = 0 {
        for y in 0..R, x in 0..C {
            out(label(y, x) % 16, 0) += img(y, x, 0)
            out(label(y, x) % 16, 1) += img(y, x, 1)
            out(label(y, x) % 16, 2) += img(y, x, 2)
            out(label(y, x) % 16, 3) += 1
        }
    }
})");
    EXPECT_TRUE(has(text, "shared out_of_block: int64[64, "));
    std::size_t global = 0;  // what a block has found is added once
    for (std::size_t at = text.find("atomic out("); at != std::string::npos; at = text.find("atomic out(", at + 1)) {
        ++global;
    }
    EXPECT_EQ(global, 2u) << text;  // of either variant
}

TEST_F(Accumulating, CellsThatOwnTheirPixelsGatherThem) {
    golden("gather",
           kernel::to_string(lowered(R"(pipeline p(img: float32[R, C]) -> grid: float32[R / 2 + 2, C / 2 + 2, 11] {
    accumulate grid(gy in 0..R / 2 + 2, gx in 0..C / 2 + 2, z in 0..11): float32 = 0 {
        for y in 0..R, x in 0..C {
            let v = clamp(img(y, x), 0, 1)
            grid((y + 1) / 2, (x + 2) / 2, int32(v * 10 + 0.5)) += v
        }
    }
}
)")));
}

TEST_F(Accumulating, FewUpdatesMakeACell) {
    const auto is_atomic = [&](int n) {
        return has(kernel::to_string(lowered(R"(pipeline p(img: int32[R]) -> out: int32[R / 2 + 1] {
    accumulate out(i in 0..R / 2 + 1): int32 = 0 { for x in 0..R, k in 0..)" +
                                             std::to_string(n) + R"( { out(x / 2) += img(x) * k } }
}
)")),
                   "atomic");
    };
    EXPECT_FALSE(is_atomic(128));
    EXPECT_TRUE(is_atomic(129));
}

TEST_F(Accumulating, ATriangleIsWalkedAlongItsRows) {
    golden("triangle", updates(R"(pipeline p(img: float32[N, N], level: float32) -> count: int32[2, N] {
    accumulate count(i in 0..2, x in 0..N): int32 = 0 {
        for y in 0..N, x in 0..y {
            if img(y, x) > level { count(if img(x, y) > level then 1 else 0, x) += 1 }
        }
    }
}
)"));
}

TEST_F(Accumulating, OneSumIsKeptInRegisters) {
    golden("total", updates(R"(pipeline p(img: float32[R, C, 3]) -> total: float32[2] {
    accumulate total(i in 0..2): float32 = 0 {
        for y in 0..R, x in 0..C, c in 0..3 { total(1) += img(y, x, c) }
    }
}
)"));
}

TEST_F(Accumulating, TargetsOfTheirOwnNeedNoAtomics) {
    const std::string text = updates(R"(pipeline p(img: uint8[R, C]) -> out: uint8[2, R + 1, C] {
    accumulate out(i in 0..2, y in 0..R + 1, x in 0..C): uint8 = 5 {
        for y in 0..R, x in 0..C { out(1, y + 1, x) += img(y, x) }
        out(0, 0, 0) *= 3
    }
}
)");
    EXPECT_TRUE(has(text, "update out(1, y + 1, x) += img(y, x)")) << text;
    EXPECT_TRUE(has(text, "update out(0, 0, 0) *= uint8(3)")) << text;
    EXPECT_FALSE(has(text, "atomic")) << text;
}

constexpr const char* kColumnSums = R"(pipeline p(img: float32[R, C]) -> out: float32[C] {
    accumulate out(x in 0..C): float32 = 0 {
        for y in 0..R, x in 0..C { out(x) += img(y, x) }
    }
}
)";
constexpr const char* kFloatHistogram =
    R"(pipeline p(img: float32[N], at: uint8[N]) -> out: float32[256], top: float32[256] {
    accumulate out(i in 0..256): float32 = 0 {
        for x in 0..N { out(at(x)) += img(x) }
    }
    accumulate top(i in 0..256): float32 = 0 {
        for x in 0..N { top(at(x)) max= img(x) }
    }
}
)";

TEST_F(Accumulating, UpdatesOfOneLoopAreOneKernel) {
    const std::string text = updates(R"(pipeline p(img: uint8[R, C]) -> out: int32[R, 256] {
    accumulate out(y in 0..R, b in 0..256): int32 = 0 {
        for y in 0..R, x in 0..C {
            out(y, img(y, x)) += 1
            if x > 3 { out(y, 0) += x }
        }
        for y in 0..R, x in 0..C { out(y, img(y, x)) max= 7 }
        for y in 0..R, x in 1..C { out(y, img(y, x)) max= 8 }
    }
}
)");
    const std::size_t first = text.find("kernel out_update_1 dense"), second = text.find("kernel out_update_2");
    const std::string one = text.substr(first, second - first);
    EXPECT_TRUE(has(one, "copy) += 1\n") && has(one, "copy) += x")) << one;
    EXPECT_TRUE(has(text, "kernel out_update_3") && !has(text, "kernel out_update_4")) << text;
}

TEST_F(Accumulating, InOrderAThreadHasAllPointsOfItsTargets) {
    const std::string text = kernel::to_string(lowered(kColumnSums, in_order()));
    EXPECT_TRUE(has(text, "for y in 0..R {")) << text;
    EXPECT_TRUE(has(text, "update out_tile(thread_x) += img(y, x)")) << text;
    EXPECT_TRUE(has(updates(kColumnSums), "atomic out"));
}

TEST_F(Accumulating, InOrderOneThreadDoesWhatCannotBeShared) {
    const std::string text = updates(kFloatHistogram, in_order());
    EXPECT_TRUE(has(text, "grid 1, 1, 1\n        block 1, 1, 1\n        for x in 0..N {")) << text;
    EXPECT_TRUE(has(text, "atomic top_of_block")) << text;
}

TEST_F(Accumulating, OnlyFloatSumsOfSharedTargetsDependOnTheOrder) {
    compile(kFloatHistogram);
    const std::vector<OrderDependent> found = order_dependent_updates(compiled_.pipelines.front());
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].stage, 0);
    EXPECT_TRUE(found[0].range.valid());
}

TEST_F(Accumulating, BytesAreCountedInWords) {
    compile(R"(pipeline p(img: uint8[N]) -> out: uint8[256], after: int16[256] {
    accumulate out(i in 0..256): uint8 = 200 {
        for x in 0..N { out(img(x)) max= img(x) }
        for x in 0..N { out(img(x)) += 3 }
        for x in 0..N { out(img(x)) min= 250 }
    }
    accumulate after(i in 0..256): int16 = out(i) {
        for x in 0..N { after(img(x)) += 1 }
    }
}
)");
    ir::Pipeline p = compiled_.pipelines.front();
    poly::Model model = compiled_.models.front();
    widen_narrow_accumulates(p, model);
    EXPECT_EQ(ir::verify(p), Strings{});
    EXPECT_EQ(model.domains.size(), p.stages.size());
    EXPECT_EQ(ir::to_string(p), R"(pipeline p(img: uint8[N]) -> out: uint8[256], after: int16[256] {
  accumulate out.wide(i in 0..256): uint32 = uint32(200) {
    for x in 0..N { out.wide(int32(img(x))) max= uint32(img(x)) }
    for x in 0..N { out.wide(int32(img(x))) += uint32(3) }
  }
  accumulate out.wide_2(i in 0..256): uint32 = uint32(uint8(out.wide(i))) {
    for x in 0..N { out.wide_2(int32(img(x))) min= uint32(250) }
  }
  out(i in 0..256): uint8 = uint8(out.wide_2(i))
  accumulate after.wide(i in 0..256): int32 = int32(int16(out(i))) {
    for x in 0..N { after.wide(int32(img(x))) += 1 }
  }
  after(i in 0..256): int16 = int16(after.wide(i))
}
)");
}

}  // namespace
}  // namespace pipec::codegen::kernel_accumulate_test
