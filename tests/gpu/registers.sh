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
# As one program, since half of the time that nvcc takes for one of them goes into headers. An import has to be on top.
cat "$here"/../../examples/{harris,blur,unsharp}.pipe >"$directory/all.pipe"
"$pipec" "$@" "$directory/all.pipe" -o "$directory/all.cu"
for arch in sm_80 sm_90; do
    "$nvcc" "${flags[@]}" -arch=$arch -cubin "$directory/all.cu" -o "$directory/all.o" \
        >"$directory/all.$arch" 2>&1 || { cat "$directory/all.$arch"; exit 1; }
done
python3 "$here/ptxas.py" --dense "$directory"/all.sm_* | tee "$directory/table"
for name in blur unsharp harris; do grep -q "$name" "$directory/table" || { echo "FAIL no kernel of $name" >&2; exit 1; }; done
