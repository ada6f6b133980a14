// Runs in tiles: the bits of a run in one piece, within the memory that is given, and nothing left behind.
#include <algorithm>

#include "command.h"

namespace pipec::testing::tiles_test {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBlur = R"(
import "boundary"
pipeline blur(img: uint8[R, C, 3], k: float32 = 0.5) -> out: uint8[R, C, 3], half: float32[R / 2, C / 2] {
    e = clamp_to_edge_yxc(img)
    s(y, x, c) = sum(i in 0..5, j in 0..5) float32(e(y + i - 2, x + j - 2, c))
    out(y, x, c) = uint8(k * s(y, x, c) / 25)
    half(y, x) = s(2 * y, 2 * x, 0) + s(2 * y + 1, 2 * x + 1, 1)
}
)";

constexpr const char* kPyramid = R"(
import "boundary"
pipeline pyramid(img: float32[R, C]) -> fine: float32[R, C], coarse: float32[(R + 1) / 2, (C + 1) / 2] {
    e = clamp_to_edge(img)
    coarse(y, x) = (e(2 * y, 2 * x) + e(2 * y + 1, 2 * x) + e(2 * y, 2 * x + 1) + e(2 * y + 1, 2 * x + 1)) / 4
    up = clamp_to_edge(coarse)
    fine(y, x) = img(y, x) - (up(y / 2, x / 2) + up((y + 1) / 2, (x + 1) / 2)) / 2
}
)";

/// A statistic of the whole image, a table, an output with no dimension and one of constant extent; planes.
constexpr const char* kStretch = R"(
pipeline stretch(img: uint8[3, R, C], table: float32[256], gain: float32[])
    -> out: float32[3, R, C], mean: float32[], bins: uint32[256]
{
    mean() = sum(c in 0..3, y in 0..R, x in 0..C) float32(img(c, y, x)) / float32(R * C)
    out(c, y, x) = gain() * table(img(c, y, x)) / mean()
    accumulate bins(v in 0..256): uint32 = 0 {
        for c in 0..3, y in 0..R, x in 0..C {
            bins(img(c, y, x)) += 1
        }
    }
}
)";

class Tiles : public InDirectory {
protected:
    /// The program as an object with functions for windows.
    static void compile(const std::string& name, const std::string& text, const std::string& flags = "-O0") {
        write_bytes(name + ".pipe", text);
        const Outcome outcome = shell(PIPEC " --target host --windows " + name + ".pipe -o " + name + ".cpp --header " +
                                      name + ".h && c++ -std=c++17 -fPIC -shared -fopenmp -ffp-contract=off " + flags +
                                      " " + name + ".cpp -o " + name + ".so");
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }
    /// By the program without OpenImageIO where no file needs it: it starts sooner, and has little memory itself.
    static std::string command(const std::string& name, const std::string& options) {
        const std::vector<std::string> images = {".tif", ".png", ".exr"};
        const bool plain = std::none_of(images.begin(), images.end(), [&](const std::string& ending) {
            return options.find(ending) != std::string::npos;
        });
        return std::string(plain ? PIPEC_RUN_PLAIN : PIPEC_RUN) + " ./" + name + ".so --pipeline " + name + " " +
               options;
    }
    static void run(const std::string& name, const std::string& options) {
        const Outcome outcome = shell(command(name, "-q " + options));
        EXPECT_EQ(outcome.exit_code, 0) << options << "\n" << outcome.err;
    }
    static void fails(int code, const std::string& name, const std::string& options, const std::string& message) {
        const std::vector<std::string> before = files();
        const Outcome outcome = shell(command(name, options));
        EXPECT_EQ(outcome.exit_code, code) << outcome.err;
        EXPECT_EQ(outcome.err, "pipec-run: error: " + message + "\n");
        EXPECT_EQ(files(), before) << "something was left behind";
    }
    static std::vector<int> noise(int count) {
        std::vector<int> values;
        unsigned state = 1;
        for (int i = 0; i < count; ++i)
            values.push_back(static_cast<int>((state = state * 1664525U + 1013904223U) >> 24U));
        return values;
    }
};

