"""The Vim files, in Vim: groups of syntax, indentation, and the quickfix list made of what pipec prints.

    vim_test.py SOURCE_DIR            exit code 77 (skipped) where there is no Vim that can tell its syntax groups

Syntax is held by the assertions in scopes/*.pipe, which are written for TextMate: each scope has its group in Vim.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from messages import expected_messages

# TextMate scopes, the longest prefix counts, and the groups of the Vim syntax. A name is of no group.
GROUPS = {
    "comment": {"pipeComment"},
    "comment.line.documentation": {"pipeDocComment"},
    "constant.language.boolean": {"pipeBoolean"},
    "constant.numeric": {"pipeNumber"},
    "constant.numeric.float": {"pipeFloat"},
    "entity.name.function": {"pipeName"},
    "entity.name.function.accumulate": {""},
    "entity.name.function.call": {""},
    "invalid.illegal": {"pipeError"},
    "keyword.control.conditional": {"pipeConditional"},
    "keyword.control.import": {"pipeImport"},
    "keyword.control.loop": {"pipeRepeat"},
    "keyword.control.return": {"pipeStatement"},
    "keyword.operator": {"pipeOperator"},
    "keyword.operator.assignment.compound": {"pipeUpdate"},
    "keyword.operator.logical": {"pipeLogical"},
    "keyword.other.order": {"pipeClause"},
    "keyword.other.reduction": {"pipeReduction"},
    "keyword.other.saturate": {"pipeCast"},
    "keyword.other.where": {"pipeClause"},
    "punctuation": {""},
    "storage.type": {"pipeType"},
    "storage.type.accumulate": {"pipeDeclaration"},
    "storage.type.const": {"pipeDeclaration"},
    "storage.type.function": {"pipeDeclaration"},
    "storage.type.let": {"pipeDeclaration"},
    "storage.type.pipeline": {"pipeDeclaration"},
    "string": {"pipeString"},
    "support.function.builtin": {"pipeFunction"},
    "variable": {""},
}

failures = 0


def check(condition, what):
    global failures
    if not condition:
        print(f"FAILED {what}")
        failures += 1


def group_of(scope):
    return max((prefix for prefix in GROUPS if (scope + ".").startswith(prefix + ".")), key=len)


def check_scopes(path, groups):
    """Each line `//  ^^^ scope` is about the last line that is none."""
    count = 0
    code = 0
    for number, line in enumerate(path.read_text().splitlines()):
        assertion = re.match(r"//\s*(\^+) (\S+)", line)
        if not assertion:
            code = number
            continue
        begin, end = assertion.span(1)
        found = set(groups[code][begin:end])
        expected = GROUPS[group_of(assertion.group(2))]
        check(found == expected, f"{path.name}:{code + 1}:{begin + 1}: {sorted(found)}, not {sorted(expected)}")
        count += 1
    return count


def check_lines(path, lines):
    for number, (found, expected) in enumerate(zip(lines, path.read_text().splitlines()), 1):
        check(found == expected, f"{path.name}:{number}: indented as `{found}`, not `{expected}`")


def check_messages(path, entries):
    expected = [
        [file, int(line), int(column), severity[0], f"{message} [{code}]" if code else message]
        for file, line, column, severity, message, code in expected_messages(path.read_text(errors="replace"))
    ]
    check(entries == expected, f"{path.name}: the quickfix list has {entries}, not {expected}")
    return len(entries)


def vim():
    """A Vim with syntax files, or why there is none."""
    for name in ("vim", "nvim"):
        if not shutil.which(name):
            continue
        with_syntax = subprocess.run([name, "-es", "-u", "NONE", "-N", "-i", "NONE", "-c",
                                      "if has('syntax') && !empty($VIMRUNTIME) && filereadable($VIMRUNTIME . "
                                      "'/syntax/syntax.vim') | quitall! | endif | cquit"], stdin=subprocess.DEVNULL)
        if with_syntax.returncode == 0:
            return name
    print("skipped: there is no vim or nvim with its syntax files")
    sys.exit(77)


def main():
    source = Path(sys.argv[1])
    tests = source / "tests/editors"
    editor = vim()
    scopes = sorted((tests / "scopes").glob("*.pipe"))
    programs = sorted((source / "examples").glob("*.pipe")) + sorted((source / "stdlib").glob("*.pipe"))
    goldens = sorted((source / "tests/diagnostics").glob("*.golden"))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "answer.json"
        work = {
            "programs": [str(path) for path in scopes + programs],
            "messages": [str(path) for path in goldens],
            "indent": str(tests / "indent.pipe"),
            "output": str(output),
        }
        runtime = str(source / "editors/vim").replace(" ", r"\ ")
        (Path(folder) / "start.vim").write_text(
            f"set runtimepath^={runtime}\nlet g:work = json_decode({json.dumps(json.dumps(work))})\n"
            f"source {tests / 'probe.vim'}\n")
        # In an empty folder, where no file has the name of one in a message.
        subprocess.run([editor, "-es", "-u", "NONE", "-N", "-i", "NONE", "-S", "start.vim"], cwd=folder, timeout=120,
                       stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "dumb"})
        if not output.exists():
            sys.exit(f"FAILED: {editor} gave no answer")
        answer = json.loads(output.read_text())

    assertions = sum(check_scopes(path, answer["groups"][str(path)]) for path in scopes)
    for path in programs:
        for number, groups in enumerate(answer["groups"][str(path)], 1):
            check("pipeError" not in groups, f"{path.name}:{number}: is highlighted as an error")
        check_lines(path, answer["reindented"][str(path)])
        check(any(map(any, answer["groups"][str(path)])), f"{path.name}: nothing is highlighted")
    messages = sum(check_messages(path, answer["messages"][str(path)]) for path in goldens)
    check_lines(tests / "indent.pipe", answer["indented"])
    settings = answer["settings"]
    check(settings["filetype"] == "pipe", f"the file's type is {settings['filetype']}")
    check(settings["commentstring"] == "// %s", f"a comment is {settings['commentstring']}")
    check(settings["makeprg"].startswith("pipec "), f":make runs {settings['makeprg']}")
    print(f"{editor}: {assertions} assertions, {len(programs)} programs, {messages} messages")
    return 1 if failures else 0


sys.exit(main())
