#!/usr/bin/env bash
# measure.sh DIR [--compile|--ncu]: compiles what generate.py wrote and is not compiled yet, and measures it; README.md
# says what the lines mean. --compile: only that, for ARCH=sm_90 where there is no GPU.
set -uo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$1" || exit 2
ncu=${2:-}
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
command -v nvcc >/dev/null || { echo "skipped: there is no nvcc"; exit 77; }
options=("-arch=${ARCH:-native}" -cudart shared)
[ -e sweep ] || nvcc -std=c++20 -O2 "${options[@]}" -I"$root/src" -I"$root/tests/gpu" "$here/sweep.cpp" \
    "$root"/tests/gpu/{call,cases,image,device_cuda}.cpp -o sweep -ldl || exit 2

for source in */*.cu; do
    [ ! -e "${source%.cu}.so" ] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    flags=-fmad=false
    case $source in *fast_*) flags=-use_fast_math ;; esac
    nvcc -std=c++17 -O3 "${options[@]}" $flags -Xcompiler -fPIC -shared -Xptxas -v "$source" -o "${source%.cu}.so" \
        >"${source%.cu}.ptxas" 2>&1 &
done
wait
[ "$ncu" != --compile ] || exit 0
grep -H 'bytes spill stores' */*.ptxas | grep -v ' 0 bytes spill stores' | sort -u
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
grep -v '^#' "$here/cases.txt" | while read -r program size _; do
    echo "== $program $size"
    ./sweep "$here/cases.txt" "$program" "$size" "000-stage/$program.so" */"$program".so | tee "$program.$size.times"
done

[ "$ncu" = --ncu ] || exit 0
metrics=gpu__time_duration.sum,sm__warps_active.avg.pct_of_peak_sustained_active
metrics+=,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
metrics+=,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
metrics+=,smsp__inst_executed.sum,smsp__inst_executed_op_global_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics+=,dram__bytes.sum,launch__registers_per_thread,launch__shared_mem_per_block
for program in blur unsharp harris; do
    size=paper; [ $program = blur ] && size=aligned
    # The fastest of each strategy.
    awk '$4 == "us" { split($2, part, "_"); n = part[1];
        if (!(n in best) || $3 < best[n]) { best[n] = $3; file[n] = $2 } } END { for (n in best) print file[n] }' \
        "$program.$size.times" |
        sort | while read -r library; do
        echo "== $program $library"
        ncu --csv --metrics $metrics --launch-skip 3 --launch-count 1 ./sweep "$here/cases.txt" "$program" "$size" \
            "$library" 2>/dev/null | awk -F'","' '/","/ && !/Metric Name/ { gsub(/"/, "", $NF); print "   ", $(NF - 2), $NF, $(NF - 1) }'
    done
done
