#!/usr/bin/env bash
# The scripts of bench/ can be read by their interpreters, know their options, and agree on which benchmarks there are.
set -euo pipefail
bench=$(cd "$(dirname "$0")/../../bench" && pwd)
fail() { echo "$*" >&2; exit 1; }
for script in "$bench"/*.sh "$bench"/paper/*.sh; do
    bash -n "$script"
    "$script" --help | grep -q "$(basename "$script") .*\[" || fail "$script --help"
    status=0 && "$script" --no-such-option 2>/dev/null || status=$?
    [ $status -eq 2 ] || fail "$script: exit code $status for a wrong option"
done
for script in "$bench"/*.py "$bench"/torch/*.py; do
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read())' "$script"
done

generators=$(cd "$bench/halide" && grep -l HALIDE_REGISTER_GENERATOR ./*.cpp | xargs -n1 basename -s .cpp | sort)
functions=$(sed -n 's/^def \([a-z_]*\)(.*/\1/p' "$bench/torch/benchmarks.py" | grep -Fx "$generators" | sort)
[ "$functions" = "$generators" ] || fail "torch has other benchmarks than Halide: $functions"
for size in paper odd mid; do
    cases=$(awk -v size=$size '$2 == size { print $1 }' "$bench/cases.txt" | sort)
    [ "$cases" = "$generators" ] || fail "cases of size $size: $cases"
done
grep -v '^#' "$bench/variants.txt" | while read -r system benchmark parameters; do
    [ -n "$system" ] || continue
    [[ $system == halide-manual-* ]] || fail "variants.txt: $system"
    for parameter in $parameters; do
        grep -q "{\"${parameter%=*}\"" "$bench/halide/$benchmark.cpp" "$bench"/halide/*.h || fail "variants.txt: $benchmark has no $parameter"
    done
done
