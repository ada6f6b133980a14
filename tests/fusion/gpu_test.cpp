// Descriptions of GPUs: those that are built in, and what is said about wrong ones.
#include "fusion/gpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace pipec::fusion::gpu_test {
namespace {

TEST(Gpu, EveryKnownOneIsPlausible) {
    const std::vector<std::string> names = known_gpus();
    EXPECT_EQ(names,
              (std::vector<std::string>{"a100", "b200", "gtx1080ti", "h100", "h200", "l4", "rtx4090", "t4", "v100"}));
    std::set<std::string> devices;
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const Gpu gpu = known_gpu(name).value();
        EXPECT_EQ(gpu.threads_per_sm, 32 * gpu.warps_per_sm);
        EXPECT_GE(gpu.sms, 20);
        EXPECT_TRUE(gpu.cores_per_sm == 64 || gpu.cores_per_sm == 128);
        EXPECT_EQ(gpu.registers_per_sm, 65536);
        EXPECT_GE(gpu.shared_per_block, 48 * 1024);
        EXPECT_GT(gpu.clock_hz, 1e9);
        EXPECT_LT(gpu.clock_hz, 3e9);
        EXPECT_GE(gpu.dram_bandwidth, 3e11);
        EXPECT_LT(gpu.dram_bandwidth, 1e13);
        EXPECT_FALSE(gpu.devices.empty());
        for (const std::string& device : gpu.devices) EXPECT_TRUE(devices.insert(device).second) << device;
    }
}

TEST(Gpu, TheMachinesOfThePaper) {
    const Gpu gtx = known_gpu("gtx1080ti").value(), v100 = known_gpu("v100").value();
    EXPECT_EQ(gtx.sms, 28);
    EXPECT_EQ(v100.sms, 80);
    EXPECT_EQ(gtx.shared_per_block, 48 * 1024);
    EXPECT_EQ(v100.shared_per_block, 96 * 1024);
    EXPECT_EQ(gtx.blocks_per_sm, 16);
    EXPECT_EQ(v100.dram_bandwidth, 898e9);
    EXPECT_EQ(gtx.paper_weights, (std::array<double, 7>{50, 0.5, 45, 20, 2, 100, 1}));
    EXPECT_EQ(v100.paper_weights, (std::array<double, 7>{50, 0.5, 60, 10, 2, 100, 1}));
}

TEST(Gpu, DevicesAreKnownByTheNamesThatCudaGivesThem) {
    EXPECT_EQ(gpu_of_device("NVIDIA H200").value().name, "NVIDIA H200 SXM");
    EXPECT_EQ(gpu_of_device("Tesla T4").value().name, "NVIDIA T4");
    EXPECT_FALSE(gpu_of_device("NVIDIA GeForce MX150"));
    EXPECT_FALSE(known_gpu("h300"));
    EXPECT_EQ(default_gpu().name, "NVIDIA H100 SXM");
}

/// A complete description, with lines in the place of others.
std::string description(const std::string& line = "", const std::string& replacement = "") {
    std::string text =
        "name = \"X\"\ncompute_capability = \"9.0\"\nsms = 10\ncores_per_sm = 64\nwarps_per_sm = 64\n"
        "blocks_per_sm = 32\nregisters_per_sm = 65536\nregisters_per_thread = 255\nshared_per_sm_kb = 100\n"
        "shared_per_block_kb = 99\nclock_mhz = 1500.5\nl2_kb = 1024\ndram_gb_per_s = 100\n";
    if (line.empty()) return text + replacement;
    const std::size_t begin = text.find(line + " ="), end = text.find('\n', begin);
    return text.replace(begin, end - begin, replacement);
}

std::string refusal(const std::string& text) {
    try {
        parse_gpu(text, "my.toml");
    } catch (const GpuError& e) {
        return e.what();
    }
    return "accepted";
}

TEST(Gpu, WhatIsReadFromAFile) {
    const Gpu gpu = parse_gpu(description(), "my.toml");
    EXPECT_EQ(gpu.name, "X");
    EXPECT_EQ(gpu.capability_major, 9);
    EXPECT_EQ(gpu.capability_minor, 0);
    EXPECT_EQ(gpu.clock_hz, 1500.5e6);
    EXPECT_EQ(gpu.shared_per_block, 99 * 1024);
    EXPECT_EQ(gpu.l2_bytes, 1 << 20);
    EXPECT_EQ(gpu.dram_bandwidth, 1e11);
    EXPECT_FALSE(gpu.paper_weights);
}

TEST(Gpu, RatesThatAreLeftOutAreThoseOfTheH200) {
    const GpuRates h200 = known_gpu("h200").value().rates, h100 = known_gpu("h100").value().rates;
    EXPECT_EQ(h200.memory, 0.0606e-6);
    EXPECT_EQ(h200.barrier, 0.032e-6);
    EXPECT_EQ(h200.dram_part, 0.81);
    for (const RateMember& m : rate_members()) EXPECT_EQ(h100.*m.field, h200.*m.field) << m.key;
    // As many clocks, which are longer.
    const GpuRates own = parse_gpu(description("clock_mhz", "clock_mhz = 990"), "my.toml").rates;
    EXPECT_EQ(own.barrier, 2 * h200.barrier);
    EXPECT_EQ(own.update, 2 * h200.update);
    EXPECT_EQ(own.block_start, 2 * h200.block_start);
    EXPECT_EQ(own.memory, h200.memory);
    EXPECT_EQ(own.l2_bytes_per_clock, h200.l2_bytes_per_clock);
    // What is given counts as it stands.
    const GpuRates some =
        parse_gpu(description("", "[time]\nbarrier_us = 0.5\ndram_part = 1\nends = 0\n"), "my.toml").rates;
    EXPECT_EQ(some.barrier, 0.5e-6);
    EXPECT_EQ(some.dram_part, 1);
    EXPECT_EQ(some.ends, 0);
    EXPECT_EQ(some.issue_part, h200.issue_part);
}

