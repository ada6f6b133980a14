#!/usr/bin/env python3
"""Measures the programs of this folder on a GPU, against what memory and arithmetic ask for.

    run.py build   [--out DIR] [--pipec PATH] [--gpu h200] [--settings default,stage] [PROGRAM...]
    run.py compile [--out DIR] [--arch sm_90] [--jobs N] [PROGRAM...]
    run.py measure [--out DIR] [--size measured] [--seconds 540] [--jobs N] [--on-host] [PROGRAM...]
    run.py table   [--out DIR] [RESULTS.jsonl]
    run.py predict [--out DIR]

`build` needs pipec and no GPU: it writes the code of every program and setting, and what is known of them. `measure`
needs nvcc, a GPU, this repository and DIR, and no pipec; it compiles what `compile` has not compiled elsewhere, compares
with the host's code, measures, and writes DIR/results.jsonl and DIR/results.md. `table` makes the table anew, `predict` one of what pipec predicts. README.md has
more."""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import count

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SETTINGS = {"default": [], "sized": [], "stage": ["--strategy", "stage"], "paper": ["--cost-model", "paper"]}
HOST = ["-std=c++17", "-fopenmp", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared"]
MOST_PROBLEMS = 24  # that are printed; the results have all


def fail(message, code=2):
    print(f"run.py: error: {message}", file=sys.stderr)
    sys.exit(code)


def run(command, seconds=None):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds)


def chosen(names, known):
    wrong = [name for name in names if name not in known]
    if wrong:
        fail(f"no such program: {', '.join(wrong)}")
    return names or list(known)


# ---- build ----

def microseconds(text):
    """The prediction of `pipec explain`, or nothing; kernels without one."""
    found = re.search(r"(\d+) kernels?, predicted ([\d.]+) (us|ms|s)\b", text)
    missing = re.search(r"without (\d+) kernels? of which nothing is predicted", text)
    scale = {"us": 1, "ms": 1e3, "s": 1e6}
    if not found:
        return 0, None, 0
    return int(found[1]), float(found[2]) * scale[found[3]], int(missing[1]) if missing else 0


def build_program(options, name, entry):
    source, code = count.PROGRAMS / f"{name}.pipe", options.out / "code"
    case = count.parse_case(count.cases("measured")[name])
    sizes = count.Program(options.pipec, source).size_values(case).values
    params = set(count.Program(options.pipec, source).params)
    tune_for = ["--tune-for", ",".join(f"{k}={v}" for k, v in sizes.items() if k not in params)]
    facts = {**entry, "settings": {}}
    done = run([options.pipec, "-w", "--target", "host", source, "-o", code / f"{name}.host.cpp"])
    if done.returncode:
        facts["error"] = done.stderr.strip()
    for setting in options.settings:
        flags = ["-w", "--gpu", options.gpu, *SETTINGS[setting], *(tune_for if setting == "sized" else [])]
        schedule = code / f"{name}.{setting}.json"
        begin = time.monotonic()
        done = run([options.pipec, *flags, "--target", "cuda", source, "-o", code / f"{name}.{setting}.cu"])
        known = facts["settings"][setting] = {"compile_s": round(time.monotonic() - begin, 2)}
        if done.returncode:
            known["error"] = done.stderr.strip()[:400]
            continue
        run([options.pipec, *flags, "--emit", "schedule", "--pin", source, "-o", schedule])
        explain = [options.pipec, "explain", "-w", "--gpu", options.gpu]
        explained = run([*explain, "--schedule", schedule, *tune_for, source])
        kernels, predicted, missing = microseconds(explained.stdout)
        known |= {"kernels": kernels, "predicted": predicted, "unpredicted": missing}
    return name, facts


def build(options):
    options.pipec = pathlib.Path(options.pipec).resolve()
    table = count.table()
    names = chosen(options.programs, table)
    for folder in (options.out / "code", options.bin):
        shutil.rmtree(folder, ignore_errors=True)
    (options.out / "code").mkdir(parents=True)
    shutil.copy(count.PROGRAMS / "cases.txt", options.out)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        facts = dict(pool.map(lambda name: build_program(options, name, table[name]), names))
    text = json.dumps({"gpu": options.gpu, "settings": options.settings, "programs": facts}, indent=1)
    (options.out / "facts.json").write_text(text + "\n", encoding="utf-8")
    errors = [f"{name}: {e}" for name, f in facts.items()
              for e in [f.get("error"), *(s.get("error") for s in f["settings"].values())] if e]
    print("\n".join([f"{len(names)} programs in {options.out}", *errors]))
    return 1 if errors else 0


# ---- measure ----

