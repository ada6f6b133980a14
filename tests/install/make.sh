#!/usr/bin/env bash
# The installed examples build with make, for the host and where there is nvcc for CUDA: make.sh BUILD_DIRECTORY
source "$(dirname "$0")/lib.sh"

examples=$prefix/share/pipec/examples
build() { make -s -C "$examples" PIPEC="$pipec" OUT="$work/$1" TARGET="$1" CXXFLAGS=-O0 "${@:2}"; }

build host PIPECFLAGS=-O1 "$work/host/blur" "$work/host/harris" "$work/host/sketch" || fail "make for the host"
for name in blur harris sketch; do "$work/host/$name" >/dev/null || fail "$name of make does not run"; done
grep -q blur.pipe "$work/host/blur.d" || fail "blur.d does not name its program"
[ -z "$(build host "$work/host/blur")" ] || fail "make does again what is done"
[ -z "$(find "$examples" -newer "$work/host/blur.d" -type f)" ] || fail "make writes beside the sources"
build host "$work/host/blur.cu" && [ -s "$work/host/blur.cu" ] || fail "there is no code"

if home=$(cuda_home); then
    build cuda CUDA_HOME="$home" PIPECFLAGS="-arch=sm_80 --nvcc $home/bin/nvcc" "$work/cuda/blur" || fail "make for cuda"
    grep -q libcudart <<<"$(ldd "$work/cuda/blur")" || fail "the program for cuda does not link cudart"
fi
