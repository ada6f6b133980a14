"""Every word of the language is known to the editors, as what it is, and no other word is.

    words_test.py SOURCE_DIR

The words are read from where the compiler has them: the lexer's grammar, the names of types, the names of functions
that are built in.
"""
import json
import re
import sys
from pathlib import Path

WORD = re.compile(r"[a-z][a-z0-9]*")


def compiler_words(source):
    """Keywords, types and functions, from the compiler's own source."""
    lexer = (source / "grammar/PipeLexer.g4").read_text()
    lexer = re.sub(r"//.*", "", lexer)
    tokens = dict(re.findall(r"^([A-Z]\w*)\s*:(.*?);\s*$", lexer, re.M | re.S))
    literals = {name: re.findall(r"'([a-z][a-z0-9]*)'", rule) for name, rule in tokens.items()}
    types = set(literals.pop("TYPE"))
    # `min` and `max` are tokens, but names too: the functions of that name.
    keywords = {word for words in literals.values() for word in words} - {"min", "max"}

    def table(path, name):
        found = re.search(name + r"\s*(?:=\s*)?\{(.*?)\};", (source / path).read_text(), re.S)
        if not found:
            sys.exit(f"{path} has no table {name}")
        return set(re.findall(r'"(\w+)"', found.group(1)))

    expected_types = table("src/ir/type.cpp", "kNames")
    functions = table("src/frontend/elaborate_builtins.cpp", "kNames")
    evaluated = table("src/ir/expr.cpp", "kBuiltinNames")
    failures = 0
    failures += differ("src/ir/type.cpp and the lexer", types, expected_types)
    if not evaluated <= functions:
        failures += differ("src/frontend/elaborate_builtins.cpp and src/ir/expr.cpp", functions & evaluated, evaluated)
    return keywords, types, functions, failures


def textmate_words(source):
    """The words in the patterns of the TextMate grammar, by the entry of its repository; all others under ''."""
    grammar = json.loads((source / "editors/vscode/syntaxes/pipe.tmLanguage.json").read_text())

    def words(node):
        if isinstance(node, list):
            return set().union(*map(words, node))
        if not isinstance(node, dict):
            return set()
        result = set()
        for key, value in node.items():
            if key in ("match", "begin", "end"):
                plain = re.sub(r"\\.", " ", re.sub(r"\[[^\]]*\]", " ", value))
                result |= set(WORD.findall(plain))
            else:
                result |= words(value)
        return result

    repository = grammar["repository"]
    types, functions = words(repository["types"]), words(repository["builtins"])
    others = set().union(*(words(rule) for name, rule in repository.items() if name not in ("types", "builtins")))
    return others - {"min", "max"}, types, functions


def vim_words(source):
    """The words of `syntax keyword` and in the patterns of `syntax match`, by group."""
    groups = {}
    for line in (source / "editors/vim/syntax/pipe.vim").read_text().splitlines():
        if keyword := re.match(r"syntax keyword (\w+) (.*)", line):
            text = re.sub(r"\bnextgroup=\w+|\b(skipwhite|contained)\b", " ", keyword.group(2))
        elif match := re.match(r"syntax match (\w+) /((?:\\.|\[[^\]]*\]|[^/\\])*)/", line):
            keyword = match
            text = re.sub(r"\\%\(|\\z[se]|\\.|\[[^\]]*\]", " ", match.group(2))
        else:
            continue
        groups.setdefault(keyword.group(1), set()).update(WORD.findall(text))
    types, functions = groups.pop("pipeType"), groups.pop("pipeFunction")
    return set().union(*groups.values()) - {"min", "max"}, types, functions


def differ(what, actual, expected):
    """Says which words differ; 1 where any does."""
    for word in sorted(expected - actual):
        print(f"FAILED {what}: `{word}` is missing")
    for word in sorted(actual - expected):
        print(f"FAILED {what}: `{word}` is no such word of the language")
    return int(actual != expected)


def main():
    source = Path(sys.argv[1])
    *expected, failures = compiler_words(source)
    if not all(expected):
        sys.exit("no words were found in the compiler's source")
    for editor, known in (("TextMate", textmate_words(source)), ("Vim", vim_words(source))):
        for kind, actual, wanted in zip(("keywords", "types", "functions"), known, expected):
            failures += differ(f"{editor} {kind}", actual, wanted)
    print(f"{sum(map(len, expected))} words")
    return 1 if failures else 0


sys.exit(main())
