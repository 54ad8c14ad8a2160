"""Runs the same code with KMeans, k_means and kmeans_plusplus of gradus and of scikit-learn.

MiniBatchKMeans is tested in test_mini_batches.py. scikit-learn's own tests of MiniBatchKMeans run here.
"""

import contextlib
import io
import os
import pickle
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import gradus
import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn
import sklearn.base
import sklearn.cluster
import sklearn.model_selection
import sklearn.pipeline
import sklearn.preprocessing
from sklearn.exceptions import ConvergenceWarning

SAMPLES = 300


def blobs(seed=0, samples=SAMPLES, columns=3, centers=5):
    random = np.random.default_rng(seed)
    middle = random.uniform(-20, 20, (centers, columns))
    return middle[random.integers(0, centers, samples)] + random.normal(size=(samples, columns))


@dataclass
class Outcome:
    value: Any
    error: BaseException | None
    warned: list
    printed: str


def outcome(run, module):
    text = io.StringIO()
    value = error = None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(text):
        warnings.simplefilter("always")
        try:
            value = run(module)
        except Exception as raised:
            error = raised
    return Outcome(value, error, [(entry.category, str(entry.message)) for entry in caught], text.getvalue())


def both(run):
    """Runs the code with both libraries and returns both results. Fails unless exceptions, warnings and printed lines
    agree."""
    theirs, ours = outcome(run, sklearn.cluster), outcome(run, gradus)
    if theirs.error is None:
        assert ours.error is None, repr(ours.error)
    else:
        assert isinstance(ours.error, type(theirs.error)), (theirs.error, ours.error)
        assert str(ours.error).startswith(str(theirs.error))
    assert ours.warned == theirs.warned
    assert re.sub(r"[\d.e+-]+", "#", ours.printed) == re.sub(r"[\d.e+-]+", "#", theirs.printed)
    return theirs.value, ours.value


def assert_alike(theirs, ours):
    """Compares types and shapes. Numbers may differ, because the libraries round differently."""
    assert type(ours) is type(theirs)
    if isinstance(theirs, np.ndarray):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        assert ours.flags.c_contiguous and ours.flags.writeable
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(theirs, ours):
            assert_alike(one, other)


def fitted(estimator):
    """Returns the public attributes of a fitted estimator."""
    names = [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(estimator, name) for name in sorted([*names, "_n_init", "_n_features_out"])}


def assert_same_fit(theirs, ours, precision=1e-9):
    left, right = fitted(theirs), fitted(ours)
    assert right.keys() == left.keys()
    for name in left:
        assert_alike(left[name], right[name])
    assert (right["labels_"] == left["labels_"]).all()
    assert right["n_iter_"] == left["n_iter_"]
    assert right["inertia_"] == pytest.approx(left["inertia_"], rel=precision)
    np.testing.assert_allclose(right["cluster_centers_"], left["cluster_centers_"], rtol=precision, atol=precision * 20)


KINDS = {
    "f8": lambda x: x,
    "f4": lambda x: x.astype(np.float32),
    "i4": lambda x: np.rint(x * 10).astype(np.int32),
    "i8": lambda x: np.rint(x * 10).astype(np.int64),
    "fortran": np.asfortranarray,
    "rows apart": lambda x: np.hstack([x, x])[:, : x.shape[1]],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "list": lambda x: x.tolist(),
    "data frame": lambda x: pandas.DataFrame(x, columns=[f"c{column}" for column in range(x.shape[1])]),
    "CSR matrix": scipy.sparse.csr_matrix,
    "CSR array": scipy.sparse.csr_array,
    "CSC matrix": scipy.sparse.csc_matrix,
    "CSC array": scipy.sparse.csc_array,
    "COO array": scipy.sparse.coo_array,
    "CSR f4": lambda x: scipy.sparse.csr_array(x.astype(np.float32)),
    "CSR i4": lambda x: scipy.sparse.csr_array(np.rint(x * 10).astype(np.int32)),
    "CSR i8": lambda x: scipy.sparse.csr_matrix(np.rint(x * 10).astype(np.int64)),
}


