#!/usr/bin/env bash
# suite.sh PIPEC: bench/suite has a case of both sizes and a count for each program, all compile for the GPU, the counts
# are what count.py gives, and run.py builds, predicts and measures (the host's code here).
set -euo pipefail
pipec=$1
suite=$(cd "$(dirname "$0")/../../bench/suite" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }
export PYTHONDONTWRITEBYTECODE=1

programs=$(cd "$suite" && printf '%s\n' *.pipe | sed 's/\.pipe$//' | sort)
[ "$(wc -l <<<"$programs")" -ge 45 ] || fail "there are too few programs"
for size in measured odd; do
    [ "$(awk -v s=$size '$2 == s { print $1 }' "$suite/cases.txt" | sort)" = "$programs" ] || fail "cases of size $size"
done
python3 - "$suite/suite.json" $programs <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
assert sorted(table) == sorted(sys.argv[2:]), set(table) ^ set(sys.argv[2:])
assert len({entry["kind"] for entry in table.values()}) >= 12
PYTHON
for p in $programs; do
    head -n 1 "$suite/$p.pipe" | grep -q '^// ' || fail "$p does not say what it is"
    grep -q "^pipeline $p(" "$suite/$p.pipe" || fail "the pipeline in $p.pipe is called otherwise"
done

# shellcheck disable=SC2016 # the inner shell expands
xargs -P 2 -I {} sh -c '"$1" -Werror --gpu h200 "$2/{}.pipe" -o "$3/{}.cu" || { echo "FAIL: {}"; exit 1; }' \
    sh "$pipec" "$suite" "$directory" <<<"$programs"
python3 "$suite/count.py" --pipec "$pipec" --check
PIPEC_SUITE=$suite/second python3 "$suite/count.py" --pipec "$pipec" --check

# What count.py counts: half of `s` is read, and half of its points have the product; `v` has 10 points of a loop.
cat >"$directory/count.pipe" <<'PIPE'
pipeline count(img: uint8[16, 2 * N], w: float32[N]) -> out: float32[N] {
    a(x) = img(0, x) + img(1, x)
    s(x) = if x % 2 == 0 then a(x) * 3 else a(x)
    v(x) = (sum(i in 0..100) w(min(i, 0)) * float32(x)) / 7
    out(x) = s(2 * x) + sqrt(w(x)) + v(min(x, 9))
}
PIPE
said=$(python3 "$suite/count.py" --pipec "$pipec" "$directory/count.pipe" img=16x2000 'w=[1000]' |
    awk '{ printf "%s %s ", $1, $2 }')
[ "$said" = "1,000 a 500 s 2,090 v 11,000 out 14,590 operations 40,000 bytes " ] || fail "count.py says $said"

# Defaults of types that no literal has, sizes that parameters are or that have defaults, and places.
cat >"$directory/ports.pipe" <<'PIPE'
pipeline ports(img: uint8[R, C], which: uint8 = 1, n: int32 = 4, gain: float16 = -0.5)
    -> out: float32[n, C], half: uint8[H = (R + 1) / 2], at: int32[2] where 0 < n <= 16
{
    out(i, x) = float32(img(0, x)) * gain + i
    half(y) = min(img(min(y, R - 1), 0), which)
    place() = argmax(y in 0..R, x in 0..C) img(y, x)
    at(i) = if i == 0 then place()[0] else place()[1]
}
PIPE
for words in "" "n=4 half=[60] H=50" "half=[50]"; do
    # shellcheck disable=SC2086 # words
    said=$(python3 "$suite/count.py" --pipec "$pipec" "$directory/ports.pipe" img=100x200 $words | tail -n 2 |
        awk '{ print $1 }' | tr '\n' ' ')
    [ "$said" = "81,254 23,258 " ] || fail "count.py says $said of ports with '$words'"
done

run() { python3 "$suite/run.py" "$@" --out "$directory/suite"; }
run build --pipec "$pipec" gray_world rgb_to_yuv420 >"$directory/said"
grep -q '^2 programs in ' "$directory/said" || fail "build: $(cat "$directory/said")"
run predict >"$directory/said" || fail "predict"
grep -q '^| gray_world | statistics | ' "$directory/said" || fail "predict: $(cat "$directory/said")"
run measure --on-host --size odd >"$directory/said" || fail "measure: $(cat "$directory/said")"
grep -q '^| rgb_to_yuv420 | mosaic | .* | 0 |$' "$directory/said" || fail "measure: $(cat "$directory/said")"
run table | diff - "$directory/suite/results.md" || fail "table"
echo ok
