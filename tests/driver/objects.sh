#!/usr/bin/env bash
# -c and -shared with the system's C++ compiler: what appears, what it contains, what happens when the compiler fails.
source "$(dirname "$0")/lib.sh" "$1"
unset CXX
export TMPDIR=$directory/.tmp
# The temporary files of a compilation are gone, whatever happened.
tidy() { check "no temporary file stays" [ -z "$(ls -A "$TMPDIR")" ]; }
start() { fresh; mkdir "$TMPDIR"; good_program; }
host() { run --target host "$@"; tidy; }

start
host -c good.pipe -O1; exits 0; is_silent; only .tmp good.pipe good.o good.h
check "the object defines the pipeline" bash -c "nm good.o | grep -q 'T blur_launch'"
cp good.o first.o; host -c good.pipe -O1
check "the same object every time" cmp good.o first.o
cat >main.c <<'END'
#include "good.h"
int main(void) {
    float img[3] = {1, 2, 6}, out[1] = {0};
    blur_args args;
    blur_defaults(&args);
    args.img = img, args.img_extent[0] = 3, args.img_extent[1] = 1, args.out = out;
    return blur_workspace_size(&args) == 0 && blur_launch(&args, 0, 0, 0) == PIPE_OK && out[0] == 3 ? 0 : 1;
}
END
check "it links" c++ -x c main.c -x none good.o -fopenmp -o main
check "and computes" ./main
# Versions for processors with wider vectors, where g++ and glibc have them.
if [ "$(uname -m)" = x86_64 ] && c++ -dM -E -x c++ /dev/null | grep -Eq '__GNUC__ (1[2-9]|[2-9][0-9])$'; then
    cat >wide.pipe <<'END'
pipeline wide(img: float32[R + 2, C]) -> out: float32[R, C] { out(y, x) = img(y, x) * 3 + img(y + 2, x) * 5 }
END
    host -c wide.pipe; exits 0; check "versions" bash -c "nm wide.o | grep -q arch_x86_64_v3 && nm wide.o | grep -q arch_x86_64_v4"
    host -c wide.pipe -Xcxx -ffp-contract=fast; exits 0
    check "none contracts" bash -c "! objdump -d wide.o | grep -Eq 'vfn?m(add|sub)'"
    check "all have vectors" bash -c "objdump -d wide.o | grep -q ymm && objdump -d wide.o | grep -q zmm"
    cat >least.pipe <<'END'
pipeline least(a: uint8[R + 2, C]) -> out: uint8[R, C] {
    out(y, x) = max(min(a(y, x), a(y + 1, x)), min(max(a(y, x), a(y + 1, x)), a(y + 2, x)))
}
END
    host -c least.pipe -Xcxx -DPIPE_NO_VERSIONS; exits 0
    check "min and max are vectors" bash -c "objdump -d least.o | grep -q pminub && objdump -d least.o | grep -q pmaxub"
    host -c wide.pipe -Xcxx -DPIPE_NO_VERSIONS; exits 0; check "none" bash -c "! nm wide.o | grep -q arch_x86_64"
    host -c wide.pipe -Xcxx -march=haswell; exits 0; check "one" bash -c "! nm wide.o | grep -q arch_x86_64"
fi

start; mkdir out include
host -c -O0 good.pipe -o out/x.o --header include/api.h; exits 0; exists out/x.o include/api.h; absent out/x.h
host -shared -O0 good.pipe; exits 0; exists good.so good.h
check "a shared object exports the pipeline" bash -c "nm -D good.so | grep -q 'T blur_launch'"
host -c -O0 - -o y.o <good.pipe; exits 0; exists y.o y.h
host -c -O0 good.pipe -o z.o --keep; exits 0; exists z.o z.h z.cpp
check "the code that stays finds its header" grep -qxF '#include "z.h"' z.cpp
host -c -O0 -g good.pipe -o out/g.o --header include/api.h -save-temps; exits 0
check "the code that stays finds a header elsewhere" grep -qxF '#include "../include/api.h"' out/g.cpp
check "the code that stays is what debuggers find" grep -qF "$directory/out" out/g.o

