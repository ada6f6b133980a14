#!/usr/bin/env bash
# The same program and options give the same bytes, whatever the addresses of what the compiler allocates: each is compiled
# with memory that is reused as soon as possible, and once more in another of the ways that scrambled_malloc.c knows, or
# with glibc's own malloc (other fillings, no randomisation).
#     same_bytes.sh PIPEC SCRAMBLED_MALLOC.so SOURCE_DIR strategies|examples|messages
set -uo pipefail
pipec=$1 shim=$2 source=$3 subject=$4
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$source" || exit 2
checks=0 failures=0
ways=(down 7 plain up 11)

# compile WAY RESULT ARGS...: everything that a person sees goes into RESULT, the exit code into `code` too
compile() {
    local way=$1 result=$2
    shift 2
    if [ "$way" = plain ]; then
        MALLOC_PERTURB_=165 setarch -R "$pipec" "$@"
    else
        SCRAMBLE=$way LD_PRELOAD=$shim "$pipec" "$@"
    fi > "$directory/$result" 2>&1
    code=$?
    echo "exit code $code" >> "$directory/$result"
}
# same ARGS...
same() {
    local way=${ways[checks % ${#ways[@]}]}
    checks=$((checks + 1))
    compile last first "$@"
    local first=$code
    compile "$way" second "$@"
    if ((first == 4 || first >= 100)); then
        failures=$((failures + 1))
        echo "FAILED: pipec $*"
        tail -3 "$directory/first"
    fi
    cmp -s "$directory/first" "$directory/second" && return
    failures=$((failures + 1))
    echo "FAILED: pipec $*: last and $way differ"
    diff "$directory/first" "$directory/second" | head -6
}

case $subject in
strategies)
    for program in tests/same_bytes/programs/*.pipe tests/codegen/programs/blur.pipe; do
        for strategy in stage otptb otpw hybrid register_tile stream; do
            same "$program" --strategy "$strategy" -ffast-math -o -
        done
        same "$program" --strategy otptb --cost-model time --emit schedule
        same "$program" --cost-model none --deterministic -o -
        same "$program" --cost-model paper -o -
        same "$program" --cost-model time --gpu t4 -ffast-math -Wperf -o -
        for step in tokens ast pipeline domains kernel host header; do same "$program" --emit "$step"; done
        same explain "$program" --gpu h100
    done
    for program in tests/random/regressions/*.pipe; do
        same "$program" -ffast-math -o -
        [ -e "${program%.pipe}.json" ] && same "$program" --schedule "${program%.pipe}.json" -o -
    done
    ;;
examples)
    for program in examples/*.pipe; do
        for step in host header; do same "$program" --emit "$step"; done
    done
    for program in examples/{unsharp,harris,sketch,detail}.pipe; do
        same "$program" --strategy otpw --cost-model none -ffast-math -o -
    done
    for program in examples/{blur,harris,bilateral_grid}.pipe; do same "$program" -Wperf -o -; done
    ;;
messages)
    for program in tests/diagnostics/*.pipe; do same -fsyntax-only --max-analysis-operations 50000 "$program"; done
    ;;
*) exit 2 ;;
esac
echo "$checks compilations, $failures failures"
[ "$checks" -gt 20 ] && [ "$failures" -eq 0 ]