TEST(Gpu, WrongRatesAreRefused) {
    const auto refused = [](const std::string& line) { return refusal(description("", "[time]\n" + line + "\n")); };
    EXPECT_EQ(refusal(description("", "time = 1\n")), "my.toml:14:8: `time` is a table");
    EXPECT_EQ(refused("dram = 1"), "my.toml:15:1: a GPU has no `time.dram`");
    EXPECT_EQ(refused("dram_part = 1.5"), "my.toml:15:13: `time.dram_part` is at most 1");
    EXPECT_EQ(refused("dram_part = 0"), "my.toml:15:13: `time.dram_part` is a positive finite number");
    EXPECT_EQ(refused("launch_us = -1"), "my.toml:15:13: `time.launch_us` is a finite number");
    EXPECT_EQ(refused("launch_us = nan"), "my.toml:15:13: `time.launch_us` is a finite number");
    EXPECT_EQ(refused("launch_us = \"2\""), "my.toml:15:13: `time.launch_us` is a finite number");
    EXPECT_EQ(refused("gap_exponent = 5"), "my.toml:15:16: `time.gap_exponent` is at most 4");
    EXPECT_EQ(refused("issue_part = 1e-9"), "my.toml:15:14: `time.issue_part` is a positive finite number");
    EXPECT_EQ(refused("overlap = 0.5"), "my.toml:15:11: `time.overlap` is at least 1");
    EXPECT_EQ(refused("narrow_loss = 0.25"), "my.toml: `time.narrow_loss` is below 1/4, or nothing would be left");
    EXPECT_EQ(refused("enough_warps = 2"),
              "my.toml: every loss by few warps times `time.enough_warps` is below 1, or nothing would be left");
}

TEST(Gpu, WrongDescriptionsAreRefusedWithTheirPlace) {
    EXPECT_EQ(refusal(description("sms", "")), "my.toml: `sms` is missing");
    EXPECT_EQ(refusal(description("sms", "sms = 2.5")), "my.toml:3:7: `sms` is a positive whole number");
    EXPECT_EQ(refusal(description("sms", "sms = 0")), "my.toml:3:7: `sms` is a positive whole number");
    EXPECT_EQ(refusal(description("sms", "sms = \"ten\"")), "my.toml:3:7: `sms` is a positive whole number");
    EXPECT_EQ(refusal(description("sms", "sms = 1000000000")), "my.toml:3:7: `sms` is a positive whole number");
    EXPECT_EQ(refusal(description("clock_mhz", "clock_mhz = inf")),
              "my.toml:11:13: `clock_mhz` is a positive finite number");
    EXPECT_EQ(refusal(description("clock_mhz", "clock_mhz = nan")),
              "my.toml:11:13: `clock_mhz` is a positive finite number");
    EXPECT_EQ(refusal(description("", "colour = 1\n")), "my.toml:14:1: a GPU has no `colour`");
    EXPECT_EQ(refusal(description("name", "name = 3")), "my.toml:1:8: `name` is text, in quotes");
    EXPECT_EQ(refusal(description("name", "name = \"\"")), "my.toml:1:8: `name` is empty");
    EXPECT_EQ(refusal(description("", "devices = \"X\"\n")), "my.toml:14:11: `devices` is a list, in brackets");
    for (const char* version : {"9", "9.", ".0", "9.0a", "0.0", ""}) {
        EXPECT_EQ(refusal(description("compute_capability", fmt::format("compute_capability = \"{}\"", version))),
                  "my.toml:2:22: `compute_capability` is text like \"9.0\"");
    }
    EXPECT_EQ(refusal(description("shared_per_block_kb", "shared_per_block_kb = 101")),
              "my.toml:10:23: a block cannot have more shared memory than there is");
    EXPECT_EQ(refusal(description("shared_per_block_kb", "shared_per_block_kb = 47")),
              "my.toml:10:23: `shared_per_block_kb` is at least 48 on every GPU");
    EXPECT_EQ(refusal(description("warps_per_sm", "warps_per_sm = 31")),
              "my.toml:5:16: `warps_per_sm` is at least 32 on every GPU");
    EXPECT_EQ(refusal(description("", "paper = 1\n")), "my.toml:14:9: `paper` is a table");
    EXPECT_EQ(refusal(description("", "[paper]\nweights = [1, 2]\n")),
              "my.toml:15:11: `paper.weights` are seven, w1 to w7");
    EXPECT_EQ(refusal(description("", "[paper]\nweights = [1, 2, 3, 4, 5, 6, -7]\n")),
              "my.toml:15:30: `paper.weights` is a finite number");
    EXPECT_EQ(refusal(description("", "[paper]\n")), "my.toml: `weights` is missing");
    EXPECT_EQ(refusal(description("", "[paper]\nweight = []\n")), "my.toml:15:1: a GPU has no `paper.weight`");
    EXPECT_EQ(refusal("sms = \n").substr(0, 11), "my.toml:1:7");
    EXPECT_EQ(refusal(std::string("sms = 1\n[\0", 10)), "my.toml:2: a control character, 0x00");
}

}  // namespace
}  // namespace pipec::fusion::gpu_test
