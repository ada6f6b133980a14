#!/usr/bin/env bash
# compile.sh PIPEC EXAMPLE.pipe [FLAGS...]: nvcc takes the generated code without a warning for several GPUs, and each
# kernel waits for the one before it where it may start early. No kernel of a single stage spills, and none of the
# default schedule, or the one that the flags of pipec ask for, more than 64 bytes, which is printed (registers.sh asks
# for tiles without).
# Exit code 77: there is no nvcc.
set -euo pipefail
pipec=$1 program=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
name=$(basename "$program" .pipe)
compile() { # FLAGS...: the code for each GPU; the host's part of it, which is the same for all, with the last
    "$pipec" --target cuda "$@" "$program" -o "$directory/$name.cu"
    # Without -O3, which is about the host's code alone.
    local arch what=-cubin
    for arch in sm_75 sm_80 sm_90; do
        if [ $arch = sm_90 ]; then what="-c --keep --keep-dir $directory"; fi
        # shellcheck disable=SC2086  # words
        "$nvcc" -std=c++17 -arch=$arch -Werror all-warnings -Xptxas -v $what "$directory/$name.cu" \
            -o "$directory/$name.o" >"$directory/$arch" 2>&1 || { cat "$directory/$arch"; exit 1; }
    done
}
if [ $# -eq 0 ]; then
    compile --cost-model none
    python3 "$here/ptxas.py" "$directory"/sm_*
    set -- --gpu h100
fi
compile "$@"
read -r kernels registers spilled shared <<<"$(python3 "$here/ptxas.py" --summary "$directory"/sm_*)"
echo "$kernels kernels, at most $registers registers, $spilled bytes spilled, $shared bytes shared"
[ "$spilled" -le 64 ] || { echo "FAIL spills" >&2; exit 1; }

# In the PTX of the last, no kernel touches global memory before it has waited.
awk '/\.entry/ { waited = 0; ++kernels }
     /griddepcontrol\.wait/ { waited = 1; ++waits }
     /^[ \t]*(@!?%p[0-9]+ )?(ld|st|atom|red|cp)\./ && !/\.(param|shared|local|const)\./ && !waited { print "FAIL " $0; bad = 1 }
     END { exit bad || kernels == 0 || waits != kernels }' "$directory/$name.ptx"
