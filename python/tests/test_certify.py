"""gradus.certify(): fits of Gradus and scikit-learn against planted clusterings, folders, and bad arguments."""

import numpy as np
import pytest

import gradus
from gradus import KMeansModel

RANDOM = np.random.default_rng(5)
LABELS = RANDOM.integers(4, size=2000)
POINTS = RANDOM.normal(size=(2000, 6)) + 20 * np.eye(6)[LABELS]


def inertia_of(points, labels, weights=None):
    weights = np.ones(len(points)) if weights is None else weights
    total = 0.0
    for label in np.unique(labels):
        own = labels == label
        mean = np.average(points[own], axis=0, weights=weights[own])
        total += (weights[own, None] * (points[own] - mean) ** 2).sum()
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_separate_clusters(dtype, weighted):
    points = POINTS.astype(dtype)
    weights = RANDOM.uniform(0.5, 3, len(points)).astype(dtype) if weighted else None
    fit = gradus.kmeans(points, 4, restarts=5, weights=weights)
    found = gradus.certify(fit, points, weights=weights)
    planted = inertia_of(points.astype(np.float64), LABELS, weights)
    assert 0.97 * fit.inertia < found.bound <= planted * (1 + 1e-12)
    assert (found.method, found.confidence) == ("groups", 1) and found.gap == 1 - found.bound / fit.inertia
    for threads in (1, 3):
        assert gradus.certify(fit, points, weights=weights, threads=threads).bound == found.bound


def test_poor_fit_is_not_called_good():
    poor = np.where(LABELS == 1, 0, np.where((LABELS == 2) & (POINTS[:, 5] > 0), 1, LABELS))
    found = gradus.certify(np.zeros((4, 6)), POINTS, poor, inertia=inertia_of(POINTS, poor))
    assert found.bound <= inertia_of(POINTS, LABELS)
    assert gradus.certify(np.zeros((4, 6)), POINTS, poor).gap is None


def test_other_results(tmp_path):
    cluster = pytest.importorskip("sklearn.cluster")
    estimator = cluster.KMeans(4, n_init=5, random_state=0).fit(POINTS)
    assert gradus.certify(estimator, POINTS).gap < 0.05
    fit = gradus.kmeans(POINTS, 4, restarts=5, standardize=True, metric="cosine")
    assert gradus.certify(fit, POINTS).bound <= fit.inertia
    column = gradus.kmeans1d(POINTS[:, 0], 3)
    assert gradus.certify(column, POINTS[:, :1]).gap < 1e-9


def test_bad_arguments():
    fit = gradus.kmeans(POINTS, 4)
    for error, words, call in [
        (gradus.UsageError, "no labels", lambda: gradus.certify(fit.centroids, POINTS)),
        (gradus.InputError, "1999 labels", lambda: gradus.certify(fit, POINTS, fit.labels[1:])),
        (gradus.InputError, "label in row 0", lambda: gradus.certify(fit, POINTS, np.full(2000, 4))),
        (gradus.InputError, "columns", lambda: gradus.certify(fit, POINTS[:, :5])),
        (gradus.InputError, "row 0", lambda: gradus.certify(fit, np.full_like(POINTS, np.nan))),
        (gradus.InputError, "negative", lambda: gradus.certify(fit, POINTS, weights=np.full(2000, -1))),
        (gradus.UsageError, "metric", lambda: gradus.certify(KMeansModel(fit.centroids, "other"), POINTS, fit.labels)),
        (gradus.OutOfMemoryError, "memory", lambda: gradus.certify(fit, POINTS, memory_limit=1)),
    ]:
        with pytest.raises(error, match=words):
            call()
