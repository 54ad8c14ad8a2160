"""Compares the means of MiniBatchKMeans with exact fractions. Compares its fits with scikit-learn's fits from the same
initial centroids."""

import copy
import pickle
from fractions import Fraction

import gradus
import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn.base
import sklearn.cluster
import sklearn.pipeline
import sklearn.preprocessing
from gradus import MiniBatchKMeans
from test_cluster import NAN, SMALL, X, assert_alike, blobs, both, fitted, outcome


def same(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def rounded(exact, dtype):
    """Rounds a fraction once, to nearest, ties to even."""
    near = dtype(float(exact))
    with np.errstate(over="ignore"):
        around = [near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))]
    even = f"u{near.itemsize}"
    return min((x for x in around if np.isfinite(x)), key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(even)) % 2))


class Reference:
    """Centroids, and the points that each centroid was ever given. The means are computed with fractions."""

    def __init__(self, centers):
        self.centers = centers.copy()
        self.given = [[] for _ in centers]

    def add(self, rows, weights):
        labels = gradus.kmeans_predict(self.centers, rows)
        for row, weight, label in zip(rows, np.ones(len(rows)) if weights is None else weights, labels):
            self.given[label].append((Fraction(float(weight)), [Fraction(float(x)) for x in row]))
        for cluster, given in enumerate(self.given):
            total = sum(weight for weight, _ in given)
            if total > 0:
                self.centers[cluster] = [
                    rounded(sum(weight * point[column] for weight, point in given) / total, self.centers.dtype.type)
                    for column in range(self.centers.shape[1])
                ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0, 12])
def test_partial_fit_gives_the_means_of_fractions(dtype, weighted, scale):
    random = np.random.default_rng(scale)
    rows = (blobs(1, 240, 3) * 10.0 ** random.integers(-scale, scale + 1, (240, 3))).astype(dtype)
    weights = (random.random(240) * 10.0 ** random.integers(-4, 4, 240)).astype(dtype) if weighted else None
    if weighted:
        weights[::7] = 0
    start = rows[[0, 50, 100, 150]]
    reference = Reference(start)
    model = MiniBatchKMeans(4, init=start, n_init=1, reassignment_ratio=0)
    for part in np.array_split(np.arange(240), 9):
        here = None if weights is None else weights[part]
        model.partial_fit(rows[part], sample_weight=here)
        reference.add(rows[part], here)
        assert same(model.cluster_centers_, reference.centers)
        assert (model.labels_ == gradus.kmeans_predict(reference.centers, rows[part])).all()
    assert model.n_steps_ == 9


def test_a_reassigned_centroid_starts_without_weight():
    near = np.arange(8.0).reshape(-1, 1)
    model = MiniBatchKMeans(2, init=[[0.0], [1000.0]], n_init=1, random_state=1).partial_fit(near)
    assert model.cluster_centers_[0] == near.mean() and model.cluster_centers_[1] in near
    before = model.cluster_centers_.copy()
    model.partial_fit(near + 100)
    to_second = gradus.kmeans_predict(before, near + 100) == 1
    assert to_second.any()
    assert model.cluster_centers_[1] == (near + 100)[to_second].mean()  # the mean does not include earlier points


