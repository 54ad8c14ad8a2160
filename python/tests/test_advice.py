"""Tests the errors for objects that are not arrays and for arguments without effect. Each error names the argument and
the remedy."""

import os
import pathlib
import re
import subprocess
import sys
import warnings

import gradus
import numpy as np
import pytest
from scipy import sparse

CALLS = {  # for each argument: calls in which the argument has the value x
    "points": [
        lambda x: gradus.kmeans(x, 1), lambda x: gradus.kmeans_initial_centroids(x, 1), lambda x: gradus.kmeans_predict([[1.0]], x),
        lambda x: gradus.kmeans_transform([[1.0]], x), lambda x: gradus.pair_histogram(x, bin_width=1, bins=2),
    ],
    "init": [lambda x: gradus.kmeans(np.ones((4, 1)), 1, init=x)],
    "weights": [lambda x: gradus.kmeans(np.ones((4, 1)), 1, weights=x), lambda x: gradus.pair_histogram(np.ones((4, 3)), bin_width=1, bins=2, weights=x)],
    "centroids": [lambda x: gradus.kmeans_predict(x, np.ones((4, 1))), lambda x: gradus.kmeans_transform(x, np.ones((4, 1)))],
    "others": [lambda x: gradus.pair_histogram(np.ones((4, 3)), bin_width=1, bins=2, others=x)],
    "edges": [lambda x: gradus.pair_histogram(np.ones((4, 3)), edges=x)],
    "box": [lambda x: gradus.pair_histogram(np.ones((4, 3)), bin_width=1, bins=2, box=x)],
    "a": [lambda x: gradus.matmul(x, np.eye(6))],
    "b": [lambda x: gradus.matmul(np.eye(6), x)],
    "add": [lambda x: gradus.matmul(np.eye(6), np.eye(6), add=x)],
    "graph": [gradus.shortest_paths],
    "cells": [lambda x: gradus.life(x, 1)],
}  # fmt: skip


class Lazy:
    """Imitates a LazyFrame of polars."""

    def collect(self):
        raise AssertionError("it is the user who decides to")


class Delayed:
    """Imitates a dask array that has not been computed."""

    def compute(self):
        raise AssertionError("it is the user who decides to")


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "some.npz", **arrays)
    return np.load(tmp_path / "some.npz")


def stored(tmp_path):
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csr_matrix(np.eye(6)))
    return np.load(tmp_path / "sparse.npz")


WRONG = {  # maps each kind of object to (object, advice); {0} in the advice is the argument
    "a path": (lambda _: "points.npy", "{0}: a path; an array is needed: pass numpy.load('points.npy')"),
    "a Path": (lambda _: pathlib.Path("points.npy"), "pass numpy.load('points.npy')"),
    "bytes": (lambda _: b"points.npy", "pass numpy.load(b'points.npy')"),
    "csr_array": (lambda _: sparse.csr_array(np.eye(6)), "{0}: a sparse csr_array; an array is needed: pass {0}.toarray(), which takes 288 bytes"),
    "coo_matrix": (lambda _: sparse.coo_matrix(np.eye(6)), "{0}: a sparse coo_matrix; an array is needed: pass {0}.toarray()"),
    "npz": (lambda path: npz(path, x=np.eye(6), y=np.eye(6)), "{0}: a file of the arrays x, y; an array is needed: pass {0}['x']"),
    "sparse npz": (stored, "pass scipy.sparse.load_npz(file).toarray()"),
    "lazy": (lambda _: Lazy(), "{0}: a Lazy; an array is needed: pass {0}.collect()"),
    "delayed": (lambda _: Delayed(), "{0}: a Delayed; an array is needed: pass {0}.compute()"),
    "dict": (lambda _: {"x": [1.0]}, "{0}: a dict; an array of numbers is needed"),
    "set": (lambda _: {1.0}, "{0}: a set; an array of numbers is needed"),
    "generator": (lambda _: (number for number in [1.0]), "{0}: a generator; an array of numbers is needed"),
    "function": (lambda _: len, "{0}: a builtin_function_or_method; an array of numbers is needed"),
}  # fmt: skip


