"""Arrays on GPUs, without one: the driver is fake_cuda.c, "kernels" are the host's code, and arrays are objects with
__cuda_array_interface__ or __dlpack__ in the driver's memory."""

import ctypes
import os
import pickle
import shutil
import subprocess
import tempfile
import threading
import unittest

import numpy as np
import pipec
from pipec import _dlpack
from pipec._types import BY_NAME
from programs import SCALE, SMOOTH, source

HERE = os.path.dirname(os.path.abspath(__file__))
directory = tempfile.TemporaryDirectory()
# The loader finds a library that is there already by its name.
subprocess.run(["c++", "-x", "c", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", HERE + "/fake_cuda.c", "-o",
                directory.name + "/libcuda.so.1"], check=True)
fake = ctypes.CDLL(directory.name + "/libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
fake.fake_notes.restype = ctypes.c_char_p
fake.fake_allocate.argtypes, fake.fake_allocate.restype = (ctypes.c_int, ctypes.c_size_t), ctypes.c_void_p
fake.fake_free.argtypes = (ctypes.c_uint64,)

# The host's code as an nvcc would see it.
AS_KERNELS = r"""sed -e 's/"host"/"cuda"/' -e 's/if (stream != nullptr)/if (fake_launch(stream))/' \
    -e '1a extern "C" int fake_launch(void*);'"""


def library(text, name, options=""):
    path = f"{directory.name}/{name}"
    with open(path + ".pipe", "w") as file:
        file.write(text)
    subprocess.run(f"cd {directory.name} && $PIPEC --target host -w {options} {name}.pipe -o {name}.cpp && "
                   f"{AS_KERNELS} -i {name}.cpp && c++ -std=c++17 -O1 -shared -fPIC {name}.cpp -o {name}.so",
                   shell=True, check=True)
    return path + ".so"


def tearDownModule():
    directory.cleanup()


class OnGpu:
    """An array in a GPU's memory, as an object that has just an interface."""

    def __init__(self, values, device=0, stream=None, read_only=False):
        self.values = np.asarray(values)
        dense = np.ascontiguousarray(self.values)
        self.address = fake.fake_allocate(device, dense.nbytes)
        ctypes.memmove(self.address, dense.ctypes.data, dense.nbytes)
        self.device = device
        self.__cuda_array_interface__ = {"shape": dense.shape, "typestr": dense.dtype.str, "strides": None,
                                         "data": (self.address, read_only), "version": 3, "stream": stream}

    def __del__(self):
        fake.fake_free(self.address)


class Capsule:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, self.array.device

    def __dlpack__(self, stream=None):
        self.stream = stream
        v = self.array.values
        return _dlpack.capsule(self, self.array.address, BY_NAME[v.dtype.name], v.shape,
                               _dlpack.dense_strides(v.shape, range(v.ndim)), (2, self.array.device))


def values(array):
    """What is in a GPU's memory."""
    interface = array.__cuda_array_interface__

    class Host:
        __array_interface__ = {k: v for k, v in interface.items() if k != "stream"}

    return np.array(Host())


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scale = pipec.load(library(SCALE, "scale"))
        cls.smooth = pipec.load(library(SMOOTH, "smooth"))

    def setUp(self):
        self.img = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.live = fake.fake_live()
        fake.fake_clear()
        fake.fake_fail(b"")

    def tearDown(self):
        self.assertEqual(fake.fake_live(), self.live, "memory of the GPU is left")
        self.assertEqual(fake.fake_depth(), 0, "a context is left")

    def notes(self):
        text = fake.fake_notes().decode().splitlines()
        fake.fake_clear()
        return text

    def test_a_call(self):
        self.assertEqual(self.scale.target, "cuda")
        result = self.scale(OnGpu(self.img), k=3)
        self.assertIsInstance(result, pipec.Array)
        self.assertEqual((result.device, result.shape, result.dtype), (0, (3, 4), "float32"))
        np.testing.assert_array_equal(values(result), 3 * self.img)
        self.assertFalse(hasattr(result, "__array_interface__"))
        self.assertEqual(self.notes(), ["allocate in 0", "launch on 0 in 0"])
        np.testing.assert_array_equal(values(self.scale(result)), 6 * self.img)
        self.notes()
        del result
        self.assertEqual(self.notes(), ["free in 0"])

    def test_outputs_of_the_caller(self):
        out = OnGpu(np.zeros((3, 4), np.float32))
        self.assertIs(self.scale(OnGpu(self.img), out=out), out)
        np.testing.assert_array_equal(values(out), 2 * self.img)
        with self.assertRaisesRegex(ValueError, "`result` is read-only"):
            self.scale(OnGpu(self.img), out=OnGpu(self.img, read_only=True))

    def test_streams(self):
        img = OnGpu(self.img)
        result = self.scale(img, stream=5)
        self.assertEqual(self.notes(), ["allocate in 5", "launch on 0 in 5"])
        self.assertEqual(result.__cuda_array_interface__["stream"], 5)
        # What was written in 5 is read in 5.
        again = self.scale(result)
        self.assertEqual(self.notes(), ["allocate in 5", "launch on 0 in 5"])
        # A stream that is not the one that writes waits for it.
        self.scale(result, stream=6, out=img)
        self.assertEqual(self.notes(), ["after 5 comes 6", "launch on 0 in 6"])
        self.scale(result, out=OnGpu(self.img, stream=8))
        self.assertEqual(self.notes(), ["after 8 comes 5", "launch on 0 in 5"])
        self.scale(OnGpu(self.img, stream=1), stream=0, out=img)  # two names of one stream
        self.assertEqual(self.notes(), ["launch on 0 in 0"])

        class Stream:
            ptr = 9

        class Protocol:
            def __cuda_stream__(self):
                return 0, 11

        self.scale(img, stream=Stream(), out=OnGpu(self.img))
        self.scale(img, stream=Protocol(), out=OnGpu(self.img))
        self.assertEqual(self.notes(), ["launch on 0 in 9", "launch on 0 in 11"])
        with self.assertRaisesRegex(TypeError, "the stream is str"):
            self.scale(img, stream="5")
        del result, again

    def test_dlpack(self):
        img = Capsule(OnGpu(self.img, device=1))
        result = self.scale(img)
        self.assertEqual((result.device, img.stream), (1, 1))
        np.testing.assert_array_equal(values(result), 2 * self.img)
        self.notes()
        # Out again, ordered before the stream that asks.
        self.assertEqual(result.__dlpack_device__(), (2, 1))
        alive = len(_dlpack._alive)
        capsule = result.__dlpack__(stream=7)
        self.assertEqual(_dlpack.look(capsule)[2:], ((3, 4), (4, 1)))
        self.assertEqual(self.notes(), ["after 1 comes 7"])
        del capsule
        self.assertEqual(len(_dlpack._alive), alive)
        with self.assertRaises(BufferError):
            result.__dlpack__(dl_device=(1, 0))

    def test_workspaces(self):
        img = OnGpu(np.full((20, 30), 4, np.float32))
        result = self.smooth(img)
        np.testing.assert_allclose(values(result), 2, rtol=1e-6)
        self.assertEqual(self.notes(), ["allocate in 0", "allocate in 0", "launch on 0 in 0", "free in 0"])
        out = OnGpu(np.zeros((18, 28), np.float32), stream=3)
        self.smooth(img, out=out)
        self.assertEqual(self.notes(), ["allocate in 3", "launch on 0 in 3", "free in 3"])

    def test_windows(self):
        img = np.random.default_rng(1).random((20, 30), dtype=np.float32)
        smooth = pipec.load(library(SMOOTH, "smooth_windows", "--windows"), "smooth")
        whole = values(smooth(OnGpu(img)))
        self.notes()
        window = smooth.window(np.s_[3:5, 10:20], img.shape)
        part = OnGpu(img[window.required["img"]])
        result = window(part, stream=5)
        np.testing.assert_array_equal(values(result), whole[3:5, 10:20])
        self.assertEqual(self.notes(), ["allocate in 5", "allocate in 5", "launch on 0 in 5", "free in 5"])
        out = OnGpu(np.zeros((2, 10), np.float32), stream=6)
        self.assertIs(window(part, out=out), out)
        np.testing.assert_array_equal(values(out), whole[3:5, 10:20])
        self.assertEqual(self.notes(), ["allocate in 6", "launch on 0 in 6", "free in 6"])
        with self.assertRaisesRegex(ValueError, "`img` is on GPU 0 and `mean` in host memory"):
            window(part, out=np.zeros((2, 10), np.float32))
        with self.assertRaisesRegex(ValueError, "the arrays are in host memory, but `smooth` was compiled for CUDA"):
            window(img[3:7, 10:22])
        del result

    def test_a_gpu_without_pools(self):
        from pipec import _cuda
        pools, _cuda.driver()._pools = _cuda.driver()._pools, {}
        fake.fake_set_no_pools(1)
        try:
            out = OnGpu(np.zeros((1, 1), np.float32))
            self.smooth(OnGpu(np.ones((3, 3), np.float32)), out=out, stream=4)
            self.assertEqual(self.notes(), ["allocate", "launch on 0 in 4", "wait for 4", "free"])
        finally:
            fake.fake_set_no_pools(0)
            _cuda.driver()._pools = pools

    def test_devices(self):
        result = self.scale(OnGpu(self.img, device=1))
        self.assertEqual(result.device, 1)
        self.assertEqual(self.notes(), ["allocate in 0", "launch on 1 in 0"])
        with self.assertRaisesRegex(ValueError, "`img` is on GPU 1 and `result` on GPU 0: all arrays of a call must"):
            self.scale(OnGpu(self.img, device=1), out=OnGpu(self.img))
        with self.assertRaisesRegex(ValueError, "`img` is on GPU 0 and `result` in host memory"):
            self.scale(OnGpu(self.img), out=self.img)
        with self.assertRaisesRegex(ValueError, "arrays are in host memory, but `scale` was compiled for CUDA: copy"):
            self.scale(self.img)
        with self.assertRaisesRegex(ValueError, "arrays are on GPU 0, but `scale` was compiled for the host: copy"):
            source(SCALE, target="host")(OnGpu(self.img))
        first = pipec.load(directory.name + "/scale.so", device=0)
        with self.assertRaisesRegex(ValueError, "arrays are on GPU 1, but `scale` was compiled for GPU 0"):
            first(OnGpu(self.img, device=1))
        lies = OnGpu(self.img)
        lies.__cuda_array_interface__["data"] = (self.img.ctypes.data, False)
        with self.assertRaisesRegex(ValueError, "`img`: the address 0x[0-9a-f]+ is no memory of a GPU"):
            self.scale(lies)

    def test_failures(self):
        img, out = OnGpu(self.img), OnGpu(np.full((3, 4), 7, np.float32))
        fake.fake_fail(b"memory")
        with self.assertRaisesRegex(pipec.DeviceError, r"out of memory \(CUDA_ERROR_OUT_OF_MEMORY\)"):
            self.scale(img)
        fake.fake_fail(b"launch")
        with self.assertRaisesRegex(pipec.DeviceError, "CUDA refused a kernel of `scale`"):
            self.scale(img, out=out)
        fake.fake_fail(b"")
        with self.assertRaisesRegex(ValueError, "`result`: extent 0 is 2"):
            self.scale(img, out=OnGpu(self.img[:2]))
        with self.assertRaisesRegex(TypeError, "`img` is float64, but must be float32"):
            self.scale(OnGpu(self.img.astype("f8")), out=out)
        self.assertTrue((values(out) == 7).all())
        np.testing.assert_array_equal(values(self.scale(img)), 2 * self.img)

    def test_threads(self):
        failures = []

        def work(number):
            try:
                img = OnGpu(np.full((9, 9), (number + 1) ** 2, np.float32), device=number % 2)
                for _ in range(100):
                    np.testing.assert_allclose(values(self.smooth(img, stream=number)), number + 1, rtol=1e-6)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Compiled(unittest.TestCase):
    """All the way from the program, with an nvcc that makes the host's code, and a pipec-run that lists two GPUs."""

    @classmethod
    def setUpClass(cls):
        cls.bin = directory.name + "/bin"
        os.mkdir(cls.bin)
        shutil.copy(os.environ["PIPEC"], cls.bin + "/pipec")
        cls.script("pipec-run", """[ "$1" = --list-gpus ] && echo 0 sm_90 NVIDIA H100 80GB HBM3 &&
echo 1 sm_80 NVIDIA A100-SXM4-80GB""")
        cls.script("nvcc", f"""echo "$*" >>{directory.name}/calls
case "$*" in
    *--list-gpu-code*) echo sm_80; echo sm_90; exit;;
    *--version*) echo a fake; exit;;
esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && object=$2; shift; done
$PIPEC --target host -w {directory.name}/p.pipe -o $object.cpp && {AS_KERNELS} -i $object.cpp &&
    c++ -std=c++17 -O1 -shared -fPIC $object.cpp -o $object""")
        with open(directory.name + "/p.pipe", "w") as file:
            file.write(SCALE)

    @classmethod
    def script(cls, name, text):
        with open(f"{cls.bin}/{name}", "w") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(f"{cls.bin}/{name}", 0o755)

    def calls(self):
        path = directory.name + "/calls"
        if not os.path.exists(path):
            return []
        with open(path) as file:
            result = [line for line in file if " -o " in line]
        os.remove(path)
        return result

    def compile(self, **options):
        return pipec.compile(directory.name + "/p.pipe", pipec=self.bin + "/pipec",
                             options=["--nvcc", self.bin + "/nvcc"], cache=False, **options)

    def test_the_target_goes_by_the_arrays(self):
        f, img = self.compile(), np.ones((2, 3), np.float32)
        self.assertEqual(self.calls(), [])
        np.testing.assert_array_equal(f(img), 2 * img)
        self.assertEqual(self.calls(), [])
        for device, architecture in ((0, "90"), (1, "80"), (0, None)):
            result = f(OnGpu(img, device=device))
            np.testing.assert_array_equal(values(result), 2 * img)
            calls = self.calls()
            self.assertEqual(len(calls), 0 if architecture is None else 1)
            if calls:
                self.assertIn(architecture, calls[0])
        again = pickle.loads(pickle.dumps(f))
        self.assertEqual(again(OnGpu(img)).device, 0)

    def test_options(self):
        img = np.ones((2, 3), np.float32)
        self.calls()
        f = self.compile(target="cuda", device=1, fast_math=True)
        call, = self.calls()
        self.assertIn("--use_fast_math", call)
        np.testing.assert_array_equal(values(f(OnGpu(img, device=1))), 2 * img)
        self.assertEqual(self.calls(), [])
        # What is for a GPU does not disturb the host.
        np.testing.assert_array_equal(self.compile(fast_math=True)(img), 2 * img)
        schedule = subprocess.run([self.bin + "/pipec", "--emit", "schedule", directory.name + "/p.pipe"],
                                  stdout=subprocess.PIPE, check=True).stdout.decode()
        path = directory.name + "/p.schedule.json"
        with open(path, "w") as file:
            file.write(schedule)
        import json
        for given in (path, json.loads(schedule)):
            self.compile(target="cuda", schedule=given)
        self.assertEqual(len(self.calls()), 2)
        with self.assertRaisesRegex(pipec.CompileError, "schedule"):
            self.compile(target="cuda", schedule={"version": 12345})
        with self.assertRaisesRegex(FileNotFoundError, "none.json"):
            self.compile(target="cuda", schedule="none.json")

    def test_what_is_missing(self):
        with self.assertRaisesRegex(pipec.ToolError, "there is no GPU 7"):
            self.compile(target="cuda", device=7)
        with self.assertRaisesRegex(pipec.ToolError, "/nowhere/nvcc"):
            pipec.compile(directory.name + "/p.pipe", pipec=self.bin + "/pipec", options=["--nvcc", "/nowhere/nvcc"],
                          target="cuda")


if __name__ == "__main__":
    unittest.main()
