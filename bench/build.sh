#!/usr/bin/env bash
# Builds all that bench/run.sh runs: the benchmarks by pipec and by Halide, and the program that compares them.
#
#     build.sh [--target cuda|host|opencl] [--out DIR] [--pipec PATH] [--gpu h200] [--arch "80 90"]
#              [--march native] [--autoschedule] [--threads 1] [--no-variants] [--without-halide]
#              [--compare PATH] [benchmark...]
#
# cuda needs nvcc and no GPU; --gpu is what pipec's cost models count for, --arch what nvcc compiles for. host
# compiles everything for the CPU, and opencl Halide's GPU schedules for a device of OpenCL (a CPU with pocl): both
# are for comparing results. For host, --march is the processor of pipec's code (Halide compiles for this machine);
# --autoschedule adds Halide's Adams2019 and Mullapudi2016, and --threads is what they count on. Halide is left out
# where it is not installed; bench/dependencies.txt says what it needs. --without-halide leaves what was built of it
# as it is. --compare takes the program that compares from there. Exit code 1: something could not be built; 2: the
# command line.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
target=cuda out='' pipec=$root/build/release/pipec gpu=h200 arch='80 90' compare='' variants=yes with_halide=yes
march=native threads=1 autoschedule=no benchmarks=()
usage() { sed -n '2,14s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --no-variants) variants=no; shift ;;
    --autoschedule) autoschedule=yes; shift ;;
    --without-halide) with_halide=no; shift ;;
    --target | --out | --pipec | --gpu | --arch | --march | --threads | --compare)
        [ $# -ge 2 ] || { echo "build.sh: error: $1 needs a value" >&2; exit 2; }
        printf -v "${1#--}" %s "$2"; shift 2 ;;
    -*) echo "build.sh: error: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) benchmarks+=("$1"); shift ;;
    esac
