#!/usr/bin/env python3
"""Families of programs, to see how compiling grows with their size.

    families.py --list                       the families, and what their size counts
    families.py FAMILY SIZE                  prints a program
    families.py --measure PIPEC [options]    a table of time and memory against size
    families.py --check PIPEC                small sizes compile for both targets

A table's line is a whole compilation: analysis, the search for a schedule, code generation, one file written. Times are
those of the process and of one run; the machine should be quiet. "n log n" is how time grows from the size before: the
exponent p of (n log n)^p.
"""
import argparse
import math
import os
import resource
import sys
import tempfile

FAMILIES = {}


def family(counts, small, sizes):
    """`small`: sizes for tests. `sizes`: those of the table, the last one the largest that has to be good."""
    def add(function):
        FAMILIES[function.__name__] = (function, counts, small, sizes)
        return function
    return add


def program(statements, imports=(), inputs="img: float32[R, C]", outputs="out: float32[R, C]"):
    lines = [f'import "{name}"' for name in imports]
    lines += [f"pipeline p({inputs}) -> {outputs} {{"]
    lines += ["    " + line for line in statements]
    return "\n".join(lines + ["}", ""])


@family("stages", (3, 12), (10, 50, 100, 200, 400))
def stencils(n):
    """A chain of sums of three neighbours, in y and in x by turns."""
    body = ["a[0] = img"]
    for i in range(1, n + 1):
        # Centres move along, so that the image needs no points before its first.
        taps = [f"a[{i - 1}](y + {k}, x)" if i % 2 else f"a[{i - 1}](y, x + {k})" for k in range(3)]
        body.append(f"a[{i}](y, x) = 0.25 * {taps[0]} + 0.5 * {taps[1]} + 0.25 * {taps[2]}")
    return program(body + [f"out = a[{n}]"], inputs=f"img: float32[R + {n + 1}, C + {n}]")


@family("stages", (3, 12), (50, 100, 200, 400))
def separable(n):
    """Filters of five rows and of five columns by turns."""
    body = ["a[0] = img"]
    for i in range(1, n + 1):
        shift = "y + k, x" if i % 2 else "y, x + k"
        body.append(f"a[{i}](y, x) = sum(k in 0..=4) (k + 1) * a[{i - 1}]({shift})")
    return program(body + [f"out = a[{n}]"], inputs=f"img: float32[R + {2 * n + 4}, C + {2 * n + 4}]")


@family("stages", (3, 16), (10, 50, 100, 200, 400))
def pointwise(n):
    """A chain in which each stage reads its predecessor twice, at the same point."""
    body = ["a[0] = img"]
    body += [f"a[{i}](y, x) = a[{i - 1}](y, x) * (1 - a[{i - 1}](y, x))" for i in range(1, n + 1)]
    return program(body + [f"out = a[{n}]"])


@family("stages", (3, 16), (50, 100, 200, 400))
def squares(n):
    """A chain of squares."""
    body = ["a[0] = img"] + [f"a[{i}](y, x) = a[{i - 1}](y, x) * a[{i - 1}](y, x)" for i in range(1, n + 1)]
    return program(body + [f"out = a[{n}]"])


@family("stages", (3, 16), (50, 100, 200, 400))
def weighted(n):
    """A chain in which each stage reads its predecessor twice, and the image at a place of its own."""
    body = ["a[0] = img"]
    body += [f"a[{i}](y, x) = a[{i - 1}](y, x) + img(y + {i}, x) * a[{i - 1}](y, x)" for i in range(1, n + 1)]
    return program(body + [f"out = a[{n}]"], inputs=f"img: float32[R + {n}, C]")


@family("stages", (3, 16), (50, 100, 200, 400))
def conditions(n):
    """A chain of decisions by the value before."""
    body = ["a[0] = img"]
    body += [f"a[{i}](y, x) = if a[{i - 1}](y, x) > {i} then a[{i - 1}](y, x) * 0.5 else a[{i - 1}](y, x) + 1"
             for i in range(1, n + 1)]
    return program(body + [f"out = a[{n}]"])


