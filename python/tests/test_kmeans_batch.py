"""Tests gradus.kmeans_batch() and gradus.kmeans_encode() against separate calls."""

import numpy as np
import pytest

import gradus

POINTS = np.random.default_rng(1).normal(size=(6, 120, 8)).astype(np.float32)
NAN = POINTS.copy()
NAN[[2, 4], 7, 3] = np.nan


def assert_separate(batch, points, clusters, **options):
    assert len(batch.inertia) == len(points)
    for problem, rows in enumerate(points):
        each = {name: value[problem] if name in ("weights", "init") and not isinstance(value, str) else value for name, value in options.items()}
        one = gradus.kmeans(rows, clusters, **each)
        assert batch.centroids[problem].tobytes() == one.centroids.tobytes()
        assert batch.labels[problem].tobytes() == one.labels.tobytes()
        assert (batch.counts[problem] == one.counts).all()
        assert batch.inertia[problem] == one.inertia
        assert batch.iterations[problem] == one.iterations and batch.converged[problem] == one.converged
        model = batch.model(problem)
        assert model.metric == one.model.metric
        assert "balanced" in options or gradus.kmeans_predict(model, rows).tobytes() == one.labels.tobytes()


VIEWS = {
    "contiguous": POINTS, "every other problem": POINTS[::2], "reversed": POINTS[::-1], "columns": POINTS[:, :, 2:7],
    "every third row": POINTS[:, ::3], "interleaved": np.ascontiguousarray(POINTS.transpose(1, 0, 2)).transpose(1, 0, 2),
    "repeated": np.broadcast_to(POINTS[0], (3, 120, 8)), "fortran": np.asfortranarray(POINTS), "rows reversed": POINTS[:, ::-1],
    "float64": POINTS.astype(np.float64), "float16": POINTS.astype(np.float16), "int16": (POINTS * 9).astype(np.int16),
    "uint8": (POINTS * 9 + 100).astype(np.uint8), "one problem": POINTS[:1], "one row": POINTS[:, :1], "big-endian": POINTS.astype(">f4"),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_every_problem_has_the_bits_of_a_separate_call(name):
    points = VIEWS[name]
    clusters = min(5, points.shape[1])
    for threads in (1, 3):
        assert_separate(gradus.kmeans_batch(points, clusters, threads=threads), points, clusters)


@pytest.mark.parametrize("options", [
    {"metric": "cosine"}, {"standardize": True}, {"standardize": True, "metric": "cosine"}, {"restarts": 3}, {"seed": 9}, {"init": "random"},
    {"max_iterations": 2}, {"balanced": True}, {"variant": "sequential"}, {"init": POINTS[:, :5]},
    {"weights": np.arange(720.0).reshape(6, 120) % 5}, {"tolerance": 0},
])  # fmt: skip
def test_options(options):
    assert_separate(gradus.kmeans_batch(POINTS, 5, **options), POINTS, 5, **options)


def test_weights_and_centroids_for_all_problems():
    weights, start = np.arange(120) % 3, POINTS[3, :4]
    batch = gradus.kmeans_batch(POINTS, 4, weights=weights, init=start)
    assert_separate(batch, POINTS, 4, weights=[weights] * 6, init=[start] * 6)


def test_rows_of_weight_zero_fill_up_a_problem():
    weights = np.ones((2, 120))
    weights[1, 50:] = 0
    batch = gradus.kmeans_batch(POINTS[:2], 3, weights=weights)
    assert batch.centroids[1].tobytes() == gradus.kmeans(POINTS[1, :50], 3).centroids.tobytes()


def test_views_are_not_copied():
    for name, points in VIEWS.items():
        taken, _ = gradus._arrays.batch(points, "points")
        copied = name in ("fortran", "rows reversed", "int16", "big-endian")
        assert np.shares_memory(taken, points) != copied, name


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1"])
def test_codebooks(dtype):
    vectors = (np.random.default_rng(2).normal(size=(300, 12)) * 20 + 128).astype(dtype)[:, :]
    for subspaces, clusters in ((4, 10), (1, 290), (12, 3)):
        batch = gradus.kmeans_batch(vectors, clusters, subspaces=subspaces)
        size = 12 // subspaces
        assert_separate(batch, [vectors[:, size * m : size * (m + 1)] for m in range(subspaces)], clusters)
        assert batch.codes.dtype == (np.uint8 if clusters <= 256 else np.uint16)
        assert (batch.codes == batch.labels.T).all()
        for codebooks in (batch, batch.centroids):
            codes = gradus.kmeans_encode(codebooks, vectors)
            assert codes.dtype == batch.codes.dtype and (codes == batch.codes).all()
        decoded = batch.centroids[np.arange(subspaces), batch.codes].reshape(300, 12)
        assert ((decoded - vectors.astype("f8")) ** 2).sum() == pytest.approx(batch.inertia.sum(), rel=1e-5)


def test_codes_of_standardized_codebooks():
    vectors = POINTS.reshape(720, 8)
    for metric in ("euclidean", "cosine"):
        batch = gradus.kmeans_batch(vectors, 6, subspaces=2, standardize=True, metric=metric)
        assert (gradus.kmeans_encode(batch, vectors) == batch.codes).all()


@pytest.mark.parametrize("error, words, call", [
    (gradus.UsageError, "three dimensions", lambda: gradus.kmeans_batch(POINTS[0], 3)),
    (gradus.UsageError, "two dimensions", lambda: gradus.kmeans_batch(POINTS, 3, subspaces=2)),
    (gradus.UsageError, "divisor of 8", lambda: gradus.kmeans_batch(POINTS[0], 3, subspaces=3)),
    (gradus.UsageError, "divisor of 8", lambda: gradus.kmeans_batch(POINTS[0], 3, subspaces=0)),
    (gradus.InputError, "0 problems", lambda: gradus.kmeans_batch(POINTS[:0], 3)),
    (gradus.InputError, "120 points", lambda: gradus.kmeans_batch(POINTS, 121)),
    (gradus.InputError, "points: problem 2: .*row 7, column 3", lambda: gradus.kmeans_batch(NAN, 3)),
    (gradus.InputError, "subspace 1: ", lambda: gradus.kmeans_batch(NAN[2], 3, subspaces=4)),
    (gradus.InputError, "6 x 120", lambda: gradus.kmeans_batch(POINTS, 3, weights=np.ones((5, 120)))),
    (gradus.InputError, "5 matrices for 6", lambda: gradus.kmeans_batch(POINTS, 3, init=POINTS[:5, :3])),
    (gradus.InputError, "4 x 8, but 3 x 8", lambda: gradus.kmeans_batch(POINTS, 3, init=POINTS[0, :4])),
    (gradus.UsageError, "restarts", lambda: gradus.kmeans_batch(POINTS, 3, init="first", restarts=2)),
    (gradus.UnsupportedError, "GPU", lambda: gradus.kmeans_batch(POINTS, 3, variant="cuda_naive")),
    (gradus.OutOfMemoryError, "fewer problems", lambda: gradus.kmeans_batch(POINTS, 3, memory_limit=5000)),
    (gradus.UsageError, "leave out one of the two", lambda: gradus.kmeans_batch(POINTS, 3, device="cpu", gpus=[0, 1])),
    (gradus.InputError, "8 columns, but 2 codebooks of 3 columns", lambda: gradus.kmeans_encode(np.ones((2, 4, 3)), POINTS[0])),
])  # fmt: skip
def test_errors(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_progress_and_its_exceptions():
    seen = []
    gradus.kmeans_batch(POINTS, 3, progress=lambda phase, done, total, detail: seen.append((phase, done, total)))
    assert all(call[::2] == ("problems", 6) for call in seen)

    def fail(*_):
        raise ZeroDivisionError

    large = np.random.default_rng(3).random((40, 4000, 16), dtype=np.float32)
    with pytest.raises(ZeroDivisionError):
        gradus.kmeans_batch(large, 60, tolerance=0, progress=fail)
