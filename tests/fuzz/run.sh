#!/usr/bin/env bash
# Runs each target of libFuzzer for some seconds: run.sh BUILD_DIR SOURCE_DIR SECONDS [TARGET...]
# What it learns stays in BUILD_DIR/corpus, what it finds in BUILD_DIR/found.
set -uo pipefail
build=$(realpath "$1") source=$(realpath "$2") seconds=$3
shift 3
targets=("$@")
[ $# -gt 0 ] || targets=(parser frontend schedule profile gpu npy pnm)
shown="^stat::(number|average)|ERROR|SUMMARY|Test unit written|terminate|what\(\)|runtime error|DONE|INFO: seed"
failures=0
for target in "${targets[@]}"; do
    seeds=("$source/tests/fuzz/corpus/$target")
    options=()
    lengths=(2048)
    case $target in
    parser | frontend)
        seeds=("$source"/{tests/fuzz/corpus/programs,stdlib,tests/diagnostics,tests/random/regressions})
        [ "$target" = parser ] && seeds+=("$source/examples")
        options=(-dict="$build/tests/fuzz/pipe.dict")
        lengths=(256 2048) # half of the time for short programs, which run more than twice as fast
        ;;
    gpu) seeds+=("$source/gpus") ;;
    esac
    mkdir -p "$build/corpus/$target" "$build/found/$target"
    for length in "${lengths[@]}"; do
        echo "== $target, up to $length bytes, $((seconds / ${#lengths[@]})) s"
        # Entropic scheduling took half of the time, long quarantines and stacks of allocations a part of the rest.
        # libFuzzer keeps the input of what aborts.
        (cd "$build/found/$target" &&
            ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=8 UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1 \
                "$build/tests/fuzz/fuzz_$target" -max_total_time=$((seconds / ${#lengths[@]})) -max_len="$length" -entropic=0 \
                -timeout=20 -rss_limit_mb=4096 -detect_leaks=0 -print_final_stats=1 -verbosity=1 "${options[@]}" \
                "$build/corpus/$target" "${seeds[@]}" 2>&1 | grep -E "$shown") || failures=$((failures + 1))
    done
    if compgen -G "$build/found/$target/*" > /dev/null; then
        echo "FOUND: $build/found/$target"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ]
