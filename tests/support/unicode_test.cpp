#include "support/unicode.h"

#include <gtest/gtest.h>

namespace pipec {
namespace {

std::optional<char32_t> first(std::string_view text) {
    return decode_utf8(text, 0).code_point;
}

TEST(DecodeUtf8, ReadsEveryLength) {
    EXPECT_EQ(first("a"), U'a');
    EXPECT_EQ(first("é"), U'é');
    EXPECT_EQ(first("€"), U'€');
    EXPECT_EQ(first("😀"), U'😀');
    EXPECT_EQ(decode_utf8("x😀", 1).bytes, 4U);
    EXPECT_EQ(first("\xf4\x8f\xbf\xbf"), 0x10FFFFU);
}

TEST(DecodeUtf8, RefusesWhatIsNoCodePoint) {
    const std::string_view bad[] = {"\x80",
                                    "\xff",
                                    "\xc3",
                                    "\xc3(",
                                    "\xe2\x82",
                                    "\xf0\x9f\x98",
                                    "\xc0\xaf",
                                    "\xe0\x80\xaf",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xf8\x88\x80\x80\x80"};
    for (const std::string_view text : bad) {
        EXPECT_FALSE(first(text).has_value()) << testing::PrintToString(text);
        EXPECT_EQ(decode_utf8(text, 0).bytes, 1U);
    }
}

TEST(DisplayWidth, KnowsWideAndCombining) {
    EXPECT_EQ(display_width(U'a'), 1U);
    EXPECT_EQ(display_width(U'é'), 1U);
    EXPECT_EQ(display_width(U'\u0301'), 0U);
    EXPECT_EQ(display_width(U'画'), 2U);
    EXPECT_EQ(display_width(U'😀'), 2U);
}

TEST(Printable, SpellsOutWhatATerminalWouldObey) {
    EXPECT_EQ(printable("plain é 画"), "plain é 画");
    EXPECT_EQ(printable("a\x1b[31mb"), "a<U+001B>[31mb");
    EXPECT_EQ(printable("a\xff"
                        "b"),
              "a<FF>b");
    EXPECT_EQ(printable("if \u202e then"), "if <U+202E> then");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "<U+0000>");
}

}  // namespace
}  // namespace pipec
