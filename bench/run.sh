#!/usr/bin/env bash
# Runs what bench/build.sh built, and torch where there is one, and writes results.jsonl, results.md and results.svg.
#
#     run.sh [--built DIR] [--out DIR] [--size paper] [--no-torch] [--launches 100] [--samples 3]
#            [--cache 64] [--cold] [benchmark...]
#
# Images of more than --cache MiB together take turns with copies of themselves, with --cold all images do.
# Needs a GPU and its driver, python3 for the table, and nothing of Halide or pipec. Exit code 1: results differ or
# something failed; 2: the command line; 77: there is no GPU.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
built=$(dirname "$here")/build/bench-cuda out='' size=paper torch=yes launches=100 samples=3 options=() benchmarks=()
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --no-torch) torch=no; shift ;;
    --cold) options+=(--cold); shift ;;
    --cache) [ $# -ge 2 ] || { echo "run.sh: error: $1 needs a value" >&2; exit 2; }; options+=(--cache "$2"); shift 2 ;;
    --built | --out | --size | --launches | --samples)
        [ $# -ge 2 ] || { echo "run.sh: error: $1 needs a value" >&2; exit 2; }
        printf -v "${1#--}" %s "$2"; shift 2 ;;
    -*) echo "run.sh: error: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) benchmarks+=("$1"); shift ;;
    esac
done
[ -x "$built/compare" ] || { echo "run.sh: error: nothing was built in $built (bench/build.sh)" >&2; exit 2; }
out=${out:-$built/results}
mkdir -p "$out" || exit 2
device=$("$built/compare" --describe) || { echo "skipped: there is no GPU"; exit 77; }
results=$out/results.jsonl
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
[ ${#benchmarks[@]} -gt 0 ] || mapfile -t benchmarks < <(cd "$built/pipec" && printf '%s\n' *.so | xargs -n1 basename -s .so)

echo "{\"device\": \"$device\", \"date\": \"$(date -u +%Y-%m-%d)\", \"size\": \"$size\"}" >"$results"
failed=0
for b in "${benchmarks[@]}"; do
    systems=() # pipec's first: a kernel that goes wrong leaves the process without a device
    for library in "$built"/{pipec,pipec-*,[!p]*}/"$b.so"; do
        [ ! -e "$library" ] || systems+=("$(basename "$(dirname "$library")")")
    done
    echo "$b: ${systems[*]}" >&2
    "$built/compare" --size "$size" --launches "$launches" --samples "$samples" --raw "$raw" "${options[@]}" "$here/cases.txt" \
        "$b" "$built" "${systems[@]}" >>"$results" || failed=1
    if [ $torch = yes ]; then
        python3 "$here/torch/run.py" "$raw" "${options[@]}" >>"$results"
        case $? in 0) ;; 77) torch=no ;; *) failed=1 ;; esac
    fi
    rm -f "$raw"/*
done
python3 "$here/report.py" "$results" --markdown "$out/results.md" --plot "$out/results.svg" && cat "$out/results.md" || failed=1
exit $failed
