"""Runs calls whose rows are on several processes. The results have the same bits as the results of a single process. If
one process raises an error, all processes raise it."""

import os
import shutil
import subprocess
import sys

import gradus
import numpy as np
import pytest

mpi4py = pytest.importorskip("mpi4py", reason="mpi4py is not installed (Debian: python3-mpi4py)")
if not shutil.which("mpirun"):
    pytest.skip("there is no mpirun (Debian: openmpi-bin)", allow_module_level=True)
import gradus.mpi  # noqa: E402

try:
    gradus.mpi.library_version()
except gradus.UnsupportedError as missing:
    pytest.skip(str(missing), allow_module_level=True)

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
BEGINNING = """
import sys
import gradus, gradus.mpi, numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
points = numpy.random.default_rng(3).normal(size=(1000, 5)).astype("f4")
weights = numpy.arange(1000, dtype="f4") % 7
cuts = [0, 0, 350, 1000]  # the first one has no rows
own = slice(cuts[comm.rank], cuts[comm.rank + 1])
"""


def mpirun(tmp_path, script, ranks=3, **environment):
    file = tmp_path / "script.py"
    file.write_text(BEGINNING + script)
    return subprocess.run(
        # Under `-m mpi4py`, a process with an uncaught exception ends the other processes, which would otherwise wait
        # for it.
        ["mpirun", "-n", str(ranks), sys.executable, "-m", "mpi4py", str(file)],
        capture_output=True, text=True, timeout=240, env={**os.environ, **ENVIRONMENT, **environment},
    )  # fmt: skip


def test_the_bits_of_one_process(tmp_path):
    done = mpirun(tmp_path, """
same = lambda a, b: a.dtype == b.dtype and a.tobytes() == b.tobytes()
for options in ({}, {"init": "k-means||", "restarts": 2, "seed": 5}, {"metric": "cosine", "init": points[:9]}, {"weights": weights}):
    local = dict(options, weights=weights[own]) if "weights" in options else options
    one = gradus.kmeans(points, 9, threads=1, **options)
    several = gradus.kmeans(points[own], 9, threads=1, communicator=comm, **local)
    assert same(several.centroids, one.centroids) and same(several.labels, one.labels[own]) and same(several.counts, one.counts), options
    assert (several.inertia, several.iterations, several.restart) == (one.inertia, one.iterations, one.restart)
    assert [line[:3] for line in several.history] == [line[:3] for line in one.history]
standardized = gradus.kmeans(points, 9, standardize=True)
ours = gradus.kmeans(points[own], 9, standardize=True, communicator=comm)
assert same(ours.centroids, standardized.centroids) and same(ours.standardized_centroids, standardized.standardized_centroids)
assert same(ours.labels, standardized.labels[own]) and ours.inertia == standardized.inertia
assert all(same(a, b) for a, b in zip(ours.standardization, standardized.standardization))
assert same(gradus.kmeans_predict(ours, points[own], communicator=comm), standardized.labels[own])
assert same(gradus.kmeans_transform(ours, points[own], communicator=comm), gradus.kmeans_transform(standardized, points)[own])
for rows in (0, 1, 2, 1000):
    shares = comm.allgather(gradus.mpi.rows_of_rank(rows, comm))
    assert [row for share in shares for row in range(rows)[share]] == list(range(rows)), shares
    assert shares[comm.rank] == gradus.mpi.rows_of_rank(rows, communicator=comm)
first = gradus.kmeans_initial_centroids(points, 9, seed=2)
ours = gradus.kmeans_initial_centroids(points[own], 9, seed=2, communicator=comm)
assert same(ours.centroids, first.centroids) and same(ours.rows, first.rows)
labels, inertia = gradus.kmeans_predict(one.centroids, points, return_inertia=True)
of_own, of_all = gradus.kmeans_predict(one.centroids, points[own], return_inertia=True, communicator=comm)
assert same(of_own, labels[own]) and of_all == inertia
assert same(gradus.kmeans_transform(one.centroids, points[own], communicator=comm), gradus.kmeans_transform(one.centroids, points)[own])
# Pairs: all points on each of them.
space = points[:, :3]
for options in ({}, {"box": [16.0] * 3, "box_origin": [-8.0] * 3}, {"weights": weights, "others": space[:50], "other_weights": weights[:50]}):
    one = gradus.pair_histogram(space, bin_width=0.25, bins=20, **options)
    several = gradus.pair_histogram(space, bin_width=0.25, bins=20, communicator=comm, **options)
    assert same(several.counts, one.counts) and several.pairs == one.pairs == several.counts.sum() + several.below + several.beyond, options
    assert (several.weighted is one.weighted is None) or same(several.weighted, one.weighted)
# With a part of the processes, and with a single process.
half = comm.Split(comm.rank % 2)
rows = points[half.rank::half.size]
together = numpy.concatenate(half.allgather(rows))
assert same(gradus.kmeans(rows, 4, communicator=half).centroids, gradus.kmeans(together, 4).centroids)
assert same(gradus.kmeans(points, 4, communicator=MPI.COMM_SELF).labels, gradus.kmeans(points, 4).labels)
print("right", flush=True)
""")
    assert (done.returncode, done.stdout.count("right")) == (0, 3), done.stderr