def bytes_of(source):
    parts = (source.data, source.indices) if hasattr(source, "indptr") else (source,)
    return b"".join(np.asarray(part).tobytes() for part in parts)


@pytest.mark.parametrize("tol", [0, 1e-4])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_from_one_start(kind, tol):
    x = blobs()
    x[np.abs(x) < 3] = 0
    source = KINDS[kind](x)
    before = bytes_of(source)
    start = x[[3, 50, 77, 120]] * (10 if kind[-2:] in ("i4", "i8") else 1)

    def run(module):
        model = module.KMeans(4, init=start, n_init=1, tol=tol).fit(source)
        new = source[:40] if kind != "COO array" else source
        return model, model.predict(new), model.transform(new), model.score(new), model.score(new, sample_weight=None)

    (theirs, *left), (ours, *right) = both(run)
    assert_alike(left, right)
    precision = 1e-5 if ours.cluster_centers_.dtype == np.float32 else 1e-9
    assert_same_fit(theirs, ours, precision)
    assert (left[0] == right[0]).all()
    np.testing.assert_allclose(right[1], left[1], rtol=1e-3 if precision > 1e-6 else 1e-7, atol=precision * 100)
    assert right[2:] == pytest.approx(left[2:], rel=precision)
    assert bytes_of(source) == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tol", [0, 1e-4, 1e-2])
