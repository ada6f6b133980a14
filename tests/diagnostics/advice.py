#!/usr/bin/env python3
"""Advice compiles: with what a message of a golden program says, that message is gone, and no new error has come.

    advice.py PIPEC

Two kinds are followed, each by itself: `COND` of a note "... when `COND`; add that to `where` if it is meant", and the
replacements of a message (`fixits` of its JSON).
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
REMEDY = re.compile(r"when `([^`]*)`; add that to `where` if it is meant")
PIPELINE = re.compile(r"^pipeline\b", re.M)


def diagnostics(pipec, folder, program, flags):
    """The messages; imports and schedules are found from the folder."""
    command = [pipec, "-fsyntax-only", "--diagnostics-format", "json", *flags, program]
    result = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    if result.returncode not in (0, 1):
        raise RuntimeError(f"exit code {result.returncode}: {result.stderr.decode(errors='replace')[:300]}")
    return json.loads(result.stderr)["diagnostics"]


def offset(text, line, column):
    """Lines and columns count from 1, columns in characters."""
    return sum(len(l) + 1 for l in text.split("\n")[: line - 1]) + column - 1


def with_fixits(text, fixits):
    places = [(offset(text, f["line"], f["column"]), offset(text, f["endLine"], f["endColumn"]), f["text"]) for f in fixits]
    for begin, end, replacement in sorted(places, reverse=True):
        text = text[:begin] + replacement + text[end:]
    return text


def with_where(text, line, condition):
    """The condition as the last one of the pipeline in which the line lies, before the brace that opens its body."""
    before = [m.start() for m in PIPELINE.finditer(text) if m.start() < offset(text, line + 1, 1)]
    begin = before[-1]
    brace = text.index("{", begin)
    word = "," if re.search(r"\bwhere\b", text[begin:brace]) else " where"
    return text[:brace].rstrip() + f"{word} {condition} " + text[brace:]


def key(d):
    return d["id"], d.get("line")


def follow(pipec, folder, flags, before, told, text):
    """What is wrong with the new text, or None. Lines stay, so a message is known by its id and line."""
    (folder / "advice.pipe").write_text(text)
    after = diagnostics(pipec, folder, "advice.pipe", flags)
    count = lambda of: sum(key(d) == key(told) for d in of)
    if count(after) >= count(before):
        return "is still there"
    if told["severity"] == "warning" and any(d["severity"] == "error" for d in after) and not any(
        d["severity"] == "error" for d in before
    ):
        return "is gone, but now there is an error: " + after[0]["message"]
    return None


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "programs"
        shutil.copytree(FOLDER, folder)
        return check(folder)


def check(folder):
    pipec = str(pathlib.Path(sys.argv[1]).resolve())
    followed = {"where": 0, "replacement": 0}
    failures = 0
    for program in sorted(FOLDER.glob("*.pipe")):
        try:
            text = program.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        first = re.match(r"// flags:(.*)", text)
        flags = first[1].split() if first else []
        if "--emit" in flags:
            continue
        before = diagnostics(pipec, folder, program.name, flags)
        for told in before:
            here = lambda d: d.get("file") == program.name
            advised = []
            for note in told["notes"]:
                condition = REMEDY.search(note["message"])
                if condition and here(told):
                    advised.append(("where", with_where(text, told["line"], condition[1])))
            if told["fixits"] and all(here(f) for f in told["fixits"]):
                advised.append(("replacement", with_fixits(text, told["fixits"])))
            for kind, new in advised:
                followed[kind] += 1
                wrong = follow(pipec, folder, flags, before, told, new)
                if wrong:
                    failures += 1
                    print(f"FAILED {program.name}:{told.get('line')}: [{told['id']}] {wrong} ({kind})")
    print(f"followed {followed['where']} conditions and {followed['replacement']} replacements, {failures} failures")
    return 1 if failures or not all(followed.values()) else 0


sys.exit(main())
