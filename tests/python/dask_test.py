"""pipec.dask: chunks against calls with whole arrays, which tasks there are, and what is refused."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import dask
import dask.array as da
import numpy as np
import pipec
import pipec.dask
from programs import EXAMPLES, LEVELS, MANY, RAMP, SCALE, SMOOTH, source

# Up by two: chunks of an output are larger than those of the input.
ENLARGE = """
import "boundary"
pipeline enlarge(img: float32[R, C]) -> large: float32[2 * R, 2 * C] {
    whole = clamp_to_edge(img)
    large(y, x) = (whole(y / 2, x / 2) + whole((y + 1) / 2, (x + 1) / 2)) / 2
}
"""
# Interleaved colours.
BELOW = """
pipeline below(a: uint8[3, R, C] order(1, 2, 0)) -> b: uint8[3, R, C] order(1, 2, 0) {
    b(c, y, x) = max(a(c, min(y + 2, R - 1), x), a(c, y, max(x - 3, 0)))
}
"""
# What is subtracted is a statistic of the whole image.
CENTRE = """
pipeline centre(img: float32[R, C]) -> out: float32[R, C] {
    mean() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C)
    out(y, x) = img(y, x) - mean()
}
"""
# Floats in an order that can be told, along no dimension that chunks could follow.
ORDERED = """
pipeline ordered(img: float32[R, C]) -> out: float32[R, C] {
    accumulate sums(i in 0..4): float32 = 0 { for y in 0..R, x in 0..C { sums(x % 4) += img(y, x) } }
    out(y, x) = img(y, x) - sums(x % 4)
}
"""
SCANNED = """
pipeline scanned(img: float32[R, C]) -> last: float32[R, C] {
    down(y in 0..R, x in 0..C): float32 = if y == 0 then img(0, x) else 0.5 * down(y - 1, x) + img(y, x)
    across(y in 0..R, x in 0..C): float32 = if x == 0 then down(y, 0) else 0.5 * across(y, x - 1) + down(y, x)
    last(y, x) = across(R - 1, C - 1) + across(y, x)
}
"""
LESS = "pipeline less(img: float32[R, C], level: float32[]) -> out: float32[R, C] { out(y, x) = img(y, x) - level() }"


def tasks(array, *name):
    """How many there are, of those whose key begins with the name."""
    graph = dict(array.dask.cull({(array.name, *index) for index in np.ndindex(*array.numblocks)}))
    return sum(1 for key in graph if str(key[0] if isinstance(key, tuple) else key).startswith(name))


class Chunks(unittest.TestCase):
    def setUp(self):
        dask.config.set(scheduler="sync")
        self.img = np.random.default_rng(1).random((100, 150), dtype=np.float32)
        self.lazy = da.from_array(self.img, chunks=((30, 0, 41, 29), 50))

    def same(self, lazy, whole):
        self.assertEqual((lazy.shape, lazy.dtype), (whole.shape, whole.dtype))
        result = lazy.compute()
        self.assertEqual((result.shape, result.dtype), (whole.shape, whole.dtype))
        np.testing.assert_array_equal(result, whole)

    def test_one_output(self):
        smooth = source(SMOOTH)
        lazy = pipec.dask.apply(smooth, self.lazy)
        self.assertIs(type(lazy), da.Array)
        self.assertEqual(lazy.chunks, ((29, 41, 28), (49, 50, 49)))  # in proportion
        self.same(lazy, smooth(self.img))
        for chunks in (20, -1, (1000, 7), {0: 10}, "auto", ((97, 1), (148,)), (10, "auto")):
            self.same(pipec.dask.apply(smooth, img=self.lazy, chunks=chunks), smooth(self.img))
        # An array like others.
        self.same((lazy * 2)[10:20:3, ::-1].sum(axis=0), (smooth(self.img) * 2)[10:20:3, ::-1].sum(axis=0))

    def test_several_outputs_rates_and_tables(self):
        levels, table = source(LEVELS), np.arange(40, dtype=np.float32)
        whole = levels(self.img, table, k=0.5)
        lazy = pipec.dask.apply(levels, self.lazy, table, k=0.5)
        self.assertEqual(lazy.fine.chunks, ((30, 41, 29), (50, 50, 50)))
        self.assertEqual(lazy.half.chunks, ((15, 21, 14), (25, 25, 25)))
        for name in whole._fields:
            self.same(getattr(lazy, name), getattr(whole, name))
        lazy = pipec.dask.apply(levels, self.lazy, da.from_array(table, chunks=7), chunks={"half": (7, 13)})
        self.same(lazy.half, levels(self.img, table).half)
        enlarge = source(ENLARGE)
        lazy = pipec.dask.apply(enlarge, self.lazy)
        self.assertEqual(lazy.chunks, ((60, 82, 58), (100, 100, 100)))
        self.same(lazy, enlarge(self.img))

    def test_chunks_as_pipelines_cannot_take_them(self):
        scale = source(SCALE)
        self.same(pipec.dask.apply(scale, self.lazy[::-1, ::-1]), scale(self.img[::-1, ::-1].copy()))
        self.same(pipec.dask.apply(scale, da.ones((50, 60), chunks=20, dtype=np.float32)),
                  np.full((50, 60), 2, np.float32))
        shifted = np.zeros(4 * 12 + 1, np.uint8)[1:].view(np.float32).reshape(3, 4)
        self.same(pipec.dask.apply(scale, da.from_array(shifted, chunks=-1)), 0 * shifted)

    def test_chunks_that_are_computed_in_parts(self):
        """Large chunks: the inside from its own chunk of the input, the edges from what neighbours gave."""
        from pipec import _chunks
        calls, gather = [], _chunks.gather
        old = _chunks.WORTH_SPLITTING, _chunks.MOST_AT_EDGES
        table = np.arange(40, dtype=np.float32)
        a = np.random.default_rng(1).integers(0, 255, (60, 80, 3), np.uint8).transpose(2, 0, 1)

        def seen(window, blocks):
            calls.append(window)
            return gather(window, blocks)

        _chunks.gather = seen
        try:
            for _chunks.WORTH_SPLITTING, _chunks.MOST_AT_EDGES in ((old[0], old[1]), (1, 0.5)):
                split = _chunks.WORTH_SPLITTING == 1
                smooth = pipec.dask.apply(source(SMOOTH), self.lazy)
                del calls[:]
                smooth.blocks[0, 0].compute()
                self.assertEqual(len(calls), 3 if split else 1)  # the inside, and what is below and right of it
                if split:
                    self.assertIn(((0, 30), (0, 50)), calls)
                self.same(smooth, source(SMOOTH)(self.img))
                levels = pipec.dask.apply(source(LEVELS), self.lazy, da.from_array(table, chunks=7))
                self.same(levels.fine, source(LEVELS)(self.img, table).fine)
                self.same(levels.half, source(LEVELS)(self.img, table).half)
                self.same(pipec.dask.apply(source(ENLARGE), self.lazy), source(ENLARGE)(self.img))
                self.same(pipec.dask.apply(source(BELOW), da.from_array(a, chunks=(3, 20, 30))), source(BELOW)(a))
        finally:
            _chunks.gather = gather
            _chunks.WORTH_SPLITTING, _chunks.MOST_AT_EDGES = old

    def test_examples(self):
        colours = np.random.default_rng(1).random((3, 64, 96), dtype=np.float32)
        for name, given in (("harris", self.img), ("unsharp", colours)):
            f = pipec.compile(os.path.join(EXAMPLES, name + ".pipe"), options=["-O1", "-w"])
            chunks = (30, 40) if given.ndim == 2 else (1, 30, 40)
            self.same(pipec.dask.apply(f, da.from_array(given, chunks=chunks)), f(given))

    def test_planes_orders_and_types(self):
        many = source(MANY)
        a = np.random.default_rng(1).integers(0, 255, (20, 30, 3), np.uint8).transpose(2, 0, 1)
        b = np.arange(30, dtype=np.int32)
        lazy = pipec.dask.apply(many, da.from_array(a, chunks=(3, 7, 11)), b, n=3, on=False, level=0.25)
        whole = many(a, b, n=3, on=False, level=0.25)
        self.assertEqual((lazy.picture.chunks[0], lazy.total.chunks), ((3,), ((2,),)))
        self.same(lazy.picture, whole.picture)
        self.same(lazy.total, whole.total)
        # A chunk has the layout of the program.
        self.assertEqual(lazy.picture.blocks[0, 0, 0].compute().strides[0], 1)

    def test_without_inputs(self):
        ramp = source(RAMP)
        self.same(pipec.dask.apply(ramp, 5, shape=100, chunks=30), ramp(5, shape=100))

    def test_other_arrays(self):
        smooth = source(SMOOTH)
        self.same(pipec.dask.apply(smooth, self.img, chunks=20), smooth(self.img))
        big = np.random.default_rng(1).random((800, 700), dtype=np.float32)
        with dask.config.set({"array.chunk-size": "1MiB"}):
            lazy = pipec.dask.apply(smooth, big)
        self.assertGreater(lazy.npartitions, 1)
        self.same(lazy, smooth(big))
        with tempfile.TemporaryDirectory() as directory:
            np.save(directory + "/img.npy", self.img)
            self.same(pipec.dask.apply(smooth, np.load(directory + "/img.npy", mmap_mode="r"), chunks=33),
                      smooth(self.img))

    def test_what_needs_a_whole_input(self):
        from pipec import _chunks
        order, most = source(ORDERED), _chunks.MOST_OF_TABLES
        _chunks.MOST_OF_TABLES = 0  # as if the image were large
        try:
            with self.assertRaisesRegex(ValueError, "each chunk of `out` needs all of `img`.*`chunks=-1`"):
                pipec.dask.apply(order, self.lazy)
            lazy = pipec.dask.apply(order, self.lazy, chunks=-1)
            self.assertEqual(lazy.npartitions, 1)
            self.same(lazy, order(self.img))
            both = source(ORDERED.replace("-> out: float32[R, C]", "-> sums: float32[4], out: float32[R, C]"))
            with self.assertRaisesRegex(ValueError, "each chunk of `out` needs all of `img`.*`chunks=-1`"):
                pipec.dask.apply(both, self.lazy)
            self.same(pipec.dask.apply(both, self.lazy, chunks=-1).sums, both(self.img).sums)
            with self.assertRaisesRegex(ValueError, "each chunk of `last` needs all of `img`"):
                pipec.dask.apply(source(SCANNED), self.lazy)
        finally:
            _chunks.MOST_OF_TABLES = most
        remap = source("""pipeline remap(img: float32[R, C], at: int32[N]) -> out: float32[N] {
                             out(i) = img(clamp(at(i), 0, R - 1), clamp(at(i), 0, C - 1)) }""")
        at = np.arange(90, dtype=np.int32)
        self.same(pipec.dask.apply(remap, self.lazy, at, chunks=20), remap(self.img, at))
        with self.assertRaisesRegex(ValueError, "each chunk of `out` needs all of `img`"):
            pipec.dask.apply(remap, da.zeros((9000, 9000), dtype=np.float32, chunks=900), at, chunks=20)
        # Computed before, by whomever, it is an input like others.
        mean = self.lazy.mean().astype(np.float32)
        self.same(pipec.dask.apply(source(LESS), self.lazy, mean), self.img - mean.compute())
        from pipec import _chunks
        block = _chunks.Block((), np.array(3, np.float32))
        self.assertIsInstance(_chunks.gather((), [block]), np.ndarray)

    def test_exactly_what_is_needed(self):
        """Each chunk takes its neighbours' borders, by themselves, and nothing else."""
        seen = []

        def look(block, part):
            seen.append((block.shape, part))
            return cut(block, part)

        from pipec import _chunks
        cut = _chunks.cut
        img = da.from_array(self.img[:90, :90], chunks=30)
        pipec.dask.cut = look
        try:
            whole = pipec.dask.apply(source(SMOOTH), img, chunks=((30, 30, 28), (30, 30, 28)))
            self.same(whole.blocks[1, 1], source(SMOOTH)(self.img)[30:60, 30:60])
        finally:
            pipec.dask.cut = cut
        self.assertEqual(sorted(part for _, part in seen),
                         [((0, 2), (0, 2)), ((0, 2), (0, 30)), ((0, 30), (0, 2))])
        # Tasks: the plan, and for each chunk itself and its right and lower neighbours' parts.
        self.assertEqual(tasks(whole, "smooth"), 9)
        self.assertEqual(tasks(whole, "cut-"), 4 * 3 + 2 + 2)
        self.assertEqual(tasks(whole, "plan-"), 1)
        self.assertEqual(tasks(pipec.dask.apply(source(SCALE), img), "cut-"), 0)

    def test_graphs_are_made_when_they_are_needed(self):
        img = da.zeros((1_000_000, 1_000_000), chunks=1000, dtype=np.float32)
        lazy = pipec.dask.apply(source(SMOOTH), img)
        self.assertEqual(lazy.npartitions, 1_000_000)
        self.assertFalse(lazy.dask.layers[lazy.name].is_materialized())
        corner = lazy.blocks[:1, :1]
        self.assertLess(len(dict(lazy.dask.layers[lazy.name].cull({(lazy.name, 3, 4)}, set())[0])), 10)
        del corner
        # The same arguments are the same array.
        again = pipec.dask.apply(source(SMOOTH), img)
        self.assertEqual(again.name, lazy.name)
        self.assertNotEqual(pipec.dask.apply(source(SMOOTH), img, chunks=500).name, lazy.name)
        names = {pipec.dask.apply(source(SCALE), img, k=k).name for k in (2, 3, 3)}
        self.assertEqual(len(names), 2)

    def test_schedulers(self):
        lazy, whole = pipec.dask.apply(source(SMOOTH), self.lazy), source(SMOOTH)(self.img)
        for options in ({"scheduler": "threads", "num_workers": 4}, {"scheduler": "processes", "num_workers": 2}):
            np.testing.assert_array_equal(lazy.compute(**options), whole)
        # Without optimisation, and through a pickle.
        np.testing.assert_array_equal(lazy.compute(optimize_graph=False), whole)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(lazy)).compute(), whole)
        from dask.graph_manipulation import clone
        np.testing.assert_array_equal(clone(lazy).compute(), whole)

    def test_threads(self):
        from pipec import _chunks
        smooth = source(SMOOTH)
        pipec.dask.apply(smooth, self.lazy)
        library = smooth._windowed[-1].tables.library
        before = library.omp_get_max_threads()
        for threads, inside in ((1, 1), (3, 3), (None, before)):
            with _chunks._limited(smooth, threads):
                self.assertEqual(library.omp_get_max_threads(), inside)
            self.assertEqual(library.omp_get_max_threads(), before)

    def test_refused(self):
        def wrong(kind, pattern, *args, **kwargs):
            with self.assertRaisesRegex(kind, pattern):
                pipec.dask.apply(*args, **kwargs)

        scale, img = source(SCALE), self.lazy
        wrong(TypeError, "`img` is float64, but must be float32: .*astype", scale, img.astype(float))
        wrong(ValueError, "`img` has 1 dimensions, but must have 2", scale, img[0])
        wrong(TypeError, r"scale\(\) needs `img`", scale)
        wrong(TypeError, r"scale\(\) has no argument `q`", scale, img, q=1)
        wrong(ValueError, r"`k` is 1e\+300", scale, img, k=1e300)
        wrong(TypeError, "`k` is not computed yet", scale, img, k=img.mean())
        wrong(TypeError, "`out` is for a call", scale, img, out=self.img)
        wrong(ValueError, "`threads` is 0", scale, img, threads=0)
        wrong(ValueError, "`img` has chunks of unknown extents", scale, img[img[:, 0] > 0.5])
        wrong(ValueError, r"chunks of `result`, which has the extents \(100, 150\): ", scale, img, chunks=((1, 2), -1))
        wrong(TypeError, "`chunks` must be a dict by output: there are 3", source(LEVELS), img, self.img[0], chunks=9)
        wrong(ValueError, "`chunks` has `x`, which is no output", scale, img, chunks={"x": 9})
        wrong(ValueError, "would be R = -1", source(SMOOTH), img[:1])

    def test_without_dask(self):
        program = "import sys; sys.modules['dask'] = None; import pipec; import pipec.dask"
        done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, check=False)
        self.assertIn("ImportError: pipec.dask needs dask with its arrays (Debian's package python3-dask", done.stderr)


