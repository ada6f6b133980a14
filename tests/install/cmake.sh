#!/usr/bin/env bash
# find_package(pipec) and pipec_add_library() on the example project: cmake.sh BUILD_DIRECTORY
source "$(dirname "$0")/lib.sh"

cp -r "$prefix/share/pipec/examples/cmake_project" project
# configure DIRECTORY FLAGS...
configure() { cmake -S project -B "$1" -Dpipec_ROOT="$prefix" -DCMAKE_BUILD_TYPE=Debug "${@:2}" >log 2>&1 || { cat log; fail "configuring $1"; }; }
build() { cmake --build "$1" >log 2>&1 || { cat log; fail "building $1"; }; }
results() { ./"$1"/application | tr '\n' ' '; }
# Time stamps of file systems and make are as coarse as a second.
touched() { touch -d '2 seconds' "$1"; }

generators=("Unix Makefiles")
if command -v ninja >/dev/null; then generators+=(Ninja); fi
for generator in "${generators[@]}"; do
    rm -rf host
    configure host -G "$generator" -DTARGET=host
    build host
    [ "$(results host)" = "0.250 0 0.250 0 0.083 0 0.917 255 0.750 255 0.750 255 " ] || fail "$generator: $(results host)"
    build host
    grep -q "Compiling the pipelines" log && fail "$generator: what is done is done again"

    # An import changes: its importer is compiled again, and only that.
    sed -i 's|(a + b + c) / 3|b|' project/lib/average.pipe
    touched project/lib/average.pipe
    build host
    grep -q "pipelines of sharpen.pipe" log || fail "$generator: a changed import is not noticed"
    grep -q "pipelines of threshold.pipe" log && fail "$generator: too much is compiled"
    [ "$(results host)" = "0.250 0 0.250 0 0.250 0 0.750 255 0.750 255 0.750 255 " ] || fail "$generator: $(results host)"
    sed -i 's|= b$|= (a + b + c) / 3|' project/lib/average.pipe

    # A program with errors stops the build.
    echo oops >>project/threshold.pipe; touched project/threshold.pipe
    cmake --build host >log 2>&1 && fail "$generator: an error is no error"
    grep -q "threshold.pipe" log || fail "$generator: the message is lost"
    sed -i '/^oops$/d' project/threshold.pipe
done

# Programs of one name in two folders, of one library and of two: their headers have the folders' names, too.
mkdir -p same/a same/b
printf 'pipeline up(img: int32[N]) -> out: int32[N] { out(x) = img(x) + 1 }\n' >same/a/step.pipe
printf 'pipeline down(img: int32[N]) -> out: int32[N] { out(x) = img(x) - 1 }\n' >same/b/step.pipe
printf 'pipeline twice(img: int32[N]) -> out: int32[N] { out(x) = img(x) * 2 }\n' >same/b/other.pipe
cat >same/main.cpp <<'CPP'
#include "a/step.h"
#include "b/step.h"
#include "other.h"
int main() { return up_info() == nullptr || down_info() == nullptr || twice_info() == nullptr; }
CPP
cat >same/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.24)
project(same LANGUAGES CXX)
find_package(pipec REQUIRED)
pipec_add_library(together a/step.pipe b/step.pipe b/other.pipe TARGET host)
pipec_add_library(first a/step.pipe TARGET host)
pipec_add_library(second ${CMAKE_CURRENT_SOURCE_DIR}/b/step.pipe b/other.pipe TARGET host)
add_executable(one main.cpp)
target_link_libraries(one PRIVATE together)
add_executable(two main.cpp)
target_link_libraries(two PRIVATE first second)
CMAKE
cmake -S same -B same/build -Dpipec_ROOT="$prefix" >log 2>&1 && cmake --build same/build >>log 2>&1 || { cat log; fail "one name in two folders"; }
same/build/one && same/build/two || fail "the programs of one name in two folders do not run"
mkdir -p elsewhere/c elsewhere/d && cp same/a/step.pipe elsewhere/c && cp same/b/step.pipe elsewhere/d
sed -i 's|together a/step.pipe b/step.pipe|together ../elsewhere/c/step.pipe ../elsewhere/d/step.pipe|' same/CMakeLists.txt
cmake -S same -B same/wrong -Dpipec_ROOT="$prefix" >log 2>&1 && fail "two programs with one header are accepted"
grep -q 'two programs have the header step.h' log || { cat log; fail "two programs with one header are not explained"; }

# The function's own errors.
sed -i 's/TARGET \${TARGET}/TARGET z80/' project/CMakeLists.txt
cmake -S project -B wrong -Dpipec_ROOT="$prefix" >log 2>&1 && fail "a wrong target is accepted"
grep -q 'TARGET is cuda or host' log || fail "a wrong target is not explained"
sed -i 's/TARGET z80/TARGET ${TARGET}/' project/CMakeLists.txt

if home=$(cuda_home); then
    export NVCC=$home/bin/nvcc
    configure cuda -DTARGET=cuda -DARCH=sm_80 -DCUDAToolkit_ROOT="$home"
    build cuda
    sed -i 's/LANGUAGES CXX/LANGUAGES CXX CUDA/' project/CMakeLists.txt
    configure language -DTARGET=cuda -DARCH="sm_80;sm_90" -DCMAKE_CUDA_COMPILER="$NVCC"
    build language
    for tree in cuda language; do
        grep -q libcudart <<<"$(ldd $tree/application)" || fail "$tree: the application does not link cudart"
        grep -q sharpen_launch <<<"$(nm $tree/application)" || fail "$tree: the application has no pipeline"
    done
fi
