#!/usr/bin/env python3
"""Formats the programs of this project with `pipec fmt`: examples, standard library, benchmarks, and the programs in the
documentation (blocks marked `pipe`).

    format-programs.py [--check] PIPEC SOURCE_DIRECTORY

With --check nothing is written; what is not formatted is named, and the exit code is 1.
"""
import argparse
import pathlib
import re
import subprocess
import sys

PROGRAMS = ["examples/**/*.pipe", "stdlib/*.pipe", "bench/**/*.pipe", "docs/**/*.pipe", "tests/docs/phrases/*.pipe"]
PAGES = ["README.md", "docs/*.md"]
BLOCK = re.compile(r"^```pipe\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def formatted(pipec, text, where):
    result = subprocess.run([pipec, "fmt", "-"], input=text, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{where}: {result.stderr}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pipec")
    parser.add_argument("source", type=pathlib.Path)
    options = parser.parse_args()
    wrong = []
    for pattern in PROGRAMS + PAGES:
        for path in sorted(options.source.glob(pattern)):
            name = path.relative_to(options.source)
            text = path.read_text()
            if path.suffix == ".md":
                new = BLOCK.sub(lambda block: "```pipe\n" + formatted(options.pipec, block[1], name) + "```", text)
            else:
                new = formatted(options.pipec, text, name)
            if new == text:
                continue
            wrong.append(name)
            if not options.check:
                path.write_text(new)
    for name in wrong:
        print(f"{name}: " + ("not formatted; `make format` does it" if options.check else "formatted"))
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
