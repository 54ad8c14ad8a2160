"""Compares standardize=True with exact fractions. Tests fits that start from the folder of an earlier fit."""

import json
import math
import pathlib
import pickle
import subprocess
import sys
from fractions import Fraction

import gradus
import numpy as np
import pytest


def plain_standardization(points):
    """Computes mean, scale and standardized values by the canonical formulas of gradus/kmeans_standardization.hpp, in
    exact fractions."""
    mean, scale = [], []
    for column in points.astype(np.float64).T.tolist():
        exact = sum(map(Fraction, column)) / len(column)
        mean.append(float(exact))  # rounded once
        differences = [value - mean[-1] for value in column]
        shift = float(sum(map(Fraction, differences)) / len(column))
        squares = float(sum(Fraction(value) ** 2 for value in differences) / len(column))
        variance = max(squares - shift * shift, 0.0)
        scale.append(math.sqrt(variance) if variance > 0 else 1.0)
    return np.array(mean), np.array(scale)


def awkward(kind, dtype):
    random = np.random.default_rng(4)
    rows = random.normal(size=(101, 6))
    rows[:, 1] = rows[:, 1] * 1e-3 + 1e6
    rows[:, 2] = 0.1  # 0.1 is not a double; the mean of this column equals the double nearest to 0.1
    rows[:, 3] *= 10.0 ** random.integers(-12, 12, len(rows))
    rows[:, 4] = np.where(np.arange(len(rows)) % 2, 1e15, -1e15) + np.arange(len(rows))
    if kind == "tiny":
        rows[:, 5] *= np.finfo(dtype).smallest_subnormal * 100
    elif kind == "huge":
        rows[:, 5] *= float(np.finfo(np.float32).max) / 16 if dtype == np.float32 else 1e149
    return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plain", "tiny", "huge"])
def test_mean_and_scale_are_those_of_exact_fractions(kind, dtype):
    points = awkward(kind, dtype)
    mean, scale = plain_standardization(points)
    for threads in (1, 3):
        fit = gradus.kmeans(points, 4, standardize=True, seed=1, threads=threads)
        assert fit.standardization.mean.tobytes() == mean.tobytes()
        assert fit.standardization.scale.tobytes() == scale.tobytes()
        rows = ((points.astype(np.float64) - mean) / scale).astype(dtype)
        expected = gradus.kmeans(rows, 4, seed=1)
        assert (fit.labels == expected.labels).all() and fit.inertia == expected.inertia
        assert fit.standardized_centroids.tobytes() == expected.centroids.tobytes()
        restored = (expected.centroids.astype(np.float64) * scale + mean).astype(dtype)
        assert fit.centroids.tobytes() == restored.tobytes()
    assert gradus.kmeans(points, 4).standardization is None


def test_a_result_says_how_to_predict(points):
    table = points * [1, 1000, 0.01]
    weights = np.linspace(0, 2, len(table))
    for metric in ("euclidean", "cosine"):
        fit = gradus.kmeans(table, 5, standardize=True, weights=weights, metric=metric, seed=2)
        for fitted in (fit, fit.model, pickle.loads(pickle.dumps(fit))):
            labels, inertia = gradus.kmeans_predict(fitted, table, weights=weights, return_inertia=True)
            assert (labels == fit.labels).all() and inertia == fit.inertia
            assert (gradus.kmeans_transform(fitted, table).argmin(axis=1) == fit.labels).all()
            assert (gradus.kmeans_predict(fitted, table, metric=metric) == fit.labels).all()
        other = "cosine" if metric == "euclidean" else "euclidean"
        with pytest.raises(gradus.UsageError, match=f"the fit used '{metric}'"):
            gradus.kmeans_predict(fit, table, metric=other)
        with pytest.raises(gradus.InputError, match="2 columns"):
            gradus.kmeans_predict(fit, table[:, :2])
    broken = fit.model._replace(standardization=gradus.KMeansStandardization(np.zeros(2), np.ones(3)))
    with pytest.raises(gradus.UsageError, match="2 means and 3 scales for 3 columns"):
        gradus.kmeans_predict(broken, table)


def test_first_centroids_are_in_the_units_of_the_data(points):
    table = points * [1, 1000, 0.01]
    first = gradus.kmeans_initial_centroids(table, 6, standardize=True, seed=3)
    assert (first.centroids == table[first.rows]).all()
    assert (first.rows != gradus.kmeans_initial_centroids(table, 6, seed=3).rows).any()
    given = gradus.kmeans(table, 6, standardize=True, init=first.centroids)
    assert given.inertia == gradus.kmeans(table, 6, standardize=True, seed=3).inertia


