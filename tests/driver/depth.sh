#!/usr/bin/env bash
# Programs as deep as the limits admit compile, deeper ones are refused: nothing exhausts the stack, in no build.
source "$(dirname "$0")/lib.sh" "$1"

# repeated N TEXT: the text N times
repeated() { printf "$2%.0s" $(seq "$1"); }
# program DEFINITIONS
program() { printf 'pipeline p(a: float32[N]) -> out: float32[N] {\n%s\n}\n' "$1" >deep.pipe; }

program "out(x) = a(x)$(repeated 2000 ' + a(x)')"
run --target host deep.pipe; exits 0; is_silent; exists deep.cpp
program "out(x) = a(0$(repeated 2400 ' + x'))"
run deep.pipe; exits 1; says "[out-of-bounds]"
program "s = a; out = s$(repeated 2000 ' + s')"
run --target host deep.pipe; exits 0; is_silent
program "out(x) = a(x)$(repeated 3000 ' + a(x)')"
run deep.pipe; exits 1; says "expression-too-deep"
{
    echo "pipeline p(a: float32[N]) -> out: float32[N] { out = s400; s0 = a"
    for i in {1..400}; do echo "s$i(x) = s$((i - 1))(x)$(repeated 20 ' + 1')"; done
    echo "}"
} >deep.pipe
run deep.pipe; exits 1; says "[too-deep]"
program "out(x) = $(repeated 100000 '(')a(x)"
run deep.pipe; exits 1; says "nested-too-deeply"
finish
