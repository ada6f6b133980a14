// `pipec run` from a program's text to files, through both binaries and the system's compiler.
#include <cmath>

#include "command.h"

namespace pipec::testing::run_test {

namespace {

namespace fs = std::filesystem;

class Run : public InDirectory {
protected:
    void SetUp() override {
        InDirectory::SetUp();
        setenv("XDG_CACHE_HOME", (fs::current_path() / "cache").c_str(), 1);
        unsetenv("CXX");
        write_bytes("in.pgm", pnm(4, 5, 1, ramp(20, 10)));
    }
    void TearDown() override {
        unsetenv("XDG_CACHE_HOME");
        InDirectory::TearDown();
    }
    static Outcome run(const std::string& options) { return shell(PIPEC " run -O0 --device cpu " + options); }
    static std::vector<std::string> entries() {
        std::vector<std::string> result;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator("cache/pipec", error)) result.push_back(entry.path());
        return result;
    }
};

constexpr const char* kTwice = R"(
pipeline twice(img: uint8[R, C], k: uint8 = 2) -> out: uint8[R, C] { out(y, x) = uint8(k * img(y, x)) }
)";

TEST_F(Run, FromTextToPicture) {
    write_bytes("diff.pipe", R"(
        pipeline diff(img: int32[R, C + 1]) -> out: int32[R, C] { out(y, x) = img(y, x + 1) - img(y, x) }
    )");
    const Outcome result = run("diff.pipe --in img=in.pgm --out out=out.npy");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "ran on the CPU\n");
    EXPECT_NE(result.out.find("out.npy"), std::string::npos);
    EXPECT_EQ(npy_values<std::int32_t>(read_bytes("out.npy")), std::vector<std::int32_t>(16, 10));
}

TEST_F(Run, FilesThatDoNotShowAnOutputAreWarnedAbout) {
    write_bytes("scaled.pipe", R"(
        pipeline scaled(img: float32[R, C], k: float32, z: float32 = 1) -> out: float32[R, C] {
            out(y, x) = k * img(y, x) / z
        }
    )");
    const std::string command = "scaled.pipe --in img=in.pgm --out out=out.pgm ";
    const Outcome good = run(command + "--set k=1");
    EXPECT_EQ(good.exit_code, 0);
    EXPECT_EQ(good.err.find("warning"), std::string::npos) << good.err;
    EXPECT_NE(good.out.find("; a first run, `--repeat 20` times it\n"), std::string::npos) << good.out;
    const Outcome clipped = run(command + "--set k=1000");
    EXPECT_EQ(clipped.exit_code, 0);
    EXPECT_NE(clipped.err.find("warning: out.pgm: "), std::string::npos) << clipped.err;
    EXPECT_NE(clipped.err.find(" values are clipped: uint8 holds 0 to 1"), std::string::npos) << clipped.err;
    const Outcome flat = run(command + "--set k=0.001");
    EXPECT_NE(flat.err.find("warning: out.pgm: the image is flat"), std::string::npos) << flat.err;
    const Outcome nan = run(command + "--set k=0 --set z=0");
    EXPECT_NE(nan.err.find("20 of 20 values are NaN, and 0 in the file\n"), std::string::npos) << nan.err;
    EXPECT_EQ(run(command + "-q --set k=0.001").err, "");
    const Outcome array = run("scaled.pipe --in img=in.pgm --out out=out.npy --set k=1000 --json");
    EXPECT_EQ(array.err, "ran on the CPU\n") << "an array loses nothing";
    EXPECT_NE(array.out.find("\"greatest\": "), std::string::npos) << array.out;
}

TEST_F(Run, TheSecondRunComesFromTheCache) {
    write_bytes("twice.pipe", kTwice);
    const std::string command = "twice.pipe -q --in img=in.pgm --out out=out.pgm";
    ASSERT_EQ(run(command).exit_code, 0);
    ASSERT_EQ(entries().size(), 1U);
    // A compiler of the same name and version that would fail: it must not be asked to compile.
    const std::string version = shell("c++ --version").out;
    write_bytes("version", version);
    write_bytes("c++", "#!/bin/sh\ncase \"$*\" in *--version*) cat version; exit 0;; esac\nexit 9\n");
    fs::permissions("c++", fs::perms::owner_all);
    EXPECT_EQ(shell("PATH=.:$PATH " PIPEC " run -O0 --device cpu " + command).exit_code, 0);
    EXPECT_EQ(shell("PATH=.:$PATH " PIPEC " run -O0 --device cpu --no-cache " + command).exit_code, 1);
    EXPECT_EQ(shell("PATH=.:$PATH " PIPEC " run -O1 --device cpu " + command).exit_code, 1);
    EXPECT_EQ(read_bytes("out.pgm"), pnm(4, 5, 1, ramp(20, 20)));

    // Damaged, it is compiled again.
    const std::string entry = entries().front(), good = read_bytes(entry);
    write_bytes(entry, good.substr(0, good.size() / 2));
    EXPECT_EQ(run(command).exit_code, 0);
    EXPECT_EQ(read_bytes(entry).size(), good.size());
}