TEST_F(Tiles, HaveTheBitsOfOnePiece) {
    compile("blur", kBlur);
    write_bytes("in.ppm", pnm(301, 283, 3, noise(301 * 283 * 3)));
    run("blur", "--in img=in.ppm --out out=out.npy --out half=half.npy --set k=0.7");
    const std::string out = read_bytes("out.npy"), half = read_bytes("half.npy");
    for (const std::string tiles : {"37x53", "64x4096", "1x283", "4096x4096", "auto"}) {
        run("blur", "--in img=in.ppm --out out=o.npy --out half=h.npy --set k=0.7 --tiles " + tiles);
        EXPECT_EQ(read_bytes("o.npy"), out) << tiles;
        EXPECT_EQ(read_bytes("h.npy"), half) << tiles;
    }
    // Files of all kinds that have parts, in and out, and one that has none; tiles that cut those of the files.
    run("blur", "--in img=in.ppm --out out=o.tif --out half=h.zarr --set k=0.7 --tiles 100x90");
    run("blur", "--in img=in.ppm --out out=o.zarr --out half=h.tif --set k=0.7 --memory 1G");
    compile("same",
            "pipeline same(a: uint8[R, C, 3], b: float32[P, Q]) -> x: uint8[R, C, 3], y: float32[P, Q] {\n"
            "    x = a\n    y = b\n}\n");
    run("same", "--in a=o.tif --in b=h.tif --out x=x.npy --out y=y.npy --tiles 83x79");
    EXPECT_EQ(read_bytes("x.npy"), out);
    EXPECT_EQ(read_bytes("y.npy"), half);
    run("same", "--in a=o.zarr --in b=h.zarr --out x=x.npy --out y=y.npy --tiles 33x300");
    EXPECT_EQ(read_bytes("x.npy"), out);
    EXPECT_EQ(read_bytes("y.npy"), half);
    run("same", "--in a=x.npy --in b=y.npy --out x=x.png --out y=y.exr");
    run("same", "--in a=x.png --in b=y.exr --out x=x.npy --out y=y.npy --tiles 50x50");
    EXPECT_EQ(read_bytes("x.npy"), out);
    EXPECT_EQ(read_bytes("y.npy"), half);
}

TEST_F(Tiles, OfPyramids) {
    compile("pyramid", kPyramid);
    write_bytes("in.pgm", pnm(203, 117, 1, noise(203 * 117)));
    run("pyramid", "--in img=in.pgm --out fine=fine.npy --out coarse=coarse.npy");
    for (const std::string tiles : {"17x31", "64x64", "203x2"}) {
        run("pyramid", "--in img=in.pgm --out fine=f.npy --out coarse=c.npy --tiles " + tiles);
        EXPECT_EQ(read_bytes("f.npy"), read_bytes("fine.npy")) << tiles;
        EXPECT_EQ(read_bytes("c.npy"), read_bytes("coarse.npy")) << tiles;
    }
    run("pyramid", "--in img=in.pgm --out coarse=c.npy --tiles 17x31");
    EXPECT_EQ(read_bytes("c.npy"), read_bytes("coarse.npy")) << "one of the outputs";
}

TEST_F(Tiles, OfWhatDependsOnAllOfAnImage) {
    compile("stretch", kStretch);
    write_bytes("in.ppm", pnm(40, 50, 3, noise(40 * 50 * 3)));
    std::vector<float> table(256);
    for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = static_cast<float>(i * i);
    write_bytes("table.npy", npy("<f4", "(256,)", table));
    write_bytes("gain.npy", npy<float>("<f4", "()", {1.5F}));
    const std::string in = "--in img=in.ppm --raw img --in table=table.npy --in gain=gain.npy ";
    run("stretch", in + "--out out=out.npy --out mean=mean.npy --out bins=bins.npy");
    run("stretch", in + "--out out=o.npy --out mean=m.npy --out bins=b.zarr --tiles 16x16");
    EXPECT_EQ(read_bytes("o.npy"), read_bytes("out.npy"));
    EXPECT_EQ(read_bytes("m.npy"), read_bytes("mean.npy"));
    const std::string bins = read_bytes("bins.npy");
    EXPECT_EQ(read_bytes("b.zarr/0"), bins.substr(bins.size() - 256 * 4));
}

