#!/usr/bin/env bash
# The TextMate grammar, run as VS Code runs it, against the assertions in scopes/*.pipe, and over every example and the
# standard library against snapshots/*.snap, where no token may be invalid.
#
#   textmate.sh SOURCE_DIR              compare; exit code 77 (skipped) without node or vscode-tmgrammar-test
#   textmate.sh --update SOURCE_DIR     write the snapshots anew, to be read before they are committed
#
# vscode-tmgrammar-test comes with `npm ci` in editors/vscode, which is left to a person: no build uses the network.
set -uo pipefail

update=false
if [ "${1-}" = --update ]; then
    update=true
    shift
fi
if [ $# -ne 1 ]; then
    echo "usage: $0 [--update] SOURCE_DIR" >&2
    exit 2
fi
source_dir=$(realpath "$1")
grammar=$source_dir/editors/vscode/syntaxes/pipe.tmLanguage.json
bin=$source_dir/editors/vscode/node_modules/.bin
tests=$source_dir/tests/editors

if ! command -v node >/dev/null; then
    echo "skipped: there is no node"
    exit 77
fi
if [ ! -x "$bin/vscode-tmgrammar-test" ]; then
    echo "skipped: there is no vscode-tmgrammar-test; get it with: (cd editors/vscode && npm ci)"
    exit 77
fi

status=0
"$bin/vscode-tmgrammar-test" --grammar "$grammar" "$tests/scopes/*.pipe" || status=1

# Snapshots are compared beside their programs, so in a folder of their own.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source_dir"/examples/*.pipe "$source_dir"/stdlib/*.pipe "$work"
if $update; then
    "$bin/vscode-tmgrammar-snap" --scope source.pipe --grammar "$grammar" --updateSnapshot "$work/*.pipe" >/dev/null || status=1
    rm -f "$tests"/snapshots/*.snap
    mkdir -p "$tests/snapshots"
    cp "$work"/*.snap "$tests/snapshots"
else
    cp "$tests"/snapshots/*.snap "$work"
    for program in "$work"/*.pipe; do
        # Without a snapshot the tool would write one and be content.
        if [ ! -f "$program.snap" ]; then
            echo "FAILED: there is no snapshots/$(basename "$program").snap"
            status=1
        fi
    done
    "$bin/vscode-tmgrammar-snap" --scope source.pipe --grammar "$grammar" "$work/*.pipe" || status=1
    [ $status -eq 0 ] || echo "snapshots that differ as they should: tests/editors/textmate.sh --update ."
fi
if grep -H 'invalid\.illegal' "$work"/*.snap; then
    echo "FAILED: the grammar calls this invalid"
    status=1
fi
exit $status
