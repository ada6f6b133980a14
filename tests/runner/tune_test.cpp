// `pipec tune` on an emulated GPU, whose clock counts kernels: what is fused is faster.
#include <nlohmann/json.hpp>

#include "emulated_gpu.h"

namespace pipec::testing::tune_test {

namespace {

namespace fs = std::filesystem;

// Integers, so that a wrong result cannot be a rounding error.
constexpr const char* kBlur = R"(
pipeline blur(img: uint8[R, C + 2]) -> out: int32[R, C] {
    row(y, x) = int32(img(y, x)) * img(y, x + 1) / 3 + img(y, x + 2) * int32(img(y, x)) / 7
    out(y, x) = row(y, x) + row(y, min(x + 1, C - 1)) * row(max(y - 1, 0), x)
}
)";
constexpr const char* kTune = PIPEC " tune blur.pipe --size R=6 --size C=40 --cost-model paper --choices 3 -j2 ";

class Tune : public EmulatedGpu {
protected:
    void SetUp() override {
        EmulatedGpu::SetUp();
        setenv("FAKE_CUDA_CLOCK", "kernels", 1);
        write_bytes("blur.pipe", kBlur);
    }
    void TearDown() override {
        unsetenv("FAKE_CUDA_CLOCK");
        EmulatedGpu::TearDown();
    }
    static std::size_t lines(const std::string& text, const std::string& part) {
        std::size_t count = 0;
        for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
        return count;
    }
    static void refused(const std::string& options, int code, const std::string& message,
                        const std::string& environment = "") {
        const Outcome outcome = shell(environment + " " + kTune + options);
        EXPECT_EQ(outcome.exit_code, code) << options;
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
        EXPECT_FALSE(fs::exists("blur.schedule.json"));
        EXPECT_FALSE(fs::exists("blur.schedule.json.journal"));
    }
};

TEST_F(Tune, TheFastestIsKept) {
    const Outcome outcome = shell(kTune);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("Fake A with R = 6, C = 40: 60.0000 ms stage by stage\n"), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("  1/"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("30.0000 ms, 2.00 times as fast as stage by stage"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(" ms  cost "), std::string::npos);
    EXPECT_NE(outcome.err.find("best 30.0000"), std::string::npos);
    EXPECT_EQ(read_bytes("left"), "contexts 0, blocks 0, streams 0, events 0\n");
    EXPECT_EQ(files(), (std::vector<std::string>{"blur.pipe", "blur.schedule.json", "cache", "calls", "left", "nvcc"}));
    const auto schedule = nlohmann::json::parse(read_bytes("blur.schedule.json"));
    const auto& blur = schedule["pipelines"]["blur"];
    EXPECT_EQ(blur["origin"], "pipec tune: 30.0000 ms on Fake A with R = 6, C = 40");
    EXPECT_EQ(blur["groups"].size(), 1U);
    EXPECT_EQ(blur["groups"][0]["stages"], nlohmann::json({"row", "out"}));
    // Choices are tried for the fastest, and pinned.
    EXPECT_EQ(lines(outcome.err, "/3  30.0000 ms  best 30.0000  out: "), 3U) << outcome.err;
    EXPECT_EQ(schedule["version"], 2);
    EXPECT_EQ(blur["groups"][0]["block_order"], "xyz");
    EXPECT_EQ(blur["groups"][0]["min_blocks"], 0);
    // It is a schedule like any other.
    EXPECT_EQ(shell(PIPEC " --schedule blur.schedule.json -fsyntax-only blur.pipe").exit_code, 0);

    // Another time all objects are in the cache.
    compilations();
    const Outcome again = shell(std::string(kTune) + "-q --candidates 1 -o again.json");
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_EQ(again.err, "");
    EXPECT_EQ(compilations(), 0);
    EXPECT_TRUE(fs::exists("again.json"));
}

// nvcc sends the signal that a person sends with Ctrl-C, when it is asked for the third object and the first candidate
// is measured.
TEST_F(Tune, WhoStopsItGoesOnWithTheSameCommand) {
    write_nvcc(
        "echo >>count; [ $(wc -l <count) -ne 3 ] || { "
        "until grep -q candidate *.journal; do sleep 0.1; done; kill -INT $PPID; sleep 1; }");
    const std::string command = std::string(kTune) + "-j1";
    const Outcome stopped = shell(command + "; echo $?");
    EXPECT_EQ(stopped.out, "130\n");
    EXPECT_NE(stopped.err.find("stopped: 1 measured, in blur.schedule.json.journal; the same command goes on"),
              std::string::npos)
        << stopped.err;
    EXPECT_FALSE(fs::exists("blur.schedule.json"));
    const std::string journal = read_bytes("blur.schedule.json.journal");
    EXPECT_EQ(lines(journal, "\"candidate\""), 1U) << journal;

    // Not for other sizes.
    write_nvcc();
    compilations();
    const std::string other = PIPEC " tune blur.pipe --cost-model paper --size R=7 --candidates 1 --size C=41";
    fs::copy("blur.schedule.json.journal", "kept");
    const Outcome stale = shell(other);
    EXPECT_EQ(stale.exit_code, 0) << stale.err;
    EXPECT_NE(stale.err.find("the journal was of another program, other options or another GPU: all anew"),
              std::string::npos)
        << stale.err;
    EXPECT_FALSE(fs::exists("blur.schedule.json.journal"));

    fs::remove("blur.schedule.json");
    fs::rename("kept", "blur.schedule.json.journal");
    const Outcome goes_on = shell(command);
    EXPECT_EQ(goes_on.exit_code, 0) << goes_on.err;
    EXPECT_NE(goes_on.err.find("1 measured before\n"), std::string::npos) << goes_on.err;
    EXPECT_TRUE(fs::exists("blur.schedule.json"));
    EXPECT_FALSE(fs::exists("blur.schedule.json.journal"));
}

// The search for candidates of a longer pipeline takes seconds; nvcc leaves somebody behind who stops it.
TEST_F(Tune, TheSearchCanBeStopped) {
    std::string program = "pipeline chain(img: float32[R + 24, C]) -> out: float32[R, C] {\n", from = "img";
    for (int i = 1; i <= 12; ++i) {
        const std::string to = i == 12 ? "out" : "s" + std::to_string(i);
        program += to + "(y, x) = (" + from + "(y, x) + 2 * " + from + "(y + 1, x) + " + from + "(y + 2, x)) / 4\n";
        from = to;
    }
    write_bytes("chain.pipe", program + "}\n");
    write_nvcc("(until grep -q 'stage by stage' said; do sleep 0.02; done; kill -INT $PPID) >wait 2>&1 &");
    compilations();
    const Outcome stopped = shell(PIPEC " tune chain.pipe --size R=6 --size C=40 2>said; echo $?");
    EXPECT_EQ(stopped.out, "130\n");
    EXPECT_EQ(compilations(), 1);  // of the pipeline without fusion
    EXPECT_FALSE(fs::exists("chain.schedule.json"));
}

// Of code with tiles some is no code, and some computes something else.
TEST_F(Tune, CandidatesThatFailAreSkipped) {
    write_nvcc(R"(echo >>count
        case $(wc -l <count) in
            2) echo 'x.cu: no' >&2; exit 3;;
            3) sed -i 's,/ 7\b,/ 8,' "$1";;
        esac)");
    const Outcome outcome = shell(std::string(kTune) + "-j1");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(lines(outcome.err, "failed: the CUDA compiler"), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("failed with exit code 3"), std::string::npos) << outcome.err;
    EXPECT_EQ(lines(outcome.err, "failed: wrong result: "), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(", 2 failed; written to blur.schedule.json"), std::string::npos) << outcome.err;
}

