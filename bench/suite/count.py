#!/usr/bin/env python3
"""Counts what a program has to do: bytes of inputs and outputs, and operations with every stage's point computed once.

    count.py [--pipec PATH] PROGRAM.pipe IMG=2832x4256 [NAME=VALUE...]    prints both, and the operations of each stage
    count.py [--pipec PATH] --check | --update       compares suite.json with the programs, or brings it up to date

README.md says what counts as how many operations. Everything is counted from what `pipec --emit pipeline` and
`--emit domains` print; no schedule and no cost model has a part in it."""
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import operator
import pathlib
import re
import subprocess
import sys

from expressions import PLACES, TYPES, Graph, Parser, is_float

# Instructions of what is no single instruction, for float32 with exact rounding where the language asks for it.
CALLS = {"abs": 1, "floor": 1, "ceil": 1, "round": 1, "trunc": 1, "isnan": 1, "sqrt": 8, "rsqrt": 4, "exp": 8,
         "exp2": 4, "log": 20, "log2": 20, "pow": 60, "sin": 20, "cos": 20, "tan": 30, "asin": 20, "acos": 20,
         "atan": 20, "atan2": 30, "sinh": 20, "cosh": 20, "tanh": 15, "hypot": 15}
FLOAT_DIVISION, CONSTANT_DIVISION, INTEGER_DIVISION = 8, 3, 15
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(os.environ.get("PIPEC_SUITE", HERE)).resolve()  # with cases.txt and suite.json
DEEPEST = 10_000  # calls: an `argmin` over 50 constants stands inside of itself 50 times, at ten calls each
SAMPLES = 12  # consecutive coordinates, so that every parity and other small period is there


def operations(n):
    """Of one node, without its operands."""
    wide = 2 if TYPES[n.type] == 8 else 1
    if n.kind == "binary":
        if n.op in ("and", "or"):
            return 0  # part of the comparison
        if n.op in ("/", "%"):
            divisor = n.children[1]
            constant = divisor.kind == "const" and divisor.op != 0
            power = constant and abs(math.frexp(divisor.op)[0]) == 0.5
            if is_float(n.type):
                return wide if power else FLOAT_DIVISION * wide
            return wide * (1 if power else CONSTANT_DIVISION if constant else INTEGER_DIVISION)
        return 2 if any(TYPES[c.type] == 8 for c in n.children) else 1
    if n.kind == "unary":
        return wide if n.op == "~" else 0  # a sign is part of the instruction that reads it
    if n.kind == "call":
        return 0 if n.op == "abs" and is_float(n.type) else CALLS[n.op] * wide
    if n.kind == "cast":
        given = n.children[0].type
        if n.op == "saturate" or is_float(given) != is_float(n.type) or is_float(given) and given != n.type:
            return 1
        return 0  # between integers: part of the load, the store or the next instruction
    if n.kind == "reduce" and n.op in PLACES:
        return 1 + (2 if TYPES[n.children[0].type] == 8 else 1)  # the choice of a place, and the comparison
    return wide if n.kind in ("select", "reduce") else 0


class Sizes:
    """Values of sizes and parameters."""

    def __init__(self, values):
        self.values = values

    def of(self, n, env):
        """An integer expression over variables, sizes and parameters."""
        get = [self.of(c, env) for c in n.children] if n.kind != "select" else []
        if n.kind == "const":
            return n.op
        if n.kind in ("size", "param"):
            return self.values[n.op]
        if n.kind == "var":
            return env[n.op]
        if n.kind == "select":
            return self.of(n.children[1 if self.of(n.children[0], env) else 2], env)
        if n.kind == "cast":
            return int(get[0])
        if n.kind == "unary":
            return {"-": lambda a: -a, "+": lambda a: a, "~": lambda a: ~a, "not": lambda a: not a}[n.op](*get)
        if n.kind == "call" and n.op == "abs":
            return abs(*get)
        return {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
                "/": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0, "min": min, "max": max,
                "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
                "!=": operator.ne, "and": lambda a, b: a and b, "or": lambda a, b: a or b, "&": operator.and_,
                "|": operator.or_, "^": operator.xor, "<<": lambda a, b: a << (b & 31),
                ">>": lambda a, b: a >> (b & 31)}[n.op](*get)


