#!/usr/bin/env bash
# Exit codes, and that a wrong command line or file is refused in words.
examples=$(realpath "$(dirname "$0")/../../examples")
source "$(dirname "$0")/lib.sh" "$1"

good_program
bad_program

run -fsyntax-only good.pipe; exits 0; is_silent
run -fsyntax-only bad.pipe; exits 1; says "bad.pipe:2:17: error: unknown name \`imgg\`"; says "1 error generated."
run bad.pipe; exits 1

# Usage.
run; exits 2; says "no input file"
run good.pipe bad.pipe -o x.cu; exits 2; says "\`-o\` is for one file"
run good.pipe bad.pipe --diagnostics-format json; exits 2; says "is for one file"
run good.pipe -; exits 2; says "standard input is compiled alone"
run ""; exits 2; says "a file name is empty"
run good.pipe -o ""; exits 2; says "a file name is empty"
run --hedaer x.h good.pipe; exits 2; says "unknown option \`--hedaer\`; did you mean \`--header\`?"
run -fsyntax-onyl good.pipe; exits 2; says "did you mean \`-fsyntax-only\`?"
run run good.pipe --otu out=x.png; exits 2; says "unknown option \`--otu\`; did you mean \`--out\`?"
run run good.pipe bad.pipe; exits 2; says "one file is run at a time"
run good.pipe -o; exits 2
run good.pipe -MMD -MF; exits 2; says "-MF"
run --emit cats good.pipe; exits 2; says "tokens, ast, pipeline, domains, schedule, plan, kernel, host, cuda, header"
run --color red good.pipe; exits 2; says "auto, always, never"
run --diagnostics-format xml good.pipe; exits 2; says "text, json"
run --max-analysis-operations 0 good.pipe; exits 2; says "positive integer"
run --max-analysis-operations 12x good.pipe; exits 2; says "positive integer"
run --target z80 good.pipe; exits 2; says "there are: cuda, host"
run --target cuda good.pipe -o x.cpp; exits 2; says "\`--target cuda\` contradicts \`-o x.cpp\`"
run --target host good.pipe -o x.cu; exits 2; says "contradicts"
run --target host --emit cuda good.pipe; exits 2; says "contradicts"
run --target host --emit kernel good.pipe; exits 2; says "contradicts"
run --target host --emit plan good.pipe; exits 2; says "contradicts"
run --target host --emit plan good.pipe; exits 2; says "contradicts"
run --target cuda --emit host good.pipe; exits 2; says "contradicts"
run good.pipe -o x.o; exits 2; says "\`-c\` makes one"
run good.pipe -o x.so; exits 2; says "\`-shared\` makes one"
absent x.cpp x.cu x.o x.so good.cu
run --emit ast -fsyntax-only good.pipe; exits 2; says "exclude each other"
run -fsyntax-only -o x good.pipe; exits 2; says "exclude each other"
run --emit ast --header x.h good.pipe; exits 2
run -; exits 2; says "-o"
run -MP good.pipe; exits 2; says "-MMD"
run -fsyntax-only -MMD good.pipe; exits 2; says "-MF"

# Commands.
run help; exits 0; prints "pipec help [command]"; is_silent
run help run; exits 0; prints "Usage: pipec run"
run help fmt; exits 0; prints "Usage: pipec fmt"
run help rnu; exits 2; says "there is no command \`rnu\`; did you mean \`pipec run\`?"
run exlpain good.pipe; exits 2; says "there is no command and no file \`exlpain\`; did you mean \`pipec explain\`?"
run hlep; exits 2; says "did you mean \`pipec help\`?"
run build good.pipe; exits 2; says "\`pipec help\` lists the commands"

# Several files: all or nothing.
good_program other.pipe
run good.pipe bad.pipe other.pipe; exits 1; says "bad.pipe:2:17"
absent good.cu other.cu good.h other.h
mkdir folder && good_program folder/good.pipe
run good.pipe folder/good.pipe; exits 2; says "\`good.pipe\` and \`folder/good.pipe\` would both write \`good.cu\`"
absent good.cu
run --target host good.pipe other.pipe; exits 0; is_silent; exists good.cpp good.h other.cpp other.h
rm -r good.cpp good.h other.cpp other.h other.pipe folder