def test_a_reassigned_centroid_is_not_reassigned_at_once():
    """When later reassignments are decided, a reassigned centroid counts with the smallest weight of the other
    centroids, as in scikit-learn."""
    random = np.random.default_rng(2)
    model = MiniBatchKMeans(3, init=[[0.0, 0], [1, 1], [50, 50]], n_init=1, random_state=0)
    model.partial_fit(random.random((1000, 2)))
    chosen = model.cluster_centers_[2].copy()
    assert (chosen < 1).all()
    for _ in range(3):  # no point of these batches is near the reassigned centroid
        model.partial_fit(np.vstack([model.cluster_centers_[:2] for _ in range(50)]))
        assert (model.cluster_centers_[2] == chosen).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_threads_and_variants(dtype):
    rows = blobs(3, 2000, 4, 7).astype(dtype)
    variants = [row.name for row in gradus.variants("kmeans") if row.supported and row.contract == "same bits"][-2:]
    options = [{"threads": 1}, {"threads": 1}, {"threads": 2}, {"threads": 5}, {}, *({"variant": name} for name in variants)]
    streams, fits = set(), set()
    for option in options:
        model = MiniBatchKMeans(7, init=rows[:7], n_init=1, random_state=5, **option)
        for part in np.array_split(rows, 10):
            model.partial_fit(part)
        streams.add(model.cluster_centers_.tobytes() + model.labels_.tobytes() + np.float64(model.inertia_).tobytes())
        model = MiniBatchKMeans(7, random_state=5, batch_size=100, tol=1e-3, n_init=3, **option).fit(rows)
        fits.add(model.cluster_centers_.tobytes() + model.labels_.tobytes() + bytes([model.n_iter_]))
    assert len(streams) == len(fits) == 1


# Before version 1.9, scikit-learn draws rows with equal probability and applies the weights within the batch.
draws_alike = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


@pytest.mark.skipif(not draws_alike, reason="scikit-learn older than 1.9 draws other batches")
@pytest.mark.parametrize("options", [
    {}, {"batch_size": 30}, {"batch_size": 30, "tol": 1e-3, "max_no_improvement": None}, {"max_no_improvement": 3, "batch_size": 50},
    {"max_iter": 2, "batch_size": 77}, {"batch_size": 10_000}, {"verbose": 1, "batch_size": 40}, {"compute_labels": False, "batch_size": 40},
    {"verbose": 1, "batch_size": 40, "tol": 1e-2},
])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_as_scikit_learn_from_one_start(options, weighted):
    """Both libraries draw the same batches, because `random_state` is an integer."""
    weights = np.random.default_rng(3).integers(0, 4, len(X)) if weighted else None

    def run(module):
        model = module.MiniBatchKMeans(5, init=X[:5], n_init=1, random_state=4, reassignment_ratio=0, **options)
        return model.fit(X, sample_weight=weights)

    theirs, ours = both(run)
    left, right = fitted_of(theirs), fitted_of(ours)
    assert left.keys() == right.keys()
    for name in left.keys() - {"inertia_"}:  # our inertia_ is a float, but scikit-learn's may be a numpy.float64
        assert_alike(left[name], right[name])
    assert (ours.n_steps_, ours.n_iter_) == (theirs.n_steps_, theirs.n_iter_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    if "labels_" in left:
        assert (ours.labels_ == theirs.labels_).all()


def fitted_of(estimator):
    return {name: value for name, value in fitted(estimator).items() if name != "_n_init"}


@pytest.mark.parametrize("kind", [lambda x: x, np.float32, lambda x: x.tolist(), scipy.sparse.csr_array, np.rint])
def test_partial_fit_as_scikit_learn_from_one_start(kind):
    weights = np.random.default_rng(3).integers(0, 4, len(X))

    def run(module):
        model = module.MiniBatchKMeans(5, init=kind(X[:5]) if kind is np.rint else X[:5], n_init=1, reassignment_ratio=0)
        for first in range(0, len(X), 60):
            part = slice(first, first + 60)
            model.partial_fit(kind(X[part]), sample_weight=weights[part] if first % 120 else None)
        return model

    theirs, ours = both(run)
    precision = 1e-5 if kind is np.float32 else 1e-9
    left, right = fitted_of(theirs) if hasattr(theirs, "_n_init") else {}, fitted_of(ours)
    assert left.keys() == right.keys()
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=precision, atol=precision)
    assert (ours.labels_ == theirs.labels_).all() and ours.n_steps_ == theirs.n_steps_
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=precision)


