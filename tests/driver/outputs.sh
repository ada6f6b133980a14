#!/usr/bin/env bash
# Which files appear, what is in them, and that nothing half-written stays.
source "$(dirname "$0")/lib.sh" "$1"

# Defaults: beside where the compiler was called, like a C compiler.
mkdir sub
good_program sub/blur.pipe
run sub/blur.pipe; exits 0; is_silent; exists blur.cu blur.h; absent blur.cpp
check "the code includes its header" grep -qxF '#include "blur.h"' blur.cu
fresh; mkdir sub; good_program sub/blur.pipe
run --target host sub/blur.pipe; exits 0; is_silent; exists blur.cpp blur.h; absent blur.cu
check "the code includes its header" grep -qxF '#include "blur.h"' blur.cpp
check "one run is as the next" bash -c "cp blur.cpp 1; cp blur.h 2; '$pipec' --target host sub/blur.pipe && cmp blur.cpp 1 && cmp blur.h 2"

fresh; good_program blur.pipe; mkdir -p out include
run blur.pipe -o out/code.cpp; exits 0; only blur.pipe out include out/code.cpp out/code.h
check "the header is named for the code" grep -qxF '#include "code.h"' out/code.cpp
run blur.pipe -o out/code.cpp --header include/api.h; exits 0; exists include/api.h
check "both name the program that they come from" bash -c "head -n 1 out/code.cpp include/api.h | grep -c '\bblur.pipe\b' | grep -qx 2"
check "the code finds a header elsewhere" grep -qxF '#include "../include/api.h"' out/code.cpp
run blur.pipe -o "$PWD/out/a.cpp" --header include/a.h; exits 0
check "also with an absolute path" grep -qxF '#include "../include/a.h"' out/a.cpp

fresh; good_program
run good.pipe -o -; exits 0; only good.pipe; prints '#include "good.h"'; prints "__global__"
run --target host good.pipe -o -; exits 0; only good.pipe; prints '#include "good.h"'
check "the target decides what is printed" [ "$(grep -c __global__ .out)" -eq 0 ]
run good.pipe -o - --header h.h; exits 0; only good.pipe h.h; prints '#include "h.h"'
run good.pipe -o code.cpp --header -; exits 0; only good.pipe h.h code.cpp; prints blur_launch
run - -o x.cpp <good.pipe; exits 0; exists x.cpp x.h
run -fsyntax-only - <good.pipe; exits 0

# Steps.
fresh; good_program; bad_program
for step in tokens ast pipeline domains schedule plan kernel host cuda header; do
    run --emit $step good.pipe; exits 0; is_silent; only good.pipe bad.pipe
    check "$step prints something" [ -s .out ]
    cp .out first
    run --emit $step good.pipe
    check "$step is deterministic" cmp -s .out first
    run --emit $step - <good.pipe; exits 0
    run --emit $step good.pipe -o step.txt; exits 0
    sed -i 's|step\.h|good.h|' step.txt # the header is named for the code
    check "$step goes into a file too" cmp -s step.txt first
    rm first step.txt
done
run --emit ast bad.pipe; exits 0
run --emit pipeline bad.pipe; exits 1; check "no step of a bad program" [ ! -s .out ]

# The name of the code says the target.
fresh; good_program
for extension in cpp cc cxx cu; do run good.pipe -o x.$extension; exits 0; done
check "C++ for the host" bash -c "cmp x.cpp x.cc && cmp x.cpp x.cxx && ! grep -q __global__ x.cpp"
check "CUDA for the GPU" grep -q __global__ x.cu
run --target host good.pipe -o x.inc; exits 0; check "the option says it too" cmp x.cpp x.inc
run good.pipe -o x.inc; exits 0; check "the default is CUDA" cmp x.cu x.inc

# Functions for windows are beside the others, whose code is the same.
fresh; good_program
for extension in cpp cu; do
    run good.pipe -o x.$extension; exits 0; grep -v -e '^// Options' -e max_rank x.$extension >plain
    run --windows good.pipe -o x.$extension; exits 0
    check "$extension has functions for windows" grep -q _launch_window x.$extension
    check "and so has its header" grep -q _required x.h
    check "nothing of the rest is gone" bash -c "[ -z \"\$(diff plain x.$extension | grep '^<')\" ]"
done
run --windows --emit plan good.pipe; exits 2; says "\`--windows\` is for code"

