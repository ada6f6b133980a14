#!/usr/bin/env bash
# Compiles the programs in the documentation: docs.sh PIPEC FILE.md...
#
#   ```pipe               a whole file that the compiler accepts without a word
#   ```pipe-error ID      a whole file that it rejects with messages of exactly this id
#
# A relative link to a file must lead somewhere.
set -uo pipefail
pipec=$(realpath "$1")
shift
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# Writes each block to DIRECTORY/LINE.pipe and prints LINE and what stands behind ``` on its first line.
blocks() {
    awk -v directory="$2" '
        /^ *```/ && inside  { inside = 0; close(file); next }
        /^ *```pipe/ && !other { inside = 1; sub(/^ *```/, ""); file = directory "/" NR ".pipe"; printf "" > file; print NR, $0; next }
        /^ *```/            { other = !other }
        inside              { print > file }' "$1"
}

failures=0
fail() {
    echo "FAILED $1"
    failures=$((failures + 1))
}

checked=0
for page in "$@"; do
    while read -r line kind id; do
        checked=$((checked + 1))
        program=$directory/$line.pipe
        messages=$("$pipec" -fsyntax-only --color never "$program" 2>&1)
        status=$?
        if [ "$kind" = pipe ]; then
            [ $status -eq 0 ] && [ -z "$messages" ] || fail "$page:$line: not accepted without a word"$'\n'"$messages"
        elif [ "$kind" = pipe-error ]; then
            ids=$(sed -nE 's/^[^ ].*: (error|warning): .*\[([a-z0-9-]+)\]$/\2/p' <<<"$messages" | sort -u | tr '\n' ' ')
            [ $status -eq 1 ] && [ "$ids" = "$id " ] || fail "$page:$line: not rejected with just [$id]"$'\n'"$messages"
        else
            fail "$page:$line: unknown kind of block: $kind"
        fi
    done < <(blocks "$page" "$directory")

    while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || fail "$page: link to $target, which does not exist"
    done < <(grep -oE '\]\([^)#: ]+[)#]' "$page" | sed -E 's/^\]\(//; s/[)#]$//' | sort -u)
done

echo "$checked programs, $failures failures"
[ $failures -eq 0 ] && [ $checked -gt 0 ]
