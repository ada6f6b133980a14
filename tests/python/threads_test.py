"""Calls from many threads at the same time: each has its own arguments and workspace."""

import threading
import unittest

import numpy as np
import pipec
from programs import MANY, SMOOTH, SCALE


class Threads(unittest.TestCase):
    def together(self, work, count=8):
        failures, gate = [], threading.Barrier(count)

        def run(number):
            try:
                gate.wait()
                work(number)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def test_one_function_with_different_scalars_and_sizes(self):
        f = pipec.source(SCALE, options=["-O1"])

        def work(number):
            for i in range(300):
                img = np.full((1 + i % 3, 5), number + 1, np.float32)
                np.testing.assert_array_equal(f(img, k=i), np.full_like(img, (number + 1) * i))

        self.together(work)
        self.assertEqual(len(f._kernels), 1)

    def test_workspaces(self):
        f = pipec.source(SMOOTH, options=["-O1"])

        def work(number):
            img = np.full((60 + number % 2, 70), (number + 1) ** 2, np.float32)
            expected = f(img)
            np.testing.assert_allclose(expected, number + 1, rtol=1e-6)
            for _ in range(200):
                np.testing.assert_array_equal(f(img), expected)

        self.together(work)
        from pipec import _call
        self.assertLessEqual(len(_call._blocks), 8)

    def test_errors_are_the_caller_s_own(self):
        f = pipec.source(MANY, options=["-O1"])
        a, b = np.ones((3, 2, 4), np.uint8), np.ones(4, np.int32)

        def work(number):
            for i in range(200):
                if number % 2:
                    with self.assertRaisesRegex(ValueError, f"n = {-number}"):
                        f(a, b, n=-number)
                else:
                    np.testing.assert_array_equal(f(a, b, n=number + 1, level=2, h=0).total,
                                                  [2.0 * (number + 1), 2.0 * (number + 1) + 1])

        self.together(work)


if __name__ == "__main__":
    unittest.main()
