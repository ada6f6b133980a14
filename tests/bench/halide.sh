#!/usr/bin/env bash
# halide.sh PIPEC COMPARE: Halide's programs compute on a CPU what pipec's do. Exit code 77: Halide is not installed.
set -euo pipefail
pipec=$(realpath "$1") compare=$(realpath "$2")
bench=$(cd "$(dirname "$0")/../../bench" && pwd)
[ -e /usr/include/halide14/Halide.h ] || { echo "skipped: there is no Halide"; exit 77; }
benchmarks=(harris)
[ "${PIPEC_TEST_HALIDE:-}" != all ] || benchmarks=()
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$bench/build.sh" --target host --compare "$compare" --pipec "$pipec" --out "$directory/built" "${benchmarks[@]}"
for size in odd mid; do
    "$bench/run.sh" --built "$directory/built" --out "$directory/out" --size $size --launches 0 --no-torch "${benchmarks[@]}"
    grep -q '"halide-manual", "agrees": true' "$directory/out/results.jsonl"
done