def test_errors_come_to_all(tmp_path):
    done = mpirun(tmp_path, """
def raised(kind, words, call):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), str(error)
    else:
        raise AssertionError(f"rank {comm.rank}: no error with {words}")
bad = points.copy()
bad[700, 1] = numpy.nan
raised(gradus.InputError, ["rank 2 of 3", "row 700, column 1", "NaN"], lambda: gradus.kmeans(bad[own], 3, communicator=comm))
# What Python refuses before the library is called, on one of them alone.
text = points[own].astype(str) if comm.rank == 1 else points[own]
raised(gradus.InputError, ["real numbers are needed"] + ["rank 1 of 3"] * (comm.rank != 1), lambda: gradus.kmeans(text, 3, communicator=comm))
raised(gradus.UsageError, ["rank 1 of 3", "clusters"], lambda: gradus.kmeans(points[own], 3 + (comm.rank == 1), communicator=comm))
# And what only the compiled part refuses.
raised(gradus.UsageError, ["empty"], lambda: gradus.kmeans(points[own], 3, empty="xx" if comm.rank == 1 else "relocate", communicator=comm))
other = gradus.Error if comm.rank != 1 else TypeError
raised(other, [], lambda: gradus.kmeans(points[own], "4" if comm.rank == 1 else 4, communicator=comm))
raised(other, [], lambda: gradus.pair_histogram(points[:, :2], bin_width=1, bins=2.5 if comm.rank == 1 else 3, communicator=comm))
# And what no function begins with.
raised(other, ["sed"], lambda: gradus.kmeans(points[own], 3, communicator=comm, **({"sed": 1} if comm.rank == 1 else {})))
raised(other, ["clusters"], lambda: gradus.kmeans(points[own], *([] if comm.rank == 1 else [3]), communicator=comm))
raised(gradus.UsageError, ["metric"], lambda: gradus.kmeans_predict(points[:3], points[own], metric="cos" if comm.rank == 1 else "cosine", communicator=comm))
raised(gradus.UsageError, ["rank 1 of 3", "rows=11"], lambda: gradus.mpi.rows_of_rank(10 + (comm.rank == 1), comm))
raised(gradus.UsageError, ["rank 2 of 3", "standardize"], lambda: gradus.kmeans(points[own], 3, standardize=comm.rank == 2, communicator=comm))
wide = points[own].astype("f8" if comm.rank == 2 else "f4")
raised(gradus.UsageError, ["rank 2 of 3"], lambda: gradus.kmeans(wide, 3, communicator=comm))
raised(gradus.UnsupportedError, ["several ranks"], lambda: gradus.kmeans(points[own], 3, variant="openmp_shared", communicator=comm))
# What a progress function raises comes out of the call there, and ends it elsewhere.
def progress(*_):
    if comm.rank == 1:
        raise ValueError("of the caller")
for call in (lambda: gradus.kmeans(points[own], 9, progress=progress, communicator=comm),
             lambda: gradus.pair_histogram(points[:, :2], bin_width=1, bins=3, progress=progress, communicator=comm)):
    raised(*(ValueError, ["of the caller"]) if comm.rank == 1 else (gradus.Error, ["rank 1 of 3: ", "progress function"]), call)
# Calls that differ: none of them waits for the others.
one = {
    "kmeans of f32": lambda: gradus.kmeans(points[own], 3, communicator=comm),
    "kmeans_initial_centroids of f64": lambda: gradus.kmeans_initial_centroids(points[own].astype("f8"), 3, communicator=comm),
    "kmeans_predict of f32": lambda: gradus.kmeans_predict(points[:3], points[own], communicator=comm),
    "kmeans_transform of f32": lambda: gradus.kmeans_transform(points[:3], points[own], communicator=comm),
    "pair_histogram of f32": lambda: gradus.pair_histogram(points[:, :2], bin_width=1, bins=3, communicator=comm),
}
for name in one:
    for other in one:
        if name != other:
            words = ["rank 2 of 3", repr(other) + " here, but " + repr(name) + " on rank 0", "the same call"]
            raised(gradus.UsageError, words, one[other if comm.rank == 2 else name])
raised(gradus.UsageError, ["intracommunicator of mpi4py"], lambda: gradus.kmeans(points[own], 3, communicator=MPI.COMM_NULL))
raised(gradus.UsageError, ["rank 1 of 3", "points="], lambda: gradus.pair_histogram(points[:, :2] + (comm.rank == 1), bin_width=1, bins=3, communicator=comm))
assert gradus.kmeans(points[own], 3, communicator=comm).counts.sum() == 1000  # and it still works
print("right", flush=True)
""")
    assert (done.returncode, done.stdout.count("right")) == (0, 3), done.stderr


