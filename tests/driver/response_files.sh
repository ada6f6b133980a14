#!/usr/bin/env bash
# Arguments from files: @FILE.
source "$(dirname "$0")/lib.sh" "$1"
good_program; good_program "odd 'name\".pipe"

printf -- '--target host\n\t-o "a b.cpp"\r\n' >flags
run @flags good.pipe; exits 0; is_silent; exists "a b.cpp" "a b.h"
printf '%s' '--target=host -o c.cpp '"'odd '\\''name\".pipe'" >flags
run @flags; exits 0; exists c.cpp
printf '%s' '--target host -o d\ d.cpp odd\ \'"'"'name\".pipe' >flags
run @flags; exits 0; exists "d d.cpp"
printf '%s' '-o "" good.pipe' >flags
run @flags; exits 2; says "a file name is empty"
printf '%s\n' '--target host -o "e' 'f.cpp"' >flags # a line's end inside quotes
run @flags good.pipe; exits 0; exists "$(printf 'e\nf.cpp')"
: >empty; run @empty --target host good.pipe; exits 0; exists good.cpp

# Files name files, relative to where pipec was called.
mkdir sub; printf '@sub/inner' >outer; printf -- '-o g.cpp' >sub/inner
run @outer good.pipe; exits 0; exists g.cpp
run @sub/inner @sub/inner good.pipe; exits 0 # twice is no cycle
printf '@b' >a; printf '@./a' >b
run @a good.pipe; exits 3; says "\`@./a\`: the file holds itself"
printf '@self' >self; run @self; exits 3; says "holds itself"

run @missing good.pipe; exits 3; says "cannot read \`missing\`: No such file or directory"
run @sub good.pipe; exits 3; says "Is a directory"
printf -- '-o "x.cpp' >flags; run @flags good.pipe; exits 3; says "\`@flags\`: the file ends inside a quotation"; absent x.cpp

# What only looks like one.
good_program @plain; run -fsyntax-only -- @plain; exits 0
run -fsyntax-only ./@plain; exits 0
run @ ; exits 3; says "cannot read \`@\`"
finish
