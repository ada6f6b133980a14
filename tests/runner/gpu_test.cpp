// Runs on a GPU, without one (emulated_gpu.h).
#include <nlohmann/json.hpp>

#include "emulated_gpu.h"
#include "simt.h"

namespace pipec::testing::gpu_test {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBlur = R"(
pipeline blur(img: uint8[R, C + 2]) -> out: int32[R, C] {
    row(y, x) = int32(img(y, x)) + img(y, x + 1) + img(y, x + 2)
    out(y, x) = row(y, x) * row(y, x)
}
)";

constexpr const char* kNothingLeft = "contexts 0, blocks 0, streams 0, events 0\n";

class Gpu : public EmulatedGpu {
protected:
    void SetUp() override {
        EmulatedGpu::SetUp();
        write_bytes("blur.pipe", kBlur);
        write_bytes("in.pgm", pnm(9, 40, 1, ramp(360, 7)));
    }
    static Outcome run(const std::string& options, const std::string& environment = "") {
        return shell(environment + " " PIPEC " run -O1 " + options);
    }
    /// The file that a run of `options` on a device writes.
    static std::string result_on(const std::string& device, const std::string& options, const std::string& file) {
        fs::remove(file);
        const Outcome outcome = run(options + " --device " + device);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, device == "cpu" ? "ran on the CPU\n" : "ran on Fake A (GPU 0)\n");
        return fs::exists(file) ? read_bytes(file) : "";
    }
    /// No nvcc will be asked again: the object for a later call is in the cache.
    static void warm_up() { ASSERT_EQ(run("blur.pipe -q --in img=in.pgm --device gpu").exit_code, 0); }
};

constexpr const char* kBlurFiles = "blur.pipe --in img=in.pgm --out out=out.npy ";

TEST_F(Gpu, ExamplesGiveWhatTheCpuGives) {
    write_bytes("color.ppm", pnm(24, 30, 3, ramp(24 * 30 * 3, 5)));
    write_bytes("gray.pgm", pnm(24, 30, 1, ramp(24 * 30, 11)));
    const std::string examples = PIPEC_EXAMPLES "/";
    for (const std::string options :
         {"blur.pipe --in img=color.ppm --out out=out.npy", "detail.pipe --in img=color.ppm --out out=out.npy",
          "harris.pipe --in img=gray.pgm --out response=out.npy"}) {
        const std::string cpu = result_on("cpu", examples + options, "out.npy");
        EXPECT_EQ(result_on("gpu", examples + options, "out.npy"), cpu) << options;
        EXPECT_EQ(read_bytes("left"), kNothingLeft) << options;
    }
}

TEST_F(Gpu, ReportsNameTheDevice) {
    const Outcome text = run(std::string(kBlurFiles) + "--repeat 3");
    ASSERT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(text.err, "ran on Fake A (GPU 0)\n") << "a GPU is there, so it is used";
    EXPECT_NE(text.out.find(" 2.50 ms  on Fake A (GPU 0); least of 3, median 2.50 ms\n"), std::string::npos)
        << text.out;
    EXPECT_EQ(read_bytes("left"), kNothingLeft);

    const Outcome json = run(std::string(kBlurFiles) + "--json --device 1", "FAKE_CUDA_DEVICES=2");
    ASSERT_EQ(json.exit_code, 0) << json.err;
    EXPECT_EQ(json.err, "ran on Fake B (GPU 1)\n");
    const auto report = nlohmann::json::parse(json.out);
    EXPECT_EQ(report.at("device"), "Fake B (GPU 1)");
    EXPECT_EQ(report.at("target"), "cuda");

    const Outcome quiet = run(std::string(kBlurFiles) + "-q");
    EXPECT_EQ(quiet.err + quiet.out, "");
}

TEST_F(Gpu, NvccCompilesOnceForThisGpu) {
    warm_up();
    const std::string calls = read_bytes("calls");
    for (const char* flag : {"-gencode=arch=compute_90,code=sm_90", "-shared", "-Xcompiler=-fPIC", "-cudart=static",
                             "-O1", "--fmad=false"}) {
        EXPECT_NE(calls.find(flag), std::string::npos) << flag << " in " << calls;
    }
    fs::remove("calls");
    warm_up();
    EXPECT_EQ(read_bytes("calls").find(" -o "), std::string::npos);
}