# Rules for make name every output.
mkdir lib; printf 'fn half(x) = x / 2\n' >lib/half.pipe
printf 'import "half"\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = half(img(x)) }\n' >p.pipe
host -I lib -c -O0 -MMD -MP p.pipe; exits 0
printf 'p.o p.h: \\\n  p.pipe \\\n  lib/half.pipe\n\nlib/half.pipe:\n' >expected; check "the rule" diff expected p.d
host -I lib -c -O0 -MMD -MF deps.mk -MT all --keep --header q.h p.pipe; exits 0; check "an own target" grep -q '^all: ' deps.mk
host -I lib -c -O0 -MMD --keep --header q.h p.pipe; check "all three" grep -q '^p.o q.h p.cpp: ' p.d

# What would run, and what runs.
start
host '-###' -c good.pipe -o "a b.o" -O2 -g; exits 0; only .tmp good.pipe
says "c++ -std=c++17 -O2 "; says " -fPIC -g -c -o '"; says "/a b.o' '"
host -v -c -O0 good.pipe; exits 0; says "c++ -std=c++17 -O0 "; exists good.o
host '-###' -c missing.pipe --cxx "ccache no-such-compiler" -fno-PIC; exits 0; says "ccache no-such-compiler -std=c++17"
check "without -fPIC" [ "$(grep -c -- -fPIC .err)" -eq 0 ]
CXX="env MARK=1 c++" host '-###' -c good.pipe; says "env MARK=1 c++ -std"
host -c -O0 good.pipe -Xcxx -DX -Xcxx -Wno-all -v; exits 0; says " -DX -Wno-all -o "
host -c -O0 good.pipe -Xcxx '-Wp,-D,Y' -Xcxx '-Werror=unused-macros'; exits 0

# The compiler fails: its code, what it said, and everything stays as it was.
start
for file in good.o good.h good.d good.cpp; do echo old >$file; done
unchanged() { check "all is as it was" bash -c 'cat good.o good.h good.d good.cpp | uniq -c | grep -qx " *4 old"'; tidy; }
host -c good.pipe -MMD --keep -Xcxx -fno-such-flag; exits 5; unchanged
says "pipec: error: the C++ compiler \`c++\` failed with exit code 1 on the code that pipec generated"; says "-fno-such-flag"
host -c good.pipe --cxx ./no-such-compiler; exits 5; unchanged
says "cannot start the C++ compiler \`./no-such-compiler\`: No such file or directory"; says "\`--cxx COMMAND\`"
host -c good.pipe --cxx true; exits 5; says "wrote no object"; unchanged
host -c good.pipe --header nowhere/x.h; exits 3; unchanged
bad_program; host -c bad.pipe -o good.o --cxx ./no-such-compiler; exits 1; says "unknown name"; unchanged
printf '#!/bin/sh\nfor i in $(seq 100); do echo line $i; done; exit 7\n' >fails; chmod +x fails
host -c good.pipe --cxx ./fails; exits 5; says "exit code 7"; says "    line 30"; says "and 70 lines more"; unchanged
TMPDIR=$directory/nowhere run --target host -c good.pipe; check "also without a place for temporary files" [ $status -ne 4 ]
host -c good.pipe -o good.pipe; exits 2; says "would be overwritten"; good_program copy; check "the program stays" cmp copy good.pipe

# The command line.
host -c -shared good.pipe; exits 2; says "exclude each other"
host -c -fsyntax-only good.pipe; exits 2
host -c --emit ast good.pipe; exits 2
host -c good.pipe -o -; exits 2; says "standard output"
host -c good.pipe -o x.cpp; exits 2; says "is the name of code"
host -c good.pipe -O4; exits 2; says "0, 1, 2, 3"
host -c good.pipe -arch=sm_80; exits 2; says "\`-arch\` is for the target cuda"
host -c good.pipe -Xnvcc -x; exits 2; says "\`-Xnvcc\` is for the target cuda"
run good.pipe -arch=sm_80; exits 2; says "needs \`-c\`"
run good.pipe --keep; exits 2; says "need \`-c\`"
for list in sm_ sm80 80 native,sm_80 sm_80, ,sm_80 sm_80x sm_99999 compute_ all,all; do
    run -c good.pipe "-arch=$list"; exits 2; says "\`$list\` is not a value of \`-arch\`"
done
finish
