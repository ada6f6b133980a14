#!/usr/bin/env bash
# `make gallery` still makes the pictures in docs/images: gallery.sh PIPEC SOURCE_DIRECTORY CACHE_DIRECTORY
# Pixels may differ a little, as other versions of the libraries for JPEG and of mathematical functions round differently.
set -uo pipefail
pipec=$(realpath "$1")
source=$(realpath "$2")
export XDG_CACHE_HOME=$3
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
"$source/docs/gallery/make.sh" "$pipec" "$directory/new" || fail "docs/gallery/make.sh"
cat >"$directory/distance.pipe" <<'PIPE'
pipeline distance(a: uint8[R, C, 3], b: uint8[R, C, 3]) -> mean: float32[1] {
    mean(i) = (sum(y in 0..R, x in 0..C, c in 0..3) float32(abs(a(y, x, c) - b(y, x, c)))) / (R * C * 3)
}
PIPE
for picture in "$source"/docs/images/*.jpg; do
    name=$(basename "$picture")
    [ -e "$directory/new/$name" ] || { fail "docs/images/$name is not made by docs/gallery/make.sh"; continue; }
    [ "$(stat -c %s "$picture")" -lt 150000 ] || fail "$name is larger than 150 KB"
    cmp -s "$picture" "$directory/new/$name" && continue
    "$pipec" run -q --device cpu "$directory/distance.pipe" --in a="$picture" --in b="$directory/new/$name" --channels a=0,0,0 \
        --channels b=0,0,0 --out mean="$directory/mean.npy" || { fail "$name has another size"; continue; }
    mean=$(python3 -c 'import struct, sys; print(struct.unpack("<f", open(sys.argv[1], "rb").read()[-4:])[0])' "$directory/mean.npy")
    python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 3)' "$mean" || fail "$name differs by $mean gray values in the mean"
done
for picture in "$directory"/new/*; do
    [ -e "$source/docs/images/$(basename "$picture")" ] || fail "docs/images lacks $(basename "$picture"): make gallery"
done
python3 "$source/bench/readme_chart.py" "$directory/comparison.svg" &&
    cmp "$source/docs/images/comparison.svg" "$directory/comparison.svg" || fail "docs/images/comparison.svg is old: make gallery"
python3 "$source/docs/gallery/page.py" "$directory/gallery.md" && cmp "$source/docs/gallery.md" "$directory/gallery.md" ||
    fail "docs/gallery.md is old: make gallery"
[ $failures -eq 0 ]
