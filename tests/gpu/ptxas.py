#!/usr/bin/env python3
"""Reads what nvcc -Xptxas -v says. `ptxas.py LOG...` prints a Markdown table of all kernels; exit code 1 where one
spills more than a few registers, or needs more shared memory than a block may have without asking. With --dense, kernels for any strides
(the instances `x_kernel<false>`) may spill. With --summary: "KERNELS REGISTERS SPILLED_BYTES SHARED_BYTES", the greatest
of all."""
import re
import sys

SHARED_LIMIT = 48 * 1024
# ptxas spills one or two values to stay at a step of occupancy, also where registers are left: 8 bytes at 32 registers,
# 4 at 48, in blocks of 128 threads that may have 255 each. Which kernels do, changes with the order of statements. A
# kernel that spills for want of registers uses most of those that a thread can have.
FEW_BYTES, FEW_REGISTERS = 16, 128


def kernels(text):
    """(name, registers, bytes spilled, bytes of shared memory) of every kernel."""
    name, spilled = None, 0
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            name, spilled = match[1], 0
        elif match := re.search(r"(\d+) bytes spill stores", line):
            spilled = int(match[1])
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            yield name, int(match[1]), spilled, int(shared[1]) if shared else 0
            name = None


def spills(row):
    """Whether a kernel, (log, name, registers, bytes spilled, ...), lacks registers."""
    return row[3] > (FEW_BYTES if row[2] <= FEW_REGISTERS else 0)


def takes_any_strides(name):
    """Of a mangled name: whether it is a template's instance for `false`."""
    return "ILb0EEEv" in name


def main(arguments):
    summary, dense = "--summary" in arguments, "--dense" in arguments
    rows = []
    for file in (a for a in arguments if not a.startswith("--")):
        with open(file, encoding="utf-8", errors="replace") as log:
            rows += [(file.rsplit("/", 1)[-1], *kernel) for kernel in kernels(log.read())]
    if not rows:
        sys.exit("ptxas.py: error: no kernel in " + " ".join(arguments))
    if summary:
        print(len(rows), *(max(row[i] for row in rows) for i in (2, 3, 4)))
        return 0
    print("| log | kernel | registers | spilled bytes | shared bytes |\n| --- | --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    may_spill = {row for row in rows if dense and takes_any_strides(row[1])}
    bad = [row for row in rows if (spills(row) and row not in may_spill) or row[4] > SHARED_LIMIT]
    for log, name, _, spilled, shared in bad:
        print(f"FAIL {log}: {name} spills {spilled} bytes, shares {shared}", file=sys.stderr)
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