def test_the_same_for_many_seeds(dtype, tol):
    for seed in range(100):
        random = np.random.default_rng(seed)
        columns, clusters = int(random.integers(1, 9)), int(random.integers(1, 9))
        x = blobs(seed, 200, columns, 6).astype(dtype)
        start = x[random.choice(len(x), clusters, replace=False)]
        weights = random.integers(0, 4, len(x)) if seed % 2 else None
        theirs, ours = both(
            lambda module: module.KMeans(clusters, init=start, n_init=1, tol=tol).fit(x, sample_weight=weights)
        )
        assert_same_fit(theirs, ours, 1e-5 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("options", [
    {}, {"n_clusters": 1}, {"n_clusters": 3}, {"init": "random"}, {"init": "random", "n_init": 2}, {"n_init": 4},
    {"algorithm": "elkan"}, {"copy_x": False}, {"max_iter": 1}, {"max_iter": 2, "tol": 0}, {"n_clusters": SAMPLES},
])  # fmt: skip
def test_alike_from_starts_of_their_own(options):
    x = blobs()

    def run(module):
        model = module.KMeans(random_state=3, **options)
        return model, model.fit_predict(x.copy()), model.fit_transform(x.copy())

    (theirs, *left), (ours, *right) = both(run)
    assert_alike(left, right)
    left, right = fitted(theirs), fitted(ours)
    assert left.keys() == right.keys()
    for name in left:
        assert_alike(left[name], right[name])
    assert left["_n_init"] == right["_n_init"]


def test_starts_are_as_good():
    """Averages the inertia over many seeds. Requires that the means of both libraries differ no more than chance
    explains."""
    x = blobs(5, 400, 2, 9)
    theirs, ours = (
        np.array([module.KMeans(9, random_state=seed).fit(x).inertia_ for seed in range(60)])
        for module in (sklearn.cluster, gradus)
    )
    assert ours.min() == pytest.approx(theirs.min(), rel=1e-6)
    assert np.median(ours) <= np.quantile(theirs, 0.8)


def test_both_algorithms_have_the_same_bits():
    x = blobs()
    lloyd, elkan = (gradus.KMeans(6, algorithm=name, random_state=1).fit(x) for name in ("lloyd", "elkan"))
    assert lloyd.cluster_centers_.tobytes() == elkan.cluster_centers_.tobytes() and lloyd.n_iter_ == elkan.n_iter_
    theirs, ours = both(lambda module: module.KMeans(1, algorithm="elkan", init=x[:1]).fit(x))
    assert_same_fit(theirs, ours)


def test_a_whole_number_is_the_seed():
    x = blobs()
    for seed in (0, 7, 2**32 - 1, 2**64 - 1):
        expected = gradus.kmeans(x, 5, seed=seed)
        model = gradus.KMeans(5, random_state=seed).fit(x)
        assert model.cluster_centers_.tobytes() == expected.centroids.tobytes()
        assert (model.labels_ == expected.labels).all()
        assert (model.inertia_, model.n_iter_) == (expected.inertia, expected.iterations)
    several = gradus.kmeans(x, 5, init="random", restarts=10, seed=4)
    assert gradus.KMeans(5, init="random", random_state=4).fit(x).inertia_ == several.inertia


def test_other_states_move_on():
    x = blobs(9, 300, 4, 20)

    def inertias(make):
        state = make()
        return [gradus.KMeans(20, init="random", n_init=1, random_state=state).fit(x).inertia_ for _ in range(3)]

    def of_numpy():
        np.random.seed(5)

    for make in (lambda: np.random.RandomState(5), lambda: np.random.default_rng(5), of_numpy):
        first = inertias(make)
        assert first == inertias(make) and len(set(first)) == 3


def test_threads_and_variants_have_the_same_bits():
    x = blobs().astype(np.float32)
    models = [gradus.KMeans(6, random_state=2, threads=threads).fit(x) for threads in (None, 1, 3)]
    names = [row.name for row in gradus.variants("kmeans") if row.supported and row.contract == "same bits"]
    models += [gradus.KMeans(6, random_state=2, variant=name).fit(x) for name in names]
    assert len({model.cluster_centers_.tobytes() + model.labels_.tobytes() for model in models}) == 1
    assert len({model.transform(x).tobytes() for model in models}) == 1


def test_weights():
    x = blobs()
    weights = np.random.default_rng(3).integers(0, 4, len(x))
    for given in (weights, weights.astype(np.float32), weights.tolist(), 2.5, np.int64(3)):
        theirs, ours = both(lambda module: module.KMeans(4, init=x[:4], n_init=1).fit(x, sample_weight=given))
        assert_same_fit(theirs, ours)
        scores = both(lambda module: module.KMeans(4, init=x[:4], n_init=1).fit(x).score(x, sample_weight=given))
        assert_alike(*scores)
        assert scores[1] == pytest.approx(scores[0], rel=1e-9)


def test_points_of_weight_zero_are_no_start():
    x = blobs()
    weights = np.zeros(len(x))
    weights[10:16] = 1
    heavy = {row.tobytes() for row in x[10:16]}
    for init in ("k-means++", "random"):
        for seed in range(20):
            model = gradus.KMeans(6, init=init)
            state = np.random.RandomState(seed)
            chosen = model._init_centroids(x, None, init, state, weights)
            assert {row.tobytes() for row in chosen} == heavy
    assert set(gradus.kmeans_plusplus(x, 6, sample_weight=weights, random_state=0)[1]) == set(range(10, 16))


def test_private_start():
    x = blobs()
    ones = np.ones(len(x))
    for init in ("k-means++", "random", x[:5], lambda X, n, random_state: X[random_state.permutation(len(X))[:n]]):
        for extra in ({}, {"init_size": 50}, {"n_centroids": 5}):
            for source in (x, scipy.sparse.csr_array(x)):
                if callable(init) and source is not x:
                    continue
                theirs, ours = both(
                    lambda module: module.KMeans(5, init=init)._init_centroids(
                        X=source, x_squared_norms=(x**2).sum(axis=1), init=init, random_state=np.random.RandomState(1),
                        sample_weight=ones, **extra,
                    )
                )  # fmt: skip
                assert_alike(theirs, ours)
                assert {row.tobytes() for row in ours} <= {row.tobytes() for row in x}


@pytest.mark.parametrize("n_init", ["auto", 1, 3])
def test_callable_start(n_init):
    x = blobs()
    calls = []

    def start(X, n_clusters, random_state):
        calls.append(random_state)
        return X[random_state.permutation(X.shape[0])[:n_clusters]]

    theirs, ours = both(lambda module: module.KMeans(4, init=start, n_init=n_init, random_state=6).fit(x))
    assert_same_fit(theirs, ours)
    assert len(calls) == 2 * (10 if n_init == "auto" else n_init)
    assert all(isinstance(state, np.random.RandomState) for state in calls)
    for seed in (2**40, np.random.default_rng(1)):
        gradus.KMeans(4, init=start, random_state=seed).fit(x)


@pytest.mark.parametrize("distinct", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_duplicates(distinct, weighted):
    x = np.repeat(blobs()[:distinct], 10, axis=0)
    weights = np.tile([1.0, 2.0], 5 * distinct) if weighted else None
    for init in ("k-means++", "random"):
        theirs, ours = both(lambda module: module.KMeans(4, init=init, random_state=0).fit(x, sample_weight=weights))
        assert len(set(ours.labels_)) == distinct == len(set(theirs.labels_))
        assert (ours.cluster_centers_[ours.labels_] == x).all()
        assert ours.cluster_centers_.shape == (4, 3) and ours.inertia_ == 0
        assert (ours.predict(x) == ours.labels_).all()


def test_duplicate_centroids_on_a_fixed_point():
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float).repeat(3, axis=0)
    start = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0]], float)
    theirs, ours = both(lambda module: module.KMeans(5, init=start, n_init=1).fit(x))
    assert_same_fit(theirs, ours)
    assert ours.n_iter_ == 1