NORMALISED = """
pipeline normalised(img: float32[R, C]) -> out: float32[R, C], mean: float32[] {
    mean() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C)
    variance() = (sum(y in 0..R, x in 0..C) (img(y, x) - mean()) * (img(y, x) - mean())) / (R * C)
    out(y, x) = (img(y, x) - mean()) / sqrt(variance())
}
"""
CHANNELS = """
pipeline channels(img: float32[3, R, C] order(1, 2, 0), gain: float32 = 2) -> out: float32[3, R, C] {
    mean(c) = (sum(y in 0..R, x in 0..C) img(c, y, x)) / (R * C)
    out(c, y, x) = gain * img(c, y, x) / mean(c)
}
"""
EQUALISED = """
pipeline equalised(img: uint8[R, C]) -> out: uint8[R, C], hist: int32[256] {
    accumulate hist(b in 0..256): int32 = 0 { for y in 0..R, x in 0..C { hist(int32(img(y, x))) += 1 } }
    below(b in 0..256): int32 = if b == 0 then hist(0) else below(b - 1) + hist(b)
    out(y, x) = uint8(255 * below(int32(img(y, x))) / (R * C))
}
"""
# Above the threshold that tells two classes best (Otsu), where the gradient is not 0.
THRESHOLD = """
pipeline threshold(img: uint8[R, C]) -> out: uint8[R, C] {
    accumulate hist(b in 0..256): int32 = 0 {
        for y in 1..R, x in 0..C { if img(y, x) != img(y - 1, x) { hist(int32(img(y, x))) += 1 } }
    }
    count(b in 0..256): int64 = if b == 0 then int64(hist(0)) else count(b - 1) + hist(b)
    total(b in 0..256): int64 = if b == 0 then int64(0) else total(b - 1) + int64(b) * hist(b)
    between(b) = let n = float64(count(b)), m = float64(count(255) - count(b)),
                     s = float64(total(b)), t = float64(total(255) - total(b)) in
                 if n > 0 and m > 0 then n * m * (s / n - t / m) * (s / n - t / m) else 0
    best() = argmax(b in 0..256) between(b)
    out(y, x) = if img(y, x) > best() then 255 else 0
}
"""
STRETCH = """
import "boundary"
pipeline stretch(img: float32[R, C]) -> out: float32[R, C] {
    f = clamp_to_edge(img)
    smooth(y, x) = (sum(i in -1..=1, j in -2..=2) f(y + i, x + j)) / 15
    least() = min(y in 0..R, x in 0..C) smooth(y, x)
    most() = max(y in 0..R, x in 0..C) smooth(y, x)
    out(y, x) = (smooth(y, x) - least()) / (most() - least())
}
"""
PLACE = """
pipeline place(img: float32[R, C]) -> out: float32[R, C], at: int32[2] {
    best() = argmax(y in 0..R, x in 0..C) img(y, x)
    at(i) = if i == 0 then best()[0] else best()[1]
    out(y, x) = float32(abs(y - at(0)) + abs(x - at(1)))
}
"""


