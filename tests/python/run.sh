#!/usr/bin/env bash
# One test program in Python: run.sh PIPEC PACKAGE_DIRECTORY CACHE_DIRECTORY TEST.py [MODULE...]
# It is skipped (exit code 77) where no Python 3 has NumPy and the modules.
set -uo pipefail
here=$(dirname "$(realpath "$0")")
PIPEC=$(realpath "$1")
PYTHONPATH=$(realpath "$2"):$here
XDG_CACHE_HOME=$3
export PIPEC PYTHONPATH XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE=1
unset CXX NVCC
test=$4
shift 4
modules=(numpy "$@")
for python in python3 /usr/bin/python3; do
    if "$python" -c "import $(IFS=,; echo "${modules[*]}")" 2>/dev/null; then
        exec "$python" -W error "$here/$test"
    fi
done
echo "SKIPPED: no Python has ${modules[*]}; on Debian these are packages, python3-numpy for one"
exit 77