TEST_F(Run, ConcurrentRunsShareTheCache) {
    write_bytes("twice.pipe", kTwice);
    std::string line;
    for (const char* name : {"a", "b", "c"}) {
        line +=
            std::string(PIPEC) + " run -O0 --device cpu twice.pipe -q --in img=in.pgm --out out=" + name + ".pgm & ";
    }
    EXPECT_EQ(shell(line + "wait").err, "");
    for (const char* name : {"a.pgm", "b.pgm", "c.pgm"})
        EXPECT_EQ(read_bytes(name), pnm(4, 5, 1, ramp(20, 20))) << name;
    EXPECT_EQ(entries().size(), 1U);
}

TEST_F(Run, ACacheThatCannotBeWrittenIsNotNeeded) {
    write_bytes("twice.pipe", kTwice);
    write_bytes("cache", "this is no directory");
    const Outcome result = run("twice.pipe -q --in img=in.pgm --out out=out.pgm");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err.find("pipec: warning: the compiled pipeline is not kept: cannot write to "), 0U) << result.err;
    EXPECT_EQ(read_bytes("out.pgm"), pnm(4, 5, 1, ramp(20, 20)));
    const Outcome without = run("twice.pipe -q --no-cache --in img=in.pgm --out out=out.pgm");
    EXPECT_EQ(without.exit_code, 0);
    EXPECT_EQ(without.err, "");
}

TEST_F(Run, ParametersOfEveryType) {
    write_bytes("params.pipe", R"(
        pipeline params(one: float64[N], f: float32 = 0.5, h: float16 = 0.25, d: float64 = 1, i8: int8 = -1,
                        u8: uint8 = 1, i64: int64 = 1, u32: uint32 = 1, b: bool = false)
            -> out: float64[N, 8]
        {
            out(n, i) = one(n) * (if i == 0 then float64(f) else if i == 1 then float64(h) else if i == 2 then d
                else if i == 3 then float64(i8) else if i == 4 then float64(u8) else if i == 5 then float64(i64)
                else if i == 6 then float64(u32) else float64(int32(b)))
        }
    )");
    write_bytes("one.npy", npy<double>("<f8", "(1,)", {1}));
    const std::string base = "params.pipe -q --in one=one.npy --out out=out.npy ";
    Outcome result = run(base);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(npy_values<double>(read_bytes("out.npy")), (std::vector<double>{0.5, 0.25, 1, -1, 1, 1, 1, 0}));
    result = run(base +
                 "--set f=1e-3 --set h=0.1 --set d=1e300 --set i8=-128 --set u8=255 "
                 "--set i64=-9007199254740992 --set u32=4294967295 --set b=true");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(npy_values<double>(read_bytes("out.npy")),
              (std::vector<double>{1e-3F, 0.0999755859375, 1e300, -128, 255, -9007199254740992, 4294967295, 1}));
    const auto error = [&](const std::string& options) { return run(base + options).err; };
    EXPECT_EQ(error("--set u8=256"),
              "pipec-run: error: --set u8=256: `256` does not fit uint8: 0 to 255; `u8` is uint8\n");
    EXPECT_EQ(error("--set i8=-129"),
              "pipec-run: error: --set i8=-129: `-129` does not fit int8: -128 to 127; `i8` is int8\n");
    EXPECT_EQ(error("--set u8=1.5"), "pipec-run: error: --set u8=1.5: `1.5` is not an integer; `u8` is uint8\n");
    EXPECT_EQ(error("--set f=1e39"),
              "pipec-run: error: --set f=1e39: `1e39` is out of the range of float32; `f` is float32\n");
    EXPECT_EQ(error("--set h=70000"),
              "pipec-run: error: --set h=70000: `70000` is out of the range of float16; `h` is float16\n");
    EXPECT_EQ(error("--set b=maybe"),
              "pipec-run: error: --set b=maybe: `maybe` is neither `true` nor `false`; `b` is bool\n");
    EXPECT_EQ(error("--set f=1 --set f=2"), "pipec-run: error: --set: `f` is given twice\n");
}

