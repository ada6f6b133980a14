// Files to buffers and back: every element type, layout and conversion, through pipec-run itself.
#include <cmath>
#include <limits>

#include "command.h"

namespace pipec::testing::formats_test {

namespace {

class Formats : public InDirectory {
protected:
    /// pipec-run on one of the pipelines of copies.cpp.
    static Outcome copy(const std::string& pipeline, const std::string& in, const std::string& out,
                        const std::string& options = "") {
        return shell(PIPEC_RUN " " PIPEC_COPIES " -q --pipeline " + pipeline + " --in in=" + in + " --out out=" + out +
                     " " + options);
    }
    static void expect_copy(const std::string& pipeline, const std::string& in, const std::string& out,
                            const std::string& options = "") {
        const Outcome result = copy(pipeline, in, out, options);
        EXPECT_EQ(result.exit_code, 0) << pipeline << " " << in << " " << out << "\n" << result.err;
        EXPECT_EQ(result.out + result.err, "");
    }
};

TEST_F(Formats, ColorImagesAreBitExactInEveryLayout) {
    const std::string image = pnm(4, 5, 3, ramp(60, 4));
    write_bytes("in.ppm", image);
    for (const std::string layout : {"planar", "planar_stored_interleaved", "interleaved", "by_row", "any_channels"}) {
        expect_copy(layout, "in.ppm", layout + ".ppm");
        EXPECT_EQ(read_bytes(layout + ".ppm"), image) << layout;
    }
    for (const std::string file : {"a.png", "a.tif", "a.bmp", "a.tga"}) {
        expect_copy("interleaved", "in.ppm", file);
        expect_copy("planar", file, "b.ppm");
        EXPECT_EQ(read_bytes("b.ppm"), image) << file;
    }
}

TEST_F(Formats, APlanarBufferHoldsPlanes) {
    write_bytes("in.ppm", pnm(1, 2, 3, {10, 20, 30, 11, 21, 31}));
    expect_copy("planar", "in.ppm", "planar.npy");
    expect_copy("interleaved", "in.ppm", "interleaved.npy");
    expect_copy("planar_stored_interleaved", "in.ppm", "stored.npy");
    std::string header;
    using Bytes = std::vector<std::uint8_t>;
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("planar.npy"), &header), (Bytes{10, 11, 20, 21, 30, 31}));
    EXPECT_NE(header.find("'descr': '|u1', 'fortran_order': False, 'shape': (3, 1, 2)"), std::string::npos) << header;
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ((header.size() + 10) % 64, 0U);
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("interleaved.npy")), (Bytes{10, 20, 30, 11, 21, 31}));
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("stored.npy")), (Bytes{10, 11, 20, 21, 30, 31}));
}

TEST_F(Formats, GrayImagesAreBitExactAtEveryDepth) {
    const std::string eight = pnm(3, 5, 1, ramp(15, 17)), sixteen = pnm(3, 5, 1, ramp(15, 4369, 0), 65535);
    write_bytes("in8.pgm", eight);
    write_bytes("in16.pgm", sixteen);
    for (const std::string pipeline : {"uint8_gray", "column_major"}) {
        expect_copy(pipeline, "in8.pgm", "a.png");
        expect_copy(pipeline, "a.png", "a.pgm");
        EXPECT_EQ(read_bytes("a.pgm"), eight) << pipeline;
    }
    for (const std::string file : {"b.png", "b.tif"}) {
        expect_copy("uint16_gray", "in16.pgm", file);
        expect_copy("uint16_gray", file, "b.npy");
        const std::vector<int> expected = ramp(15, 4369);
        EXPECT_EQ(npy_values<std::uint16_t>(read_bytes("b.npy")),
                  std::vector<std::uint16_t>(expected.begin(), expected.end()));
        expect_copy("uint16_gray", file, "b.pgm");
        EXPECT_EQ(read_bytes("b.pgm"), sixteen);
    }
}

