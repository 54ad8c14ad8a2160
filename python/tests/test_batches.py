"""Tests that KMeansBatches and kmeans_batches give the bits of a fit, however the points are divided into batches.
Compares means with exact fractions."""

import copy
import pickle
import threading
from fractions import Fraction

import gradus
import numpy as np
import pytest

SIZES = (1, 7, 64, 333, 5000)


def blobs(dtype="f4", rows=997, columns=5):
    random = np.random.default_rng(4)
    return (random.normal(size=(rows, columns)) + 6 * random.integers(0, 3, size=(rows, 1))).astype(dtype)


def parts(points, size, seed=0):
    starts = np.random.default_rng(seed).permutation(range(0, len(points), size))
    return [slice(first, first + size) for first in starts]


def same(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_give_a_fit(dtype, metric, weighted):
    points = blobs(dtype)
    weights = np.random.default_rng(1).random(len(points)).astype(dtype) if weighted else None
    expected = gradus.kmeans(
        points, 6, init=points[:6], weights=weights, metric=metric, tolerance=0, empty="keep", max_iterations=6
    )
    for size in SIZES:
        for seed in range(4 if size > 1 else 1):
            order = parts(points, size, seed)
            fit = gradus.kmeans_batches(
                lambda: ((points[rows], None if weights is None else weights[rows]) for rows in order), 6,
                init=points[:6], metric=metric, max_iterations=6,
            )  # fmt: skip
            assert same(fit.centroids, expected.centroids), (size, seed)
            assert (fit.counts == expected.counts).all() and fit.inertia == expected.inertia
    assert same(gradus.kmeans_predict(fit.model, points), expected.labels)


def test_means_are_those_of_fractions():
    random = np.random.default_rng(7)
    points = (random.normal(size=(400, 3)) * 10.0 ** random.integers(-150, 100, size=(400, 3))).astype("f8")
    weights = random.random(400) * 10.0 ** random.integers(-20, 20, size=400)
    batches = gradus.KMeansBatches(points[:4])
    labels = np.empty(400, int)
    for rows in parts(points, 31):
        labels[rows] = batches.add(points[rows], weights=weights[rows])
    for cluster, mean in enumerate(batches.means()):
        own = labels == cluster
        total = sum(map(Fraction, weights[own]))
        for column in range(3):
            exact = sum(Fraction(w) * Fraction(x) for w, x in zip(weights[own], points[own, column])) / total
            assert float(exact) == mean[column]  # Python rounds once, ties to even
        assert float(total) == batches.weights[cluster]


def test_merged_objects_equal_one():
    points = blobs()
    whole = gradus.KMeansBatches(points[:5])
    whole.add(points)
    total = gradus.KMeansBatches(points[:5])
    for rows in parts(points, 100):
        part = gradus.KMeansBatches(points[:5])
        part.add(points[rows])
        total.merge(part)
    assert same(total.means(), whole.means()) and total.inertia == whole.inertia
    for other, words in (
        (total, "itself"), (5, "another KMeansBatches"), (gradus.KMeansBatches(points[1:6]), "different centroids"),
        (gradus.KMeansBatches(points[:5].astype("f8")), "element types"),
        (gradus.KMeansBatches(points[:5], metric="cosine"), "different centroids"),
    ):  # fmt: skip
        with pytest.raises(gradus.UsageError, match=words):
            total.merge(other)


def test_mini_batches_keep_earlier_points():
    batches = gradus.KMeansBatches([[0.0], [10.0]])
    batches.add([[4.0], [100.0]])
    assert batches.move() == 16 + 8100
    batches.add([[40.0]])
    batches.move()
    assert batches.centroids.tolist() == [[22.0], [100.0]] and batches.counts.tolist() == [2, 1]
    batches.replace(0, [7.0])
    assert batches.counts.tolist() == [0, 1] and batches.centroids.tolist() == [[7.0], [100.0]]
    batches.forget()
    assert batches.counts.tolist() == [0, 0] and batches.inertia == 0


def test_points_of_weight_zero_are_only_counted():
    batches = gradus.KMeansBatches([[0.0], [10.0]])
    assert batches.add([[4.0], [9.0], [8.0]], weights=[0, 0, 0]).tolist() == [0, 1, 1]
    assert batches.counts.tolist() == [1, 2] and batches.weights.tolist() == [0, 0] and batches.inertia == 0
    assert batches.move() == 0
    batches.add([[1.0]], weights=[2])
    batches.move()
    assert batches.centroids.tolist() == [[1.0], [10.0]]
    with pytest.raises(gradus.InputError, match="2 weights for 1 points"):
        batches.add([[1.0]], weights=[0, 0])


def test_first_centroids_come_from_the_first_batch():
    points = blobs()
    fit = gradus.kmeans_batches(lambda: [points[:500], points[500:]], 4, seed=3)
    first = gradus.kmeans_initial_centroids(points[:500], 4, seed=3).centroids
    assert same(fit.centroids, gradus.kmeans(points, 4, init=first, tolerance=0, empty="keep").centroids)


def test_one_point_per_batch_and_types_of_other_libraries():
    points = blobs("f4", 60)
    fit = gradus.kmeans_batches(lambda: (row[None].astype("f2").tolist() for row in points), 2, init=points[:2], max_iterations=3)
    assert fit.counts.sum() == 60 and fit.centroids.dtype == np.float32


def test_record_batches_of_arrow():
    arrow = pytest.importorskip("pyarrow", minversion="14")
    points = blobs()
    table = arrow.table(list(points.T.copy()), names=list("abcde"))
    expected = gradus.kmeans(points, 6, init=points[:6], tolerance=0, empty="keep", max_iterations=6)
    for size in (101, 2000):
        fit = gradus.kmeans_batches(lambda: iter(table.to_batches(max_chunksize=size)), 6, init=points[:6], max_iterations=6)
        assert same(fit.centroids, expected.centroids) and fit.inertia == expected.inertia, size


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: gradus.kmeans_batches([blobs()], 3), gradus.UsageError, "lambda"),
        (lambda: gradus.kmeans_batches(lambda: [], 3), gradus.InputError, "no points"),
        (lambda: gradus.kmeans_batches(lambda: [np.zeros((0, 4))], 3, init=np.eye(3, 4)), gradus.InputError, "no points"),
        (lambda: gradus.kmeans_batches(lambda: [blobs()], 3, init=blobs()[:2]), gradus.UsageError, "2 centroids for 3"),
        (lambda: gradus.kmeans_batches(lambda: [(blobs(), None, 1)], 3), gradus.UsageError, "3 elements"),
        (lambda: gradus.kmeans_batches(lambda: [blobs()], 3, max_iterations=-1), gradus.UsageError, "0 or more"),
        (lambda: gradus.kmeans_batches(lambda: [blobs()], 3, metric="cos"), gradus.UsageError, "cosine"),
        (lambda: gradus.kmeans_batches(lambda: [blobs()], 3, sed=1), TypeError, "seed"),
        (lambda: gradus.KMeansBatches(np.full((2, 2), np.nan)), gradus.InputError, "row 0, column 0"),
        (lambda: gradus.KMeansBatches(np.zeros((0, 2))), gradus.InputError, "0 x 2"),
        (lambda: gradus.KMeansBatches([1.0, 2.0]), gradus.UsageError, "dimension"),
        (lambda: gradus.KMeansBatches(np.zeros((2, 2)), metric="cosine"), gradus.InputError, "zero"),
    ],
)
def test_refused_calls(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_passes_must_return_the_same_points():
    once = iter([blobs()])
    with pytest.raises(gradus.InputError, match="no points in a later pass"):
        gradus.kmeans_batches(lambda: once, 3)
    sizes = iter([100, 90])
    with pytest.raises(gradus.InputError, match="90 points in pass 2, but 100"):
        gradus.kmeans_batches(lambda: [blobs()[: next(sizes)]], 3)


def test_errors_leave_the_object_unchanged():
    points = blobs()
    batches = gradus.KMeansBatches(points[:4])
    batches.add(points)
    before = batches.means(), batches.inertia
    bad = points.copy()
    bad[700, 1] = np.nan
    with pytest.raises(gradus.InputError, match="row 700, column 1"):
        batches.add(bad)
    with pytest.raises(gradus.InputError, match="2 weights for 997 points"):
        batches.add(points, weights=[1, 2])

    def stop(_, done, total, __):
        if done == at * total:
            raise ValueError("of the caller")

    for at in (0, 1):  # the first report and the last
        with pytest.raises(ValueError, match="of the caller"):
            batches.add(points, progress=stop)
    assert same(batches.means(), before[0]) and batches.inertia == before[1]


def test_a_second_thread_is_refused_while_the_first_adds():
    batches = gradus.KMeansBatches(blobs()[:4])
    seen = []

    def meddle(*_):
        def use():
            try:
                batches.counts  # noqa: B018
            except gradus.UsageError as error:
                seen.append(str(error))

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    batches.add(blobs(), progress=meddle)
    assert seen and "in use" in seen[0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_copies_continue_with_the_same_bits(dtype, metric, weighted):
    points = blobs(dtype)
    weights = np.random.default_rng(1).random(500).astype(dtype) if weighted else None
    batches = gradus.KMeansBatches(points[:4], metric=metric)
    batches.add(points[:500], weights=weights)
    copies = [pickle.loads(pickle.dumps(batches)), copy.deepcopy(batches)]
    for each in [batches, *copies]:
        each.add(points[500:])
    for each in copies:
        assert same(each.means(), batches.means()) and each.inertia == batches.inertia
        assert (each.counts == batches.counts).all() and (each.weights == batches.weights).all()
        assert same(each.centroids, batches.centroids) and each.model.metric == metric
    with pytest.raises(gradus.UsageError, match="different centroids"):
        copies[0].move()
        copies[0].merge(batches)


def test_a_damaged_pickle_is_refused():
    element, metric, saved = gradus.KMeansBatches(blobs()[:4]).__getstate__()
    batches = gradus.KMeansBatches.__new__(gradus.KMeansBatches)
    for damaged in (saved[:-1], saved[:100] + b"?" + saved[101:], b""):
        with pytest.raises(gradus.InputError, match="KMeansBatches"):
            batches.__setstate__((element, metric, damaged))
