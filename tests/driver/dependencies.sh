#!/usr/bin/env bash
# Rules for make: -MMD -MD -MF -MT -MP.
source "$(dirname "$0")/lib.sh" "$1"

mkdir -p lib "odd dir"
printf 'fn half(x) = x / 2\n' >lib/half.pipe
printf 'import "half"\nfn quarter(x) = half(half(x))\n' >lib/quarter.pipe
printf 'import "quarter"\nimport "stencil"\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = quarter(img(x)) }\n' >p.pipe
rule() { cat <<<"$1" >.expected; check "the rule in $2" diff .expected "$2"; }

run -I lib -MMD p.pipe; exits 0; exists p.cu p.h p.d
rule 'p.cu p.h: \
  p.pipe \
  lib/quarter.pipe \
  lib/half.pipe' p.d

run -Ilib -MD -MFdeps.mk -MP -o x.cpp --header y.h p.pipe; exits 0; absent x.d
rule 'x.cpp y.h: \
  p.pipe \
  lib/quarter.pipe \
  lib/half.pipe

lib/quarter.pipe:

lib/half.pipe:' deps.mk

run -I lib -MMD -MF deps.mk -MT all -MTmore p.pipe; exits 0
check "own targets" grep -qx 'all more: .' deps.mk
run -I lib -fsyntax-only -MMD -MF check.d -MT checked p.pipe; exits 0
check "a check has dependencies too" grep -qx 'checked: .' check.d
run -I lib -MMD --emit ast -o p.ast p.pipe; exits 0
check "a step has dependencies too" grep -qx 'p.ast: .' p.d
rm -f p.d
run -I lib -MMD - -o p.cpp <p.pipe; exits 0; check "standard input is no file" [ "$(grep -c p.pipe p.d)" -eq 0 ]

# Not for a program with errors.
printf 'import "half"\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = hlf(img(x)) }\n' >bad.pipe
run -I lib -MMD bad.pipe; exits 1; absent bad.d bad.cu

# make understands the rule, whatever the names.
if command -v make >/dev/null; then
    cp lib/half.pipe "odd dir/ha\$lf #1.pipe"
    printf 'import "ha$lf #1"\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = half(img(x)) }\n' >"odd dir/p.pipe"
    printf 'q.cpp: ; echo made >made\n-include q.d\n' >Makefile
    run -MMD "odd dir/p.pipe" -o q.cpp; exits 0
    make -s q.cpp 2>.err; check "nothing to do at first" [ ! -e made ]
    touch -d '1 minute' "odd dir/ha\$lf #1.pipe"
    make -s q.cpp 2>.err; check "make sees that an import changed" [ -e made ]
fi
finish