class Clock:
    """Says what is left of the time that was given."""

    def __init__(self, seconds):
        self.begin, self.seconds = time.monotonic(), seconds

    def left(self):
        return self.seconds - (time.monotonic() - self.begin)


def compile_all(options, facts, names, clock):
    """Objects for the programs; what could not be made, with the compiler's words. The longest come first. A GPU's
    objects that are there stay, since `build` removes them; all else is made on the machine that measures."""
    bin_folder, code = options.bin, options.out / "code"
    bin_folder.mkdir(exist_ok=True)
    device_code = "device_fake" if options.on_host else "device_cuda"
    tools = [ROOT / "tests/gpu" / f"{name}.cpp" for name in ("call", "cases", "image", device_code)]
    include = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests/gpu'}"]
    compiler = "g++" if options.on_host else "nvcc"
    host = ["g++", *HOST, *(["-O1"] if options.on_host else ["-O3", "-march=native"])]
    device = ["nvcc", "-std=c++17", "-O3", "--fmad=false", f"-arch={options.arch}", "-cudart", "shared",
              "-Xcompiler", "-fPIC", "-shared"]
    jobs = [(main.stem, [compiler, "-std=c++20", "-O2", *include, main, *tools, "-o", bin_folder / main.stem, "-ldl"])
            for main in (HERE / "measure.cpp", ROOT / "tests/gpu/check.cpp")]
    if options.step == "compile":
        jobs.clear()
    tools_count = len(jobs)
    for name in names:
        from_host = [*host, code / f"{name}.host.cpp", "-o"]
        if options.step == "measure":
            jobs.append((f"{name}.host", [*from_host, bin_folder / f"{name}.host.so"]))
        for setting in facts["programs"][name]["settings"]:
            source, target = code / f"{name}.{setting}.cu", bin_folder / f"{name}.{setting}.so"
            if source.exists() and not target.exists():
                command = [*from_host, target] if options.on_host else [*device, source, "-o", target]
                jobs.append((f"{name}.{setting}", command))

    def one(job):
        what, command = job
        begin = time.monotonic()
        if clock.left() < 5:
            return what, "no time left", 0
        try:
            done = run(command, max(5, min(options.nvcc_seconds, clock.left())))
            error = done.stderr.strip()[-300:] if done.returncode else None
        except subprocess.TimeoutExpired:
            error = f"{command[0]} took too long"
        return what, error, time.monotonic() - begin

    def length(job):
        return max(pathlib.Path(word).stat().st_size for word in job[1] if pathlib.Path(word).suffix in (".cu", ".cpp"))
    jobs[tools_count:] = sorted(jobs[tools_count:], key=length, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, jobs))
    seconds = {what: round(s, 1) for what, _, s in results}
    return {what: error for what, error, _ in results if error}, seconds


def compile_step(options):
    if not shutil.which("nvcc"):
        fail("there is no nvcc", 77)
    facts = json.loads((options.out / "facts.json").read_text(encoding="utf-8"))
    names = chosen(options.programs, facts["programs"])
    errors, seconds = compile_all(options, facts, names, Clock(float("inf")))
    print("\n".join([f"{len(seconds)} objects in {options.bin}", *(f"{w}: {e}" for w, e in errors.items())]))
    return 1 if errors else 0


def check_all(options, names, facts):
    """Settings whose results differ at the small size, in any layout: the words of the check."""
    def one(pair):
        name, setting = pair
        bin_folder = options.bin
        done = run([bin_folder / "check", "--size", "odd", options.out / "cases.txt", name,
                    bin_folder / f"{name}.host.so", bin_folder / f"{name}.{setting}.so"], 60)
        return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[0]
    pairs = [(n, s) for n in names for s in facts["programs"][n]["settings"]
             if (options.bin / f"{n}.{s}.so").exists()]

    def safe(pair):
        try:
            return one(pair)
        except subprocess.TimeoutExpired:
            return "check took more than 60 s"
    with concurrent.futures.ThreadPoolExecutor(min(options.jobs, 6)) as pool:
        return {pair: error for pair, error in zip(pairs, pool.map(safe, pairs)) if error}


def member(text, name):
    found = re.search(rf"^{name} *= *([\d.]+)", text, re.M)
    return float(found[1]) if found else 0.0


