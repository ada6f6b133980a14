// A directory in which pipec finds a GPU: libcuda.so.1 is fake_cuda.cpp, nvcc a script that compiles for the SIMT
// emulator.
#pragma once

#include "command.h"

namespace pipec::testing {

class EmulatedGpu : public InDirectory {
protected:
    void SetUp() override {
        InDirectory::SetUp();
        setenv("XDG_CACHE_HOME", (std::filesystem::current_path() / "cache").c_str(), 1);
        setenv("FAKE_CUDA_LOG", (std::filesystem::current_path() / "left").c_str(), 1);
        setenv("LD_LIBRARY_PATH", PIPEC_FAKE_CUDA, 1);
        setenv("NVCC", (std::filesystem::current_path() / "nvcc").c_str(), 1);
        unsetenv("CXX");
        write_nvcc();
    }
    void TearDown() override {
        for (const char* name : {"XDG_CACHE_HOME", "FAKE_CUDA_LOG", "LD_LIBRARY_PATH", "NVCC"}) unsetenv(name);
        InDirectory::TearDown();
    }
    static void write_script(const char* name, const std::string& text) {
        write_bytes(name, text);
        std::filesystem::permissions(name, std::filesystem::perms::owner_all);
    }
    /// An nvcc that notes each call, does `before` to the source "$1", and looks at nothing but the names of the files.
    static void write_nvcc(const std::string& before = "") {
        write_script("nvcc", R"(#!/bin/sh
echo "$*" >>calls
case "$*" in
    *--list-gpu-code*) echo sm_75; echo sm_90; exit;;
    *--version*) echo nvcc of the emulator; exit;;
esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && object=$2; shift; done
)" + before + "\n" SIMT_COMPILE R"( "$1" -o "$object.o" && )" SIMT_LINK R"( "$object.o" -o "$object"
)");
    }
    /// How often nvcc compiled since the last time, with a word in its arguments.
    static int compilations() {
        const std::string calls = read_bytes("calls");
        std::filesystem::remove("calls");
        int count = 0;
        for (std::size_t at = calls.find(" -o "); at != std::string::npos; at = calls.find(" -o ", at + 1)) ++count;
        return count;
    }
};

}  // namespace pipec::testing
