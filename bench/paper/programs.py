"""The programs that generate.py measures, and what pipec says of them."""
import dataclasses
import json
import pathlib
import re
import resource
import subprocess
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
ROOT = BENCH.parent

# The paper's six (tab:benchmarks), in its order, and a blur.
BENCHMARKS = ["unsharp", "harris", "bilateral_grid", "multiscale_interpolate", "camera_pipe", "pyramid_blend", "blur"]

ELEMENT_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "int32": 4, "uint32": 4,
                 "float32": 4, "int64": 8, "uint64": 8, "float64": 8}


class PipecError(Exception):
    """What pipec said when it refused something."""


@dataclasses.dataclass
class Shape:
    """Extents of every input, and a tolerance, as in cases.txt."""
    extents: dict
    tolerance: str

    def line(self, name, size):
        inputs = " ".join(f"{i}={'x'.join(map(str, e))}" for i, e in self.extents.items())
        return f"{name} {size} {inputs} {self.tolerance}".rstrip()

    def square(self, n):
        """The same with n rows and n columns."""
        return Shape({i: e[:-2] + [n, n] for i, e in self.extents.items()}, self.tolerance)


def paper_shapes():
    """The sizes of the paper, by program, from bench/cases.txt."""
    result = {}
    for line in (BENCH / "cases.txt").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if len(words) > 2 and words[1] == "paper":
            inputs = dict(word.split("=") for word in words[2:] if "=" in word)
            extents = {name: [int(e) for e in text.split("x")] for name, text in inputs.items()}
            result[words[0]] = Shape(extents, next((w for w in words if w.startswith("~")), ""))
    return result


def source_of(program):
    example = ROOT / f"examples/{program}.pipe"
    return example if example.exists() else pathlib.Path(__file__).parent / f"{program}.pipe"


def with_constant(program, name, value):
    """The program's text with another value of one of its constants."""
    text = source_of(program).read_text(encoding="utf-8")
    changed, count = re.subn(rf"(?m)^const {name} = \d+$", f"const {name} = {value}", text)
    if count != 1:
        raise ValueError(f"{program}.pipe has no constant {name}")
    return changed


def evaluate(expression, names):
    """An integer expression as pipec prints it: + - * /, max and min; division rounds down."""
    if not re.fullmatch(r"[\w\s+\-*/(),]*", expression):
        raise ValueError(f"no expression of sizes: {expression}")
    return eval(expression.replace("/", "//"), {"__builtins__": {}, "max": max, "min": min}, dict(names))


@dataclasses.dataclass
class Facts:
    """A program at certain extents of its inputs."""
    sizes: dict
    stages: int
    intermediate_bytes: int  # of all stages that are no outputs

    def tune_for(self):
        return ",".join(f"{name}={value}" for name, value in self.sizes.items())


class Pipec:
    def __init__(self, path, gpu):
        self.path, self.gpu = path, gpu

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise PipecError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0])
        return done.stdout

    def strategies(self):
        """The names that --strategy takes."""
        done = subprocess.run([self.path, "--strategy", "?"], capture_output=True, text=True)
        return re.search(r"there are: ([\w, ]+)", done.stderr)[1].split(", ")

    def model(self, *flags, sizes=""):
        """Flags for a schedule of the cost model's."""
        return ["--cost-model", "time", "--gpu", self.gpu, *(["--tune-for", sizes] if sizes else []), *flags]

    def schedule(self, source, flags):
        return self("--emit", "schedule", *flags, source)

    def completed(self, source, schedule):
        """A schedule as pipec prints it, from one that says less."""
        with tempfile.NamedTemporaryFile("w", suffix=".schedule.json") as file:
            json.dump(schedule, file)
            file.flush()
            return self.schedule(source, ["--schedule", file.name])

    def search_seconds(self, source, flags, runs=3):
        """Processor time that finding a schedule takes: all of a compilation up to it, less what it takes without."""
        def least(flags):
            times = []
            for _ in range(runs):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                self.schedule(source, flags)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            return min(times)
        return max(0.0, least(flags) - least(["--cost-model", "none"]))

    def facts(self, source, shape):
        domains, typed = self("--emit", "domains", source), self("--emit", "pipeline", source)
        # Extents of inputs are the program's sizes and constants: extent(img, 0) - 2.
        sizes = {}
        for name, expression in re.findall(r"(?m)^  size (\w+) = (.*)$", domains):
            known = re.sub(r"extent\((\w+), (\d+)\)", lambda m: str(shape.extents[m[1]][int(m[2])]), expression)
            sizes[name] = evaluate(known, sizes)
        types = dict(re.findall(r"(?m)^  (?:accumulate )?([^\s(]+)\(.*?\): (\w+)", typed))
        outputs = set(re.findall(r"(\w+): \w+", typed.splitlines()[0].split("->")[1]))
        stages = re.findall(r"(?m)^  stage ([^\s(]+)\((.*)\)$", domains)
        total = 0
        for name, dimensions in stages:
            points = 1
            for low, high in re.findall(r"\w+ in (.+?)\.\.(.+?)(?=, \w+ in |$)", dimensions):
                points *= evaluate(high, sizes) - evaluate(low, sizes)
            total += points * ELEMENT_BYTES[types[name]] * (name not in outputs)
        return Facts(sizes, len(stages), total)


def kernels_of(schedule):
    """Groups of a schedule, and how many of them are fused, by strategy."""
    groups = [g for pipeline in json.loads(schedule)["pipelines"].values() for g in pipeline["groups"]]
    by_strategy = {}
    for group in groups:
        by_strategy[group["strategy"]] = by_strategy.get(group["strategy"], 0) + 1
    return {"groups": len(groups), "strategies": by_strategy}