@pytest.mark.parametrize("argument", CALLS)
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_array_is_answered_by_name(argument, kind, tmp_path):
    if argument == "graph" and kind in ("csr_array", "coo_matrix"):  # this function supports these kinds
        return
    if argument == "init" and kind in ("a path", "a Path"):
        pytest.skip("a string names a method, and a path a folder")
    make, text = WRONG[kind]
    for call in CALLS[argument]:
        with pytest.raises(gradus.UsageError) as caught:
            call(make(tmp_path))
        assert text.format(argument) in str(caught.value)


def test_lazy_frames_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2, 3]})
    with pytest.raises(gradus.UsageError, match=r"points: a LazyFrame; .* pass points.collect\(\)"):
        gradus.kmeans(frame.lazy(), 1)
    assert gradus.kmeans(frame, 1).inertia == 2


def test_sparse_tensors():
    torch = pytest.importorskip("torch")
    with pytest.raises(gradus.UsageError, match=r"points.to_dense\(\)"):
        gradus.kmeans(torch.eye(6).to_sparse(), 1)


def test_points_in_one_dimension():
    for line in (np.arange(3.0), [1.0, 2.0, 3.0], range(3)):
        for call in CALLS["points"]:
            with pytest.raises(gradus.UsageError, match=re.escape("pass points.reshape(-1, 1) for points of one coordinate")):
                call(line)


def test_masked_arrays():
    masked = np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 3.0)
    for name, calls in CALLS.items():
        if name == "graph":  # valid, because masked elements mean "no edge"
            continue
        given = masked.ravel() if name in ("weights", "edges", "box") else masked
        for call in calls:
            with pytest.raises(gradus.InputError, match=rf"{name}: a masked array; pass .*{name}.filled\(value\)"):
                call(given)
    assert gradus.kmeans(np.ma.masked_array([[1.0], [3.0]]), 1).inertia == 2  # valid, because no element is masked
    with pytest.raises(gradus.InputError, match="sources.compressed"):
        gradus.shortest_paths(np.eye(2), sources=np.ma.masked_equal([0, 1], 1))


def test_what_has_no_effect_is_refused():
    points = np.arange(12.0).reshape(6, 2)
    for init in (points[:2], "first"):
        with pytest.raises(gradus.UsageError, match="restarts: 3, but with this `init` nothing is random; leave restarts out"):
            gradus.kmeans(points, 2, init=init, restarts=3)
    assert gradus.kmeans(points, 2, init=points[:2], restarts=1).restart == 0
    cells = np.eye(5, dtype=bool)
    for boundary in ("dead", "torus"):
        for place in ({"left": 3}, {"top": -2}):
            with pytest.raises(gradus.UsageError, match=f"with the boundary '{boundary}'.*boundary='plane'"):
                gradus.life(cells, 1, boundary=boundary, **place)
        first, second = (gradus.life(cells, 1, boundary=boundary, hashes=True, left=left).hashes for left in (0, 3))
        assert (first != second).any()  # hashes depend on the position
    # The diagonal loses its ends, so the first live cell moves by one.
    assert gradus.life(cells, 1, boundary="plane", left=3).left == 4


def test_the_limit_of_memory_counts_distances():
    points = np.random.default_rng(0).normal(size=(1000, 4))
    with pytest.raises(gradus.OutOfMemoryError, match="memory limit allows only"):
        gradus.kmeans_transform(points[:100], points, memory_limit=700_000)
    out = np.empty((1000, 100))
    assert gradus.kmeans_transform(points[:100], points, memory_limit=700_000, out=out) is out
    assert (gradus.kmeans_transform(points[:100], points, memory_limit=2_000_000) == out).all()


