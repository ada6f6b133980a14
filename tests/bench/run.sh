#!/usr/bin/env bash
# run.sh PIPEC COMPARE: bench/build.sh and bench/run.sh in host memory, without Halide: one system that computes the same
# as pipec, one that does not, one that cannot be loaded.
set -euo pipefail
pipec=$(realpath "$1") compare=$(realpath "$2")
bench=$(cd "$(dirname "$0")/../../bench" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export OMP_NUM_THREADS=1
"$bench/build.sh" --target host --without-halide --compare "$compare" --pipec "$pipec" \
    --out "$directory/built" blur
mkdir built/pipec-fast built/halide-manual built/halide-li2018
cp built/pipec/blur.so built/pipec-fast/
sed 's|) / 3$|) / 3.1|' "$bench/../examples/blur.pipe" >blur.pipe
"$pipec" --target host blur.pipe
g++ -std=c++17 -O1 -fPIC -shared blur.cpp -o built/halide-manual/blur.so
echo broken >built/halide-li2018/blur.so

status=0
"$bench/run.sh" --built built --out out --size odd --launches 2 --samples 2 --no-torch --cache 1 --cold >table 2>err || status=$?
cat table err
[ $status -eq 1 ]
grep -q 'blur: halide-manual computes something else' err
grep -q 'blur: halide-li2018: error: .*halide-li2018/blur.so' err
grep -q '^| blur | [0-9.]* | [0-9.]* ([0-9.]*) [0-9.]* | [0-9.]* ([0-9.]*) [0-9.]* | \*\*differs\*\* | failed |$' table
python3 - out/results.jsonl <<'PYTHON'
import json
import sys
lines = {line.get("system"): line for line in map(json.loads, open(sys.argv[1], encoding="utf-8"))}
assert len(lines["pipec"]["stream_us"]) == 2 and lines["pipec"]["places"] > 1, lines["pipec"]
assert lines["copy"]["bytes"] == 4 * 3 * (99 * 213 + 97 * 211), lines["copy"]
assert lines["pipec-fast"]["agrees"] and lines["pipec-fast"]["difference"] == 0, lines["pipec-fast"]
assert not lines["halide-manual"]["agrees"] and 0.01 < lines["halide-manual"]["difference"] < 0.1, lines["halide-manual"]
PYTHON

# Nothing is compared; and the workspace that pipec's code asks for is known.
"$directory/built/compare" --unchecked --size odd --launches 0 "$bench/cases.txt" blur built pipec halide-manual >unchecked
[ "$(wc -l <unchecked)" -eq 2 ] && grep -q '"halide-manual", "workspace": [1-9]' unchecked && ! grep -q agrees unchecked
"$directory/built/compare" --unchecked --size mid --launches 1 --samples 1 "$bench/cases.txt" blur built pipec |
    grep -q '"pipec", "workspace": [1-9][0-9]*, "stream_us": \['

# Agreement alone.
rm built/halide-*/blur.so
"$bench/run.sh" --built built --out out --size odd --launches 0 --no-torch | grep -q '^| blur | - | agrees | agrees |$'
# Wrong words.
for words in "" "a b c" "--launches -1 a b c d" "--size" "$bench/cases.txt blur built" "--no-such a b c d"; do
    status=0
    # shellcheck disable=SC2086 # words
    built/compare $words >/dev/null 2>err || status=$?
    [ $status -eq 2 ] && grep -q '^usage:' err || { echo "compare $words: exit code $status"; cat err; exit 1; }
done
status=0
built/compare --size none "$bench/cases.txt" blur built pipec 2>err || status=$?
[ $status -eq 2 ] && grep -q 'no case blur none' err
status=0
"$bench/run.sh" --built nowhere 2>err || status=$?
[ $status -eq 2 ] && grep -q 'nothing was built in nowhere' err