TEST_F(Formats, EveryElementTypeSurvivesNpy) {
    const auto round_trip = [](const std::string& type, const std::string& descr, const auto& values) {
        write_bytes("in.npy", npy(descr, "(2, 2)", values));
        expect_copy(type + "_gray", "in.npy", "out.npy");
        std::string header;
        using Element = typename std::decay_t<decltype(values)>::value_type;
        EXPECT_EQ(npy_values<Element>(read_bytes("out.npy"), &header), values) << type;
        EXPECT_NE(header.find("'" + descr + "'"), std::string::npos) << header;
    };
    round_trip("bool", "|b1", std::vector<std::uint8_t>{0, 1, 1, 0});
    round_trip("int8", "|i1", std::vector<std::int8_t>{-128, 127, 0, -1});
    round_trip("uint8", "|u1", std::vector<std::uint8_t>{0, 255, 1, 128});
    round_trip("int16", "<i2", std::vector<std::int16_t>{-32768, 32767, 0, -1});
    round_trip("uint16", "<u2", std::vector<std::uint16_t>{0, 65535, 1, 256});
    round_trip("int32", "<i4", std::vector<std::int32_t>{INT32_MIN, INT32_MAX, 0, -1});
    round_trip("uint32", "<u4", std::vector<std::uint32_t>{0, UINT32_MAX, 1, 2});
    round_trip("int64", "<i8", std::vector<std::int64_t>{INT64_MIN, INT64_MAX, 0, -1});
    round_trip("uint64", "<u8", std::vector<std::uint64_t>{0, UINT64_MAX, 1, 2});
    round_trip("float16", "<f2", std::vector<std::uint16_t>{0x3C00, 0x8001, 0x7BFF, 0xFC00});
    round_trip("float32", "<f4", std::vector<float>{-1.5F, 1e30F, 0.F, INFINITY});
    round_trip("float64", "<f8", std::vector<double>{-1.5, 1e300, 0, 1e-320});
}

TEST_F(Formats, NpyOfOtherByteOrderAndFortranOrderIsRead) {
    write_bytes("big.npy", npy<std::uint16_t>(">u2", "(2, 2)", {0x0100, 0x0200, 0x0300, 0x0400}));
    expect_copy("uint16_gray", "big.npy", "a.npy");
    EXPECT_EQ(npy_values<std::uint16_t>(read_bytes("a.npy")), (std::vector<std::uint16_t>{1, 2, 3, 4}));
    std::string fortran = npy<std::uint8_t>("|u1", "(2, 3)", {1, 4, 2, 5, 3, 6});
    fortran.replace(fortran.find("False"), 5, "True ");
    write_bytes("fortran.npy", fortran);
    expect_copy("uint8_gray", "fortran.npy", "b.npy");
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("b.npy")), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Formats, ArraysOfAnyRank) {
    const std::vector<std::int16_t> values = [] {
        const std::vector<int> v = ramp(2 * 3 * 4 * 5, 7, -100);
        return std::vector<std::int16_t>(v.begin(), v.end());
    }();
    write_bytes("in.npy", npy("<i2", "(2, 3, 4, 5)", values));
    expect_copy("four", "in.npy", "out.npy");
    EXPECT_EQ(npy_values<std::int16_t>(read_bytes("out.npy")), values);
    EXPECT_EQ(read_bytes("out.npy").find("(2, 3, 4, 5)") != std::string::npos, true);
    write_bytes("row.npy", npy<std::uint8_t>("|u1", "(3,)", {7, 8, 9}));
    expect_copy("row", "row.npy", "row.pgm");
    EXPECT_EQ(read_bytes("row.pgm"), pnm(1, 3, 1, {7, 8, 9}));
    expect_copy("row", "row.pgm", "again.npy");
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("again.npy")), (std::vector<std::uint8_t>{7, 8, 9}));
}