TEST_F(Gpu, SchedulesChangeTheCodeAndNoResult) {
    write_bytes("color.ppm", pnm(24, 30, 3, ramp(24 * 30 * 3, 5)));
    const std::string options = PIPEC_EXAMPLES "/blur.pipe --in img=color.ppm --out out=out.npy";
    const std::string cpu = result_on("cpu", options, "out.npy");
    EXPECT_EQ(result_on("gpu", options, "out.npy"), cpu);
    fs::remove("calls");
    EXPECT_EQ(result_on("gpu", options + " --strategy otpw --tile 2x4", "out.npy"), cpu);
    EXPECT_NE(read_bytes("calls").find(" -o "), std::string::npos) << "another code is another object";
    ASSERT_EQ(
        shell(PIPEC " --emit schedule --strategy otpw --tile 2x4 " PIPEC_EXAMPLES "/blur.pipe -o s.json").exit_code, 0);
    fs::remove("calls");
    EXPECT_EQ(result_on("gpu", options + " --schedule s.json", "out.npy"), cpu);
    EXPECT_EQ(read_bytes("calls").find(" -o "), std::string::npos) << "the same code is in the cache";

    const auto fails = [&](const std::string& more, int code, const std::string& message) {
        fs::remove("out.npy");
        const Outcome outcome = run(options + more);
        EXPECT_EQ(outcome.exit_code, code);
        EXPECT_EQ(outcome.err, "pipec: error: " + message + "\n");
        EXPECT_FALSE(fs::exists("out.npy"));
    };
    fails(" --device cpu --schedule s.json", 2, "`--schedule` is for a GPU, but this runs on the CPU");
    fails(" --schedule none.json", 3, "cannot read `none.json`: No such file or directory");
    write_bytes("s.json", "{}");
    fails(" --schedule s.json", 1, "s.json: `version` is missing");
    fails(" --strategy otpw --block 24", 1,
          "`otpw` is impossible for every stage: 24 threads in a dimension: it must be a power of two (or, in x, a "
          "multiple of 32)");
}

TEST_F(Gpu, FastMathIsAnotherObject) {
    warm_up();
    fs::remove("calls");
    const std::string blur = kBlurFiles;
    EXPECT_EQ(run(blur + "-q -ffast-math").err, "");
    EXPECT_NE(read_bytes("calls").find("--use_fast_math"), std::string::npos);
    fs::remove("calls");
    EXPECT_EQ(run(blur + "-q -ffast-math -fno-fast-math").err, "");
    EXPECT_EQ(read_bytes("calls").find(" -o "), std::string::npos) << "the same code is in the cache";
    const Outcome on_cpu = run(blur + "--device cpu -ffast-math");
    EXPECT_EQ(on_cpu.exit_code, 2);
    EXPECT_EQ(on_cpu.err, "pipec: error: `-ffast-math` is for a GPU, but this runs on the CPU\n");
    EXPECT_EQ(run(blur + "-ffinite").exit_code, 2);
}

TEST_F(Gpu, WithoutAGpuTheCpuRuns) {
    const auto falls_back = [&](const std::string& environment) {
        const Outcome outcome = run(kBlurFiles, environment);
        EXPECT_EQ(outcome.exit_code, 0) << environment << outcome.err;
        EXPECT_EQ(outcome.err, "ran on the CPU\n") << environment;
    };
    falls_back("FAKE_CUDA_DEVICES=0");
    falls_back("FAKE_CUDA_FAIL=cuInit=100");
    write_bytes("libcuda.so.1", "this is no library");
    falls_back("LD_LIBRARY_PATH=.");
    write_script("nvcc", "#!/bin/sh\necho sm_75\n");  // an nvcc that is older than the GPU
    falls_back("");
}

