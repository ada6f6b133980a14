#!/usr/bin/env bash
# check_test.sh CHECK PIPEC: the check passes equal code, and finds what is wrong, in host memory.
set -euo pipefail
check=$1 pipec=$2
here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

build() { "${CXX:-c++}" -std=c++17 -O1 -ffp-contract=off -fPIC -shared "$1.cpp" -o "$1.so"; }
fails() { # EXIT-CODE TEXT COMMAND...
    local code=0 text=$2
    "${@:3}" >said 2>&1 || code=$?
    [ "$code" -eq "$1" ] && grep -qF -- "$text" said && return
    echo "FAIL: exit code $code of: ${*:3}"; cat said; exit 1
}
"$pipec" --target host "$here/../../examples/blur.pipe" -o blur.cpp
build blur
sed 's/3\.0f/3.001f/g' blur.cpp >wrong.cpp
! cmp -s blur.cpp wrong.cpp || { echo "FAIL: nothing to make wrong"; exit 1; }
build wrong

"$check" --list "$here/cases.txt" | grep -qx "blur tiny"
"$check" --size tiny --time ./blur.so "$here/cases.txt" blur ./blur.so ./blur.so | grep -q "difference=0 .* ok$"
fails 1 "elements of output 0 differ" "$check" --size tiny "$here/cases.txt" blur ./blur.so ./wrong.so
fails 2 "no such case" "$check" --size none "$here/cases.txt" blur ./blur.so ./blur.so
fails 2 "usage" "$check" cases.txt
bad() { printf '# first\n%s\n' "$1" >bad.txt; fails "$2" "$3" "$check" bad.txt blur ./blur.so ./blur.so; }
bad "blur" 2 "bad.txt:2: error: a case is EXAMPLE SIZE WORDS..."
bad "blur s img=3x0x7" 2 "bad.txt:2: error: \`img=3x0x7\` has extents that are not like"
bad "blur s ~x" 2 "bad.txt:2: error: \`~x\` is no tolerance"
bad "blur s what" 2 "bad.txt:2: error: \`what\` is none of"
bad "blur s img=3x3x3 img=3x3x3" 2 "gives a second value for \`img\`"
bad "blur s img=3x3" 1 "\`img\` needs 3 extents"
bad "blur s img=3x3x3 k=1" 1 "a value for what is neither parameter nor size"
bad "blur s img=4x3x3" 1 "but must be 3"
echo ok
