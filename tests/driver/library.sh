#!/usr/bin/env bash
# `pipec library`: the description of pipelines as JSON, and an object that is the one of `pipec run`.
source "$(dirname "$0")/lib.sh" "$1"
unset CXX
# has EXPRESSION: a Python expression about the document `d` that was printed is true
has() { check "the document has: $1" python3 -c "import json, sys; d = json.load(open('.out')); p = d['pipelines']; sys.exit(not ($1))"; }

fresh
export XDG_CACHE_HOME=$directory/cache
mkdir in
cat >in/two.pipe <<'END'
/// Means of columns.
/// In two lines.
pipeline blur(img: uint8[3, R + 2, C] order(1, 2, 0), k: float32 = 0.04, n: int32, on: bool = true) -> out: float32[3, R, C]
    where R < 100, n > 0 {
    out(c, y, x) = if on then k * (img(c, y, x) + img(c, y + 2, x)) else n
}
pipeline ramp(a: float32[N]) -> out: float32[N], steps: int32[N * 2] where N < S { out(x) = a(x)
    steps(x) = x + S }
END
run library -w in/two.pipe; exits 0; is_silent
has "d['version'] == 1 and 'object' not in d and [q['name'] for q in p] == ['blur', 'ramp']"
has "p[0]['doc'] == 'Means of columns.\nIn two lines.' and p[1]['doc'] == ''"
has "p[0]['inputs'] == [{'name': 'img', 'type': 'uint8', 'extents': ['3', 'R + 2', 'C'], 'fixed': [3, 0, 0], 'order': [1, 2, 0]}]"
has "p[0]['parameters'] == [{'name': 'k', 'type': 'float32', 'default': 0.04}, {'name': 'n', 'type': 'int32'}, {'name': 'on', 'type': 'bool', 'default': True}]"
has "p[0]['where'] == ['R < 100', 'n > 0'] and p[0]['sizes'] == [] and p[1]['sizes'] == ['S']"
has "[o['name'] for o in p[1]['outputs']] == ['out', 'steps'] and p[1]['outputs'][1]['extents'] == ['N * 2']"
absent cache

# One pipeline is compiled, once.
run library in/two.pipe -o two.so --device cpu -O0; exits 2; says "has several pipelines"; absent two.so
run library -w in/two.pipe -o two.so --device cpu -O0 --pipeline ramp; exits 0; is_silent; exists two.so
has "d['object']['file'] == 'two.so' and d['object']['pipeline'] == 'ramp' and d['object']['target'] == 'host'"
check "the object exports its tables" bash -c "nm -D two.so | grep -q 'T ramp_info'"
key=$(python3 -c "import json; print(json.load(open('.out'))['object']['key'])")
check "the cache has it" [ -s "cache/pipec/$key.so" ]
printf 'not a compiler' >c++ && chmod +x c++
PATH=$directory:$PATH run library in/two.pipe -o other.so --device cpu -O0 --pipeline ramp; exits 5; absent other.so
rm c++
run library in/two.pipe -o other.so --device cpu -O0 --pipeline ramp; exits 0; check "the same object" cmp two.so other.so

# Functions for windows are an object of their own in the cache.
run library in/two.pipe -o windows.so --device cpu -O0 --pipeline ramp --windows; exits 0
check "the object exports the table of windows" bash -c "nm -D windows.so | grep -q 'T ramp_window_info'"
check "the other one does not" bash -c "! nm -D two.so | grep -q ramp_window_info"
check "both are kept" [ "$(ls cache/pipec/*.so | wc -l)" = 2 ]
run library in/two.pipe --windows; exits 2; says "is for an object, and there is none"

# Phases are pipelines of the file.
cat >count.pipe <<'END'
pipeline count(img: uint8[R, C]) -> out: uint8[R, C] {
    accumulate hist(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { hist(int32(img(y, x))) += 1 } }
    out(y, x) = uint8(hist(int32(img(y, x))) % 256)
}
END
run library count.pipe; exits 0; has "len(d['pipelines']) == 1 and 'phase' not in d['pipelines'][0]"
run library --phases count.pipe; exits 0
has "[p.get('phase', {}).get('number') for p in d['pipelines']] == [None, 0, 1, 2]"
has "d['pipelines'][1]['phase']['parts']['hist_part'][1] == {'from': 'hist_x_from', 'to': 'hist_x_to', 'input': 0, 'dim': 1}"
has "[b['name'] for b in d['pipelines'][3]['inputs']] == ['img', 'hist']"
run library --phases count.pipe -o phase.so --device cpu -O0 --pipeline count_phase1 --windows; exits 0
check "a phase is an object" bash -c "nm -D phase.so | grep -q 'T count_phase1_window_info'"

# What `pipec run` has compiled is found.
good_program
printf 'Pf\n1 3\n-1\n%012d' 0 >in.pfm
run run good.pipe --device cpu -O0 -q --in img=in.pfm; exits 0
count=$(ls cache/pipec | wc -l)
run library good.pipe -o good.so --device cpu -O0; exits 0
check "nothing was compiled" [ "$(ls cache/pipec | wc -l)" = "$count" ]

# Nothing is written where something is wrong.
fresh
export XDG_CACHE_HOME=$directory/cache
bad_program; good_program
run library bad.pipe; exits 1; says "bad.pipe:2:17: error: unknown name"; check "no document" [ ! -s .out ]
run library bad.pipe -o bad.so; exits 1
run library none.pipe; exits 3; says "none.pipe"
run library good.pipe --pipeline nothing -o x.so; exits 2; says "has no pipeline"
run library good.pipe --pipeline nothing; exits 2; says "has no pipeline"
run library good.pipe -o -; exits 2; says "standard output"
run library good.pipe -o x.so --device cpu --cxx /nowhere/c++; exits 5; says "/nowhere/c++"
run library good.pipe -o x.so --device cpu -ffast-math; exits 2; says "is for a GPU"
run library good.pipe -o x.so --device cpu -f fast-math; exits 2; says "is for a GPU"
run library good.pipe -o x.so --device cpu -ffast-math -fno-fast-math -O0 --no-cache; exits 0; rm x.so
run library -o x.so --device cpu -O0 --no-cache --cxxflags= good.pipe; exits 0; rm x.so
run library good.pipe -fsyntax-only; exits 2; says "unknown option \`-fsyntax-only\`"
run library good.pipe -o x.so --device 7; exits 5; says "--device 7"
run library good.pipe -o none/x.so --device cpu -O0; exits 3
only bad.pipe good.pipe cache cache/pipec "$(find cache -name '*.so' | sed 's,^,./,;s,^\./,,')"
run library --help; exits 0
run library good.pipe other.pipe; exits 2
finish