TEST_F(Gpu, WhatIsMissingIsNamedWhereAGpuIsWanted) {
    const std::string advice = "\n  note: `--device cpu` needs neither a GPU nor nvcc\n";
    const auto fails = [&](const std::string& wish, const std::string& environment, const std::string& message) {
        const Outcome outcome = run(kBlurFiles + ("--device " + wish), environment);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.err, "pipec: error: --device " + wish + ": " + message + advice);
        EXPECT_EQ(outcome.out, "");
        EXPECT_FALSE(fs::exists("out.npy"));
    };
    fails("gpu", "FAKE_CUDA_DEVICES=0", "there is no GPU: the CUDA driver sees none");
    fails("1", "", "there is no GPU 1: there is one, number 0");
    fails("7", "FAKE_CUDA_DEVICES=3", "there is no GPU 7: there are 3, from 0");
    fails("gpu", "FAKE_CUDA_FAIL=cuInit=3", "cuInit failed: bad (CUDA_ERROR_NOT_INITIALIZED)");
    write_bytes("libcuda.so.1", "this is no library");
    fails("gpu", "LD_LIBRARY_PATH=.",
          "there is no CUDA driver: ./libcuda.so.1: file too short\n  note: libcuda.so.1 comes with NVIDIA's driver");
    write_script("nvcc", "#!/bin/sh\necho sm_75\n");
    fails("gpu", "",
          "`sm_90` is no GPU that `" + fs::current_path().string() + "/nvcc` compiles for; there are: sm_75");
    const Outcome missing = run(std::string(kBlurFiles) + "--device gpu --nvcc ./none");
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_EQ(missing.err.find("pipec: error: --device gpu: cannot start the CUDA compiler `./none`"), 0U)
        << missing.err;

    for (const std::string wish : {"cuda", "-1", "1.5"}) {
        const Outcome outcome = run(kBlurFiles + ("--device='" + wish + "'"));
        EXPECT_EQ(outcome.exit_code, 2) << wish;
        EXPECT_NE(outcome.err.find("`" + wish + "` is none of auto, cpu, gpu, and no number of a GPU"),
                  std::string::npos)
            << outcome.err;
    }
}

TEST_F(Gpu, NvccFails) {
    write_script("nvcc",
                 "#!/bin/sh\ncase $* in *--list*) echo sm_90; exit;; *--version*) exit;; esac\n"
                 "echo 'x.cu: no' >&2; exit 3\n");
    const Outcome outcome = run(kBlurFiles);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("failed with exit code 3 on the code that pipec generated\n    x.cu: no\n"),
              std::string::npos)
        << outcome.err;
    EXPECT_FALSE(fs::exists("out.npy"));
}

// Every call of the driver that a run makes, failing: a message that names it, exit code 1, no output, and all that
// could be given back is.
TEST_F(Gpu, EveryCallThatFailsIsNamed) {
    warm_up();
    struct Case {
        const char *plan, *message;
    };
    for (const auto& [plan, message] : std::vector<Case>{
             {"cuDevicePrimaryCtxRetain=2", "Fake A (GPU 0): cuDevicePrimaryCtxRetain failed: out of memory"},
             {"cuCtxSetCurrent=201", "Fake A (GPU 0): cuCtxSetCurrent failed: bad (CUDA_ERROR_INVALID_CONTEXT)"},
             {"cuStreamCreate=2", "Fake A (GPU 0): cuStreamCreate failed: out of memory"},
             {"cuEventCreate=2", "Fake A (GPU 0): cuEventCreate failed: out of memory"},
             {"cuEventCreate=2@2", "Fake A (GPU 0): cuEventCreate failed: out of memory"},
             {"cuMemAlloc_v2=2",
              "Fake A (GPU 0): cuMemAlloc of 360 bytes failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"},
             {"cuMemAlloc_v2=2@2", "Fake A (GPU 0): cuMemAlloc of 1368 bytes failed: out of memory"},
             {"cuMemcpyHtoD_v2=1", "Fake A (GPU 0): cuMemcpyHtoD of 360 bytes failed: bad (CUDA_ERROR_INVALID_VALUE)"},
             {"cuEventRecord=1", "Fake A (GPU 0): cuEventRecord failed: bad"},
             {"cuEventRecord=1@2", "Fake A (GPU 0): cuEventRecord failed: bad"},
             {"cuStreamSynchronize=719",
              "Fake A (GPU 0): `blur`: cuStreamSynchronize failed: unspecified launch failure "
              "(CUDA_ERROR_LAUNCH_FAILED)"},
             {"cuEventElapsedTime=12345", "Fake A (GPU 0): cuEventElapsedTime failed: error 12345"},
             {"cuMemcpyDtoH_v2=1",
              "Fake A (GPU 0): cuMemcpyDtoH of 1368 bytes failed: bad (CUDA_ERROR_INVALID_VALUE)"}}) {
        const Outcome outcome = run(kBlurFiles, std::string("FAKE_CUDA_FAIL=") + plan);
        EXPECT_EQ(outcome.exit_code, 1) << plan;
        EXPECT_EQ(outcome.err.find(std::string("pipec-run: error: ") + message), 0U) << plan << ": " << outcome.err;
        EXPECT_EQ(outcome.out, "") << plan;
        EXPECT_FALSE(fs::exists("out.npy")) << plan;
        EXPECT_EQ(read_bytes("left"), kNothingLeft) << plan;
    }
}