def test_fits_are_as_good():
    """Compares the inertia of fits with reassignments over many seeds. The median and the minimum must be as good as
    scikit-learn's."""
    rows = blobs(5, 1500, 2, 12)
    theirs, ours = (
        np.array([module.MiniBatchKMeans(12, random_state=seed, init="random", batch_size=64).fit(rows).inertia_ for seed in range(40)])
        for module in (sklearn.cluster, gradus)
    )
    assert np.median(ours) <= np.quantile(theirs, 0.7)
    assert ours.min() <= np.quantile(theirs, 0.2)


def test_fit_then_partial_fit_keeps_all_points():
    model = MiniBatchKMeans(1, random_state=0, batch_size=50, max_iter=2, max_no_improvement=None).fit(X)
    steps, before = model.n_steps_, model.cluster_centers_.copy()
    assert steps == 12
    model.partial_fit([[1e6, 1e6, 1e6]])
    assert model.n_steps_ == 13 and model.labels_.tolist() == [0]
    np.testing.assert_allclose(model.cluster_centers_, (before * 600 + 1e6) / 601, rtol=1e-12)


def test_copies_continue_with_the_same_bits():
    model = MiniBatchKMeans(4, random_state=0, reassignment_ratio=0.5, batch_size=60)
    for first in range(0, 180, 60):
        model.partial_fit(X[first : first + 60], sample_weight=np.arange(60) + 0.1)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    twin = sklearn.base.clone(model)
    assert twin.get_params() == model.get_params() and not hasattr(twin, "cluster_centers_")
    for first in range(180, 300, 60):
        for each in [model, *copies]:
            each.partial_fit(X[first : first + 60])
    for each in copies:
        assert same(each.cluster_centers_, model.cluster_centers_) and (each.labels_ == model.labels_).all()
        assert each.n_steps_ == model.n_steps_ == 5


def test_parameters():
    usual, ours = sklearn.cluster.MiniBatchKMeans().get_params(), MiniBatchKMeans().get_params()
    assert {name: ours[name] for name in usual} == usual
    assert set(ours) - set(usual) == {"device", "variant", "threads", "memory_limit", "stream"}
    assert repr(MiniBatchKMeans(3, tol=0.1)) == "MiniBatchKMeans(n_clusters=3, tol=0.1)"
    assert sklearn.base.is_clusterer(MiniBatchKMeans())
    with pytest.raises(TypeError, match="metric"):
        MiniBatchKMeans(3, metric="cosine")


def test_names_frames_and_pipelines():
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for method in ("fit", "partial_fit") if draws_alike else ("partial_fit",):
        theirs, ours = both(
            lambda module: getattr(
                module.MiniBatchKMeans(3, init=X[:3], n_init=1, random_state=0, reassignment_ratio=0).set_output(transform="pandas"),
                method,
            )(frame)
        )
        assert (ours.feature_names_in_ == theirs.feature_names_in_).all() and ours.n_features_in_ == 3
        assert (ours.get_feature_names_out() == theirs.get_feature_names_out()).all()
        pandas.testing.assert_frame_equal(ours.transform(frame), theirs.transform(frame))
    wrong = frame[["a", "c", "b"]]
    both(lambda module: module.MiniBatchKMeans(2).fit(frame).predict(wrong))
    both(lambda module: module.MiniBatchKMeans(2).partial_fit(frame).partial_fit(wrong))
    pipeline = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), MiniBatchKMeans(3, random_state=0))
    assert len(set(pipeline.fit_predict(X))) == 3


def test_other_states():
    for make in (lambda: np.random.RandomState(5), lambda: np.random.default_rng(5)):
        state, again = make(), make()
        first = [MiniBatchKMeans(9, random_state=state, batch_size=20).fit(X).inertia_ for _ in range(3)]
        assert first == [MiniBatchKMeans(9, random_state=again, batch_size=20).fit(X).inertia_ for _ in range(3)]
        assert len(set(first)) == 3
    assert MiniBatchKMeans(3, random_state=2**64 - 1).fit(X).inertia_ == MiniBatchKMeans(3, random_state=2**64 - 1).fit(X).inertia_


