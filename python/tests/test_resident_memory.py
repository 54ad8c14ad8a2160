"""Tests that many calls do not leak memory."""

import os
import subprocess
import sys

FITS = int(os.environ.get("GRADUS_FITS", "500"))
CODE = """
import gc, re, sys
import gradus, numpy
def resident():
    gc.collect()
    return int(re.search(r"VmRSS:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
points = numpy.random.default_rng(0).random((500, 4))
def work(fits):
    for number in range(fits):
        model = gradus.kmeans(points, 5, seed=number, max_iterations=3)
        gradus.kmeans_predict(model.centroids, points)
        if number % 5 == 0:
            gradus.pair_histogram(points[:, :3], bin_width=0.5, bins=4)
            gradus.shortest_paths(points[:4, :4], predecessors=True)
            gradus.life(points > 0.5, 3, hashes=True)
            try:
                gradus.kmeans(points, 501)
            except gradus.Error:
                pass
work(200)
before = resident()
work(int(sys.argv[1]))
print(resident() - before)
"""


def test_memory_stays():
    got = subprocess.run([sys.executable, "-c", CODE, str(FITS)], capture_output=True, text=True, timeout=1800)
    assert got.returncode == 0, got.stderr
    assert "leaked" not in got.stderr
    assert int(got.stdout) < 2048, f"{got.stdout} kB more after {FITS} fits"
