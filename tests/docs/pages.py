#!/usr/bin/env python3
"""What a page shows is true: pages.py PIPEC SOURCE_DIRECTORY CACHE_DIRECTORY PAGE.md

In an empty directory, from the page's first line to its last:

  <!-- file: NAME -->     the block that follows becomes the file NAME
  ```console              every line `$ COMMAND` runs in bash; the lines below it are what it prints. `...` stands for any
                          lines, or for the rest of a line; times in milliseconds and runs of blanks may be others

`pipec` is on PATH, the Python package is there, and so is examples/ with its pictures. A command may print to standard
error, too. Where no Python has NumPy, or another library that a page imports, the page is skipped (exit code 77).
"""
import os
import re
import subprocess
import sys
import tempfile


def parts(text):
    """What there is to do, in order: ("file", line, name, text) and ("command", line, command, shown)."""
    lines, name, number = text.split("\n"), None, 0
    while number < len(lines):
        marker = re.fullmatch(r"<!-- file: (\S+) -->", lines[number])
        fence = re.fullmatch(r"```(\S*).*", lines[number])
        if marker:
            name = marker[1]
        elif fence:
            end = lines.index("```", number + 1)
            block, first = lines[number + 1:end], number + 2
            if name:
                yield "file", first, name, "\n".join(block) + "\n"
            elif fence[1] == "console":
                yield from commands(block, first)
            name, number = None, end
        number += 1


def commands(block, first):
    command, shown, start = None, [], first
    for number, line in enumerate(block, first):
        if line.startswith("$ "):
            if command is not None:
                yield "command", start, command, shown
            command, shown, start = line[2:], [], number
        elif command is not None and command.endswith("\\"):
            command += "\n" + line
        elif command is not None:
            shown.append(line)
        else:
            raise SystemExit(f"line {number}: output without a command")
    if command is not None:
        yield "command", start, command, shown


def pattern(line):
    """A line that is shown, as a regular expression for what is printed."""
    words = re.escape(re.sub(r"[0-9.]+ ms", "TIME ms", line).strip())
    words = re.sub(r"(\\ )+", r" +", words).replace("TIME", r"[0-9.]+")
    return words.replace(r"\.\.\.", ".*")


def agrees(shown, printed):
    expression = ""
    for line in shown:
        expression += r"(?:.*\n)*?" if line.strip() == "..." else r" *" + pattern(line) + r" *\n"
    return re.fullmatch(expression, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


def python_for(text):
    """A Python with NumPy and what the page imports; and what is missing, where there is none."""
    modules = ["numpy"] + [m for m in ("dask", "distributed", "zarr") if re.search(rf"^(import|from) {m}\b", text, re.M)]
    for python in ("python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True,
                          check=False).returncode == 0:
            return python, ""
    return None, ", ".join("python3-" + m for m in modules)


def main():
    pipec, source, cache, page = [os.path.abspath(path) for path in sys.argv[1:]]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    python, missing = python_for(text)
    if "import numpy" in text and python is None:
        print(f"SKIPPED: no Python has all that the page imports; on Debian: {missing}")
        return 77
    failures = count = 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.mkdir("bin")
        os.symlink(pipec, "bin/pipec")
        if python:
            with open("bin/python3", "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec {python} "$@"\n')
            os.chmod("bin/python3", 0o755)
        os.symlink(os.path.join(source, "examples"), "examples")
        environment = dict(os.environ, PATH=directory + "/bin:" + os.environ["PATH"], XDG_CACHE_HOME=cache, PIPEC=pipec,
                           PYTHONPATH=os.path.join(source, "python"), PYTHONDONTWRITEBYTECODE="1",
                           CUDA_VISIBLE_DEVICES="", NO_COLOR="1")
        for kind, line, what, content in parts(text):
            if kind == "file":
                with open(what, "w", encoding="utf-8") as file:
                    file.write(content)
                continue
            count += 1
            result = subprocess.run(["bash", "-c", what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, env=environment, text=True, check=False)
            if not agrees(content, result.stdout):
                failures += 1
                shown = "".join("    " + shown_line + "\n" for shown_line in content)
                print(f"FAILED {page}:{line}: {what}\n  is shown with\n{shown}  but printed (exit code {result.returncode})\n"
                      f"{result.stdout}")
    print(f"{count} commands, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
