#!/usr/bin/env bash
# A project that takes the sources with add_subdirectory() or FetchContent: subproject.sh SOURCE_DIRECTORY
# What would be built is looked at, and not built: that would be the whole compiler.
set -euo pipefail
source=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
command -v ninja >/dev/null || { echo "SKIPPED: there is no ninja"; exit 77; }

printf 'pipeline blur(img: float32[C + 1]) -> out: float32[C] { out(x) = img(x) + img(x + 1) }\n' >blur.pipe
printf '#include "blur.h"\nint main() { return blur_info() == nullptr; }\n' >main.cpp
project() { # LINES: what brings pipec
    printf 'cmake_minimum_required(VERSION 3.24)\nproject(application LANGUAGES C CXX)\n%s\n' "$1" >CMakeLists.txt
    cat >>CMakeLists.txt <<'CMAKE'
pipec_add_library(pipelines blur.pipe TARGET host)
add_executable(application main.cpp)
target_link_libraries(application PRIVATE pipelines)
install(TARGETS application)
if(CMAKE_BUILD_TYPE OR CMAKE_CXX_STANDARD)
  message(FATAL_ERROR "pipec changes the project's settings")
endif()
CMAKE
    rm -rf build
    cmake -S . -B build -G Ninja >log 2>&1 || { cat log; fail "configuring"; }
    ninja -C build -t commands application >log
    grep -qE 'pipec --target host .*blur.pipe' log || fail "the pipelines are not compiled"
    grep -qE -- '-o .*pipec ' log || fail "the compiler is not built first"
    ninja -C build -t targets all >targets
    if grep -qE 'gtest|_test:|example_|compile_bench|pipec-config-version' targets; then fail "the project gets tests or examples"; fi
    if find build -name cmake_install.cmake -exec grep -l 'share/.*pipec\|bin/pipec' {} + | grep .; then
        fail "the project installs pipec"
    fi
}
project "add_subdirectory($source pipec EXCLUDE_FROM_ALL)"
project "include(FetchContent)
FetchContent_Declare(pipec SOURCE_DIR $source)
FetchContent_MakeAvailable(pipec)"
