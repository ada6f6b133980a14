#!/usr/bin/env python3
"""Writes code for the variants that measure.sh compares: generate.py DIR [--pipec PATH]."""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Stages that are computed inside of their readers: "default" as pipec decides, "few" leaves only what is worth keeping.
PROGRAMS = {
    "blur": {"default": (["blurx"], ["blury", "out"])},
    "unsharp": {
        "default": (["sharpen"], ["blury", "blurx", "masked"]),
        "few": (["blurx", "sharpen"], ["blury", "masked"]),
    },
    "harris": {
        "default": (["sxy", "det", "trace"], ["iy", "ix", "iyy", "ixx", "ixy", "syy", "sxx", "response"]),
        "few": (["iyy", "ixx", "ixy", "syy", "sxx", "sxy", "det", "trace"], ["iy", "ix", "response"]),
    },
}

# Programs of which only register tiles are measured, and their tiles. They lie in programs/ here.
REGISTER_TILES = {
    "level": ([4, 4, 1], [4, 8, 1], [8, 4, 1]),
    "chain": ([4, 4, 1], [4, 8, 1]),
    "colours": ([8, 4, 1], [8, 8, 1], [16, 4, 1]),
}


def source_of(program):
    examples = ROOT / f"examples/{program}.pipe"
    return examples if examples.exists() else pathlib.Path(__file__).parent / f"programs/{program}.pipe"


def variants():
    """(name, fields of the group, further flags)"""
    for tile in ([2, 2, 1], [4, 2, 1], [1, 4, 1]):
        yield "otptb", {"strategy": "otptb", "block": [32, 8, 1], "tile": tile}, []
    for tile in ([4, 1, 1], [4, 2, 1]):
        yield "otptb-v4", {"strategy": "otptb", "block": [32, 8, 1], "tile": tile, "vector": 4}, []
    for tile in ([4, 4, 1], [4, 8, 1], [2, 4, 1]):
        yield "otpw", {"strategy": "otpw", "block": [32, 4, 1], "tile": tile}, []
    for tile in ([4, 4, 1], [4, 8, 1]):
        yield "otpw-v4", {"strategy": "otpw", "block": [32, 4, 1], "tile": tile, "vector": 4}, []
    for part, fraction in (("hybrid", 0.5), ("hybrid-registers", 1.0)):
        for tile in ([4, 4, 1], [3, 4, 1], [2, 4, 1]):
            yield part, {"strategy": "hybrid", "block": [32, 4, 1], "tile": tile, "frac_reg": fraction}, []
    for tile in ([4, 4, 1], [4, 6, 1], [4, 8, 1]):
        yield "register-tile", {"strategy": "register_tile", "block": [32, 4, 1], "tile": tile}, []
    for tile in ([4, 4, 1], [4, 6, 1], [4, 8, 1]):
        yield "register-tile-fast", {"strategy": "register_tile", "block": [32, 4, 1], "tile": tile}, ["-ffast-math"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--pipec", default=ROOT / "build/release/pipec")
    parser.add_argument("--no-fast", action="store_true", help="without the variants with -ffast-math")
    arguments = parser.parse_args()

    def generate(folder, program, flags):
        folder.mkdir(parents=True, exist_ok=True)
        command = [arguments.pipec, *flags, source_of(program), "-o", folder / f"{program}.cu"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{folder.name}: {done.stderr.strip().splitlines()[0]}", file=sys.stderr)
            (folder / f"{program}.cu").unlink(missing_ok=True)

    for program, ways in PROGRAMS.items():
        generate(arguments.dir / "000-stage", program, ["--cost-model", "none"])
        for way, (inlined, stages) in ways.items():
            for name, fields, flags in variants():
                if flags and arguments.no_fast:
                    continue
                sizes = "x".join(map(str, fields["tile"][:2])) + "-" + "x".join(map(str, fields["block"][:2]))
                folder = arguments.dir / f"{name}_{sizes}_{way}"
                folder.mkdir(parents=True, exist_ok=True)
                group = {"stages": stages, **fields}
                schedule = {"version": 1, "pipelines": {program: {"inlined": inlined, "groups": [group]}}}
                path = folder / f"{program}.schedule.json"
                path.write_text(json.dumps(schedule, indent=2) + "\n")
                generate(folder, program, [*flags, "--schedule", path])
    for program, tiles in REGISTER_TILES.items():
        generate(arguments.dir / "000-stage", program, ["--cost-model", "none"])
        for tile in tiles:
            for block in ([32, 4, 1], [64, 1, 1]):
                shape = ["--tile", "x".join(map(str, tile)), "--block", "x".join(map(str, block))]
                name = "x".join(map(str, tile[:2])) + "-" + "x".join(map(str, block[:2]))
                flags = ["--strategy", "register_tile", *shape]
                generate(arguments.dir / f"register-tile_{name}", program, flags)
                if not arguments.no_fast:
                    generate(arguments.dir / f"register-tile-fast_{name}", program, [*flags, "-ffast-math"])


main()
