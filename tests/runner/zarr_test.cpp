// Arrays in Zarr's format: what is written, and what other programs may have written.
#include <cmath>

#include "command.h"

namespace pipec::testing::zarr_test {

namespace {

namespace fs = std::filesystem;

class Zarr : public InDirectory {
protected:
    static Outcome copy(const std::string& pipeline, const std::string& in, const std::string& out) {
        return shell(PIPEC_RUN " " PIPEC_COPIES " -q --pipeline " + pipeline + " --in in=" + in + " --out out=" + out);
    }
    /// The description of a 3 x 4 array in chunks of 2 x 3, with something said besides.
    static void describe(const std::string& name, const std::string& dtype, const std::string& more) {
        fs::create_directory(name);
        write_bytes(name + "/.zarray",
                    R"({"zarr_format": 2, "shape": [3, 4], "chunks": [2, 3], "dtype": ")" + dtype + "\"" + more + "}");
    }
    static void expect_error(int code, const std::string& in, const std::string& out, const std::string& message) {
        const std::vector<std::string> before = files();
        const Outcome outcome = copy("uint8_gray", in, out);
        EXPECT_EQ(outcome.exit_code, code);
        EXPECT_EQ(outcome.err, "pipec-run: error: " + message + "\n");
        EXPECT_EQ(files(), before);
    }
};

TEST_F(Zarr, ArraysGoThrough) {
    const auto round_trip = [](const std::string& pipeline, const std::string& array) {
        write_bytes("in.npy", array);
        ASSERT_EQ(copy(pipeline, "in.npy", "a.zarr").err, "");
        ASSERT_EQ(copy(pipeline, "a.zarr", "b.zarr/").err, "");
        ASSERT_EQ(copy(pipeline, "b.zarr/", "out.npy").err, "") << pipeline;
        EXPECT_EQ(npy_values<char>(read_bytes("out.npy")), npy_values<char>(array)) << pipeline;
    };
    round_trip("uint8_gray", npy<std::uint8_t>("|u1", "(2, 3)", {0, 1, 2, 253, 254, 255}));
    round_trip("bool_gray", npy<std::uint8_t>("|b1", "(1, 3)", {0, 1, 1}));
    round_trip("int64_gray", npy<std::int64_t>("<i8", "(2, 1)", {INT64_MIN, INT64_MAX}));
    round_trip("four", npy<std::int16_t>("<i2", "(2, 1, 2, 1)", {1, 2, 3, 4}));
    std::vector<std::uint8_t> large(600 * 700);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i * 7 + i / 700);
    round_trip("uint8_gray", npy<std::uint8_t>("|u1", "(600, 700)", large));  // in one piece over what was there
}

TEST_F(Zarr, WhatIsWritten) {
    std::vector<std::uint16_t> values(520 * 2);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
    write_bytes("in.npy", npy<std::uint16_t>("<u2", "(520, 2)", values));
    ASSERT_EQ(copy("uint16_gray", "in.npy", "a.zarr").exit_code, 0);
    EXPECT_EQ(shell("ls -A a.zarr").out, ".zarray\n0.0\n1.0\n");
    EXPECT_NE(read_bytes("a.zarr/.zarray").find(R"("dtype": "<u2")"), std::string::npos);
    const std::string chunk = read_bytes("a.zarr/1.0");
    ASSERT_EQ(chunk.size(), 512U * 2 * 2) << "a chunk at the edge is as large as others";
    EXPECT_EQ(chunk.substr(0, 4), std::string("\0\4\1\4", 4));
    EXPECT_EQ(chunk.substr(8 * 4, 4), std::string(4, '\0'));
}

