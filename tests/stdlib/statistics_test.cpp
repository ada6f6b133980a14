// stdlib/statistics.pipe against plain loops in double, and equalize against values of OpenCV.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate.h"

namespace pipec::test {
namespace {

/// The statistic of each channel.
Grid of_channels(const std::string& function, const Grid& f, const std::string& type) {
    return evaluate("import \"statistics\" pipeline p(f: " + type + "[K, R, C]) -> out: float32[K] { s = " + function +
                        "(f) out(c) = s(c) }",
                    {{"f", f}});
}
Grid of_image(const std::string& expression, const Grid& f, const std::string& type, const std::string& result) {
    return evaluate("import \"statistics\" pipeline p(f: " + type + "[R, C]) -> out: " + result +
                        "[R, C] { out = " + expression + " }",
                    {{"f", f}});
}

struct Moments {
    double mean = 0, variance = 0, least = 0, most = 0;
};
Moments moments(const Grid& f, std::int64_t c) {
    const auto n = static_cast<std::size_t>(f.extents[1] * f.extents[2]);
    const auto first = f.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(c) * n);
    const auto end = first + static_cast<std::ptrdiff_t>(n);
    Moments m;
    for (auto v = first; v != end; ++v) m.mean += *v / static_cast<double>(n);
    for (auto v = first; v != end; ++v) m.variance += (*v - m.mean) * (*v - m.mean) / static_cast<double>(n);
    m.least = *std::min_element(first, end);
    m.most = *std::max_element(first, end);
    return m;
}
Grid by_channel(const Grid& f, const std::function<double(const Moments&)>& value) {
    Grid result({f.extents[0]});
    for (std::int64_t c = 0; c < f.extents[0]; ++c) result({c}) = value(moments(f, c));
    return result;
}

TEST(Statistics, OfEachChannel) {
    for (const Grid& f : {bytes3(3, 11, 14), bytes3(2, 1, 1), bytes3(1, 70, 3)}) {
        for (const char* type : {"uint8", "float32"}) {
            expect_near(of_channels("mean", f, type), by_channel(f, [](const Moments& m) { return m.mean; }), 1e-4);
            expect_near(of_channels("variance", f, type), by_channel(f, [](const Moments& m) { return m.variance; }),
                        1e-2);
            expect_near(of_channels("standard_deviation", f, type),
                        by_channel(f, [](const Moments& m) { return std::sqrt(m.variance); }), 1e-4);
            expect_near(of_channels("minimum", f, type), by_channel(f, [](const Moments& m) { return m.least; }), 0);
            expect_near(of_channels("maximum", f, type), by_channel(f, [](const Moments& m) { return m.most; }), 0);
        }
    }
}

TEST(Statistics, Percentiles) {
    Grid f({7, 11});
    f.data = bytes3(1, 7, 11).data;
    std::vector<double> sorted = f.data;
    std::sort(sorted.begin(), sorted.end());
    // The least value that so many of the 77 pixels do not exceed; of none of them it is 0.
    for (const auto& [part, number] : {std::pair{"0.5", 39}, {"1", 77}, {"0.01", 1}, {"0.99", 77}, {"0.25", 20}}) {
        const Grid out = of_image("0 * f + percentile(f, " + std::string(part) + ")()", f, "uint8", "int32");
        EXPECT_EQ(out.data[0], sorted[static_cast<std::size_t>(number) - 1]) << part;
    }
    EXPECT_EQ(of_image("0 * f + percentile(f, 0)()", f, "uint8", "int32").data[0], 0);
}

TEST(Statistics, Places) {
    const Grid f = bytes3(1, 9, 13);
    const auto place = [&](const char* function) {
        return evaluate("import \"statistics\" pipeline p(f: uint8[K, R, C]) -> out: int32[K, 2] { s = " +
                            std::string(function) + "(f) out(c, i) = if i == 0 then s[0](c) else s[1](c) }",
                        {{"f", f}});
    };
    const auto index = [](auto found, const Grid& g) { return static_cast<double>(found - g.data.begin()); };
    const double least = index(std::min_element(f.data.begin(), f.data.end()), f);
    const double most = index(std::max_element(f.data.begin(), f.data.end()), f);
    expect_near(place("minimum_place"),
                make2(1, 2, [&](auto, auto i) { return i == 0 ? std::floor(least / 13) : std::fmod(least, 13); }), 0);
    expect_near(place("maximum_place"),
                make2(1, 2, [&](auto, auto i) { return i == 0 ? std::floor(most / 13) : std::fmod(most, 13); }), 0);
}

TEST(Statistics, ImagesThatAreScaledByThem) {
    const Grid all = bytes3(1, 8, 12);
    const Grid f = make2(8, 12, [&](auto y, auto x) { return all({0, y, x}); });
    const Moments m = moments(all, 0);
    expect_near(of_image("standardize(f)", f, "uint8", "float32"),
                make2(8, 12,
                      [&](auto y, auto x) {
                          return (f({y, x}) - m.mean) / std::sqrt(m.variance);
                      }),
                1e-5);
    expect_near(of_image("stretch(f, -1, 3)", f, "float32", "float32"),
                make2(8, 12,
                      [&](auto y, auto x) {
                          return 4 * (f({y, x}) - m.least) / (m.most - m.least) - 1;
                      }),
                1e-5);
    const Grid flat({5, 4}, 7);
    expect_near(of_image("standardize(f)", flat, "uint8", "float32"), Grid({5, 4}, 0), 0);
    expect_near(of_image("stretch(f, 2, 3)", flat, "float32", "float32"), Grid({5, 4}, 2), 0);
    expect_near(of_image("equalize(f)", flat, "uint8", "uint8"), flat, 0);
}

TEST(Statistics, Histograms) {
    const Grid all = bytes3(1, 19, 23);
    const Grid f = make2(19, 23, [&](auto y, auto x) { return all({0, y, x}); });
    Grid counts({256}), sums({256});
    for (const double v : f.data) ++counts({static_cast<std::int64_t>(v)});
    double sum = 0;
    for (std::int64_t v = 0; v < 256; ++v) sums({v}) = sum += counts({v});
    const auto table = [&](const std::string& function) {
        return evaluate("import \"statistics\" pipeline p(f: uint8[R, C]) -> out: uint32[256] { h = " + function +
                            "(f) out(v) = h(v) }",
                        {{"f", f}});
    };
    expect_near(table("histogram"), counts, 0);
    expect_near(table("cumulative_histogram"), sums, 0);
}

/// cv2.equalizeHist of OpenCV 4.6.0, of these 7 x 12 values.
TEST(Statistics, EqualisedAsByOpenCv) {
    const Grid f = make2(7, 12, [](auto y, auto x) { return (y * y * 7 + x * x * 3 + y * x % 5 * 11) % 200 + 20; });
    Grid expected({7, 12});
    expected.data = {0,   6,   18,  46,  65,  98,  147, 200, 255, 61,  135, 221, 12,  37,  58,  92,  132,
                     104, 169, 240, 55,  123, 144, 246, 49,  74,  111, 89,  151, 138, 209, 28,  52,  141,
                     178, 22,  80,  132, 117, 184, 181, 190, 9,   37,  132, 178, 221, 77,  157, 212, 206,
                     215, 233, 252, 83,  120, 169, 224, 18,  160, 237, 243, 252, 3,   40,  68,  108, 163,
                     227, 25,  98,  190, 71,  89,  117, 157, 197, 172, 233, 37,  101, 194, 203, 43};
    expect_near(of_image("equalize(f)", f, "uint8", "uint8"), expected, 0);
}

}  // namespace
}  // namespace pipec::test
