"""Windows of pipelines: what is required, results against whole runs, and what is refused."""

import os
import pickle
import random
import subprocess
import tempfile
import unittest

import numpy as np
import pipec
from programs import EXAMPLES, LEVELS, MANY, RAMP, SMOOTH, source


class Windows(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(1)
        self.img = np.random.default_rng(1).random((40, 60), dtype=np.float32)

    def box(self, shape, fixed=()):
        """A random window, in which the dimensions `fixed` are whole."""
        box = []
        for d, extent in enumerate(shape):
            ends = (0, extent) if d in fixed else sorted(self.random.sample(range(extent + 1), 2))
            box.append(slice(*ends))
        return tuple(box)

    def test_required(self):
        smooth = source(SMOOTH)
        self.assertEqual(smooth.required(np.s_[3:5, 10:20], (40, 60)), {"img": np.s_[3:7, 10:22]})
        # As in NumPy, what is not mentioned is whole; pairs do as well; arrays have shapes.
        for window in (np.s_[3:5], np.s_[3:5, :], np.s_[3:5, ...], np.s_[3:5, 0:58], [(3, 5), (0, 58)],
                       [slice(3, np.int64(5))]):
            self.assertEqual(smooth.required(window, self.img), {"img": np.s_[3:7, 0:60]})
        self.assertEqual(smooth.required(..., img=self.img), {"img": np.s_[0:40, 0:60]})
        # 20 gigapixels need not be anywhere.
        self.assertEqual(smooth.required(np.s_[99000:99001, 5:6], (100_002, 200_002)), {"img": np.s_[99000:99003, 5:8]})
        levels = source(LEVELS)
        self.assertEqual(levels.required({"half": np.s_[2:3, 4:5]}, (40, 60), (9,)),
                         {"img": np.s_[3:7, 7:11], "table": (np.s_[0:9],)})
        self.assertEqual(levels.required({}, (40, 60), (9,)), {"img": np.s_[0:0, 0:0], "table": (np.s_[0:0],)})

    def test_parameters_count(self):
        shift = source("pipeline shift(img: float32[N], d: int32) -> moved: float32[N] where 0 <= d < N, 0 <= S { "
                       "moved(x) = img(min(x + d, N - 1)) + S }")
        self.assertEqual(shift.required(np.s_[3:5], (20,), d=4, S=0), {"img": (np.s_[7:9],)})
        np.testing.assert_array_equal(shift.window(np.s_[3:5], (20,), 4, S=1)(np.array([7, 8], np.float32)), [8, 9])

    def test_windows_are_parts_of_the_whole(self):
        levels = source(LEVELS)
        table = np.arange(9, dtype=np.float32) ** 2
        whole = levels(self.img, table, k=0.25)
        for _ in range(50):
            wish = {name: self.box(getattr(whole, name).shape) for name in ("fine", "half")
                    if self.random.random() < 0.7}
            if self.random.random() < 0.3:
                wish["total"] = ()
            window = levels.window(wish, self.img.shape, table.shape, k=0.25)
            parts = window(self.img[window.required["img"]], table[window.required["table"]])
            for name in whole._fields:
                if name in wish:
                    np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name)[wish[name]])
                else:
                    self.assertIsNone(getattr(parts, name))

    def test_an_example(self):
        detail = pipec.compile(os.path.join(EXAMPLES, "harris.pipe"), options=["-O1"])
        whole = detail(self.img, 0.05)
        for _ in range(20):
            wish = self.box(whole.shape)
            window = detail.window(wish, self.img, 0.05)
            np.testing.assert_array_equal(window(self.img[window.required["img"]]), whole[wish])

    def test_orders_strides_and_outputs_of_the_caller(self):
        many = source(MANY)
        a = np.random.default_rng(1).integers(0, 255, (20, 30, 3), np.uint8).transpose(2, 0, 1)
        b = np.arange(30, dtype=np.int32)
        whole = many(a, b, n=3, on=False)
        window = many.window({"picture": np.s_[:, 5:9, 10:21]}, a, b, n=3, on=False)
        parts = window(a[window.required["a"]], b=None)  # nothing of b is needed
        np.testing.assert_array_equal(parts.picture, whole.picture[:, 5:9, 10:21])
        self.assertEqual(parts.picture.strides, (1, 33, 3))  # in the program's order
        out = np.zeros((3, 20, 40), np.uint8)
        given = out[:, 1:5, 2:24:2]
        self.assertIs(window(a[window.required["a"]], out={"picture": given}).picture, given)
        np.testing.assert_array_equal(given, parts.picture)
        self.assertEqual((out > 0).sum(), (given > 0).sum())

    def test_larger_parts(self):
        smooth = source(SMOOTH)
        window = smooth.window(np.s_[3:5, 10:20], self.img.shape)
        small = window(self.img[window.required["img"]])
        np.testing.assert_array_equal(window(self.img, at={"img": ...}), small)
        np.testing.assert_array_equal(window(self.img[2:10], at={"img": np.s_[2:10]}), small)

    def test_without_inputs(self):
        np.testing.assert_array_equal(source(RAMP).window(np.s_[3:6], 10, shape=20)(), [13, 14, 15])
        self.assertEqual(source(RAMP).window(np.s_[3:3], 10, shape=20)().shape, (0,))

    def test_what_is_compiled(self):
        """Libraries for windows are made when somebody asks for windows, and never for whole images."""
        with tempfile.TemporaryDirectory() as directory:
            old = os.environ["XDG_CACHE_HOME"]
            os.environ["XDG_CACHE_HOME"] = directory
            try:
                f = pipec.source(SMOOTH, options=["-O0"])
                for count, ask in enumerate([lambda: None, lambda: f(self.img),
                                             lambda: f.required(np.s_[1:2], self.img), lambda: f(self.img),
                                             lambda: f.window(np.s_[1:2], self.img), lambda: f.shapes((9, 9))]):
                    ask()
                    kept = os.listdir(os.path.join(directory, "pipec")) if count else []
                    self.assertEqual(len(kept), (0, 1, 2, 2, 2, 2)[count])
                g = pipec.source(SMOOTH, options=["-O0"])
                self.assertEqual(g.shapes((9, 9)), (7, 7))
            finally:
                os.environ["XDG_CACHE_HOME"] = old

    def test_loaded_libraries(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "smooth")
            with open(path + ".pipe", "w") as file:
                file.write(SMOOTH)
            subprocess.run([os.environ["PIPEC"], "library", path + ".pipe", "-o", path + ".so", "--device", "cpu",
                            "-O0", "--windows"], check=True, stdout=subprocess.DEVNULL)
            window = pipec.load(path + ".so").window(np.s_[3:5], self.img)
            np.testing.assert_array_equal(window(self.img[3:7]), source(SMOOTH)(self.img)[3:5])
            subprocess.run([os.environ["PIPEC"], "library", path + ".pipe", "-o", path + ".so", "--device", "cpu",
                            "-O0"], check=True, stdout=subprocess.DEVNULL)
            os.rename(path + ".so", os.path.join(directory, "other.so"))
            with self.assertRaisesRegex(pipec.PipecError, "without functions for windows: add `--windows`"):
                pipec.load(os.path.join(directory, "other.so"), "smooth").window(np.s_[3:5], self.img)

    def test_pickle(self):
        window = source(LEVELS).window({"half": np.s_[2:3]}, (40, 60), (9,), k=0.5)
        again = pickle.loads(pickle.dumps(window))
        parts = self.img[window.required["img"]], np.ones(9, np.float32)
        np.testing.assert_array_equal(again(*parts).half, window(*parts).half)
        self.assertEqual(repr(again), repr(window))
        self.assertEqual(repr(window), "<pipec.Window half[2:3, 0:30] of levels, from img[3:7, 0:60], table[0:9]>")