TEST_F(Tiles, OfTablesAndLines) {
    compile("sums", R"(
        pipeline sums(img: int16[R, C]) -> rows: int32[R, 3], cols: int32[C], line: int32[R] {
            rows(y, k) = sum(x in 0..C) int32(img(y, x)) * k
            cols(x) = max(y in 0..R) int32(img(y, x))
            line(y) = int32(img(y, min(y, C - 1)))
        }
    )");
    std::vector<std::int16_t> values;
    for (const int value : noise(37 * 53)) values.push_back(static_cast<std::int16_t>(value * 200 - 9000));
    write_bytes("in.npy", npy(">i2", "(37, 53)", values));
    run("sums", "--in img=in.npy --out rows=rows.npy --out cols=cols.npy --out line=line.npy");
    // A tile beside the first one has nothing of the table, one below it nothing of the line.
    run("sums", "--in img=in.npy --out rows=r.npy --out cols=c.npy --out line=l.npy --tiles 5x7");
    for (const std::string output : {"rows", "cols", "line"}) {
        EXPECT_EQ(read_bytes(output.substr(0, 1) + ".npy"), read_bytes(output + ".npy")) << output;
    }
}

TEST_F(Tiles, OptionsOfImagesWork) {
    compile("half",
            "pipeline half(img: float32[R, C]) -> out: float32[R, C, 2] { out(y, x, c) = img(y, x) / (1 + c) }\n");
    write_bytes("in.ppm", pnm(30, 70, 3, noise(30 * 70 * 3)));
    const std::string in = "--in img=in.ppm --gray img --out out=";
    run("half", in + "a.npy");
    run("half", in + "a.tif --channels out=1 --depth out=16");
    run("half", in + "b.tif --channels out=1 --depth out=16 --tiles 16x16");
    compile("plane", "pipeline plane(img: uint16[R, C]) -> out: uint16[R, C] { out = img }\n");
    run("plane", "--in img=a.tif --out out=a.npy");
    run("plane", "--in img=b.tif --out out=b.npy");
    EXPECT_EQ(read_bytes("a.npy"), read_bytes("b.npy"));
    // What is told of the values is that of all tiles.
    const auto told = [](const std::string& options) {
        const Outcome outcome = shell(command("half", options));
        return outcome.out.substr(outcome.out.find("(float32), ")) + outcome.err;
    };
    EXPECT_EQ(told(in + "c.npy --tiles 16x16"), told(in + "c.npy"));
    const Outcome report = shell(command("half", in + "c.npy --tiles 16x32 --json"));
    EXPECT_NE(report.out.find("\"tiles\": {\n    \"columns\": 32,\n    \"count\": 6,\n    \"rows\": 16\n"),
              std::string::npos)
        << report.out;
}

