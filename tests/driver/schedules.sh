#!/usr/bin/env bash
# --emit schedule, --schedule, --strategy and the options that change groups.
source "$(dirname "$0")/lib.sh" "$1"
cat >blur.pipe <<'EOF'
pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    rows(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)
    out(y, x) = rows(y, x) + rows(y, x + 1) + rows(y, x + 2)
}
pipeline flip(a: float32[N]) -> o: float32[N] {
    twice(x) = sqrt(a(x)) + exp(a(x)) + sin(a(x)) + cos(a(x)) + a(N - 1 - x)
    o(x) = twice(x) + twice(N - 1 - x)
}
EOF
lines() { check "$1 lines with: $2" [ "$(grep -cF -- "$2" "${3-.out}")" -eq "$1" ]; }

# The default, written and read again, gives the same code. Without a cost model each stage has a group.
run --emit schedule --cost-model none blur.pipe; exits 0; is_silent; lines 4 '"strategy": "stage"'; prints '"version": 2'
cp .out stage.json
run --emit schedule --gpu h100 blur.pipe; exits 0; is_silent; prints '"stages": ["rows", "out"]'
run --emit schedule -o default.json blur.pipe; exits 0
run --emit schedule --schedule default.json blur.pipe; exits 0; check "a round trip" diff .out default.json
run --emit cuda blur.pipe; cp .out default.cu
run --emit cuda --schedule default.json blur.pipe; exits 0; check "the same code" same_code .out default.cu

# A strategy: as much in a kernel as can be.
run --emit schedule --strategy otpw blur.pipe; exits 0; prints '"stages": ["rows", "out"]'; prints '"stages": ["o"]'
lines 3 '"strategy": "otpw"'
cp .out otpw.json
run --emit cuda --strategy otpw blur.pipe; cp .out otpw.cu; prints "__syncwarp();"
run --emit cuda --schedule otpw.json blur.pipe; check "a trial and its file are one" same_code .out otpw.cu
run --emit kernel --schedule otpw.json blur.pipe; exits 0; prints "barrier warp"
run --emit schedule --strategy stage blur.pipe; check "a strategy that is no model" diff .out stage.json
run --emit schedule --strategy otptb --tile 2x4 --block 16x16 --vector 2 --load-cache ca blur.pipe; exits 0
prints '"tile": [2, 4, 1]'; prints '"block": [16, 16, 1]'; prints '"vector": 2'; lines 3 '"load_cache": "ca"'
lines 2 '"strategy": "stage"' # a block of two dimensions is of no use for `flip`
run --emit schedule --strategy otptb --tile 1 --tile 3 blur.pipe; prints '"tile": [3, 1, 1]' # the last one counts

# Stages that would make tiles overlap too much stay out of a group.
cat >chain.pipe <<'EOF'
pipeline chain(img: float32[R + 8]) -> out: float32[R] {
    a(x) = img(x) + img(x + 1) + img(x + 2)
    b(x) = a(x) + a(x + 1) + a(x + 2)
    c(x) = b(x) + b(x + 1) + b(x + 2)
    out(x) = c(x) + c(x + 1) + c(x + 2)
}
EOF
fused() { run --emit schedule --strategy otptb --block 32 --tile 1 "$@" chain.pipe; exits 0; is_silent; }
fused; prints '"stages": ["a", "b", "c", "out"]'
fused --overlap-threshold 0.1; prints '"stages": ["a", "b", "c", "out"]' # 2 + 4 + 6 points of 4 * 32
fused --overlap-threshold 0.08; prints '"stages": ["a", "b", "c"]'; prints '"stages": ["out"]'
fused --overlap-threshold 0.05; prints '"stages": ["a", "b"]'; prints '"stages": ["c", "out"]'
fused --overlap-threshold 0; lines 4 '"strategy": "otptb"'

# Options change the groups of a file, where these have them.
run --emit schedule --schedule otpw.json --tile 4x16 blur.pipe; exits 0; lines 3 '"tile": [4, 16, 1]'
run --emit cuda --load-cache cg blur.pipe; exits 0; prints "__ldcg("
run --emit schedule --cost-model none --tile 4x16 blur.pipe; exits 1; says "\`--tile\` would change nothing"
run --emit schedule --schedule otpw.json --split y blur.pipe; exits 1; says "\`--split\` would change nothing"

