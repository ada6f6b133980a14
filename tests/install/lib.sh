# What the tests of an installation share. Sourced as: source lib.sh BUILD_DIRECTORY. Installs the build into a prefix of
# its own, which is gone at the end; `work` is an empty directory beside it.
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
prefix=$directory/prefix
work=$directory/work
mkdir "$work"
cmake --install "$1" --prefix "$prefix" >/dev/null
pipec=$prefix/bin/pipec
cd "$work"
unset NVCC CUDA_HOME CXX PIPEC MAKEFLAGS MAKELEVEL

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
# The CUDA toolkit's directory, where there is one: only then CUDA is tried.
cuda_home() {
    local nvcc
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || return 1
    dirname "$(dirname "$nvcc")"
}