@family("names", (4, 50), (250, 500, 1000, 2000))
def lets(n):
    """One stage, in which each name stands for a sum of the two before."""
    names = ", ".join(["v0 = img(y, x)", "v1 = img(y, x) * 2"] + [f"v{i} = v{i - 1} + 0.5 * v{i - 2}" for i in range(2, n)])
    return program([f"out(y, x) = let {names} in v{n - 1}"])


@family("updates", (4, 50), (100, 200, 400, 800))
def updates(n):
    """One accumulate with a let before each of its updates."""
    body = ["accumulate out(b in 0..256): int64 = 0 {", "    for y in 0..R, x in 0..C {"]
    for i in range(n):
        body += [f"        let v{i} = img(y, x) / {i + 1}", f"        out(v{i}) += {i + 1}"]
    return program(body + ["    }", "}"], inputs="img: uint8[R, C]", outputs="out: int64[256]")


@family("terms", (4, 16), (16, 25, 49))
def places(n):
    """The place of the least of n terms that data give, for which a neighbour is read."""
    side = round(n ** 0.5)
    return program(["f(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))",
                    f"at(y, x) = argmin(i in 0..{side}, j in 0..{n // side}) (let d = f(y + i, x + j) - y in d * d)",
                    "out(y, x) = f(y + at[0](y, x), x + at[1](y, x))"],
                   inputs="img: int16[R, C]", outputs="out: int16[R, C]")


@family("operators", (4, 50), (250, 500, 1000, 2000))
def ors(n):
    """One stage with a condition of many parts."""
    parts = " or ".join(f"img(y, x) == {3 * i}" for i in range(n + 1))
    return program([f"out(y, x) = if {parts} then 1.0 else 0.0"])


@family("functions", (4, 50), (16, 32, 64))
def deep_functions(n):
    """Functions, each of which calls the one before and squares what that gives; calls nest 64 deep at most."""
    functions = ["fn f0(v) = v + 1"]
    functions += [f"fn f{i}(v) = let w = f{i - 1}(v) in w * w + {i}" for i in range(1, n)]
    return "\n".join(functions) + "\n" + program([f"out(y, x) = f{n - 1}(img(y, x))"])


@family("values in the window", (9, 25), (9, 25, 49))
def median(n):
    """The median of a square window by exchanges (25: 338 stages; 49: 1,350)."""
    side = round(n ** 0.5)
    first = n // 2 + 2
    body = [f"for k in 0..{n} {{ v[k](y, x) = img(y + (k - k % {side}) / {side}, x + k % {side}) }}",
            f"for k in 0..{first} {{ a[0][k] = v[k] }}",
            f"for r in 0..{first - 2} {{",
            f"    const n = {first} - r",
            "    lo[r][0] = a[r][0]",
            "    for k in 1..n {",
            "        lo[r][k] = min(lo[r][k - 1], a[r][k])",
            "        up[r][k] = max(lo[r][k - 1], a[r][k])",
            "    }",
            "    hi[r][1] = up[r][1]",
            "    for k in 2..n {",
            "        hi[r][k] = max(hi[r][k - 1], up[r][k])",
            "        a[r + 1][k - 2] = min(hi[r][k - 1], up[r][k])",
            "    }",
            f"    if r < {first - 3} {{ a[r + 1][n - 2] = v[{first} + r] }}",
            "}",
            f"out = a[{first - 2}][0]"]
    return program(body, inputs=f"img: float32[R + {side}, C + {side}]")


@family("wires", (4, 8), (8, 16, 32))
def bitonic(n):
    """A bitonic sorter of n values, n a power of two, and a sum with weights of what comes out."""
    body = [f"s[0][{k}](y, x) = img(y, x + {k})" for k in range(n)]
    step, size = 0, 2
    while size <= n:
        distance = size // 2
        while distance > 0:
            for k in range(n):
                other = k ^ distance
                least = (k < other) == (k & size == 0)
                body.append(f"s[{step + 1}][{k}] = {'min' if least else 'max'}(s[{step}][{min(k, other)}], "
                            f"s[{step}][{max(k, other)}])")
            step, distance = step + 1, distance // 2
        size *= 2
    total = " + ".join(f"{k + 1} * s[{step}][{k}](y, x)" for k in range(n))
    return program(body + [f"out(y, x) = {total}"], inputs=f"img: float32[R, C + {n}]")


