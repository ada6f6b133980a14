#!/usr/bin/env python3
"""Runs a benchmark by torch, eager and compiled, on the images that `compare --raw DIR` wrote.

Compares the results with those there and prints an object of JSON for each, like compare. Exit code 1: they differ, or
torch failed; 77: there is no torch, or no GPU.
"""

import argparse
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
WARM_UP = 20


def load(torch, directory, image, device):
    """Samples of 16 bits come as int16, which holds their ten bits: torch has few operations for uint16."""
    type_ = {"float32": torch.float32, "uint8": torch.uint8, "uint16": torch.int16}[image["type"]]
    path = os.path.join(directory, image["name"] + ".raw")
    return torch.from_file(path, size=math.prod(image["extents"]), dtype=type_).reshape(image["extents"]).to(device)


def difference(torch, expected, actual, tolerance):
    """As tests/gpu/image.h compares: absolute for integers, for floats relative to max(1, |expected|)."""
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        raise ValueError(f"the result is {actual.dtype} {tuple(actual.shape)}")
    e, a = expected.to(torch.float64), actual.to(torch.float64)
    d = (e - a).abs()
    if expected.is_floating_point():
        d = d / e.abs().clamp(min=1)
    d = torch.where((e == a) | (e.isnan() & a.isnan()), torch.zeros_like(d), d)
    d = torch.where(d.isnan(), torch.full_like(d, math.inf), d)
    return d.max().item(), int((d > tolerance).sum().item())


def sample(torch, works, launches, samples):
    """Microseconds of one call, means of as many calls in turn."""
    for i in range(WARM_UP):
        works[i % len(works)]()
    times = []
    for _ in range(samples):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for i in range(launches):
            works[i % len(works)]()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / launches)
    return times


def captured(torch, function, arguments):
    """A CUDA graph of one call."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(*arguments)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(*arguments)
    return graph, result


def measure(torch, function, places, problem):
    fields = {}
    works = [lambda a=arguments: function(*a) for arguments in places]
    fields["stream_us"] = sample(torch, works, problem["launches"], problem["samples"])
    try:
        graphs = [captured(torch, function, arguments) for arguments in places]
        fields["graph_us"] = sample(torch, [g.replay for g, _ in graphs], problem["launches"], problem["samples"])
    except RuntimeError as error:
        print(f"not captured: {error}", file=sys.stderr)
        fields["graph_us"] = None
    fields["places"] = len(places)
    return fields


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--cache", type=int, default=64, metavar="MIB")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("skipped: there is no torch", file=sys.stderr)
        return 77
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: there is no GPU", file=sys.stderr)
        return 77
    from benchmarks import BENCHMARKS

    with open(os.path.join(options.directory, "problem.json"), encoding="utf-8") as file:
        problem = json.load(file)
    images = {False: [], True: []}
    for image in problem["images"]:
        images[image["output"]].append(load(torch, options.directory, image, options.device))
    inputs, (expected,) = images[False], images[True]
    size = sum(t.numel() * t.element_size() for t in inputs + [expected])
    cache, count = options.cache << 20, 1
    if size > cache or options.cold:
        count = max(2, 4 * cache // size + 1)
    places = [[t.clone() for t in inputs] for _ in range(count if problem["launches"] else 1)]

    function = BENCHMARKS[problem["benchmark"]]
    systems = {"torch-eager": function}
    if hasattr(torch, "compile"):
        systems["torch-compile"] = torch.compile(function)
    good = True
    for system, f in systems.items():
        fields = {"benchmark": problem["benchmark"], "size": problem["size"], "system": system}
        try:
            greatest, beyond = difference(torch, expected, f(*places[0]), problem["tolerance"])
            agrees = beyond <= problem["outliers"] * expected.numel()
            fields |= {"agrees": agrees, "difference": greatest if math.isfinite(greatest) else None,
                       "beyond_tolerance": beyond, "elements": expected.numel()}
            if problem["launches"]:
                fields |= measure(torch, f, places, problem)
        except Exception as error:  # whatever torch throws is this system's result
            agrees, fields["error"] = False, " ".join(str(error).split())[:300]
        good = good and agrees
        print(json.dumps(fields), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