def test_the_best_of_several_starts():
    """The initial centroids with the smallest inertia on random rows are chosen."""
    starts = [X[:4] + 1e3, X[[10, 60, 110, 160]], X[:4] - 1e3]
    for n_init, best in ((1, 0), (2, 1), (3, 1)):
        queue = iter(starts)
        model = MiniBatchKMeans(4, init=lambda x, k, random_state: next(queue), n_init=n_init, max_iter=1, batch_size=1,
                                init_size=50, reassignment_ratio=0, max_no_improvement=0, random_state=0).fit(X)  # fmt: skip
        moved = (model.cluster_centers_ != starts[best]).any(axis=1)
        assert moved.sum() <= 2  # max_no_improvement=0 stops each fit after two points


def test_without_labels():
    model = MiniBatchKMeans(3, random_state=0).fit(X)
    assert hasattr(model, "labels_")
    model.set_params(compute_labels=False).fit(X)
    assert not hasattr(model, "labels_") and model.inertia_ > 0
    model.partial_fit(X[:5])
    assert not hasattr(model, "labels_") and not hasattr(model, "inertia_")
    one_step = MiniBatchKMeans(3, random_state=0, max_iter=1, compute_labels=False).fit(X)
    assert one_step.n_steps_ == 1 and one_step.inertia_ > 0


def test_sparse_batches_become_dense_one_by_one():
    rows = X * (np.abs(X) > 5)
    dense, sparse = (MiniBatchKMeans(4, init=rows[:4], n_init=1, memory_limit=100_000) for _ in range(2))
    for first in range(0, 300, 50):
        dense.partial_fit(rows[first : first + 50])
        sparse.partial_fit(scipy.sparse.csr_matrix(rows[first : first + 50]))
    assert same(dense.cluster_centers_, sparse.cluster_centers_)
    assert same(*(MiniBatchKMeans(4, random_state=1).fit(kind(rows)).cluster_centers_ for kind in (np.asarray, scipy.sparse.csc_array)))
    with pytest.raises(gradus.OutOfMemoryError, match="is sparse"):
        MiniBatchKMeans(4, memory_limit=1000).fit(scipy.sparse.csr_array(rows))


