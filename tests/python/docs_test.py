"""What docs/python.md and README.md show of Python is true."""

import doctest
import os
import re
import tempfile
import unittest

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def page(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Docs(unittest.TestCase):
    def setUp(self):
        directory, here = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(directory.name)

    def test_python_md(self):
        text = page("docs/python.md")
        with open("tone.pipe", "w") as file:
            file.write(blocks(text, "pipe")[0])
        sessions = "\n".join(blocks(text, "python"))
        test = doctest.DocTestParser().get_doctest(sessions, {}, "docs/python.md", None, 0)
        self.assertGreater(len(test.examples), 10)
        report = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=report.append)
        self.assertEqual(runner.failures, 0, "".join(report))

    def test_readme(self):
        text = page("README.md")
        with open("blur.pipe", "w") as file:
            file.write(blocks(text, "pipe")[0])
        image = np.arange(42, dtype=np.float32).reshape(6, 7)
        names = {"image": image}
        code, = blocks(text, "python")
        exec(code, names)  # pylint: disable=exec-used
        np.testing.assert_allclose(names["result"], image[1:-1, 1:-1], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
