#!/usr/bin/env python3
"""Writes the code that measure.sh runs, for the paper's section "Evaluation": README.md lists the experiments.

DIR/EXPERIMENT/[POINT/]SYSTEM/PROGRAM.cu is code, and beside it lies the schedule that it was made with. DIR/facts.jsonl
says what is known without measuring, and which system is what; DIR/jobs.txt and DIR/cases.txt say what is to be run."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import sys

from programs import BENCHMARKS, Pipec, PipecError, Shape, kernels_of, paper_shapes, source_of, with_constant

# The ablation: names of systems, and flags for the cost model.
ABLATION = {
    "otptb": ["--strategy", "otptb"],
    "otpw": ["--strategy", "otpw"],
    "hybrid": ["--strategy", "hybrid", "--frac-reg", "0.5"],
    "hybrid-registers": ["--strategy", "hybrid", "--frac-reg", "1"],
    "register_tile": ["--strategy", "register_tile"],
    "auto": [],
}
# A strategy that the cost model knows nothing of: several trials, of which the fastest counts. What pipec does not have at
# all is left out.
TRIALS = {"stream": {"all": [], "0.2": ["--overlap-threshold", "0.2"], "0.5": ["--overlap-threshold", "0.5"]}}
COUNTED = ["otptb", "otpw", "hybrid", "register_tile"]  # by Nsight Compute, which takes seconds for each
# What the autotuner tries: PolyMage's thresholds, and for all groups of a program the same block and tile.
THRESHOLDS = ["0.2", "0.4", "0.5"]
BLOCKS = ["32x8", "16x16"]
TILES = ["1x1", "1x4", "2x2", "4x4"]
SIDES = [512, 1024, 2048, 4096, 8192, 16384]  # of square images: 0.25 to 256 megapixels
LEVELS = [2, 3, 4, 6, 8, 10]
PAIRS = [1, 2, 4, 6, 8, 12, 16]


class Folder:
    """Code for one program, each schedule once."""

    def __init__(self, plan, name, program, source):
        self.plan, self.name, self.program, self.source = plan, name, program, source
        self.systems = {}  # by schedule
        self.kernels = {}  # by system

    def add(self, system, schedule):
        """The system that has this schedule: an earlier one, or `system`."""
        if schedule in self.systems:
            return self.systems[schedule]
        folder = self.plan.directory / self.name / system
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.program}.schedule.json"
        path.write_text(schedule, encoding="utf-8")
        self.plan.pipec("--schedule", path, self.source, "-o", folder / f"{self.program}.cu")
        self.systems[schedule] = system
        self.kernels[system] = kernels_of(schedule)
        return system


class Plan:
    def __init__(self, directory, pipec, jobs):
        self.directory, self.pipec = directory, pipec
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.cases, self.jobs, self.facts = {}, [], []

    def schedules(self, source, variants):
        """By name, of those that are possible; what pipec refuses is said."""
        def make(flags):
            try:
                return self.pipec.schedule(source, flags)
            except PipecError as error:
                return error
        result = {}
        for name, made in zip(variants, self.pool.map(make, variants.values())):
            if isinstance(made, str):
                result[name] = made
            else:
                print(f"{source.name}: {name}: {made}", file=sys.stderr)
        return result

    def job(self, experiment, folder, systems, size, shape, launches, checked):
        """Systems of a folder at one size; the first one's results are what others must agree with."""
        self.cases[folder.program, size] = shape.line(folder.program, size)
        self.jobs.append([experiment, folder.name, folder.program, size, launches, "yes" if checked else "no",
                          *dict.fromkeys(systems.values())])

    def fact(self, experiment, folder, **more):
        self.facts.append({"experiment": experiment, "folder": folder.name, "benchmark": folder.program, **more})

    def write(self):
        def put(name, lines):
            (self.directory / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        put("cases.txt", self.cases.values())
        put("jobs.txt", ["\t".join(map(str, job)) for job in self.jobs])
        put("facts.jsonl", map(json.dumps, self.facts))


def ablation(plan, benchmarks, shapes):
    """Figures fig:all-results and fig:stalls, tables tab:benchmarks and tab:reasons; memory."""
    known = plan.pipec.strategies()
    for program in benchmarks:
        source = source_of(program)
        facts = plan.pipec.facts(source, shapes[program])
        sizes = facts.tune_for()
        variants = {"stage": ["--cost-model", "none"]}
        variants |= {name: plan.pipec.model(*flags, sizes=sizes) for name, flags in ABLATION.items()}
        variants |= {f"{strategy}.{name}": ["--strategy", strategy, *flags] for strategy in TRIALS if strategy in known
                     for name, flags in TRIALS[strategy].items()}
        folder = Folder(plan, "ablation", program, source)
        kept = plan.pipec.completed(source, {"version": 1, "pipelines": {program: {"inlined": [], "groups": []}}})
        systems = {"kept": folder.add("kept", kept)}
        for name, schedule in plan.schedules(source, variants).items():
            systems[name] = folder.add(name, schedule)
        plan.job("ablation", folder, systems, "paper", shapes[program], 100, True)
        counted = {name: systems[name] for name in COUNTED if name in systems}
        plan.job("counters", folder, counted, "paper", shapes[program], 0, False)
        seconds = {"time": plan.pipec.search_seconds(source, plan.pipec.model(sizes=sizes)),
                   "paper": plan.pipec.search_seconds(source, ["--cost-model", "paper", "--gpu", plan.pipec.gpu,
                                                               "--tune-for", sizes])}
        plan.fact("ablation", folder, extents=shapes[program].extents, stages=facts.stages,
                  intermediate_bytes=facts.intermediate_bytes, search_seconds=seconds, systems=systems,
                  kernels=folder.kernels)


def autotuner(plan, benchmarks, shapes):
    """Section "Comparison with other techniques", PolyMage's autotuner."""
    for program in benchmarks:
        source = source_of(program)
        variants = {f"{t}-{b}-{tile}": ["--strategy", "otptb", "--overlap-threshold", t, "--block", b, "--tile", tile]
                    for b in BLOCKS for tile in TILES for t in THRESHOLDS}
        folder = Folder(plan, "autotuner", program, source)
        sizes = plan.pipec.facts(source, shapes[program]).tune_for()
        systems = {"auto": folder.add("auto", plan.pipec.schedule(source, plan.pipec.model(sizes=sizes)))}
        systems |= {name: folder.add(name, made) for name, made in plan.schedules(source, variants).items()}
        plan.job("autotuner", folder, systems, "paper", shapes[program], 50, True)
        plan.fact("autotuner", folder, systems=systems, kernels=folder.kernels)


def sizes(plan, benchmarks, shapes, sides):
    """Time against the size of the image: the schedule of the default, which nobody chose, and one for each size."""
    for program in benchmarks:
        source = source_of(program)
        squares = {side: shapes[program].square(side) for side in sides}
        variants = {"default": plan.pipec.model()}
        variants |= {f"for-{side}": plan.pipec.model(sizes=plan.pipec.facts(source, square).tune_for())
                     for side, square in squares.items()}
        made = plan.schedules(source, variants)
        folder = Folder(plan, "sizes", program, source)
        for side, square in squares.items():
            systems = {}
            for name in ("default", f"for-{side}"):
                # A schedule that another size has, too, is code that is there already.
                first = next(n for n in made if made[n] == made[name])
                systems[name.split("-")[0]] = folder.add(first, made[name])
            plan.job("sizes", folder, systems, str(side), square, 100 if side <= 2048 else 20, False)
            plan.fact("sizes", folder, side=side, systems=systems, kernels=folder.kernels)


def depth(plan, program, constant, values, shape):
    """Time against the number of levels of a pyramid, or the length of a chain."""
    for value in values:
        name = f"depth/{constant.lower()}-{value}"
        source = plan.directory / name / f"{program}.pipe"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(with_constant(program, constant, value), encoding="utf-8")
        facts = plan.pipec.facts(source, shape)
        folder = Folder(plan, name, program, source)
        systems = {}
        for system, schedule in plan.schedules(source, {
                "stage": ["--cost-model", "none"], "auto": plan.pipec.model(sizes=facts.tune_for()),
                "otptb": plan.pipec.model("--strategy", "otptb", sizes=facts.tune_for())}).items():
            systems[system] = folder.add(system, schedule)
        plan.job("depth", folder, systems, "paper", shape, 50, True)
        plan.fact("depth", folder, constant=constant, value=value, stages=facts.stages,
                  intermediate_bytes=facts.intermediate_bytes, systems=systems, kernels=folder.kernels)


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def main():
    experiments = ["ablation", "autotuner", "sizes", "depth"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--pipec", default="build/release/pipec", help="default: %(default)s of this repository")
    parser.add_argument("--gpu", default="h200", help="what the cost model counts for (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at once")
    parser.add_argument("--only", nargs="+", choices=experiments, default=experiments, metavar="EXPERIMENT",
                        help=", ".join(experiments) + " (default: all)")
    parser.add_argument("--benchmarks", nargs="+", choices=BENCHMARKS, default=BENCHMARKS, metavar="NAME")
    parser.add_argument("--largest", type=int, default=SIDES[-1], help="side of the largest image (default: %(default)s)")
    parser.add_argument("--most", type=int, default=99, help="the most levels and pairs")
    options = parser.parse_args()
    pipec = pathlib.Path(options.pipec)
    if not pipec.is_absolute() and not pipec.exists():
        pipec = pathlib.Path(__file__).resolve().parents[2] / pipec
    options.dir.mkdir(parents=True, exist_ok=True)
    plan = Plan(options.dir, Pipec(pipec.resolve(), options.gpu), options.jobs)
    shapes = paper_shapes()
    plan.facts.append({"experiment": "all", "gpu": options.gpu, "processor": processor(),
                       "pipec": plan.pipec("--version").split("\n")[0]})
    if "ablation" in options.only:
        ablation(plan, options.benchmarks, shapes)
    if "autotuner" in options.only:
        autotuner(plan, options.benchmarks, shapes)
    if "sizes" in options.only:
        sizes(plan, options.benchmarks, shapes, [side for side in SIDES if side <= options.largest])
    if "depth" in options.only:
        depth(plan, "multiscale_interpolate", "LEVELS", [n for n in LEVELS if n <= options.most],
              shapes["multiscale_interpolate"])
        depth(plan, "chain", "PAIRS", [n for n in PAIRS if n <= options.most], Shape({"img": [4096, 4096]}, "~1e-5"))
    plan.write()


if __name__ == "__main__":
    try:
        main()
    except (OSError, PipecError, ValueError) as error:
        sys.exit(f"generate.py: error: {error}")