TEST_F(Run, SizesThatNoInputDetermines) {
    write_bytes("gradient.pipe", R"(
        pipeline gradient(step: int32) -> out: int32[R, C] { out(y, x) = step * (y * 10 + x) }
    )");
    const std::string base = "gradient.pipe -q --out out=out.npy ";
    const std::vector<std::int32_t> expected = {0, 2, 4, 20, 22, 24};
    Outcome result = run(base + "--set step=2 --size R=2 --size C=3");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(npy_values<std::int32_t>(read_bytes("out.npy")), expected);
    fs::remove("out.npy");
    result = run(base + "--set step=2 --extent out=2,3");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(npy_values<std::int32_t>(read_bytes("out.npy")), expected);
    EXPECT_EQ(run(base + "--size R=2 --size C=3").err,
              "pipec-run: error: parameter `step` (int32) has no value: give `--set step=VALUE`\n");
    EXPECT_EQ(run(base + "--set step=2 --size R=2").exit_code, 1);
    EXPECT_EQ(run(base + "--set step=2").exit_code, 1);
    EXPECT_EQ(run(base + "--set step=2 --size R=0 --size C=3").exit_code, 2);
    EXPECT_EQ(run(base + "--set step=2 --extent out=2").exit_code, 2);
    EXPECT_EQ(run(base + "--set step=2 --size R=x --size C=3").exit_code, 2);
}

TEST_F(Run, SizesThatHaveDefaults) {
    write_bytes("ramp.pipe", R"(
        pipeline ramp(n: int32 = 2) -> out: int32[R = n, C = R + 1] where 0 <= n <= 9 { out(y, x) = y * 10 + x }
    )");
    const auto values = [&](const std::string& options) {
        const Outcome result = run("ramp.pipe -q --out out=out.npy " + options);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return npy_values<std::int32_t>(read_bytes("out.npy"));
    };
    EXPECT_EQ(values(""), (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12}));
    EXPECT_EQ(values("--size C=1"), (std::vector<std::int32_t>{0, 10}));
    EXPECT_EQ(values("--size R=1"), (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(values("--set n=1"), (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(values("--extent out=1,3"), (std::vector<std::int32_t>{0, 1, 2}));
    EXPECT_EQ(run("ramp.pipe -q --out out=out.npy --set n=0").exit_code, 1);
    EXPECT_EQ(run("ramp.pipe -q --out out=out.npy --size C=0").exit_code, 2);
}

TEST_F(Run, OneOfSeveralPipelines) {
    write_bytes("two.pipe",
                std::string(kTwice) + "pipeline same(img: uint8[R, C]) -> out: uint8[R, C] { out = img }\n");
    const std::string files = " -q --in img=in.pgm --out out=out.pgm";
    EXPECT_EQ(run("two.pipe" + files).err,
              "pipec: error: two.pipe has several pipelines: `twice`, `same`; choose one with `--pipeline NAME`\n");
    EXPECT_EQ(run("two.pipe --pipeline twise" + files).err,
              "pipec: error: two.pipe has no pipeline `twise`; did you mean `twice`?\n");
    const Outcome result = run("two.pipe --pipeline same" + files);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(read_bytes("out.pgm"), read_bytes("in.pgm"));
}

TEST_F(Run, AShapeThatDoesNotFitNamesTheFile) {
    write_bytes("add.pipe", R"(
        pipeline add(a: uint8[R, C], b: uint8[R, C]) -> out: int32[R, C] { out(y, x) = a(y, x) + b(y, x) }
    )");
    write_bytes("other.pgm", pnm(3, 5, 1, ramp(15)));
    const Outcome result = run("add.pipe --in a=in.pgm --in b=other.pgm --out out=out.png");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.err.find("`b`"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("note: other.pgm is 3 x 5 with 1 channel"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists("out.png"));
}

TEST_F(Run, WrongProgramsAndCommandLines) {
    write_bytes("wrong.pipe", "pipeline p(img: uint8[R, C]) -> out: uint8[R, C] { out(y, x) = imgg(y, x) }\n");
    EXPECT_EQ(run("wrong.pipe --in img=in.pgm").exit_code, 1);
    EXPECT_EQ(run("missing.pipe").exit_code, 3);
    EXPECT_EQ(run("").exit_code, 2);
    EXPECT_EQ(run("wrong.pipe --in img").exit_code, 2);
    EXPECT_EQ(run("--help").exit_code, 0);
    EXPECT_NE(run("--help").out.find("--cxxflags"), std::string::npos);
    write_bytes("twice.pipe", kTwice);
    EXPECT_EQ(run("twice.pipe --cxx no-such-compiler --in img=in.pgm").exit_code, 1);
    const Outcome flags = run("twice.pipe --cxxflags=-fno-such-flag --in img=in.pgm");
    EXPECT_EQ(flags.exit_code, 1);
    EXPECT_NE(flags.err.find("-fno-such-flag"), std::string::npos) << flags.err;
    EXPECT_EQ(run("--cxxflags= twice.pipe --in img=in.pgm").exit_code, 0);
}

}  // namespace
}  // namespace pipec::testing::run_test
