#!/usr/bin/env python3
"""Makes tables and charts of what measure.sh measured: OUT/NAME.md, .svg, and the samples. README.md lists them."""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import charts  # noqa: E402
from counters import STALLS  # noqa: E402
from report import best  # noqa: E402

# Systems of the ablation as they are shown, in this order.
NAMES = {"kept": "nothing inlined", "stage": "stage by stage", "otptb": "otptb", "otpw": "otpw", "hybrid": "hybrid, half",
         "hybrid-registers": "hybrid, registers", "register_tile": "register_tile", "stream": "stream",
         "auto": "the model's choice"}
TILED = [name for name in NAMES if name not in ("kept", "stage")]


class ResultsError(Exception):
    """A file that generate.py or measure.sh did not write."""


def read_lines(path):
    result = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            result.append(json.loads(line))
        except ValueError as error:
            raise ResultsError(f"{path}: line {number}: {error}") from error
    if not result:
        raise ResultsError(f"{path}: there is nothing in it")
    return result


def total(entry, metric):
    return sum(kernel.get(metric, 0) for kernel in entry["kernels"])


def duration(entry):
    """Of a run, in microseconds, or by Nsight Compute; none where it failed or computed something else."""
    if entry.get("agrees") is False or "error" in entry:
        return None
    return total(entry, "ns") / 1e3 if isinstance(entry.get("kernels"), list) else best(entry)


class Experiment:
    """The facts of an experiment and what was measured of it."""

    def __init__(self, directory, name, facts, measured=None):
        lines = read_lines(directory / f"{measured or name}.jsonl")
        self.header = lines[0]
        if "device" not in self.header:
            raise ResultsError(f"{directory / (measured or name)}.jsonl: the first line says of no device")
        self.entries = {}
        for line in lines[1:]:
            key = line.get("folder", name), line["benchmark"], line.get("size", "paper"), line["system"]
            self.entries[key] = line
        programs = {key[:2] for key in self.entries}
        self.facts = [fact for fact in facts if fact["experiment"] == name and
                      (fact["folder"], fact["benchmark"]) in programs]

    def entry(self, fact, name, size="paper"):
        """What was measured of a system; of several trials (stream.all, stream.0.2) the fastest."""
        systems = [s for n, s in fact["systems"].items() if n == name or n.startswith(name + ".")] or [name]
        entries = [self.entries.get((fact["folder"], fact["benchmark"], size, system)) for system in systems]
        return min((entry for entry in entries if entry), key=lambda e: duration(e) or math.inf, default=None)

    def time(self, fact, name, size="paper"):
        """Microseconds; none where it was not measured or computed something else."""
        entry = self.entry(fact, name, size)
        return duration(entry) if entry else None

    def counted(self):
        """The strategies that Nsight Compute looked at."""
        return [name for name in TILED if name != "auto" and any(self.entry(fact, name) for fact in self.facts)]

    def systems(self, names):
        """Of these, those that some program has."""
        known = {system.split(".")[0] for fact in self.facts for system in fact["systems"]}
        return [name for name in names if name in known]

    def page(self, title, table, *notes):
        h = self.header
        made = f"{h['device']}; driver {h.get('driver') or 'unknown'}; nvcc {h.get('nvcc') or 'unknown'}; {h['date']}"
        return "\n\n".join([f"# {title}", made, table, *notes]) + "\n"


def table(rows):
    width = len(rows[0])
    lines = [rows[0], ["---"] * width, *rows[1:]]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in lines)


