#!/usr/bin/env bash
# The pictures of README.md and docs/gallery.md, from the photographs of the examples: make.sh PIPEC DIRECTORY [NAME...]
# No GPU is used, so that the same pictures come out everywhere. NAME: only the pictures of these examples, or of the
# pages `tutorial` and `dask`.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
pipec=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
examples=$here/../../examples
images=$examples/images
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

# The pixels are the same at any -O, and images this small are run sooner than code is optimised.
run() { "$pipec" run -q -O0 --device cpu "$@" 2>log || { cat log >&2; exit 1; }; }
# crop RESULT PHOTOGRAPH TOP LEFT ROWS COLUMNS [TIMES]: rows and columns of the result.
crop() {
    run "$here/crop.pipe" --in img="$2" --set top="$3" --set left="$4" --set times="${7:-1}" --extent out=3,"$5","$6" \
        --out out="$1"
}
gray() { run "$here/crop_gray.pipe" --in img="$2" --set top="$3" --set left="$4" --extent out="$5,$6" --out out="$1"; }
example() { run "$examples/$1.pipe" "${@:2}"; }

blur() {
    crop part.png "$images/chelsea.png" 100 125 102 142
    example blur --in img=part.png --out out=smooth.png
    crop "$out/blur-before.jpg" part.png 1 1 300 420 3
    crop "$out/blur.jpg" smooth.png 0 0 300 420 3
}
unsharp() {
    crop part.png "$images/coffee.png" 120 160 244 324
    crop "$out/unsharp-before.jpg" part.png 2 2 240 320
    example unsharp --in img=part.png --out masked="$out/unsharp.jpg"
}
harris() {
    gray part.png "$images/camera.png" 70 130 304 404
    gray "$out/harris-before.jpg" part.png 2 2 300 400
    example harris --in img=part.png --out response=response.npy
    run "$here/corners.pipe" --in img=part.png --in response=response.npy --out out="$out/harris.jpg"
}
bilateral_grid() {
    gray "$out/bilateral_grid-before.jpg" "$images/camera.png" 40 120 300 400
    gray part.png "$images/camera.png" 40 120 300 400
    example bilateral_grid --in img=part.png --out filtered="$out/bilateral_grid.jpg"
}
multiscale_interpolate() {
    run "$here/holes.pipe" --in img="$images/chelsea.png" --out known=known.npy \
        --out shown="$out/multiscale_interpolate-before.jpg"
    example multiscale_interpolate --in img=known.npy --out out="$out/multiscale_interpolate.jpg"
}
camera_pipe() {
    run "$here/mosaic.pipe" --in img="$images/coffee.png" --out raw=raw.npy
    example camera_pipe --in raw=raw.npy --out out=picture.png
    run "$here/sensor.pipe" --in raw=raw.npy --out out=sensor.png
    crop "$out/camera_pipe-before.jpg" sensor.png 100 140 240 320
    crop "$out/camera_pipe.jpg" picture.png 100 140 240 320
}
pyramid_blend() {
    crop a.png "$images/chelsea.png" 0 51 300 400
    crop b.png "$images/astronaut.png" 0 15 300 400
    run "$here/halves.pipe" --in a=a.png --in b=b.png --out mask=mask.npy --out joined="$out/pyramid_blend-before.jpg"
    example pyramid_blend --in a=a.png --in b=b.png --in mask=mask.npy --out out="$out/pyramid_blend.jpg"
}
sketch() {
    crop "$out/sketch-before.jpg" "$images/chelsea.png" 0 0 300 451
    example sketch --in img="$images/chelsea.png" --out out="$out/sketch.jpg"
}
detail() {
    crop part.png "$images/astronaut.png" 0 60 300 400
    crop "$out/detail-before.jpg" part.png 0 0 300 400
    example detail --in img=part.png --set boost=4 --out out="$out/detail.jpg"
}
program() { # PAGE NAME: the file of this name in the page
    awk -v marker="<!-- file: $2 -->" '$0 == marker { on = 1; next } on == 2 && /^```/ { exit } on == 2
                                       on == 1 && /^```/ { on = 2 }' "$here/../$1" >"$2"
}
# The programs of docs/tutorial.md, on the page's pictures.
tutorial() {
    for name in soft edges warm levels contrast; do program tutorial.md "$name.pipe"; done
    gray "$out/tutorial-camera.jpg" "$images/camera.png" 40 90 360 380
    run soft.pipe --in img="$images/camera.png" --out out=soft.png
    gray "$out/tutorial-soft.jpg" soft.png 38 88 360 380
    run edges.pipe --in img="$images/camera.png" --out out=edges.png
    gray "$out/tutorial-edges.jpg" edges.png 40 90 360 380
    run edges.pipe --in img="$images/camera.png" --set strength=8 --out out=strong.png
    gray "$out/tutorial-strong.jpg" strong.png 40 90 360 380
    run warm.pipe --in img="$images/coffee.png" --out out=warm.png
    crop "$out/tutorial-coffee.jpg" "$images/coffee.png" 0 100 300 400
    crop "$out/tutorial-warm.jpg" warm.png 0 100 300 400
    run levels.pipe --in img="$images/chelsea.png" --out out="$out/tutorial-levels.jpg"
    run contrast.pipe --in img="$images/camera.png" --out out=contrast.png
    gray "$out/tutorial-contrast.jpg" contrast.png 40 90 360 380
}
# That of docs/dask.md.
dask() {
    program dask.md sharpen.pipe
    gray "$out/dask-before.jpg" "$images/camera.png" 40 90 360 380
    run sharpen.pipe --in img="$images/camera.png" --set amount=2 --out out=sharp.png
    gray "$out/dask-after.jpg" sharp.png 40 90 360 380
}

names=(blur unsharp harris bilateral_grid multiscale_interpolate camera_pipe pyramid_blend sketch detail tutorial dask)
for name in "${@:-${names[@]}}"; do "$name"; done