# The extents of an output that no input determines; a parameter in ranges; sums over one dimension.
RESIZED = """
pipeline resized(img: float32[R, C]) -> out: float32[H, W] {
    mean() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C)
    out(y, x) = img(min(y, R - 1), min(x, C - 1)) - mean()
}
"""
BOX = """
import "boundary"
pipeline box(img: float32[R, C], r: int32 = 2) -> out: float32[R, C] where 0 <= r <= 9 {
    f = clamp_to_edge(img)
    s(y, x) = sum(i in -r..=r, j in -r..=r) f(y + i, x + j)
    most() = max(y in 0..R, x in 0..C) s(y, x)
    out(y, x) = s(y, x) / most()
}
"""
ROWS_AND_COLUMNS = """
pipeline both(img: float32[R, C]) -> out: float32[R, C] {
    a(y) = sum(i in 0..C) img(y, i)
    b(x) = sum(i in 0..R) img(i, x)
    total() = sum(y in 0..R) a(y)
    out(y, x) = a(y) * b(x) / total()
}
"""
LINE = """
pipeline line(a: float32[N]) -> out: float32[N] {
    mean() = (sum(i in 0..N) a(i)) / N
    out(i) = a(i) - mean()
}
"""
# A table of run-time size.
LABELS = """
pipeline labels(id: uint8[R, C]) -> out: float32[R, C], count: int32[N] where N >= 256 {
    accumulate count(i in 0..N): int32 = 1 { for y in 0..R, x in 0..C { count(int32(id(y, x))) += 1 } }
    out(y, x) = 1.0 / count(int32(id(y, x)))
}
"""
ANY = """
pipeline flags(img: uint8[R, C]) -> out: uint8[R, C] {
    a() = any(y in 0..R, x in 0..C) (img(y, x) == 77)
    n() = sum(y in 0..R, x in 0..C) int64(img(y, x))
    out(y, x) = if a() then uint8(n() % 256) else img(y, x)
}
"""