class Body:
    """Expressions that are evaluated for each point of a box."""

    def __init__(self, sizes, graph, box):
        self.sizes, self.graph = sizes, graph
        self.ranges = {}  # by variable: bounds as nodes or numbers
        for name, low, high in box:
            self.ranges[name] = (low, high)
        for n in graph.nodes:
            for variable, low, high in n.ranges:
                self.ranges[variable.op] = (low, high)
        self.trips = {}
        self.reads = {}  # how many points of other stages are read, at most

    def bound(self, value, env):
        return value if isinstance(value, int) else self.sizes.of(value, env)

    def span(self, name, env):
        low, high = self.ranges[name]
        return self.bound(low, env), self.bound(high, env)

    def trip(self, name):
        """Points of a variable's range, on average where its bounds use other variables."""
        if name not in self.trips:
            others = sorted(frozenset().union(*(b.free for b in self.ranges[name] if not isinstance(b, int))))
            spans = [self.span(name, env) for env in self.points(others)]
            self.trips[name] = sum(max(0, high - low) for low, high in spans) / len(spans)
        return self.trips[name]

    def points(self, names):
        """Coordinates of some variables: all where they are few, else runs of neighbours, none of them at the edge."""
        points = [{}]
        for name in names:
            many = len(points) > 200
            following = []
            for env in points:
                low, high = self.span(name, env)
                if high - low <= SAMPLES:
                    chosen = range(low, max(high, low + 1))
                else:
                    starts = [low + (high - low - SAMPLES) * k // 4 for k in ((2,) if many else (1, 2, 3))]
                    chosen = itertools.chain(*(range(s, s + SAMPLES) for s in starts))
                following += [{**env, name: c} for c in chosen]
            points = following
        return points

    def count(self, root):
        """Operations of all points for an expression."""
        choices = [n for n in self.graph.nodes
                   if n.kind == "select" and n.children[0].place and n.free and len(n.children) == 3]
        names = frozenset().union(*(n.children[0].free for n in choices))
        points = self.points(sorted(names, key=lambda v: (len(self.dependent(v)), v)))
        everywhere = (1 << len(points)) - 1
        conditions = {n.id: sum(1 << i for i, env in enumerate(points) if self.sizes.of(n.children[0], env))
                      for n in choices}

        def part(mask, variables):
            """Of the values of these variables, the part with which a point of the mask occurs."""
            if mask == everywhere:
                return 1
            kept = [v for v in names if v in variables]
            places = [tuple(env[v] for v in kept) for env in points]
            return len({p for i, p in enumerate(places) if mask >> i & 1}) / len(set(places))

        needed = {root.id: everywhere}
        total = 0.0
        for n in reversed(self.graph.nodes):
            mask = needed.get(n.id, 0)
            if not mask:
                continue
            choice = conditions.get(n.id)
            cost = 0 if choice is not None or not n.free and not n.ranges else operations(n)
            if cost:
                variables = n.free | {v.op for v, _, _ in n.ranges}
                total += cost * math.prod(self.trip(v) for v in variables) * part(mask, variables)
            if n.kind == "read":
                places = all(c.place for c in n.children)
                points_read = math.prod(self.trip(v) for v in n.free) * part(mask, n.free) if places else math.inf
                self.reads[n.op] = self.reads.get(n.op, 0) + points_read
            for k, child in enumerate(n.children):
                if n.kind == "read" and child.place or choice is not None and k == 0:
                    continue
                reached = mask if choice is None else mask & (choice if k == 1 else ~choice)
                needed[child.id] = needed.get(child.id, 0) | reached
        return total

    def dependent(self, name):
        return frozenset().union(*(b.free for b in self.ranges[name] if not isinstance(b, int)))


class Program:
    """A program's only pipeline, as pipec prints it."""

    def __init__(self, pipec, path):
        def emit(step):
            command = [str(pipec), "-w", "--emit", step, str(path)]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.lines = emit("pipeline").splitlines()
        self.domains = emit("domains").splitlines()
        header = self.lines[0]
        inputs, outputs = header.split(") -> ", 1)
        port = re.compile(r"([\w.]+): (\w+)(\[)?(?: = ((?:[^,()]|\([^()]*\))+))?")
        self.inputs, self.params, self.outputs, self.types = [], {}, [], {}
        for name, kind, image, default in port.findall(inputs):
            self.types[name] = kind
            if image:
                self.inputs.append(name)
            else:
                self.params[name] = (kind, default)
        self.outputs = [name for name, _, image, _ in port.findall(outputs) if image]
        for line in self.lines[1:]:
            if stage := re.match(r"  (?:accumulate )?(\S+)\(.*?\): (\w+) = ", line):
                self.types[stage[1]] = stage[2]
        self.size_names = [m[1] for line in self.domains if (m := re.match(r"  size (\w+)", line))]

    def size_values(self, case):
        """Sizes from the extents of the images, and parameters with their values or defaults."""
        values = {}
        for name, (kind, default) in self.params.items():
            text = str(case.get(name, default))
            if literal := re.fullmatch(r"\w+\((.*)\)", text):  # of a type that no literal has: `uint8(1)`
                text = literal[1]
            values[name] = (text == "true") if kind == "bool" else float(text) if is_float(kind) else int(text)

        def extent(found):
            return str(case[found[1]][int(found[2])])
        for line in self.domains:
            if not (found := re.match(r"  size (\w+)(?: = (.*?)(?:, or (.*) where it is not given)?| is passed)$", line)):
                continue
            name, text, default = found.groups()
            if name in case:
                values[name] = int(case[name])
                continue
            if default is not None and any(image not in case for image in re.findall(r"extent\((\w+),", text)):
                text = default
            if text is None:
                raise KeyError(f"{name}=VALUE is needed")
            text = re.sub(r"extent\((\w+), (\d+)\)", extent, text)
            values[name] = Sizes(values).of(Parser(self.graph(), text, {}).expression(), {})
        return Sizes(values)

    def graph(self):
        return Graph(self.types, set(self.size_names), {k: v[0] for k, v in self.params.items()})

    def boxes(self, sizes):
        """Of each input and stage: its variables and their ranges, as numbers."""
        result = {}
        for line in self.domains:
            if found := re.match(r"  stage (\S+?)\((.*)\)$", line):
                graph = self.graph()
                ranges = Parser(graph, found[2], {}).ranges() if found[2] else []
                result[found[1]] = [(v.op.split("#")[0], sizes.of(a, {}), sizes.of(b, {})) for v, a, b in ranges]
        return result


def bytes_of(program, case, boxes):
    total = sum(math.prod(case[name]) * TYPES[program.types[name]] for name in program.inputs)
    for name in program.outputs:
        total += math.prod(high - low for _, low, high in boxes[name]) * TYPES[program.types[name]]
    return total


def count(pipec, path, case):
    """`case`: extents of inputs as lists, parameters and sizes as text; `taken`: how often guards of updates hold."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
    program = Program(pipec, path)
    sizes = program.size_values(case)
    boxes = program.boxes(sizes)
    definitions = []  # of each stage: its name and its lines
    for line in program.lines[1:]:
        if found := re.match(r"  (accumulate )?(\S+?)\((.*?)\): (\w+) = (.*)$", line):
            definitions.append((found[2], found[5], []))
        elif line.startswith("    "):
            definitions[-1][2].append(line.strip())
    stages, read = {}, {name: math.inf for name in program.outputs}
    for name, value, updates in reversed(definitions):  # readers before what they read
        if name not in boxes:
            continue
        if updates:
            bodies = [update(program, sizes, line, float(case.get("taken", 1))) for line in updates]
            stages[name] = sum(total for total, _ in bodies)
            read |= {other: math.inf for _, reads in bodies for other in reads}
            continue
        graph, box = program.graph(), boxes[name]
        variables = {name: graph.node("var", name, "int32") for name, _, _ in box}
        root = Parser(graph, value, variables).expression()
        body = Body(sizes, graph, box)
        total = body.count(root)
        # Points that nobody reads, as those of the other parity, need not be computed.
        part = min(1.0, read.get(name, 0) / max(1, math.prod(high - low for _, low, high in box)))
        stages[name] = total * part
        for other, points in body.reads.items():
            read[other] = read.get(other, 0) + points * part
    return {"bytes": bytes_of(program, case, boxes), "operations": round(sum(stages.values())),
            "stages": dict(reversed(stages.items()))}


def update(program, sizes, line, taken):
    """Operations of one update of an accumulate for all points of its loops, and what it reads."""
    graph = program.graph()
    parser = Parser(graph, line, {})
    ranges, guard = [], None
    if parser.peek() == "for":
        parser.take()
        ranges = parser.ranges()
        parser.take("{")
    if parser.peek() == "if":
        parser.take()
        guard = parser.expression()
        parser.take("{")
    parser.take()
    parser.take("(")
    targets = []
    while parser.peek() != ")":
        targets.append(parser.expression())
        if parser.peek() == ",":
            parser.take()
    parser.take(")")
    while parser.peek() in ("+=", "*=", "min", "max", "="):
        parser.take()
    value = parser.expression()
    body = Body(sizes, graph, [(v.op, a, b) for v, a, b in ranges])
    part = taken if guard is not None else 1
    points = math.prod(body.trip(v.op) for v, _, _ in ranges)
    total = points * part + (body.count(guard) if guard is not None else 0)
    for target in [t for t in targets if not t.place] + [value]:
        total += body.count(target) * part
    return total, body.reads


def parse_case(words):
    case = {}
    for word in words:
        if "=" not in word:
            continue
        name, value = word.split("=", 1)
        extents = value.startswith("[") or "x" in value
        case[name] = [int(v) for v in value.strip("[]").split("x")] if extents else value
    return case


def cases(size):
    """By program: the words of its case of this size in cases.txt."""
    result = {}
    for line in (PROGRAMS / "cases.txt").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if len(words) > 1 and words[1] == size:
            result[words[0]] = words[2:]
    return result


def table():
    return json.loads((PROGRAMS / "suite.json").read_text(encoding="utf-8"))


def counted(pipec, programs):
    """The table with its counts as they are."""
    measured = cases("measured")

    def one(item):
        name, known = item
        case = parse_case(measured[name]) | ({"taken": known["taken"]} if "taken" in known else {})
        result = count(pipec, PROGRAMS / f"{name}.pipe", case)
        return name, {**known, "operations": result["operations"], "bytes": result["bytes"]}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(pool.map(one, programs.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipec", default=HERE.parents[1] / "build/release/pipec")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("program", nargs="?")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    if options.check or options.update:
        known = table()
        found = counted(options.pipec, known)
        wrong = [name for name in known if known[name] != found[name]]
        if options.update:
            lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
            (PROGRAMS / "suite.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        elif wrong:
            print(f"suite.json is not what the programs say (count.py --update): {', '.join(wrong)}", file=sys.stderr)
            return 1
        return 0
    if options.program is None:
        parser.error("a program is needed, or --check, or --update")
    result = count(options.pipec, options.program, parse_case(options.words))
    for name, number in result["stages"].items():
        print(f"{number:16,.0f}  {name}")
    print(f"{result['operations']:16,d}  operations\n{result['bytes']:16,d}  bytes of inputs and outputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