@family("leaves", (4, 16), (16, 64, 128, 200))
def min_max_tree(n):
    """Pairs of values, the least and the greatest of both by turns."""
    body = [f"t[0][{k}](y, x) = img(y + {k % 8}, x + {k // 8}) * {k + 1}" for k in range(n)]
    level, left = 0, n
    while left > 1:
        for k in range(left // 2):
            body.append(f"t[{level + 1}][{k}] = {'max' if level % 2 else 'min'}(t[{level}][{2 * k}], t[{level}][{2 * k + 1}])")
        if left % 2:
            body.append(f"t[{level + 1}][{left // 2}] = t[{level}][{left - 1}]")
        level, left = level + 1, (left + 1) // 2
    return program(body + [f"out = t[{level}][0]"], inputs=f"img: float32[R + 8, C + {n // 8 + 1}]")


@family("branches", (3, 8), (8, 16, 32, 64, 128))
def branches(n):
    """Stereo matching with a box filter of its own for each disparity, the best one found pair by pair."""
    body = ["l = clamp_to_edge(left)", "r = clamp_to_edge(right)"]
    for d in range(n):
        body += [f"ad[{d}](y, x): uint8 = uint8(abs(l(y, x) - r(y, x - {d})))", f"sad[{d}] = box(ad[{d}], 9)"]
        body.append(f"best[{d}](y, x) = " + (f"min(best[{d - 1}](y, x), sad[{d}](y, x) * {n} + {d})" if d else
                                             f"sad[0](y, x) * {n}"))
    return program(body + [f"out(y, x) = uint8(best[{n - 1}](y, x) % {n})"], ("boundary", "stencil"),
                   "left: uint8[R, C], right: uint8[R, C]", "out: uint8[R, C]")


@family("levels", (2, 4), (4, 8, 12, 16))
def pyramid(n):
    """Down and up again, with all that each level lacks."""
    body = ["g[0] = img"]
    body += [f"g[{l}] = pyr_down_clamped(g[{l - 1}], level_size(R, {l}), level_size(C, {l}))" for l in range(1, n)]
    body.append(f"u[{n - 1}] = g[{n - 1}]")
    for l in reversed(range(n - 1)):
        body.append(f"d[{l}] = g[{l}] - pyr_up_clamped(g[{l + 1}], level_size(R, {l}), level_size(C, {l}))")
        body.append(f"u[{l}] = 1.5 * d[{l}] + pyr_up_clamped(u[{l + 1}], level_size(R, {l}), level_size(C, {l}))")
    return program(body + ["out = u[0]"], ("pyramid",))


@family("levels", (2, 3), (4, 8, 12, 16))
def unclamped_pyramid(n):
    """Halving and doubling behind a boundary condition at every level."""
    body = ["g[0] = img"]
    for l in range(1, n):
        body.append(f"b[{l}](y, x) = pyr_down(clamp_to_edge(g[{l - 1}]))(y, x)")
        body.append(f"g[{l}](y in 0..level_size(R, {l}), x in 0..level_size(C, {l})) = b[{l}](y, x)")
    body.append(f"u[{n - 1}] = g[{n - 1}]")
    for l in reversed(range(n - 1)):
        body.append(f"u[{l}](y in 0..level_size(R, {l}), x in 0..level_size(C, {l})) = "
                    f"0.5 * (g[{l}](y, x) + pyr_up(clamp_to_edge(u[{l + 1}]))(y, x))")
    return program(body + ["out = u[0]"], ("pyramid", "boundary"))


@family("readers", (4, 16), (10, 50, 100, 200, 400))
def fan_out(n):
    """One stage that many others read, each of them an output of its own."""
    body = ["base(y, x) = sum(i in -1..=1, j in -1..=1) img(y + 1 + i, x + 1 + j)"]
    body += [f"o{k}(y, x) = base(y, x) * {k + 1} + img(y + 1, x)" for k in range(n)]
    return program(body, inputs="img: float32[R + 2, C + 2]", outputs=", ".join(f"o{k}: float32[R, C]" for k in range(n)))


@family("readers", (4, 16), (10, 50, 100, 200, 400))
def fan_out_inside(n):
    """One stage that many stencils read, which are added up one after the other."""
    body = ["base(y, x) = sum(i in -1..=1, j in -1..=1) img(y + i + 1, x + j + 1)"]
    for k in range(n):
        body.append(f"r[{k}](y, x) = {k + 1} * base(y, x) - base(y + 1, x + {k % 3})")
        body.append(f"s[{k}](y, x) = r[{k}](y, x) + r[{k}](y, x + 1)" + (f" + s[{k - 1}](y, x)" if k else ""))
    return program(body + [f"out = s[{n - 1}]"], inputs="img: float32[R + 3, C + 5]")


@family("outputs", (4, 16), (10, 50, 100, 200, 400))
def outputs(n):
    """Outputs that have nothing to do with each other."""
    body = [f"o{k}(y, x) = img(y, x) + {k} * img(y + 1, x + {k % 4})" for k in range(n)]
    return program(body, inputs="img: float32[R + 1, C + 3]", outputs=", ".join(f"o{k}: float32[R, C]" for k in range(n)))


@family("stages", (4, 16), (10, 50, 100, 200, 400))
def fan_in(n):
    """Many filters, all of them read by one stage."""
    body = [f"f[{k}](y, x) = sum(i in -1..=1, j in -1..=1) (i * {k} + j) * img(y + i + 1, x + j + 1)" for k in range(n)]
    return program(body + ["out(y, x) = " + " + ".join(f"f[{k}](y, x)" for k in range(n))],
                   inputs="img: float32[R + 2, C + 2]")


@family("iterations a level", (1, 2), (2, 5, 10, 16))
def optical_flow(n):
    """Horn and Schunck's on three levels; 9 n + 17 stages and more."""
    levels = 3
    body = ["ga[0] = a", "gb[0] = b"]
    for l in range(1, levels):
        body += [f"g{s}[{l}] = pyr_down_clamped(g{s}[{l - 1}], level_size(R, {l}), level_size(C, {l}))" for s in "ab"]
    for l in reversed(range(levels)):
        rows, cols = f"level_size(R, {l})", f"level_size(C, {l})"
        dims = f"y in 0..{rows}, x in 0..{cols}"
        if l == levels - 1:
            body += [f"{v}[{l}][0]({dims}) = 0.0" for v in "uv"]
        else:
            body += [f"{v}[{l}][0] = 2 * pyr_up_clamped({v}[{l + 1}][{n}], {rows}, {cols})" for v in "uv"]
        body.append(f"w[{l}]({dims}) = gb[{l}](clamp(y + int32(clamp(u[{l}][0](y, x), -1000, 1000)), 0, {rows} - 1), "
                    f"clamp(x + int32(clamp(v[{l}][0](y, x), -1000, 1000)), 0, {cols} - 1))")
        body.append(f"fy[{l}]({dims}) = 0.5 * (clamp_to_edge(w[{l}])(y + 1, x) - clamp_to_edge(w[{l}])(y - 1, x))")
        body.append(f"fx[{l}]({dims}) = 0.5 * (clamp_to_edge(w[{l}])(y, x + 1) - clamp_to_edge(w[{l}])(y, x - 1))")
        body.append(f"ft[{l}]({dims}) = w[{l}](y, x) - ga[{l}](y, x)")
        for i in range(1, n + 1):
            for v in "uv":
                body.append(f"m{v}[{l}][{i}]({dims}) = 0.25 * (clamp_to_edge({v}[{l}][{i - 1}])(y - 1, x) + "
                            f"clamp_to_edge({v}[{l}][{i - 1}])(y + 1, x) + clamp_to_edge({v}[{l}][{i - 1}])(y, x - 1) + "
                            f"clamp_to_edge({v}[{l}][{i - 1}])(y, x + 1))")
            body.append(f"t[{l}][{i}](y, x) = (fy[{l}](y, x) * mu[{l}][{i}](y, x) + fx[{l}](y, x) * mv[{l}][{i}](y, x) + "
                        f"ft[{l}](y, x)) / (0.1 + fy[{l}](y, x) * fy[{l}](y, x) + fx[{l}](y, x) * fx[{l}](y, x))")
            body += [f"{v}[{l}][{i}]({dims}) = m{v}[{l}][{i}](y, x) - f{d}[{l}](y, x) * t[{l}][{i}](y, x)"
                     for v, d in (("u", "y"), ("v", "x"))]
    return program(body + [f"du = u[0][{n}]", f"dv = v[0][{n}]"], ("pyramid", "boundary"),
                   "a: float32[R, C], b: float32[R, C]", "du: float32[R, C], dv: float32[R, C]")


@family("histograms", (3, 8), (10, 25, 50))
def histograms(n):
    """Histograms of filtered images, which are added up."""
    body = []
    for k in range(n):
        body.append(f"f[{k}](y in 0..R, x in 0..C): uint8 = uint8((img(y, x) + img(y, min(x + {k % 4}, C - 1))) >> 1)")
        body.append(f"accumulate h[{k}](b in 0..256): int32 = 0 {{ for y in 0..R, x in 0..C {{ h[{k}](int32(f[{k}](y, x))) += 1 }} }}")
    return program(body + [f"out(b) = " + " + ".join(f"h[{k}](b)" for k in range(n))], (),
                   "img: uint8[R, C]", "out: int32[256]")


def compile_once(pipec, path, options, seconds):
    """(exit code, seconds of the process, peak MB)"""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        os.execv(pipec, [pipec, *options, path, "-o", path + ".out"])
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def growth(before, now):
    """The exponent p of time = (n log n)^p between two sizes: 1 is the aim, 2 is quadratic. Times below a hundredth of a
    second, which are those of starting a process, count as one."""
    (small, fast), (large, slow) = before, now
    work = large * math.log(large) / (small * math.log(small))
    return math.log(max(slow, 0.01) / max(fast, 0.01)) / math.log(work)


def measure(arguments):
    print(f"| {'family':18} | {'size':>4} | {'seconds':>7} | {'MB':>5} | {'n log n':>7} |")
    print(f"| {'-' * 18} | {'-' * 4} | {'-' * 7} | {'-' * 5} | {'-' * 7} |")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (function, _, _, sizes) in FAMILIES.items():
            if arguments.families and name not in arguments.families:
                continue
            before = None
            for size in sizes:
                if size > arguments.most:
                    continue
                path = os.path.join(folder, f"{name}_{size}.pipe")
                with open(path, "w") as file:
                    file.write(function(size))
                code, seconds, megabytes = compile_once(arguments.measure, path, arguments.options.split(), arguments.seconds)
                failed = "" if code == 0 else f" exit code {code}"
                good = good and code == 0
                fit = f"{growth(before, (size, seconds)):7.2f}" if before else " " * 7
                before = (size, seconds)
                print(f"| {name:18} | {size:4} | {seconds:7.2f} | {megabytes:5.0f} | {fit} |{failed}", flush=True)
                if code < 0:
                    break
    return 0 if good else 1


def check(pipec):
    """Exit code 0 and memory, but no time, of small sizes."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, (function, _, small, _) in FAMILIES.items():
            for size in small:
                path = os.path.join(folder, f"{name}_{size}.pipe")
                with open(path, "w") as file:
                    file.write(function(size))
                paper = [["--cost-model", "paper", "--gpu", "v100"]] if size == small[0] else []
                for options in (["--gpu", "h200"], ["--target", "host"], *paper):
                    code, seconds, megabytes = compile_once(pipec, path, options, 600)
                    print(f"{name} {size} {' '.join(options)}: exit code {code}, {seconds:.2f} s, {megabytes:.0f} MB")
                    good = good and code == 0 and megabytes < 1500
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="?")
    parser.add_argument("size", nargs="?", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--measure", metavar="PIPEC")
    parser.add_argument("--check", metavar="PIPEC")
    parser.add_argument("--options", default="--gpu h200", help="for pipec (default: %(default)s)")
    parser.add_argument("--families", nargs="*")
    parser.add_argument("--most", type=int, default=2000, help="no larger sizes than this")
    parser.add_argument("--seconds", type=int, default=120, help="of a processor, that a compilation may take")
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments)
    if arguments.check:
        return check(arguments.check)
    if arguments.list:
        for name, (function, counts, _, _) in FAMILIES.items():
            print(f"{name:18} {counts}: {function.__doc__}")
        return 0
    if arguments.family not in FAMILIES or arguments.size is None:
        parser.error("there must be a family of --list and a size")
    sys.stdout.write(FAMILIES[arguments.family][0](arguments.size))
    return 0


if __name__ == "__main__":
    sys.exit(main())
