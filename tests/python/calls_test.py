"""Calls with NumPy's arrays: values, positions and names, outputs, strides, scalars, sizes, what is kept."""

import inspect
import os
import pickle
import random
import unittest

import numpy as np
import pipec
from programs import COPIES, EXAMPLES, MANY, RAMP, SCALE, SMOOTH, TAKEN, TYPES, WINDOW, source


class Calls(unittest.TestCase):
    def setUp(self):
        self.scale = source(SCALE)
        self.img = np.arange(12, dtype=np.float32).reshape(3, 4)

    def test_values(self):
        result = self.scale(self.img)
        self.assertIs(type(result), np.ndarray)
        self.assertEqual(result.dtype, np.float32)
        np.testing.assert_array_equal(result, 2 * self.img)
        for other in (self.scale(self.img, 3), self.scale(self.img, k=3), self.scale(k=np.float64(3), img=self.img),
                      self.scale(self.img, np.int8(3)), self.scale(self.img, k=np.array(3))):
            np.testing.assert_array_equal(other, 3 * self.img)
        # A default is one again after a call that gave a value.
        np.testing.assert_array_equal(self.scale(self.img), 2 * self.img)

    def test_a_file(self):
        blur = pipec.compile(os.path.join(EXAMPLES, "harris.pipe"), options=["-O1"])
        img = np.random.default_rng(1).random((20, 30), dtype=np.float32)
        self.assertEqual(blur(img).shape, (16, 26))
        self.assertFalse(np.array_equal(blur(img), blur(img, 0.2)))

    def test_out(self):
        out = np.zeros_like(self.img)
        self.assertIs(self.scale(self.img, out=out), out)
        np.testing.assert_array_equal(out, 2 * self.img)
        whole = np.zeros((6, 12), np.float32)
        self.scale(self.img, 5, out=whole[::2, ::3])
        np.testing.assert_array_equal(whole[::2, ::3], 5 * self.img)
        self.assertEqual(np.count_nonzero(whole), 11)
        self.scale(self.img, out={"result": out})
        self.scale(self.img, out=[out])
        self.assertIsNot(self.scale(self.img, out=[None]), out)

    def test_strides(self):
        rng = random.Random(2)
        base = np.random.default_rng(3).random((40, 50), dtype=np.float32)
        for _ in range(50):
            rows, columns = rng.randint(1, 10), rng.randint(1, 10)
            view = base[rng.randint(0, 9)::rng.randint(1, 3), rng.randint(0, 9)::rng.randint(1, 4)][:rows, :columns]
            view = view.T if rng.random() < 0.5 else view
            np.testing.assert_array_equal(self.scale(view), 2 * view)
        one = base[3:4, ::-1][:, :1]  # along a dimension of one element nobody steps
        np.testing.assert_array_equal(self.scale(one), 2 * one)
        np.testing.assert_array_equal(self.scale(np.broadcast_to(base[0, 0], (1, 1))), [[2 * base[0, 0]]])

    def test_several_outputs_in_their_order_of_memory(self):
        many = source(MANY)
        a = np.random.default_rng(4).integers(0, 255, (5, 6, 3), np.uint8)
        planar, b = a.transpose(2, 0, 1), np.array([7], np.int32).repeat(6)
        result = many(planar, b, n=3)
        self.assertEqual(result._fields, ("picture", "total"))
        np.testing.assert_array_equal(result.picture, planar)
        self.assertTrue(result.picture.transpose(1, 2, 0).flags.c_contiguous)
        np.testing.assert_array_equal(result.total, [3.0, 10.0])
        picture, total = many(planar, b, level=1, n=2, on=False, h=0.25)
        np.testing.assert_array_equal(picture, 255 - planar)
        np.testing.assert_array_equal(total, [2.25, 9.25])
        np.testing.assert_array_equal(many(np.ascontiguousarray(planar), b, n=3).picture, planar)
        total = np.zeros(2)
        result = many(planar, b, n=3, out={"total": total})
        self.assertIs(result.total, total)
        result = many(planar, b, n=3, out=(None, total))
        self.assertIs(result.total, total)

    def test_all_types(self):
        for t in TYPES:
            copy = source(COPIES, "copy_" + t)
            a = np.array([0, 1, 1, 0, 1], t)
            np.testing.assert_array_equal(copy(a), a[::-1].copy())
            self.assertEqual(copy(a).dtype, a.dtype)

    def test_sizes_and_shapes(self):
        shift = source(WINDOW)
        row = np.arange(5, dtype=np.float32)
        np.testing.assert_array_equal(shift(row, S=2), [2, 3, 4, 4, 4])
        np.testing.assert_array_equal(shift(row, S=np.int64(1)), [1, 2, 3, 4, 4])
        self.assertEqual(shift.shapes((7,), S=1), (7,))
        ramp = source(RAMP)
        np.testing.assert_array_equal(ramp(3, shape=4), [3, 4, 5, 6])
        np.testing.assert_array_equal(ramp(3, shape=(2,)), [3, 4])
        np.testing.assert_array_equal(ramp(3, shape={"line": [2]}), [3, 4])
        out = np.zeros(3, np.int32)
        ramp(1, out=out)
        np.testing.assert_array_equal(out, [1, 2, 3])
        self.assertEqual(source(SMOOTH).shapes((10, 11)), (8, 9))

    def test_defaults_of_sizes(self):
        half = pipec.source("""pipeline half(img: uint8[N]) -> line: uint8[H = (N + 1) / 2] {
            line(x) = img(clamp(x * N / H, 0, N - 1))
        }""")
        img = np.arange(8, dtype=np.uint8)
        np.testing.assert_array_equal(half(img), [0, 2, 4, 6])
        np.testing.assert_array_equal(half(img, shape=2), [0, 4])
        self.assertEqual(half.shapes((9,)), (5,))
        self.assertIn("line: uint8[H = (N + 1) / 2]", repr(half))
        self.assertEqual(source(MANY).shapes((3, 4, 5), (5,)).picture, (3, 4, 5))

    def test_parameters_in_extents_of_calls_that_follow_each_other(self):
        grown = source("""pipeline grown(a: float32[N], r: int32 = 1) -> out: float32[M = N * r], more: float32[N + r]
    where 1 <= r <= 15
{
    out(x) = a(min(x, N - 1)) + r
    more(x) = a(min(x, N - 1))
}""")
        a = np.arange(5, dtype=np.float32)
        for r in (1, 3, 2, np.int16(4), np.array(3)):
            out, more = grown(a, r)
            self.assertEqual((out.shape, more.shape), ((5 * int(r),), (5 + int(r),)))
            np.testing.assert_array_equal(out, a[np.minimum(np.arange(5 * int(r)), 4)] + np.float32(r))
        self.assertEqual(grown(a)[0].shape, (5,))
        # Of slices that are kept there are as many as the parameter says.
        steps = source("""pipeline steps(a: float32[N], n: int32 = 1) -> out: float32[N] where 1 <= n <= 4096 {
    l(t in 0..n, x in 0..N): float32 = if t == 0 then a(x) else l(t - 1, N - 1 - x) + 1
    out(x) = l(n - 1, x)
}""")
        for n in (1, 10, 3, 500):
            np.testing.assert_array_equal(steps(a, n), (a if n % 2 else a[::-1]) + np.float32(n - 1))
        far = source("""pipeline far(a: float32[N], n: int32 = 1) -> out: float32[N] where 1 <= n <= 1000000000 {
    l(t in 0..n, x in 0..N): float32 = if t == 0 then a(x) else l(t - 1, N - 1 - x) + 1
    out(x) = l(n - 1, x)
}""")
        with self.assertRaisesRegex(MemoryError, "`far` needs [0-9,]+ bytes"):
            far(np.zeros(100000, np.float32), 1000000000)

    def test_names_that_python_has_taken(self):
        taken = source(TAKEN)
        a = np.ones(3, np.float32)
        self.assertEqual(list(inspect.signature(taken).parameters),
                         ["lambda_", "out", "None_", "out_", "shape", "stream"])
        for result in (taken(a, a), taken(lambda_=a, out=a, None_=1), taken(**{"lambda": a, "out": a, "None": 1})):
            np.testing.assert_array_equal(result, [3, 3, 3])
        mine = np.zeros(3, np.float32)
        self.assertIs(taken(a, a, out_=mine), mine)

    def test_a_workspace_is_used_again(self):
        smooth = source(SMOOTH)
        pipec.release_workspaces()
        for extent in (3, 100, 40, 100):
            img = np.full((extent, extent), 4, np.float32)
            np.testing.assert_allclose(smooth(img), 2, rtol=1e-6)
        from pipec import _call
        self.assertEqual(len(_call._blocks), 1)
        pipec.release_workspaces()
        self.assertEqual(len(_call._blocks), 0)

    def test_many_kinds_of_arrays_do_not_fill_memory(self):
        from pipec import _call
        for n in range(1, 2 * _call._MOST_FRAMES):
            self.scale(np.zeros((1, n), np.float32))
        self.assertLessEqual(sum(map(len, self.scale._kernels[-1]._frames.values())), _call._MOST_FRAMES)

    def test_memory_is_not_lost(self):
        import tracemalloc
        out, smooth = np.zeros((98, 98), np.float32), source(SMOOTH)
        img = np.ones((100, 100), np.float32)
        smooth(img, out=out)
        tracemalloc.start()
        for _ in range(1000):
            smooth(img, out=out)
            smooth(img)
        self.assertLess(tracemalloc.get_traced_memory()[0], 100_000)
        tracemalloc.stop()

    def test_pickle(self):
        for function in (self.scale, pipec.compile(os.path.join(EXAMPLES, "harris.pipe"), options=["-O1"])):
            again = pickle.loads(pickle.dumps(function))
            img = np.ones((9, 9), np.float32)
            np.testing.assert_array_equal(again(img), function(img))


if __name__ == "__main__":
    unittest.main()
