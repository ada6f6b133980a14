#!/usr/bin/env bash
# report.py makes of results.jsonl the table results.md and a plot; what it cannot read it says.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
report=$here/../../bench/report.py
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 "$report" "$here/results.jsonl" | diff -u "$here/results.md" -
python3 "$report" "$here/results.jsonl" --markdown table.md --plot plot.svg
diff -u "$here/results.md" table.md
# Four bars for the blur and two for the blend: what differs or failed has none.
python3 - plot.svg <<'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree
root = ElementTree.parse(sys.argv[1]).getroot()
titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
expected = ["blur, pipec: 0.92", "blur, pipec -ffast-math: 0.90", "blur, Halide, by hand: 0.66", "blur, torch: 0.23",
            "pyramid_blend, pipec: 1.25", "pyramid_blend, Halide, Li2018: 0.31"]
assert titles == expected, titles
PYTHON

# In two parts, from two runs.
grep -v '"pyramid_blend"' "$here/results.jsonl" >first
grep -v '"blur"' "$here/results.jsonl" >second
python3 "$report" first second | diff -u "$here/results.md" -

refused() { # WHAT MESSAGE
    local status=0
    python3 "$report" input --markdown none.md >out 2>err || status=$?
    [ $status -eq 1 ] && grep -q "$2" err && [ ! -e none.md ] || { echo "$1: exit code $status"; cat err; exit 1; }
}
refused "no file" "No such file"
echo '{"device": "x", "date": "y", "size": "z"}' >input
refused "nothing measured" "there are no results"
echo 'no JSON' >>input
refused "no JSON" "line 2"
echo '{"device": "x", "date": "y", "size": "z"}' >other
status=0
python3 "$report" first other 2>err || status=$?
[ $status -eq 1 ] && grep -q "other: other device or size" err