def test_memory(points):
    plain = gradus.kmeans_memory(1000, 8, 3)
    assert gradus.kmeans_memory(1000, 8, 3, standardize=True).host == plain.host + 1000 * 8 * 4
    with pytest.raises(gradus.OutOfMemoryError, match="standardized copy"):
        gradus.kmeans(points, 3, standardize=True, memory_limit=1000)


def test_the_estimator_standardizes_as_a_pipeline_does(points):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler

    table = points.astype(np.float64) * [1, 1000, 0.01] + [0, 5, 5]
    more = table[::7] + 0.001
    scaler = StandardScaler().fit(table)
    start = table[:4]
    model = gradus.KMeans(4, standardize=True, init=start, tol=0).fit(table)
    usual = gradus.KMeans(4, init=scaler.transform(start), tol=0).fit(scaler.transform(table))
    assert (model.labels_ == usual.labels_).all() and model.n_iter_ == usual.n_iter_
    assert model.inertia_ == pytest.approx(usual.inertia_, rel=1e-12)
    np.testing.assert_allclose(model.cluster_centers_, scaler.inverse_transform(usual.cluster_centers_), rtol=1e-12)
    np.testing.assert_allclose(model.standardization_.mean, scaler.mean_, rtol=1e-12)
    np.testing.assert_allclose(model.standardization_.scale, scaler.scale_, rtol=1e-12)
    assert (model.predict(table) == model.labels_).all()
    assert (model.predict(more) == usual.predict(scaler.transform(more))).all()
    np.testing.assert_allclose(model.transform(more), usual.transform(scaler.transform(more)), rtol=1e-9, atol=1e-9)
    assert model.score(table) == -model.inertia_
    assert (pickle.loads(pickle.dumps(model)).predict(table) == model.labels_).all()
    assert clone(model).standardize is True
    again = model.set_params(standardize=False).fit(table)
    assert not hasattr(again, "standardization_") and (again.predict(table) == again.labels_).all()


# ---- init= with the folder of an earlier fit ----


@pytest.fixture
def table(points, tmp_path):
    table = points[:300].astype(np.float64) * [1, 1000, 0.01]
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    return table


def program_fit(folder, *options):
    command = [sys.executable, "-m", "gradus", "kmeans", "table.csv", "-k", "4", "-o", "out", "--quiet", *options]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder / "out"


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"metric": "cosine"}])
def test_init_takes_the_folder_of_a_fit(table, tmp_path, options):
    words = {"standardize": ("--standardize",), "metric": ("--metric", "cosine")}
    out = program_fit(tmp_path, *(word for name in options for word in words[name]))
    expected = gradus.kmeans(table, 4, init=np.load(out / "centroids.npy"), **options)
    for path in (out, str(out)):
        fit = gradus.kmeans(table, 4, init=path, **options)
        assert fit.centroids.tobytes() == expected.centroids.tobytes() and fit.inertia == expected.inertia
        first = gradus.kmeans_initial_centroids(table, 4, init=path, **options)
        assert first.centroids.tobytes() == np.load(out / "centroids.npy").tobytes()


def test_init_refuses_the_folder_of_another_fit(table, tmp_path):
    out = program_fit(tmp_path)

    def refused(error, match, points=table, init=out, clusters=4, **options):
        with pytest.raises(error, match=match):
            gradus.kmeans(points, clusters, init=init, **options)

    refused(gradus.UsageError, "not one of standardized columns.*leave out standardize=True", standardize=True)
    refused(gradus.UsageError, "uses the euclidean metric; pass metric='euclidean'", metric="cosine")
    refused(gradus.UsageError, "has 4 clusters, and this one 5; pass clusters=4", clusters=5)
    refused(gradus.InputError, "no folder with a result", init=tmp_path)
    refused(gradus.InputError, "no folder with a result", init=pathlib.Path("there is none"))
    refused(gradus.UsageError, "there is no 'there is none'", init="there is none")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, columns=["a", "b", "c"])
    assert gradus.kmeans(frame, 4, init=out).inertia == gradus.kmeans(table, 4, init=out).inertia
    refused(gradus.InputError, r"one of \['a', 'b', 'c'\]", points=frame[["b", "a", "c"]])
    with pytest.raises(gradus.UsageError, match="several are compared"):
        gradus.choose_clusters(table, [3, 4], init=out)
    program_fit(tmp_path, "--standardize")
    refused(gradus.UsageError, "pass standardize=True")
    summary = json.loads((out / "summary.json").read_text())
    centroids = (out / "centroids.npy").read_bytes()
    (out / "centroids.npy").write_bytes(centroids[:-1] + b"\0")
    refused(gradus.InputError, "is not the file that its summary.json was written with", standardize=True)
    (out / "centroids.npy").write_bytes(centroids)
    summary["unfinished"] = "soon"
    (out / "summary.json").write_text(json.dumps(summary))
    refused(gradus.InputError, "unfinished", standardize=True)
