// Reads of tables at places that data tell: one for all cases of a choice, of copies with a power of two of values.
#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/inline.h"
#include "ir/visit.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::table_reads_test {
namespace {

/// The reads of an input's elements, or those of its copy, in a pipeline's last stage.
std::size_t reads_of_table(const testing::Compiled& compiled, const std::string& copy) {
    const ir::Pipeline& pipeline = compiled.pipelines.at(0);
    std::size_t count = 0;
    const ir::Expr& value = std::get<ir::Pure>(pipeline.stages.back().definition).value;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        const auto index = static_cast<std::size_t>(read->source.index);
        count += read->source.kind == ir::Source::Kind::Stage ? pipeline.stages.at(index).name == copy
                                                              : pipeline.inputs.at(index).name == "t" && copy.empty();
    });
    return count;
}

testing::Compiled compiled(const std::string& table, const std::string& value) {
    SourceManager sources;
    testing::Compiled result = testing::compile_text(
        sources, "table.pipe",
        "pipeline p(i: uint8[R, C], t: " + table + ") -> out: float32[R, C] { out(y, x) = " + value + " }");
    EXPECT_EQ(result.diags.error_count(), 0U) << render_text(result.diags, sources);
    return result;
}

/// Whether `value` reads a copy of the table.
bool is_padded(const std::string& table, const std::string& value) {
    const testing::Compiled result = compiled(table, value);
    return result.pipelines.at(0).stages.size() == 2 && reads_of_table(result, "out.padded") > 0;
}

TEST(PaddedTables, HaveAPowerOfTwoOfValuesAtEachPlace) {
    EXPECT_TRUE(is_padded("float32[512, 3]", "t(i(y, x), 0) + t(i(y, x), 2)"));
    EXPECT_TRUE(is_padded("float32[3, 512]", "t(0, i(y, x)) + t(2, i(y, x))"));
    EXPECT_TRUE(is_padded("float32[4, 512]", "t(0, i(y, x)) + t(2, i(y, x))"));
    EXPECT_TRUE(is_padded("uint8[600, 7] order(1, 0)", "t(i(y, x), 0) + t(i(y, x), 6)"));
    // Inside of a let, too.
    EXPECT_TRUE(is_padded("float32[512, 3]", "let k = i(y, x) in t(k, 0) + t(k, 2)"));
    const testing::Compiled result = compiled("float32[512, 3]", "t(i(y, x), 0)");
    EXPECT_EQ(ir::as_int(result.models.at(0).domains.at(0).box.back().hi), 4);
}

TEST(PaddedTables, OthersStay) {
    EXPECT_FALSE(is_padded("float32[512, 4]", "t(i(y, x), 0) + t(i(y, x), 2)"));  // a vector as it is
    EXPECT_FALSE(is_padded("float32[512, 5]", "t(i(y, x), 0) + t(i(y, x), 4)"));  // more than one access
    EXPECT_FALSE(is_padded("float32[512, 3]", "t(i(y, x), i(y, x) % 3)"));        // data tell which value
    EXPECT_FALSE(is_padded("float32[R, 3]", "t(y, 0) + t(y, 2)"));                // no data
    EXPECT_FALSE(is_padded("float32[256, C, 3]", "t(i(y, x), x, 2)"));            // too large for so few reads
    EXPECT_FALSE(is_padded("float32[256, 3]", "t(i(y, x), 0) + t(i(y, x), 2)"));  // a few lines
    EXPECT_FALSE(is_padded("float32[2000]", "t(i(y, x))"));
}

TEST(ChosenReads, OneOfAllCases) {
    const auto reads = [](const std::string& value) { return reads_of_table(compiled("float32[600]", value), ""); };
    EXPECT_EQ(reads("if i(y, x) > 9 then 2 * t(i(y, x)) else t(i(y, x) + 1) - 1"), 1U);
    EXPECT_EQ(reads("if i(y, x) > 9 then t(i(y, x)) else if i(y, x) > 5 then t(i(y, x) + 1) - 1 else t(2 * i(y, x))"),
              1U);
    EXPECT_EQ(reads("if i(y, x) > 9 then t(i(y, x)) - t(i(y, x) + 1) else t(i(y, x) + 2) * t(2 * i(y, x))"), 2U);
    // A case that reads less than another, conditions that no data tell, and reads that not every case makes, stay.
    EXPECT_EQ(reads("if i(y, x) > 9 then t(i(y, x)) else 0"), 1U);
    EXPECT_EQ(reads("if i(y, x) > 9 then t(i(y, x)) * t(i(y, x) + 2) else t(i(y, x) + 1)"), 3U);
    const testing::Compiled rows = compiled("float32[R, 512]", "if i(y, x) > 9 then t(y, i(y, x)) else t(0, i(y, x))");
    EXPECT_EQ(reads_of_table(rows, ""), 2U);  // tilings follow the rows
    EXPECT_EQ(reads("if y > 9 then t(i(y, x)) else t(i(y, x) + 1)"), 2U);
    EXPECT_EQ(reads("if i(y, x) > 9 then (if i(y, x) < 99 then t(i(y, x)) else 1) + 1 else t(i(y, x) + 1)"), 2U);
    EXPECT_EQ(reads("if i(y, x) > 9 then sum(k in 0..R) t(min(i(y, x) + k, 599)) else t(i(y, x) + 1)"), 2U);
}

}  // namespace
}  // namespace pipec::table_reads_test
