#!/usr/bin/env bash
# Holds every message of the compiler: `pipec -fsyntax-only` on each *.pipe of this folder must print exactly what the
# *.golden beside it says, and exit with 1 where that has an error, else with 0.
#
#   golden.sh PIPEC             compare
#   golden.sh --update PIPEC    write the .golden files anew, to be read before they are committed
#
# A file is named for the diagnostic that it provokes: ID.pipe or ID.VARIANT.pipe. Every ID that the compiler declares
# has one. A first line `// flags: ...` gives the compiler more flags; one with `--emit` replaces -fsyntax-only.
set -uo pipefail

update=false
if [ "${1-}" = --update ]; then
    update=true
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: $0 [--update] PIPEC" >&2
    exit 2
fi
pipec=$(realpath "$1")
cd "$(dirname "$0")" || exit 2

failures=0
fail() {
    echo "FAILED $1: $2"
    failures=$((failures + 1))
}

actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
shopt -s nullglob

checked=0
for program in *.pipe; do
    name=${program%.pipe}
    id=${name%%.*}
    golden=$name.golden
    read -ra flags <<<"$(sed -n '1s,^// flags:,,p' "$program")"
    [[ " ${flags[*]-} " == *" --emit "* ]] || flags+=(-fsyntax-only)
    "$pipec" --color never "${flags[@]}" "$program" >/dev/null 2>"$actual"
    status=$?
    checked=$((checked + 1))

    expected_status=0
    if grep -q '^[^ ]*: error: ' "$actual"; then expected_status=1; fi
    [ $status -eq $expected_status ] || fail "$program" "exit code $status, not $expected_status: $(head -3 "$actual")"
    grep -qF "[$id]" "$actual" || fail "$program" "the message [$id] is missing"
    if $update && [ $status -le 1 ]; then
        cmp -s "$actual" "$golden" || { cp "$actual" "$golden" && echo "updated $golden"; }
    elif [ ! -f "$golden" ]; then
        fail "$program" "there is no $golden (see update.sh)"
    elif ! diff -u --label "$golden" --label "what pipec prints" "$golden" "$actual"; then
        fail "$program" "the message differs"
    fi
done

for golden in *.golden; do
    [ -f "${golden%.golden}.pipe" ] || fail "$golden" "there is no program for it"
done

while read -r severity id; do
    programs=("$id".pipe "$id".*.pipe)
    for program in "${programs[@]}"; do
        [ -f "$program" ] && continue 2
    done
    fail "$id" "this $severity is declared but no program here provokes it"
done < <("$pipec" --list-diagnostics)

echo "$checked programs, $failures failures"
[ $failures -eq 0 ] && [ $checked -gt 0 ]
