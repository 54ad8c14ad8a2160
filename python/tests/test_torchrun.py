"""Runs calls on the processes that torchrun, or a launcher with the same variables, has started. PyTorch is not needed."""

import sys

import gradus
import gradus.mpi
import numpy as np
import pytest
import torchrun

BEGINNING = """
import os, sys
import gradus, gradus.mpi, numpy

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
points = numpy.random.default_rng(3).normal(size=(1000, 5)).astype("f4")
weights = numpy.arange(1000, dtype="f4") % 7
"""


def launch(tmp_path, script, ranks=2, **more):
    """Runs the script on ranks. Returns (status, standard output, standard error) of each."""
    file = tmp_path / "script.py"
    file.write_text(BEGINNING + script)
    return torchrun.end(torchrun.start([sys.executable, str(file)], ranks, **more), 240)


def succeed(tmp_path, script, ranks=2, **more):
    for status, stdout, stderr in launch(tmp_path, script + '\nprint("right")\n', ranks, **more):
        assert (status, stdout) == (0, "right\n"), stderr


def test_a_single_process(tmp_path, points):
    one = gradus.kmeans(points, 7)
    assert gradus.kmeans(points, 7, communicator="torchrun").labels.tobytes() == one.labels.tobytes()
    assert gradus.mpi.rows_of_rank(9, "torchrun") == slice(0, 9)
    succeed(tmp_path, """
assert gradus.kmeans(points, 7, communicator="torchrun").counts.sum() == 1000
assert gradus.pair_histogram(points[:, :3], bin_width=0.25, bins=20, communicator="torchrun").pairs == 499500
""", 1)


def test_what_is_no_communicator():
    with pytest.raises(gradus.UsageError, match="intracommunicator of mpi4py is needed.*or 'torchrun'"):
        gradus.kmeans(np.ones((4, 2)), 1, communicator="mpi")


def test_invalid_variables(tmp_path):
    script = """
try:
    gradus.kmeans(points, 3, communicator="torchrun")
except gradus.UsageError as error:
    assert "MASTER_PORT is 'x'" in str(error), str(error)
"""
    succeed(tmp_path, script, MASTER_PORT="x")


def test_no_gpu(tmp_path):
    script = """
try:
    gradus.kmeans(points, 3, communicator="torchrun")
except gradus.UnsupportedError as error:
    assert "exchange data through their GPUs" in str(error) and "mpirun" in str(error), str(error)
"""
    succeed(tmp_path, script, CUDA_VISIBLE_DEVICES="")


needs_gpus = pytest.mark.skipif(sum(gpu.usable for gpu in gradus.gpus()) < 2, reason="there are fewer than two GPUs")


@needs_gpus
def test_the_bits_of_one_process(tmp_path):
    succeed(tmp_path, """
same = lambda a, b: a.dtype == b.dtype and a.tobytes() == b.tobytes()
own = gradus.mpi.rows_of_rank(len(points), "torchrun")
assert own == slice(500 * rank, 500 * rank + 500), own
for device in ("auto", "cpu", "gpu", f"gpu:{rank}"):
    for options in ({}, {"init": "k-means||", "restarts": 2, "seed": 5}, {"metric": "cosine", "init": points[:9]}, {"weights": weights}):
        local = dict(options, weights=weights[own]) if "weights" in options else options
        one = gradus.kmeans(points, 9, device=device, **options)
        both = gradus.kmeans(points[own], 9, device=device, communicator="torchrun", **local)
        assert same(both.centroids, one.centroids) and same(both.labels, one.labels[own]) and same(both.counts, one.counts), (device, options)
        assert both.inertia == one.inertia and both.iterations == one.iterations
    labels, inertia = gradus.kmeans_predict(one.centroids, points, return_inertia=True)
    of_own, of_all = gradus.kmeans_predict(one.centroids, points[own], return_inertia=True, device=device, communicator="torchrun")
    assert same(of_own, labels[own]) and of_all == inertia
    space = points[:, :3]
    one = gradus.pair_histogram(space, bin_width=0.25, bins=20, weights=weights)
    both = gradus.pair_histogram(space, bin_width=0.25, bins=20, weights=weights, device=device, communicator="torchrun")
    assert same(both.counts, one.counts) and same(both.weighted, one.weighted)
""")


@needs_gpus
def test_errors_come_to_all(tmp_path):
    succeed(tmp_path, """
def raised(kind, words, call):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), str(error)
    else:
        raise AssertionError(f"rank {rank}: no error with {words}")
own = gradus.mpi.rows_of_rank(len(points), "torchrun")
bad = points.copy()
bad[700, 1] = numpy.nan
raised(gradus.InputError, ["rank 1 of 2", "row 700, column 1", "NaN"], lambda: gradus.kmeans(bad[own], 3, communicator="torchrun"))
text = points[own].astype(str) if rank == 1 else points[own]
raised(gradus.InputError, ["real numbers are needed"], lambda: gradus.kmeans(text, 3, communicator="torchrun"))
raised(gradus.UsageError, ["rank 1 of 2", "clusters"], lambda: gradus.kmeans(points[own], 3 + rank, communicator="torchrun"))
raised(gradus.UnsupportedError, ["one process for each GPU"], lambda: gradus.kmeans(points[own], 3, gpus=[0, 1], communicator="torchrun"))
assert gradus.kmeans(points[own], 3, communicator="torchrun").counts.sum() == 1000  # and it still works
""")


@needs_gpus
def test_a_rank_that_ends(tmp_path):
    results = launch(tmp_path, """
own = gradus.mpi.rows_of_rank(len(points), "torchrun")
if rank == 1:
    os._exit(7)
gradus.kmeans(points[own], 3, communicator="torchrun")
""")
    assert results[1][0] == 7
    assert results[0][0] == 1 and "rank 1 has ended before the job was complete" in results[0][2], results[0]