TEST_F(Zarr, WhatOthersWrite) {
    const std::vector<std::uint8_t> expected = {1, 2, 3, 9, 5, 6, 7, 9, 9, 9, 9, 9};
    const std::string chunk("\1\2\3\5\6\7", 6);
    const auto read = [&](const std::string& pipeline, const std::string& name) {
        EXPECT_EQ(copy(pipeline, name, "out.npy").err, "") << name;
        return npy_values<std::uint8_t>(read_bytes("out.npy"));
    };
    // Chunks that are not there have the value for it.
    describe("plain", "|u1", R"(, "fill_value": 9, "compressor": null, "filters": null, "order": "C")");
    write_bytes("plain/0.0", chunk);
    EXPECT_EQ(read("uint8_gray", "plain"), expected);
    describe("slash.zarr", "|u1", R"(, "fill_value": 9, "dimension_separator": "/")");
    fs::create_directories("slash.zarr/0");
    write_bytes("slash.zarr/0/0", chunk);
    EXPECT_EQ(read("uint8_gray", "slash.zarr"), expected);
    describe("fortran.zarr", "|u1", R"(, "fill_value": 9, "order": "F")");
    write_bytes("fortran.zarr/0.0", std::string("\1\5\2\6\3\7", 6));
    EXPECT_EQ(read("uint8_gray", "fortran.zarr"), expected);
    describe("gzip.zarr", "|u1", R"(, "fill_value": 9, "compressor": {"id": "gzip", "level": 1})");
    describe("zlib.zarr", "|u1", R"(, "fill_value": 9, "compressor": {"id": "zlib", "level": 1})");
    ASSERT_EQ(shell("python3 -c \"import gzip, zlib\nb = open('plain/0.0', 'rb').read()\n"
                    "open('gzip.zarr/0.0', 'wb').write(gzip.compress(b))\n"
                    "open('zlib.zarr/0.0', 'wb').write(zlib.compress(b))\"")
                  .exit_code,
              0);
    EXPECT_EQ(read("uint8_gray", "gzip.zarr"), expected);
    EXPECT_EQ(read("uint8_gray", "zlib.zarr"), expected);
    describe("big.zarr", ">u2", R"(, "fill_value": 258)");
    write_bytes("big.zarr/0.0", std::string("\0\1\0\2\0\3\0\5\0\6\0\7", 12));
    EXPECT_EQ(copy("uint16_gray", "big.zarr", "out.npy").err, "");
    EXPECT_EQ(npy_values<std::uint16_t>(read_bytes("out.npy")),
              (std::vector<std::uint16_t>{1, 2, 3, 258, 5, 6, 7, 258, 258, 258, 258, 258}));
    describe("nan.zarr", "<f4", R"(, "fill_value": "-Infinity")");
    EXPECT_EQ(copy("float32_gray", "nan.zarr", "out.npy").err, "");
    EXPECT_EQ(npy_values<float>(read_bytes("out.npy")), std::vector<float>(12, -INFINITY));
}

TEST_F(Zarr, WhatCannotBeRead) {
    fs::create_directory("none.zarr");
    expect_error(3, "none.zarr", "o.npy", "cannot read none.zarr: it has no Zarr array: there is no .zarray in it");
    write_bytes("none.zarr/.zgroup", "{}");
    expect_error(3, "none.zarr", "o.npy", "cannot read none.zarr: it is a group of Zarr arrays; name one of them");
    fs::create_directory("three.zarr");
    write_bytes("three.zarr/zarr.json", "{}");
    expect_error(3, "three.zarr", "o.npy",
                 "cannot read three.zarr: it is in Zarr's format of version 3; version 2 can be read");
    describe("a.zarr", "|u1", R"(, "compressor": {"id": "blosc"})");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr: its compressor is `blosc`; known are zlib, gzip and none");
    describe("a.zarr", "|u1", R"(, "filters": [{"id": "delta"}])");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr: its chunks have a filter, delta; none is known");
    describe("a.zarr", "<M8[ns]", "");
    expect_error(3, "a.zarr", "o.npy",
                 "cannot read a.zarr: its elements, \"<M8[ns]\", are not numbers of 8 to 64 bits");
    describe("a.zarr", "|u1", R"(, "shape": [3])");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr: its .zarray is damaged");
    describe("a.zarr", "|u1", R"(, "chunks": [2000000000, 3])");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr: its chunks have more than 2 GiB");
    write_bytes("a.zarr/.zarray", "{");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr: its .zarray is damaged");
    describe("a.zarr", "|u1", "");
    write_bytes("a.zarr/0.0", "abc");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr/0.0: the chunk has another size than its array says");
    describe("a.zarr", "|u1", R"(, "compressor": {"id": "zlib"})");
    expect_error(3, "a.zarr", "o.npy", "cannot read a.zarr/0.0: the chunk is damaged");
}

TEST_F(Zarr, WhatCannotBeWritten) {
    write_bytes("in.npy", npy<std::uint8_t>("|u1", "(1, 2)", {1, 2}));
    fs::create_directory("other.zarr");
    write_bytes("other.zarr/precious", "1");
    const std::string other = "cannot write other.zarr: something else is there, no Zarr array";
    expect_error(3, "in.npy", "other.zarr", other);
    write_bytes("file.zarr", "1");
    expect_error(3, "in.npy", "file.zarr", "cannot write file.zarr: something else is there, no Zarr array");
    expect_error(3, "in.npy", "none/a.zarr", "cannot write none/a.zarr: there is no directory none");
}

}  // namespace
}  // namespace pipec::testing::zarr_test
