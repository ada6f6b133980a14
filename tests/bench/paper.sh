#!/usr/bin/env bash
# paper.sh PIPEC COMPARE: bench/paper writes code that can be run, here in host memory, and tables of what was measured.
set -euo pipefail
pipec=$(realpath "$1") compare=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
paper=$here/../../bench/paper
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export OMP_NUM_THREADS=1
fail() { echo "$*" >&2; exit 1; }

# Tables of recorded samples, and charts with a mark for each number.
"$paper/tables.py" "$here/paper" --out tables >/dev/null
cat tables/*.md | diff -u "$here/paper/tables.md" -
cmp tables/facts.jsonl "$here/paper/facts.jsonl"
python3 - tables <<'PYTHON'
import pathlib
import sys
import xml.etree.ElementTree as ElementTree
titles = {path.stem: [e.text for e in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]
          for path in pathlib.Path(sys.argv[1]).glob("*.svg")}
assert titles["ablation"][:3] == ["blur, otptb: 1.00", "blur, otpw: 0.96", "blur, register_tile: 1.10"], titles
assert titles["stalls"] == ["blur, otptb: 20.00", "blur, otpw: 0.00", "blur, hybrid, half: 0.00",
                            "pyramid_blend, otptb: 12.50"], titles
assert titles["sizes"] == ["blur, 0.25: 4", "blur, 4: 27", "harris, 0.25: 5"], titles
assert len(titles["pairs"]) == 6 and len(titles["levels"]) == 3 and len(titles["autotuner"]) == 2, titles
PYTHON

# What cannot be read is said.
refused() { # WORDS
    local status=0
    "$paper/tables.py" samples --out none >out 2>err || status=$?
    [ $status -eq 1 ] && grep -q "^tables.py: error: .*$1" err && [ ! -e none ] || { cat err; fail "not refused: $1"; }
}
refused "No such file"
mkdir samples && head -1 "$here/paper/facts.jsonl" >samples/facts.jsonl && refused "nothing is known"
echo '{"no": "header"}' >samples/depth.jsonl && refused "the first line says of no device"
echo 'no JSON' >samples/depth.jsonl && refused "depth.jsonl: line 1"

# What Nsight Compute prints.
"$paper/counters.py" f b s <"$here/paper/ncu.csv" >counted
grep -qF '"kernels": [{"kernel": "masked_wide16", "ns": 96260.0, "instructions": 41979672.0}, {"kernel": "other", "ns": 1500.0}]' counted
status=0 && echo "==ERROR== no permission" | "$paper/counters.py" f b s >counted 2>err || status=$?
[ $status -eq 1 ] && grep -q '"error"' counted && grep -q "b: s: ncu counted nothing" err

# Facts of programs, and expressions as pipec prints them.
python3 - "$paper" "$pipec" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import programs
assert programs.evaluate("(R - 1) / 4 + max(1, 2)", {"R": 0}) == 1
pipec = programs.Pipec(sys.argv[2], "h200")
shape = programs.paper_shapes()["blur"]
facts = pipec.facts(programs.source_of("blur"), shape)
assert facts.sizes == {"R": 4094, "C": 4094} and facts.stages == 3, facts
assert facts.intermediate_bytes == 2 * 4 * 3 * 4094 * 4094 + 4 * 3 * 4094 * 2, facts
camera = pipec.facts(programs.source_of("camera_pipe"), programs.paper_shapes()["camera_pipe"].square(512))
assert camera.sizes == {"R": 464, "C": 480}, camera
assert "otptb" in pipec.strategies()
for wrong in (lambda: programs.evaluate("__import__('os')", {}), lambda: programs.with_constant("chain", "NONE", 1)):
    try:
        wrong()
    except ValueError:
        continue
    raise AssertionError("not refused")
PYTHON

# All that is generated for a blur and a chain: its files are there, and what is one schedule is one system.
"$paper/generate.py" gen --pipec "$pipec" --benchmarks blur --largest 512 --most 1 2>err || { cat err; exit 1; }
[ ! -s err ] || { cat err; fail "generate.py is not silent"; }
while IFS=$'\t' read -r experiment folder benchmark size _ _ systems; do
    grep -q "^$benchmark $size " gen/cases.txt || fail "no case $benchmark $size"
    for system in $systems; do
        for end in cu h schedule.json; do
            [ -s "gen/$folder/$system/$benchmark.$end" ] || fail "$experiment: no $folder/$system/$benchmark.$end"
        done
    done
done <gen/jobs.txt
cut -f1 gen/jobs.txt | sort -u | tr '\n' ' ' | grep -qx 'ablation autotuner counters depth sizes '
[ "$(sha256sum gen/autotuner/*/blur.schedule.json | cut -d' ' -f1 | sort | uniq -d | wc -l)" -eq 0 ]
for field in '"otptb": "otptb"' '"stages": 3' '"0.5-16x16-4x4": "0.2-16x16-4x4"' '"constant": "PAIRS", "value": 1'; do
    grep -qF "$field" gen/facts.jsonl || fail "facts.jsonl has no $field"
done
status=0 && "$paper/generate.py" other --pipec /bin/false --only depth 2>err || status=$?
[ $status -eq 1 ] && grep -q '^generate.py: error' err

# It is run with code for the host in place of all of it, and small images.
sed -i -E 's/[0-9]+x(4096x4096|512x512)/3x40x50/; s/=4096x4096/=40x50/' gen/cases.txt
awk -F'\t' -v OFS='\t' '$1 != "counters" { $5 = 1; print }' gen/jobs.txt >jobs && mv jobs gen/jobs.txt
for name in blur chain; do
    source=$(find gen -name "$name.pipe" | head -1)
    "$pipec" --target host "${source:-$paper/../../examples/$name.pipe}" -o $name.cpp
    g++ -std=c++17 -O0 -fPIC -shared $name.cpp -o $name.so
    find gen -name $name.cu | while read -r code; do cp $name.so "${code%.cu}.so"; done
done
"$paper/measure.sh" gen --compare "$compare" 2>err || { cat err; exit 1; }
"$paper/measure.sh" gen --compare "$compare" --out elsewhere depth 2>err && [ -s elsewhere/depth.jsonl ]
"$paper/tables.py" gen >made && grep -q "gen/tables/ablation.md" made
grep -Eq '^\| blur \| [0-9.]+ \(0\) [0-9.]+ \|' gen/tables/ablation.md
grep -Eq '^\| 0.25 \| [0-9.]+ \([0-9.]+\) [0-9.]+ \|$' gen/tables/sizes.md
grep -Eq '^\| 1 \| 3 \| [0-9.]+ ' gen/tables/depth.md
grep -Eq '^\| blur \| [0-9]+ \| overlap ' gen/tables/autotuner.md
status=0 && "$paper/measure.sh" gen none --compare "$compare" 2>err || status=$?
[ $status -eq 2 ] && grep -q 'there is no experiment `none`' err
