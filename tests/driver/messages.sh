#!/usr/bin/env bash
# -W flags, colours, JSON.
source "$(dirname "$0")/lib.sh" "$1"
good_program; bad_program; odd_program

run -fsyntax-only odd.pipe; exits 0; says "warning:"; says "[unused-stage]"; says "1 warning generated."
run -fsyntax-only -Wall odd.pipe; exits 0; says "[unused-stage]"
run -fsyntax-only -w odd.pipe; exits 0; is_silent
run -fsyntax-only -Wno-unused-stage odd.pipe; exits 0; is_silent
run -fsyntax-only -Wno-unused-stage -Wunused-stage odd.pipe; exits 0; says "[unused-stage]"
run -fsyntax-only -Werror odd.pipe; exits 1; says "error:"; says "1 error generated."
run -fsyntax-only -Werror=unused-stage odd.pipe; exits 1; says "error:"
run -fsyntax-only -Werror -Wno-error odd.pipe; exits 0; says "warning:"
run -fsyntax-only -Werror -Wno-error=unused-stage odd.pipe; exits 0; says "warning:"
run -fsyntax-only -Wno-error=unused-stage -Werror odd.pipe; exits 0; says "warning:"
run -fsyntax-only -Werror -Wno-unused-stage odd.pipe; exits 0; is_silent
run -Werror odd.pipe; exits 1; absent odd.cu odd.h
run -fsyntax-only -Wunused-stag odd.pipe; exits 0; says "unknown warning option \`-Wunused-stag\`"; says "did you mean \`-Wunused-stage\`?"
run -fsyntax-only -Wno-sense good.pipe; exits 0; says "[unknown-warning-option]"
run -fsyntax-only -Wno-sense -Wno-unknown-warning-option good.pipe; exits 0; is_silent
run -fsyntax-only -Wno-unknown-name bad.pipe; exits 1; says "[unknown-name]" # errors stay errors

# A group that is off unless asked for.
cat >turned.pipe <<'END'
pipeline turned(img: float32[R, C]) -> out: float32[C, R] { out(y, x) = img(x, y) }
END
run -fsyntax-only -Wall -Werror turned.pipe; exits 0; is_silent
run -fsyntax-only -Wperf turned.pipe; exits 0; says "warning:"; says "[perf-coalescing]"
run -fsyntax-only -Wperf-coalescing turned.pipe; exits 0; says "[perf-coalescing]"
run -fsyntax-only -Wperf -Wno-perf turned.pipe; exits 0; is_silent
run -fsyntax-only -Wperf -Wno-perf-coalescing turned.pipe; exits 0; is_silent
run -fsyntax-only -Wperf -w turned.pipe; exits 0; is_silent
run -fsyntax-only -Wperf -Werror turned.pipe; exits 1; says "error:"
run -fsyntax-only -Werror=perf turned.pipe; exits 1; says "error:"
run -fsyntax-only -Werror=perf -Wno-error=perf turned.pipe; exits 0; says "warning:"
run -Werror=perf turned.pipe; exits 1; absent turned.cu turned.h
run -fsyntax-only --target host -Wperf turned.pipe; exits 0; is_silent # the host's code has no schedule
run --emit domains -Wperf turned.pipe; exits 0; is_silent
run -fsyntax-only -Wpref turned.pipe; exits 0; says "did you mean \`-Wperf\`?"

# Colours.
escape=$(printf '\033')
run -fsyntax-only --color always bad.pipe; exits 1; says "$escape[1;31merror: "
run -fsyntax-only --color never bad.pipe; check "no colour" [ "$(grep -c "$escape" .err)" -eq 0 ]
run -fsyntax-only bad.pipe; check "no colour into a file" [ "$(grep -c "$escape" .err)" -eq 0 ]
NO_COLOR=1 run -fsyntax-only --color always bad.pipe; says "$escape" # the flag says so
if script -qec true /dev/null >/dev/null 2>&1; then
    terminal() { env "$@" script -qec "'$pipec' -fsyntax-only bad.pipe" /dev/null </dev/null >.err 2>&1; command="$* pipec on a terminal"; }
    terminal -u NO_COLOR TERM=xterm; says "$escape"
    terminal NO_COLOR=1 TERM=xterm; check "NO_COLOR counts" [ "$(grep -c "$escape" .err)" -eq 0 ]
    terminal -u NO_COLOR TERM=dumb; check "a dumb terminal has no colour" [ "$(grep -c "$escape" .err)" -eq 0 ]
fi

# JSON: always one document, whatever the program.
run -fsyntax-only --diagnostics-format json bad.pipe; exits 1
says '"id": "unknown-name"'; says '"file": "bad.pipe"'; says '"line": 2'; says '"column": 17'
check "the fix-it is there" grep -q '"text": "img"' .err
run -fsyntax-only --diagnostics-format json good.pipe; exits 0; says '"diagnostics": []'
run -fsyntax-only --diagnostics-format json odd.pipe; exits 0; says '"severity": "warning"'
if command -v python3 >/dev/null; then
    valid() { python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$1"; }
    for bytes in 'x \xff\xfe \x01 " \\' 'pipeline é(' '' '\x00\x00'; do
        printf "$bytes" >"bytes.pipe"
        run -fsyntax-only --diagnostics-format json bytes.pipe
        check "valid JSON for: $bytes" valid .err
    done
fi
finish
