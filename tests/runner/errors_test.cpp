// What pipec-run says when a run makes no sense, and that it leaves nothing behind then.
#include <nlohmann/json.hpp>

#include "command.h"

namespace pipec::testing::errors_test {

namespace {

class Errors : public InDirectory {
protected:
    void SetUp() override {
        InDirectory::SetUp();
        write_bytes("color.ppm", pnm(2, 2, 3, ramp(12)));
        write_bytes("gray.pgm", pnm(2, 2, 1, ramp(4)));
    }
    static Outcome run(const std::string& pipeline, const std::string& options) {
        return shell(PIPEC_RUN " " PIPEC_COPIES " --pipeline " + pipeline + " " + options);
    }
    static void expect_error(int exit_code, const std::string& pipeline, const std::string& options,
                             const std::string& message) {
        const std::vector<std::string> before = files();
        const Outcome result = run(pipeline, options);
        EXPECT_EQ(result.exit_code, exit_code) << result.err;
        EXPECT_EQ(result.err, "pipec-run: error: " + message + "\n");
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(files(), before) << "something was left behind";
    }
};

TEST_F(Errors, Names) {
    expect_error(2, "uint8_gray", "--in inn=gray.pgm --out out=a.png",
                 "--in: the pipeline has no input `inn`; did you mean `in`?");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --out response=a.png",
                 "--out: the pipeline has no output `response`; it has `out`");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --set k=3",
                 "--set: the pipeline has no parameter `k`; it has none at all");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --size R=3",
                 "--size: the pipeline needs no size `R`; sizes come from the inputs where they can");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --gray out",
                 "--gray: the pipeline has no input `out`; it has `in`");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --depth in=8",
                 "--depth: the pipeline has no output `in`; it has `out`");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --in in=gray.pgm", "--in: `in` is given twice");
    expect_error(2, "uint8_gray", "--out out=a.png", "input `in` (uint8[P, Q]) has no file: give `--in in=FILE`");
    expect_error(2, "nothing", "--in in=gray.pgm", PIPEC_COPIES " has no pipeline `nothing`");
}

TEST_F(Errors, Channels) {
    expect_error(3, "uint8_gray", "--in in=color.ppm",
                 "color.ppm is 2 x 2 with 3 channels; `in` needs 1 channel: uint8[P, Q]\n"
                 "  note: `--gray in` turns the file into one channel, `--channels in=0` takes the first");
    expect_error(3, "planar", "--in in=gray.pgm",
                 "gray.pgm is 2 x 2 with 1 channel; `in` needs 3 channels: uint8[3, Q, R]\n"
                 "  note: `--channels in=0,0,0` repeats the one channel");
    expect_error(3, "rgba", "--in in=color.ppm",
                 "color.ppm is 2 x 2 with 3 channels; `in` needs 4 channels: uint8[4, Q, R]");
    ASSERT_EQ(run("rgba", "-q --in in=color.ppm --channels in=0,1,2,0 --out out=rgba.png").exit_code, 0);
    expect_error(3, "planar", "--in in=rgba.png",
                 "rgba.png is 2 x 2 with 4 channels; `in` needs 3 channels: uint8[3, Q, R]\n"
                 "  note: `--channels in=0,1,2` takes the first 3");
    expect_error(2, "planar", "--in in=color.ppm --channels in=0,1,3",
                 "--channels in: there is no channel 3 in color.ppm, which is 2 x 2 with 3 channels");
    expect_error(2, "planar", "--in in=color.ppm --channels in=a",
                 "--channels in=a: expected channel numbers such as 0,1,2");
    expect_error(2, "planar", "--in in=color.ppm --channels out=0,3 --out out=a.png",
                 "--channels out: there is no channel 3 in the output, which is 2 x 2 with 3 channels");
    expect_error(3, "row", "--in in=gray.pgm",
                 "gray.pgm is 2 x 2 with 1 channel; `in` needs an image of one row: uint8[P]");
    expect_error(3, "four", "--in in=gray.pgm",
                 "gray.pgm is an image; `in` has 4 dimensions: int16[P, Q, R, S]\n  note: a .npy file can hold it");
}