def test_a_fit_that_starts_where_it_ends():
    x = blobs()
    theirs, ours = both(
        lambda module: module.KMeans(5, init=module.KMeans(5, init=x[:5], tol=0).fit(x).cluster_centers_).fit(x)
    )
    assert_same_fit(theirs, ours)
    assert ours.n_iter_ == 1


def test_an_empty_cluster_moves_as_scikit_learn_moves_it():
    x = blobs()
    start = np.vstack([x[:3], [[1e3, 1e3, 1e3]]])
    theirs, ours = both(lambda module: module.KMeans(4, init=start).fit(x))
    assert_same_fit(theirs, ours)
    assert len(set(ours.labels_)) == 4
    kept = gradus.KMeans(4, init=start, empty="keep")
    with pytest.warns(ConvergenceWarning, match=r"clusters \(3\)"):
        kept.fit(x)
    assert (kept.cluster_centers_[3] == 1e3).all()


@pytest.mark.parametrize("options", [{"tol": 0}, {"tol": 1e-2}, {"max_iter": 2}, {"n_clusters": 1}])
def test_verbose(options):
    x = blobs()
    options = {"n_clusters": 4, **options}
    both(lambda module: module.KMeans(init=x[: options["n_clusters"]], verbose=1, **options).fit(x))


def test_verbose_numbers():
    x = blobs()
    prints = [outcome(lambda module: module.KMeans(4, init=x[:4], verbose=1, tol=1e-2).fit(x), module).printed
              for module in (sklearn.cluster, gradus)]  # fmt: skip
    numbers = [np.array(re.findall(r"\d[\d.e+-]*\d", text), float) for text in prints]
    assert len(numbers[1]) > 2
    np.testing.assert_allclose(numbers[1], numbers[0], rtol=1e-6)


