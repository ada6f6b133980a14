#!/usr/bin/env python3
"""Links of Markdown pages lead somewhere: links.py DIRECTORY... [--except DIRECTORY...]

Of every .md file below the directories, each relative link must lead to a file or directory that exists, and `#place` to a
heading of that page. Links to the web are not looked up. Code is left out.
"""
import os
import re
import sys


def prose(text):
    """The page without blocks of code and without code in lines."""
    kept, fence = [], False
    for line in text.split("\n"):
        if re.match(r" *```", line):
            fence = not fence
        elif not fence and not line.startswith("    "):
            kept.append(re.sub(r"`[^`]*`", "`code`", line))
    return "\n".join(kept)


def anchors(text):
    """The places in a page that GitHub makes of its headings."""
    places, fence = set(), False
    for line in text.split("\n"):
        if line.startswith("```"):
            fence = not fence
        heading = re.match(r"#+ (.*)", line)
        if heading and not fence:
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            place = base = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            number = 0
            while place in places:
                number += 1
                place = f"{base}-{number}"
            places.add(place)
    return places


def check(page):
    """What is wrong with the links of a page."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, place = target.partition("#")
        file_name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(file_name):
            yield f"{page}: {target} does not exist"
        elif place and file_name.endswith(".md"):
            with open(file_name, encoding="utf-8") as file:
                if place not in anchors(file.read()):
                    yield f"{page}: {target}: there is no such heading"


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--except") if "--except" in arguments else len(arguments)
    left_out = {os.path.abspath(path) for path in arguments[split + 1:]}
    pages, problems = 0, []
    for root in arguments[:split]:
        for directory, folders, files in os.walk(root):
            folders[:] = [f for f in folders if os.path.abspath(os.path.join(directory, f)) not in left_out
                          and not f.startswith(".") and f not in ("build", "node_modules")]
            for name in sorted(files):
                if name.endswith(".md"):
                    pages += 1
                    problems += check(os.path.join(directory, name))
    print("\n".join(problems + [f"{pages} pages, {len(problems)} broken links"]))
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
