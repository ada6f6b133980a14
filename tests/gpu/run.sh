#!/usr/bin/env bash
# Compares and measures the examples on a GPU; prints a Markdown table. docs/results/README.md says what the columns mean.
#
#     run.sh [--pipec PATH | --generated DIR] [--out DIR] [--arch native] [--tools none|all] [--size all|odd]
#            [--sanitizer-size odd] [example...]
#
# --pipec generates the code; --generated takes x.cu, x.cpp and x.h from a folder, so that no pipec is needed.
# Exit code 1: something failed; 2: the command line; 77: there is no GPU or no nvcc.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_directory=$(cd "$here/../.." && pwd)
pipec=$source_directory/build/release/pipec generated='' out=$source_directory/build/gpu arch=native tools=all
size=all sanitizer_size=odd examples=()
usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --pipec | --generated | --out | --arch | --tools | --size | --sanitizer-size)
        [ $# -ge 2 ] || { echo "run.sh: error: $1 needs a value" >&2; exit 2; }
        option=${1#--}; printf -v "${option//-/_}" %s "$2"; shift 2 ;;
    -*) echo "run.sh: error: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) examples+=("$1"); shift ;;
    esac
done
case $tools in none) tool_names=() ;; all) tool_names=(memcheck racecheck initcheck synccheck) ;;
*) echo "run.sh: error: --tools is none or all" >&2; exit 2 ;; esac

PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
command -v nvcc >/dev/null || { echo "skipped: there is no nvcc"; exit 77; }
pipec=$(realpath -m "$pipec") # seen from the output's folder
[ -z "$generated" ] || generated=$(realpath "$generated") || exit 2
mkdir -p "$out" && cd "$out" || exit 2
nvcc -std=c++20 -O2 -I"$source_directory/src" "$here"/{check,call,cases,image,device_cuda}.cpp -o check -ldl || exit 2
gpu=$(./check --describe) || { echo "skipped: there is no GPU"; exit 77; }
[ ${#tool_names[@]} -eq 0 ] || command -v compute-sanitizer >/dev/null ||
    { echo "run.sh: error: there is no compute-sanitizer (--tools none does without)" >&2; exit 2; }
cases=$here/cases.txt
./check --list "$cases" >list || exit 2
if [ ${#examples[@]} -eq 0 ]; then mapfile -t examples < <(cut -d' ' -f1 list | uniq); fi

failed=0
fail() { echo "FAIL $*" >&2; failed=1; }
at_most() { while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done; } # processes in the background

# Three objects of each example: the host's, one that must equal it bit by bit, and one that is measured.
build() {
    local x=$1 shared=(-std=c++17 -O3 -arch="$arch" -Werror all-warnings -Xcompiler -fPIC -shared)
    if [ -n "$generated" ]; then
        cp "$generated/$x".{cu,cpp,h} .
    else
        "$pipec" --target cuda --gpu native "$source_directory/examples/$x.pipe" -o "$x.cu" &&
            "$pipec" --target host "$source_directory/examples/$x.pipe" -o "$x.cpp"
    fi &&
        g++ -std=c++17 -O3 -march=native -fopenmp -ffp-contract=off -fPIC -shared "$x.cpp" -o "$x.host.so" &&
        nvcc "${shared[@]}" -lineinfo -fmad=false "$x.cu" -o "$x.exact.so" &&
        nvcc "${shared[@]}" -Xptxas -v "$x.cu" -o "$x.fast.so" >"$x.ptxas" 2>&1
}
for x in "${examples[@]}"; do
    rm -f "$x".*.so "$x".*.result
    at_most "$(nproc)"
    build "$x" >"$x.build" 2>&1 &
done
wait
for x in "${examples[@]}"; do
    [ -e "$x.fast.so" ] || { cat "$x.build"; cat "$x.ptxas"; fail "$x cannot be built"; } >&2
done

# One after the other, so that they can be measured.
selected() { # EXAMPLE SIZES: the sizes of its cases
    awk -v x="$1" -v sizes="$2" '$1 == x && (sizes == "all" || sizes == $2 || (sizes == "odd" && $2 != "paper")) { print $2 }' list
}
for x in "${examples[@]}"; do
    [ -e "$x.fast.so" ] || continue
    [ -n "$(selected "$x" "$size")" ] || fail "$x has no case"
    for s in $(selected "$x" "$size"); do
        ./check --size "$s" --time "./$x.fast.so" "$cases" "$x" "./$x.host.so" "./$x.exact.so" >"$x.$s.result" ||
            fail "$x $s"
    done
done

# The tools slow everything down anyway, so several run at once.
for x in "${examples[@]}"; do
    [ -e "$x.fast.so" ] || continue
    for s in $(selected "$x" "$sanitizer_size"); do
        for tool in "${tool_names[@]}"; do
            at_most 6
            rm -f "$x.$s.$tool"
            { compute-sanitizer --tool "$tool" --error-exitcode 9 ./check --size "$s" --fresh-workspace "$cases" "$x" \
                "./$x.host.so" "./$x.exact.so" >"$x.$s.$tool.log" 2>&1 && echo ok || echo FAIL; } >"$x.$s.$tool" &
        done
    done
done
wait

value() { sed -n "s/.* $2=\([^ ]*\).*/\1/p" "$1"; }
echo "$gpu; driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1);" \
    "$(nvcc --version | sed -n 's/.*release \([^,]*\),.*/nvcc \1/p'); $(date -u +%Y-%m-%d)"
echo
echo "| example | size | kernels | registers | spilled | layouts | difference | time us | graph us | copy us | ratio | memcheck | racecheck | initcheck | synccheck |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for x in "${examples[@]}"; do
    [ -e "$x.fast.so" ] || { echo "| $x | FAIL: not built |"; continue; }
    read -r _ registers spilled _ < <(python3 "$here/ptxas.py" --summary "$x.ptxas")
    for s in $(selected "$x" "$size"); do
        result=$x.$s.result row="| $x | $s | $(value "$result" kernels) | $registers | $spilled"
        grep -q ' ok$' "$result" || row+=" | FAIL:"
        grep -q ' ok$' "$result" && row+=" |"
        for key in layouts difference time graph floor ratio; do
            [ $key = layouts ] && row+=" $(value "$result" $key)" || row+=" | $(value "$result" $key)"
        done
        for tool in memcheck racecheck initcheck synccheck; do
            word=$(cat "$x.$s.$tool" 2>/dev/null || echo -)
            [ "$word" != FAIL ] || { tail -n 30 "$x.$s.$tool.log" >&2; fail "$x $s $tool"; }
            row+=" | $word"
        done
        echo "$row |"
    done
done
exit $failed
