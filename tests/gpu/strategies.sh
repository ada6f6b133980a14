#!/usr/bin/env bash
# Checks every example under every strategy on a GPU; prints a line for each, and what is wrong on standard error.
#
#     strategies.sh generate DIR [--pipec PATH]   writes the code, anywhere
#     strategies.sh compile DIR [example...]      where nvcc is; ARCH=sm_90 where there is no GPU
#     strategies.sh check DIR [example...]        compiles what is not, and runs it: results equal the host's at odd sizes,
#                                                 under compute-sanitizer's four tools too, and at the paper's sizes equal
#                                                 what is computed stage by stage
#
# TOOLS="memcheck racecheck" names fewer tools, JOBS=4 fewer compilers at once. Exit code 1: something failed; 2: the command line; 77: there is no GPU
# or no nvcc.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
usage() { sed -n '4,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
what=$1 folder=$2
shift 2

# Name, then flags of pipec.
strategies=(
    "stage --cost-model none"
    "default"
    "otptb --strategy otptb --block 32x8x1 --tile 4x2x1 --vector 4"
    "otpw --strategy otpw --block 32x4x1 --tile 4x4x1 --vector 4"
    "hybrid --strategy hybrid --block 32x4x1 --tile 2x2x1 --frac-reg 0.5"
    "hybrid-0.3 --strategy hybrid --block 32x4x1 --tile 3x2x1 --frac-reg 0.3"
    "hybrid-y --strategy hybrid --block 32x4x1 --tile 1x4x1 --frac-reg 1 --split y"
    "register_tile --strategy register_tile --block 32x4x1 --tile 4x4x1"
    "stream --strategy stream --block 128x4x1 --tile 2x16x1"
    "register_tile-prefetch --strategy register_tile --block 32x4x1 --tile 4x8x1 --prefetch 8"
)

generate() {
    local pipec=$root/build/release/pipec line name flags file x
    [ "${1:-}" != --pipec ] || pipec=$2
    rm -f "$folder"/*/*.so "$folder"/{check_device,sweep}
    for line in "${strategies[@]}"; do
        read -r name flags <<<"$line"
        mkdir -p "$folder/$name"
        for file in "$root"/examples/*.pipe; do
            x=$(basename "$file" .pipe)
            # shellcheck disable=SC2086
            "$pipec" --target cuda $flags "$file" -o "$folder/$name/$x.cu" || exit 1
            [ "$name" != stage ] || "$pipec" --target host "$file" -o "$folder/$name/$x.cpp" || exit 1
        done
    done
}

failed=0
fail() { echo "FAIL $*" >&2; failed=1; }
at_most() { while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done; }

examples=()
examples_in_folder() { # NAME..., or all
    examples=("$@")
    [ $# -gt 0 ] || mapfile -t examples < <(cd stage && ls ./*.cpp | sed 's,^./,,; s,.cpp$,,')
}

compile() {
    cd "$folder" || exit 2
    PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
    command -v nvcc >/dev/null || { echo "skipped: there is no nvcc"; exit 77; }
    local parts=("$root"/tests/gpu/{call,cases,image,device_cuda}.cpp) jobs=${JOBS:-$(nproc)} x name
    local options=(-O2 "-arch=${ARCH:-native}" -cudart shared)
    [ -e check_device ] ||
        nvcc -std=c++20 "${options[@]}" -I"$root/src" "$here/check.cpp" "${parts[@]}" -o check_device -ldl || exit 2
    [ -e sweep ] ||
        nvcc -std=c++20 "${options[@]}" -I"$root/src" -I"$here" "$root/bench/tiling/sweep.cpp" "${parts[@]}" -o sweep \
            -ldl || exit 2
    examples_in_folder "$@"
    for x in "${examples[@]}"; do
        at_most "$jobs"
        [ -e "stage/$x.host.so" ] ||
            g++ -std=c++17 -O2 -fopenmp -ffp-contract=off -fPIC -shared "stage/$x.cpp" -o "stage/$x.host.so" &
        for name in */; do
            [ ! -e "$name$x.so" ] || continue
            at_most "$jobs"
            nvcc -std=c++17 "${options[@]}" -fmad=false -Xcompiler -fPIC -shared "$name$x.cu" -o "$name$x.so" \
                >"$name$x.build" 2>&1 &
        done
    done
    wait
}

check() {
    compile "$@"
    ./check_device --describe >/dev/null || { echo "skipped: there is no GPU"; exit 77; }
    local name x tool size
    for x in "${examples[@]}"; do
        for name in */; do
            name=${name%/}
            [ -e "$name/$x.so" ] || { fail "$name $x cannot be built"; head -3 "$name/$x.build" >&2; continue; }
            for size in prime tiny past128; do
                at_most 6
                { ./check_device --size $size "$here/cases.txt" "$x" "./stage/$x.host.so" "./$name/$x.so" \
                    >"$name/$x.$size.result" 2>"$name/$x.$size.log" || touch "$name/$x.$size.failed"; } &
            done
            for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
                at_most 8
                { timeout 150 compute-sanitizer --tool $tool --error-exitcode 9 ./check_device --size prime --fresh-workspace \
                    "$here/cases.txt" "$x" "./stage/$x.host.so" "./$name/$x.so" >"$name/$x.$tool.log" 2>&1 ||
                    touch "$name/$x.$tool.failed"; } &
            done
        done
    done
    wait
    for file in */*.failed; do
        [ -e "$file" ] || continue
        fail "${file%.failed}"
        tail -n 3 "${file%.failed}.log" >&2
    done
    for x in "${examples[@]}"; do ./sweep "$here/cases.txt" "$x" paper "stage/$x.so" ./*/"$x".so; done
}

case $what in
generate) generate "$@" ;;
compile) compile "$@" ;;
check) check "$@" ;;
*) usage ;;
esac
exit $failed
