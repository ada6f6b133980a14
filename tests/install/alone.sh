#!/usr/bin/env bash
# Every file compiles by itself: alone.sh SOURCE_DIRECTORY
# The presets compile several files as one, where a file may use what another one includes; packages, static programs and
# projects that take the sources do not.
set -euo pipefail
source=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
command -v ninja >/dev/null || { echo "SKIPPED: there is no ninja"; exit 77; }

cmake -S "$source" -B "$directory" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DPIPEC_IMAGES=OFF \
      -DPIPEC_BUILD_TESTS=OFF -DPIPEC_BUILD_EXAMPLES=OFF -Wno-dev >"$directory/log" || { cat "$directory/log"; exit 1; }
ninja -C "$directory" -k 0 pipec pipec-run >"$directory/log" || { grep -E 'error|FAILED' "$directory/log"; exit 1; }
"$directory/pipec" --version
