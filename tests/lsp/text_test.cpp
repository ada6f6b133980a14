// Positions, edits, addresses and frames.
#include "lsp/text.h"

#include <gtest/gtest.h>

#include <random>

#include "lsp/message.h"

namespace pipec::lsp {
namespace {

TEST(Lines, CountUtf16) {
    // One unit for the accent, one for the Chinese character, two for the face.
    const std::string text = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80z\nb";
    const Lines lines(text);
    const std::size_t bytes[] = {0, 1, 3, 6, 10, 11, 12};
    const Position places[] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 5}, {0, 6}, {1, 0}};
    for (std::size_t i = 0; i < std::size(bytes); ++i) {
        EXPECT_EQ(lines.position(bytes[i]), places[i]) << i;
        EXPECT_EQ(lines.offset(places[i]), bytes[i]) << i;
    }
    EXPECT_EQ(lines.offset({0, 4}), 6U);  // between the halves of the pair
    EXPECT_EQ(lines.position(2), (Position{0, 1}));
}

TEST(Lines, TakePlacesOutsideOfTheText) {
    const Lines lines("ab\ncd");
    EXPECT_EQ(lines.offset({0, 99}), 2U);
    EXPECT_EQ(lines.offset({-5, 1}), 0U);
    EXPECT_EQ(lines.offset({0, -1}), 0U);
    EXPECT_EQ(lines.offset({7, 0}), 5U);
    EXPECT_EQ(lines.offset({INT64_MAX, INT64_MAX}), 5U);
    EXPECT_EQ(lines.offset({INT64_MIN, INT64_MIN}), 0U);
    EXPECT_EQ(lines.position(99), (Position{1, 2}));
}

TEST(Lines, EndInThreeWays) {
    const Lines lines("a\r\nb\rc\nd");
    EXPECT_EQ(lines.position(3), (Position{1, 0}));
    EXPECT_EQ(lines.position(5), (Position{2, 0}));
    EXPECT_EQ(lines.position(7), (Position{3, 0}));
    EXPECT_EQ(lines.offset({0, 5}), 1U);
}

TEST(Lines, AnyBytesGoThereAndBack) {
    std::mt19937_64 rng(3);
    for (int i = 0; i < 300; ++i) {
        std::string text(rng() % 40, ' ');
        for (char& c : text) c = rng() % 4 == 0 ? '\n' : static_cast<char>(rng());
        const Lines lines(text);
        for (std::size_t at = 0; at <= text.size(); ++at) {
            const std::size_t there = lines.offset(lines.position(at));
            ASSERT_LE(there, at);
            ASSERT_EQ(lines.position(there), lines.position(at));
        }
    }
}

TEST(Edits, ReplaceRanges) {
    EXPECT_EQ(edited("abc\ndef", {{0, 1}, {1, 1}}, "-"), "a-ef");
    EXPECT_EQ(edited("abc\ndef", {{1, 1}, {0, 1}}, "-"), "a-ef");
    EXPECT_EQ(edited("abc", {{9, 9}, {9, 9}}, "d"), "abcd");
    EXPECT_EQ(edited("", {{0, 0}, {5, 5}}, "d"), "d");
}

TEST(Addresses, ArePaths) {
    EXPECT_EQ(path_of("file:///a/b%20c.pipe"), "/a/b c.pipe");
    EXPECT_EQ(path_of("file://host/a%2"), "/a%2");
    EXPECT_EQ(path_of("untitled:Untitled-1"), "untitled:Untitled-1");
    EXPECT_EQ(uri_of("/a/b c+\xC3\xA9.pipe"), "file:///a/b%20c%2B%C3%A9.pipe");
    EXPECT_EQ(path_of(uri_of("/a/%41 b?.pipe")), "/a/%41 b?.pipe");
    EXPECT_EQ(uri_of("<stdin>"), "<stdin>");
}

/// What a reader makes of bytes, fed in pieces: messages as text, errors as "error".
std::vector<std::string> read_all(const std::string& bytes, std::size_t piece) {
    MessageReader reader;
    std::vector<std::string> result;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        reader.feed(std::string_view(bytes).substr(at, piece));
        while (const auto next = reader.next()) {
            result.push_back(std::holds_alternative<Json>(*next) ? std::get<Json>(*next).dump() : "error");
        }
    }
    return result;
}

TEST(Frames, AreCut) {
    const std::string two = framed({{"a", 1}}) + framed(Json::array());
    for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
        EXPECT_EQ(read_all(two, piece), (std::vector<std::string>{"{\"a\":1}", "[]"}));
    }
    EXPECT_EQ(read_all("content-length:2\n\n{}", 100), (std::vector<std::string>{"{}"}));
    EXPECT_EQ(read_all("Content-Type: x\r\nContent-Length: 2\r\n\r\n{}", 3), (std::vector<std::string>{"{}"}));
}

TEST(Frames, ThatAreBrokenAreSkipped) {
    const std::string good = framed({{"a", 1}});
    const std::vector<std::string> expected{"error", "{\"a\":1}"};
    EXPECT_EQ(read_all("Content-Length: 3\r\n\r\n{]}" + good, 5), expected);
    EXPECT_EQ(read_all("Content-Length: 3\r\n\r\n\"\xFF\"" + good, 5), expected);
    EXPECT_EQ(read_all("Content-Length: -3\r\n\r\n" + good, 5), expected);
    EXPECT_EQ(read_all("Content-Length: 99999999999999999999999\r\n\r\n" + good, 5), expected);
    EXPECT_EQ(read_all("nonsense\r\n\r\n" + good, 5), expected);
    EXPECT_EQ(read_all("Content-Length: 2\r\n\r\n{}garbage" + good, 5), (std::vector<std::string>{"{}", "{\"a\":1}"}));
    const std::string deep = std::string(100000, '[');
    EXPECT_EQ(read_all("Content-Length: 100000\r\n\r\n" + deep + good, 4096), expected);
}

TEST(Frames, AnyBytesAreSurvived) {
    std::mt19937_64 rng(4);
    for (int i = 0; i < 200; ++i) {
        std::string bytes;
        for (int part = 0; part < 6; ++part) {
            std::string frame = framed({{"id", part}, {"method", "x"}});
            if (rng() % 2 == 0) frame[rng() % frame.size()] = static_cast<char>(rng());
            if (rng() % 4 == 0) frame.erase(rng() % frame.size());
            bytes += frame;
        }
        read_all(bytes, 1 + rng() % 50);
    }
}

}  // namespace
}  // namespace pipec::lsp