TEST_F(Gpu, ObjectsRunWhereTheyAreCompiledFor) {
    write_bytes("in.npy", npy<std::uint8_t>("|u1", "(3,)", {1, 2, 3}));
    const auto fails = [&](int exit_code, const std::string& options, const std::string& environment,
                           const std::string& message) {
        const Outcome outcome = shell(environment + " " PIPEC_RUN " " PIPEC_COPIES " --in in=in.npy " + options);
        EXPECT_EQ(outcome.exit_code, exit_code);
        EXPECT_EQ(outcome.err, "pipec-run: error: " + message + "\n");
    };
    fails(2, "--pipeline on_cuda --device cpu", "", "--device cpu: `on_cuda` is compiled for a GPU (target `cuda`)");
    fails(2, "--pipeline row --device gpu", "", "--device gpu: `row` is compiled for the CPU (target `host`)");
    fails(2, "--pipeline row --device 0", "", "--device 0: `row` is compiled for the CPU (target `host`)");
    fails(1, "--pipeline on_cuda", "FAKE_CUDA_DEVICES=0", "there is no GPU: the CUDA driver sees none");
    fails(1, "--pipeline on_cuda --device 1", "", "there is no GPU 1: there is one, number 0");
    // The pipeline says that CUDA refused its kernel.
    fails(1, "--pipeline refused_by_cuda", "",
          "Fake A (GPU 0): `refused_by_cuda` could not be launched: CUDA refused a kernel\n"
          "  note: it must be compiled for this GPU's architecture, by an nvcc no newer than the driver, which is for "
          "CUDA "
          "12.4");
    fails(1, "--pipeline refused_by_cuda", "FAKE_CUDA_FAIL=cuCtxSynchronize=719",
          "Fake A (GPU 0): `refused_by_cuda` could not be launched: cuCtxSynchronize: unspecified launch failure "
          "(CUDA_ERROR_LAUNCH_FAILED)");
    EXPECT_EQ(read_bytes("left"), kNothingLeft);
}

TEST_F(Gpu, TheListOfGpus) {
    const Outcome outcome = shell("FAKE_CUDA_DEVICES=2 " PIPEC_RUN " --list-gpus");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, "0 sm_90 Fake A\n1 sm_90 Fake B\n");
    EXPECT_EQ(outcome.err, "");
}

TEST_F(Gpu, WhatTheDriverSaysOfAGpuIsADescription) {
    const Outcome outcome = shell(PIPEC_RUN " --describe-gpu 0");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("name = \"Fake A\"\ndevices = [\"Fake A\"]\ncompute_capability = \"9.0\"\n"),
              std::string::npos);
    EXPECT_NE(outcome.out.find("shared_per_block_kb = 163\nclock_mhz = 1755\nl2_kb = 51200\ndram_gb_per_s = 3352.32\n"),
              std::string::npos)
        << outcome.out;
    EXPECT_EQ(shell(PIPEC_RUN " --describe-gpu 1").err,
              "pipec-run: error: there is no GPU 1: there is one, number 0\n");
    EXPECT_EQ(shell(PIPEC_RUN " --describe-gpu -1").exit_code, 2);
    // As a file it means what `native` means.
    write_bytes("mine.toml", outcome.out);
    const Outcome mine = shell(PIPEC " explain --gpu mine.toml blur.pipe");
    EXPECT_EQ(mine.exit_code, 0) << mine.err;
    EXPECT_NE(mine.out.find("Fake A"), std::string::npos);
    EXPECT_EQ(shell(PIPEC " explain --gpu native blur.pipe").out, mine.out);
}