TEST_F(Errors, ShapesThatThePipelineRefuses) {
    write_bytes("in.npy", npy<std::uint8_t>("|u1", "(2, 2, 2)", {1, 2, 3, 4, 5, 6, 7, 8}));
    expect_error(1, "planar", "--in in=in.npy --out out=a.png",
                 "`in` has a wrong extent\n  note: in.npy is 2 x 2 x 2 uint8");
    write_bytes("empty.npy", npy<std::uint8_t>("|u1", "(0, 2)", {}));
    expect_error(1, "uint8_gray", "--in in=empty.npy", "`in` has a wrong extent\n  note: empty.npy is 0 x 2 uint8");
    expect_error(3, "uint8_gray", "--in in=in.npy", "in.npy is 2 x 2 x 2 uint8; `in` needs 2 dimensions: uint8[P, Q]");
    expect_error(1, "on_toaster", "--in in=in.npy",
                 "`on_toaster` is compiled for `toaster`, which this program does not know");
    expect_error(2, "from_the_future", "--in in=in.npy",
                 "`from_the_future` was generated for version 2 of the interface; this program knows version 1: "
                 "generate it again");
}

TEST_F(Errors, FilesThatCannotBeRead) {
    expect_error(3, "uint8_gray", "--in in=missing.png", "cannot read missing.png: No such file or directory");
    std::filesystem::create_directory("folder.png");
    expect_error(3, "uint8_gray", "--in in=folder.png", "cannot read folder.png: it is a directory");
    write_bytes("text.npy", "hello");
    expect_error(3, "uint8_gray", "--in in=text.npy", "cannot read text.npy: it is not a .npy file");
    write_bytes("short.npy", npy<std::uint8_t>("|u1", "(2, 2)", {1, 2, 3}));
    expect_error(3, "uint8_gray", "--in in=short.npy", "cannot read short.npy: it ends before its last element");
    write_bytes("complex.npy", npy<std::uint8_t>("<c8", "(1,)", {1, 2, 3, 4, 5, 6, 7, 8}));
    expect_error(3, "uint8_gray", "--in in=complex.npy",
                 "cannot read complex.npy: its header is damaged, or its elements are not numbers of 8 to 64 bits");
    write_bytes("short.pfm", "Pf\n4 4\n-1.0\nabc");
    expect_error(3, "float32_gray", "--in in=short.pfm", "cannot read short.pfm: it ends before its last row");
    write_bytes("huge.npy", npy<std::uint8_t>("|u1", "(9223372036854775807, 2)", {1}));
    expect_error(3, "uint8_gray", "--in in=huge.npy", "cannot read huge.npy: there is not enough memory for it");
    write_bytes("float.npy", npy<float>("<f4", "(1, 1)", {0.5F}));
    expect_error(3, "uint8_gray", "--in in=float.npy",
                 "float.npy is 1 x 1 float32; `in` is uint8[P, Q]\n  note: `--raw in` rounds the values");

    ASSERT_EQ(run("planar", "-q --in in=color.ppm --out out=good.png").exit_code, 0);
    const std::string good = read_bytes("good.png");
    write_bytes("cut.png", good.substr(0, good.size() / 2));
    write_bytes("garbage.png", "this is no picture");
    write_bytes("empty.png", "");
    for (const std::string file : {"cut.png", "garbage.png", "empty.png"}) {
        const Outcome result = run("planar", "--in in=" + file + " --out out=a.png");
        EXPECT_EQ(result.exit_code, 3) << file;
        // libpng says something of its own first
        EXPECT_NE(result.err.find("pipec-run: error: cannot read " + file + ": "), std::string::npos) << result.err;
        EXPECT_FALSE(std::filesystem::exists("a.png"));
    }
}

