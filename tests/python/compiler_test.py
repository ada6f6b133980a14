"""What is compiled when, what is kept, and which compiler is found."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import pipec
from pipec import _compiler
from programs import SCALE


class Cache(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.cache = os.path.join(self.directory.name, "pipec")
        old = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = self.directory.name
        self.addCleanup(lambda: os.environ.__setitem__("XDG_CACHE_HOME", old) if old else None)
        self.img = np.ones((2, 3), np.float32)

    def entries(self):
        return sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []

    def test_when(self):
        f = pipec.source(SCALE, options=["-O0"])
        self.assertEqual(self.entries(), [])
        f(self.img)
        self.assertEqual(len(self.entries()), 1)
        g = pipec.source(SCALE, options=["-O0"], target="host")
        self.assertEqual(len(self.entries()), 1)
        self.assertIs(f._kernels[-1].tables, g._kernels[-1].tables)
        pipec.source(SCALE, options=["-O1"], target="host")
        self.assertEqual(len(self.entries()), 2)
        pipec.source(SCALE.replace("= 2", "= 3"), options=["-O0"], target="host")
        self.assertEqual(len(self.entries()), 3)

    def test_without(self):
        np.testing.assert_array_equal(pipec.source(SCALE, options=["-O0"], cache=False)(self.img), 2 * self.img)
        self.assertEqual(self.entries(), [])

    def test_another_process_and_pipec_run_share_it(self):
        with open(os.path.join(self.directory.name, "p.pipe"), "w") as file:
            file.write(SCALE)
        path = file.name
        program = ("import pipec, sys, numpy\n"
                   "print(pipec.compile(sys.argv[1], options=['-O0'])(numpy.ones((1, 1), 'f4')))")
        for _ in range(2):
            subprocess.run([sys.executable, "-c", program, path], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(len(self.entries()), 1)
        np.save(os.path.join(self.directory.name, "in.npy"), self.img)
        out = os.path.join(self.directory.name, "out.npy")
        subprocess.run([os.environ["PIPEC"], "run", path, "-O0", "-q", "--device", "cpu", "--in",
                        f"img={self.directory.name}/in.npy", "--out", f"result={out}"], check=True)
        self.assertEqual(len(self.entries()), 1)
        np.testing.assert_array_equal(np.load(out), pipec.compile(path)(self.img))

    def test_a_damaged_entry_is_made_again(self):
        pipec.source(SCALE, options=["-O0"], target="host")
        entry = os.path.join(self.cache, self.entries()[0])
        with open(entry, "r+b") as file:
            file.seek(2000)
            file.write(b"damage")
        program = "import pipec, sys\npipec.source(sys.argv[1], options=['-O0'], target='host')"
        subprocess.run([sys.executable, "-c", program, SCALE], check=True)
        self.assertEqual(len(self.entries()), 1)

    def test_a_cache_that_cannot_be_written_is_warned_about(self):
        with open(self.cache, "w"):
            pass
        with self.assertWarnsRegex(pipec.CompileWarning, "not kept"):
            f = pipec.source(SCALE + "// unwritable", options=["-O0"], target="host")
        np.testing.assert_array_equal(f(self.img), 2 * self.img)

    def test_nothing_stays_in_the_temporary_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            program = ("import pipec, sys, numpy\nf = pipec.source(sys.argv[1], options=['-O0'])\n"
                       "f(numpy.ones((1, 1), 'f4')); f.explain()")
            subprocess.run([sys.executable, "-c", program, SCALE], check=True, env={**os.environ, "TMPDIR": directory})
            self.assertEqual(os.listdir(directory), [])


class Compiler(unittest.TestCase):
    def test_imports(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "lib"))
            with open(os.path.join(directory, "lib", "twice.pipe"), "w") as file:
                file.write("fn twice(x) = 2 * x\n")
            text = 'import "twice"\npipeline p(a: int32[N]) -> b: int32[N] { b(x) = twice(a(x)) }'
            with self.assertRaisesRegex(pipec.CompileError, "import-not-found"):
                pipec.source(text)
            for include in (os.path.join(directory, "lib"), [os.path.join(directory, "lib")]):
                f = pipec.source(text, include=include, options=["-O0"])
                np.testing.assert_array_equal(f(np.array([1, 2], np.int32)), [2, 4])

    def test_a_name_that_looks_like_an_option(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            try:
                with open("-O.pipe", "w") as file:
                    file.write(SCALE)
                self.assertEqual(pipec.compile("-O.pipe").interface.name, "scale")
            finally:
                os.chdir(here)

    def test_where_it_is_looked_for(self):
        with tempfile.TemporaryDirectory() as prefix:
            package = os.path.join(prefix, "lib", "python3.11", "dist-packages", "pipec")
            shutil.copytree(os.path.dirname(pipec.__file__), package)
            os.mkdir(os.path.join(prefix, "bin"))
            compiler = os.path.join(prefix, "bin", "pipec")
            with open(compiler, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(compiler, 0o755)
            environment = {**os.environ, "PYTHONPATH": os.path.dirname(package)}
            del environment["PIPEC"]
            program = "from pipec import _compiler; print(_compiler.find_pipec())"
            said = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
            self.assertEqual(said.stdout.decode().strip(), compiler)
        self.assertEqual(_compiler.find_pipec(), os.environ["PIPEC"])


if __name__ == "__main__":
    unittest.main()