def test_another_mpi_and_no_library(tmp_path):
    script = """
MPI.Get_library_version = lambda: "MPICH Version: 4.3"
try:
    gradus.kmeans(points[own], 3, communicator=comm)
except gradus.UnsupportedError as error:
    assert "'MPICH Version: 4.3'" in str(error) and gradus.mpi.library_version() in str(error), str(error)
    print("right", flush=True)
"""
    done = mpirun(tmp_path, script)
    assert (done.returncode, done.stdout.count("right")) == (0, 3), done.stderr
    script = """
try:
    gradus.kmeans(points[own], 3, communicator=comm)
except gradus.UnsupportedError as error:
    assert "/nowhere/none.so" in str(error) and "GRADUS_MPI_LIBRARY" in str(error), str(error)
    print("right", flush=True)
"""
    done = mpirun(tmp_path, script, GRADUS_MPI_LIBRARY="/nowhere/none.so")
    assert (done.returncode, done.stdout.count("right")) == (0, 3), done.stderr


def test_what_is_no_communicator():
    with pytest.raises(gradus.UsageError, match="intracommunicator of mpi4py is needed"):
        gradus.kmeans(np.ones((4, 2)), 1, communicator=7)


def test_the_program_on_several_processes(tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(1).normal(size=(500, 3)))
    program = [sys.executable, "-m", "gradus", "kmeans", str(tmp_path / "points.npy"), "-k", "4", "--quiet", "-o"]
    for start, out in (([], "one"), (["mpirun", "-n", "3"], "three")):
        subprocess.run([*start, *program, str(tmp_path / out)], check=True, timeout=240, env={**os.environ, **ENVIRONMENT})
    for name in ("labels.npy", "centroids.npy"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "three" / name).read_bytes()