def geomean(values):
    known = [v for v in values if v]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def shown(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def ratio(a, b):
    return a / b if a and b else None


def ablation(e):
    """fig:all-results."""
    systems = e.systems([n for n in NAMES if n != "kept"])
    rows, speedups = [["benchmark", *(NAMES[s] for s in systems)]], {s: [] for s in systems}
    for fact in e.facts:
        row, base = [fact["benchmark"]], e.time(fact, "otptb")
        for s in systems:
            time, entry = e.time(fact, s), e.entry(fact, s)
            speedups[s].append(ratio(base, time))
            failed = "failed" if entry else "-"
            row.append(f"{time:.1f} ({entry['kernels']}) {shown(speedups[s][-1])}" if time else failed)
        rows.append(row)
    rows.append(["geometric mean", *(shown(geomean(speedups[s])) for s in systems)])
    bars = [(fact["benchmark"], [speedups[s][i] for s in TILED if s in systems]) for i, fact in enumerate(e.facts)]
    bars.append(("geometric mean", [geomean(speedups[s]) for s in TILED if s in systems]))
    page = e.page("The strategies against each other", table(rows),
                  "Microseconds (kernels), and the time of `otptb` divided by it. Each strategy has the groups and tiles "
                  "that the cost model finds best with it and no other, for the paper's sizes: `pipec --cost-model time "
                  "--strategy NAME`, hybrid tiling with `--frac-reg 0.5` and `1`."
                  + (" `stream`, which the model does not know, is the fastest of three trials." if "stream" in systems
                     else ""))
    chart = charts.bars(f"Speed over otptb ({e.header['device'].split(',')[0]})",
                        [NAMES[s] for s in TILED if s in systems], bars)
    return {"ablation.md": page, "ablation.svg": chart}


def search(facts):
    """tab:benchmarks; nothing of this is measured on a GPU."""
    def seconds(value):
        return "< 0.01" if value < 0.01 else f"{value:.2f}"
    rows = [["benchmark", "image", "stages", "kernels", "seconds", "seconds, the paper's model"]]
    general, found = facts[0], [fact for fact in facts if fact["experiment"] == "ablation"]
    for fact in found:
        image = ", ".join("x".join(map(str, extents)) for extents in fact["extents"].values())
        chosen = fact["kernels"][fact["systems"]["auto"]]["groups"]
        times = fact["search_seconds"]
        rows.append([fact["benchmark"], image, fact["stages"], chosen, seconds(times["time"]), seconds(times["paper"])])
    page = "\n\n".join(["# What finding a schedule takes",
                        f"{general['pipec']} --gpu {general['gpu']}, on one core: {general['processor']}", table(rows),
                        "Seconds of processor time for all of a compilation up to the schedule, less what it takes without "
                        "a search; the least of three."]) + "\n"
    return {"search.md": page} if found else {}


def memory(e):
    systems = e.systems(NAMES)
    rows = [["benchmark", "inputs and outputs", "all intermediates", *(NAMES[s] for s in systems)]]
    for fact in e.facts:
        copy = e.entry(fact, "copy") or {}
        row = [fact["benchmark"], copy.get("bytes"), fact["intermediate_bytes"]]
        row += [(e.entry(fact, s) or {}).get("workspace") for s in systems]
        rows.append([row[0], *(shown(v and v / 1e6 if v is not None else None, "{:.1f}") for v in row[1:])])
    return {"memory.md": e.page("Memory beside inputs and outputs", table(rows),
                                "Megabytes. The workspace holds what goes from one kernel to another; stages that are not "
                                "needed at the same time share memory there. All intermediates: what every stage that is "
                                "no output takes, each in memory of its own.")}


def mean_by_time(entry, metric):
    return ratio(sum(kernel.get(metric, 0) * kernel["ns"] for kernel in entry["kernels"]), total(entry, "ns"))


def stall_parts(entry):
    """Of all the time that warps wait, what they wait for."""
    waits = {r: sum(k.get(f"stall_{r}", 0) * k["instructions"] for k in entry["kernels"]) for r in STALLS}
    every = sum(waits.values())
    return {reason: 100 * wait / every if every else 0 for reason, wait in waits.items()}


def counted(e, fact, system):
    entry = e.entry(fact, system)
    return entry if entry and entry.get("kernels") else None


def stalls(e):
    """fig:stalls."""
    systems = e.counted()
    rows, bars = [["benchmark", *(NAMES[s] for s in systems)]], []
    for fact in e.facts:
        parts = [stall_parts(entry) if (entry := counted(e, fact, s)) else None for s in systems]
        rows.append([fact["benchmark"], *("-" if p is None else f"{p['barrier']:.1f} / {p['long_scoreboard']:.1f} / "
                                          f"{p['short_scoreboard'] + p['mio_throttle']:.1f}" for p in parts)])
        bars.append((fact["benchmark"], [p and p["barrier"] for p in parts]))
    page = e.page("What warps wait for", table(rows),
                  "Of the cycles in which warps wait, the percentage at barriers of the block / for global memory / for "
                  "shared memory and shuffles (`smsp__average_warps_issue_stalled_*_per_issue_active` of Nsight Compute: "
                  "barrier, long_scoreboard, short_scoreboard and mio_throttle). Kernels count by their instructions.")
    chart = charts.bars("Percentage of waiting at barriers of the block", [NAMES[s] for s in systems], bars, step=10,
                        least=50)
    return {"stalls.md": page, "stalls.svg": chart}


def loads(e):
    """tab:reasons."""
    systems = e.counted()
    rows = [["benchmark", *(NAMES[s] for s in systems), "loads less, hybrid over otpw", "over otptb",
             "occupancy more, hybrid over otpw", "over otptb"]]
    for fact in e.facts:
        entries = {s: counted(e, fact, s) for s in systems}
        sectors = {s: total(entry, "load_sectors") if entry else None for s, entry in entries.items()}
        occupancy = {s: mean_by_time(entry, "occupancy") if entry else None for s, entry in entries.items()}
        row = [fact["benchmark"]]
        row += ["-" if sectors[s] is None else f"{sectors[s] / 1e6:.2f} {shown(occupancy[s], '{:.0f}%')}" for s in systems]
        # The fewer loads of the two ways of hybrid tiling, as the faster one is what one would take.
        hybrids = [s for s in ("hybrid", "hybrid-registers") if entries.get(s)]
        hybrid = min(hybrids, key=lambda s: total(entries[s], "ns"), default=None)
        for known, better in ((sectors, -1), (occupancy, 1)):
            for base in ("otpw", "otptb"):
                part = ratio(known.get(hybrid), known.get(base))
                row.append("-" if part is None else f"{better * 100 * (part - 1):+.1f}%")
        rows.append(row)
    return {"loads.md": e.page("Loads from global memory, and occupancy", table(rows),
                               "Millions of sectors of 32 bytes that all kernels load (`l1tex__t_sectors_pipe_lsu_mem_"
                               "global_op_ld`) and achieved occupancy, by kernels' times. The last columns have the "
                               "faster of the two ways of hybrid tiling.")}


def autotuner(e):
    rows, bars, gains = [["benchmark", "code tried", "best", "microseconds", "worst", "the model's choice",
                          "tuned / the model's"]], [], []
    for fact in e.facts:
        chosen = e.time(fact, "auto")
        times = {s: t for s in fact["systems"] if s != "auto" and (t := e.time(fact, s))}
        if not times:
            rows.append([fact["benchmark"], 0, "-", "-", "-", shown(chosen, "{:.1f}"), "-"])
            continue
        first = min(times, key=times.get)
        gains.append(ratio(times[first], chosen))
        threshold, block, tile = first.split("-")
        distinct = len({fact["systems"][s] for s in times})
        rows.append([fact["benchmark"], distinct, f"overlap {threshold}, block {block}, tile {tile}",
                     f"{times[first]:.1f}", f"{max(times.values()):.1f}", shown(chosen, "{:.1f}"), shown(gains[-1])])
        middle = statistics.median(times.values())
        bars.append((fact["benchmark"], [gains[-1], ratio(middle, chosen)]))
    rows.append(["geometric mean", "", "", "", "", "", shown(geomean(gains))])
    page = e.page("An autotuner in the manner of PolyMage", table(rows),
                  "Greedy groups (`pipec --strategy otptb --overlap-threshold F`) for thresholds of 0.2, 0.4 and 0.5, and "
                  "the same block and tile for all groups of a program; many of these are the same code. All were "
                  "measured, and the best is in the table.")
    chart = charts.bars("Time divided by that of the model's choice", ["the best tuned", "the median of what was tried"],
                        bars) if bars else None
    return {"autotuner.md": page, "autotuner.svg": chart}


def sizes(e):
    programs = list(dict.fromkeys(fact["benchmark"] for fact in e.facts))
    sides = sorted({fact["side"] for fact in e.facts})
    rows, curves = [["megapixels", *programs]], {p: [] for p in programs}
    facts = {(fact["benchmark"], fact["side"]): fact for fact in e.facts}
    for side in sides:
        megapixels = side * side / 2 ** 20
        row = [f"{megapixels:g}"]
        for program in programs:
            fact = facts.get((program, side))
            plain, tuned = [e.time(fact, s, str(side)) if fact else None for s in ("default", "for")]
            copy = e.time(fact, "copy", str(side)) if fact else None
            if not plain or not tuned:
                row.append("-")
                continue
            row.append(f"{plain:.1f} ({tuned:.1f}) {shown(ratio(copy, min(plain, tuned)))}")
            curves[program].append((megapixels, tuned))
        rows.append(row)
    page = e.page("Time and the size of the image", table(rows),
                  "Microseconds with the schedule that `pipec --gpu` makes without `--tune-for` (for 3584 x 3584), in "
                  "brackets with the one for this size, and the copy's time divided by the better of the two. Images are "
                  "square; a megapixel is 1024 x 1024.")
    lines = [(p, points) for p, points in curves.items() if points]
    chart = charts.lines("Microseconds, each size with its own schedule", "megapixels", lines) if lines else None
    return {"sizes.md": page, "sizes.svg": chart}


def depth(e):
    pages, result = [], {}
    titles = {"LEVELS": "levels of multiscale_interpolate", "PAIRS": "pairs of stencils in a chain"}
    systems = {"stage": "stage by stage", "otptb": "otptb", "auto": "the model's choice"}
    for constant in dict.fromkeys(fact["constant"] for fact in e.facts):
        facts = [fact for fact in e.facts if fact["constant"] == constant]
        rows = [[titles[constant], "stages", *systems.values(), "intermediates", "workspace"]]
        curves = {s: [] for s in systems}
        for fact in facts:
            row = [fact["value"], fact["stages"]]
            for s in systems:
                time, entry = e.time(fact, s), e.entry(fact, s)
                row.append(f"{time:.1f} ({entry['kernels']})" if time else "-")
                if time:
                    curves[s].append((fact["value"], time))
            workspace = (e.entry(fact, "auto") or {}).get("workspace")
            row += [f"{fact['intermediate_bytes'] / 1e6:.1f}", "-" if workspace is None else f"{workspace / 1e6:.1f}"]
            rows.append(row)
        pages.append(table(rows))
        lines = [(systems[s], points) for s, points in curves.items() if points]
        if lines:
            result[f"{constant.lower()}.svg"] = charts.lines("Microseconds", titles[constant], lines)
    result["depth.md"] = e.page("Time, the depth of pyramids and the length of chains", *pages,
                                "Microseconds (kernels); megabytes of all intermediates, and of the workspace with the "
                                "model's choice.")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=pathlib.Path, help="what generate.py and measure.sh wrote to")
    parser.add_argument("--out", type=pathlib.Path, help="default: DIR/tables")
    options = parser.parse_args()
    try:
        facts = read_lines(options.dir / "facts.jsonl")
        made, samples = search(facts), [options.dir / "facts.jsonl"]
        for name, experiment, makers in [
                ("ablation", "ablation", [ablation, memory]),
                ("counters", "ablation", [stalls, loads]), ("autotuner", "autotuner", [autotuner]),
                ("sizes", "sizes", [sizes]), ("depth", "depth", [depth])]:
            if not (options.dir / f"{name}.jsonl").exists():
                continue
            samples.append(options.dir / f"{name}.jsonl")
            e = Experiment(options.dir, experiment, facts, name)
            for maker in makers:
                made |= maker(e)
        if not made:
            raise ResultsError(f"{options.dir}: nothing is known")
        out = options.out or options.dir / "tables"
        out.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            if text is not None:
                (out / name).write_text(text, encoding="utf-8")
        for path in samples:
            shutil.copyfile(path, out / path.name)
    except (OSError, ResultsError, KeyError) as error:
        sys.exit(f"tables.py: error: {type(error).__name__}: {error}" if isinstance(error, KeyError) else
                 f"tables.py: error: {error}")
    print("\n".join(str(out / name) for name, text in made.items() if text is not None))


if __name__ == "__main__":
    main()
