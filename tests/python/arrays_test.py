"""Arrays that only protocols describe, in and out, with NumPy and without."""

import array
import ctypes
import os
import subprocess
import sys
import textwrap
import unittest

import numpy as np
import pipec
from pipec import _arrays, _dlpack
from pipec._types import BY_NAME
from programs import COPIES, SCALE, TYPES, source


class Interface:
    """An object that has an __array_interface__ and nothing else."""

    def __init__(self, a, **changes):
        self.__array_interface__ = {**a.__array_interface__, **changes}
        self.owner = a


class Capsule:
    """An object that has __dlpack__ and nothing else; it counts the capsules that are alive."""

    def __init__(self, a, device=(1, 0)):
        self.a, self.device = a, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.stream = stream
        a = self.a
        strides = [s // a.itemsize for s in a.strides]
        return _dlpack.capsule(a, a.ctypes.data, BY_NAME[a.dtype.name], a.shape, strides, self.device)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.scale = source(SCALE)
        self.img = np.arange(12, dtype=np.float32).reshape(3, 4)

    def test_array_interface(self):
        for a in (self.img, self.img.T, self.img[::2, 1::2]):
            np.testing.assert_array_equal(self.scale(Interface(a)), 2 * a)
        np.testing.assert_array_equal(self.scale(Interface(self.img, strides=None)), 2 * self.img)
        out = np.zeros((3, 4), np.float32)
        wrapped = Interface(out)
        self.assertIs(self.scale(self.img, out=wrapped), wrapped)
        np.testing.assert_array_equal(out, 2 * self.img)
        with self.assertRaisesRegex(ValueError, "`result` is read-only"):
            self.scale(self.img, out=Interface(out, data=(out.ctypes.data, True)))

    def test_dlpack(self):
        before = len(_dlpack._alive)
        for a in (self.img, self.img.T, self.img[::2, 1::2]):
            np.testing.assert_array_equal(self.scale(Capsule(a)), 2 * a)
        out = np.zeros((3, 4), np.float32)
        self.scale(Capsule(self.img), out=Capsule(out))
        np.testing.assert_array_equal(out, 2 * self.img)
        self.assertEqual(len(_dlpack._alive), before)
        with self.assertRaisesRegex(TypeError, "`img`: the array is on a device of DLPack's type 7"):
            self.scale(Capsule(self.img, (7, 0)))

    def test_all_types_through_dlpack(self):
        for t in TYPES:
            a = np.array([0, 1, 1, 0], t)
            np.testing.assert_array_equal(source(COPIES, "copy_" + t)(Capsule(a)), a[::-1].copy())

    def test_own_arrays(self):
        for element in ("float32", "bool", "uint16"):
            a = pipec.Array((2, 3), BY_NAME[element], (1, 2), -1)
            self.assertEqual((a.shape, a.ndim, a.device, a.dtype), ((2, 3), 2, None, element))
            view = np.asarray(a)
            self.assertEqual(view.strides, (view.itemsize, 2 * view.itemsize))
            view[:] = [[1, 0, 1], [0, 1, 0]]
            if element != "bool":  # NumPy 1.24 takes no bool from DLPack
                taken = np.from_dlpack(a)
                np.testing.assert_array_equal(taken, view)
                self.assertEqual(taken.ctypes.data, view.ctypes.data)
                alive = len(_dlpack._alive)
                del taken
                self.assertEqual(len(_dlpack._alive), alive - 1)
            self.assertEqual(len(memoryview(a.bytes)), 6 * view.itemsize)
            self.assertFalse(hasattr(a, "__cuda_array_interface__"))
        alive = len(_dlpack._alive)
        a.__dlpack__()
        self.assertEqual(len(_dlpack._alive), alive)
        self.assertIn("uint16[2, 3] on host", repr(a))

    def test_memory_lives_as_long_as_somebody_sees_it(self):
        a = pipec.Array((1000,), BY_NAME["int32"], (1,), -1)
        view, taken = np.asarray(a), np.from_dlpack(a)
        view[:] = 7
        del a
        blocks = [np.full(1000, 3, np.int32) for _ in range(100)]
        self.assertTrue((view == 7).all() and (taken == 7).all() and len(blocks) == 100)

    def test_without_numpy(self):
        """Results are pipec.Array, and nothing asks for NumPy."""
        program = textwrap.dedent("""
            import sys
            sys.modules["numpy"] = None
            import array, pipec
            f = pipec.source(sys.argv[1], options=["-O1"])
            class Image:
                def __init__(self, values, shape):
                    self.memory = array.array("f", values)
                    self.__array_interface__ = {"version": 3, "shape": shape, "typestr": "<f4",
                                                "data": (self.memory.buffer_info()[0], False)}
            r = f(Image([1, 2, 3, 4, 5, 6], (2, 3)), k=3)
            assert isinstance(r, pipec.Array) and r.shape == (2, 3) and r.dtype == "float32", r
            assert memoryview(r.bytes).cast("B").cast("f").tolist() == [3, 6, 9, 12, 15, 18]
            again = f(r)
            assert memoryview(again.bytes).cast("B").cast("f").tolist() == [6, 12, 18, 24, 30, 36]
            try:
                f([1, 2])
            except TypeError as error:
                assert "`img`: it is list" in str(error)
            else:
                assert False
        """)
        subprocess.run([sys.executable, "-c", program, SCALE], check=True)


class Numbers(unittest.TestCase):
    def test_numbers_of_numpy_are_arrays_without_dimensions(self):
        """They have an interface, to memory that is gone when somebody reads it."""
        add = source("pipeline add(a: float32[N], b: float32[]) -> c: float32[N] { c(x) = a(x) + b() }")
        for number in range(50):
            b = np.float32(number)
            view = _arrays.read(b)
            self.assertIsInstance(view.keep, np.ndarray)
            self.assertTrue(view.read_only)
            np.testing.assert_array_equal(add(np.zeros(3, np.float32), b), [number] * 3)


if __name__ == "__main__":
    unittest.main()
