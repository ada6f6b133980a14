// `pipec profile` on an emulated GPU, whose clock counts accesses of shared memory; and what `--profile` does with it.
#include <nlohmann/json.hpp>

#include "emulated_gpu.h"

namespace pipec::testing::profile_test {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBlur = R"(
pipeline blur(img: float32[R + 2, C + 2], k: float32, iterations: int32 = 1) -> out: float32[R, C] {
    rows(y, x) = k * (img(y, x) + img(y + 1, x) + img(y + 2, x))
    out(y, x) = rows(y, x) + rows(y, x + 1) * rows(y, x + 2) + iterations
}
)";
constexpr const char* kProfile = PIPEC " profile blur.pipe --size R=6 --size C=40 --set k=0.5 ";

/// What ptxas says of every kernel.
constexpr const char* kPtxas =
    R"(for code in $(grep -o 'namespace stage_[0-9]*_code' "$1" | cut -d' ' -f2 | sort -u); do
    echo "ptxas info    : Compiling entry function '_ZN3abc12${code}4loopILb1EEEv' for 'sm_90'"
    echo "ptxas info    : Used 21 registers, used 1 barriers, 380 bytes cmem[0]"
    echo "ptxas info    : Compiling entry function '_ZN3abc12${code}4loopILb0EEEv' for 'sm_90'"
    echo "ptxas info    : Used 22 registers, used 1 barriers, 380 bytes cmem[0]"
done)";

class Profile : public EmulatedGpu {
protected:
    void SetUp() override {
        EmulatedGpu::SetUp();
        setenv("FAKE_CUDA_CLOCK", "shared", 1);
        write_nvcc(kPtxas);
        write_bytes("blur.pipe", kBlur);
    }
    void TearDown() override {
        unsetenv("FAKE_CUDA_CLOCK");
        EmulatedGpu::TearDown();
    }
    static void refused(const std::string& command, int code, const std::string& message,
                        const std::string& environment = "") {
        const Outcome outcome = shell(environment + " " + command);
        EXPECT_EQ(outcome.exit_code, code) << command;
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
};

TEST_F(Profile, RegistersAndTimesOfEachStage) {
    const Outcome outcome = shell(kProfile);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    // A microsecond for each byte: a load for each read, and the store of the result.
    EXPECT_EQ(outcome.err,
              "rows: 21 registers, 16000.0 ns\nout: 21 registers, 16000.0 ns\nwritten to blur.profile.json\n");
    const auto file = nlohmann::json::parse(read_bytes("blur.profile.json"));
    EXPECT_EQ(file["version"], 1);
    EXPECT_EQ(file["device"], "Fake A");
    EXPECT_EQ(file["architecture"], "sm_90");
    EXPECT_EQ(file["pipelines"]["blur"][0]["stage"], "rows");
    EXPECT_EQ(file["pipelines"]["blur"][1]["nanoseconds"], 16000);
    EXPECT_NE(read_bytes("calls").find("-Xptxas=-v"), std::string::npos);

    // A schedule says what it was made with.
    const std::string emit = PIPEC " --cost-model paper --gpu v100 --emit schedule blur.pipe";
    EXPECT_EQ(shell(emit).out.find("origin"), std::string::npos);
    const Outcome with = shell(emit + " --profile blur.profile.json");
    EXPECT_EQ(with.exit_code, 0) << with.err;
    EXPECT_NE(with.out.find("\"origin\": \"cost model paper for NVIDIA Tesla V100, with registers and times of "
                            "blur.profile.json\""),
              std::string::npos)
        << with.out;
    // What was measured matters: no tile has so many registers.
    std::string many = read_bytes("blur.profile.json");
    for (std::size_t at = many.find("21,"); at != std::string::npos; at = many.find("21,")) many.replace(at, 2, "250");
    write_bytes("many.json", many);
    EXPECT_NE(with.out.find("\"rows\", \"out\""), std::string::npos) << with.out;
    const Outcome apart = shell(emit + " --profile many.json");
    EXPECT_EQ(apart.out.find("\"rows\", \"out\""), std::string::npos) << apart.out;
}

TEST_F(Profile, WithoutAGpuThereAreRegistersAlone) {
    const Outcome outcome = shell(std::string("FAKE_CUDA_DEVICES=0 ") + kProfile);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err,
              "registers alone, for sm_90: there is no GPU: the CUDA driver sees none\nrows: 21 registers\nout: 21 "
              "registers\nwritten to blur.profile.json\n");
    EXPECT_TRUE(nlohmann::json::parse(read_bytes("blur.profile.json"))["device"].is_null());
    const Outcome chosen = shell(std::string(kProfile) + "--arch sm_75 -q -o x.json");
    EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
    EXPECT_EQ(nlohmann::json::parse(read_bytes("x.json"))["architecture"], "sm_75");
}

TEST_F(Profile, WhatIsMissingOrWrongIsNamed) {
    const std::string profile = kProfile;
    refused(profile + "--nvcc ./none", 1, "cannot start the CUDA compiler `./none`");
    refused(profile + "--device gpu", 1, "nothing can be measured: there is no GPU", "FAKE_CUDA_DEVICES=0");
    refused(profile + "--arch sm_12", 1, "`sm_12` is no GPU");
    refused(profile + "--arch h100", 2, "`h100` is no architecture like sm_90");
    refused(profile + "--in img=x.png", 2, "stages are measured without inputs");
    refused(profile + "--sizes R=3", 2, "unknown option `--sizes`; did you mean `--size`?");
    refused(profile + "-o none/x.json", 3, "cannot write none/x.json: No such file or directory");
    refused(PIPEC " profile blur.pipe", 1, "`rows`: parameter `k` (float32) has no value: give `--set k=VALUE`");
    write_nvcc();
    refused(profile, 1, "did not say how many registers `rows` has");
    EXPECT_FALSE(fs::exists("blur.profile.json"));

    const auto with = [](const std::string& text) {
        write_bytes("p.json", text);
        return std::string(PIPEC " --cost-model paper --profile p.json -fsyntax-only blur.pipe");
    };
    refused(with("{"), 1, "p.json: this is no JSON");
    refused(with("[]"), 1, "p.json: this is no profile");
    refused(with("{}"), 1, "p.json: `version` is missing");
    refused(with(R"({"version": 2})"), 1, "p.json: `version` is 2, but must be 1");
    const std::string head = R"({"version": 1, "architecture": "sm_90", "device": null, "pipelines": )";
    refused(with(head + "{}}"), 1, "p.json: there is nothing of the pipeline `blur`");
    refused(with(head + "[]}"), 1, "p.json: `pipelines` must be an object");
    refused(with(head + R"({"blur": 1}})"), 1, "p.json: `blur` must be a list of stages");
    refused(with(head + R"({"blur": [{"stage": 1}]}})"), 1, "p.json: `stage` is 1, which it cannot be");
    refused(with(head + R"({"blur": [{"stage": "a", "code": "b", "registers": 0, "nanoseconds": null}]}})"), 1,
            "p.json: registers and times of `a` must be positive");
    refused(with(head + R"({"blur": []}})"), 1, "was not measured as it is now; `pipec profile` measures again");
    refused(PIPEC " --cost-model paper --profile none.json -fsyntax-only blur.pipe", 3, "cannot read `none.json`");
    refused(PIPEC " --profile p.json -fsyntax-only blur.pipe", 1, "was not measured as it is now");
    refused(PIPEC " --cost-model none --profile p.json -fsyntax-only blur.pipe", 2,
            "`--profile` is for a cost model, and there is none");
}

}  // namespace
}  // namespace pipec::testing::profile_test