def issue_rate(device):
    """Operations a second: one for each lane and clock. Of the GPU in gpus/ that is called like this one."""
    for path in sorted((ROOT / "gpus").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        devices = re.search(r"^devices *= *\[(.*?)\]", text, re.M | re.S)
        if devices and any(name in device for name in re.findall(r'"([^"]+)"', devices[1])):
            return member(text, "sms") * member(text, "cores_per_sm") * member(text, "clock_mhz") * 1e6, path.stem
    return 0.0, None


def measure_program(options, facts, name, errors, different, seconds, clock):
    """What is known and measured of one program, and its problems by name."""
    known, bin_folder = facts["programs"][name], options.bin
    settings = [s for s in known["settings"] if (bin_folder / f"{name}.{s}.so").exists()]
    row = {"program": name, **{k: known[k] for k in ("kind", "operations", "bytes")}, "facts": known["settings"],
           "nvcc_s": {s: seconds.get(f"{name}.{s}") for s in settings}}
    problems = {f"{name}.{s}": e for s in known["settings"]
                for e in [errors.get(f"{name}.{s}") or different.get((name, s))] if e}
    if f"{name}.host" in errors:
        problems[f"{name}.host"] = errors[f"{name}.host"]
    elif clock.left() < 5:
        problems[name] = "no time left"
    elif settings:
        libraries = [f"{s}={bin_folder / f'{name}.{s}.so'}" for s in settings]
        try:
            done = run([bin_folder / "measure", options.out / "cases.txt", name, options.size,
                        bin_folder / f"{name}.host.so", *libraries], min(90, clock.left()))
            if done.returncode:
                problems[name] = done.stderr.strip()
            else:
                row |= json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            problems[name] = "the measurement took too long"
    problems |= {f"{name}.{s}": r["wrong"] for s, r in row.get("settings", {}).items() if "wrong" in r}
    return {**row, "problems": problems} if problems else row


def measure(options):
    clock = Clock(options.seconds)
    if not options.on_host and not shutil.which("nvcc"):
        fail("there is no nvcc", 77)
    facts = json.loads((options.out / "facts.json").read_text(encoding="utf-8"))
    names = chosen(options.programs, facts["programs"])
    errors, seconds = compile_all(options, facts, names, clock)
    for tool in ("measure", "check"):
        if tool in errors:
            fail(f"{tool} cannot be built: {errors[tool]}")
    compiled = time.monotonic() - clock.begin
    described = run([options.bin / "measure", "--describe"])
    if described.returncode:
        fail(f"there is no GPU: {described.stderr.strip()}", 77)
    device = described.stdout.strip()
    rate, gpu = issue_rate(device)
    if options.on_host:
        rate, gpu = issue_rate("NVIDIA H200")
    driver = ""
    if shutil.which("nvidia-smi"):
        driver = run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).stdout.split("\n")[0]
    different = check_all(options, names, facts)
    head = {"device": device, "driver": driver, "date": datetime.date.today().isoformat(), "issue_rate": rate,
            "gpu": gpu, "size": options.size, "code_for": facts["gpu"], "compile_s": round(compiled, 1)}
    rows = [measure_program(options, facts, name, errors, different, seconds, clock) for name in names]
    lines = [json.dumps(line) + "\n" for line in [head, *rows]]
    (options.out / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    text = table_text(head, rows)
    (options.out / "results.md").write_text(text, encoding="utf-8")
    print(text)
    print(f"{compiled:.0f} s to compile, {time.monotonic() - clock.begin:.0f} s in all")
    return 1 if any("problems" in row for row in rows) else 0


# ---- tables ----

def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def limit_of(head, row):
    """Microseconds, and what sets them."""
    arithmetic = row["operations"] / head["issue_rate"] * 1e6 if head["issue_rate"] else 0
    return (row["copy"], "bytes") if row["copy"] >= arithmetic else (arithmetic, "operations")


def part(values, most):
    return sum(v <= most for v in values) / len(values) if values else 0


def summary(ratios, what):
    if not ratios:
        return ""
    return (f"{what}: {len(ratios)} programs, median {statistics.median(ratios):.2f}, {part(ratios, 3):.0%} within 3, "
            f"{part(ratios, 5):.0%} within 5, worst {max(ratios):.1f}\n")


def table_text(head, rows):
    """Markdown; programs farthest from their limit first."""
    done, open_rows = [], []
    for row in rows:
        default = row.get("settings", {}).get("default", {})
        if "time" not in default:
            open_rows.append(row)
            continue
        limit, bound = limit_of(head, row)
        stage = row["settings"].get("stage", {}).get("time")
        predicted = row["facts"]["default"].get("predicted")
        # What the model knows nothing of makes its prediction incomparable.
        predicted = None if row["facts"]["default"].get("unpredicted") else predicted
        done.append((default["time"] / limit, row, limit, bound, default, stage, predicted))
    done.sort(key=lambda d: -d[0])
    lines = [f"{head['device']}; driver {head['driver']}; {head['date']}; code for {head['code_for']}; "
             f"size `{head['size']}`", "",
             "| program | kind | limit us | by | time us | time / limit | graph us | stage us | predicted us "
             "| predicted / time | kernels |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for ratio, row, limit, bound, default, stage, predicted in done:
        bad = " FAIL" if "problems" in row else ""
        lines.append(f"| {row['program']}{bad} | {row['kind']} | {number(limit)} | {bound} | "
                     f"{number(default['time'])} | {ratio:.2f} | {number(default['graph'])} | {number(stage)} | "
                     f"{number(predicted)} | "
                     f"{number(predicted / default['time'] if predicted else None)} | {default['kernels']} |")
    text = "\n".join(lines) + "\n\n" + summary([d[0] for d in done], "time / limit")
    models = [max(d[6] / d[4]["time"], d[4]["time"] / d[6]) for d in done if d[6]]
    if models:
        text += f"prediction: {part(models, 1.4):.0%} of {len(models)} within 1.4, {part(models, 2):.0%} within 2\n"
    problems = [f"FAIL {what}: {problem[:160]}" for row in [*open_rows, *(d[1] for d in done)]
                for what, problem in row.get("problems", {}).items()]
    text += "".join(f"\n{problem}" for problem in problems[:MOST_PROBLEMS])
    if len(problems) > MOST_PROBLEMS:
        text += f"\nand {len(problems) - MOST_PROBLEMS} problems more"
    return text.rstrip("\n") + "\n"


def table(options):
    path = pathlib.Path(options.programs[0]) if options.programs else options.out / "results.jsonl"
    head, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    print(table_text(head, rows), end="")
    return 0


def predict(options):
    """The limits with nominal rates and what pipec predicts, for where there is no GPU."""
    facts = json.loads((options.out / "facts.json").read_text(encoding="utf-8"))
    text = (ROOT / "gpus" / f"{facts['gpu']}.toml").read_text(encoding="utf-8")
    memory = member(text, "dram_gb_per_s") * member(text, "dram_part") * 1e3  # bytes a microsecond
    rate = member(text, "sms") * member(text, "cores_per_sm") * member(text, "clock_mhz")
    launch = member(text, "launch_us")
    rows = []
    for name, row in facts["programs"].items():
        limit = max(row["bytes"] / memory + launch, row["operations"] / rate)
        default, stage = row["settings"].get("default", {}), row["settings"].get("stage", {})
        predicted = default.get("predicted")
        rows.append(((predicted or 0) / limit, name, row, limit, default, stage))
    print("| program | kind | limit us | predicted us | predicted / limit | stage predicted us | kernels | compile s |")
    print("| --- " * 8 + "|")
    for ratio, name, row, limit, default, stage in sorted(rows, key=lambda r: -r[0]):
        note = f" (without {default['unpredicted']})" if default.get("unpredicted") else ""
        print(f"| {name} | {row['kind']} | {number(limit)} | {number(default.get('predicted'))}{note} | {ratio:.2f} | "
              f"{number(stage.get('predicted'))} | {default.get('kernels', '-')} | {default.get('compile_s', '-')} |")
    known = [r[0] for r in rows if r[4].get("predicted") and not r[4].get("unpredicted")]
    print("\n" + summary(known, "predicted / limit"))
    return 0


def main():
    parser = argparse.ArgumentParser(prog="run.py", usage="run.py [build|compile|measure|table|predict] [options] [PROGRAM...]",
                                     description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["build", "compile", "measure", "table", "predict"])
    parser.add_argument("--out", type=lambda p: pathlib.Path(p).resolve(), default=ROOT / "build/suite")
    parser.add_argument("--pipec", default=ROOT / "build/release/pipec")
    parser.add_argument("--gpu", default="h200", help="what pipec counts costs for")
    parser.add_argument("--settings", type=lambda s: s.split(","), default=["default", "stage"],
                        help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--arch", default="native", help="what nvcc compiles for")
    parser.add_argument("--size", default="measured", help="which cases are measured")
    parser.add_argument("--seconds", type=float, default=540, help="time for `measure`; what is left over is said")
    parser.add_argument("--nvcc-seconds", type=float, default=180, help="time for one object")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--on-host", action="store_true", help="the host's code in place of a GPU's: tests this script")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_intermixed_args()
    wrong = [s for s in options.settings if s not in SETTINGS]
    if wrong:
        fail(f"no such setting: {', '.join(wrong)}")
    options.bin = options.out / ("bin_host" if options.on_host else "bin")
    os.environ["PATH"] += os.pathsep + os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
    return {"build": build, "compile": compile_step, "measure": measure, "table": table, "predict": predict}[options.step](options)


if __name__ == "__main__":
    sys.exit(main())
