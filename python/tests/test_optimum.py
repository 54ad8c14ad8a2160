"""Tests gradus.kmeans1d() against all partitions, in fractions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import gradus


def best_labels(points, clusters):
    """Returns the labels of the best partition of different ascending points, with the least borders."""

    def cost(part):
        mean = sum(part) / len(part)
        return sum((point - mean) ** 2 for point in part)

    exact = list(map(Fraction, points))
    ends = min(
        ([0, *borders, len(exact)] for borders in itertools.combinations(range(1, len(exact)), clusters - 1)),
        key=lambda ends: (sum(cost(exact[a:b]) for a, b in itertools.pairwise(ends)), ends),
    )
    return [label for label, (a, b) in enumerate(itertools.pairwise(ends)) for _ in range(a, b)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_best_partition(dtype):
    random = np.random.default_rng(1)
    for trial in range(100):
        points = np.unique(random.normal(size=9) if trial % 2 else random.integers(0, 30, 9)).astype(dtype)
        clusters = int(random.integers(1, len(points) + 1))
        order = random.permutation(len(points))
        result = gradus.kmeans1d(points[order], clusters)
        assert result.labels[np.argsort(order)].tolist() == best_labels(points.tolist(), clusters)
        assert result.centroids.shape == (clusters, 1) and result.centroids.dtype == dtype


def test_weights_count_as_repeated_points():
    random = np.random.default_rng(2)
    points, weights = random.normal(size=50), random.integers(1, 4, 50)
    result = gradus.kmeans1d(points, 6, weights=weights)
    repeated = gradus.kmeans1d(np.repeat(points, weights), 6)
    assert (result.centroids == repeated.centroids).all() and result.inertia == repeated.inertia
    assert (np.repeat(result.labels, weights) == repeated.labels).all()


def test_a_list_a_vector_and_a_column_are_the_same_points():
    points = [3.0, 1.0, 2.5, 9.0]
    for one in (points, np.array(points), np.array(points).reshape(-1, 1), np.array([points, points]).T[:, :1]):
        assert gradus.kmeans1d(one, 2).labels.tolist() == [0, 0, 0, 1]
    result = gradus.kmeans1d(points, 2)
    assert (result.iterations, result.converged, result.history) == (0, True, ())
    assert gradus.kmeans_predict(result, np.array([[8.0], [0.0]])).tolist() == [1, 0]


@pytest.mark.parametrize(
    "error, words, call",
    [
        (gradus.InputError, "row 1", lambda: gradus.kmeans1d([1, np.nan, 2], 2)),
        (gradus.InputError, "3 columns", lambda: gradus.kmeans1d(np.zeros((2, 3)), 1)),
        (gradus.InputError, 'only 1 different point', lambda: gradus.kmeans1d([1, 1], 2)),
        (gradus.InputError, "only 2 points", lambda: gradus.kmeans1d([1, 2], 3)),
        (gradus.InputError, "negative", lambda: gradus.kmeans1d([1, 2], 2, weights=[1, -1])),
        (gradus.UsageError, "one dimension", lambda: gradus.kmeans1d(np.zeros((2, 3, 1)), 1)),
        (gradus.UsageError, "at least 1", lambda: gradus.kmeans1d([1, 2], 0)),
        (gradus.OutOfMemoryError, "memory", lambda: gradus.kmeans1d([1, 2], 1, memory_limit=1)),
    ],
)
def test_what_is_refused(error, words, call):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        call()


def test_progress_can_end_the_job():
    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        gradus.kmeans1d(np.arange(100.0), 5, progress=stop)
