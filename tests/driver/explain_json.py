"""What `pipec explain --json` prints has the members that docs/explain.md lists, and the page lists no others.

    explain_json.py EXPLAIN.md DOCUMENT.json...
"""
import json
import pathlib
import re
import sys

VALUES = {"nowhere", "shared", "registers_and_shared", "null"}  # `registers` is a member as well


def members(value, found, free=()):
    """The names of all members; those below a member of `free` are the program's."""
    if isinstance(value, dict):
        for name, inner in value.items():
            found.add(name)
            if name not in free:
                members(inner, found, free)
    elif isinstance(value, list):
        for inner in value:
            members(inner, found, free)


page = pathlib.Path(sys.argv[1]).read_text()
section = page[page.index("## For programs") :]
section = section[: section.index("\n## ", 3)]
documented = set(re.findall(r"`([a-z0-9_]+)`", section)) - VALUES
found = set()
for path in sys.argv[2:]:
    document = json.loads(pathlib.Path(path).read_text())
    assert list(document) == ["version", "pipelines"] and document["version"] == 1, list(document)
    members(document, found, free={"sizes"})
    for pipeline in document["pipelines"]:
        kernels = pipeline["kernels"]
        times = [k["time"]["seconds"] for k in kernels if k["time"]]
        assert abs(sum(times) - pipeline["seconds"]) < 1e-9, "the pipeline takes what its kernels take"
        for kernel in kernels:
            assert (kernel["time"] is None) == ("unknown" in kernel)
            if kernel["time"]:
                resources = kernel["time"]["resources"]
                assert resources[kernel["time"]["bound_by"]] == max(resources.values())
        for merge in pipeline["merges"]:
            assert merge["producer"] < len(kernels) and merge["reader"] < len(kernels)
print("not documented:", sorted(found - documented), "not printed:", sorted(documented - found))
sys.exit(bool(found - documented or documented - found))