TEST_F(Tiles, LargeImagesStayWithinTheMemory) {
    // 30 MB become 120 MB.
    compile("make", "pipeline make() -> out: uint8[R, C] { out(y, x) = uint8((y * 31 + x * 17 + y * x / 64) % 256) }\n",
            "-O2");
    compile("sharp", R"(
        import "boundary"
        pipeline sharp(img: uint8[R, C]) -> out: float32[R, C] {
            e = clamp_to_edge(img)
            low(y, x) = sum(i in 0..3, j in 0..3) float32(e(y + i - 1, x + j - 1))
            out(y, x) = 10 * float32(img(y, x)) - low(y, x)
        }
    )",
            "-O2");
    run("make", "--size R=6000 --size C=5000 --out out=in.npy --memory 64M");
    write_bytes("peak.py",
                "import resource, subprocess, sys\n"
                "code = subprocess.run(sys.argv[1:]).returncode\n"
                "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n");
    const auto peak = [](const std::string& options) {
        const Outcome outcome = shell("python3 peak.py " + command("sharp", "-q --in img=in.npy " + options));
        EXPECT_EQ(outcome.out.substr(0, 2), "0 ") << outcome.out << outcome.err;
        return std::stoi(outcome.out.substr(outcome.out.find(' ')));
    };
    EXPECT_GT(peak("--out out=whole.npy"), 150);
    EXPECT_LE(peak("--out out=tiles.npy --memory 64M"), 64);
    EXPECT_TRUE(read_bytes("whole.npy") == read_bytes("tiles.npy"));
    EXPECT_LE(peak("--out out=tiles.zarr --memory 96M"), 96);
}

TEST_F(Tiles, ARunThatIsStoppedLeavesNothing) {
    compile("slow",
            "pipeline slow(n: int32 = 1) -> out: float32[R, C] {\n"
            "    out(y, x) = sum(i in 0..100) sin(float32(y + i * n)) * cos(float32(x))\n}\n");
    for (const std::string file : {"out.npy", "out.tif", "out.zarr"}) {
        for (const std::string signal : {"TERM", "HUP"}) {
            const std::vector<std::string> before = files();
            const Outcome outcome =
                shell(command("slow", "--size R=20000 --size C=2000 --out out=" + file + " --tiles 64x64 & pid=$!\n") +
                      "until ls .out* >ls.log 2>&1; do sleep 0.02; done; sleep 0.1; kill -" + signal +
                      " $pid; wait $pid; echo $?; rm ls.log");
            EXPECT_EQ(outcome.out, signal == "TERM" ? "143\n" : "129\n") << file << outcome.err;
            EXPECT_EQ(files(), before) << file;
        }
    }
}

TEST_F(Tiles, ADiskThatIsFull) {
    compile("flat", "pipeline flat() -> out: uint32[R, C] { out(y, x) = uint32(y * 7919 + x * x * 31) }\n");
    for (const std::string file : {"out.npy", "out.tif", "out.zarr"}) {
        const std::vector<std::string> before = files();
        // A limit of the size of files, in place of a full disk.
        const Outcome outcome =
            shell("trap '' XFSZ; ulimit -f 200; " +
                  command("flat", "--size R=1000 --size C=1000 --out out=" + file + " --tiles 512x512"));
        EXPECT_EQ(outcome.exit_code, 3) << file << outcome.err;
        EXPECT_EQ(outcome.err.find("pipec-run: error: cannot write " + file + ": "), 0U) << outcome.err;
        EXPECT_EQ(files(), before) << file;
    }
}

