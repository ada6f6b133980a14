#!/usr/bin/env bash
# What an installation holds, and that its manual page says all that --help does: layout.sh BUILD_DIRECTORY RUNNER
tests=$(dirname "$(dirname "$(realpath "$0")")")
source "$(dirname "$0")/lib.sh"

[ "$2" = OFF ] || [ -x "$prefix/bin/pipec-run" ] || fail "bin/pipec-run is missing"
for file in bin/pipec lib*/cmake/pipec/pipec-config.cmake lib*/cmake/pipec/pipec-config-version.cmake share/doc/pipec/README.md \
            share/doc/pipec/docs/building.md share/doc/pipec/docs/images/sketch.jpg share/doc/pipec/CHANGELOG.md share/man/man1/pipec.1 share/pipec/examples/Makefile share/pipec/examples/blur.pipe \
            share/pipec/examples/cmake_project/CMakeLists.txt share/pipec/stdlib/stencil.pipe share/bash-completion/completions/pipec share/zsh/site-functions/_pipec \
            share/fish/vendor_completions.d/pipec.fish; do
    compgen -G "$prefix/$file" >/dev/null || compgen -G "$prefix/${file/lib\*/lib/*}" >/dev/null || fail "$file is missing"
done
find "$prefix" -name '*.o' -o -name 'CMakeCache.txt' -o -name '*.tmp' | grep . && fail "things that were built are installed"
if command -v python3 >/dev/null; then
    compgen -G "$prefix/lib/python3*/*-packages/pipec/__init__.py" >/dev/null || fail "the Python package is missing"
    compgen -G "$prefix/lib/python3*/*-packages/pipec/py.typed" >/dev/null || fail "the Python package has no types"
fi
grep -q '^pipec ' <<<"$("$pipec" --version)" || fail "the installed pipec does not run"

# Every option of --help stands in the manual page as bold text, and none that does not exist.
manual=$(sed 's/\\-/-/g' "$prefix/share/man/man1/pipec.1")
options() { grep -oE '(^|[ ,("])-{1,2}[A-Za-z#][A-Za-z#-]*' | sed 's/^[ ,("]//' | sort -u; }
shown=$("$pipec" --help | sed -n '/^Options:/,/^Without/p' | grep -E '^  -' | cut -c3-31 | tr ',' '\n' | sed 's/^ *//; s/[ <].*//')
documented=$(sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' <<<"$manual" | grep -E '^\.(B|BR|BI) -' | options)
[ -n "$shown" ] && [ -n "$documented" ] || fail "no options found"
for option in $shown; do grep -qxF -- "$option" <<<"$documented" || fail "pipec.1 does not explain $option"; done
help=$("$pipec" --help)
for option in $documented; do grep -qF -- "$option" <<<"$help" || fail "pipec.1 explains $option, which --help does not know"; done
if command -v man >/dev/null && command -v groff >/dev/null; then
    warnings=$(LC_ALL=C.UTF-8 man --warnings -l "$prefix/share/man/man1/pipec.1" 2>&1 >/dev/null)
    [ -z "$warnings" ] || fail "pipec.1: $warnings"
fi

# No link of an installed page leads nowhere, and pages lead to what was installed.
if command -v python3 >/dev/null; then
    python3 "$tests/docs/links.py" "$prefix/share" || fail "installed pages have broken links"
    grep -q 'pipec/examples/sketch.pipe' "$prefix/share/doc/pipec/README.md" || fail "README.md does not lead to the examples"
    grep -q 'g\[l\](y, x)' "$prefix/share/doc/pipec/docs/language.md" || fail "code was taken for a link"
fi

# One version everywhere.
version=$("$pipec" --version | cut -d' ' -f2)
[ "$2" = OFF ] || [ "$("$prefix/bin/pipec-run" --version)" = "pipec-run $version" ] || fail "pipec-run --version"
for place in "python/pipec/__init__.py|__version__ = \"$version\"" "editors/vscode/package.json|\"version\": \"$version\"" \
             "CHANGELOG.md|## $version"; do
    grep -qF "${place#*|}" "$tests/../${place%%|*}" || fail "${place%%|*} does not have version $version"
done
grep -m1 '^## ' "$tests/../CHANGELOG.md" | grep -qF "## $version" || fail "the newest version in CHANGELOG.md is not $version"