# Files.
run missing.pipe; exits 3; says "cannot read \`missing.pipe\`: No such file or directory"
run -fsyntax-only .; exits 3; says "Is a directory"
run -fsyntax-only /dev/zero; exits 3; says "larger than"
run good.pipe -o nowhere/x.cpp; exits 3; says "cannot write \`nowhere/x.cpp\`: No such file or directory"
mkdir taken
run good.pipe -o taken; exits 3; says "Is a directory"
run good.pipe -o good.pipe/x.cpp; exits 3
if [ "$(id -u)" -ne 0 ]; then
    good_program secret.pipe
    chmod 000 secret.pipe
    run -fsyntax-only secret.pipe; exits 3; says "Permission denied"
    chmod 600 secret.pipe
fi
ln -s loop.pipe loop.pipe
run -fsyntax-only loop.pipe; exits 3

# What does not fit goes nowhere.
run --emit ast good.pipe -o /dev/full; exits 3; says "No space left on device"
"$pipec" --emit ast good.pipe >/dev/full 2>.err; status=$?; command="pipec --emit ast >/dev/full"
exits 3; says "standard output"
"$pipec" --help >/dev/full 2>.err; status=$?; command="pipec --help >/dev/full"
exits 3

# Answers.
run --help; exits 0; is_silent; prints "Usage: pipec"; prints "-fsyntax-only"; prints "-MMD"; prints "Examples:"
check "no line of the help is wider than 100 columns" [ "$(awk 'length > 100' .out | wc -l)" -eq 0 ]
run -h; exits 0
run --version; exits 0; check "a version" grep -qxE 'pipec [0-9]+\.[0-9]+\.[0-9]+' .out
run --list-diagnostics; exits 0; prints "syntax-error"

# An empty value is a value: it takes no other argument.
good_program
for option in --gpu= --strategy= --color=; do
    run "$option" good.pipe; exits 2; says "\`\`"
done
run --cxx= --nvcc= --arch= -arch= --emit= -fsyntax-only good.pipe; exits 0
run --target host --cxx= -Xcxx "" -c good.pipe -o good.o
check "not the file as a flag" [ "$status" -ne 2 ]
run explain --gpu= good.pipe; exits 2; says "\`\`"
run tune --schedule= good.pipe; check "the file is not the value" [ "$status" -ne 4 ]
# Too little memory: for the stack, and for a long program. (Sanitizers need more address space than that for themselves.)
within() {
    local kilobytes=$1
    shift
    (ulimit -c 0; ulimit -v "$kilobytes"; exec "$pipec" "$@") >.out 2>.err
    status=$?
    command="ulimit -v $kilobytes; pipec $*"
}
for i in $(seq 60000); do echo "fn f$i(v) = v * v + $i"; done >long.pipe
within 2000000 --version
if [ "$status" -eq 0 ]; then
    within 200000 -fsyntax-only good.pipe; exits 1; says "pipec: error: out of memory"
    for kilobytes in 300000 301000 302000 303000 304000 305000; do
        within $kilobytes -fsyntax-only long.pipe; exits 1; says "pipec: error: out of memory"
    done
    # The analysis asks for memory in its own ways, for isl's objects and for their numbers: there is enough, or not.
    # A thread's own heap that is full has glibc map every further piece of memory: that takes ten times as long, and
    # long.pipe above has done it. Here all share one heap.
    export MALLOC_ARENA_MAX=1
    for kilobytes in $(seq 306000 14000 390000); do
        within $kilobytes -fsyntax-only -w "$examples/camera_pipe.pipe"
        [ "$status" -eq 0 ] && continue
        exits 1; says "pipec: error: out of memory"
    done
fi
finish
