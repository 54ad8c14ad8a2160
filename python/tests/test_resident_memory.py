"""Tests that many calls do not leak memory, and that memory maps are not copied."""

import os
import subprocess
import sys

import pytest

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


MAPPED = """
import resource, sys
import gradus, numpy
path, dtype = sys.argv[1:]
columns = 64
rows = (256 << 20) // (columns * numpy.dtype(dtype).itemsize)
points = numpy.lib.format.open_memmap(path, "w+", dtype, (rows, columns))  # a sparse file
points[:4] = numpy.arange(4 * columns).reshape(4, columns)
points[-1] = 7
points.flush()
del points
mapped = numpy.load(path, mmap_mode="r")
raw = numpy.memmap(path, dtype, "r", mapped.offset, mapped.shape)
options = dict(init="first", device="cpu", threads=2, memory_limit=40 << 20, max_iterations=2)
gradus.kmeans(numpy.arange(8.0).reshape(4, 2), 2, **options)  # starts the threads
data = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
limit = (data << 10) + (96 << 20)  # a copy of the points does not fit
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    numpy.array(mapped)
    sys.exit("the limit allows a copy")
except MemoryError:
    pass
found = gradus.kmeans(mapped, 4, **options)
for same in (raw, mapped[:, :]):
    assert (gradus.kmeans(same, 4, **options).labels == found.labels).all()
assert (gradus.kmeans_predict(found.centroids, raw, device="cpu", threads=2) == found.labels).all()
gradus.kmeans(mapped[:, 1:40], 4, **options)
print(found.counts.sum() == rows)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_maps_are_not_copied(tmp_path, dtype):
    got = subprocess.run([sys.executable, "-c", MAPPED, str(tmp_path / "points.npy"), dtype], capture_output=True, text=True, timeout=600)
    assert got.returncode == 0, got.stderr
    assert got.stdout == "True\n"
