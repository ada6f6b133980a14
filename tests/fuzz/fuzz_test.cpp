// The fuzzer itself: that it sees what is wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "fuzz/campaign.h"
#include "fuzz/isolated.h"
#include "fuzz/legality.h"
#include "support_lib/compile.h"

namespace pipec::testing {
namespace {

using Say = std::function<void(const std::string&)>;

TEST(Isolated, SaysHowWorkEnds) {
    const Limits limits{20, 0};
    const Outcome fine = isolated(limits, [](const Say& say) { say("one "), say("two"); });
    EXPECT_EQ(fine.text, "one two");
    EXPECT_EQ(fine.death, "");
    const Outcome killed = isolated(limits, [](const Say& say) {
        say("before");
        std::raise(SIGKILL);
    });
    EXPECT_EQ(killed.text, "before");
    EXPECT_EQ(killed.death, "signal 9 (Killed)");
    const Outcome thrown = isolated(limits, [](const Say&) { throw std::runtime_error("why"); });
    EXPECT_EQ(thrown.text, "why");
    EXPECT_EQ(thrown.death, "exception");
    const Outcome endless = isolated({1, 0}, [](const Say&) {
        for (;;) pause();
    });
    EXPECT_EQ(endless.death, "time out after 1 s");
}

std::string illegality(const std::string& text) {
    SourceManager sources;
    compiler::Settings options;
    options.last = compiler::Phase::Elaborate;
    const Compiled compiled = compile_text(sources, "p.pipe", text, options);
    return found_illegal(compiled.pipelines.at(0), 0.3);
}

TEST(Legality, IsFoundOutByRunning) {
    EXPECT_EQ(illegality("pipeline p(a: uint8[R]) -> out: uint8[R] { out(x) = a(max(x - 1, 0)) }"), "");
    EXPECT_NE(illegality("pipeline p(a: uint8[R]) -> out: uint8[R] { out(x) = a(x - 1) }"), "");
    // Odd sizes.
    EXPECT_NE(illegality("pipeline p(a: uint8[R]) -> out: uint8[R] { out(x) = a(2 * (x / 2) + 1) }"), "");
    EXPECT_EQ(illegality("pipeline p(a: uint8[R]) -> out: uint8[R] where R % 2 == 0 { out(x) = a(2 * (x / 2) + 1) }"),
              "");
    // Parameters that `where` admits.
    EXPECT_EQ(illegality("pipeline p(a: uint8[R], m: int32) -> out: uint8[1] where 0 <= m, m < R { out(x) = a(m) }"),
              "");
    EXPECT_NE(illegality("pipeline p(a: uint8[R], m: int32) -> out: uint8[1] where 0 <= m, m <= R { out(x) = a(m) }"),
              "");
}

std::string program_with_a_spare_line(const Tape&, const std::string& name) {
    return "pipeline " + name + "(a: uint8[R]) -> out: uint8[R] {\n    spare(x) = a(x)\n    out(x) = a(x)\n}\n";
}

TEST(Campaign, JudgesAndReduces) {
    FuzzOptions options;
    options.host = options.device = false;
    options.slow = 1e-9;  // everything is too slow
    Case c;
    c.generator = {"one", program_with_a_spare_line, 1, 2, {9}};
    c.tape = {7, 8, 2000, 9};
    const Verdict verdict = judge({c}, options).front();
    EXPECT_TRUE(verdict.finding && verdict.finding->kind == "slow");
    const Case smaller = reduced(c, *verdict.finding, options);
    EXPECT_EQ(smaller.text().find("spare"), std::string::npos) << smaller.text();
    EXPECT_LT(smaller.tape.size(), c.tape.size());
    options.slow = 0;
    EXPECT_FALSE(judge({smaller}, options).front().finding);
}

TEST(Campaign, SamePrograms) {
    FuzzOptions options;
    for (const std::size_t program : {0, 1, 2}) {
        EXPECT_EQ(cases_of(program, options).front().text(), cases_of(program, options).front().text());
        FuzzOptions other = options;
        other.seed = 2;
        EXPECT_NE(cases_of(program, options).front().text(), cases_of(program, other).front().text());
    }
    EXPECT_NE(cases_of(0, options).front().generator.name, cases_of(1, options).front().generator.name);
}

}  // namespace
}  // namespace pipec::testing
