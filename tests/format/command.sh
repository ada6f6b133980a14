#!/usr/bin/env bash
# `pipec fmt`: which files it writes, what it prints, its exit codes. Run as: command.sh PIPEC
source "$(dirname "$0")/../driver/lib.sh"

ugly() { printf 'const A=1;const B = [ 1,2 ]\n'; }
pretty() { printf 'const A = 1\nconst B = [1, 2]\n'; }

ugly >a.pipe
run fmt a.pipe
exits 0
is_silent
check "a.pipe is formatted" cmp -s a.pipe <(pretty)

# A second time nothing is written.
touch -d '2001-01-01' a.pipe
run fmt a.pipe
exits 0
check "a.pipe is left alone" [ "$(stat -c %Y a.pipe)" = "$(date -d 2001-01-01 +%s)" ]

# Several files; one with an error stays as it is, the others are formatted.
ugly >b.pipe
printf 'const = 1 ;\n' >broken.pipe
cp broken.pipe before
run fmt broken.pipe b.pipe
exits 1
says "broken.pipe:1:7: error:"
check "broken.pipe is left alone" cmp -s broken.pipe before
check "b.pipe is formatted" cmp -s b.pipe <(pretty)

# --check names what is not formatted, and writes nothing.
ugly >c.pipe
run fmt --check a.pipe c.pipe b.pipe
exits 1
prints c.pipe
check "no other file is named" [ "$(wc -l <.out)" = 1 ]
check "c.pipe is left alone" cmp -s c.pipe <(ugly)
run fmt --check a.pipe b.pipe
exits 0
check "nothing is printed" [ ! -s .out ]
run fmt --check broken.pipe
exits 1

# Standard input to standard output.
"$pipec" fmt - <c.pipe >.out 2>.err
status=$? command="pipec fmt -"
exits 0
check "standard output is formatted" cmp -s .out <(pretty)
"$pipec" fmt - <broken.pipe >.out 2>.err
status=$?
exits 1
check "nothing is printed of a broken program" [ ! -s .out ]
says "<stdin>:1:7: error:"

# Links are followed, and permissions stay.
ugly >d.pipe
chmod 600 d.pipe
ln -s d.pipe link.pipe
run fmt link.pipe
exits 0
check "the link stays" [ -L link.pipe ]
check "what it leads to is formatted" cmp -s d.pipe <(pretty)
check "permissions stay" [ "$(stat -c %a d.pipe)" = 600 ]

run fmt
exits 2
run fmt --unknown a.pipe
exits 2
run fmt missing.pipe
exits 3
says "missing.pipe"
run fmt --help
exits 0
prints "--check"
finish