X = blobs()
NAN, INF = X.copy(), X.copy()
NAN[7, 2], INF[9, 1] = np.nan, -np.inf
SMALL = X.astype(np.float32)
REFUSED = [
    lambda module: module.KMeans(SAMPLES + 1).fit(X),
    lambda module: module.KMeans(0).fit(X),
    lambda module: module.KMeans("3").fit(X),
    lambda module: module.KMeans(2.5).fit(X),
    lambda module: module.KMeans(init="best").fit(X),
    lambda module: module.KMeans(init=3).fit(X),
    lambda module: module.KMeans(n_init=0).fit(X),
    lambda module: module.KMeans(n_init="many").fit(X),
    lambda module: module.KMeans(max_iter=0).fit(X),
    lambda module: module.KMeans(tol=-1).fit(X),
    lambda module: module.KMeans(verbose=-1).fit(X),
    lambda module: module.KMeans(copy_x="no").fit(X),
    lambda module: module.KMeans(algorithm="full").fit(X),
    lambda module: module.KMeans(2, init=X[:3]).fit(X),
    lambda module: module.KMeans(2, init=X[:2, :2]).fit(X),
    lambda module: module.KMeans(2, init=X[0]).fit(X),
    lambda module: module.KMeans(2, init=NAN[6:8]).fit(X),
    lambda module: module.KMeans(2, init=lambda X, n, random_state: X[:3]).fit(X),
    lambda module: module.KMeans(2, init=lambda X, n, random_state: X[:2, :1]).fit(X),
    lambda module: module.KMeans(2).fit(NAN),
    lambda module: module.KMeans(2).fit(NAN.astype(np.float32)),
    lambda module: module.KMeans(2).fit(INF),
    lambda module: module.KMeans(2).fit(scipy.sparse.csr_array(NAN)),
    lambda module: module.KMeans(2).fit(X).predict(NAN),
    lambda module: module.KMeans(2).fit(X).transform(INF),
    lambda module: module.KMeans(2).fit(X).score(NAN),
    lambda module: module.KMeans(2).predict(X),
    lambda module: module.KMeans(2).transform(X),
    lambda module: module.KMeans(2).score(X),
    lambda module: module.KMeans(2).fit(X).predict(X[:, :2]),
    lambda module: module.KMeans(2).fit(X).transform(X[:, :2]),
    lambda module: module.KMeans(2).fit(X).predict(X[0]),
    lambda module: module.KMeans(2).fit(X[0]),
    lambda module: module.KMeans(2).fit(X[None]),
    lambda module: module.KMeans(2).fit(X[:0]),
    lambda module: module.KMeans(2).fit(X[:, :0]),
    lambda module: module.KMeans(2).fit(X * 1j),
    lambda module: module.KMeans(2).fit(X.astype(str).astype(object) + "a"),
    lambda module: module.KMeans(2).fit("text"),
    lambda module: module.KMeans(2).fit(X, sample_weight=np.ones(3)),
    lambda module: module.KMeans(2).fit(X, sample_weight=np.ones((SAMPLES, 1))),
    lambda module: module.KMeans(2).fit(X, sample_weight=np.full(SAMPLES, np.nan)),
    lambda module: module.KMeans(2).fit(X).score(X, sample_weight=np.ones(3)),
    lambda module: module.KMeans(2).fit(pandas.DataFrame(X, columns=["a", "b", "c"])).predict(
        pandas.DataFrame(X, columns=["a", "c", "b"])),
    lambda module: module.k_means(X, SAMPLES + 1),
    lambda module: module.k_means(X, 2, return_n_iter="yes"),
    lambda module: module.kmeans_plusplus(X, SAMPLES + 1),
    lambda module: module.kmeans_plusplus(X, 0),
    lambda module: module.kmeans_plusplus(NAN, 2),
    lambda module: module.kmeans_plusplus(X, 2, x_squared_norms=np.ones(4)),
    lambda module: module.kmeans_plusplus(X, 2, n_local_trials=0),
    lambda module: module.kmeans_plusplus(X, 2, random_state="a"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused_alike(number):
    run = REFUSED[number]
    assert outcome(run, sklearn.cluster).error is not None
    # The messages differ for these two arguments, because Gradus accepts more values of them than scikit-learn does.
    if "random_state" in run.__code__.co_consts or "a" in run.__code__.co_consts:
        assert isinstance(outcome(run, gradus).error, type(outcome(run, sklearn.cluster).error))
    else:
        both(run)


WARNED = [
    lambda module: module.KMeans(2, init=X[:2], n_init=4).fit(X),
    lambda module: module.KMeans(2).fit(pandas.DataFrame(X, columns=["a", "b", "c"])).predict(X),
    lambda module: module.KMeans(2).fit(X).predict(pandas.DataFrame(X, columns=["a", "b", "c"])),
    lambda module: module.KMeans(1, algorithm="elkan").fit(X),
    lambda module: module.KMeans(3).fit(X[[0, 0, 1, 1]]),
]


@pytest.mark.parametrize("number", range(len(WARNED)))
def test_warned_alike(number):
    assert outcome(WARNED[number], gradus).warned
    both(WARNED[number])


REFUSED_BY_US = [
    (lambda: gradus.KMeans(2, device="cpuu").fit(X), ValueError, "did you mean 'cpu'"),
    (lambda: gradus.KMeans(2, variant="simd_gird").fit(X), ValueError, "did you mean 'simd_grid'"),
    (lambda: gradus.KMeans(2, metric="cosin").fit(X), ValueError, "'metric' parameter of KMeans"),
    (lambda: gradus.KMeans(2, empty="move").fit(X), ValueError, "'empty' parameter of KMeans"),
    (lambda: gradus.KMeans(2, threads=0).fit(X), ValueError, "'threads' parameter of KMeans"),
    (lambda: gradus.KMeans(2, random_state=2**64).fit(X), ValueError, "'random_state' parameter of KMeans"),
    (lambda: gradus.KMeans(2, random_state=-1).fit(X), ValueError, "'random_state' parameter of KMeans"),
    (lambda: gradus.KMeans(2).fit(NAN), gradus.InputError, "row 7, column 2"),
    (lambda: gradus.KMeans(2).fit(X, sample_weight=-np.ones(SAMPLES)), gradus.InputError, "weight"),
    (lambda: gradus.kmeans_plusplus(X, 3, n_local_trials=9), NotImplementedError, "3 are made for 3 clusters"),
    (lambda: gradus.KMeans(2, memory_limit=1000).fit(scipy.sparse.csr_array(X)), MemoryError, "take 7200 .* is 1000"),
    (lambda: gradus.KMeans(2).fit(scipy.sparse.csr_array((10**6, 10**5))), gradus.OutOfMemoryError,
     r"1000000 x 100000 elements take 800000000000 bytes, but there are \d+"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", REFUSED_BY_US)
def test_refused_by_us(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_functions():
    for extra in ({}, {"return_n_iter": True}, {"sample_weight": np.arange(SAMPLES)}):
        theirs, ours = both(lambda module: module.k_means(X, 4, init=X[:4], **extra))
        assert_alike(theirs, ours)
        assert (ours[1] == theirs[1]).all() and ours[2] == pytest.approx(theirs[2], rel=1e-9)
        assert ours[3:] == theirs[3:]
    for source in (X, SMALL, np.rint(X).astype(int), scipy.sparse.csr_matrix(X), scipy.sparse.csr_array(X)):
        for extra in ({}, {"n_local_trials": 3}, {"x_squared_norms": (X**2).sum(axis=1)}):
            theirs, ours = both(lambda module: module.kmeans_plusplus(source, 4, random_state=0, **extra))
            assert_alike(theirs, ours)
            rows = source[ours[1]].toarray() if scipy.sparse.issparse(source) else source[ours[1]]
            assert (rows == ours[0]).all() and len(set(ours[1])) == 4
    centers, rows = gradus.kmeans_plusplus(X, 6, random_state=8)
    again = gradus.KMeans(6, init=centers).fit(X)
    assert again.inertia_ == gradus.KMeans(6, random_state=8).fit(X).inertia_


def test_types_that_differ_between_fit_and_predict():
    model = gradus.KMeans(4, random_state=0).fit(X)
    single = gradus.KMeans(4, random_state=0).fit(SMALL)
    exact = SMALL.astype(np.float64)
    assert (model.predict(SMALL) == model.predict(exact)).all()
    assert model.transform(SMALL).tobytes() == model.transform(exact).tobytes()
    assert single.transform(exact).dtype == np.float64


def test_frames_and_pipelines():
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    theirs, ours = both(lambda module: module.KMeans(3, init=X[:3]).set_output(transform="pandas").fit(frame))
    assert (ours.feature_names_in_ == theirs.feature_names_in_).all() and ours.n_features_in_ == 3
    assert (ours.get_feature_names_out() == theirs.get_feature_names_out()).all()
    pandas.testing.assert_frame_equal(ours.transform(frame), theirs.transform(frame))
    pandas.testing.assert_frame_equal(ours.fit_transform(frame), theirs.fit_transform(frame))

    def run(module):
        pipeline = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), module.KMeans(random_state=0))
        search = sklearn.model_selection.GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 3, 4]}, cv=3)
        return search.fit(X).best_params_

    assert_alike(*both(run))


