"""Tensors of torch on the CPU, and the operator where torch has custom_op. Skipped without torch."""

import pickle
import sys
import unittest

import numpy as np
import pipec
from programs import COPIES, MANY, SCALE, TYPES, WINDOW, source
from pipec._torch import schema

try:
    import torch
except ImportError:
    torch = None


class Schema(unittest.TestCase):
    def test_text(self):
        self.assertEqual(schema(source(SCALE)), "(Tensor img, float k=2.0) -> Tensor")
        self.assertEqual(schema(source(MANY)), "(Tensor a, Tensor b, *, float level=0.5, int n, bool on=True, "
                                               "float h=1.5) -> (Tensor, Tensor)")
        self.assertEqual(schema(source(WINDOW)), "(Tensor img, *, int S) -> Tensor")

    @unittest.skipIf(torch is not None, "there is torch")
    def test_without_torch(self):
        with self.assertRaisesRegex(pipec.PipecError, "there is no torch"):
            source(SCALE).torch_op("a::b")


@unittest.skipIf(torch is None, "there is no torch")
class Tensors(unittest.TestCase):
    def setUp(self):
        self.scale = source(SCALE)
        self.img = torch.arange(12, dtype=torch.float32).reshape(3, 4)

    def test_calls(self):
        for t in (self.img, self.img.t(), self.img[::2, 1::2]):
            result = self.scale(t, k=3)
            self.assertIsInstance(result, torch.Tensor)
            self.assertTrue(torch.equal(result, 3 * t))
        out = torch.zeros(3, 4)
        self.assertIs(self.scale(self.img, out=out), out)
        self.assertTrue(torch.equal(out, 2 * self.img))
        # The first array decides what results are.
        self.assertIsInstance(self.scale(self.img.numpy()), np.ndarray)
        self.assertIs(type(self.scale(self.img, out=out.numpy())), np.ndarray)
        self.assertTrue(torch.equal(self.scale(self.img, torch.tensor(4.0)), 4 * self.img))

    def test_types(self):
        for t in TYPES:
            if not hasattr(torch, t) or t in ("uint16", "uint32", "uint64"):
                continue
            a = torch.tensor([0, 1, 1, 0, 1]).to(getattr(torch, t))
            self.assertTrue(torch.equal(source(COPIES, "copy_" + t)(a), a.flip(0)))

    def test_order_of_memory(self):
        a = torch.randint(0, 255, (5, 6, 3), dtype=torch.uint8).permute(2, 0, 1)
        picture, total = source(MANY)(a, torch.ones(6, dtype=torch.int32), n=1)
        self.assertTrue(torch.equal(picture, a))
        self.assertEqual(picture.stride(), a.stride())
        self.assertEqual(total.dtype, torch.float64)

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "`img` is float64, but must be float32"):
            self.scale(self.img.double())
        with self.assertRaisesRegex(TypeError, "`img`: the tensor requires a gradient.*detach"):
            self.scale(self.img.requires_grad_())
        with torch.no_grad():
            self.scale(self.img)
        with self.assertRaisesRegex(TypeError, "`img`: the tensor is torch.sparse_coo, but must be dense"):
            self.scale(torch.eye(3).to_sparse())
        with self.assertRaisesRegex(TypeError, "`img`: the tensor is on `meta`"):
            self.scale(torch.empty(3, 4, device="meta"))
        with self.assertRaisesRegex(ValueError, "`img`: stride 0 is 0"):
            self.scale(torch.ones(1).expand(3, 4))

    def test_operator(self):
        if not hasattr(torch.library, "custom_op"):
            with self.assertRaisesRegex(pipec.PipecError, "torch.library.custom_op is in torch 2.4 and newer; this is"):
                self.scale.torch_op("pipec_test::scale")
            self.skipTest(f"torch {torch.__version__} has no custom_op")
        operator = self.scale.torch_op("pipec_test::scale")
        self.assertTrue(torch.equal(operator(self.img, 3.0), 3 * self.img))
        torch.library.opcheck(operator, (self.img,))
        compiled = torch.compile(lambda t: operator(t) + 1, fullgraph=True, backend="aot_eager")
        self.assertTrue(torch.equal(compiled(self.img), 2 * self.img + 1))
        many = source(MANY).torch_op("pipec_test::many")
        a, b = torch.zeros(3, 4, 5, dtype=torch.uint8), torch.ones(5, dtype=torch.int32)
        torch.library.opcheck(many, (a, b), {"n": 1})


if __name__ == "__main__":
    unittest.main()
