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
# The CUDA toolkit's directory, where there is a whole one: only then CUDA is tried.
cuda_home() {
    local home
    for home in "$(dirname "$(dirname "$(command -v nvcc)")")" /usr/local/cuda; do
        if [ -x "$home/bin/nvcc" ] && [ -e "$home/lib64/libcudart.so" ]; then
            echo "$home"
            return
        fi
    done
    return 1
}
