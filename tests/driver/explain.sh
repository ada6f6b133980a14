#!/usr/bin/env bash
# pipec explain: what the report says, the page, and what is refused. Times are the model's and are not compared.
here=$(dirname "$(realpath "$0")")
source "$here/lib.sh" "$1"
shows() { ! command -v python3 >/dev/null || python3 "$here/explain_page.py" "$@"; } # PAGE TEXT...
examples=$(realpath "$here/../../examples")
cat >blur.pipe <<'EOF'
pipeline blur(img: uint8[R + 2, C + 2]) -> out: float32[R, C] {
    curve(v in 0..256) = sum(i in 1..20) pow(v / 255.0, i) / i
    half(y, x) = img(y, x) / 2
    rows(y, x) = half(y, x) + half(y + 1, x) + half(y + 2, x)
    out(y, x) = curve(clamp((rows(y, x) + rows(y, x + 1) + rows(y, x + 2)) / 9, 0, 255))
}
EOF
cat >two.pipe <<'EOF'
pipeline first(a: float32[N]) -> o: float32[N] { o(x) = 2 * a(x) }
pipeline total(a: int32[N]) -> count: int32[16] {
    accumulate count(b in 0..16): int32 = 0 {
        for x in 0..N { count(3) max= a(x) }
    }
}
EOF
echo 'pipeline p(a: float32[N]) -> o: float32[N] { o(x) = a(x + 1) }' >wrong.pipe
# A stage of which nothing is ever read has no points.
cat >empty.pipe <<'EOF'
pipeline empty(img: uint8[R, C]) -> out: int32[R, C] {
    class(y, x) = img(y, x) & 15
    share(y, x) = sqrt(float32(img(y, x)))
    out(y, x) = if class(y, x) <= 15 then img(y, x)
                else int32(sum(i in 0..3, j in 0..3) share(min(y + i, R - 1), min(x + j, C - 1)))
}
EOF
run explain empty.pipe; exits 0; prints "predicted "

# The schedule that the options give, kernel by kernel.
run explain blur.pipe; exits 0; is_silent; prints "R = 3584, C = 3584"
run explain --strategy stage --gpu h100 blur.pipe; exits 0; is_silent
prints "blur: 3 kernels, predicted "; prints "NVIDIA H100 SXM, R = 3584, C = 3584"
prints "kernel 3: out"; prints "each point by itself, through global memory"; prints "with half"
prints "bound by "; prints "+ launch"
run explain --gpu a100 --tune-for R=100,C=200 --strategy otpw --tile 4x8 blur.pipe; exits 0; is_silent
prints "NVIDIA A100"; prints "R = 100, C = 200"; prints "kernel 2: rows, out"
prints "tile       8 x 128 (y, x)"
prints "shared memory, 8.32 KB  8 x 130 (+2%)  x +2  blur.pipe:4"
prints "output, 80.0 KB"
prints "reads 20.6 KB of inputs and 512 B of stages, writes 80.0 KB"
prints "8.32 KB of shared memory a block"
prints "2 kernels apart"
prints 'impossible: `out` reads `curve` in dimension `v` at no constant'; prints "(blur.pipe:5)"
run explain --strategy register_tile --tile 4x8 blur.pipe; exits 0
prints "in registers only"; prints "with lanes that serve their neighbours 8 x 128"; prints "rows  registers"
run explain --strategy register_tile --tile 4x8 --prefetch 2 blur.pipe; exits 0; prints "8 rows, 2 rows fetched ahead"
run explain --strategy stream --block 64x2 --tile 2x8x1 blur.pipe; exits 0; prints "16 x 126 (y, x)"
prints "2 columns of a thread, 8 steps"; prints "with windows of rows in shared memory"
run explain --strategy hybrid --frac-reg 0.5 blur.pipe; exits 0; prints "50% of x in registers"
prints "registers and shared memory, "

# Dimensions have the program's names: the output's, where stages differ; a whole-image expression has positions.
cat >named.pipe <<'EOF'
pipeline named(img: float32[R, C]) -> half: float32[R, C], out: float32[R, C - 1] {
    half = img / 2
    out(row, col) = half(row, col) + half(row, col + 1)
}
pipeline plain(img: float32[R, C]) -> out: float32[R, C] { out = img / 2 }
EOF
run explain --strategy hybrid --tile 2x4 named.pipe; exits 0
prints "100% of col in registers"; prints "4 x 64 (row, col)"; prints "col +1"; prints "4 x 64 (dim 0, dim 1)"

run --emit schedule --strategy otptb blur.pipe -o blur.json; exits 0
run explain --schedule blur.json blur.pipe; exits 0; prints "one for each block, in shared memory"
run explain --cost-model paper --gpu v100 blur.pipe; exits 0; prints "NVIDIA Tesla V100"
run explain -ffast-math --strategy register_tile blur.pipe; exits 0
run explain two.pipe; exits 0; prints "first: 1 kernel"; prints "total: 1 kernel"
prints "without 1 kernel of which nothing is predicted"; prints '`count` accumulates'
sed 's,count(3),count(a(x) % 16),' two.pipe >histogram.pipe
run explain histogram.pipe; exits 0; prints "528 blocks, 4 at once"; prints "2.05 KB of shared memory"
# The model counts the plan that the code is made from: 32 copies of 64 bytes, two parts, or what the schedule says.
run --emit cuda histogram.pipe; exits 0; prints "__shared__ int32_t count_of_block[512]"
run explain --strategy stage --histogram 256x1x4x3 histogram.pipe; exits 0
prints "396 blocks, 3 at once"; prints "256 B of shared memory"
sed 's,16,65536,g' histogram.pipe >parts.pipe
run explain parts.pipe; exits 0; prints "132 blocks, 1 at once"; prints "131 KB of shared memory"
echo 'pipeline p(a: float32[R, C]) -> o: float32[R, C] {
    o(y, x): float32 = if x == 0 then a(y, 0) else 0.5 * (a(y, x) + o(y, x - 1))
}' >scan.pipe
run explain scan.pipe; exits 0; prints "strategy   stage: a scan along x, a lane for each line, point after point"
check "lines are short" [ "$(awk 'length > 110' .out | wc -l)" -eq 0 ]
sed 's,0.5 \* (\(.*\))$,max(a(y\, x)\, o(y\, x - 1)),' scan.pipe >maxima.pipe
run explain maxima.pipe; exits 0; prints "strategy   stage: a scan along x, which the threads of a block share out"
run --emit cuda maxima.pipe; exits 0; prints "__shfl_up_sync"
run --emit cuda scan.pipe; exits 0; check "no shuffles" sh -c '! grep -q __shfl_up_sync .out'
cp blur.pipe copy.pipe
run explain copy.pipe -o report.txt; exits 0; is_silent; exists report.txt; cp report.txt first.txt
run explain copy.pipe -o report.txt; check "the same bytes" cmp first.txt report.txt

