#!/usr/bin/env bash
# `pipec completions`: the scripts, run by the shells that are here.
source "$(dirname "$0")/lib.sh" "$1"

run completions csh; exits 2; says "none of bash, zsh and fish"
run completions; exits 2
good_program blur.pipe; mkdir nested
scripts=$(mktemp -d)
trap 'rm -rf "$directory" "$scripts"' EXIT
for shell in bash zsh fish; do
    run completions $shell; exits 0; is_silent
    cp .out "$scripts/$shell"
done
rm -f .out .err

# What bash offers for a line whose last word is being written, sorted.
offered() {
    bash --norc -c 'source "$0"
        compopt() { :; }  # there is nothing to set outside of a completion
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _pipec
        printf "%s\n" "${COMPREPLY[@]}" | sort | xargs' "$scripts/bash" "$@"
}
# offers WORDS LINE...
offers() {
    local words=$1
    shift
    command="$*" status=- actual=$(offered "$@")
    : >.err
    check "bash offers '$words', not '$actual'" [ "$actual" = "$words" ]
    rm -f .err
}
offers "explain" pipec exp
offers "blur.pipe" pipec bl
offers "cuda host" pipec --target ""
offers "cuda" pipec --target = c
offers "cuda host" pipec --target =
offers "-fno-fast-math" pipec -fno-f
offers "-ffast-math" pipec run blur.pipe -ff
offers "--target" pipec --targ
offers "" pipec run --targ
offers "auto cpu gpu" pipec run --device ""
offers "blur.pipe nested" pipec run ""
offers "blur.pipe" pipec fmt bl
offers "blur.pipe nested" pipec run --schedule ""
offers "nested" pipec -I ""
offers "bash fish zsh" pipec completions ""
offers "run" pipec help ru
offers "false true" pipec --packed ""
offers "-Wno-unused-input" pipec -Wno-unused-i
# A flag takes no value.
offers "blur.pipe" pipec -c bl

# Each word that is offered is one that the option takes.
cat > sums.pipe <<'EOP'
pipeline sums(v: int32[N]) -> out: int32[N] { out(i) = if i == 0 then v(i) else out(i - 1) + v(i) }
EOP
for option in --emit --target --strategy --cost-model --gpu --cpu --color --diagnostics-format -O; do
    for word in $(offered pipec $option ""); do
        case $word in native | nested | *.pipe | .*) continue ;; esac
        flags=(-fsyntax-only)
        [ $option = --emit ] && flags=()
        [ $option = --cpu ] && flags=(--target host -o -)
        program=blur.pipe
        [ "$word" = scan ] && program=sums.pipe
        run $program "${flags[@]}" $option "$word"; exits 0
    done
done

if command -v zsh >/dev/null; then
    run help; check "zsh reads its script" zsh -f -n "$scripts/zsh"
    check "zsh knows the function" zsh -f -c "autoload -Uz compinit; compinit -D; source '$scripts/zsh'
        [[ \$_comps[pipec] == _pipec ]]"
fi
if command -v fish >/dev/null; then
    export HOME=$scripts
    fish_offers() {
        command="fish: $2" actual=$(fish --no-config -c "source '$scripts/fish'; complete -C '$2'" | cut -f1 | sort | xargs)
        check "fish offers '$1', not '$actual'" [ "$actual" = "$1" ]
    }
    fish_offers "cuda host" "pipec --target "
    fish_offers "auto cpu gpu" "pipec run --device "
    fish_offers "explain" "pipec expl"
    fish_offers "-fsyntax-only" "pipec -fsyn"
    fish_offers "" "pipec run -fsyn"
    fish_offers "bash fish zsh" "pipec completions "
fi
finish