TEST_F(Formats, FloatImagesAreBitExact) {
    const std::vector<float> values = {-2.5F, 0.F, 1e-20F, 0.1F, 3e20F, 65504.F};
    write_bytes("in.npy", npy("<f4", "(2, 3)", values));
    for (const std::string file : {"a.exr", "a.tif", "a.pfm"}) {
        expect_copy("float32_gray", "in.npy", file);
        expect_copy("float32_gray", file, "b.npy");
        EXPECT_EQ(npy_values<float>(read_bytes("b.npy")), values) << file;
    }
    write_bytes("half.npy", npy<std::uint16_t>("<f2", "(1, 3)", {0x3C00, 0x8001, 0x7BFF}));
    expect_copy("float16_gray", "half.npy", "half.exr");
    expect_copy("float16_gray", "half.exr", "half2.npy");
    EXPECT_EQ(npy_values<std::uint16_t>(read_bytes("half2.npy")), (std::vector<std::uint16_t>{0x3C00, 0x8001, 0x7BFF}));
    write_bytes("double.npy", npy<double>("<f8", "(1, 2)", {1e30, 0.1}));  // kept as float32
    expect_copy("float64_gray", "double.npy", "double.tif");
    expect_copy("float64_gray", "double.tif", "double2.npy");
    EXPECT_EQ(npy_values<double>(read_bytes("double2.npy")), (std::vector<double>{1e30F, 0.1F}));
}

TEST_F(Formats, PfmRowsGoFromTheBottomToTheTop) {
    std::string file = "Pf\n1 2\n1.0\n";  // positive: big endian
    file += std::string("\x40\x00\x00\x00\x3F\x80\x00\x00", 8);
    write_bytes("in.pfm", file);
    expect_copy("float32_gray", "in.pfm", "out.npy");
    EXPECT_EQ(npy_values<float>(read_bytes("out.npy")), (std::vector<float>{1.F, 2.F}));
    write_bytes("color.npy", npy<float>("<f4", "(3, 1, 1)", {0.25F, 0.5F, 0.75F}));
    expect_copy("float32_planar", "color.npy", "color.pfm");
    EXPECT_EQ(read_bytes("color.pfm").substr(0, 3), "PF\n");
    expect_copy("float32_planar", "color.pfm", "color2.npy");
    EXPECT_EQ(npy_values<float>(read_bytes("color2.npy")), (std::vector<float>{0.25F, 0.5F, 0.75F}));
}

TEST_F(Formats, IntegerFilesBecomeZeroToOne) {
    write_bytes("in8.pgm", pnm(1, 3, 1, {0, 51, 255}));
    write_bytes("in16.pgm", pnm(1, 3, 1, {0, 13107, 65535}, 65535));
    for (const std::string file : {"in8.pgm", "in16.pgm"}) {
        expect_copy("float32_gray", file, "out.npy");
        EXPECT_EQ(npy_values<float>(read_bytes("out.npy")), (std::vector<float>{0.F, 0.2F, 1.F})) << file;
    }
    expect_copy("float32_gray", "in8.pgm", "raw.npy", "--raw in");
    EXPECT_EQ(npy_values<float>(read_bytes("raw.npy")), (std::vector<float>{0.F, 51.F, 255.F}));
}

