"""What help(), inspect and notebooks show."""

import inspect
import os
import pydoc
import tempfile
import unittest

import pipec
from programs import EXAMPLES, MANY, SCALE, TAKEN, WINDOW, source


class Interfaces(unittest.TestCase):
    def test_help(self):
        text = pydoc.plain(pydoc.render_doc(source(MANY)))
        for part in ("All kinds of ports.", "In two lines.", "a  uint8[3, R, C] order(1, 2, 0)", "b  int32[C]",
                     "level  float32 = 0.5", "n      int16", "on     bool = true", "h      float16 = 1.5",
                     "picture  uint8[3, R, C] order(1, 2, 0)", "total    float64[2]", "Where:", "R < 1000"):
            self.assertIn(part, text)
        self.assertIn("S  int", source(WINDOW).__doc__)

    def test_signature(self):
        self.assertEqual(str(inspect.signature(source(SCALE))),
                         "(img: 'float32[R, C]', k: 'float32' = 2.0, *, out=None, shape=None, stream=None) -> "
                         "'float32[R, C]'")
        # Behind a parameter with a default, one without has no position.
        kinds = {n: p.kind for n, p in inspect.signature(source(MANY)).parameters.items()}
        self.assertEqual(kinds["b"], inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.assertEqual({kinds[n] for n in ("level", "n", "on", "h")}, {inspect.Parameter.KEYWORD_ONLY})
        self.assertEqual(inspect.signature(source(TAKEN)).parameters["None_"].default, 1)

    def test_text(self):
        self.assertEqual(repr(source(SCALE)),
                         "<pipec.Function scale(img: float32[R, C], k: float32 = 2.0) -> result: float32[R, C]>")
        self.assertEqual(source(SCALE).__name__, "scale")
        self.assertEqual([str(b) for b in source(MANY).interface.outputs],
                         ["uint8[3, R, C] order(1, 2, 0)", "float64[2]"])

    def test_notebook(self):
        f = source(SCALE)
        page = f._repr_html_()
        self.assertIn("scale(img: float32[R, C]", page)
        self.assertIn("<iframe srcdoc=\"&lt;!DOCTYPE html", page)
        self.assertIn("kernel", f.explain())
        # Without the compiler what is known is shown.
        broken = pipec.source(SCALE)
        object.__setattr__(broken._program, "pipec", "/nowhere/pipec")
        self.assertNotIn("iframe", broken._repr_html_())
        self.assertIn("Multiplies.", broken._repr_html_())

    def test_a_loaded_library_is_the_same_but_for_comments(self):
        with tempfile.TemporaryDirectory() as directory:
            from pipec import _compiler
            program = os.path.join(directory, "many.pipe")
            with open(program, "w") as file:
                file.write(MANY)
            _compiler.call_pipec(_compiler.Program(path=program), "library",
                                 ["-o", os.path.join(directory, "many.so"), "--device", "cpu", "-O1"])
            loaded, compiled = pipec.load(os.path.join(directory, "many.so")), source(MANY)
            for part in ("inputs", "outputs", "parameters", "sizes"):
                self.assertEqual(getattr(loaded.interface, part), getattr(compiled.interface, part))
            self.assertEqual((loaded.interface.doc, loaded.interface.where), ("", ()))
            self.assertEqual(loaded.target, "host")
            with self.assertRaisesRegex(ValueError, "has no pipeline `other`"):
                pipec.load(os.path.join(directory, "many.so"), "other")
            with self.assertRaisesRegex(ValueError, "`device` is for a GPU"):
                pipec.load(os.path.join(directory, "many.so"), device=0)
            with self.assertRaisesRegex(pipec.PipecError, "only a program can be explained"):
                loaded.explain()
            self.assertIn("many(a", loaded._repr_html_())


if __name__ == "__main__":
    unittest.main()
