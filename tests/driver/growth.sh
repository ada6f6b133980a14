#!/usr/bin/env bash
# Programs of growing size whose expressions share more than they spell out: what is printed grows as the program does,
# in little time. A walk that follows each way through shared nodes would need 2^40 steps.
source "$(dirname "$0")/lib.sh" "$1"
ulimit -t 60  # seconds of work for each compilation: more than a hundred times what one takes

# chain TYPE STAGES DEFINITION...: stages a[k], and what else the definitions name, each reading those of k - 1
chain() {
    local type=$1 n=$2 definition
    shift 2
    echo "pipeline p(img: ${type}[N + 2 * $n]) -> out: ${type}[N] {"
    echo "    a[0](x) = img(x)"
    echo "    b[0](x) = img(x + 1)"
    echo "    m[0](x) = img(x) > 5"
    echo "    for k in 1..$n {"
    for definition in "$@"; do echo "        $definition"; done
    echo "    }"
    echo "    out = a[$((n - 1))]"
    echo "}"
}
# nested BEFORE AFTER N CORE: that often around it
nested() {
    local text=$4 i
    for ((i = 0; i < $3; ++i)); do text="$1$text$2"; done
    echo "$text"
}
named() {
    local i
    printf 'let v0 = img(x)'
    for ((i = 1; i < $1; ++i)); do printf ', v%d = v%d * v%d' $i $((i - 1)) $((i - 1)); done
    printf ' in v%d\n' $(($1 - 1))
}
of_one_stage() { printf '%s\npipeline p(img: %s[N]) -> out: %s[N] {\n    out(x) = %s\n}\n' "$1" "$2" "$2" "$3"; }

# program KIND N
program() {
    local n=$2
    case $1 in
        squares) chain float32 "$n" 'a[k](x) = a[k - 1](x) * a[k - 1](x)' ;;
        powers) chain int32 "$n" 'a[k](x) = a[k - 1](x) * a[k - 1](x) + a[k - 1](x)' ;;
        inputs) chain float32 "$n" 'a[k](x) = a[k - 1](x) + img(x + k) * a[k - 1](x)' ;;
        moved) chain float32 "$n" 'a[k](x) = a[k - 1](x + 1) * a[k - 1](x + 1)' ;;
        stencils) chain float32 "$n" 'a[k](x) = a[k - 1](x) + a[k - 1](x + 1) + a[k - 1](x + 2)' ;;
        exchanges) chain float32 "$n" 'a[k](x) = min(a[k - 1](x), b[k - 1](x))' 'b[k](x) = max(a[k - 1](x), b[k - 1](x))' ;;
        branches) chain float32 "$n" 'a[k](x) = if a[k - 1](x) > 0.5 then a[k - 1](x) * 0.5 else a[k - 1](x) + 1' ;;
        places) chain float32 "$n" 'a[k](x) = if x > k then a[k - 1](x) * 0.5 else a[k - 1](x) + 1' ;;
        masks) chain int32 "$n" 'm[k](x) = m[k - 1](x) and a[k - 1](x) > 1 or not m[k - 1](x)' \
            'a[k](x) = if m[k - 1](x) then a[k - 1](x) / 2 else a[k - 1](x) + 1' ;;
        loops) chain float32 "$n" 'a[k](x) = (sum(r in 0..4) a[k - 1](x) * float32(r)) + a[k - 1](x)' ;;
        windows) chain float32 "$n" 'a[k](x) = (sum(r in 0..99) img(x + k) * a[k - 1](x) / (r + 1)) + a[k - 1](x)' ;;
        named) of_one_stage "" float32 "$(named "$n")" ;;
        calls) of_one_stage "fn f(v) = v * v + 1" float32 "$(nested 'f(' ')' "$n" 'img(x)')" ;;
        decisions) of_one_stage "fn f(v) = if v > 9 then v / 2 else v + 1" int32 "$(nested 'f(' ')' "$n" 'img(x)')" ;;
        sums) of_one_stage "fn f(v) = v + v" int32 "$(nested 'f(' ')' "$n" 'img(x) * 3 + img(x) * img(x)')" ;;
        bounded)  # sizes that conditions keep from the usual ones
            echo 'pipeline p(img: float32[R, C], gain: float32[K]) -> out: float32[R, C]'
            echo '    where 0 < K <= 5, R > 8 * K, R < 1000, C < 2 * R {'
            echo '    a[0](k, y, x) = img(y, x) * gain(k)'
            echo "    for i in 1..$n {"
            echo '        a[i](k in 0..K, y in 0..R, x in 0..C) = sum(j in 0..K) a[i - 1](j, y, x) * gain(k)'
            echo '    }'
            echo "    out(y, x) = sum(k in 0..K) a[$((n - 1))](k, y, x)"
            echo '}' ;;
        quotients) of_one_stage "fn f(v) = v / 2 + v / 3" float32 \
            "img(clamp($(nested 'f(' ')' "$n" x), 0, N - 1))" ;;
    esac
}

# linear KIND OPTIONS...: twice as large a program gives at most about twice as much more text, and what surrounds one
# more kernel: 8000 bytes
linear() {
    local kind=$1 sizes=() n
    shift
    for n in 10 20 40; do
        program "$kind" $n >"$kind.pipe"
        run "$@" -o out.txt "$kind.pipe"
        exits 0
        sizes+=("$(wc -c <out.txt)")
        rm -f out.txt out.h
    done
    # (Another strategy for the larger one of the first two may have less text for each stage: then the difference says
    # nothing, and the whole text of 20 stages is the measure.)
    local first=$((sizes[1] - sizes[0]))
    [ $((4 * first)) -ge "${sizes[1]}" ] || first=$((sizes[1] / 2))
    check "text of ${sizes[*]} bytes for 10, 20 and 40" [ $((sizes[2] - sizes[1])) -le $((5 * first / 2 + 8000)) ]
}

for kind in squares powers inputs moved stencils exchanges branches places masks loops windows named calls decisions sums quotients; do
    for step in pipeline domains cuda; do linear $kind --emit $step; done
    linear $kind --target host --emit host
    linear $kind --emit cuda --cost-model none
done
# Each stage of code for windows ends at sizes of its own.
linear bounded --emit cuda --windows
for kind in squares branches exchanges calls; do
    linear $kind --emit cuda --strategy otptb
    linear $kind --emit cuda --strategy otpw
    linear $kind --emit cuda --strategy hybrid
    linear $kind --emit cuda --strategy register_tile
    linear $kind --emit cuda -ffast-math
    for n in 10 40; do
        program $kind $n >"$kind.pipe"
        run explain "$kind.pipe"
        exits 0
    done
done
finish
