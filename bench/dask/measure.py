#!/usr/bin/env python3
"""What pipelines on dask arrays cost: measure.py [overhead] [workers] [overlap] [graph] [tasks] [gpus]

Prints rows of the tables in docs/results/dask.md. It needs pipec on PATH (or the environment variable PIPEC), the
package on PYTHONPATH, and NumPy, dask and distributed. Times are the least of several runs, taken in turns where they
are compared. `gpus` is not among those that run by default: it needs CuPy, nvcc and GPUs.
"""
import itertools
import os
import sys
import time
import warnings

import dask.array as da
import numpy as np
import pipec
import pipec.dask
from dask.core import flatten
from pipec._chunks import _limited

# A few operations for each pixel: memory bounds it.
SHARPEN = """
import "boundary"
pipeline sharpen(img: float32[R, C], amount: float32 = 1.5) -> out: float32[R, C] {
    whole = clamp_to_edge(img)
    rows(y, x) = sum(i in 0..5) whole(y + i - 2, x)
    blurred(y, x) = (sum(j in 0..5) rows(y, x + j - 2)) / 25
    out(y, x) = clamp(img(y, x) + amount * (img(y, x) - blurred(y, x)), 0, 1)
}
"""
# 49 weights from data for each pixel: arithmetic bounds it.
BILATERAL = """
import "boundary"
fn weight(d) = 1 / (1 + 40 * d * d)
pipeline bilateral(img: float32[R, C]) -> out: float32[R, C] {
    whole = clamp_to_edge(img)
    total(y, x) = sum(i in 0..7, j in 0..7) weight(whole(y + i - 3, x + j - 3) - img(y, x))
    out(y, x) = (sum(i in 0..7, j in 0..7)
        weight(whole(y + i - 3, x + j - 3) - img(y, x)) * whole(y + i - 3, x + j - 3)) / total(y, x)
}
"""


def timed(*works, times=5, clock=time.perf_counter):
    """The least seconds of each, in turns."""
    best = [float("inf")] * len(works)
    for _ in range(times):
        for i, work in enumerate(works):
            start = clock()
            work()
            best[i] = min(best[i], clock() - start)
    return best


def noise(shape, chunks, seed=0):
    """Made chunk by chunk, where it is needed."""
    def make(block_info=None):
        info = block_info[None]
        place = (seed, *info["chunk-location"])
        return np.random.default_rng(place).random(info["chunk-shape"], dtype=np.float32)

    return da.map_blocks(make, chunks=da.core.normalize_chunks(chunks, shape), dtype=np.float32,
                         meta=np.empty((0, 0), np.float32))


def overhead():
    """Tasks on one thread against one call on one thread, for chunks of 64 megapixels: seconds of the processor."""
    side = 8192
    img = np.random.default_rng(1).random((2 * side, side), dtype=np.float32)
    for text in (SHARPEN, BILATERAL):
        f = pipec.source(text, options=["-w"])
        lazy = pipec.dask.apply(f, da.from_array(img, chunks=side, name=False))
        f.window({}, img)  # has a library, whose threads are limited

        def call():
            with _limited(f, 1):
                f(img)

        def tasks():
            lazy.persist(scheduler="sync")

        tasks()
        call()
        direct, chunked = timed(call, tasks, times=5, clock=time.process_time)
        print(f"| {f.__name__} | {direct:.3f} | {chunked:.3f} | {100 * (chunked / direct - 1):+.1f} % |", flush=True)


def workers():
    """One and two processes of distributed, with one thread each, on an image that is made by the workers."""
    from distributed import Client, LocalCluster
    warnings.simplefilter("ignore")
    f = pipec.source(BILATERAL, options=["-w"])
    seeds = itertools.count()

    def work():
        # Another image each time: a cluster may still have the results of the last one.
        pipec.dask.apply(f, noise((8 * 1536, 4 * 1536), 1536, next(seeds))).sum().compute()

    seconds = {}
    for count in (1, 2, 1, 2):
        with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
            work()  # loads the library
            best, = timed(work, times=3)
            seconds[count] = min(best, seconds.get(count, best))
    print(f"| {seconds[1]:.2f} | {seconds[2]:.2f} | {seconds[1] / seconds[2]:.2f} |", flush=True)


def blur_rows(padded):
    return sum(padded[i:padded.shape[0] - 4 + i] for i in range(5))


def overlap():
    """The same chain as one task for each stage, and as one NumPy function, by map_overlap; two threads."""
    img = noise((4 * 2048, 4 * 2048), 2048).persist()
    f = pipec.source(SHARPEN, options=["-w"])

    def rows(b):
        return np.concatenate([b[:2], blur_rows(b), b[-2:]])

    def columns(b):
        return rows(b.T).T / 25

    def amount(a, b):
        return np.clip(a + np.float32(1.5) * (a - b), 0, 1)

    def chain(b):
        return amount(b, columns(rows(b)))

    stages = da.map_blocks(amount, img, img.map_overlap(rows, depth={0: 2}, boundary="nearest", dtype=np.float32)
                           .map_overlap(columns, depth={1: 2}, boundary="nearest", dtype=np.float32), dtype=np.float32)
    one = img.map_overlap(chain, depth=2, boundary="nearest", dtype=np.float32)
    ours = pipec.dask.apply(f, img)
    assert abs(stages[:500] - ours[:500]).max().compute() < 1e-4 and abs(one[:500] - ours[:500]).max().compute() < 1e-4
    for name, lazy in (("map_overlap for each stage", stages), ("map_overlap once", one), ("pipec.dask", ours)):
        count = len(lazy.__dask_optimize__(lazy.__dask_graph__(), lazy.__dask_keys__()))
        best, = timed(lambda lazy=lazy: lazy.persist(scheduler="threads", num_workers=2), times=5)
        print(f"| {name} | {count / lazy.npartitions:.1f} | {best:.3f} |", flush=True)


