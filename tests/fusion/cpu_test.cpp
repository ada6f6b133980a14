// Descriptions of processors: those that are built in, and what is said about wrong ones.
#include "fusion/cpu.h"

#include <gtest/gtest.h>

#include "fusion/schedule.h"

namespace pipec::fusion::cpu_test {
namespace {

TEST(Cpu, EveryKnownOneIsPlausible) {
    EXPECT_EQ(known_cpus(), (std::vector<std::string>{"x86-64-v2", "x86-64-v3", "x86-64-v4"}));
    for (const std::string& name : known_cpus()) {
        SCOPED_TRACE(name);
        const Cpu cpu = known_cpu(name).value();
        EXPECT_EQ(cpu.name, name);
        EXPECT_GE(cpu.vector_bytes, 16);
        EXPECT_LE(cpu.vector_bytes, 64);
        EXPECT_GT(cpu.vector_rate, 1e9);
        EXPECT_LT(cpu.core_cache, cpu.last_cache);
        EXPECT_LT(cpu.memory_bandwidth, cpu.cache_bandwidth);
        EXPECT_LT(cpu.row_time, cpu.tile_time);
        EXPECT_LT(cpu.tile_time, cpu.stage_time);
        EXPECT_LT(cpu.stage_time, 1e-4);
    }
    EXPECT_EQ(default_cpu().name, "x86-64-v3");
    EXPECT_FALSE(known_cpu("z80"));
}

std::string description(const std::string& line, const std::string& replacement) {
    std::string text =
        "name = \"X\"\nvector_bytes = 32\nvectors_per_ns = 1.5\ncore_cache_kb = 10\nlast_cache_kb = 100\n"
        "cache_gb_per_s = 20\nmemory_gb_per_s = 10\nrow_ns = 1\ntile_ns = 2\nstage_ns = 3\n";
    const std::size_t at = text.find(line);
    return text.replace(at, text.find('\n', at) - at, replacement);
}

std::string refusal(const std::string& text) {
    try {
        parse_cpu(text, "my.toml");
    } catch (const ScheduleError& error) {
        return error.what();
    }
    return "none";
}

TEST(Cpu, DescriptionsAreRead) {
    const Cpu cpu = parse_cpu(description("name", "name = \"Mine\""), "my.toml");
    EXPECT_EQ(cpu.name, "Mine");
    EXPECT_EQ(cpu.vector_rate, 1.5e9);
    EXPECT_EQ(cpu.core_cache, 10 * 1024);
    EXPECT_EQ(cpu.memory_bandwidth, 10e9);
    EXPECT_DOUBLE_EQ(cpu.stage_time, 3e-9);
}

TEST(Cpu, WrongDescriptionsAreRefusedWithTheirPlace) {
    EXPECT_EQ(refusal(description("row_ns", "")), "my.toml: `row_ns` is missing");
    EXPECT_EQ(refusal(description("name", "")), "my.toml: `name` is missing");
    EXPECT_EQ(refusal(description("name", "name = 3")), "my.toml:1:8: `name` is text, in quotes");
    for (const char* wrong : {"0", "-1", "\"4\"", "nan", "inf", "1e99", "[1]"}) {
        EXPECT_EQ(refusal(description("row_ns", std::string("row_ns = ") + wrong)),
                  "my.toml:8:10: `row_ns` is a positive finite number");
    }
    EXPECT_EQ(refusal(description("row_ns = 1", "row_ns = 1\nsms = 3")), "my.toml:9:1: a CPU has no `sms`");
    EXPECT_TRUE(refusal("name = \"a\nb\"").starts_with("my.toml:1:10: "));
    EXPECT_EQ(refusal(std::string("name = \"\x01\"")), "my.toml:1: a control character, 0x01");
}

}  // namespace
}  // namespace pipec::fusion::cpu_test
