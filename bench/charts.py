"""Charts as SVG, for the scripts here that make tables."""
import math
from xml.sax.saxutils import escape

COLOURS = ["#1b6ca8", "#7fb2d9", "#8d6fb0", "#d9822b", "#f0c089", "#6a994e", "#b8d3a2"]
LEGEND = 140  # the width of a name in the legend


def document(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
                      'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
                      f'<text x="50" y="16" font-size="13">{escape(title)}</text>', *parts]) + "\n</svg>\n"


def legend(names, left):
    """A coloured square and a name each; `names` has None for what is not shown."""
    parts = []
    for i, name in enumerate(names):
        if name is not None:
            x = left + sum(n is not None for n in names[:i]) * LEGEND
            parts.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{COLOURS[i]}"/>'
                         f'<text x="{x + 14}" y="37">{escape(name)}</text>')
    return parts


def bars(title, series, groups, step=0.25, least=1.0):
    """`groups` are pairs of a name and a value for each of `series`, None where there is none. Lines are drawn at
    multiples of `step`; the axis goes to `least` at least."""
    shown = [i for i in range(len(series)) if any(values[i] is not None for _, values in groups)]
    bar, gap, left, top, height = 14, 24, 50, 60, 260
    width = max(len(shown) * bar, 90) + gap
    total = left + max(len(groups) * width, len(shown) * LEGEND) + 10
    limit = max([least] + [v for _, values in groups for v in values if v is not None])
    while limit / step > 12:
        step *= 2
    parts = legend([name if i in shown else None for i, name in enumerate(series)], left)
    for line in range(int(limit / step + 1e-9) + 1):
        y = top + height - height * line * step / limit
        parts.append(f'<line x1="{left}" x2="{total - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{line * step:.4g}</text>')
    for n, (name, values) in enumerate(groups):
        x = left + n * width + gap / 2
        for place, i in enumerate(shown):
            if values[i] is None:
                continue
            size = height * values[i] / limit
            parts.append(f'<rect x="{x + place * bar:.1f}" y="{top + height - size:.1f}" width="{bar - 2}" '
                         f'height="{size:.1f}" fill="{COLOURS[i]}"><title>{escape(name)}, {escape(series[i])}: '
                         f"{values[i]:.2f}</title></rect>")
        for row, word in enumerate(name.split("_")):
            parts.append(f'<text x="{x + (width - gap) / 2:.1f}" y="{top + height + 16 + 13 * row}" '
                         f'text-anchor="middle">{escape(word)}</text>')
    return document(total, top + height + 50, title, parts)


def lines(title, x_name, series):
    """`series`: a name and points (x, y) each, on logarithmic axes."""
    left, top, width, height = 60, 60, 520, 300
    points = [p for _, line in series for p in line]
    low, high = [[f(p[axis] for p in points) for axis in (0, 1)] for f in (min, max)]
    spans = [max(math.log(high[axis] / low[axis]), 1e-9) for axis in (0, 1)]

    def place(axis, value):
        part = math.log(value / low[axis]) / spans[axis]
        return left + width * part if axis == 0 else top + height * (1 - part)

    parts = legend([name for name, _ in series], left)
    for value in sorted({p[0] for p in points}):
        parts.append(f'<text x="{place(0, value):.1f}" y="{top + height + 16}" text-anchor="middle">{value:g}</text>')
    for power in range(math.ceil(math.log10(low[1]) - 1e-9), math.floor(math.log10(high[1]) + 1e-9) + 1):
        y = place(1, 10 ** power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10 ** power:g}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 34}" text-anchor="middle">{escape(x_name)}</text>')
    for i, (name, line) in enumerate(series):
        path = " ".join(f"{place(0, x):.1f},{place(1, y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        parts += [f'<circle cx="{place(0, x):.1f}" cy="{place(1, y):.1f}" r="3" fill="{COLOURS[i]}"><title>'
                  f"{escape(name)}, {x:g}: {y:.4g}</title></circle>" for x, y in line]
    return document(max(left + width, left + len(series) * LEGEND) + 20, top + height + 44, title, parts)
