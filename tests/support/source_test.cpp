#include "support/source.h"

#include <gtest/gtest.h>

namespace pipec {
namespace {

TEST(SourceManager, CountsLinesAndCodePoints) {
    SourceManager sources;
    const FileId file = sources.add("a.pipe", "ab\né x\n");
    EXPECT_EQ(sources.position(file, 0).line, 1U);
    EXPECT_EQ(sources.position(file, 0).column, 1U);
    EXPECT_EQ(sources.position(file, 2).column, 3U);  // the newline
    EXPECT_EQ(sources.position(file, 3).line, 2U);
    EXPECT_EQ(sources.position(file, 6).column, 3U);  // é is two bytes and one column
    EXPECT_EQ(sources.line(file, 2), "é x");
    EXPECT_EQ(sources.line(file, 3), "");
    EXPECT_EQ(sources.line(file, 0), "");
}

TEST(SourceManager, EndOfFileIsBehindTheLastCharacter) {
    SourceManager sources;
    const FileId with = sources.add("a.pipe", "ab\ncd\n");
    const FileId without = sources.add("b.pipe", "ab\ncd");
    const FileId empty = sources.add("c.pipe", "");
    for (const FileId file : {with, without}) {
        EXPECT_EQ(sources.position(file, 1000).line, 2U);
        EXPECT_EQ(sources.position(file, 1000).column, 3U);
    }
    EXPECT_EQ(sources.position(empty, 0).line, 1U);
    EXPECT_EQ(sources.position(empty, 1).column, 1U);
}

TEST(SourceManager, LinesHaveNoCarriageReturn) {
    SourceManager sources;
    const FileId file = sources.add("a.pipe", "ab\r\ncd\r\n");
    EXPECT_EQ(sources.line(file, 1), "ab");
    EXPECT_EQ(sources.line(file, 2), "cd");
}

TEST(SourceManager, TextOfARangeIsClamped) {
    SourceManager sources;
    const FileId file = sources.add("a.pipe", "abc\n");
    EXPECT_EQ(sources.text({file, 1, 3}), "bc");
    EXPECT_EQ(sources.text({file, 2, 99}), "c\n");
    EXPECT_EQ(sources.text({file, 99, 100}), "");
    EXPECT_EQ(sources.text(SourceRange{}), "");
}

TEST(Join, IsTheSmallestRangeThatHoldsBoth) {
    EXPECT_EQ(join({0, 5, 7}, {0, 1, 3}), (SourceRange{0, 1, 7}));
    EXPECT_EQ(join({}, {0, 1, 3}), (SourceRange{0, 1, 3}));
    EXPECT_EQ(join({0, 1, 3}, {}), (SourceRange{0, 1, 3}));
    EXPECT_EQ(join({0, 1, 3}, {1, 0, 9}), (SourceRange{0, 1, 3}));
}

}  // namespace
}  // namespace pipec
