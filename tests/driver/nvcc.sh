#!/usr/bin/env bash
# -c and -shared with nvcc: how it is found, called and blamed. A script stands for nvcc, so this runs everywhere; the
# last part is for machines that have the real one.
source "$(dirname "$0")/lib.sh" "$1"
unset NVCC CUDA_HOME
real_nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
export TMPDIR=$directory/.tmp
tidy() { check "no temporary file stays" [ -z "$(ls -A "$TMPDIR")" ]; }

# fake FILE [COMMANDS]: a compiler that writes its arguments to `arguments`, then does COMMANDS, then succeeds.
fake() {
    cat >"$1" <<END
#!/bin/sh
if [ "\$1" = --list-gpu-code ]; then printf 'sm_75\nsm_80\nsm_90\n'; exit; fi
printf '%s\n' "\$@" >"$directory/arguments"
while [ \$# -gt 1 ]; do [ "\$1" = -o ] && object=\$2; shift; done
cp "\$1" "$directory/seen.cu"
${2-}
echo object >"\$object"
END
    chmod +x "$1"
}
start() { fresh; mkdir "$TMPDIR"; good_program; fake nvcc "${1-}"; }
called_with() { for word in "$@"; do check "nvcc is called with $word" grep -qxF -- "$word" arguments; done; }
not_with() { for word in "$@"; do check "nvcc is not called with $word" [ "$(grep -cF -- "$word" arguments)" -eq 0 ]; done; }

start
run -c good.pipe --nvcc ./nvcc; exits 0; is_silent; tidy
only .tmp good.pipe nvcc arguments seen.cu good.o good.h
check "the object is what nvcc made" grep -qx object good.o
check "nvcc saw CUDA" grep -q __global__ seen.cu
called_with -std=c++17 -O3 --fmad=false -Xcompiler=-fPIC -c
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
    called_with -gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_80,code=sm_80 \
                -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90
fi
run -c good.pipe --nvcc ./nvcc -arch=sm_80,sm_75 -O1 -g -fno-PIC --cxx "my g++" -Xnvcc -t0 -Xcxx -Wl,-x -MMD --keep; exits 0
called_with -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_75,code=sm_75 \
            -gencode=arch=compute_80,code=compute_80 -O1 -g -lineinfo "-ccbin=my g++" -t0 '-Xcompiler=-Wl\,-x' -Xptxas=-O1
not_with -fPIC compute_90 compute_75,code=compute
exists good.d good.cu; check "the rule" grep -q '^good.o good.h good.cu: ' good.d
run -c good.pipe --nvcc ./nvcc -ffast-math; exits 0; is_silent; called_with --use_fast_math; not_with --fmad
check "a third is multiplied by" grep -q '0\.333' seen.cu
run -c good.pipe --nvcc ./nvcc -ffast-math -fno-fast-math; exits 0; called_with --fmad=false; not_with --use_fast_math
run -c good.pipe --nvcc ./nvcc -ffast-math --target host; exits 2; says "\`-ffast-math\` is for the target cuda"
run good.pipe -ffast-maths; exits 2; says "did you mean \`-ffast-math\`?"
run -shared good.pipe --nvcc ./nvcc -arch native; exits 0; exists good.so; called_with -shared -arch=native
run -c good.pipe --nvcc ./nvcc -arch=all-major; called_with -arch=all-major
run -c good.pipe --nvcc ./nvcc --arch compute_80; called_with -gencode=arch=compute_80,code=compute_80; not_with code=sm_80
run -c good.pipe --nvcc ./nvcc -arch=sm_90a; exits 0; called_with -gencode=arch=compute_90a,code=sm_90a

# A GPU that this nvcc does not know.
run -c good.pipe --nvcc ./nvcc -arch=sm_80,sm_70 -o new.o; exits 2; absent new.o
says "\`sm_70\` is no GPU that \`./nvcc\` compiles for; there are: sm_75, sm_80, sm_90"

# Which nvcc: the option, $NVCC, $CUDA_HOME, PATH.
start; mkdir -p bin home/bin; fake bin/nvcc; fake home/bin/nvcc; fake other
which_is() { exits 0; says "$1 -std=c++17"; }
PATH=$PWD/bin:$PATH run '-###' -c good.pipe; which_is "nvcc"
PATH=$PWD/bin:$PATH CUDA_HOME=$PWD/home run '-###' -c good.pipe; which_is "$PWD/home/bin/nvcc"
NVCC="env A=1 ./other" CUDA_HOME=$PWD/home run '-###' -c good.pipe; which_is "env A=1 ./other"
NVCC=./other run '-###' -c good.pipe --nvcc ./nvcc; which_is "./nvcc"
absent arguments good.o good.h
run -v -c good.pipe --nvcc ./nvcc; which_is "./nvcc"; exists good.o
if [ ! -e /usr/local/cuda/bin/nvcc ]; then
    PATH=/nowhere run -c good.pipe; exits 5; absent new.o
    says "there is no nvcc, the CUDA compiler: CUDA_HOME is not set, not on PATH, and not /usr/local/cuda/bin/nvcc"
    says "\`--nvcc COMMAND\` or the environment variable NVCC names one; \`--target host\` needs none"
fi
run -c good.pipe --nvcc ./none; exits 5; says "cannot start the CUDA compiler \`./none\`: No such file or directory"; says "NVCC"
mkdir "with blank"; fake "with blank/nvcc"; run -c good.pipe --nvcc "with blank/nvcc"; exits 0

# nvcc fails, also after it has written half of its output.
start 'printf half >"$object"; echo "x.cu(3): error: no" >&2; exit 3'
for file in good.o good.h; do echo old >$file; done
unchanged() { check "all is as it was" bash -c 'cat good.o good.h | uniq -c | grep -qx " *2 old"'; tidy; }
run -c good.pipe --nvcc ./nvcc; exits 5; unchanged
says "the CUDA compiler \`./nvcc\` failed with exit code 3 on the code that pipec generated"; says "    x.cu(3): error: no"
fake nvcc 'printf half >"$object"; kill -9 $$'
run -c good.pipe --nvcc ./nvcc; exits 5; says "was killed by signal 9 (Killed)"; unchanged
fake nvcc 'exit 0'
run -c good.pipe --nvcc ./nvcc; exits 5; says "reported success but wrote no object"; unchanged
fake nvcc 'echo "x.cu(3): warning: hm"'
run -c good.pipe --nvcc ./nvcc -o w.o; exits 0; says "x.cu(3): warning: hm"
run -c good.pipe --nvcc ./nvcc -o w.o --diagnostics-format json; exits 0; check "JSON stays JSON" [ "$(grep -c hm .err)" -eq 0 ]

# nvcc hangs until somebody ends it, or pipec.
fake nvcc "echo \$\$ >$directory/pid; mv $directory/pid $directory/running; exec sleep 600"
hang() {
    rm -f running
    "$pipec" -c good.pipe --nvcc ./nvcc >.out 2>.err &
    compiler=$!
    command="pipec with an nvcc that hangs"
    for _ in $(seq 200); do [ -e running ] && break; sleep 0.1; done
    child=$(cat running)
}
hang; kill -KILL "$child"; wait "$compiler"; status=$?; exits 5; says "killed by signal 9"; unchanged
hang; kill -TERM "$compiler"; wait "$compiler" 2>/dev/null; status=$?
check "ended by SIGTERM" [ "$status" -eq 143 ]; unchanged
check "and its child with it" bash -c "! kill -0 $child 2>/dev/null"

# The real one.
if [ -n "$real_nvcc" ]; then
    start
    run -c good.pipe --nvcc "$real_nvcc" -arch=sm_80; exits 0; is_silent; tidy; exists good.o good.h
    check "a CUDA object" bash -c "nm -C good.o | grep -q 'T blur_launch' && grep -q nv_fatb good.o"
    run -c good.pipe --nvcc "$real_nvcc" -arch=sm_12; exits 2; says "\`sm_12\` is no GPU"; says "sm_80"
    run -shared good.pipe --nvcc "$real_nvcc" -arch=sm_80 -Xcxx -Wl,--as-needed; exits 0; exists good.so
    run -c good.pipe -o bad.o --nvcc "$real_nvcc" -arch=sm_80 -Xnvcc --no-such-option; exits 5; says "no-such-option"; absent bad.o bad.h
fi
finish
