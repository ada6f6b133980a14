# What the driver's tests share. Sourced as: source lib.sh PIPEC. Each test runs in an empty directory of its own.
set -uo pipefail
pipec=$(realpath "$1")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 2
failures=0
checks=0

# pipec_run ARGS...: runs the compiler; sets status, and the files .out and .err
run() {
    "$pipec" "$@" >.out 2>.err
    status=$?
    command="pipec $*"
}
# check WHAT CONDITION...: the condition is a command that must succeed
check() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" && return
    failures=$((failures + 1))
    echo "FAILED: $what"
    echo "  after: $command (exit code $status)"
    sed 's/^/  stderr: /' .err | head -8
}
exits() { check "exit code $1" [ "$status" -eq "$1" ]; }
says() { check "standard error has: $1" grep -qF -- "$1" .err; }
is_silent() { check "nothing on standard error" [ ! -s .err ]; }
prints() { check "standard output has: $1" grep -qF -- "$1" .out; }
exists() { for file in "$@"; do check "$file exists" [ -s "$file" ]; done; }
absent() { for file in "$@"; do check "$file does not exist" [ ! -e "$file" ]; done; }
# Two files of generated code are the same behind their first comments.
same_code() { cmp -s <(sed '1,/^#include/d' "$1") <(sed '1,/^#include/d' "$2") && [ -s "$1" ]; }
# Only these files are there (hidden temporaries count, the helpers' own do not).
only() { check "the directory holds just: $*" [ "$(find . -mindepth 1 ! -name .out ! -name .err | sort)" = "$(printf './%s\n' "$@" | sort)" ]; }
fresh() {
    rm -rf "$directory"
    mkdir "$directory"
    cd "$directory" || exit 2
}
finish() {
    echo "$checks checks, $failures failures"
    [ $failures -eq 0 ] && [ $checks -gt 0 ]
    exit
}

good_program() {
    cat >"${1:-good.pipe}" <<'EOF'
pipeline blur(img: float32[R + 2, C]) -> out: float32[R, C] {
    out(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
}
EOF
}
bad_program() {
    cat >"${1:-bad.pipe}" <<'EOF'
pipeline blur(img: float32[R, C]) -> out: float32[R, C] {
    out(y, x) = imgg(y, x)
}
EOF
}
# Has one warning: a stage that nobody needs.
odd_program() {
    cat >"${1:-odd.pipe}" <<'EOF'
pipeline copy(img: float32[R, C]) -> out: float32[R, C] {
    spare(y in 0..R, x in 0..C) = img(y, x) + 1
    out(y, x) = img(y, x)
}
EOF
}
