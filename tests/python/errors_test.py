"""Bad input: an exception that says what and what to do, and nothing is written."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import pipec
from programs import MANY, RAMP, SCALE, SMOOTH, TYPES, WINDOW, source


class Arguments(unittest.TestCase):
    def setUp(self):
        self.scale = source(SCALE)
        self.img = np.ones((3, 4), np.float32)
        self.out = np.full((3, 4), 7, np.float32)

    def refused(self, kind, pattern, function, *args, **kwargs):
        with self.assertRaisesRegex(kind, pattern):
            function(*args, **kwargs)
        self.assertTrue((self.out == 7).all(), "something was written")

    def test_arrays(self):
        wrong = lambda kind, pattern, img: self.refused(kind, pattern, self.scale, img, out=self.out)
        wrong(TypeError, r'`img` is float64, but must be float32: float32\[R, C\]; convert it .*astype\("float32"\)',
              np.ones((3, 4)))
        wrong(TypeError, "`img` is >f4, but must be float32", self.img.astype(">f4"))
        wrong(TypeError, "`img` is complex64", self.img.astype("complex64"))
        wrong(TypeError, "`img` is object", self.img.astype(object))
        wrong(ValueError, r"`img` has 1 dimensions, but must have 2: float32\[R, C\]", self.img[0])
        wrong(ValueError, "`img`: stride 0 is negative.*ascontiguousarray", self.img[::-1])
        wrong(ValueError, "`img`: stride 1 is negative", self.img[:, ::-1])
        wrong(ValueError, "`img`: stride 0 is 0, as of a broadcast array", np.broadcast_to(self.img[0], (3, 4)))
        wrong(ValueError, "`img`: stride 0 is 0", np.broadcast_to(np.float32(1), (3, 4)))
        wrong(ValueError, "`img`: extent 0 is 0", np.ones((0, 4), np.float32))
        wrong(ValueError, "`result`: extent 0 is 3, but must be R = 2", self.img[:2])
        wrong(TypeError, "`img`: it is list, but must be an array", [[1.0]])
        wrong(TypeError, "`img`: it is NoneType", None)
        wrong(TypeError, "`img`: the array is masked", np.ma.masked_array(self.img, self.img > 0))
        records = np.zeros((3, 4), [("a", "u1"), ("b", "f4")])
        wrong(ValueError, "`img`: stride 1 is 5 bytes, which is no multiple of the 4", records["b"])
        shifted = np.zeros(4 * 12 + 1, np.uint8)[1:].view(np.float32).reshape(3, 4)
        wrong(ValueError, "`img`.*(aligned|multiple)", shifted)

    def test_outputs(self):
        wrong = lambda kind, pattern, out: self.refused(kind, pattern, self.scale, self.img, out=out)
        self.out.flags.writeable = False
        wrong(ValueError, "`result` is read-only, but results are written to it", self.out)
        wrong(TypeError, "`result` is float64", np.ones((3, 4)))
        wrong(ValueError, "`result`: extent 1 is 5", np.ones((3, 5), np.float32))
        wrong(ValueError, "`result` shares memory with `img`", self.img)
        wrong(ValueError, "`result`: stride 0 is negative", np.ones((3, 4), np.float32)[::-1])
        wrong(ValueError, "`out` has 2 arrays, but there are 1 outputs: result", [self.img, self.img])
        wrong(ValueError, "`out` has `other`, which is no output: there is result", {"other": self.img})
        wrong(TypeError, "`result`: it is int", 3)
        many, b = source(MANY), np.ones(4, np.int32)
        a = np.ones((3, 2, 4), np.uint8)
        self.refused(TypeError, "`out` must be a dict or a sequence", many, a, b, n=1, out=self.img)
        self.assertTrue((self.img == 1).all())

    def test_names(self):
        self.refused(TypeError, r"scale\(\) needs `img`: scale\(img: float32\[R, C\], k", self.scale)
        self.refused(TypeError, r"scale\(\) has no argument `q`", self.scale, self.img, q=1)
        self.refused(TypeError, r"scale\(\) takes 2 arguments by position, but 3 were given", self.scale, self.img, 1,
                     2)
        self.refused(TypeError, r"scale\(\) got `img` twice", self.scale, self.img, img=self.img)
        self.refused(TypeError, "needs `n`", source(MANY), np.ones((3, 2, 4), np.uint8), np.ones(4, np.int32))

    def test_scalars(self):
        wrong = lambda kind, pattern, k: self.refused(kind, pattern, self.scale, self.img, k=k, out=self.out)
        wrong(TypeError, r"`k` is 'a', but must be a number \(float32\)", "a")
        wrong(TypeError, r"`k` is None", None)
        wrong(TypeError, r"`k` is 1j", 1j)
        wrong(ValueError, r"`k` is 1e\+300, but must be a number that float32 holds", 1e300)
        wrong(ValueError, r"`k` is 1000.*, but must be a number that float32 holds", 10**400)
        many, a, b = source(MANY), np.ones((3, 2, 4), np.uint8), np.ones(4, np.int32)
        total = np.full(2, 7.0)
        wrong = lambda kind, pattern, **k: self.refused(kind, pattern, many, a, b, **{"n": 1, **k},
                                                        out={"total": total})
        wrong(TypeError, r"`n` is 1.5, but must be an integer \(int16\)", n=1.5)
        wrong(ValueError, r"`n` is 40000, but must be from -32768 to 32767 \(int16\)", n=40000)
        wrong(TypeError, "`on` is 'yes', but must be True or False", on="yes")
        wrong(ValueError, "`h` is 1000000.0, but must be a number that float16 holds", h=1e6)
        wrong(ValueError, "the pipeline needs int32\\(n\\) > 0, which does not hold.*n = 0", n=0)
        self.assertTrue((total == 7).all())
        # After a call that was refused the next one is as ever.
        np.testing.assert_array_equal(self.scale(self.img, 3, out=np.zeros((3, 4), np.float32)), 3 * self.img)
        self.assertTrue(np.isinf(self.scale(self.img, k=float("inf"))).all())

    def test_sizes(self):
        shift, row = source(WINDOW), np.ones(4, np.float32)
        self.refused(TypeError, "needs `S`", shift, row)
        self.refused(TypeError, "`S` is 1.0, but must be an integer", shift, row, S=1.0)
        self.refused(ValueError, "S", shift, row, S=4)
        self.refused(ValueError, "`S` is 9223372036854775808", shift, row, S=2**63)
        ramp = source(RAMP)
        self.refused(ValueError, "`shape` of `line` has 2 extents", ramp, 1, shape=(2, 2))
        self.refused(ValueError, "extents are from 1", ramp, 1, shape=-1)
        self.refused(ValueError, "`shape` has `x`, which is no output", ramp, 1, shape={"x": 1})
        self.refused(ValueError, "`line`", ramp, 1)
        self.refused(ValueError, "`result`: extent 0 is 5, but must be R = 3", self.scale, self.img, shape=(5, 4))
        self.refused(ValueError, "`stream` is for a GPU", self.scale, self.img, stream=0)
        self.refused(ValueError, "`mean`", source(SMOOTH), np.ones((2, 9), np.float32))

    def test_shapes(self):
        self.refused(TypeError, "has 1 inputs", self.scale.shapes)
        self.refused(ValueError, "`img` has 1 extents", self.scale.shapes, (3,))
        self.refused(TypeError, "no parameter or size `x`", self.scale.shapes, (3, 3), x=1)
        self.refused(TypeError, "needs the size `S`", source(WINDOW).shapes, (3,))


class Compiling(unittest.TestCase):
    def test_programs(self):
        with self.assertRaises(pipec.CompileError) as caught:
            pipec.source("pipeline p(img: float32[R]) -> out: float32[R] {\n    out(x) = imgg(x)\n}")
        self.assertEqual(str(caught.exception), "\n".join([
            "<stdin>:2:14: error: unknown name `imgg` [unknown-name]",
            "    2 |     out(x) = imgg(x)",
            "      |              ^~~~",
            "      |              img",
            "<stdin>:1:12: note: `img` is defined here",
            "    1 | pipeline p(img: float32[R]) -> out: float32[R] {",
            "      |            ^~~",
            "1 error generated.",
        ]))
        self.assertIsInstance(caught.exception, pipec.PipecError)
        with self.assertWarnsRegex(pipec.CompileWarning, "unused"):
            pipec.source("pipeline p(a: int32[N], b: int32[N]) -> out: int32[N] { out(x) = a(x) }")

    def test_choices(self):
        two = "".join(f"pipeline {n}(a: int32[N]) -> b: int32[N] {{ b(x) = a(x) }}\n" for n in ("first", "second"))
        with self.assertRaisesRegex(ValueError, "several pipelines, first, second: choose one with `pipeline=`"):
            pipec.source(two)
        with self.assertRaisesRegex(ValueError, "no pipeline `third`; it has first, second"):
            pipec.source(two, "third")
        self.assertEqual(pipec.source(two, "second").interface.name, "second")
        with self.assertRaisesRegex(ValueError, "has no pipeline"):
            pipec.source("const A = 1\n")
        for options, pattern in (({"target": "gpu"}, "`target` is 'gpu'"), ({"device": -1}, "`device` is -1"),
                                 ({"device": "0"}, "`device` is '0'"),
                                 ({"target": "host", "fast_math": True}, "`fast_math` is for a GPU"),
                                 ({"target": "host", "schedule": "x"}, "`schedule` is for a GPU"),
                                 ({"target": "host", "device": 0}, "`device` is for a GPU"),
                                 ({"target": "host", "options": ["--nonsense"]}, "unknown option `--nonsense`")):
            with self.assertRaisesRegex(ValueError, pattern):
                pipec.source(SCALE, **options)
        with self.assertRaisesRegex(TypeError, "`options` must be a sequence"):
            pipec.source(SCALE, options="-O1")

    def test_what_is_missing(self):
        with tempfile.TemporaryDirectory() as directory:
            for path in ("none.pipe", os.path.join(directory, "none.pipe")):
                with self.assertRaises(FileNotFoundError) as caught:
                    pipec.compile(path)
                self.assertEqual(caught.exception.filename, path)
            with self.assertRaises(IsADirectoryError):
                pipec.compile(directory)
            with self.assertRaises(FileNotFoundError):
                pipec.load(os.path.join(directory, "none.so"))
            with self.assertRaisesRegex(pipec.ToolError, "`pipec=` is `/nowhere/pipec`, which is no program"):
                pipec.source(SCALE, pipec="/nowhere/pipec")
            with self.assertRaisesRegex(pipec.ToolError, "/nowhere/c\\+\\+.*"):
                pipec.source(SCALE, target="host", options=["--cxx", "/nowhere/c++"])
            lazy = pipec.source(SCALE, options=["--cxx", "/nowhere/c++"])
            with self.assertRaisesRegex(pipec.ToolError, "/nowhere/c\\+\\+"):
                lazy(np.ones((1, 1), np.float32))
            failing = os.path.join(directory, "c++")
            with open(failing, "w") as file:
                file.write("#!/bin/sh\n[ $1 = --version ] && exit\necho this compiler fails >&2; exit 1\n")
            os.chmod(failing, 0o755)
            with self.assertRaisesRegex(pipec.ToolError, "this compiler fails"):
                pipec.source(SCALE, target="host", options=["--cxx", failing])
            not_elf = os.path.join(directory, "x.so")
            with open(not_elf, "w") as file:
                file.write("x")
            with self.assertRaisesRegex(pipec.PipecError, "cannot load the compiled pipeline"):
                pipec.load(not_elf)
            program = "import pipec\ntry:\n    pipec.source('')\nexcept pipec.ToolError as e:\n    print(e)"
            environment = {**os.environ, "PATH": directory}
            del environment["PIPEC"]
            said = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE).stdout
            self.assertIn(b"there is no pipec on PATH: install it", said)

    def test_a_gpu_that_is_not_there(self):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        program = ("import pipec, sys\ntry:\n    pipec.source(sys.argv[1], target='cuda')\n"
                   "except pipec.ToolError as e:\n    print(e)")
        said = subprocess.run([sys.executable, "-c", program, SCALE], env=environment, stdout=subprocess.PIPE).stdout
        self.assertRegex(said.decode(), "--device 0: (there is no|no )")

    def test_a_program_that_changed(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "p.pipe")
            with open(path, "w") as file:
                file.write(SCALE)
            f = pipec.compile(path, options=["-O1"])
            with open(path, "w") as file:
                file.write(SCALE.replace("= 2", "= 3"))
            with self.assertRaisesRegex(pipec.PipecError, "p.pipe has changed since pipec.compile"):
                f(np.ones((1, 1), np.float32))


if __name__ == "__main__":
    unittest.main()