def test_copies():
    model = gradus.KMeans(3, random_state=0, metric="cosine", threads=2).fit(X)
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.labels_).all()
    twin = sklearn.base.clone(model)
    assert twin.get_params() == model.get_params() and not hasattr(twin, "labels_")
    usual = sklearn.cluster.KMeans().get_params()
    ours = gradus.KMeans().get_params()
    assert {name: ours[name] for name in usual} == usual
    assert set(ours) - set(usual) == {"metric", "empty", "standardize", "size_min", "size_max", "balanced", "quality", "quality_moves", "device", "gpus", "variant",
                                       "threads", "memory_limit", "stream"}
    assert repr(gradus.KMeans(3, tol=0.1)) == "KMeans(n_clusters=3, tol=0.1)"
    assert sklearn.base.is_clusterer(model)
    with pytest.raises(TypeError):
        gradus.KMeans(3, "random")


def test_cosine():
    model = gradus.KMeans(3, random_state=0, metric="cosine").fit(X)
    expected = gradus.kmeans(X, 3, seed=0, metric="cosine")
    assert model.inertia_ == expected.inertia
    assert (model.predict(X) == expected.labels).all()
    assert model.transform(X).tobytes() == gradus.kmeans_transform(expected.centroids, X, metric="cosine").tobytes()
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-12)