done
case $target in
cuda) halide_target=x86-64-linux-sse41-avx-avx2-f16c-fma-cuda-cuda_capability_80 ;;
host) halide_target=host ;;
opencl) halide_target=host-opencl ;;
*) echo "build.sh: error: --target is cuda, host or opencl" >&2; exit 2 ;;
esac
[ ${#benchmarks[@]} -gt 0 ] || mapfile -t benchmarks < <(cd "$here/halide" && grep -l HALIDE_REGISTER_GENERATOR ./*.cpp |
    xargs -n1 basename -s .cpp)
out=$(realpath -m "${out:-$root/build/bench-$target}") pipec=$(realpath "$pipec")
work=$out-work # what is in $out is all that a machine with a GPU needs
mkdir -p "$out" "$work"
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
[ "$target" != cuda ] || command -v nvcc >/dev/null || { echo "build.sh: error: there is no nvcc" >&2; exit 1; }
halide=/usr/include/halide14
plugins=/usr/lib/x86_64-linux-gnu/halide14
[ -e $halide/Halide.h ] || { halide=''; echo "build.sh: note: there is no Halide (libhalide14-0-dev)" >&2; }

codes=()
for a in $arch; do codes+=(-gencode "arch=compute_$a,code=sm_$a"); done
codes+=(-gencode "arch=compute_$a,code=compute_$a")

# A step that runs beside others; its output is shown where it fails.
failed=$work/failed
rm -f "$failed"
step() { # NAME COMMAND...
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    { "${@:2}" >"$work/$1.log" 2>&1 || { cat "$work/$1.log"; echo "build.sh: error: $1"; touch "$failed"; } >&2; } &
}

pipec_library() { # SYSTEM BENCHMARK FLAGS...
    local name=$2 folder=$work/$1
    local program=$root/examples/$name.pipe
    [ -e "$program" ] || program=$here/$name.pipe
    mkdir -p "$folder" "$out/$1"
    if [ "$target" = cuda ]; then
        "$pipec" --target cuda --gpu "$gpu" "${@:3}" "$program" -o "$folder/$name.cu"
        nvcc -std=c++17 -O3 "${codes[@]}" -Xcompiler -fPIC -shared "$folder/$name.cu" -o "$out/$1/$name.so"
    else
        "$pipec" --target host "${@:3}" "$program" -o "$folder/$name.cpp"
        g++ -std=c++17 -O3 -march="$march" -fopenmp -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC -shared \
            "$folder/$name.cpp" -o "$out/$1/$name.so"
    fi
}
halide_library() { # SYSTEM BENCHMARK PARAMETERS...
    local folder=$work/$1
    mkdir -p "$folder" "$out/$1"
    "$work/generators" -g "$2" -f "$2" -o "$folder" -e object,stmt,schedule "target=$halide_target-no_runtime" "${@:3}"
    g++ -shared "$folder/$2.o" "$out/halide_runtime.so" -Wl,-rpath,'$ORIGIN/..' -o "$out/$1/$2.so"
}
halide_generator() { g++ -std=c++17 -O0 -fno-rtti -isystem "$halide" -c "$1" -o "$2"; }
halide_runtime() {
    local glue=runtime_host.cpp
    [ "$target" != cuda ] || glue=runtime_cuda.cpp
    "$work/generators" -r halide_runtime -o "$work" -e object "target=$halide_target"
    g++ -std=c++17 -O2 -fPIC -shared -Wl,-soname,halide_runtime.so -isystem "$halide" "$here/halide/$glue" \
        "$work/halide_runtime.o" -o "$out/halide_runtime.so" -ldl -lpthread -static-libstdc++ -static-libgcc
}
compare_program() {
    if [ -n "$compare" ]; then cp "$compare" "$out/compare"; return; fi
    local sources=("$here"/compare/{compare,measure,program}.cpp "$root"/tests/gpu/{call,cases,image}.cpp)
    local flags=(-std=c++20 -O2 -I"$root/src" -I"$root/tests/gpu" -o "$out/compare")
    # Without Halide's header there is nothing of Halide's to be called.
    if [ -n "$halide" ]; then
        cp "$halide/HalideRuntime.h" "$work/" && flags+=(-I"$work") && sources+=("$here/compare/halide_program.cpp")
    else
        sources+=("$here/compare/no_halide.cpp")
    fi
    if [ "$target" = cuda ]; then
        nvcc "${flags[@]}" -Xcompiler -static-libstdc++,-static-libgcc "${sources[@]}" "$root/tests/gpu/device_cuda.cpp" -ldl
    else
        g++ "${flags[@]}" "${sources[@]}" "$root/tests/gpu/device_fake.cpp" -ldl
    fi
}

step compare compare_program
for b in "${benchmarks[@]}"; do
    if [ "$target" = host ] && [ "$march" = native ]; then
        step "pipec.$b" pipec_library pipec "$b" --cpu native
    else
        step "pipec.$b" pipec_library pipec "$b"
    fi
    [ "$target" = cuda ] || continue
    step "pipec-fast.$b" pipec_library pipec-fast "$b" -ffast-math
    step "pipec-paper.$b" pipec_library pipec-paper "$b" --cost-model paper
done
if [ -n "$halide" ] && [ $with_halide = yes ]; then
    objects=("$work/GenGen.o")
    step GenGen halide_generator /usr/src/halide14/GenGen.cpp "$work/GenGen.o"
    for b in "${benchmarks[@]}"; do
        step "generator.$b" halide_generator "$here/halide/$b.cpp" "$work/$b.o"
        objects+=("$work/$b.o")
    done
    wait
    [ ! -e "$failed" ] || exit 1
    g++ -rdynamic "${objects[@]}" -o "$work/generators" -lHalide14 -ldl -lpthread
    halide_runtime
    for b in "${benchmarks[@]}"; do
        step "halide-manual.$b" halide_library halide-manual "$b"
        if [ "$target" = host ]; then
            [ $autoschedule = no ] || for scheduler in Adams2019 Mullapudi2016; do
                system=halide-${scheduler,,}
                step "$system.$b" halide_library "$system" "$b" auto_schedule=true \
                    "machine_params=$threads,16777216,40" -p "$plugins/libautoschedule_${scheduler,,}.so" -s $scheduler
            done
        else
            step "halide-li2018.$b" halide_library halide-li2018 "$b" auto_schedule=true \
                -p $plugins/libautoschedule_li2018.so -s Li2018
        fi
    done
    if [ $variants = yes ] && [ "$target" != host ]; then
        while read -r system b parameters; do
            # shellcheck disable=SC2086 # parameters are words
            [[ " ${benchmarks[*]} " != *" $b "* ]] || step "$system.$b" halide_library "$system" "$b" $parameters
        done < <(grep '^halide-' "$here/variants.txt")
    fi
fi
wait
[ ! -e "$failed" ] || exit 1
echo "Built in $out"