# Rows of inputs may come through shared memory, which is limited.
run --emit schedule --strategy register_tile --tile 4x4 --prefetch 4 blur.pipe; exits 0; prints '"prefetch": 4'
run --emit cuda --strategy register_tile --tile 4x4 --prefetch 4 blur.pipe; exits 0; prints "copy_async<16>("
run --emit cuda --strategy register_tile --tile 4x4 --prefetch 4 --load-cache cg blur.pipe; prints "copy_async<16, false>("
run --emit cuda --strategy register_tile --tile 4x4 blur.pipe; exits 0; check "no copies" sh -c '! grep -q copy_async .out'

# What else decides the speed of a kernel is left to the compiler, unless somebody chooses it. --pin writes what it was.
run --emit schedule --strategy register_tile blur.pipe; exits 0; check "nothing is chosen" sh -c '! grep -q min_blocks .out'
run --emit cuda --strategy register_tile blur.pipe; cp .out tile.cu
run --emit schedule --pin --strategy register_tile blur.pipe; exits 0; is_silent
for choice in '"block_order": "xyz"' '"edge_tiles": "first"' '"min_blocks": ' '"edges": "' '"access_widths": "all"'; do prints "$choice"; done
prints '"direction": "forward"'; cp .out pinned.json
run --emit cuda --schedule pinned.json blur.pipe; exits 0; check "what is pinned is what was decided" same_code .out tile.cu
run --emit schedule --pin --schedule pinned.json blur.pipe; check "pinned once" cmp .out pinned.json
run --emit schedule --schedule pinned.json --tile 2x2 blur.pipe; exits 0; lines 0 '"min_blocks"'; lines 0 '"edges"'; prints '"edge_tiles"'
run --emit schedule --schedule pinned.json --tile 2x2 --min-blocks 3 blur.pipe; prints '"min_blocks": 3'
run --emit schedule --schedule pinned.json --edges auto blur.pipe; exits 0; lines 0 '"edges"'
run --emit schedule --pin --cost-model none blur.pipe; exits 0; prints '"threads": [32, 8]'; prints '"columns": 4'; prints '"min_blocks": 0'
cp .out pinned.json
run --emit cuda --cost-model none blur.pipe; cp .out stage.cu
run --emit cuda --schedule pinned.json blur.pipe; check "the shape of single stages, too" same_code .out stage.cu
run --emit plan --strategy register_tile blur.pipe; exits 0; prints "  choices: block_order xyz, edge_tiles first, direction forward, min_blocks "
run --emit plan --cost-model none blur.pipe; exits 0; prints "  choices: min_blocks 0, threads 32x8, columns 4"
run explain --strategy otpw --direction backward --min-blocks 2 blur.pipe; exits 0; prints "direction backward, min_blocks 2"
run --emit cuda --strategy otptb --min-blocks 3 blur.pipe; exits 0; prints "__launch_bounds__(256, 3)"
run --emit cuda --cost-model none --threads 64x2 --columns 2 --min-blocks 5 blur.pipe; exits 0; prints "__launch_bounds__(128, 5)"
differ() { ! same_code "$1" "$2"; }
other_code() { # PROGRAM OPTIONS CHOICE: the choice makes other code, which says where it is from
    run --emit cuda $2 "$1"; cp .out usual.cu
    run --emit cuda $2 $3 "$1"; exits 0; prints "// Options: $2 $3"
    check "$3 makes a difference" differ .out usual.cu
}
cat >clamped.pipe <<'EOF'
pipeline clamped(img: float32[R, C]) -> out: float32[R, C] {
    rows(y, x) = img(clamp(y - 1, 0, R - 1), x) + img(y, x)
    out(y, x) = rows(y, clamp(x - 1, 0, C - 1)) + rows(y, x)
}
EOF
other_code clamped.pipe "--strategy otptb" "--edge-tiles in_order"
other_code blur.pipe "--strategy otptb" "--block-order yxz"
other_code blur.pipe "--strategy register_tile" "--edges sliced_late"
other_code blur.pipe "--strategy register_tile" "--access-widths few"
other_code blur.pipe "--strategy otpw" "--direction backward"
cat >bytes.pipe <<'EOF'
pipeline bytes(img: uint8[R + 2, C + 2]) -> out: uint8[R, C] {
    rows(y, x) = uint16(img(y, x)) + 2 * img(y + 1, x) + img(y + 2, x)
    out(y, x) = uint8((rows(y, x) + 2 * rows(y, x + 1) + rows(y, x + 2)) / 16)
}
EOF
other_code bytes.pipe "--strategy register_tile" "--packed false"
run --emit schedule --pin --strategy register_tile bytes.pipe; exits 0; prints '"packed": true'
run --emit schedule --pin --strategy register_tile --packed false bytes.pipe; exits 0; prints '"packed": false'
run --pin blur.pipe; exits 2; says "\`--pin\` is for \`--emit schedule\`"

