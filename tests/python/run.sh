#!/usr/bin/env bash
# One test program in Python: run.sh PIPEC PACKAGE_DIRECTORY CACHE_DIRECTORY TEST.py
# It is skipped (exit code 77) where no Python 3 has NumPy.
set -uo pipefail
here=$(dirname "$(realpath "$0")")
PIPEC=$(realpath "$1")
PYTHONPATH=$(realpath "$2"):$here
XDG_CACHE_HOME=$3
export PIPEC PYTHONPATH XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE=1
unset CXX NVCC
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" -W error "$here/$4"
    fi
done
echo "SKIPPED: there is no NumPy; on Debian it is the package python3-numpy"
exit 77