TEST_F(Tiles, WhatCannotBe) {
    compile("stretch", kStretch);
    write_bytes("in.npy", npy<std::uint8_t>("|u1", "(3, 1, 2)", {1, 2, 3, 4, 5, 6}));
    write_bytes("table.npy", npy("<f4", "(256,)", std::vector<float>(256)));
    write_bytes("gain.npy", npy<float>("<f4", "()", {1.5F}));
    const std::string in = "--in img=in.npy --in table=table.npy --in gain=gain.npy ";
    fails(2, "stretch", in + "--tiles auto", "--tiles computes what is written: give `--out NAME=FILE`");
    fails(2, "stretch", in + "--tiles auto --out out=a.png",
          "cannot write a.png tile by tile\n  note: .tif, .npy and .zarr can be written so");
    fails(2, "stretch", in + "--tiles auto --out out=a.npy --repeat 3",
          "`--repeat` is for runs in one piece, but `--tiles` is given");
    fails(2, "stretch", in + "--memory 1G --out out=a.npy --expect out=a.npy",
          "`--expect` is for runs in one piece, but `--memory` is given");
    const auto usage = [](const std::string& options, const std::string& message) {
        const Outcome outcome = shell(command("stretch", options));
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    };
    for (const std::string wrong : {"x12", "0x4", "4x4x4"}) {
        usage("--tiles=" + wrong, "`" + wrong + "` is neither auto nor ROWSxCOLS, such as 1024x1024");
    }
    for (const std::string wrong : {"1X", "-1G", "1GB"}) {
        usage("--memory=" + wrong, "`" + wrong + "` is not an amount of memory, such as 512M or 2G");
    }
    // Too little memory, known before anything is written.
    const Outcome little = shell(command("stretch", in + "--memory 1M --out out=a.npy"));
    EXPECT_EQ(little.exit_code, 1);
    EXPECT_NE(little.err.find("of memory are too little: pipec-run and its libraries have "), std::string::npos)
        << little.err;
    std::ofstream("large.npy") << npy<char>("|u1", "(3, 30000, 20000)", {});
    fs::resize_file("large.npy", fs::file_size("large.npy") + 1'800'000'000);
    const Outcome whole = shell(
        command("stretch", "--in img=large.npy --in table=table.npy --in gain=gain.npy --memory 1G --out out=a.npy"));
    EXPECT_EQ(whole.exit_code, 1);
    EXPECT_EQ(whole.err.find(
                  "pipec-run: error: `img` is needed as a whole, 1.68 GiB: a tile depends on all of it (a statistic, "
                  "or places that data choose)\n"),
              0U)
        << whole.err;
    compile("same", "pipeline same(img: uint8[P, R, C]) -> out: uint8[P, R, C] { out = img }\n");
    const Outcome large =
        shell(command("same", "--in img=large.npy --memory 200M --tiles 20000x20000 --out out=a.npy"));
    EXPECT_EQ(large.exit_code, 1);
    EXPECT_EQ(large.err.find("pipec-run: error: --tiles 20000x20000: a tile needs "), 0U) << large.err;
    fails(2, "same", "--in img=large.npy --tiles 1x1 --out out=a.npy",
          "--tiles 1x1: that would be more than 1000000 tiles");
    EXPECT_FALSE(fs::exists("a.npy"));
}

TEST_F(Tiles, ThroughPipecRun) {
    write_bytes("same.pipe", "pipeline same(img: uint8[R, C]) -> out: uint8[R, C] { out = img }\n");
    write_bytes("in.pgm", pnm(20, 30, 1, noise(600)));
    setenv("XDG_CACHE_HOME", (fs::current_path() / "cache").c_str(), 1);
    const std::string options = " run -O0 --device cpu same.pipe --in img=in.pgm --out out=out.tif ";
    EXPECT_EQ(shell(PIPEC + options + "-q").exit_code, 0);
    const Outcome outcome = shell(PIPEC + options + "--tiles 8x8");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("on the CPU; 12 tiles of 8 x 8\n"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.err, "ran on the CPU\n") << "nobody watches";
    const Outcome watched =
        shell("python3 -c \"import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))\" " PIPEC + options + "--tiles 8x8");
    EXPECT_NE(watched.out.find("\rsame: tile 12 of 12\r"), std::string::npos) << watched.out;
    EXPECT_EQ(shell(PIPEC + options + "--tiles 8x8 --repeat 2").err,
              "pipec: error: `--repeat` is for runs in one piece, but `--tiles` is given\nTry `pipec run --help`.\n");
    unsetenv("XDG_CACHE_HOME");
    // An object without windows.
    const Outcome none =
        shell(PIPEC_RUN " " PIPEC_COPIES " --pipeline uint8_gray --in in=in.pgm --out out=a.npy --tiles auto");
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_EQ(none.err,
              "pipec-run: error: `uint8_gray` was compiled without functions for windows, which --tiles needs\n"
              "  note: `pipec --windows` writes them\n");
}

}  // namespace
}  // namespace pipec::testing::tiles_test