REFUSED = [
    lambda model: model(301).fit(X),
    lambda model: model(301).partial_fit(X),
    lambda model: model(0).fit(X),
    lambda model: model(batch_size=0).fit(X),
    lambda model: model(batch_size=1.5).partial_fit(X),
    lambda model: model(init_size=0).fit(X),
    lambda model: model(max_no_improvement=-1).fit(X),
    lambda model: model(reassignment_ratio=-0.1).fit(X),
    lambda model: model(compute_labels="no").fit(X),
    lambda model: model(tol=-1).fit(X),
    lambda model: model(init="best").partial_fit(X),
    lambda model: model(2, init=X[:3]).fit(X),
    lambda model: model(2, init=X[:2, :2]).partial_fit(X),
    lambda model: model(2, init=NAN[6:8]).fit(X),
    lambda model: model(2, init=lambda x, k, random_state: x[:3]).fit(X),
    lambda model: model(2).fit(NAN),
    lambda model: model(2).partial_fit(NAN),
    lambda model: model(2).fit(X).partial_fit(NAN),
    lambda model: model(2).fit(X).partial_fit(X[:, :2]),
    lambda model: model(2).fit(X[:0]),
    lambda model: model(2).partial_fit(X[:0]),
    lambda model: model(2).fit(X).partial_fit(X[:0]),
    lambda model: model(2).fit(X[0]),
    lambda model: model(2).predict(X),
    lambda model: model(2).partial_fit(X, sample_weight=np.ones(3)),
    lambda model: model(2).fit(X, sample_weight=np.full(300, np.nan)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused_alike(number):
    def run(module):
        return REFUSED[number](module.MiniBatchKMeans)

    assert outcome(run, sklearn.cluster).error is not None
    both(run)


def changed_centers(model):
    model.cluster_centers_ = model.cluster_centers_ + 1
    return model


def never_fitted():
    model = MiniBatchKMeans(2)
    model.cluster_centers_, model.n_features_in_ = X[:2], 3
    return model


REFUSED_BY_US = [
    (lambda: MiniBatchKMeans(2, device="cpuu").fit(X), ValueError, "did you mean 'cpu'"),
    (lambda: MiniBatchKMeans(2, threads=0).fit(X), ValueError, "'threads' parameter of MiniBatchKMeans"),
    (lambda: MiniBatchKMeans(2, random_state=-1).fit(X), ValueError, "'random_state' parameter of MiniBatchKMeans"),
    (lambda: MiniBatchKMeans(2, batch_size=3, random_state=0).fit(NAN), gradus.InputError, "row 7, column 2"),
    (lambda: MiniBatchKMeans(2, batch_size=3, compute_labels=False).fit(NAN), gradus.InputError, "row 7, column 2"),
    (lambda: MiniBatchKMeans(2).partial_fit(NAN), gradus.InputError, "row 7, column 2"),
    (lambda: MiniBatchKMeans(2, init=X[:2]).fit(X, sample_weight=-np.ones(300)), gradus.InputError, "weight"),
    (lambda: MiniBatchKMeans(2, init=X[:2]).fit(X, sample_weight=np.zeros(300)), ValueError, "eight"),
    (lambda: MiniBatchKMeans(2, init=X[:2]).partial_fit(X, sample_weight=-np.ones(300)), gradus.InputError, "weight"),
    (lambda: MiniBatchKMeans(2).fit(SMALL).partial_fit(X), gradus.InputError, "float32, the type of the first batch"),
    (lambda: MiniBatchKMeans(2).fit(np.array([[2**53 + 1], [1], [2]])), gradus.InputError, "9007199254740993"),
    (lambda: changed_centers(MiniBatchKMeans(2).fit(X)).partial_fit(X), gradus.UsageError, "cluster_centers_: they were changed"),
    (lambda: never_fitted().partial_fit(X), gradus.UsageError, "cluster_centers_: they were changed"),
    (lambda: MiniBatchKMeans(2, memory_limit=10).fit(X), MemoryError, "10"),
]


@pytest.mark.parametrize("number", range(len(REFUSED_BY_US)))
def test_refused_by_us(number):
    call, kind, words = REFUSED_BY_US[number]
    with pytest.raises(kind, match=words):
        call()


def test_an_error_leaves_the_model_unchanged():
    model = MiniBatchKMeans(3, random_state=0, reassignment_ratio=0).fit(X)
    twin = pickle.loads(pickle.dumps(model))
    for bad in (lambda: model.partial_fit(NAN), lambda: model.partial_fit(X[:, :2]), lambda: model.fit(NAN)):
        with pytest.raises(ValueError):
            bad()
    assert same(model.cluster_centers_, twin.cluster_centers_)
    model.partial_fit(X)
    twin.partial_fit(X)
    assert same(model.cluster_centers_, twin.cluster_centers_) and model.n_steps_ == twin.n_steps_


def test_batches_of_a_wider_or_narrower_type():
    model = MiniBatchKMeans(2, init=SMALL[:2], n_init=1).partial_fit(SMALL)
    model.partial_fit(SMALL.astype(np.float64)).partial_fit(np.ones((3, 3), int))
    assert model.cluster_centers_.dtype == np.float32 and model.n_steps_ == 3
    model = MiniBatchKMeans(2, init=X[:2], n_init=1).partial_fit(X).partial_fit(SMALL)
    assert model.cluster_centers_.dtype == np.float64
