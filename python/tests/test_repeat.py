"""Runs of the program that gradus.repeat() repeats, and the table of options that both stand on."""

import inspect
import json
import os
import subprocess
import sys

import gradus
import numpy as np
import pytest
from gradus._options import option_rows

ANNOTATIONS = {"flag": "bool", "integer": "int", "count": "int", "real": "float", "choice": "str", "text": "str"}
RUNS = [
    [],
    ["--init", "random", "--seed", str(2**64 - 1), "--restarts", "3"],
    ["--init", "k-means||", "--tolerance", "0.1", "--max-iterations", "2"],
    ["--init", "first", "--tolerance", "1e-300", "--changed", "0.30000000000000004"],
    ["--standardize", "--dtype", "f64", "--variant", "simd_large_dim"],
    *[["--" + row.name.replace("_", "-"), choice] for row in option_rows("kmeans").values() for choice in row.choices
      if choice != "given"],
]


def program(*words, cwd):
    done = subprocess.run([sys.executable, "-m", "gradus", *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(7)
    np.save(tmp_path / "points.npy", random.random((300, 4)).astype(np.float32) + 1)
    np.save(tmp_path / "weights.npy", random.integers(1, 5, 300).astype(np.float32))
    return tmp_path


def same(folder, fit):
    labels, centroids = (np.load(folder / "out" / name) for name in ("labels.npy", "centroids.npy"))
    assert fit.labels.tobytes() == labels.tobytes()
    assert fit.centroids.dtype == centroids.dtype and fit.centroids.tobytes() == centroids.tobytes()


@pytest.mark.parametrize("call, names", [
    (gradus.kmeans, None), (gradus.choose_clusters, None), (gradus.kmeans_initial_centroids, None), (gradus.kmeans_memory, None),
    (gradus.kmeans_projection, None), (gradus.matmul, {"accuracy"}),
])  # fmt: skip
def test_signatures_are_those_of_the_table(call, names):
    rows = option_rows("matmul" if call is gradus.matmul else "kmeans")
    parameters = inspect.signature(call).parameters
    for name, row in rows.items():
        if name not in parameters or name == "clusters" or (names and name not in names):
            continue
        parameter = parameters[name]
        assert parameter.annotation == ANNOTATIONS[row.kind] or (name == "init" and parameter.annotation == "Any"), name
        if call is not gradus.matmul:  # whose accuracy is strict unless another one is named
            assert parameter.default == row.default and type(parameter.default) is type(row.default), name
    if call is gradus.kmeans:
        assert list(rows) == [name for name in parameters if name in rows] and set(rows) <= set(parameters)


@pytest.mark.parametrize("options", RUNS)
def test_the_same_bits(folder, options):
    program("kmeans", "points.npy", "-k", 5, *options, "-o", "out", cwd=folder)
    for record in (folder / "out" / "summary.json", str(folder / "out")):
        same(folder, gradus.repeat(record))


def test_weights_and_centroids(folder):
    program("kmeans", "points.npy", "-k", 3, "-o", "first", cwd=folder)
    for start in ("first", "first/centroids.npy"):
        program("kmeans", "points.npy", "-k", 3, "--init", start, "--weights", "weights.npy", "-o", "out", cwd=folder)
        same(folder, gradus.repeat(folder / "out"))


def test_tables_and_changes(folder):
    points = np.load(folder / "points.npy").astype(float)
    np.savetxt(folder / "points.csv", points, delimiter=",", fmt="%.17g")
    program("kmeans", "points.csv", "-k", 4, "--dtype", "f64", "--seed", 3, "-o", "out", cwd=folder)
    with pytest.raises(gradus.InputError, match="no file of NumPy.*points="):
        gradus.repeat(folder / "out")
    same(folder, gradus.repeat(folder / "out", points=points))
    changed = gradus.repeat(folder / "out", points=points, clusters=2, seed=1)
    assert changed.centroids.tobytes() == gradus.kmeans(points, 2, seed=1).centroids.tobytes()


def test_what_cannot_be_repeated(folder):
    program("kmeans", "points.npy", "-k", 3, "-o", "out", cwd=folder)
    points = np.load(folder / "points.npy")
    points[7, 2] += 1
    np.save(folder / "points.npy", points)
    with pytest.raises(gradus.InputError, match="has changed since"):
        gradus.repeat(folder / "out")
    os.remove(folder / "points.npy")
    with pytest.raises(gradus.InputError, match="points.npy"):
        gradus.repeat(folder / "out")
    with pytest.raises(gradus.InputError, match="none.json"):
        gradus.repeat(folder / "none.json")
    (folder / "other.json").write_text(json.dumps({"problem": "kmeans"}))
    with pytest.raises(gradus.InputError, match="does not say how to repeat"):
        gradus.repeat(folder / "other.json")


def test_names_and_aliases():
    points = np.random.default_rng(1).random((100, 2))
    fits = [gradus.kmeans(points, 4, init=name) for name in ("k-means-parallel", "k-means||", "k-means_parallel")]
    assert len({fit.centroids.tobytes() for fit in fits}) == 1
    for name, row in option_rows("kmeans").items():
        if row.kind == "choice":
            with pytest.raises(gradus.UsageError, match=f"^{name}: there is no 'zzz', only "):
                gradus.kmeans(points, 4, **{name: "zzz"})
            for choice in filter(str.isidentifier, row.choices):
                with pytest.raises(gradus.UsageError, match=f"did you mean '{choice}'"):
                    gradus.kmeans(points, 4, **{name: choice[:-1]})