# Phases are behind the pipeline with a statistic, whose code is the same, and a pipeline without one has none.
fresh; good_program
cat >mean.pipe <<'END'
pipeline mean(img: float32[R, C]) -> out: float32[R, C] {
    m() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C)
    out(y, x) = img(y, x) - m()
}
pipeline mean_phase0(img: float32[R]) -> out: float32[R] { out(y) = img(y) + 1 }
END
for extension in cpp cu; do
    run --windows mean.pipe -o x.$extension; exits 0; grep -v -e '^// Options' x.$extension >plain
    run --windows --phases mean.pipe -o x.$extension; exits 0
    for n in 0_ 1 2 3; do check "phase $n of $extension" grep -q "^pipe_status mean_phase${n}_required" x.h; done
    check "there are no more" bash -c "! grep -q mean_phase4 x.h"
    run --windows good.pipe -o y.$extension; exits 0; grep -v -e '^// Options' y.$extension >plain
    run --windows --phases good.pipe -o y.$extension; exits 0
    check "a pipeline without statistics stays as it is" bash -c "grep -v -e '^// Options' y.$extension | cmp plain -"
done
run --phases good.pipe; exits 2; says "\`--phases\` needs \`--windows\`"

# After an error everything is as it was.
fresh; bad_program x.pipe; echo old >x.cpp
run --target host x.pipe; exits 1; only x.pipe x.cpp; check "the old file is untouched" grep -qx old x.cpp
good_program x.pipe
run --target host x.pipe --header nowhere/x.h; exits 3; only x.pipe x.cpp; check "the old file is untouched" grep -qx old x.cpp
run --target host x.pipe --header /dev/full; exits 3; only x.pipe x.cpp; check "the old file is untouched" grep -qx old x.cpp
check "the device is still one" [ -c /dev/full ]
if command -v prlimit >/dev/null; then
    # A file that may not grow beyond 1 KiB stands for a disk that fills up halfway.
    (trap '' XFSZ; exec prlimit --fsize=1024 "$pipec" --target host x.pipe) >.out 2>.err; status=$?; command="pipec with a size limit"
    exits 3; only x.pipe x.cpp; check "the old file is untouched" grep -qx old x.cpp
fi

# Files keep their mode and links stay links.
fresh; good_program; mkdir real
echo >real/x.cpp; chmod 640 real/x.cpp; ln -s real/x.cpp x.cpp; ln -s real/new.h x.h
run good.pipe -o x.cpp; exits 0
check "the link stays" [ -L x.cpp ]
check "its target is written" grep -q include real/x.cpp
check "its mode stays" [ "$(stat -c %a real/x.cpp)" = 640 ]
check "a link to nothing makes its target" [ -L x.h -a -s real/new.h ]
(umask 022; "$pipec" good.pipe -o y.cpp); check "a new file has the usual mode" [ "$(stat -c %a y.cpp)" = 644 ]
run good.pipe -o /dev/null --header h.h; exits 0; check "/dev/null is still a device" [ -c /dev/null ]
mkfifo fifo; cat fifo >received & run good.pipe -o fifo --header h.h; wait; exits 0
check "a pipe receives the code" grep -q include received

# Nothing that was read is overwritten, no two results share a file.
fresh; good_program; cp good.pipe copy; ln good.pipe other
run good.pipe -o good.pipe; exits 2; says "would be overwritten"
run good.pipe -o ./other; exits 2; says "would be overwritten"
run good.pipe --header good.pipe; exits 2
cp good.pipe good.cu; run good.cu; exits 2; says "would be overwritten"
check "the program is untouched" cmp -s good.pipe copy
run good.pipe -o x.h; exits 2; says "two results"
run good.pipe -o x.cpp --header ./x.cpp; exits 2; says "two results"
run good.pipe -o - --header -; exits 2; says "two results"
printf 'fn half(x) = x / 2\n' >half.pipe
printf 'import "half"\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = half(img(x)) }\n' >user.pipe
run user.pipe -o half.pipe --header h.h; exits 2; says "would be overwritten"
check "the import is untouched" grep -q "fn half" half.pipe

# Odd names.
fresh; good_program "my blur.pipe"; good_program ./-dash.pipe; good_program plain
run "my blur.pipe"; exits 0; exists "my blur.cu" "my blur.h"
run -- -dash.pipe; exits 0; exists ./-dash.cu
run plain; exits 0; exists plain.cu plain.h
good_program "$(printf 'a\nb\xff.pipe')"
run "$(printf 'a\nb\xff.pipe')"; exits 0
# Where no condition is decided in the interior, there is one version of the code, and one for few points.
cat >once.pipe <<'EOF'
pipeline f(img: int32[R, C]) -> out: int32[R, C] { out(y, x) = sum(c in 0..300) img(y, x) * c }
EOF
run --cost-model none --emit cuda once.pipe; exits 0
check "the sum is stored in two places" [ "$(grep -c 'out(y, x) = sum;' .out)" -eq 2 ]
finish
