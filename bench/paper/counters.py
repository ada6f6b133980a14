#!/usr/bin/env python3
"""Makes one line of JSON of what `ncu --csv` counted: counters.py FOLDER BENCHMARK SYSTEM <FILE; counters.py --metrics
lists what is asked for. A kernel is an object with its name and its metrics, in the order of launches. Exit code 1:
nothing was counted."""
import csv
import json
import sys

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = ["barrier", "long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "math_pipe_throttle",
          "not_selected", "wait", "no_instruction", "dispatch_stall", "drain", "membar", "branch_resolve", "misc",
          "imc_miss", "sleeping", "tex_throttle"]
METRICS = {
    "ns": "gpu__time_duration.sum",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "dram_bytes": "dram__bytes.sum",
    "instructions": "smsp__inst_executed.sum",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "shared_bytes": "launch__shared_mem_per_block",
    "grid": "launch__grid_size",
    "block": "launch__block_size",
} | {f"stall_{reason}": STALL.format(reason) for reason in STALLS}
# ncu says in which unit it counted.
UNITS = {"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "Kbyte": 1e3, "Mbyte": 1e6,
         "Gbyte": 1e9, "Kbyte/block": 1e3, "byte/block": 1}


def kernels(lines):
    """One object for each kernel that was launched."""
    names = {metric: name for name, metric in METRICS.items()}
    result = {}
    for row in csv.DictReader(line for line in lines if line.startswith('"')):
        kernel = result.setdefault(row["ID"], {"kernel": row["Kernel Name"].split("(")[0].split("::")[-1]})
        if row["Metric Name"] in names:
            value = row["Metric Value"].replace(",", "")
            try:
                kernel[names[row["Metric Name"]]] = float(value) * UNITS.get(row["Metric Unit"], 1)
            except ValueError:
                pass  # "n/a": this GPU does not count it
    return list(result.values())


def main():
    if sys.argv[1:] == ["--metrics"]:
        print(",".join(METRICS.values()))
        return
    if len(sys.argv) != 4:
        print("usage: counters.py FOLDER BENCHMARK SYSTEM <FILE, or counters.py --metrics", file=sys.stderr)
        sys.exit(2)
    folder, benchmark, system = sys.argv[1:]
    found = kernels(sys.stdin)
    line = {"folder": folder, "benchmark": benchmark, "system": system, "kernels": found}
    if not found:
        line["error"] = "ncu counted nothing"
        print(f"{benchmark}: {system}: ncu counted nothing", file=sys.stderr)
    print(json.dumps(line))
    sys.exit(0 if found else 1)


if __name__ == "__main__":
    main()
