#!/usr/bin/env bash
# The three lines of CMake and of Make in README.md, as they stand, with an installation: readme.sh BUILD_DIRECTORY README.md
readme=$(realpath "$2")
source "$(dirname "$0")/lib.sh"

# The first block whose fence is exactly ```KIND.
block() { awk -v fence="\`\`\`$1" '$0 == fence && !done { on = 1; next } /^```/ && on { on = 0; done = 1 } on' "$readme"; }
block pipe >blur.pipe
cat >main.cpp <<'CPP'
#include <cstdio>

#include "blur.h"

int main() {
    blur_args args;
    blur_defaults(&args);
    args.img_extent[0] = args.img_extent[1] = 5;
    if (blur_resolve(&args) != PIPE_OK) return 1;
    std::printf("%d\n", static_cast<int>(args.out_extent[1]));
}
CPP

{
    echo 'cmake_minimum_required(VERSION 3.24)'
    echo 'project(application LANGUAGES CXX)'
    echo 'add_executable(application main.cpp)'
    block cmake
} >CMakeLists.txt
cmake -S . -B build -Dpipec_ROOT="$prefix" >log 2>&1 && cmake --build build >>log 2>&1 || { cat log; fail "the lines of CMake"; }
[ "$(build/application)" = 3 ] || fail "the application of CMake does not run"

{
    printf 'application: main.o blur.o\n\t$(CXX) $^ -fopenmp -o $@\nmain.o: blur.h\n'
    block make
} >Makefile
PATH=$prefix/bin:$PATH make >log 2>&1 || { cat log; fail "the lines of Make"; }
[ "$(./application)" = 3 ] || fail "the application of Make does not run"
grep -q 'blur.pipe' blur.d || fail "blur.d does not name its program"