CPP = re.compile(r"[A-Za-z]\w*::\w+|(?<![\w-])--[a-z]")
FAILING = {  # calls that fail in the C++ library
    "memory": lambda: gradus.kmeans(np.ones((1000, 4)), 2, memory_limit=10, device="cpu"),
    "memory of distances": lambda: gradus.kmeans_transform(np.ones((9, 4)), np.ones((1000, 4)), memory_limit=10),
    "memory of a histogram": lambda: gradus.pair_histogram(np.random.default_rng(0).random((5000, 3)), bin_width=1e-5, bins=99999, memory_limit=10),
    "memory of paths": lambda: gradus.shortest_paths(np.ones((300, 300)), memory_limit=10),
    "memory of a product": lambda: gradus.matmul(np.ones((300, 300)), np.ones((300, 300)), memory_limit=10),
    "memory of Life": lambda: gradus.life(np.ones((900, 900), bool), 3, memory_limit=10),
    "blocks": lambda: gradus.kmeans(np.ones((9, 2)), 1, block_size=64, device="cpu"),
    "blocks of paths": lambda: gradus.shortest_paths(np.ones((9, 9)), block_size=64, variant="sequential"),
    "an empty cluster": lambda: gradus.kmeans([[0.0], [1.0]], 2, init=[[0.0], [9.0]], empty="error"),
    "a GPU for k-means": lambda: gradus.kmeans(np.ones((9, 2)), 1, device="gpu:99"),
    "a GPU for pairs": lambda: gradus.pair_histogram(np.ones((9, 3)), bin_width=1, bins=2, device="gpu:99"),
    "a GPU for paths": lambda: gradus.shortest_paths(np.ones((9, 9)), device="gpu:99"),
    "a rule with a topology": lambda: gradus.life(np.ones((9, 9), bool), 1, rule="B3/S23:T9,9"),
    "a variant without cycles": lambda: gradus.life(np.ones((9, 9), bool), 9, boundary="plane", variant="hashlife", until_stable=True),
    "a box origin": lambda: gradus.pair_histogram(np.ones((9, 3)), bin_width=1, bins=2, box_origin=[1, 1, 1]),
    "outside the box": lambda: gradus.pair_histogram(np.full((9, 3), 5.0), bin_width=1, bins=2, box=[3, 3, 3]),
    "no edge": lambda: gradus.shortest_paths(np.ones((9, 9), int), no_edge=0.5),
    "a variant of two threads": lambda: gradus.kmeans(np.ones((9, 2)), 1, variant="sequential", threads=9999),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILING)
def test_messages_are_in_no_other_front_ends_words(what):
    with pytest.raises(gradus.Error) as caught:
        FAILING[what]()
    assert not CPP.search(str(caught.value)), caught.value


FORK = """
import multiprocessing, os, sys, warnings
import gradus, numpy

points = numpy.random.default_rng(0).random((20000, 4))

def child(threads):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fits = [gradus.kmeans(points, 8, max_iterations=5, device="cpu", threads=threads) for _ in range(2)]
        except gradus.UnsupportedError as error:
            return "refused", str(error)
    return fits[0].threads, fits[1].inertia, [(one.category.__name__, str(one.message)) for one in caught]

def run(threads):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.map_async(child, [threads]).get(60)[0]

before = run(2)
parent = gradus.kmeans(points, 8, max_iterations=5, device="cpu", threads=2)
print(repr((before[0], parent.inertia, run(None), run(1), run(2))))
"""


@pytest.mark.parametrize("limit", ["", "2", "1"])
def test_a_forked_child_uses_one_thread_and_says_so_once(limit):
    env = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    if limit:
        env["OMP_NUM_THREADS"] = limit
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    before, inertia, usual, one, two = eval(done.stdout)
    assert before == 2 and one == (1, inertia, [])
    assert usual[:2] == (1, inertia)
    assert [kind for kind, _ in usual[2]] == ["RuntimeWarning"] and "'spawn'" in usual[2][0][1]
    assert two[0] == "refused" and "'forkserver'" in two[1]


def test_the_parent_is_not_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradus.kmeans(np.random.default_rng(0).random((5000, 3)), 4, threads=2)
        gradus.kmeans(np.random.default_rng(0).random((5000, 3)), 4)


def test_the_program_names_a_sparse_file_too(tmp_path):
    for matrix in (sparse.csr_matrix(np.eye(6)), sparse.coo_matrix(np.eye(6))):
        sparse.save_npz(tmp_path / "sparse.npz", matrix)
        command = [sys.executable, "-m", "gradus", "kmeans", "sparse.npz", "-k", "1"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert run.returncode == 3 and "scipy.sparse.load_npz('sparse.npz').toarray()" in run.stderr, run
