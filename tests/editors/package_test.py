"""The VS Code extension without VS Code: its files, its problem matcher against what pipec prints, its snippets.

    package_test.py SOURCE_DIR PIPEC
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from messages import expected_messages

failures = 0


def check(condition, what):
    global failures
    if not condition:
        print(f"FAILED {what}")
        failures += 1


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        check(False, f"{path}: {error}")
        return {}


def named_files(node):
    """What the manifest names by a path."""
    if isinstance(node, dict):
        return [file for value in node.values() for file in named_files(value)]
    if isinstance(node, list):
        return [file for value in node for file in named_files(value)]
    return [node] if isinstance(node, str) and node.startswith("./") else []


def check_files(extension, manifest):
    for file in named_files(manifest["contributes"]):
        check((extension / file).is_file(), f"package.json names {file}, which does not exist")
    for path in extension.rglob("*.json"):
        if "node_modules" not in path.parts:
            read_json(path)
    grammar = read_json(extension / manifest["contributes"]["grammars"][0]["path"])
    scope = manifest["contributes"]["grammars"][0]["scopeName"]
    check(grammar["scopeName"] == scope, "the grammar's scope name differs")
    included = set(re.findall(r'"include": "#(\w+)"', json.dumps(grammar)))
    defined = set(grammar["repository"])
    check(included == defined, f"the grammar includes {sorted(included)} and defines {sorted(defined)}")


def check_tasks(extension, manifest):
    matchers = {"$" + matcher["name"] for matcher in manifest["contributes"]["problemMatchers"]}
    for task in read_json(extension / "samples/tasks.json")["tasks"]:
        check(task["problemMatcher"] in matchers, f"task `{task['label']}` uses a problem matcher that does not exist")


def check_matcher(source, manifest):
    """The matcher must find in every golden what its own reading of the format, in messages.py, finds."""
    pattern = manifest["contributes"]["problemMatchers"][0]["pattern"]
    regexp = re.compile(pattern["regexp"])
    keys = ("file", "line", "column", "severity", "message", "code")
    matched = 0
    for golden in sorted((source / "tests/diagnostics").glob("*.golden")):
        text = golden.read_text(errors="replace")
        found = [
            tuple(match.group(pattern[key]) or "" for key in keys)
            for line in text.splitlines()
            if (match := regexp.search(line))
        ]
        expected = expected_messages(text)
        check(found == expected, f"{golden.name}: the problem matcher finds {found}, not {expected}")
        ids = {code for *_, code in found}
        check(not expected or golden.name.split(".")[0] in ids, f"{golden.name}: no message has its id")
        matched += len(found)
    print(f"{matched} messages and notes in goldens")


def check_indentation(source, extension, manifest):
    """The rules must give each line of indent.pipe its place below the one above, but for the heads of pipelines, of
    which such rules know nothing."""
    language = read_json(extension / manifest["contributes"]["languages"][0]["configuration"])
    rules = {name: re.compile(rule) for name, rule in language["indentationRules"].items()}
    above = ""
    for number, line in enumerate((source / "tests/editors/indent.pipe").read_text().splitlines(), 1):
        if not line.strip():
            continue
        text = line.lstrip()
        indent = len(above) - len(above.lstrip())
        indent += 4 * bool(rules["increaseIndentPattern"].search(above))
        indent -= 4 * bool(rules["decreaseIndentPattern"].search(text))
        if not re.match(r"->|where\b|\{", text):
            check(len(line) - len(text) == indent, f"indent.pipe:{number}: VS Code would indent by {indent}")
        above = line


def expanded(body):
    """A snippet with the defaults of its tab stops, the first of a choice, and four spaces for a tab."""
    text = "\n".join(body).replace("\t", "    ")
    while True:
        text, count = re.subn(r"\$\{\d+(?::([^${}]*)|\|([^,|]*)[^|]*\|)\}", lambda m: m[1] or m[2] or "", text)
        if count == 0:
            return text


def check_snippets(extension, manifest, pipec):
    """Each must compile as it is inserted: an item on its own, a statement in a pipeline."""
    snippets = read_json(extension / manifest["contributes"]["snippets"][0]["path"])
    prefixes = [snippet["prefix"] for snippet in snippets.values()]
    check(len(prefixes) == len(set(prefixes)), "two snippets have one prefix")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "snippet.pipe"
        for name, snippet in snippets.items():
            text = expanded(snippet["body"])
            check("$" not in text, f"snippet `{name}`: a tab stop is not understood: {text}")
            if not re.match(r"///|(pipeline|fn|import|const)\b", text):
                text = ("pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {\n" + text
                        + "\n    out(y, x) = img(y, x)\n}")
            program.write_text(text + "\n")
            result = subprocess.run([pipec, "-fsyntax-only", "-w", program], capture_output=True, text=True)
            check(result.returncode == 0, f"snippet `{name}`: {result.stderr}")
    print(f"{len(snippets)} snippets")


def main():
    source, pipec = Path(sys.argv[1]), sys.argv[2]
    extension = source / "editors/vscode"
    manifest = read_json(extension / "package.json")
    check_files(extension, manifest)
    check_tasks(extension, manifest)
    check_matcher(source, manifest)
    check_indentation(source, extension, manifest)
    check_snippets(extension, manifest, pipec)
    return 1 if failures else 0


sys.exit(main())
