"""Compares BisectingKMeans with gradus.kmeans() and with scikit-learn. scikit-learn's own tests run in test_cluster.py."""

import pickle

import gradus
import numpy as np
import pytest
import scipy.sparse
import sklearn.base
import sklearn.cluster
import sklearn.exceptions
from gradus import BisectingKMeans

X = np.random.default_rng(3).normal(size=(400, 3)) + 9 * np.random.default_rng(4).integers(0, 3, (400, 3))
STRATEGIES = ["biggest_inertia", "largest_cluster"]


def test_parameters_are_those_of_scikit_learn():
    usual, ours = sklearn.cluster.BisectingKMeans().get_params(), BisectingKMeans().get_params()
    assert {name: ours[name] for name in usual} == usual
    assert set(ours) - set(usual) == {"device", "variant", "threads", "memory_limit", "stream"}
    assert repr(BisectingKMeans(3, tol=0.1)) == "BisectingKMeans(n_clusters=3, tol=0.1)"
    assert sklearn.base.is_clusterer(BisectingKMeans())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_bits_do_not_depend_on_threads(strategy):
    models = [BisectingKMeans(20, random_state=1, bisecting_strategy=strategy, threads=threads).fit(X) for threads in (1, 2)]
    assert models[0].cluster_centers_.tobytes() == models[1].cluster_centers_.tobytes()
    assert models[0].inertia_ == models[1].inertia_
    model = pickle.loads(pickle.dumps(models[0]))
    assert (model.predict(X) == models[1].labels_).all()
    assert np.unique(model.labels_).tolist() == list(range(20))
    nearest = gradus.kmeans_predict(model.cluster_centers_, X, return_inertia=True)
    assert model.score(X) == -nearest[1]
    assert model.transform(X).tobytes() == gradus.kmeans_transform(model.cluster_centers_, X).tobytes()
    own = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.inertia_ == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_inertia_is_like_that_of_scikit_learn(strategy):
    means = [
        np.mean([module.BisectingKMeans(12, random_state=seed, bisecting_strategy=strategy).fit(X).inertia_ for seed in range(10)])
        for module in (gradus, sklearn.cluster)
    ]
    assert means[0] == pytest.approx(means[1], rel=0.05)


def test_weights_and_sparse_rows():
    weights = np.random.default_rng(5).integers(0, 4, 400)
    weighted = BisectingKMeans(6, random_state=0).fit(X, sample_weight=weights)
    labels = weighted.labels_[weights > 0]
    for label in range(6):
        rows = weights > 0
        mean = np.average(X[rows][labels == label], axis=0, weights=weights[rows][labels == label])
        assert weighted.cluster_centers_[label] == pytest.approx(mean, rel=1e-12)
    sparse = BisectingKMeans(6, random_state=0).fit(scipy.sparse.csr_array(X), sample_weight=weights)
    assert sparse.cluster_centers_.tobytes() == weighted.cluster_centers_.tobytes()


def test_few_different_rows():
    model = BisectingKMeans(4, random_state=0).fit([[0.0], [0.0], [0.0], [1.0]])
    assert sorted(model.cluster_centers_.ravel().tolist()) == [0, 0, 1, 1]
    assert model.inertia_ == 0 and set(model.labels_) == {0, 1}
    assert (model.predict([[0.2], [0.9]]) == model.labels_[[0, 3]]).all()


@pytest.mark.parametrize("n_init", [1, 3])
def test_callable_init(n_init):
    seen = []

    def first_two(rows, k, random_state):
        seen.append(rows)
        return rows[random_state.permutation(len(rows))[:k]]

    model = BisectingKMeans(5, init=first_two, n_init=n_init, random_state=2).fit(X)
    assert len(seen) == 4 * n_init and len(seen[0]) == 400 and len(seen[-1]) < 400
    assert (model.predict(X) == model.labels_).all()

    def failing(rows, k, random_state):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        BisectingKMeans(5, init=failing).fit(X)
    with pytest.raises(ValueError, match="does not match the number of clusters 2"):
        BisectingKMeans(5, init=lambda rows, k, random_state: rows[:3]).fit(X)


NAN = np.where(X == X[7, 1], np.nan, X)


@pytest.mark.parametrize("call, error, words", [
    (lambda: BisectingKMeans(500).fit(X), ValueError, "n_samples=400 should be >= n_clusters=500"),
    (lambda: BisectingKMeans(2).fit(NAN), gradus.InputError, "row 7, column 1"),
    (lambda: BisectingKMeans(2).fit(X).predict(NAN), gradus.InputError, "row 7, column 1"),
    (lambda: BisectingKMeans(2).fit(X).predict(X[:, :2]), ValueError, "2 features"),
    (lambda: BisectingKMeans(2, memory_limit=1000).fit(X), gradus.OutOfMemoryError, "memory"),
    (lambda: BisectingKMeans(2, bisecting_strategy="smallest").fit(X), ValueError, "bisecting_strategy"),
    (lambda: BisectingKMeans(2, init=X[:2]).fit(X), ValueError, "init"),
    (lambda: BisectingKMeans(2).fit(X, sample_weight=-np.ones(400)), gradus.InputError, "negative"),
    (lambda: BisectingKMeans(2).predict(X), sklearn.exceptions.NotFittedError, "not fitted"),
])  # fmt: skip
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("options", [{}, {"weights": np.arange(400) % 3}, {"metric": "cosine"}, {"standardize": True}])
def test_hierarchical_centroids(options):
    results = [gradus.kmeans(X, 40, init="hierarchical", threads=threads, **options) for threads in (1, 2)]
    assert results[0].centroids.tobytes() == results[1].centroids.tobytes()
    first = gradus.kmeans_initial_centroids(X, 40, init="hierarchical", **options)
    assert len(first.rows) == 0
    again = gradus.kmeans(X, 40, init=first.centroids, **options)
    assert again.inertia == pytest.approx(results[0].inertia, rel=1e-9)
