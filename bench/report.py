#!/usr/bin/env python3
"""Makes a table and a plot of what bench/run.sh wrote: docs/evaluation.md says what the columns mean."""

import argparse
import json
import math
import sys

import charts

# What is shown, in this order: the names of systems in the results begin with the key. Of several tiles that were tried
# (halide-manual, halide-manual-a, ...) the fastest counts.
SYSTEMS = {
    "pipec": "pipec",
    "pipec-fast": "pipec -ffast-math",
    "pipec-paper": "pipec, the paper's model",
    "halide-manual": "Halide, by hand",
    "halide-li2018": "Halide, Li2018",
    "torch-compile": "torch.compile",
    "torch-eager": "torch",
}


class ResultsError(Exception):
    """A file that is no result of bench/run.sh."""


def read(path, benchmarks):
    """The first line; the others are put into `benchmarks`, by benchmark and system."""
    header = None
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if header is None:
                    header = {"device": entry["device"], "date": entry["date"], "size": entry["size"]}
                else:
                    benchmarks.setdefault(entry["benchmark"], {})[entry["system"]] = entry
            except (ValueError, KeyError, TypeError) as error:
                raise ResultsError(f"{path}: line {number}: {type(error).__name__}: {error}") from error
    if header is None:
        raise ResultsError(f"{path}: there are no results")
    return header


def read_all(paths):
    """Several runs on one device, of which each has some of the benchmarks or systems."""
    benchmarks = {}
    header = read(paths[0], benchmarks)
    for path in paths[1:]:
        other = read(path, benchmarks)
        if (other["device"], other["size"]) != (header["device"], header["size"]):
            raise ResultsError(f"{path}: other device or size than in {paths[0]}")
    if not benchmarks:
        raise ResultsError(f"{paths[0]}: there are no results")
    return header, benchmarks


def group(system):
    """The key of SYSTEMS that a system belongs to."""
    candidates = [key for key in SYSTEMS if system == key or system.startswith(key + "-")]
    return max(candidates, key=len, default=None)


def best(entry):
    """Microseconds: the best mean, with a graph where there is one; None where nothing was measured."""
    times = [min(entry[key]) for key in ("stream_us", "graph_us") if entry.get(key)]
    return min(times, default=None)


def chosen(entries):
    """Of each group the fastest system that computes the right thing, or what failed."""
    result = {}
    for system, entry in entries.items():
        key = group(system)
        if key is None:
            continue
        rank = math.inf if "error" in entry or entry.get("agrees") is False else best(entry) or math.inf
        if key not in result or rank < result[key][0]:
            result[key] = rank, entry
    return {key: entry for key, (_, entry) in result.items()}


def cell(entry, copy):
    """'98.6 (97.1, 2) .99': stream time, graph time, kernels, and the part of the copy's speed."""
    if entry is None:
        return "not run"
    if "error" in entry:
        return "failed"
    if not entry.get("agrees", True):
        return "**differs**"
    if best(entry) is None:
        return "agrees"
    stream = f"{min(entry['stream_us']):.1f}"
    graph = f"{min(entry['graph_us']):.1f}" if entry.get("graph_us") else "-"
    kernels = f", {entry['kernels']}" if entry.get("kernels") else ""
    part = f" {copy / best(entry):.2f}" if copy else ""
    return f"{stream} ({graph}{kernels}){part}"


def markdown(header, benchmarks):
    shown = [key for key in SYSTEMS if any(key in chosen(entries) for entries in benchmarks.values())]
    rows = [["benchmark", "copy"] + [SYSTEMS[key] for key in shown], ["---"] * (len(shown) + 2)]
    compared = [["time / pipec's"] + [SYSTEMS[key] for key in shown], ["---"] * (len(shown) + 1)]
    ratios = {key: [] for key in shown}
    for name, entries in benchmarks.items():
        copy = best(entries["copy"]) if "copy" in entries else None
        systems = chosen(entries)
        rows.append([name, f"{copy:.1f}" if copy else "-"] + [cell(systems.get(key), copy) for key in shown])
        reference = best(systems["pipec"]) if "pipec" in systems else None
        compared.append([name])
        for key in shown:
            entry = systems.get(key, {})
            good = reference and entry.get("agrees", True) and "error" not in entry and best(entry)
            if good:
                ratios[key].append(best(entry) / reference)
            compared[-1].append(f"{ratios[key][-1]:.2f}" if good else "-")
    means = [f"{math.exp(sum(map(math.log, r)) / len(r)):.2f} ({len(r)})" if r else "-" for r in ratios.values()]
    compared.append(["geometric mean"] + means)
    first, second = ["\n".join("| " + " | ".join(row) + " |" for row in table) for table in (rows, compared)]
    return (f"{header['device']}; {header['date']}; size {header['size']}\n\n{first}\n\n"
            "Microseconds a run in a stream (in a CUDA graph, number of kernels), then the copy's time divided by the"
            f" better of the two.\n\n{second}\n")


def bars(benchmarks):
    """For each benchmark, the parts of the copy's speed by system, in the order of SYSTEMS."""
    result = []
    for name, entries in benchmarks.items():
        copy = best(entries["copy"]) if "copy" in entries else None
        systems = chosen(entries)
        parts = []
        for key in SYSTEMS:
            entry = systems.get(key)
            good = entry and "error" not in entry and entry.get("agrees", True) and best(entry) and copy
            parts.append(copy / best(entry) if good else None)
        result.append((name, parts))
    return result


def plot(header, benchmarks):
    """Bars: the speed of each system as a part of the copy's."""
    device = header["device"].split(",")[0]
    return charts.bars(f"Speed, as a part of a copy of input and output ({device})", list(SYSTEMS.values()),
                       bars(benchmarks))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", help="results.jsonl, of one run or several")
    parser.add_argument("--markdown", metavar="FILE", help="where the table goes (default: standard output)")
    parser.add_argument("--plot", metavar="FILE", help="where the plot goes, as SVG")
    options = parser.parse_args()
    try:
        header, benchmarks = read_all(options.results)
        outputs = {options.markdown: markdown(header, benchmarks)}
        if options.plot:
            outputs[options.plot] = plot(header, benchmarks)
        for path, text in outputs.items():
            if path is None:
                sys.stdout.write(text)
            else:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    except (OSError, ResultsError) as error:
        print(f"report.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