TEST_F(Formats, FloatsAreClampedScaledAndRoundedHalfToEven) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    // 0.1F * 255 = 25.500000379 rounds up; 0.5 * 255 = 127.5 is a tie, and 126.5 / 255 a little less than one
    write_bytes("in.npy", npy<float>("<f4", "(1, 8)", {-1.F, 0.F, 0.5F, 0.1F, 1.F, 7.F, nan, INFINITY}));
    expect_copy("float32_gray", "in.npy", "out.png");
    expect_copy("uint8_gray", "out.png", "out.npy");
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("out.npy")),
              (std::vector<std::uint8_t>{0, 0, 128, 26, 255, 255, 0, 255}));
    expect_copy("float32_gray", "in.npy", "out16.png", "--depth out=16");
    expect_copy("uint16_gray", "out16.png", "out16.npy");
    EXPECT_EQ(npy_values<std::uint16_t>(read_bytes("out16.npy")),
              (std::vector<std::uint16_t>{0, 0, 32768, 6554, 65535, 65535, 0, 65535}));
    write_bytes("raw.npy", npy<float>("<f4", "(1, 6)", {-3.F, 0.5F, 1.5F, 2.5F, 254.7F, 1000.F}));
    expect_copy("float32_gray", "raw.npy", "raw.png", "--raw out");
    expect_copy("uint8_gray", "raw.png", "raw_out.npy");
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("raw_out.npy")), (std::vector<std::uint8_t>{0, 0, 2, 2, 255, 255}));
}

TEST_F(Formats, EightBitImagesSurviveFloatBuffersExactly) {
    const std::string image = pnm(16, 16, 1, ramp(256));
    write_bytes("in.pgm", image);
    for (const std::string type : {"float16_gray", "float32_gray", "float64_gray"}) {
        expect_copy(type, "in.pgm", "out.pgm");
        EXPECT_EQ(read_bytes("out.pgm"), image) << type;
    }
}

TEST_F(Formats, IntegersOfAnotherWidthKeepTheirValues) {
    write_bytes("in.pgm", pnm(1, 3, 1, {0, 100, 200}));
    for (const std::string type : {"uint16", "int16", "uint32", "int32", "uint64", "int64"}) {
        expect_copy(type + "_gray", "in.pgm", "out.pgm");
        EXPECT_EQ(read_bytes("out.pgm"), pnm(1, 3, 1, {0, 100, 200}, 65535)) << type;  // 8 bits would be too narrow
    }
    const Outcome result = copy("int8_gray", "in.pgm", "out.pgm");
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.err, "pipec-run: error: in.pgm: the value 200 at [0, 2] does not fit `in`, which is int8\n");
    write_bytes("wide.npy", npy<std::int32_t>("<i4", "(1, 3)", {0, 300, 65535}));
    expect_copy("int32_gray", "wide.npy", "wide.png");
    expect_copy("int32_gray", "wide.png", "wide2.npy");
    EXPECT_EQ(npy_values<std::int32_t>(read_bytes("wide2.npy")), (std::vector<std::int32_t>{0, 300, 65535}));
    const Outcome refused = copy("int32_gray", "wide.npy", "wide.jpg");
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_NE(refused.err.find("the value 300 at [0, 1, 0] (row, column, channel) of `out` does not fit uint8"),
              std::string::npos)
        << refused.err;
    write_bytes("negative.npy", npy<std::int32_t>("<i4", "(1, 2)", {-70000, 70000}));
    expect_copy("int32_gray", "negative.npy", "negative.tif");
    expect_copy("int32_gray", "negative.tif", "negative2.npy");
    EXPECT_EQ(npy_values<std::int32_t>(read_bytes("negative2.npy")), (std::vector<std::int32_t>{-70000, 70000}));
}

TEST_F(Formats, BoolsAreBlackAndWhite) {
    write_bytes("mask.pgm", pnm(1, 4, 1, {0, 255, 1, 0}));
    expect_copy("bool_gray", "mask.pgm", "mask.npy");
    EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("mask.npy")), (std::vector<std::uint8_t>{0, 1, 1, 0}));
    expect_copy("bool_gray", "mask.npy", "white.pgm");
    EXPECT_EQ(read_bytes("white.pgm"), pnm(1, 4, 1, {0, 255, 255, 0}));
    expect_copy("bool_gray", "mask.npy", "raw.pgm", "--raw out");
    EXPECT_EQ(read_bytes("raw.pgm"), pnm(1, 4, 1, {0, 1, 1, 0}));
}