# Windows of rows in shared memory.
run --emit schedule --strategy stream --block 64x2 --tile 1x8 blur.pipe; exits 0
prints '"strategy": "stream"'; prints '"block": [64, 2, 1]'; prints '"tile": [1, 8, 1]'
cp .out stream.json
run --emit cuda --strategy stream --block 64x2 --tile 1x8 blur.pipe; cp .out stream.cu
run --emit cuda --schedule stream.json blur.pipe; check "a march and its file are one" same_code .out stream.cu
run --emit kernel --schedule stream.json blur.pipe; exits 0; prints "for step"; prints "barrier block"
run --emit plan --schedule stream.json blur.pipe; exits 0; prints "march along y: "; prints ", window of "
run --emit plan --strategy hybrid blur.pipe; exits 0; prints "hybrid tile, split along"; prints "iterations stay in registers"
run --emit plan --strategy register_tile --prefetch 2 blur.pipe; exits 0; prints "2 rows fetched ahead"
run --emit plan --strategy otpw --tile 4x8 --vector 4 blur.pipe; exits 0; prints "where arrays are not aligned for that"
run --emit plan --cost-model none blur.pipe; exits 0; prints "through global memory, without tiles"
sed 's/"block": \[64, 2, 1\]/"block": [31, 2, 1]/' stream.json >odd.json
run --emit plan --schedule odd.json blur.pipe; exits 1; says "\`stream\` is impossible for the group of \`rows\`: 31 threads"
refused_field() { run --schedule "$1" blur.pipe -o new.cu; exits 1; says "$2"; absent new.cu; }
sed '0,/"strategy": "stream",/s//"strategy": "stream", "vector": 4,/' stream.json >vector.json
refused_field vector.json "the strategy \`stream\` has no \`vector\`"

# It reaches objects and the code on disk, and make knows the file.
run --schedule otpw.json -MMD blur.pipe; exits 0; exists blur.cu blur.h; check "a kernel of warps" grep -q __syncwarp blur.cu
check "make knows the schedule" grep -qx '  otpw.json' blur.d
printf '#!/bin/sh\n[ "$1" = --list-gpu-code ] && exec echo sm_80\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && o=$2; shift; done\ncp "$1" "$o"\n' >nvcc
chmod +x nvcc
for kind in -c -shared; do
    run $kind --nvcc ./nvcc -arch=sm_80 --strategy otpw --keep -o object.bin blur.pipe; exits 0
    check "$kind: the object is made of warps' tiles" grep -q __syncwarp object.bin
done
run --schedule otpw.json -o otpw.json blur.pipe; exits 2; says "\`otpw.json\` would be overwritten"
run -fsyntax-only --schedule otpw.json blur.pipe; exits 0; is_silent