CHECKS = """
import importlib.util, sys, warnings
import gradus, sklearn.cluster
if not ARRAY_API:
    sys.modules["array_api_compat"] = None  # scikit-learn 1.6 would insist on SCIPY_ARRAY_API
from sklearn.utils.estimator_checks import check_estimator
warnings.simplefilter("ignore")
theirs, ours = (check_estimator(getattr(module, NAME)(), on_fail=None) for module in (sklearn.cluster, gradus))
no_gpu = bool(gradus.info()["why_no_gpu"])
failed = [{row["check_name"]: repr(row["exception"]) for row in rows if row["status"] == "failed"
           and not (no_gpu and "cudaErrorInsufficientDriver" in repr(row["exception"]))} for rows in (theirs, ours)]
passed = [[row["check_name"] for row in rows if row["status"] == "passed"] for rows in (theirs, ours)]
may_fail = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}
assert set(failed[1]) <= may_fail & set(failed[0]), failed
assert len(passed[1]) >= len(passed[0]) > 50, passed
assert not ARRAY_API or "check_array_api_input" in passed[1], passed[1]
if ARRAY_API and NAME == "KMeans" and not no_gpu and importlib.util.find_spec("torch") and importlib.util.find_spec("cupy"):
    skipped = [repr(row["exception"]) for row in ours if row["status"] == "skipped"]
    assert all(any(other in text for other in ("XPU", "MPS", "dpnp")) for text in skipped), skipped
"""


