#!/usr/bin/env bash
# README.md says the truth about its first program: readme.sh PIPEC README.md CC CXX
# Its C code is compiled around the generated code and run; the outputs that it shows are compared.
set -euo pipefail
pipec=$(realpath "$1")
readme=$(realpath "$2")
cc=$3
cxx=$4
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

# The first block whose fence is exactly ```KIND.
block() { awk -v fence="\`\`\`$1" '$0 == fence && !done { on = 1; next } /^```/ && on { on = 0; done = 1 } on' "$readme"; }

block pipe >blur.pipe
"$pipec" --target host blur.pipe
"$cxx" -O1 -c blur.cpp -o blur.o
{
    printf '#include <stdio.h>\n#include <stdlib.h>\n'
    block c | grep '^#include'
    printf 'enum { height = 9, width = 7 };\nint main(void) {\n'
    printf '    static float pixels[height * width], result[(height - 2) * (width - 2)];\n'
    printf '    for (int i = 0; i < height * width; ++i) pixels[i] = (float)(i / width);\n'
    block c | grep -v '^#include'
    printf '    printf("%%d %%g %%g", (int)status, result[0], result[(height - 2) * (width - 2) - 1]);\n    return 0;\n}\n'
} >main.c
"$cc" -std=c11 -Wall -Wextra -Werror -c main.c -o main.o
"$cxx" main.o blur.o -o main
result=$(./main)
if [ "$result" != "0 1 7" ]; then
    echo "the C example computes: $result" >&2
    exit 1
fi

shown() { grep -qF -- "    $1" "$readme" || { echo "README.md does not show: $1" >&2; exit 1; }; }
"$pipec" --emit domains blur.pipe | while IFS= read -r line; do shown "$line"; done
block "pipe-error out-of-bounds" >blur.pipe
("$pipec" -fsyntax-only blur.pipe 2>&1 || true) | head -6 | while IFS= read -r line; do shown "$line"; done