# What is wrong with options.
refused() { local code=$1 words=$2; shift 2; run "$@" -o new.cu blur.pipe; exits "$code"; says "$words"; absent new.cu new.h; }
refused 2 "\`--strategy otpx\`: \`otpx\` is no strategy; did you mean \`otpw\`?" --strategy otpx
refused 2 "there are: stage, otptb, otpw, hybrid, register_tile, stream" --strategy fast
refused 2 "\`--tile 0\`: 0 is not between 1 and 4096" --strategy otpw --tile 0
refused 2 "at most three sizes" --strategy otpw --tile 1x1x1x1
refused 2 "\`1.5\` is no integer" --strategy otpw --tile 1.5
refused 2 "\`\` is no integer" --strategy otpw --tile 4x
refused 2 "2048 is not between 1 and 1024" --strategy otpw --block 2048
refused 2 "3 is no power of two" --strategy otpw --vector 3
refused 2 "\`w\` is no dimension; there are: x, y, z" --strategy hybrid --split w
refused 2 "2 is not between 0 and 1" --strategy hybrid --frac-reg 2
refused 2 "\`half\` is no number" --strategy hybrid --frac-reg half
refused 2 "nan is not between 0 and 1" --strategy hybrid --frac-reg nan
refused 2 "65 is not between 0 and 64" --strategy register_tile --prefetch 65
refused 2 "the strategy \`otpw\` has no \`--prefetch\`" --strategy otpw --prefetch 2
refused 2 "there are: default, ca, cg" --load-cache l2
refused 2 "\`--block-order zz\`: \`zz\` is not a value of \`block_order\`; there are: auto, xyz, xzy" --block-order zz
refused 2 "there are: auto, first, in_order" --edge-tiles last
refused 2 "there are: auto, forward, backward" --direction up
refused 2 "33 is not between 0 and 32" --min-blocks 33
refused 2 "there are: auto, true, false" --packed yes
refused 2 "there are: auto, whole, sliced, whole_late, sliced_late" --edges none
refused 2 "there are: auto, all, few" --access-widths 8
refused 2 "at most two sizes" --threads 8x8x8
refused 2 "3 is no power of two" --columns 3
refused 2 "the strategy \`otpw\` has no \`--packed\`" --strategy otpw --packed true
refused 2 "\`--overlap-threshold -1\`: it is not negative" --strategy otptb --overlap-threshold -1
refused 2 "\`--overlap-threshold\` is for a \`--strategy\` that fuses" --overlap-threshold 0.2
refused 2 "\`--overlap-threshold\` is for a \`--strategy\` that fuses" --strategy stage --overlap-threshold 0.2
refused 2 "\`--overlap-threshold\` is for a \`--strategy\` that fuses" --strategy otpw --cost-model time --overlap-threshold 0.2
refused 2 "the strategy \`otpw\` has no \`--frac-reg\`" --strategy otpw --frac-reg 0.5
refused 2 "\`--schedule\` and \`--strategy\` exclude each other" --strategy otpw --schedule otpw.json
refused 2 "\`--schedule\` needs the name of a file" --schedule -
run --target host --emit schedule blur.pipe -o host.json; exits 0
run --target host --schedule host.json blur.pipe -o scheduled.cpp; exits 0
# The processor that costs are counted for.
run --target host --emit schedule blur.pipe; cp .out default.json
run --target host --cpu x86-64-v3 --emit schedule blur.pipe; exits 0; is_silent; check "the default CPU" cmp .out default.json
cat >my.toml <<'EOF2'
name = "My CPU"
vector_bytes = 16
vectors_per_ns = 1
core_cache_kb = 16
last_cache_kb = 64
cache_gb_per_s = 2
memory_gb_per_s = 1
row_ns = 1
tile_ns = 1
stage_ns = 1
EOF2
run --target host --cpu my.toml --emit schedule blur.pipe; exits 0; is_silent
check "another CPU has other tiles" sh -c '! cmp -s .out default.json'
run --target host --cpu my.toml -MMD blur.pipe; exits 0; check "make knows the CPU" grep -qx '  my.toml' blur.d
run --target host --cpu native --emit schedule blur.pipe; exits 0; is_silent
sed -i 's/^row_ns.*/row_ns = "one"/' my.toml
run --target host --cpu my.toml --emit schedule blur.pipe; exits 1; says "my.toml:8:10: \`row_ns\` is a positive finite number"
run --target host --cpu z80 blur.pipe; exits 2
says "\`z80\` is no CPU that is known, and no name of a file (with .toml or a /); there are: x86-64-v2, x86-64-v3, x86-64-v4, native"
run --cpu x86-64-v3 blur.pipe; exits 2; says "\`--cpu\` is for the target host"
run --target host --cpu x86-64-v3 --emit pipeline blur.pipe; exits 2; says "\`--cpu\` is for code, and for \`--emit schedule\`"
run --target host --pin --emit schedule blur.pipe; exits 2; says "\`--pin\` is for the target cuda"
sed 's/"otptb"/"otpw"/; s/"stage"/"otpw"/' host.json >gpu.json
run --target host --schedule gpu.json blur.pipe -o refused.cpp; exits 1; says 'the host has the strategies `stage` and `otptb`'
run --target host --tile 4 blur.pipe; exits 2; says "\`--tile\` is for the target cuda"
run --emit domains --schedule otpw.json blur.pipe; exits 2; says "\`--schedule\` is for code"
run run blur.pipe --strategy otpw --split x; exits 2; says "has no \`--split\`"
run run blur.pipe --tile 0; exits 2; says "0 is not between"

# The GPU is what code must fit, whoever chose the schedule.
run --emit cuda --schedule otpw.json --gpu t4 blur.pipe; exits 0; check "a schedule is the same for all GPUs" same_code .out otpw.cu
run --emit cuda --strategy otpw --gpu t4 blur.pipe; exits 0; check "so is a strategy" same_code .out otpw.cu
run --emit schedule --cost-model none --gpu t4 blur.pipe; exits 0; check "and no fusion" diff .out stage.json
wide() { run --emit schedule --strategy otptb --block 32x32 --tile 4x4 --gpu $1 blur.pipe; exits 0; cp .out wide.json; }
wide h100; prints '"stages": ["rows", "out"]'
run --emit cuda --schedule wide.json blur.pipe; exits 0; prints "launch<"
run --schedule wide.json --gpu t4 -MMD blur.pipe; exits 1
says "its tiles take 66560 bytes of shared memory, but a block of NVIDIA T4 has 65536"
run -fsyntax-only --schedule wide.json --gpu t4 blur.pipe; exits 1; says "a block of NVIDIA T4 has 65536"
wide t4; prints '"stages": ["rows"]'
run --schedule otpw.json --gpu h300 blur.pipe; exits 2; says "\`h300\` is no GPU that is known"
run --target host --gpu t4 blur.pipe; exits 2; says "\`--gpu\` is for the target cuda"
run --emit domains --gpu t4 blur.pipe; exits 2; says "\`--gpu\` is for code"

