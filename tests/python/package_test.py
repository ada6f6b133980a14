"""The package as it is installed: its version, its wheel, what importing it loads."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import pipec

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SOURCES = sorted(n for n in os.listdir(os.path.dirname(pipec.__file__)) if not n.startswith("__pycache__"))


class Package(unittest.TestCase):
    def test_version(self):
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            self.assertIn(f"project(pipec VERSION {pipec.__version__} ", file.read())

    def test_importing_loads_nothing_heavy(self):
        program = "import sys, pipec; print([m for m in ('numpy', 'torch', 'cupy') if m in sys.modules])"
        said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(said, b"[]\n")

    def test_every_public_name_has_a_comment_and_types(self):
        import inspect
        for name in pipec.__all__:
            self.assertTrue(getattr(pipec, name).__doc__, name)
        for function in (pipec.compile, pipec.source, pipec.load):
            for parameter in inspect.signature(function).parameters.values():
                self.assertIsNot(parameter.annotation, parameter.empty)
        self.assertIn("py.typed", SOURCES)

    def test_wheel(self):
        try:
            import setuptools
            import wheel  # noqa: F401
        except ImportError:
            self.skipTest("there is no setuptools with wheel")
        with tempfile.TemporaryDirectory() as directory:
            copy = os.path.join(directory, "python")
            shutil.copytree(os.path.join(ROOT, "python"), copy, ignore=shutil.ignore_patterns("__pycache__"))
            program = "from setuptools import build_meta; print(build_meta.build_wheel('..'))"
            subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=copy, check=True, capture_output=True)
            name, = (n for n in os.listdir(directory) if n.endswith(".whl"))
            self.assertRegex(name, rf"pipec-{re.escape(pipec.__version__)}-py3-none-any.whl")
            with zipfile.ZipFile(os.path.join(directory, name)) as archive:
                inside = sorted(n[len("pipec/"):] for n in archive.namelist() if n.startswith("pipec/"))
            self.assertEqual(inside, SOURCES)


if __name__ == "__main__":
    unittest.main()
