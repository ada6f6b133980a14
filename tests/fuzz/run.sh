#!/usr/bin/env bash
# Runs each target of libFuzzer for some seconds: run.sh BUILD_DIR SOURCE_DIR SECONDS [TARGET...]
# What it learns stays in BUILD_DIR/corpus, what it finds in BUILD_DIR/found.
set -uo pipefail
build=$(realpath "$1") source=$(realpath "$2") seconds=$3
shift 3
targets=("$@")
[ $# -gt 0 ] || targets=(parser frontend schedule profile gpu npy pnm)
failures=0
for target in "${targets[@]}"; do
    seeds=("$source/tests/fuzz/corpus/$target")
    options=()
    case $target in
    parser | frontend)
        seeds=("$source"/{tests/fuzz/corpus/programs,stdlib,tests/diagnostics,tests/random/regressions})
        [ "$target" = parser ] && seeds+=("$source/examples")
        options=(-dict="$build/tests/fuzz/pipe.dict")
        ;;
    gpu) seeds+=("$source/gpus") ;;
    esac
    mkdir -p "$build/corpus/$target" "$build/found/$target"
    echo "== $target, $seconds s"
    # libFuzzer keeps the input of what aborts.
    (cd "$build/found/$target" &&
        UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1 "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" \
            -timeout=20 -rss_limit_mb=4096 -detect_leaks=0 -max_len=2048 -print_final_stats=1 -verbosity=1 "${options[@]}" \
            "$build/corpus/$target" "${seeds[@]}" 2>&1 | grep -E "^stat::(number|average)|ERROR|SUMMARY|Test unit written|terminate|what\(\)|runtime error|DONE|INFO: seed") || failures=$((failures + 1))
    if compgen -G "$build/found/$target/*" > /dev/null; then
        echo "FOUND: $build/found/$target"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ]