class Refused(unittest.TestCase):
    def setUp(self):
        self.smooth, self.levels = source(SMOOTH), source(LEVELS)
        self.img = np.ones((40, 60), np.float32)
        self.window = self.smooth.window(np.s_[3:5, 10:20], self.img.shape)
        self.part = self.img[3:7, 10:22]

    def refused(self, kind, pattern, function, *args, **kwargs):
        with self.assertRaisesRegex(kind, pattern):
            function(*args, **kwargs)

    def test_windows(self):
        wrong = lambda kind, pattern, window: self.refused(kind, pattern, self.smooth.required, window, self.img)
        wrong(ValueError, "`mean`: the window in dimension 0 is from 3 to 39, but must lie in 0 to 38", np.s_[3:39])
        wrong(ValueError, "dimension 1 is from -1 to 4, but must lie in 0 to 58", np.s_[3:9, -1:4])
        wrong(ValueError, "dimension 0 is from 5 to 4,", np.s_[5:4])
        wrong(ValueError, "the window has 3 dimensions, but there are 2", np.s_[5:6, :, :])
        wrong(TypeError, "dimension 0 is 3, but must be a slice without a step", 3)
        wrong(TypeError, "dimension 0 is slice.*, but must be a slice without a step", np.s_[::2])
        wrong(TypeError, "dimension 0 is from 0.5 to 3, but must be between integers", np.s_[0.5:3])
        wrong(ValueError, "there is no output `other`: there is mean", {"other": np.s_[:]})
        self.refused(TypeError, "the window must be a dict: there are 3 outputs, fine, half, total",
                     self.levels.required, np.s_[1:2], self.img, (9,))
        many = source(MANY)
        self.refused(ValueError, "`picture`: the window in dimension 0 is from 0 to 2, but must be all of the constant",
                     many.required, {"picture": np.s_[0:2]}, (3, 20, 30), (30,), n=1)

    def test_arguments(self):
        required = self.smooth.required
        self.refused(TypeError, r"smooth\(\) needs `img`", required, ...)
        self.refused(TypeError, r"smooth\(\) has no argument `k`", required, ..., self.img, k=1)
        self.refused(ValueError, "`img` has 1 extents, but must have 2", required, ..., (40,))
        self.refused(ValueError, "`mean`: extent 0 would be R = 0", required, ..., (2, 60))
        self.refused(TypeError, "`out` is for the call of the window", required, ..., self.img, out=self.img)
        self.refused(TypeError, "needs `n`", source(MANY).required, {}, (3, 20, 30), (30,))

    def test_parts(self):
        out = np.full((2, 10), 7, np.float32)
        wrong = lambda kind, pattern, *args, **kwargs: self.refused(kind, pattern, self.window, *args,
                                                                    **{"out": out, **kwargs})
        wrong(ValueError, r"`img` has the extents \(40, 60\), but its window has \(4, 12\)", self.img)
        wrong(TypeError, "`img` is float64, but must be float32", self.part.astype(float))
        wrong(ValueError, "`img`: stride 0 is negative", self.part[::-1])
        wrong(TypeError, r"the window of smooth\(\) needs `img`")
        wrong(TypeError, r"the window of smooth\(\) got `img` twice", self.part, img=self.part)
        wrong(TypeError, r"the window of smooth\(\) takes 1 inputs, but 2 were given", self.part, self.part)
        wrong(TypeError, r"the window of smooth\(\) has no argument `k`: it takes img", self.part, k=1)
        wrong(ValueError, "`img`: the window in dimension 0 is from 3 to 6, but 3 to 7 is needed", self.part[:3],
              at={"img": np.s_[3:6, 10:22]})
        wrong(ValueError, "`at` has `other`, which is no input: there is img", self.part, at={"other": ...})
        wrong(ValueError, "`stream` is for a GPU", self.part, stream=1)
        wrong(ValueError, r"`mean` has the extents \(2, 11\), but its window has \(2, 10\)", self.part,
              out=np.zeros((2, 11), np.float32))
        wrong(ValueError, "`mean` shares memory with `img`", self.part, out=self.part[:2, :10])
        self.assertTrue((out == 7).all())
        out.flags.writeable = False
        wrong(ValueError, "`mean` is read-only", self.part)
        half = self.levels.window({"half": ...}, self.img, (9,))
        self.refused(ValueError, "`fine` is given, but no window of it is wanted", half, self.img,
                     np.ones(9, np.float32), out={"fine": self.img})