TEST_F(Gpu, CodeDoesNotDependOnTheGpuOfTheMachineUnlessItIsAskedFor) {
    const auto report = [](const std::string& environment, const std::string& options) {
        const Outcome outcome = shell(environment + " " PIPEC " explain blur.pipe " + options);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.out;
    };
    const std::string usual = report("FAKE_CUDA_DEVICES=0", "");
    EXPECT_NE(usual.find("NVIDIA H100 SXM"), std::string::npos);
    EXPECT_EQ(report("FAKE_CUDA_NAME='Tesla T4'", ""), usual);
    EXPECT_EQ(report("", "--gpu h100"), usual);
    EXPECT_EQ(report("FAKE_CUDA_NAME='Tesla T4'", "--gpu native"), report("", "--gpu t4"));
    const auto code = [](const std::string& environment, const std::string& options) {
        return shell(environment + " " PIPEC " blur.pipe -o - " + options).out;
    };
    EXPECT_EQ(code("FAKE_CUDA_NAME='Tesla T4'", ""), code("FAKE_CUDA_DEVICES=0", ""));
    EXPECT_EQ(code("FAKE_CUDA_NAME='Tesla T4'", "--gpu native"), code("", "--gpu t4"));
}

TEST_F(Gpu, NativeNeedsAGpu) {
    const auto fails = [](const std::string& environment, const std::string& message) {
        const Outcome outcome = shell(environment + " " PIPEC " --gpu native blur.pipe");
        EXPECT_EQ(outcome.exit_code, 5);
        EXPECT_EQ(outcome.err.substr(0, message.size()), message);
    };
    fails("FAKE_CUDA_DEVICES=0", "pipec: error: `--gpu native`: there is no GPU: the CUDA driver sees none\n");
    write_bytes("libcuda.so.1", "this is no library");
    fails("LD_LIBRARY_PATH=.",
          "pipec: error: `--gpu native`: there is no CUDA driver: ./libcuda.so.1: file too short\n");
    fails("FAKE_CUDA_FAIL=cuDeviceGetAttribute=1@3",
          "pipec: error: `--gpu native`: cuDeviceGetAttribute of attribute 36 failed: ");
    fails("FAKE_CUDA_MEMORY_CLOCK=0",
          "pipec: error: `--gpu native`: `Fake A` is no GPU that pipec knows, and the driver does not describe it: "
          "pipec-run --describe-gpu:15:17: `dram_gb_per_s` is a positive finite number\n  note: `--gpu` names another");
}

TEST_F(Gpu, ARunKeepsToTheGpuThatItIsOn) {
    // Tiles of 194 KB, which an H100 has room for.
    write_bytes("wide.pipe", R"(
        pipeline wide(img: uint8[R + 2, C + 2]) -> out: float32[R, C] {
            sums(x, y) = float32(img(x, y)) + img(x + 1, y) + img(x + 2, y)
            out(x, y) = sums(x, y) + sums(x, y + 1) + sums(x, y + 2)
        }
    )");
    const std::string wide = "--strategy otptb --block 32x32 --tile 6x8 --emit schedule -o wide.json wide.pipe";
    ASSERT_EQ(shell(PIPEC " " + wide).exit_code, 0);
    const std::string options = "wide.pipe --in img=in.pgm --schedule wide.json ";
    const Outcome refused = run(options);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("a block of Fake A has 166912"), std::string::npos) << refused.err;
    EXPECT_EQ(run(options + "--gpu native").err, refused.err);
    EXPECT_EQ(run(options + "--gpu h100").exit_code, 0);
    EXPECT_EQ(run(options, "FAKE_CUDA_NAME='NVIDIA H200'").exit_code, 0);
}

}  // namespace
}  // namespace pipec::testing::gpu_test
