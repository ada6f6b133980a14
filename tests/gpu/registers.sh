#!/usr/bin/env bash
# registers.sh PIPEC FLAGS...: with these flags of pipec, kernels of fused stages stay within a thread's registers on two
# generations of GPUs. Kernels for any strides are the ones that may spill: what runs on dense images does not.
# Exit code 77: there is no nvcc.
set -euo pipefail
pipec=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
flags=(-std=c++17 -O3 -Xptxas=-v)
case " $* " in *" -ffast-math "*) flags+=(--use_fast_math) ;; *) flags+=(--fmad=false) ;; esac
for name in blur unsharp harris; do
    "$pipec" "$@" "$here/../../examples/$name.pipe" -o "$directory/$name.cu"
    for arch in sm_80 sm_90; do
        "$nvcc" "${flags[@]}" -arch=$arch -cubin "$directory/$name.cu" -o "$directory/$name.o" \
            >"$directory/$name.$arch" 2>&1 || { cat "$directory/$name.$arch"; exit 1; }
    done
done
python3 "$here/ptxas.py" --dense "$directory"/*.sm_*