class Carried(unittest.TestCase):
    """Pickled functions take their text with them."""

    def test_files_that_are_gone(self):
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(os.path.join(directory, "a b", "lib"))
            os.mkdir(os.path.join(directory, "inc"))

            def write(name, text):
                with open(os.path.join(directory, name), "w") as file:
                    file.write(text)
                return os.path.join(directory, name)

            write("a b/lib/twice.pipe", 'import "../up"\nfn twice(x) = 2 * up(x)')
            write("a b/up.pipe", "fn up(x) = x + 1")
            write("inc/deep.pipe", "fn deep(x) = -x")
            path = write("a b/main.pipe", 'import "lib/twice"\nimport "deep"\nimport "boundary"\n'
                         "pipeline p(a: int32[N]) -> b: int32[N] { "
                         "b(x) = twice(deep(a(max(x - 1, 0)))) }")
            f = pipec.compile(path, include=os.path.join(directory, "inc"), options=["-O0"])
            g = pipec.source('import "deep"\npipeline p(a: int32[N]) -> b: int32[N] { b(x) = deep(a(x)) }',
                             include=os.path.join(directory, "inc"), options=["-O0"])
            pickled = [pickle.dumps(h) for h in (f, g)]
        a = np.arange(3, dtype=np.int32)
        first, second = map(pickle.loads, pickled)
        np.testing.assert_array_equal(first(a), [2, 2, 0])
        np.testing.assert_array_equal(second(a), [0, -1, -2])
        self.assertIs(pickle.loads(pickled[0]), first)
        self.assertEqual(pickle.dumps(first), pickled[0])

    def test_a_schedule(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"version": 1}')
            file.flush()
            pickled = pickle.dumps(pipec.source(SMOOTH, schedule=file.name))
        self.assertEqual(pickle.loads(pickled)._program.schedule, {"version": 1})


if __name__ == "__main__":
    unittest.main()
