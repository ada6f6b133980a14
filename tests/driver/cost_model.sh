#!/usr/bin/env bash
# --cost-model, --gpu, --tune-for and --list-gpus.
source "$(dirname "$0")/lib.sh" "$1"
cat >blur.pipe <<'EOF2'
pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    rows(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)
    out(y, x) = rows(y, x) + rows(y, x + 1) + rows(y, x + 2)
}
pipeline flip(a: float32[N]) -> o: float32[N] {
    twice(x) = sqrt(a(x)) + exp(a(x)) + sin(a(x)) + cos(a(x)) + a(N - 1 - x)
    o(x) = twice(x) + twice(N - 1 - x)
}
EOF2

run --list-gpus; exits 0; prints "v100 "; prints "NVIDIA H100 SXM, compute capability 9.0"

# What is fused, and what cannot be; the same each time, and as a file.
run --cost-model paper --gpu v100 --emit schedule blur.pipe; exits 0; is_silent
prints '"stages": ["rows", "out"]'; prints '"stages": ["twice"], "strategy": "stage"'
cp .out v100.json
run --cost-model paper --gpu v100 --emit schedule blur.pipe; check "the same again" cmp .out v100.json
run --cost-model paper --gpu v100 --emit cuda blur.pipe; exits 0; cp .out v100.cu; prints "__syncwarp();"
run --schedule v100.json --emit cuda blur.pipe; check "the schedule as a file" same_code .out v100.cu
run --cost-model paper --gpu v100 --block 32x4 --tile 2x4 --emit schedule blur.pipe; exits 0
prints '"block": [32, 4, 1]'; prints '"tile": [2, 4, 1]'
run --cost-model paper --gpu v100 --tune-for R=512,C=512,N=100 --emit schedule blur.pipe; exits 0; is_silent
check "sizes matter" test "$(cat .out)" != "$(cat v100.json)"
run --cost-model paper -fsyntax-only blur.pipe; exits 0; is_silent
run --emit cuda blur.pipe; cp .out default.cu; run --emit cuda --gpu h100 blur.pipe; check "the default GPU" cmp .out default.cu

# One strategy, where the model finds it worth its while; what else is given is not the model's to choose.
for strategy in otptb otpw hybrid register_tile; do
    run --cost-model time --gpu h100 --strategy $strategy --emit schedule blur.pipe; exits 0; is_silent
    prints "\"strategy\": \"$strategy\""
    check "$strategy and no other" sh -c "! sed 's/\"stage\"//; s/\"$strategy\"//' .out | grep -q '\"strategy\": \"'"
done
run --cost-model time --gpu h100 --strategy stage --emit schedule blur.pipe; exits 0
check "stages alone" sh -c "! grep '\"strategy\"' .out | grep -qv stage"
for part in 0.25 1; do
    run --cost-model time --gpu h100 --strategy hybrid --frac-reg $part --emit schedule blur.pipe; exits 0
    prints "\"frac_reg\": $part"
done
run --cost-model paper --gpu v100 --strategy otpw --emit schedule blur.pipe; exits 0; prints '"strategy": "otpw"'
run --cost-model time --gpu h100 --strategy otptb --tile 8x8 --tune-for R=4096,C=4096 --emit schedule blur.pipe; exits 0
prints '"tile": [8, 8, 1]'

# A GPU of one's own; make knows its file.
cat >my.toml <<'EOF2'
name = "My GPU"
compute_capability = "8.0"
sms = 10
cores_per_sm = 64
warps_per_sm = 64
blocks_per_sm = 32
registers_per_sm = 65536
registers_per_thread = 255
shared_per_sm_kb = 100
shared_per_block_kb = 99
clock_mhz = 1500
l2_kb = 1024
dram_gb_per_s = 100
EOF2
run --cost-model paper --gpu my.toml -MMD blur.pipe; exits 0; exists blur.cu blur.h
check "make knows the GPU" grep -qx '  my.toml' blur.d
run --cost-model paper --gpu my.toml --emit cuda -o ./my.toml blur.pipe; exits 2; says "my.toml\` would be overwritten"

refused() { local code=$1 words=$2; shift 2; run "$@" -o new.cu blur.pipe; exits "$code"; says "$words"; absent new.cu new.h; }
sed -i 's/^sms.*/sms = "ten"/' my.toml
refused 1 "my.toml:3:7: \`sms\` is a positive whole number" --cost-model paper --gpu my.toml
refused 3 "none.toml" --cost-model paper --gpu none.toml
refused 2 "\`h300\` is no GPU that is known, and no name of a file (with .toml or a /); there are: a100, b200, gtx1080ti, h100, h200, l4, rtx4090, t4, v100, native" --cost-model paper --gpu h300
refused 2 "\`best\` is no cost model; there are: time, paper, none" --cost-model best
refused 2 "\`--tune-for\` is for a cost model, and there is none" --cost-model none --tune-for R=10
refused 1 "\`--tune-for\`: there is no size \`Q\`" --cost-model paper --gpu v100 --tune-for R=10,Q=10
for wrong in R "R=" "R=x" "R=0" "R=-1" "R=1073741824" "=5" "R=5," ""; do
    refused 2 "is not the name of a size, =, and a positive integer" --cost-model paper --tune-for "$wrong"
done
refused 2 "\`--cost-model\` and \`--strategy\` exclude each other" --cost-model none --strategy otpw
refused 2 "the cost model \`paper\` knows nothing of \`otptb\`" --cost-model paper --strategy otptb
refused 2 "the cost model \`time\` knows nothing of \`stream\`" --cost-model time --strategy stream
refused 2 "the strategy \`otpw\` has no \`--frac-reg\`" --cost-model time --strategy otpw --frac-reg 0.5
refused 2 "\`--cost-model\` and \`--schedule\` exclude each other" --cost-model paper --schedule v100.json

# Costs are counted with sizes that the program admits.
cat >where.pipe <<'EOF'
pipeline f(img: float32[N, R, C], small: float32[R - 5000]) -> out: float32[N, R, C] where N <= 4, C % 1000 == 7 {
    out(n, y, x) = img(n, y, x) + small(0)
}
EOF
run explain --gpu h200 where.pipe; exits 0; prints "N = 4, R = 5001, C = 3007"
run explain --gpu h200 --tune-for N=2,R=6000 where.pipe; exits 0; prints "N = 2, R = 6000, C = 3007"
run --gpu h200 --tune-for N=5 where.pipe; exits 1; says "\`--tune-for\`: \`f\` does not admit these sizes: where N <= 4"
run explain --gpu h200 --tune-for C=1000 where.pipe; exits 1; says "where C % 1000 == 7"
run --cost-model paper --target host blur.pipe; exits 2; says "\`--cost-model\`"; absent blur.cpp
finish
