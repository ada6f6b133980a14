#!/usr/bin/env bash
# What a page shows of a terminal is true: sessions.sh PIPEC FILE.md
#
# The first block ```pipe is blur.pipe. Every indented line `$ COMMAND` runs; the indented lines below it, up to the next
# command or the end of the block, are all that it prints. wrong.json is blur.schedule.json with one number changed.
set -uo pipefail
pipec=$(realpath "$1")
page=$(realpath "$2")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 2
mkdir bin && ln -s "$pipec" bin/pipec
export PATH=$directory/bin:$PATH

awk '$0 == "```pipe" && !done { on = 1; next } /^```/ && on { on = 0; done = 1 } on' "$page" >blur.pipe
failures=0
commands=0
command=
shown=
finish_command() {
    [ -n "$command" ] || return
    commands=$((commands + 1))
    [ ! -e blur.schedule.json ] || sed 's/"tile": \[4, 8/"tile": [4, 0/' blur.schedule.json >wrong.json
    printed=$(bash -c "$command" 2>&1 </dev/null)
    if [ "$printed" != "$shown" ]; then
        failures=$((failures + 1))
        echo "FAILED $command"
        diff <(printf '%s\n' "$shown") <(printf '%s\n' "$printed")
    fi
    command=
    shown=
}
while IFS= read -r line; do
    case $line in
        '    $ '*)
            finish_command
            command=${line#'    $ '}
            ;;
        '    '*) [ -z "$command" ] || shown+=${shown:+$'\n'}${line#'    '} ;;
        *) finish_command ;;
    esac
done <"$page"
finish_command
echo "$commands commands, $failures failures"
[ $failures -eq 0 ] && [ $commands -gt 0 ]
