"""Repeats runs of the program with gradus.repeat(). Checks the option table that gradus.repeat() and the program
use."""

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
    return done.stdout


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


def test_recorded_options_without_effect_are_left_out(folder):
    program("kmeans", "points.npy", "-k", 4, "--init-rows", 50, "--restarts", 3, "--seed", 9, "-o", "out", cwd=folder)
    points = np.load(folder / "points.npy")
    for init in ("first", points[20:24]):
        again = gradus.repeat(folder / "out", points=points, init=init)
        assert again.centroids.tobytes() == gradus.kmeans(points, 4, init=init).centroids.tobytes()
    with pytest.raises(gradus.UsageError, match="restarts"):
        gradus.repeat(folder / "out", points=points, init="first", restarts=3)


# Arguments whose type or default in Python differs from the type or default in the option table.
OTHERS = {"clusters", "init", "alpha", "beta", "accuracy", "edges", "box", "box_origin", "sources", "generations", "boundary"}
NOT_IN_PYTHON = {"measure_error", "undirected"}


@pytest.mark.parametrize("call, problem", [
    (gradus.kmeans, "kmeans"), (gradus.choose_clusters, "kmeans"), (gradus.kmeans_initial_centroids, "kmeans"),
    (gradus.kmeans_memory, "kmeans"), (gradus.kmeans_projection, "kmeans"), (gradus.matmul, "matmul"),
    (gradus.pair_histogram, "pair_histogram"), (gradus.shortest_paths, "shortest_paths"), (gradus.life, "life"),
])  # fmt: skip
def test_signatures_are_those_of_the_table(call, problem):
    rows = option_rows(problem)
    parameters = inspect.signature(call).parameters
    for name, row in rows.items():
        if name not in parameters or name in OTHERS:
            continue
        parameter = parameters[name]
        assert parameter.annotation == ANNOTATIONS[row.kind] + (" | None" if row.default is None else ""), name
        assert parameter.default == row.default and type(parameter.default) is type(row.default), name
    if call.__name__ == problem:
        assert set(rows) - NOT_IN_PYTHON <= set(parameters)
    if call is gradus.kmeans:
        assert list(rows) == [name for name in parameters if name in rows]


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
    with pytest.raises(gradus.InputError, match="not a NumPy file.*points="):
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


@pytest.mark.parametrize("options", [[], ["--weights", "weights.npy", "--init", "random", "--seed", 7, "--metric", "cosine"]])
def test_subspaces(folder, options):
    program("kmeans", "points.npy", "-k", 5, "--subspaces", 2, *options, "-o", "out", cwd=folder)
    again = gradus.repeat(folder / "out")
    assert again.codes.tobytes() == np.load(folder / "out" / "codes.npy").tobytes()
    assert again.centroids.tobytes() == np.load(folder / "out" / "codebooks.npy").tobytes()
    assert gradus.repeat(folder / "out", subspaces=1).centroids.shape == (1, 5, 4)


def test_options_of_a_variant(folder, monkeypatch):
    calls = []
    program("kmeans", "points.npy", "-k", 5, "--variant", "openmp_locked", "--lock", "clh_lock", "-o", "out", cwd=folder)
    monkeypatch.setattr(gradus._options._core.Request, "set_variant_option", lambda _, name, value: calls.append((name, value)))
    gradus.repeat(folder / "out")
    gradus.repeat(folder / "out", variant=None)
    assert calls == [("lock", "clh_lock")]


def test_unknown_options_are_refused(folder):
    np.save(folder / "column.npy", np.load(folder / "points.npy")[:, :1])
    program("kmeans", "column.npy", "-k", 3, "--optimal", "-o", "out", cwd=folder)
    program("kmeans", "points.npy", "-k", 3, "--bisecting", "biggest-inertia", "-o", "tree", cwd=folder)
    program("kmeans", "points.npy", "-k", 3, "-o", "future", cwd=folder)
    summary = json.loads((folder / "future" / "summary.json").read_text())
    summary["command"].append("--future=1")
    (folder / "future" / "summary.json").write_text(json.dumps(summary))
    for name, option in (("out", "optimal"), ("tree", "bisecting"), ("future", "future")):
        with pytest.raises(gradus.UsageError, match=f"--{option}, which .* use 'gradus kmeans --repeat'"):
            gradus.repeat(folder / name)


