#!/usr/bin/env python3
"""Makes docs/gallery.md: page.py PAGE.md. Lines are counted in examples/, kernels and times are those in docs/results."""
import os
import re
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import report  # noqa: E402  pylint: disable=wrong-import-position

# Of each example its title, a text, what the pictures show, and the image that was measured (rows x columns).
EXAMPLES = {
    "sketch": ("Pencil drawing", "A gray image divided by its blurred self is white where it is smooth and dark along edges. "
               "Some of the photograph's colour is washed over it.", "the photograph", "the drawing",
               "3 x 1080 x 1920 uint8, interleaved"),
    "detail": ("Local contrast", "A guided filter splits the image into base and detail; the detail is made stronger (here "
               "four times). Edges get no halos.", "the photograph", "with `boost` 4", "3 x 1080 x 1920 uint8, interleaved"),
    "harris": ("Harris corners", "The corner response of a gray image, from the products of its derivatives. The squares are "
               "drawn by [another program](gallery/corners.pipe) at the response's greatest values.", "the photograph",
               "its corners", "2832 x 4256 float32"),
    "bilateral_grid": ("Bilateral grid", "Smooths what is nearly equal and keeps edges: a histogram over place and gray level "
                       "is blurred, and read back by interpolation.", "the photograph", "smoothed", "1536 x 2560 float32"),
    "camera_pipe": ("Camera pipe", "From a sensor's raw image, with one colour in each pixel, to a picture: hot pixels, "
                    "demosaicing, colours, tone curve. The raw image is [made](gallery/mosaic.pipe) from a photograph.",
                    "what the sensor sees", "the picture", "1968 x 2592 uint16, to 3 x 1920 x 2560 uint8"),
    "multiscale_interpolate": ("Multiscale interpolation", "Fills what is missing from what is known around it, over a pyramid "
                               "of ten levels.", "scratched", "filled", "4 x 1536 x 2560 float32"),
    "pyramid_blend": ("Pyramid blend", "Joins two images along a mask: coarse structures blend over wide transitions, fine "
                      "ones over narrow ones.", "side by side", "blended", "two of 3 x 2160 x 3840 and a mask, float32"),
    "unsharp": ("Unsharp mask", "Adds the difference from a blurred image, where it is large enough to be no noise.",
                "the photograph", "sharper", "3 x 2832 x 4256 float32"),
    "blur": ("Box blur", "The mean of 3 x 3 pixels in two passes (three times as large, to be seen).", "the photograph",
             "blurred", "3 x 4096 x 4096 float32"),
}


def lines_of_code(name):
    """Lines that are neither blank nor comment."""
    with open(os.path.join(ROOT, "examples", name + ".pipe"), encoding="utf-8") as file:
        return sum(bool(line.split("//")[0].strip()) for line in file)


def measured():
    """For each example microseconds, kernels, and the page of docs/ that has them."""
    results = os.path.join(ROOT, "docs", "results")
    _, benchmarks = report.read_all([os.path.join(results, "comparison-h200.jsonl")])
    figures = {}
    for name, entries in benchmarks.items():
        entry = report.chosen(entries)["pipec"]
        figures[name] = report.best(entry), entry["kernels"], "evaluation.md"
    with open(os.path.join(results, "strategies-h200.md"), encoding="utf-8") as file:
        table = file.read().split("| | default | one kernel a stage |")[1]
    for name in ("sketch", "detail"):  # they are not among the programs of the comparison
        time, kernels = re.search(rf"^\| {name} \| ([0-9.]+) \((\d+)\) \|", table, re.MULTILINE).groups()
        figures[name] = float(time), int(kernels), "results/strategies-h200.md"
    return figures


def paragraph(words):
    return textwrap.wrap(words, 120) + [""]


def page():
    figures = measured()
    text = ["# The examples in pictures", ""]
    text += paragraph("The programs are in [examples/](../examples/README.md), with the publications that their methods come "
                      "from. `make gallery` makes the pictures anew, on the CPU, and this page.")
    text += ["| program | lines of code | measured on | kernels | microseconds | from |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name, (title, _, _, _, image) in EXAMPLES.items():
        time, kernels, source = figures[name]
        text.append(f"| [{title}](#{title.lower().replace(' ', '-')}) | {lines_of_code(name)} | {image} | {kernels} | "
                    f"{time:.1f} | [{os.path.basename(source)}]({source}) |")
    text += [""] + paragraph("Times are those of a launch on an NVIDIA H200, with the schedule that the compiler chooses; how "
                             "they were taken is said on the pages that they are from. Those of sketch and detail are of an "
                             "earlier day and code than the others.")
    for name, (title, words, before, after, _) in EXAMPLES.items():
        text += [f"## {title}", ""] + paragraph(f"[{name}.pipe](../examples/{name}.pipe). {words}")
        text += [f"| {before} | {after} |", "| --- | --- |",
                 f"| ![{before}](images/{name}-before.jpg) | ![{after}](images/{name}.jpg) |", ""]
    return "\n".join(text)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        output.write(page())
