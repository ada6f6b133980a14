#include "support/diagnostics.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "support/diagnostic_registry.h"

namespace pipec {
namespace {

constexpr DiagnosticKind<std::string> kBad{{"Bad", Severity::Error, "bad"}, "bad `{}`"};
constexpr DiagnosticKind<> kOdd{{"Odd", Severity::Warning, "odd"}, "odd"};

TEST(Diagnostics, CountsBySeverity) {
    Diagnostics diags;
    diags.report(kOdd, {});
    EXPECT_FALSE(diags.has_errors());
    diags.report(kBad, {}, "x").note("why").suggest({0, 1, 2}, "y");
    EXPECT_TRUE(diags.has_errors());
    EXPECT_EQ(diags.error_count(), 1U);
    EXPECT_EQ(diags.warning_count(), 1U);
    EXPECT_EQ(diags.all()[1].message, "bad `x`");
    EXPECT_EQ(diags.all()[1].notes.at(0).message, "why");
    EXPECT_EQ(diags.all()[1].fixits.at(0).text, "y");
}

TEST(Diagnostics, OptionsSwitchWarningsButNoErrors) {
    WarningOptions off;
    off.none = true;
    Diagnostics none(off);
    none.report(kOdd, {}).note("lost").suggest({}, "lost");
    none.report(kBad, {}, "x");
    EXPECT_EQ(none.all().size(), 1U);

    WarningOptions strict;
    strict.as_errors.insert("odd");
    Diagnostics errors(strict);
    errors.report(kOdd, {});
    EXPECT_TRUE(errors.has_errors());
    EXPECT_EQ(errors.all()[0].severity, Severity::Error);
}

TEST(ClosestName, FindsMisspellingsOnly) {
    const std::vector<std::string> names{"blurx", "blury", "img", "response"};
    EXPECT_EQ(closest_name("blurz", names), "blurx");
    EXPECT_EQ(closest_name("imgg", names), "img");
    EXPECT_EQ(closest_name("reponse", names), "response");
    EXPECT_EQ(closest_name("grid", names), std::nullopt);
    EXPECT_EQ(closest_name("img", {"img"}), std::nullopt) << "the name itself is no suggestion";
    EXPECT_EQ(closest_name("", names), std::nullopt);
    EXPECT_EQ(closest_name("cosnt", {"sort", "const"}), "const") << "a swap of neighbours is one edit";
    EXPECT_EQ(closest_name("THRESHOLD", {"threshold"}), "threshold");
    EXPECT_EQ(closest_name("r", {"c", "R"}), "R") << "of short names only the case may differ";
    EXPECT_EQ(closest_name("ab", {"abc", "a", "ba"}), std::nullopt);
}

TEST(Registry, IdsAreUniqueAndWellFormed) {
    std::set<std::string_view> ids;
    std::set<std::string_view> names;
    const std::regex form("[a-z][a-z0-9]*(-[a-z0-9]+)*");
    for (const DiagnosticInfo& info : all_diagnostics()) {
        EXPECT_TRUE(ids.insert(info.id).second) << info.id << " is declared twice";
        EXPECT_TRUE(names.insert(info.name).second) << info.name << " is declared twice";
        EXPECT_TRUE(std::regex_match(std::string(info.id), form)) << info.id;
        if (info.severity == Severity::Error) continue;
        // -Wno-X and -Werror are flags of their own.
        EXPECT_FALSE(info.id.starts_with("no-") || info.id == "error" || info.id == "all") << info.id;
    }
    EXPECT_GT(ids.size(), 3U);
}

}  // namespace
}  // namespace pipec
