"""A page of `pipec explain --html` stands by itself, and its graph is drawn right.

    explain_page.py PAGE.html TEXT...      every TEXT is shown somewhere
"""
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "hr", "img", "link", "input"}
failures = 0


def check(what, condition):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", what)


class Tags(HTMLParser):
    """What is opened is closed, and nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        check(f"no <{tag}>", tag not in {"script", "link", "iframe", "object", "embed", "img"})
        for name, value in attributes:
            check(f"{name} of <{tag}> stays in the page", name not in {"src", "href"} or value.startswith("#"))
            check(f"<{tag}> has no {name}", not name.startswith("on"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        check(f"</{tag}> closes the last tag", self.open and self.open.pop() == tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def box(rectangle):
    x, y, width, height = (float(rectangle.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def inside(a, b):
    return a[0] >= b[0] and a[1] >= b[1] and a[2] <= b[2] and a[3] <= b[3]


def check_graph(graph):
    kinds = {}
    for rectangle in graph.iter("rect"):
        kinds.setdefault(rectangle.get("class"), []).append(box(rectangle))
    kernels, inputs = kinds.pop("kernel"), kinds.pop("input", [])
    stages = sum(kinds.values(), [])
    for group in (kernels + inputs, stages + inputs):
        for i, one in enumerate(group):
            check("boxes do not overlap", all(apart(one, other) for other in group[:i]))
    for stage in stages:
        check("a stage lies in one kernel", sum(inside(stage, kernel) for kernel in kernels) == 1)
    left, top, width, height = map(float, graph.get("viewBox").split())
    for one in kernels + inputs:
        check("boxes lie in the picture", inside(one, (left, top, left + width, top + height)))
    return len(stages)


page = Path(sys.argv[1]).read_text(encoding="utf-8")
tags = Tags()
tags.feed(page)
tags.close()
check("all tags are closed", not tags.open)
check("nothing is loaded", "http" not in page and "url(" not in page and "@import" not in page)
text = " ".join(" ".join(tags.text).split())
for wanted in sys.argv[2:]:
    check(f"the page shows {wanted!r}", wanted in text)

root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
ids = [element.get("id") for element in root.iter() if element.get("id")]
check("ids are unique", len(ids) == len(set(ids)))
for link in root.iter("a"):
    check(f"{link.get('href')} is there", link.get("href")[1:] in ids)
graphs = [svg for svg in root.iter("svg") if svg.get("class") == "graph"]
check("there is a graph", graphs)
drawn = sum(check_graph(graph) for graph in graphs)
tables = [row for table in root.iter("table") for row in table.iter("tr") if row.find("th") is not None]
listed = sum(1 for details in root.iter("details") if "stage" in (details.find("summary").text or "")
             for row in details.iter("tr") if row.find("td") is not None)
check("every stage is drawn and listed", drawn == listed and drawn > 0)
sys.exit(failures > 0)
