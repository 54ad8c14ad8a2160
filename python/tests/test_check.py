"""gradus.check(): results of Gradus, of scikit-learn, of folders, and planted faults."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import gradus
from gradus import KMeansModel


def blobs(dtype=np.float32, n=600, d=4, k=5, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(scale=8, size=(k, d))
    return (centers[np.arange(n) % k] + random.normal(size=(n, d))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"standardize": True}, {"metric": "cosine", "standardize": True}])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_pass(dtype, options, weighted):
    points = blobs(dtype)
    weights = np.random.default_rng(1).integers(0, 4, len(points)).astype(dtype) if weighted else None
    fit = gradus.kmeans(points, 5, weights=weights, tolerance=0, **options)
    for reference in (0, 50, 10**9):
        found = gradus.check(fit, points, weights=weights, reference_rows=reference)
        assert found.passed and found.inertia_correct is True
        assert found.inertia == fit.inertia
        assert np.array_equal(found.counts, fit.counts)
        assert found.labels.row == found.means.cluster == -1
        assert found.reference_rows == min(reference, len(points))
    assert gradus.check(fit.model, points, fit.labels, weights=weights).passed
    assert "passed=True" in repr(found)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16])
def test_stored_types_pass(dtype):
    points = np.abs(blobs(np.float32)).astype(dtype)
    assert gradus.check(gradus.kmeans(points, 5, tolerance=0), points).passed


def test_a_fit_that_ended_early():
    points = blobs()
    fit = gradus.kmeans(points, 5, max_iterations=1, init="random")
    found = gradus.check(fit, points)
    assert found.labels.incorrect == 0 and found.inertia_correct
    assert found.means.incorrect > 0 and found.means.excess_inertia > 0 and not found.passed


def test_planted_faults():
    points = blobs()
    fit = gradus.kmeans(points, 5, tolerance=0)
    labels = fit.labels.copy()
    labels[17] = (labels[17] + 1) % 5
    found = gradus.check(fit, points, labels)
    assert not found.passed and found.labels.incorrect == 1 and found.inertia_correct is False
    assert (found.labels.row, found.labels.label, found.labels.nearest) == (17, labels[17], fit.labels[17])
    assert found.labels.distance == pytest.approx(float(np.sum((points[17].astype(float) - fit.centroids[labels[17]]) ** 2)))
    assert found.means.incorrect == 2 and found.means.cluster == min(labels[17], fit.labels[17])

    centroids = fit.centroids.copy()
    centroids[2, 1] = np.nextafter(centroids[2, 1], np.float32(np.inf))
    found = gradus.check(centroids, points, fit.labels)
    assert found.labels.incorrect == 0 and found.means.incorrect == 1 and found.inertia_correct is None
    assert found.means[5:] == (2, 1, float(centroids[2, 1]), float(fit.centroids[2, 1]), 1.0)
    assert gradus.check(centroids, points, fit.labels, tolerance=1e-6).passed
    assert gradus.check(fit, points, inertia=fit.inertia * 1.01).inertia_correct is False
    assert gradus.check(fit, points, inertia=fit.inertia * 1.01, tolerance=0.1).inertia_correct is True


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_types_of_labels(dtype):
    points = blobs()
    fit = gradus.kmeans(points, 5, tolerance=0)
    assert gradus.check(fit, points, fit.labels.astype(dtype)).passed
    assert gradus.check(fit, points, fit.labels.astype(dtype).tolist()).passed
    assert gradus.check(fit, np.asfortranarray(points), fit.labels.astype(dtype)[::-1][::-1]).passed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learn(dtype):
    cluster = pytest.importorskip("sklearn.cluster")
    points = blobs(dtype, n=3000)
    converged = cluster.KMeans(5, n_init=1, random_state=0, tol=0, max_iter=1000).fit(points)
    found = gradus.check(converged, points)  # scikit-learn rounds its sums: correct labels, centroids some ulps off
    assert found.labels.largest_excess < 1e-5
    assert found.means.largest_deviation < 1e-4
    assert gradus.check(converged, points, tolerance=1e-4).passed

    early = cluster.KMeans(5, n_init=1, random_state=0, tol=0, max_iter=1, init="random").fit(points)
    found = gradus.check(early, points, tolerance=1e-4)
    assert found.labels.incorrect == 0 and found.inertia_correct
    assert found.means.incorrect > 0 and not found.passed


def test_a_folder(tmp_path):
    points = blobs()
    np.save(tmp_path / "x.npy", points)
    folder = tmp_path / "r"
    for options in ([], ["--standardize"]):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "gradus", "kmeans", tmp_path / "x.npy", "-k", "5", "--tolerance", "0", "-o", folder,
                        "--quiet", *options], check=True)  # fmt: skip
        assert gradus.check(folder, points).passed and gradus.check(str(folder), points).inertia_correct
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "inertia": 1.0}))
    assert gradus.check(folder, points).inertia_correct is False
    (folder / "labels.npy").unlink()
    with pytest.raises(gradus.InputError, match="result: .* cannot be read as a result"):
        gradus.check(folder, points)
    with pytest.raises(gradus.InputError, match="result: .* is no folder with a result"):
        gradus.check(tmp_path, points)


@pytest.mark.parametrize("options", [{"balanced": True}, {"size_min": 100}, {"size_max": 130}, {"size_min": 90, "size_max": 150}])
def test_limits_of_size(tmp_path, options):
    points = blobs()[:500] * np.float32(0.1)
    fit = gradus.kmeans(points, 5, tolerance=0, **options)
    estimator = gradus.KMeans(5, tol=0, random_state=0, **options).fit(points)
    np.save(tmp_path / "x.npy", points)
    words = ["--" + name.replace("_", "-") + ("" if value is True else f"={value}") for name, value in options.items()]
    subprocess.run([sys.executable, "-m", "gradus", "kmeans", tmp_path / "x.npy", "-k", "5", "--tolerance", "0", "-o", tmp_path / "r",
                    "--quiet", *words], check=True)  # fmt: skip
    limits = {"balanced": (90, 110), "size_min": (options.get("size_min"), options.get("size_max", 500)), "size_max": (0, 130)}
    for result in (fit, estimator, tmp_path / "r"):
        found = gradus.check(result, points)
        assert found.size_limits == limits[next(iter(options))] and found.sizes_correct is True
        assert found.passed or found.means.incorrect  # an estimator stops when its labels settle, or before
    assert gradus.check(fit, points).passed and gradus.check(tmp_path / "r", points).passed
    assert fit.size_options == tuple(options.get(name, 0) for name in ("size_min", "size_max", "balanced"))
    assert gradus.check(fit.model, points, fit.labels).size_limits is None
    labels = np.where(fit.labels == 1, 0, fit.labels).astype(np.int32)  # one cluster is empty, another too large
    found = gradus.check(fit, points, labels)
    assert found.sizes_correct is False and not found.passed and "sizes_correct=False" in repr(found)


def test_labels_that_are_not_nearest_within_limits_of_size():
    points = np.array([[0.0], [1], [2], [10]])
    fit = gradus.kmeans(points, 2, size_min=2, tolerance=0)
    found = gradus.check(fit, points)
    assert found.labels.incorrect > 0 and found.passed and found.sizes_correct is True
    assert not gradus.check(fit.model, points, fit.labels).passed
    assert gradus.check(gradus.choose_clusters(points, [2], size_min=2, tolerance=0).result, points).passed


def test_bisecting(tmp_path):
    points = blobs()
    np.save(tmp_path / "x.npy", points)
    subprocess.run([sys.executable, "-m", "gradus", "kmeans", tmp_path / "x.npy", "-k", "5", "--bisecting", "biggest-inertia", "--quiet",
                    "-o", tmp_path / "r"], check=True)  # fmt: skip
    for result in (tmp_path / "r", gradus.BisectingKMeans(5, random_state=0).fit(points)):
        with pytest.raises(gradus.UnsupportedError, match="^result: .* tree of bisecting"):
            gradus.check(result, points)
        assert gradus.certify(result, points).bound > 0


def test_refusals():
    points = blobs()
    fit = gradus.kmeans(points, 5)
    far = fit.labels.astype(np.int64)
    far[3] = 2**40
    one_too_far = fit.labels.copy()
    one_too_far[599] = 5
    nan = points.copy()
    nan[7, 2] = np.nan
    for error, match, positional, named in [
        (gradus.InputError, r"labels: the label in row 3 \(counted from 0\) is 1099511627776", (fit, points, far), {}),
        (gradus.InputError, r"labels: the label in row 599 \(counted from 0\) is 5, but there are 5", (fit, points, one_too_far), {}),
        (gradus.InputError, "labels: there are 599 labels for 600 points", (fit, points, fit.labels[1:]), {}),
        (gradus.InputError, "row 7, column 2", (fit, nan), {}),
        (gradus.InputError, "centroids: the shape is 5 x 4, but the points have 3 columns", (fit, points[:, :3]), {}),
        (gradus.UsageError, "labels: the result has no labels", (fit.model, points), {}),
        (gradus.UsageError, "tolerance: -1", (fit, points), {"tolerance": -1}),
        (gradus.UsageError, "reference", (fit, points), {"reference_rows": -1}),
        (gradus.UsageError, "metric", (fit, points), {"metric": "cosine"}),
        (gradus.UnsupportedError, "sequential", (fit, points), {"variant": "sequential"}),
    ]:
        with pytest.raises(error, match=match):
            gradus.check(*positional, **named)
    assert not gradus.check(KMeansModel(fit.centroids, "cosine"), points, fit.labels).passed
