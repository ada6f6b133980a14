#!/usr/bin/env python3
"""The chart of README.md: how many times as long as pipec's code others take, from the results in docs/results.

    bench/readme_chart.py docs/images/comparison.svg

Halide and torch.compile: comparison-h200.jsonl. NPP: the tables of reductions.md and scans.md, where a row gives a time of
NPP's for the same work.
"""
import math
import os
import re
import sys
from xml.sax.saxutils import escape

import report

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "results")
PEERS = {"halide-manual": "Halide, scheduled by hand", "torch-compile": "torch.compile", "npp": "NPP"}
NAMES = {"blur": "blur", "unsharp": "unsharp mask", "harris": "Harris corners", "harris_rgb": "Harris corners of colours",
         "bilateral_grid": "bilateral grid", "multiscale_interpolate": "multiscale interpolation",
         "camera_pipe": "camera pipe", "pyramid_blend": "pyramid blend"}
LEFT, TOP, WIDTH, ROW, LEGEND = 190, 74, 500, 26, (22, 212, 336)
STYLE = """
  text { font: 12px sans-serif; fill: #1f2328 } .title { font-size: 14px; font-weight: bold } .small { fill: #59636e }
  .page { fill: #ffffff } .grid { stroke: #d1d9e0 } .one { stroke: #1f2328 }
  .halide-manual { fill: #c2600a; stroke: #c2600a } .torch-compile { fill: #7a4fb5; stroke: #7a4fb5 }
  .npp { fill: #2f7d32; stroke: #2f7d32 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .page { fill: #0d1117 } .grid { stroke: #3d444d } .one { stroke: #f0f6fc }
    .halide-manual { fill: #f0883e; stroke: #f0883e } .torch-compile { fill: #b392f0; stroke: #b392f0 }
    .npp { fill: #56d364; stroke: #56d364 }
  }
"""


def compared():
    """The device, and of each program its name and a ratio for each peer that was measured."""
    header, benchmarks = report.read_all([os.path.join(RESULTS, "comparison-h200.jsonl")])
    rows = []
    for benchmark, name in NAMES.items():
        systems = report.chosen(benchmarks[benchmark])
        own = report.best(systems["pipec"])
        rows.append((name, {key: report.best(systems[key]) / own for key in ("halide-manual", "torch-compile")}))
    return header["device"].split(",")[0], rows


def npp_rows():
    """Rows of the tables in which NPP does the same as the program."""
    rows = []
    for page in ("reductions.md", "scans.md"):
        with open(os.path.join(RESULTS, page), encoding="utf-8") as lines:
            for line in lines:
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                # Of some rows NPP does a part only ("26.0 for the means"): these are no comparison.
                time = re.fullmatch(r"(?:NPP )?([0-9.]+)", cells[4]) if len(cells) == 6 else None
                if time:
                    rows.append((cells[0].split(",")[0], {"npp": float(time[1]) / float(cells[2])}))
    return rows


def svg(device, rows):
    """Dots on a logarithmic axis, one row for each program, as lines from 1 on."""
    high = max(ratio for _, ratios in rows for ratio in ratios.values())
    low = min([1.0] + [ratio for _, ratios in rows for ratio in ratios.values()])
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= t <= high * 1.5]
    span = math.log(max(high * 1.15, ticks[-1]) / low)
    place = lambda ratio: LEFT + WIDTH * math.log(ratio / low) / span
    bottom = TOP + ROW * len(rows)
    width, height = LEFT + WIDTH + 50, bottom + 44
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
             f"<style>{STYLE}</style>", f'<rect class="page" width="{width}" height="{height}"/>',
             f'<text class="title" x="16" y="24">Time of others, as a multiple of pipec\'s ({escape(device)})</text>']
    for i, (key, name) in enumerate(PEERS.items()):
        parts.append(f'<circle class="{key}" cx="{LEGEND[i]}" cy="45" r="5"/>'
                     f'<text x="{LEGEND[i] + 11}" y="49">{escape(name)}</text>')
    for tick in ticks:
        kind = "one" if tick == 1 else "grid"
        parts.append(f'<line class="{kind}" x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{TOP - 8}" y2="{bottom}"/>'
                     f'<text class="small" x="{place(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text class="small" x="{place(1):.1f}" y="{bottom + 34}">1 is pipec; to the right is slower '
                 "(logarithmic)</text>")
    for number, (name, ratios) in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        last = max(ratios, key=ratios.get)
        parts.append(f'<line class="{last}" stroke-width="2" x1="{place(1):.1f}" x2="{place(ratios[last]):.1f}" '
                     f'y1="{y:.1f}" y2="{y:.1f}"/>')
        least = min(ratios.values())
        for key, ratio in ratios.items():
            # Of two dots that are close to each other the left one has its number on its left.
            left = ratio == least and place(max(ratios.values())) - place(least) < 35 and len(ratios) > 1
            parts.append(f'<circle class="{key}" cx="{place(ratio):.1f}" cy="{y:.1f}" r="5"/>'
                         f'<text x="{place(ratio) + (-8 if left else 8):.1f}" y="{y - 4:.1f}"'
                         f'{" text-anchor=" + chr(34) + "end" + chr(34) if left else ""}>{ratio:.1f}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    device, rows = compared()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(svg(device, rows + npp_rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
