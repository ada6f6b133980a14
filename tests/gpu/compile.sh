#!/usr/bin/env bash
# compile.sh PIPEC EXAMPLE.pipe: nvcc takes the generated code without a warning for several GPUs, and no kernel spills.
# Exit code 77: there is no nvcc.
set -euo pipefail
pipec=$1 program=$2
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
name=$(basename "$program" .pipe)
"$pipec" --target cuda "$program" -o "$directory/$name.cu"
for arch in sm_75 sm_80 sm_90; do
    "$nvcc" -std=c++17 -O3 -arch=$arch -Werror all-warnings -Xptxas -v -c "$directory/$name.cu" -o "$directory/$name.o" \
        >"$directory/$arch" 2>&1 || { cat "$directory/$arch"; exit 1; }
done
python3 "$here/ptxas.py" "$directory"/sm_*
