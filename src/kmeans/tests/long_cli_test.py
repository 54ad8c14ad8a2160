"""Tests that take minutes, or that measure memory (sanitizers would change the results): fits that are killed three
hundred times, and the peak memory of jobs on a large file. tests/cli/run.py runs this."""

import os
import subprocess

import kit
from kit import GRADUS, read_npy, write_npy

HERE = os.path.dirname(os.path.abspath(__file__))
KillCase = kit.load(os.path.join(HERE, "checkpoint_cli_test.py")).KillCase
BlocksCase = kit.load(os.path.join(HERE, "blocks_cli_test.py")).BlocksCase


class ManyKills(KillCase):
    def test_many_kills(self):
        for seed in range(10):
            self.check_kills(30, seed)


class MemoryOfBlocks(BlocksCase):
    """The peak memory of a job on a file of 400 MiB. Reading the whole file at once would take 1200 MiB."""

    n, d = 25 << 17, 64
    mebibyte = 1 << 20

    def peak(self, *job):
        process = subprocess.Popen([GRADUS, *map(str, job)], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss << 10

    def test_peak(self):
        zeros = [0] * self.d
        centroids = self.file("c.csv", "".join(",".join(["%d" % number] * self.d) + "\n" for number in (1, 2)))
        small = self.array("small.npy", n=1, values=zeros)
        points = write_npy(self.path("p.npy"), "<f2", (self.n, self.d), raw=b"")
        os.truncate(points, os.path.getsize(points) + 2 * self.n * self.d)  # a sparse file
        for command in ("predict", "transform"):
            out = ("-o", self.path("out.npy"))
            base = self.peak(command, centroids, small, *out)
            for limit in (10, 100):
                peak = self.peak(command, centroids, points, *out, "--memory-limit", "%dM" % limit)
                self.assertLess(peak, base + (limit + 64) * self.mebibyte)
            self.assertLess(self.peak(command, centroids, points, *out), base + 256 * self.mebibyte)
            self.assertEqual(read_npy(self.path("out.npy"))[1], (self.n,) if command == "predict" else (self.n, 2))