@pytest.mark.parametrize("array_api", [False, True])
@pytest.mark.parametrize("name", ["BisectingKMeans", "KMeans", "MiniBatchKMeans"])
def test_checks_of_scikit_learn(name, array_api):
    """Only one check may fail. It requires that a fit with weights equals a fit with repeated points, although both
    choose random initial centroids. Neither library satisfies this check."""
    variables = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    if array_api:
        variables["SCIPY_ARRAY_API"] = "1"
    code = f"NAME, ARRAY_API = {name!r}, {array_api}\n{CHECKS}"
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_tests_of_scikit_learn():
    """scikit-learn's tests of its k-means pass with the classes and functions of gradus."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "in_place_of_scikit_learn",
               "--pyargs", "sklearn.cluster.tests.test_k_means", "sklearn.cluster.tests.test_bisect_k_means"]  # fmt: skip
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": path, "SCIPY_ARRAY_API": "1", "SKLEARN_RUN_FLOAT32_TESTS": "1",
                 "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "40-45"}  # fmt: skip
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 300 and "failed" not in done.stdout, done.stdout[-1000:]


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120).stdout


def test_scikit_learn_is_loaded_when_asked_for():
    loaded = in_a_new_process(
        "import sys, gradus; before = 'sklearn' in sys.modules; assert 'KMeans' in dir(gradus); "
        "assert 'KMeans' not in gradus.__all__; gradus.KMeans; print(before, 'sklearn' in sys.modules)"
    )
    assert loaded.split() == ["False", "True"]


@pytest.mark.parametrize("there", ["None", "types.SimpleNamespace(__version__='1.5.2')"])
def test_missing_or_old_scikit_learn(there):
    said = in_a_new_process(
        f"import sys, types, gradus; sys.modules['sklearn'] = {there}\n"
        "try: gradus.KMeans\n"
        "except ImportError as error: print(error)"
    )
    assert "pip install 'scikit-learn>=1.6'" in said and "1.6" in said
    assert ("1.5.2" in said) == ("1.5.2" in there)


# Tests of callbacks, which scikit-learn supports from version 1.9.


class Listener:
    """Records the calls, and stops the fit after a given iteration."""

    def __init__(self, stop_after=None):
        self.stop_after, self.told, self.models = stop_after, [], []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, metadata=None):
        self.told.append(f"begin {context.task_name}")
        assert X is not None

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        return context.task_name == "iteration" and self.told.count("end iteration") == self.stop_after


callbacks_exist = pytest.mark.skipif(not hasattr(gradus.KMeans, "set_callbacks"), reason="scikit-learn older than 1.9")


@callbacks_exist
def test_callbacks_hear_of_every_iteration():
    x = np.random.default_rng(0).random((500, 3))
    quiet = gradus.KMeans(5, random_state=0).fit(x)
    listener = Listener()
    model = gradus.KMeans(5, random_state=0).set_callbacks(listener)
    assert model.fit(x) is model and model.n_iter_ == quiet.n_iter_ > 2
    assert model.cluster_centers_.tobytes() == quiet.cluster_centers_.tobytes()
    assert listener.told[:2] == ["setup", "begin fit"] and listener.told[-2:] == ["end fit", "teardown"]
    assert listener.told[2:-2] == ["begin iteration", "end iteration"] * quiet.n_iter_
    for number, then in enumerate(listener.models[:-1], start=1):
        expected = gradus.KMeans(5, random_state=0, max_iter=number).fit(x)
        assert then.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
        assert (then.predict(x) == expected.predict(x)).all()


@callbacks_exist
def test_a_callback_ends_the_fit():
    x = np.random.default_rng(0).random((500, 3))
    model = gradus.KMeans(5, random_state=0).set_callbacks(Listener(stop_after=2)).fit(x)
    expected = gradus.KMeans(5, random_state=0, max_iter=2).fit(x)
    assert model.n_iter_ == 2 and model.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()


@callbacks_exist
@pytest.mark.parametrize("init, n_init", [("random", 3), (lambda x, k, random_state: x[:k], 1), (lambda x, k, random_state: x[:k], 2)])
def test_callbacks_of_any_start(init, n_init):
    x = np.random.default_rng(0).random((300, 3))
    listener = Listener()
    model = gradus.KMeans(4, init=init, n_init=n_init, random_state=0).set_callbacks(listener).fit(x)
    expected = gradus.KMeans(4, init=init, n_init=n_init, random_state=0).fit(x)
    assert model.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    assert ("begin iteration" in listener.told) == (n_init == 1)
    assert listener.told[-2:] == ["end fit", "teardown"]


@callbacks_exist
def test_callbacks_in_a_pipeline():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.random.default_rng(0).random((300, 3))
    listener = Listener()
    make_pipeline(StandardScaler(), gradus.KMeans(4, random_state=0).set_callbacks(listener)).fit(x)
    assert listener.told.count("begin fit") == 1 and "end iteration" in listener.told