# Generated code says where it comes from, and not in which directory that was.
mkdir -p deep; cp otpw.json deep; run --emit cuda --schedule "$PWD/deep/otpw.json" --deterministic --gpu t4 blur.pipe; exits 0
prints "// blur.pipe for CUDA, made for NVIDIA T4. Generated by pipec $("$pipec" --version | cut -d' ' -f2)."
prints "// Options: --deterministic --schedule otpw.json"; prints "// Schedule: the file otpw.json"
check "no directory" sh -c '! grep -q deep .out'
run --emit cuda --strategy otpw --tile 2x1 blur.pipe; prints "// Options: --strategy otpw --tile 2x1x1"
prints "// Schedule: as many stages in a kernel as strategy otpw can compute"
run --emit cuda --cost-model none blur.pipe; prints "// Schedule: a kernel for each stage that is not inlined"
run --emit cuda blur.pipe; prints "// Schedule: cost model time"; check "no options" sh -c '! grep -q Options: .out'
run --emit host blur.pipe; prints "// blur.pipe for the host. Generated by pipec "; check "no schedule" sh -c '! grep -q Schedule: .out'

# What is wrong with files.
printf '{"version": 1, "pipelines": {"blur": {"inlined": [], "groups": [{"stages": ["rows", "out"],\n' >ahead.json
printf '"strategy": "register_tile", "block": [32, 32, 1], "tile": [4, 16, 1], "prefetch": 18}]}}}' >>ahead.json
refused 1 "the rows that are fetched ahead take 294912 bytes of shared memory, but a block of NVIDIA H100 SXM has 232448" --schedule ahead.json
run --emit cuda --schedule ahead.json --prefetch 9 blur.pipe; exits 0; prints "launch<147456>("
refused 3 "cannot read \`none.json\`" --schedule none.json
printf '{\n  "version": 1,\n  oops\n' >broken.json
refused 1 "broken.json:3:3: this is no JSON" --schedule broken.json
sed 's/"version": 2/"version": 7/' otpw.json >new.json
refused 1 "new.json: version: this is 7, but must be 1 or 2" --schedule new.json
sed 's/"version": 2/"version": 1/' otpw.json >old.json
run --emit cuda --schedule old.json blur.pipe; exits 0; check "a file of version 1" same_code .out otpw.cu
sed 's/"rows", "out"/"rows", "ouch"/' otpw.json >names.json
refused 1 "names.json: pipelines.blur.groups[0].stages[1]: \`blur\` has no stage \`ouch\`" --schedule names.json
good_program other.pipe; sed -i 's/blur/other/' other.pipe
run -fsyntax-only --schedule otpw.json other.pipe; exits 1; says "otpw.json: pipelines: \`blur\` is unknown here"

# A single value in a tile, which has no row that vectors could be read from.
cat >gain.pipe <<'EOF'
pipeline p(img: float32[R, C], w: float32[4]) -> out: float32[R, C] {
    gain() = max(i in 0..4) w(i)
    out(y, x) = img(y, x) * gain() + sqrt(gain())
}
EOF
for strategy in otptb otpw; do
    echo '{"version": 1, "pipelines": {"p": {"inlined": [], "groups": [{"stages": ["gain", "out"],
        "strategy": "'$strategy'", "block": [32, 8, 1], "tile": [4, 2, 1], "vector": 4}]}}}' >gain.json
    run --emit kernel --schedule gain.json gain.pipe; exits 0; prints "gain_tile"
done

# What code generation refuses.
refused 1 "\`otpw\` is impossible for every stage: 24 threads" --strategy otpw --block 24x1
sed 's/"stages": \["twice"\]/"stages": ["twice", "o"]/; /"stages": \["o"\]/,/^ *}/d' otpw.json |
    tr -d '\n' | sed 's/, *{ *\]/]/; s/, *{ *,/,/' >illegal.json
refused 1 "the schedule is in illegal.json" --schedule illegal.json
run -fsyntax-only --diagnostics-format json --strategy otpw --block 24x1 blur.pipe; exits 1; says '"id": "schedule"'
finish
