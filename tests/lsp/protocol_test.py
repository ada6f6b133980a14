#!/usr/bin/env python3
"""`pipec lsp` as a process: frames, order, speed, other files, its end. protocol_test.py PIPEC SOURCE_DIRECTORY"""
import json
import os
import pathlib
import sys
import tempfile
import time

from client import Client

pipec, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
directory = pathlib.Path(tempfile.mkdtemp())
environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache")}
failures = 0


def check(what, condition, detail=""):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what} {detail}")


def at(uri, text, word):
    before = text[:text.index(word)]
    return {"textDocument": {"uri": uri},
            "position": {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}}


def test_examples():
    """Diagnostics within 200 ms of a change, and none for the examples; domains later."""
    client = Client(pipec, environment=environment)
    client.start()
    slowest = 0
    for path in sorted((source / "examples").glob("*.pipe")):
        uri, text = path.as_uri(), path.read_text()
        client.open(uri, text)
        client.diagnostics(uri)
        for version in range(2, 5):
            line = text.count("\n")
            client.change(uri, version, [{"range": {"start": {"line": line, "character": 0},
                                                    "end": {"line": line, "character": 0}}, "text": "// typed\n"}])
            start = time.monotonic()
            found = client.diagnostics(uri, version)
            slowest = max(slowest, time.monotonic() - start)
            check(f"{path.name} has no diagnostics", found == [], found)
    # Machines of tests are busy; what is measured here is far below.
    check("diagnostics are there in time", slowest < 1, f"({slowest:.3f} s)")
    print(f"diagnostics after at most {1000 * slowest:.0f} ms, of which 60 are waited for")
    check("the end is orderly", client.end() == 0)


def test_files():
    """Imports come from open texts first, then from disk; the library can be looked at."""
    (directory / "mine.pipe").write_text("fn half(v) = v / 2\n")
    uri, library = (directory / "a.pipe").as_uri(), (directory / "mine.pipe").as_uri()
    text = 'import "mine"\nimport "math"\nconst A = half(4) + PI\n'
    client = Client(pipec, environment=environment)
    client.start()
    client.open(uri, text)
    check("the import is found", client.diagnostics(uri) == [])
    place = client.result("textDocument/definition", at(uri, text, "half"))
    check("definitions lead to other files", place["uri"] == library, place)
    place = client.result("textDocument/definition", at(uri, text, "PI"))
    shown = pathlib.Path(place["uri"].removeprefix("file://"))
    check("definitions lead to the library", shown.read_text() == (source / "stdlib/math.pipe").read_text(), place)
    client.kept.clear()
    client.open(library, "fn third(v) = v / 3\n")
    found = client.diagnostics(uri)
    if found == []:  # of the analysis that was under way
        found = client.diagnostics(uri)
    check("open texts stand for their files", [d["code"] for d in found] == ["unknown-name"], found)
    client.notify("textDocument/didClose", {"textDocument": {"uri": library}})
    check("closed texts do not", client.diagnostics(uri) == [])

    # A function is renamed where it is declared and where it is used.
    client.open(library, "fn half(v) = v / 2\n")
    answer = client.result("textDocument/rename", {**at(uri, text, "half"), "newName": "halved"})
    check("rename goes to both files", sorted(answer["changes"]) == [uri, library], answer)
    client.end()


def test_messages():
    """Broken frames are refused, and what follows is answered; requests that were taken back are refused."""
    client = Client(pipec, environment=environment)
    client.raw(b"Content-Length: 5\r\n\r\n{...}")
    check("no JSON", client.wait(lambda m: "error" in m)["error"]["code"] == -32700)
    client.start()
    client.send({"id": 100, "method": "nonsense"})
    check("an unknown method", client.wait(lambda m: m.get("id") == 100)["error"]["code"] == -32601)
    messages = [{"id": "a", "method": "textDocument/hover", "params": {}},
                {"id": "b", "method": "textDocument/hover", "params": {}},
                {"method": "$/cancelRequest", "params": {"id": "b"}}]
    data = b""
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data += b"Content-Length: %d\r\n\r\n" % len(body) + body
    client.raw(data)
    check("answered", client.wait(lambda m: m.get("id") == "a")["error"]["code"] == -32602)
    check("taken back", client.wait(lambda m: m.get("id") == "b")["error"]["code"] == -32800)
    check("the end is orderly", client.end() == 0)

    client = Client(pipec, environment=environment)
    client.start()
    client.process.stdin.close()
    check("an end without a word", client.process.wait(timeout=30) == 1)
    client = Client(pipec, environment=environment)
    client.start()
    client.notify("exit")
    check("exit without shutdown", client.process.wait(timeout=30) == 1)


test_examples()
test_files()
test_messages()
print(f"{failures} failures")
sys.exit(1 if failures else 0)