TEST_F(Formats, AlphaIsNotMultiplied) {
    write_bytes("rgba.npy", npy<std::uint8_t>("|u1", "(4, 1, 2)", {200, 201, 100, 101, 50, 51, 0, 10}));
    for (const std::string file : {"rgba.png", "rgba.tif"}) {
        expect_copy("rgba", "rgba.npy", file);
        expect_copy("rgba", file, "again.npy");
        EXPECT_EQ(npy_values<std::uint8_t>(read_bytes("again.npy")),
                  (std::vector<std::uint8_t>{200, 201, 100, 101, 50, 51, 0, 10}))
            << file;
    }
}

TEST_F(Formats, ChannelsAreChosen) {
    write_bytes("in.ppm", pnm(1, 2, 3, {10, 20, 30, 11, 21, 31}));
    expect_copy("planar", "in.ppm", "bgr.ppm", "--channels in=2,1,0");
    EXPECT_EQ(read_bytes("bgr.ppm"), pnm(1, 2, 3, {30, 20, 10, 31, 21, 11}));
    expect_copy("uint8_gray", "in.ppm", "green.pgm", "--channels in=1");
    EXPECT_EQ(read_bytes("green.pgm"), pnm(1, 2, 1, {20, 21}));
    expect_copy("planar", "in.ppm", "blue.pgm", "--channels out=2");
    EXPECT_EQ(read_bytes("blue.pgm"), pnm(1, 2, 1, {30, 31}));
    expect_copy("planar", "green.pgm", "gray.ppm", "--channels in=0,0,0");
    EXPECT_EQ(read_bytes("gray.ppm"), pnm(1, 2, 3, {20, 20, 20, 21, 21, 21}));
    expect_copy("uint8_gray", "in.ppm", "luma.pgm", "--gray in");
    EXPECT_EQ(read_bytes("luma.pgm"), pnm(1, 2, 1, {19, 20}));  // 0.2126 * 10 + 0.7152 * 20 + 0.0722 * 30 = 18.596
    expect_copy("one_channel", "in.ppm", "luma.pgm", "--gray in");
    EXPECT_EQ(read_bytes("luma.pgm"), pnm(1, 2, 1, {19, 20}));
}

TEST_F(Formats, WithConstantExtentsTheDimensionThatFitsIsTheChannels) {
    // [3, 4, 3]: three channels of 4 x 3 if the image is 4 x 3, and 3 x 4 pixels of three channels if it is 3 x 4
    write_bytes("tall.ppm", pnm(4, 3, 3, ramp(36)));
    write_bytes("wide.ppm", pnm(3, 4, 3, ramp(36)));
    expect_copy("all_constant", "tall.ppm", "tall.npy");
    expect_copy("all_constant", "wide.ppm", "wide.npy");
    const std::vector<std::uint8_t> tall = npy_values<std::uint8_t>(read_bytes("tall.npy"));
    EXPECT_EQ(std::vector<std::uint8_t>(tall.begin(), tall.begin() + 4), (std::vector<std::uint8_t>{0, 3, 6, 9}));
    const std::vector<std::uint8_t> wide = npy_values<std::uint8_t>(read_bytes("wide.npy"));
    EXPECT_EQ(std::vector<std::uint8_t>(wide.begin(), wide.begin() + 4), (std::vector<std::uint8_t>{0, 1, 2, 3}));
}

TEST_F(Formats, TheSameRunWritesTheSameBytes) {
    write_bytes("in.ppm", pnm(8, 8, 3, ramp(192)));
    for (const std::string extension : {".png", ".tif", ".exr", ".jpg", ".npy"}) {
        expect_copy("float32_planar", "in.ppm", "a" + extension);
        if (extension == ".exr" || extension == ".tif") shell("sleep 1.1");  // formats that could store the time
        expect_copy("float32_planar", "in.ppm", "b" + extension);
        EXPECT_EQ(read_bytes("a" + extension), read_bytes("b" + extension)) << extension;
    }
}

}  // namespace
}  // namespace pipec::testing::formats_test
