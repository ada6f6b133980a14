// Runs in tiles on a GPU, without one (emulated_gpu.h).
#include "emulated_gpu.h"
#include "simt.h"

namespace pipec::testing::tiles_gpu_test {

namespace {

namespace fs = std::filesystem;

class TilesOnGpu : public EmulatedGpu {
protected:
    void SetUp() override {
        EmulatedGpu::SetUp();
        write_bytes("in.pgm", pnm(45, 70, 1, ramp(45 * 70, 7)));
        // A border, a statistic, two sizes.
        write_bytes("p.pipe", R"(
            import "boundary"
            pipeline p(img: uint8[R, C], bias: int32[]) -> out: int32[R, C], half: int32[R / 2, C / 2], most: int32[] {
                e = clamp_to_edge(img)
                s(y, x) = sum(i in 0..3, j in 0..3) int32(e(y + i - 1, x + j - 1)) + bias()
                most() = max(y in 0..R, x in 0..C) int32(img(y, x))
                out(y, x) = s(y, x)
                half(y, x) = s(2 * y, 2 * x) - s(2 * y + 1, 2 * x + 1)
            }
        )");
        write_bytes("bias.npy", npy<std::int32_t>("<i4", "()", {3}));
    }
    static Outcome run(const std::string& options, const std::string& environment = "") {
        return shell(environment + " " PIPEC " run -O1 p.pipe --in img=in.pgm --in bias=bias.npy " + options);
    }
};

constexpr const char* kNothingLeft = "contexts 0, blocks 0, streams 0, events 0\n";

TEST_F(TilesOnGpu, HaveTheBitsOfOnePiece) {
    ASSERT_EQ(run("-q --device cpu --out out=out.npy --out half=half.npy --out most=most.npy").err, "");
    const Outcome outcome = run("--device gpu --out out=o.npy --out half=h.npy --out most=m.npy --tiles 16x32");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "ran on Fake A (GPU 0)\n");
    for (const std::string output : {"out", "half", "most"}) {
        EXPECT_EQ(read_bytes(output.substr(0, 1) + ".npy"), read_bytes(output + ".npy")) << output;
    }
    EXPECT_EQ(read_bytes("left"), kNothingLeft);
    // An error of each call that the others do not make, and too little memory; nothing is left of either.
    for (const std::string call : {"cuMemAllocHost", "cuMemcpyDtoHAsync"}) {
        fs::remove("o.npy");
        const Outcome failed = run("--device gpu --out out=o.npy --tiles 16x32", "FAKE_CUDA_FAIL=" + call + "_v2=2");
        EXPECT_EQ(failed.exit_code, 1);
        EXPECT_EQ(failed.err.find("pipec-run: error: Fake A (GPU 0): " + call), 0U) << failed.err;
        EXPECT_EQ(read_bytes("left"), kNothingLeft) << call;
        EXPECT_FALSE(fs::exists("o.npy"));
    }
    const Outcome little = run("--device gpu --out out=o.npy --tiles 45x70", "FAKE_CUDA_MEMORY=9000");
    EXPECT_EQ(little.exit_code, 1);
    EXPECT_EQ(little.err.find("pipec-run: error: --tiles 45x70: a tile needs "), 0U) << little.err;
    EXPECT_NE(little.err.find(" on the GPU, which has 7.91 KiB\n"), std::string::npos) << little.err;
    const Outcome fits = run("--device gpu --out out=o.npy --tiles auto", "FAKE_CUDA_MEMORY=20000");
    EXPECT_EQ(fits.exit_code, 0) << fits.err;
    EXPECT_EQ(read_bytes("o.npy"), read_bytes("out.npy"));
}

}  // namespace
}  // namespace pipec::testing::tiles_gpu_test
