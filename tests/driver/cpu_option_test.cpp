// What `--cpu native` makes of what Linux says about a processor.
#include "driver/cpu_option.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace pipec::driver {
namespace {

class Caches : public testing::Test {
protected:
    Caches() {
        std::string pattern = (std::filesystem::temp_directory_path() / "pipec-caches-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
    }
    ~Caches() override { std::filesystem::remove_all(directory_); }
    void add(const std::string& name, const std::string& level, const std::string& size, const std::string& shared) {
        std::filesystem::create_directory(directory_ / name);
        std::ofstream(directory_ / name / "level") << level << "\n";
        std::ofstream(directory_ / name / "size") << size << "\n";
        std::ofstream(directory_ / name / "shared_cpu_list") << shared << "\n";
    }
    std::filesystem::path directory_;
};

constexpr const char* kZen = "processor\t: 0\nmodel name\t: A B 7\nflags\t\t: sse4_2 avx2 bmi1 bmi2 f16c fma abm movbe";

TEST_F(Caches, OfACoreAndItsPart) {
    add("index0", "1", "32K", "0");
    add("index2", "2", "1024K", "0");
    add("index3", "3", "32M", "0-3,8-11");
    add("index4", "4", "junk", "x");
    const fusion::Cpu cpu = cpu_of_linux(kZen, directory_.string());
    EXPECT_EQ(cpu.name, "A B 7");
    EXPECT_EQ(cpu.vector_bytes, 32);
    EXPECT_EQ(cpu.core_cache, 768 * 1024);
    EXPECT_EQ(cpu.last_cache, 4 * 1024 * 1024);
}

TEST_F(Caches, InstructionsDecideAndTheRestStays) {
    const std::string none = (directory_ / "none").string();
    EXPECT_EQ(cpu_of_linux("", none).name, "x86-64-v2");
    EXPECT_EQ(cpu_of_linux("flags : avx2", none).vector_bytes, 16);
    const fusion::Cpu v4 = cpu_of_linux(std::string(kZen) + " avx512f avx512bw avx512cd avx512dq avx512vl\n", none);
    EXPECT_EQ(v4.vector_bytes, 64);
    EXPECT_EQ(v4.core_cache, fusion::known_cpu("x86-64-v4")->core_cache);
}

}  // namespace
}  // namespace pipec::driver
