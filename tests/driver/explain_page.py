"""A page of `pipec explain --html` stands by itself, and its graph is drawn right.

    explain_page.py PAGE.html TEXT...      every TEXT is shown somewhere
"""
import re
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
    check_lines(graph, stages + inputs)
    return len(stages)


def points(path):
    """Of a line's curves and straight pieces, some."""
    x = y = 0.0
    for command, numbers in re.findall(r"([MCV])([-\d. ]*)", path):
        values = [float(number) for number in numbers.split()]
        if command == "V":
            values = [x, y, x, values[0], x, values[0]]
        if command != "M":
            for t in (i / 40 for i in range(41)):
                weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3
                yield [sum(w * v for w, v in zip(weights, (first, *values[axis::2])))
                       for axis, first in enumerate((x, y))]
        x, y = values[-2:]


def check_lines(graph, boxes):
    """No line crosses a box or a kernel's title; a character of it is about 6 pixels wide."""
    names = [(left + 1, top + 1, right - 1, bottom - 1) for left, top, right, bottom in boxes]
    for text in graph.iter("text"):
        if text.get("class") == "title":
            left, bottom = float(text.get("x")), float(text.get("y"))
            names.append((left, bottom - 9, left + 6 * len(text.text), bottom))
    for path in graph.find("g").iter("path"):
        check("lines cross no name", not any(left <= x <= right and top <= y <= bottom
                                             for x, y in points(path.get("d")) for left, top, right, bottom in names))


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
listed += sum(1 for row in root.iter("tr") if row.get("class") == "equal" for _ in row.iter("code"))
check("every stage is drawn and listed", drawn == listed and drawn > 0)
sys.exit(failures > 0)