def recorded(folder, *words):
    """Runs a command with --json and writes its output to a file, to be used as a record."""
    (folder / "record.json").write_text(program(*words, "--json", cwd=folder))
    return folder / "record.json"


@pytest.mark.parametrize("options", [
    [], ["--alpha", "0.1", "--add", "b.npy", "--beta", "1e-30"], ["--transpose-a", "--transpose-b"],
    ["--dtype", "f64", "--variant", "openmp", "--measure-error"],
])  # fmt: skip
def test_matmul(folder, options):
    for seed, name in enumerate(("a.npy", "b.npy")):
        np.save(folder / name, np.random.default_rng(seed).random((6, 6)).astype(np.float32))
    product = gradus.repeat(recorded(folder, "matmul", "a.npy", "b.npy", *options, "-o", "out.npy"))
    expected = np.load(folder / "out.npy")
    assert product.dtype == expected.dtype and product.tobytes() == expected.tobytes()


@pytest.mark.parametrize("options", [
    ["--bin-width", "0.1", "--bins", 12], ["--edges", "edges.npy", "--dimensions", "xz"],
    ["--bin-width", "0.1", "--cutoff", "0.7", "--cross", "others.npy", "--cross-weights", "heavy.npy", "--weights", "weights.npy"],
    ["--bin-width", "0.1", "--box", "1,1.5,1", "--box-origin", "1,1,1", "--periodic", "xy", "--fold"],
])  # fmt: skip
def test_pair_histogram(folder, options):
    points = np.load(folder / "points.npy")[:, :3]
    np.save(folder / "points.npy", points)
    np.save(folder / "others.npy", points[:40] + np.float32(0.25))
    np.save(folder / "heavy.npy", np.arange(40, dtype=np.float32))
    np.save(folder / "edges.npy", np.array([0.1, 0.30000000000000004, 0.5, 2.0]))
    record = recorded(folder, "pair-histogram", "points.npy", *options)
    counted = gradus.repeat(record)
    expected = json.loads(record.read_text())
    assert counted.counts.tolist() == expected["counts"] and counted.edges.tolist() == expected["edges"]
    assert (counted.weighted is None) == ("weighted" not in expected)
    if counted.weighted is not None:
        assert counted.weighted.tolist() == expected["weighted"]


@pytest.mark.parametrize("options", [
    [], ["--predecessors", "--sources", "2,0"], ["--no-edge", 9, "--undirected", "--unweighted"],
    ["--variant", "openmp_tiled", "--tile", 2],
])  # fmt: skip
def test_shortest_paths(folder, options):
    np.save(folder / "graph.npy", np.random.default_rng(5).integers(1, 10, (7, 7)).astype(np.int32))
    program("shortest-paths", "graph.npy", *options, "-o", "out", cwd=folder)
    found = gradus.repeat(folder / "out")
    assert found.distances.tobytes() == np.load(folder / "out" / "distances.npy").tobytes()
    if "--predecessors" in options:
        assert found.predecessors.tobytes() == np.load(folder / "out" / "predecessors.npy").tobytes()


def test_life(folder):
    (folder / "glider.rle").write_text("x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n")
    record = recorded(folder, "life", "glider.rle", "-g", 9, "--rule", "HighLife", "--hashes")
    with pytest.raises(gradus.UsageError, match="cells: .*pass cells="):
        gradus.repeat(record)
    found = gradus.repeat(record, cells=[[0, 1, 0], [0, 0, 1], [1, 1, 1]])
    expected = json.loads(record.read_text())
    assert [f"{number:016x}" for number in found.hashes] == expected["hashes"]


def test_what_the_call_in_python_has_not(folder):
    (folder / "water.xyz").write_text("2\n\nO 0 0 0\nH 1 1 1\n")
    record = recorded(folder, "pair-histogram", "water.xyz", "--bin-width", 1, "--bins", 3, "--partial")
    with pytest.raises(gradus.UsageError, match="--partial"):
        gradus.repeat(record)