# The page.
run explain --html blur.pipe -o blur.html --strategy otpw --tile 4x8; exits 0; is_silent
check "the page" shows blur.html "blur.pipe" "Kernel 2: rows and out" "One kernel instead of two" "blur.pipe:5" "8 x 130"
run explain --html two.pipe -o two.html; exits 0
check "a page of two pipelines" shows two.html "first" "total" "not predicted"
for example in camera_pipe bilateral_grid; do
    run explain --html "$examples/$example.pipe" -o "$example.html" -w; exits 0
    check "the page of $example" shows "$example.html" "$example.pipe"
done
cat >single.pipe <<'EOF'
pipeline single(img: float32[R, C], p: float32[4, C]) -> out: float32[R, C], one: float32[1] {
    lut(v in 0..256): float32 = sum(i in 0..100) exp2(-i) * float32(v * v) / 255
    bias() = (lut(0) + lut(255)) / 2 + max(i in 0..4) p(i, 0)
    out(y, x) = lut(clamp(int32(img(y, x)), 0, 255)) + bias() + img(y, x)
    one(z) = bias()
}
EOF
for strategy in stage otptb register_tile; do
    run explain --html --strategy $strategy single.pipe -o single.html; exits 0
    check "a page with single values" shows single.html "bias"
done
cat >steps.pipe <<'EOF'
pipeline steps(img: float32[R, C]) -> out: float32[R, C] {
    u[0] = img
    for i in 1..5 { u[i](y, x) = 0.5 * u[i - 1](clamp(y - 1, 0, R - 1), x) + 0.25 * u[i - 1](y, clamp(x + 1, 0, C - 1)) }
    out(y, x) = u[4](y, x) + 1
}
EOF
run explain --html --cost-model none steps.pipe -o steps.html; exits 0
check "equal kernels are folded" shows steps.html "u[1] and 2 equal" "2 more kernels like this one" "Kernel 4: out"
check "a folded kernel has no section" [ "$(grep -c '<section' steps.html)" -eq 2 ]
cp blur.pipe 'a<b>&"c.pipe'
run explain --html 'a<b>&"c.pipe' -o odd.html; exits 0
check "names are escaped" shows odd.html 'a<b>&"c.pipe'
run explain --html - -o stdin.html <blur.pipe; exits 0
check "standard input" shows stdin.html '<stdin>'

# For programs.
if command -v python3 >/dev/null; then
    run explain --json blur.pipe -o one.json --strategy otpw; exits 0; is_silent
    run explain --json two.pipe -o two.json; exits 0
    run explain --json "$examples/bilateral_grid.pipe" -o three.json -w; exits 0
    check "the members" python3 "$here/explain_json.py" "$here/../../docs/explain.md" one.json two.json three.json
fi
run explain --json --html blur.pipe; exits 2; says "exclude each other"
check "the page has the program's lines" grep -q 'rows(y, x) = half(y, x) + half(y + 1, x) + half(y + 2, x)' blur.html

# What is refused leaves no file.
run explain wrong.pipe -o none.txt; exits 1; says "[out-of-bounds]"; absent none.txt
run explain blur.pipe --tune-for Q=3 -o none.txt; exits 1; says 'there is no size `Q`'; absent none.txt
run explain blur.pipe --strategy otptb --block 24 -o none.txt; exits 1; says "[schedule]"; absent none.txt
run explain; exits 2; says "no input file"
run explain blur.pipe two.pipe; exits 2; says "one file is explained at a time"
run explain blur.pipe --htlm; exits 2; says 'did you mean `--html`?'
run explain blur.pipe --emit cuda; exits 2; says 'unknown option `--emit`'
run explain blur.pipe --gpu none; exits 2; says '`none` is no GPU that is known'
run explain blur.pipe --schedule blur.json --strategy otpw; exits 2; says "exclude each other"
run explain blur.pipe -o ''; exits 2; says "a file name is empty"
run explain missing.pipe; exits 3; says "missing.pipe"
run explain blur.pipe --schedule missing.json; exits 3; says "missing.json"
run explain blur.pipe -o nowhere/report.txt; exits 3; says "nowhere"
run explain blur.pipe -o ./blur.pipe; exits 2; says "would be overwritten"; check "the program is there" cmp blur.pipe copy.pipe
run explain blur.pipe --schedule blur.json -o blur.json; exits 2; says "would be overwritten"
if [ -w /dev/full ]; then run explain blur.pipe -o /dev/full; exits 3; fi
run explain --help; exits 0; prints "Usage: pipec explain"; prints "--html"
finish