TEST_F(Errors, FilesThatCannotBeWritten) {
    expect_error(3, "uint8_gray", "--in in=gray.pgm --out out=no/a.png",
                 "cannot write no/a.png: there is no directory no");
    std::filesystem::create_directory("folder.png");
    expect_error(3, "uint8_gray", "--in in=gray.pgm --out out=folder.png",
                 "cannot write folder.png: it is a directory");
    expect_error(
        2, "uint8_gray", "--in in=gray.pgm --out out=a",
        "cannot write a: its name has no extension that says the format\n  note: known are .png .tif .exr .pfm "
        ".hdr .jpg and others of OpenImageIO, and .npy and .zarr for arrays of any shape");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --out out=a.png --depth out=float",
                 "--depth out: a.png cannot hold float32; it can hold uint8, uint16");
    expect_error(2, "uint8_gray", "--in in=gray.pgm --out out=a.png --depth out=12",
                 "--depth out=12: expected 8, 16, half or float");
    expect_error(
        2, "rgba", "--in in=color.ppm --channels in=0,1,2,0 --out out=a.jpg",
        "cannot write a.jpg: `out` has 4 channels; .jpg files have 1 or 3\n  note: `--channels out=...` writes some "
        "of them, and .tif, .exr and .npy files hold any number");
    write_bytes("four.npy", npy<std::int16_t>("<i2", "(1, 1, 1, 1)", {5}));
    expect_error(2, "four", "--in in=four.npy --out out=a.png",
                 "a.png would be an image; `out` has 4 dimensions: int16[P, Q, R, S]\n  note: a .npy file can hold it");
}

TEST_F(Errors, AFailedRunKeepsTheOldOutput) {
    write_bytes("a.png", "precious");
    write_bytes("wide.npy", npy<std::int32_t>("<i4", "(1, 1)", {-5}));
    EXPECT_EQ(run("int32_gray", "--in in=wide.npy --out out=a.png").exit_code, 3);
    EXPECT_EQ(read_bytes("a.png"), "precious");
}

TEST_F(Errors, ALinkedOutputIsReplacedWhereItPoints) {
    std::filesystem::create_directory("real");
    write_bytes("real/a.pgm", "old");
    std::filesystem::create_symlink("real/a.pgm", "a.pgm");
    EXPECT_EQ(run("uint8_gray", "-q --in in=gray.pgm --out out=a.pgm").exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink("a.pgm"));
    EXPECT_EQ(read_bytes("real/a.pgm"), read_bytes("gray.pgm"));
}

TEST_F(Errors, WrongCommandLines) {
    for (const std::string options : {"--in in", "--in =a.png", "--in in=", "--repeat 0", "--repeat x", "--unknown"}) {
        const Outcome result = run("uint8_gray", options);
        EXPECT_EQ(result.exit_code, 2) << options;
        EXPECT_NE(result.err, "") << options;
    }
    EXPECT_EQ(shell(PIPEC_RUN).exit_code, 2);
    EXPECT_EQ(shell(PIPEC_RUN " --help").exit_code, 0);
    EXPECT_EQ(shell(PIPEC_RUN " missing.so --pipeline a").exit_code, 3);
}

TEST_F(Errors, TheReportCanBeReadByPrograms) {
    const Outcome result = run("planar", "--json --repeat 3 --in in=color.ppm --out out=a.png");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json report = nlohmann::json::parse(result.out);
    EXPECT_EQ(report.at("pipeline"), "planar");
    EXPECT_EQ(report.at("target"), "host");
    EXPECT_EQ(report.at("device"), "the CPU");
    EXPECT_EQ(report.at("run_ms").size(), 3U);
    EXPECT_LE(report.at("min_ms"), report.at("median_ms"));
    EXPECT_EQ(report.at("inputs").at(0).at("extents"), nlohmann::json({3, 2, 2}));
    EXPECT_EQ(report.at("outputs").at(0).at("file"), "a.png");
    EXPECT_EQ(report.at("workspace_bytes"), 100);
}

TEST_F(Errors, AnOutputThatIsNotAskedForIsNotWritten) {
    const std::vector<std::string> before = files();
    const Outcome result = run("planar", "--in in=color.ppm");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("not saved"), std::string::npos) << result.out;
    EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace pipec::testing::errors_test
