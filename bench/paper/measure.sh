#!/usr/bin/env bash
# Measures what generate.py wrote: docs/evaluation.md has the method, bench/README.md the experiments.
#
#     measure.sh DIR [--compile] [--compare PATH] [--jobs N] [--limit SECONDS] [--out DIR] [EXPERIMENT...]
#
# Compiles what is not compiled yet (for ARCH=sm_90 where there is no GPU) and writes EXPERIMENT.jsonl to --out, or else
# to DIR, line by line. --compile: compiles only. Of the experiment `counters` it writes what Nsight Compute counts, of the
# others times. --compare is the program of bench/compare, otherwise it is compiled as DIR/compare. --limit (300): what
# one nvcc may take; what it does not compile by then is said, and left out. Exit code 1: results differ or something
# failed; 2: the command line; 77: there is no GPU or no nvcc.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
directory='' out='' compare='' jobs=$(nproc) limit=300 only_compile=no experiments=()
usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --compile) only_compile=yes; shift ;;
    --compare | --jobs | --limit | --out)
        [ $# -ge 2 ] || { echo "measure.sh: error: $1 needs a value" >&2; exit 2; }
        printf -v "${1#--}" %s "$2"; shift 2 ;;
    -*) echo "measure.sh: error: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) if [ -z "$directory" ]; then directory=$1; else experiments+=("$1"); fi; shift ;;
    esac
done
[ -e "$directory/jobs.txt" ] || { echo "measure.sh: error: generate.py wrote nothing to \`$directory\`" >&2; exit 2; }
[ -z "$compare" ] || compare=$(realpath "$compare")
out=${out:-$directory}
mkdir -p "$out" && out=$(realpath "$out") || exit 2
cd "$directory" || exit 2
cuda=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$cuda/bin
export LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ ${#experiments[@]} -gt 0 ] || mapfile -t experiments < <(cut -f1 jobs.txt | sort -u)
for e in "${experiments[@]}"; do
    cut -f1 jobs.txt | grep -qx "$e" || { echo "measure.sh: error: there is no experiment \`$e\`" >&2; exit 2; }
done
jobs_of() { grep -P "^$1\t" jobs.txt; }
mapfile -t folders < <(for e in "${experiments[@]}"; do jobs_of "$e"; done | cut -f2 | sort -u)

compile_all() {
    local options=("-arch=${ARCH:-native}" -cudart shared) sources=() source
    if [ -z "$compare" ] && [ ! -e compare ]; then
        nvcc -std=c++20 -O2 "${options[@]}" -I"$root/src" -I"$root/tests/gpu" "$root"/bench/compare/{compare,measure}.cpp \
            "$root"/bench/compare/{program,no_halide}.cpp "$root"/tests/gpu/{call,cases,image,device_cuda}.cpp \
            -o compare -ldl || exit 2
    fi
    # The longest take the longest.
    mapfile -t sources < <(find "${folders[@]}" -name '*.cu' -printf '%s %p\n' | sort -rn | cut -d' ' -f2)
    for source in "${sources[@]}"; do
        [ ! -e "${source%.cu}.so" ] || continue
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        timeout "$limit" nvcc -std=c++17 -O3 "${options[@]}" -Xcompiler -fPIC -shared "$source" -o "${source%.cu}.so" \
            >"${source%.cu}.build" 2>&1 ||
            echo "measure.sh: $source is not compiled: $(grep -m1 error "${source%.cu}.build")" >&2 &
    done
    wait
}
missing() { [ -n "$(find "${folders[@]}" -name '*.cu' | while read -r s; do [ -e "${s%.cu}.so" ] || echo "$s"; done)" ]; }
if missing || { [ -z "$compare" ] && [ ! -e compare ]; }; then
    command -v nvcc >/dev/null || { echo "skipped: there is no nvcc"; exit 77; }
    compile_all
fi
[ $only_compile = no ] || exit 0
: "${compare:=$PWD/compare}"
device=$("$compare" --describe) || { echo "skipped: there is no GPU"; exit 77; }
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)
compiler=$(nvcc --version 2>/dev/null | sed -n 's/^.*release \([0-9.]*\).*/\1/p')
header() { # EXPERIMENT
    echo "{\"experiment\": \"$1\", \"device\": \"$device\", \"driver\": \"$driver\", \"nvcc\": \"$compiler\"," \
        "\"date\": \"$(date -u +%Y-%m-%d)\"}"
}

# What follows reads the variables of a job.
counters() {
    local s
    for s in $systems; do
        [ -e "$folder/$s/$benchmark.so" ] || continue
        timeout "$limit" ncu --csv --metrics "$metrics" "$compare" --unchecked --launches 0 --size "$size" cases.txt \
            "$benchmark" "$folder" "$s" 2>&1 | tee "$folder/$s/$benchmark.ncu" |
            python3 "$here/counters.py" "$folder" "$benchmark" "$s" || return 1
    done
}
times() {
    local options=(--size "$size" --launches "$launches")
    [ "$checked" = yes ] || options+=(--unchecked)
    # shellcheck disable=SC2086 # systems are words
    "$compare" "${options[@]}" cases.txt "$benchmark" "$folder" $systems | sed "s,^{,{\"folder\": \"$folder\"\, ,"
}

failed=0
metrics=$(python3 "$here/counters.py" --metrics)
for e in "${experiments[@]}"; do
    what=times
    [ "$e" != counters ] || what=counters
    header "$e" >"$out/$e.jsonl"
    while IFS=$'\t' read -r _ folder benchmark size launches checked systems; do
        $what >>"$out/$e.jsonl" || failed=1
        echo "$e: $folder $benchmark $size, after $SECONDS s" >&2
    done < <(jobs_of "$e")
done
exit $failed