class Statistics(unittest.TestCase):
    """Of whole images, in chunks: the bits of one call."""

    def setUp(self):
        from pipec import _chunks
        dask.config.set(scheduler="sync")
        self.addCleanup(setattr, _chunks, "MOST_OF_TABLES", _chunks.MOST_OF_TABLES)
        _chunks.MOST_OF_TABLES = 0  # as if the images were large
        self.rng = np.random.default_rng(3)

    def check(self, text, img, chunks, **named):
        function = source(text)
        whole, lazy = function(img, **named), pipec.dask.apply(function, da.from_array(img, chunks=chunks), **named)
        if isinstance(lazy, da.Array):
            whole, lazy = [whole], [lazy]
        for expected, array in zip(whole, lazy):
            self.assertEqual((array.shape, array.dtype), (expected.shape, expected.dtype))
            np.testing.assert_array_equal(array.compute(), expected)
        return lazy

    def test_bits_in_any_chunks(self):
        img = self.rng.random((203, 331), dtype=np.float32)
        levels = self.rng.integers(0, 200, (203, 331)).astype(np.uint8)
        for chunks in (64, 50, ((3, 0, 130, 70), (331,)), ((203,), (1, 64, 266)), (64, 100)):
            for text in (CENTRE, NORMALISED, STRETCH, PLACE):
                self.check(text, img, chunks)
            for text in (EQUALISED, THRESHOLD):
                self.check(text, levels, chunks)
        colours = self.rng.random((101, 77, 3), dtype=np.float32).transpose(2, 0, 1)
        for chunks in ((3, 40, 50), (1, 101, 20)):
            self.check(CHANNELS, colours, chunks, gain=0.5)

    def test_sizes_parameters_and_dimensions(self):
        img = self.rng.random((203, 331), dtype=np.float32)
        self.check(RESIZED, img, 70, shape=(150, 170))
        self.check(BOX, img, 70, r=3)
        self.check(ROWS_AND_COLUMNS, img, (64, 100))
        self.check(LINE, self.rng.random(100_003, dtype=np.float32), 7919)
        levels = self.rng.integers(0, 200, (203, 331)).astype(np.uint8)
        self.check(ANY, levels, 64)
        self.check(LABELS, levels, 90, shape={"count": 300})

    def test_a_program_that_changes(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "centre.pipe")
            with open(path, "w") as file:
                file.write(CENTRE)
            function = pipec.compile(path, options=["-O0"])
            lazy = da.from_array(self.rng.random((90, 130), dtype=np.float32), chunks=40)
            function.required(np.s_[:1, :1], lazy.shape)
            with open(path, "w") as file:
                file.write(CENTRE.replace("float32", "float64"))
            with self.assertRaisesRegex(pipec.PipecError, "has changed since pipec.compile"):
                pipec.dask.apply(function, lazy)

    def test_what_a_task_reads(self):
        """Partial results of a chunk come from it and less than 64 rows of its neighbours."""
        from pipec import _chunks
        seen = []
        required = _chunks.Plan.required

        def look(plan, box):
            windows = required(plan, box)
            if plan.function.interface.inputs[0].name == "img":
                (lo, hi), (left, right) = windows[0]
                seen.append((hi - lo) * (right - left))
            return windows

        img = da.from_array(self.rng.random((600, 500), dtype=np.float32), chunks=100)
        lazy = pipec.dask.apply(source(NORMALISED), img).out
        with unittest.mock.patch.object(_chunks.Plan, "required", look):
            lazy.compute()
        self.assertGreater(len(seen), 0)
        self.assertLessEqual(max(seen), (100 + 128) * 100)

    def test_schedulers_and_pickles(self):
        img = self.rng.random((90, 130), dtype=np.float32)
        lazy, whole = pipec.dask.apply(source(NORMALISED), da.from_array(img, chunks=40)).out, source(NORMALISED)(img)
        for options in ({"scheduler": "threads"}, {"scheduler": "processes", "num_workers": 2}):
            np.testing.assert_array_equal(lazy.compute(**options), whole.out)
        levels = self.rng.integers(0, 200, (90, 130)).astype(np.uint8)
        lazy = pipec.dask.apply(source(EQUALISED), da.from_array(levels, chunks=40)).out
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(lazy)).compute(scheduler="processes"),
                                      source(EQUALISED)(levels).out)

    def test_graphs_are_made_when_they_are_needed(self):
        img = da.zeros((1_000_000, 1_000_000), chunks=1000, dtype=np.float32)
        lazy = pipec.dask.apply(source(CENTRE), img)
        self.assertEqual(lazy.chunks, img.chunks)
        self.assertFalse(any(layer.is_materialized() for name, layer in lazy.dask.layers.items()
                             if name.startswith("centre")))
        self.assertEqual(pipec.dask.apply(source(CENTRE), img).name, lazy.name)


try:
    import zarr
except ImportError:
    zarr = None


@unittest.skipIf(zarr is None, "there is no Zarr; on Debian it is the package python3-zarr")
class Zarr(unittest.TestCase):
    def test_in_and_out(self):
        smooth, img = source(SMOOTH), np.random.default_rng(1).random((100, 150), dtype=np.float32)
        with tempfile.TemporaryDirectory() as directory:
            stored = zarr.open(directory + "/in.zarr", mode="w", shape=img.shape, chunks=(32, 64), dtype=img.dtype)
            stored[:] = img
            lazy = pipec.dask.apply(smooth, da.from_zarr(directory + "/in.zarr"))
            lazy.rechunk(32).to_zarr(directory + "/out.zarr")
            result = zarr.open(directory + "/out.zarr", mode="r")
            self.assertEqual(result.chunks, (32, 32))
            np.testing.assert_array_equal(result[:], smooth(img))
            # Chunks that are asked for are those that are stored.
            pipec.dask.apply(smooth, stored, chunks=(32, 64)).to_zarr(directory + "/two.zarr")
            np.testing.assert_array_equal(zarr.open(directory + "/two.zarr", mode="r")[:], smooth(img))


if __name__ == "__main__":
    unittest.main()