TEST_F(Tune, InputsFromFilesSayTheSizes) {
    write_bytes("in.pgm", pnm(5, 34, 1, ramp(170, 3)));
    const Outcome outcome = shell(PIPEC " tune blur.pipe --cost-model paper --in img=in.pgm --candidates 1 -o x.json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("Fake A with R = 5, C = 32: "), std::string::npos) << outcome.err;
}

TEST_F(Tune, WhatIsMissingOrWrongIsNamed) {
    refused("", 1, "pipec: error: nothing can be measured: there is no GPU: the CUDA driver sees none",
            "FAKE_CUDA_DEVICES=0");
    refused("--nvcc ./none", 1, "cannot start the CUDA compiler `./none`");
    refused("--device 3", 1, "there is no GPU 3: there is one, number 0");
    refused("--device cpu", 2, "`--device cpu`: only a GPU is measured");
    refused("--candidate 3", 2, "unknown option `--candidate`; did you mean `--candidates`?");
    refused("--candidates 0", 2, "--candidates");
    refused("--size Q=3", 2, "`--size`: `blur` has no size `Q`; it has: R, C");
    refused("--size R=0", 2, "`--size R=0`: this is no size, an integer from 1 to 2^30 - 1");
    refused("--tune-for R=3", 2, "`--tune-for` is for pipec; here `--size NAME=N` says the sizes");
    refused("-o none/x.json", 3, "cannot write none/x.json: No such file or directory");
    fs::create_directory("directory");
    refused("-o directory", 3, "cannot write directory: it is a directory");
    refused("-o -", 2, "`-o` needs the name of a file");
    refused("other.pipe", 2, "`other.pipe`: one file is measured at a time");
    write_nvcc("echo 'x.cu: no' >&2; exit 3");
    refused("--no-cache", 1, "failed with exit code 3 on the code that pipec generated");
    write_bytes("blur.pipe", "pipeline blur(");
    refused("", 1, "blur.pipe:1:");
}

}  // namespace
}  // namespace pipec::testing::tune_test
