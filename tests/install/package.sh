#!/usr/bin/env bash
# The Debian package of this build: its files work where they are unpacked. package.sh BUILD_DIRECTORY RUNNER
set -euo pipefail
tests=$(dirname "$(dirname "$(realpath "$0")")")
build=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
command -v dpkg-deb >/dev/null || { echo "SKIPPED: there is no dpkg-deb"; exit 77; }

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$directory/out" >log 2>&1 || { cat log; fail "cpack"; }
packages=(out/pipec_*.deb)
[ -e "${packages[0]}" ] || fail "no package"
field() { dpkg-deb --field "${packages[0]}" "$1"; }
[ "$(field Package)" = pipec ] || fail "the package's name is $(field Package)"
dpkg-deb --extract "${packages[0]}" root
version=$(root/usr/bin/pipec --version | cut -d' ' -f2)
[ "$(field Version)" = "$version" ] || fail "the package is $(field Version), the compiler $version"
[ "$2" = OFF ] || ! command -v dpkg-shlibdeps >/dev/null || grep -q libopenimageio <<<"$(field Depends)" || fail "Depends: $(field Depends)"

for file in share/man/man1/pipec.1.gz share/doc/pipec/README.md share/doc/pipec/CHANGELOG.md share/doc/pipec/docs/tutorial.md \
            share/pipec/stdlib/stencil.pipe share/pipec/gpus/h100.toml share/pipec/cpus/x86-64-v3.toml \
            share/pipec/examples/blur.pipe share/pipec/editors/vim/syntax/pipe.vim share/pipec/editors/vscode/package.json \
            share/bash-completion/completions/pipec share/zsh/vendor-completions/_pipec share/fish/vendor_completions.d/pipec.fish; do
    [ -e "root/usr/$file" ] || [ -e "root/usr/${file%.gz}" ] || fail "$file is missing"
done
compgen -G 'root/usr/lib*/cmake/pipec/pipec-config.cmake' >/dev/null || compgen -G 'root/usr/lib/*/cmake/pipec/pipec-config.cmake' >/dev/null ||
    fail "the files for CMake are missing"
compgen -G 'root/usr/lib/python3*/dist-packages/pipec/__init__.py' >/dev/null || fail "the Python package is missing"
[ -z "$(find root -perm -002 -not -type l)" ] || fail "anybody may write: $(find root -perm -002 -not -type l | head -3)"
if command -v python3 >/dev/null; then
    python3 "$tests/docs/links.py" root/usr/share || fail "pages of the package have broken links"
fi

cp root/usr/share/pipec/examples/blur.pipe .
root/usr/bin/pipec -c --target host -O0 blur.pipe && [ -s blur.o ] || fail "the package's compiler"
