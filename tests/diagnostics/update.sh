#!/usr/bin/env bash
# Writes the .golden files anew. Read the difference before committing it.
#   update.sh [PIPEC]    default: the pipec of build/release
exec "$(dirname "$0")/golden.sh" --update "${1:-$(dirname "$0")/../../build/release/pipec}"