def graph():
    """Graphs by number of chunks; nothing is computed."""
    f = pipec.source(SHARPEN, options=["-w"])
    for side in (32, 100, 316):
        img = da.zeros((1000 * side, 1000 * side), chunks=1000, dtype=np.float32)
        for name, make in (("pipec.dask", lambda: pipec.dask.apply(f, img)),
                           ("map_overlap", lambda: img.map_overlap(lambda b: b, depth=2, boundary="nearest",
                                                                   dtype=np.float32))):
            start = time.perf_counter()
            lazy = make()
            built = time.perf_counter()
            keys = set(flatten(lazy.__dask_keys__()))
            tasks = dict(lazy.dask.cull(keys))
            culled = time.perf_counter()
            lazy.__dask_optimize__(lazy.__dask_graph__(), lazy.__dask_keys__())
            optimised = time.perf_counter()
            count = side * side
            per = [1e6 * t / count for t in (culled - built, optimised - culled)]
            print(f"| {count} | {name} | {1e3 * (built - start):.1f} ms | {len(tasks) / count:.1f} | {per[0]:.0f} us | "
                  f"{per[1]:.0f} us |", flush=True)


def tasks():
    """What dask and a cluster add to a chunk that costs nothing."""
    from distributed import Client, LocalCluster
    warnings.simplefilter("ignore")
    f = pipec.source(SHARPEN, options=["-w"])
    side = 20
    seeds = itertools.count()

    def ours(img):
        return pipec.dask.apply(f, img)

    def theirs(img):
        return img.map_overlap(lambda b: b, depth=2, boundary="nearest", dtype=np.float32)

    for name, make in (("pipec.dask", ours), ("map_overlap", theirs)):
        def work(**options):
            img = da.full((8 * side, 8 * side), next(seeds), chunks=8, dtype=np.float32)
            make(img).sum().compute(**options)

        row = [timed(lambda: work(scheduler=s), times=3)[0] for s in ("sync", "threads")]
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
            work()
            row += timed(work, times=2)
        print(f"| {name} | " + " | ".join(f"{1e3 * t / side**2:.2f} ms" for t in row) + " |", flush=True)


def gpus():
    """One worker for each GPU of a host, 20 gigapixels of float32 that the workers make on their GPUs."""
    import cupy
    from distributed import Client, Nanny, Scheduler, SpecCluster
    warnings.simplefilter("ignore")
    side, chunk = 9 * 16000, 16000
    seeds = itertools.count()

    def made(block_info=None):
        info = block_info[None]
        y, x = info["chunk-location"]
        return cupy.random.default_rng(side * y + x).random(info["chunk-shape"], dtype=cupy.float32)

    def reduced(block):
        return np.array([[float(block.sum(dtype=cupy.float64))]])

    def work(f):
        chunks = da.core.normalize_chunks(chunk, (side, side))
        img = da.map_blocks(made, chunks=chunks, dtype=np.float32, name=f"made-{next(seeds)}",
                            meta=cupy.empty((0, 0), np.float32))
        sums = pipec.dask.apply(f, img).map_blocks(reduced, dtype=np.float64, meta=np.empty((0, 0)))
        return float(sums.sum().compute())

    def cluster_of(count):
        # What a worker has on its GPU says nothing of the host's memory, and is not to be spilled.
        workers = {i: {"cls": Nanny, "options": {"nthreads": 2, "memory_limit": 0,
                                                 "env": {"CUDA_VISIBLE_DEVICES": str(i)}}} for i in range(count)}
        return SpecCluster(workers=workers, scheduler={"cls": Scheduler, "options": {"dashboard": False}})

    for text in (SHARPEN, BILATERAL):
        f = pipec.source(text, options=["-w"])
        seconds, sums = {}, set()
        for count in [2**i for i in range(cupy.cuda.runtime.getDeviceCount().bit_length())]:
            with cluster_of(count) as cluster, Client(cluster):
                sums.add(work(f))  # loads the library
                seconds[count], = timed(lambda f=f: work(f), times=2)
        assert len(sums) == 1, sums
        for count, best in seconds.items():
            print(f"| {f.__name__} | {count} | {best:.2f} | {side * side / best / 1e9:.1f} | {seconds[1] / best:.2f} |",
                  flush=True)


def main():
    for name in sys.argv[1:] or ["overhead", "workers", "overlap", "graph", "tasks"]:
        work = globals()[name]
        print(f"\n{work.__doc__} Load average {os.getloadavg()[0]:.1f}.", flush=True)
        work()


if __name__ == "__main__":
    main()
