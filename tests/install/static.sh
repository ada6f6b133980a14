#!/usr/bin/env bash
# What `make static` links: static.sh SOURCE_DIRECTORY
# What would be built is looked at, and not built: that would be the whole compiler.
set -euo pipefail
source=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
command -v ninja >/dev/null || { echo "SKIPPED: there is no ninja"; exit 77; }

flags=$(make -n -C "$source" static 2>/dev/null | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba}' | grep -o -- '-DPIPEC_[A-Z_]*=[A-Z]*')
grep -q PIPEC_STATIC=ON <<<"$flags" || fail "\`make static\` does not ask for a static build: $flags"
read -ra flags <<<"${flags//$'\n'/ }"
cmake -S "$source" -B "$directory/static" -G Ninja -DCMAKE_BUILD_TYPE=Release -Wno-dev "${flags[@]}" >"$directory/log" 2>&1 ||
    { cat "$directory/log"; fail "configuring"; }

# Libraries of other projects, all of each: nothing in them may need a shared one.
libraries=$(ninja -C "$directory/static" -t commands pipec | grep -- ' -o pipec ' | tail -1 | grep -oE '(^| )(/[^ ]*\.(a|so)[^ ]*|-l[^ ]+)')
grep -q libisl <<<"$libraries" || fail "no command links pipec with isl: $libraries"
if grep '\.so' <<<"$libraries"; then fail "pipec is linked with shared libraries"; fi
printf 'int main() {}\n' >"$directory/main.cpp"
# shellcheck disable=SC2086 # several words
c++ -static -o "$directory/main" "$directory/main.cpp" -Wl,--whole-archive $libraries -Wl,--no-whole-archive >"$directory/log" 2>&1 ||
    { cat "$directory/log"; fail "linking"; }

run=$(ninja -C "$directory/static" -t commands pipec-run | grep -- ' -o pipec-run ' | tail -1)
for library in OpenImageIO libz.so fmt; do
    if grep -q -- "$library" <<<"${run#* -o pipec-run }"; then fail "pipec-run is linked with $library: $run"; fi
done
grep -q -- '-static-libstdc++ -static-libgcc' <<<"$run" || fail "pipec-run needs the C++ library: $run"
