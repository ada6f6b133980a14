"""pipec.dask on workers of distributed: the bits of one process, also where workers are killed."""

import os
import signal
import tempfile
import time
import unittest
import warnings

import dask.array as da
import numpy as np
import pipec
import pipec.dask
from programs import LEVELS, SMOOTH, source

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import distributed


def slow(block, directory, name, block_info=None):
    """Passes a block on. Whoever has the block of this name first dies, once."""
    if block_info is not None and str(block_info[0]["chunk-location"]) == name:
        try:
            os.close(os.open(os.path.join(directory, "killed"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)
    return block


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore")  # of distributed and its web server
        cls.cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                               dashboard_address=None, silence_logs=60)
        cls.client = distributed.Client(cls.cluster)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def setUp(self):
        warnings.simplefilter("ignore")
        self.img = np.random.default_rng(1).random((120, 160), dtype=np.float32)
        self.lazy = da.from_array(self.img, chunks=(30, 40))

    def test_bits(self):
        smooth, levels, table = source(SMOOTH), source(LEVELS), np.arange(9, dtype=np.float32)
        np.testing.assert_array_equal(pipec.dask.apply(smooth, self.lazy).compute(), smooth(self.img))
        whole, lazy = levels(self.img, table), pipec.dask.apply(levels, self.lazy, table)
        import dask
        for one, part in zip(whole, dask.compute(*lazy)):
            np.testing.assert_array_equal(part, one)

    def test_a_program_that_workers_do_not_have(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/twice.pipe", "w") as file:
                file.write("fn twice(x) = 2 * x")
            with open(directory + "/p.pipe", "w") as file:
                file.write('import "twice"\npipeline p(a: float32[R, C]) -> b: float32[R, C] '
                           "{ b(y, x) = twice(a(y, x)) + a(min(y + 1, R - 1), x) }")
            lazy = pipec.dask.apply(pipec.compile(file.name, options=["-O0"]), self.lazy)
        expected = 2 * self.img + np.concatenate([self.img[1:], self.img[-1:]])
        np.testing.assert_array_equal(lazy.compute(), expected)

    def test_a_worker_that_is_killed(self):
        smooth = source(SMOOTH)
        with tempfile.TemporaryDirectory() as directory:
            before = {worker["pid"] for worker in self.pids()}
            lazy = self.lazy.map_blocks(slow, directory, "(2, 1)", dtype=np.float32)
            result = pipec.dask.apply(smooth, lazy).compute()
            self.assertTrue(os.path.exists(directory + "/killed"))
        np.testing.assert_array_equal(result, smooth(self.img))
        after = before
        for _ in range(100):  # the nanny starts another one
            after = {worker["pid"] for worker in self.pids()}
            if len(after) == 2:
                break
            time.sleep(0.1)
        self.assertEqual(len(after - before), 1)

    def pids(self):
        return [{"pid": pid} for pid in self.client.run(os.getpid).values()]


if __name__ == "__main__":
    unittest.main()
