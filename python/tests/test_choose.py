"""Compares choose_clusters() with single fits and with scikit-learn's criteria."""

import gradus
import numpy as np
import pytest

NAMES = {
    "silhouette": ("silhouette_score", "silhouette"),
    "calinski-harabasz": ("calinski_harabasz_score", "calinski_harabasz"),
    "davies-bouldin": ("davies_bouldin_score", "davies_bouldin"),
    "elbow": (None, "elbow"),
}


@pytest.fixture
def groups():
    random = np.random.default_rng(6)
    centers = np.array([[0, 0, 0], [0, 9, 0], [9, 0, 2], [9, 9, 4]])
    return centers[np.arange(200) % 4] + random.normal(size=(200, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("criterion", NAMES)
def test_compares_the_fits_that_are_made_alone(groups, dtype, standardize, criterion):
    metrics = pytest.importorskip("sklearn.metrics")
    points = groups.astype(dtype)
    choice = gradus.choose_clusters(
        points, range(2, 9), criterion=criterion, standardize=standardize, seed=5, restarts=2, threads=2
    )
    assert [one.clusters for one in choice.candidates] == list(range(2, 9))
    for one in choice.candidates:
        fit = gradus.kmeans(points, one.clusters, standardize=standardize, seed=5, restarts=2)
        assert (one.inertia, one.iterations) == (fit.inertia, fit.iterations)
        rows = points.astype(np.float64)
        if standardize:
            rows = ((rows - fit.standardization.mean) / fit.standardization.scale).astype(dtype).astype(np.float64)
        for score, name in list(NAMES.values())[:3]:
            assert getattr(one, name) == pytest.approx(getattr(metrics, score)(rows, fit.labels), rel=1e-8)
        first, last = choice.candidates[0].inertia, choice.candidates[-1].inertia
        assert one.elbow == pytest.approx((first - one.inertia) / (first - last) - (one.clusters - 2) / 6, abs=1e-12)
        if one.clusters == choice.clusters:
            assert (choice.result.labels == fit.labels).all()
            assert choice.result.centroids.tobytes() == fit.centroids.tobytes()
            assert (gradus.kmeans_predict(choice.result, points) == fit.labels).all()
    for name, (_, field) in NAMES.items():
        values = [getattr(one, field) for one in choice.candidates]
        best = int(np.argmin(values) if name == "davies-bouldin" else np.argmax(values))
        assert choice.recommended[name] == choice.candidates[best].clusters
    assert choice.clusters == choice.recommended[criterion] == len(choice.result.centroids)
    assert choice.candidates[choice.chosen].clusters == choice.clusters
    assert choice.recommended["silhouette"] == 4 and choice.silhouette_points == len(points)
    assert list(choice.report.phases)[-1] == "total"


def test_criteria_that_there_are_not(groups):
    choice = gradus.choose_clusters(groups[:6], [6, 1])
    assert [one.clusters for one in choice.candidates] == [1, 6]
    assert all(one.silhouette is None and one.davies_bouldin is None for one in choice.candidates)
    assert choice.chosen == 0 and choice.recommended == dict.fromkeys(NAMES)


def test_a_sample_for_the_silhouette(groups):
    one = gradus.choose_clusters(groups, [4], silhouette_points=50, seed=1)
    other = gradus.choose_clusters(groups, [4], silhouette_points=50, seed=2, init="first")
    assert one.silhouette_points == 50
    assert one.candidates[0].silhouette != other.candidates[0].silhouette


def test_progress_says_which_fit_it_is(groups):
    told = []
    gradus.choose_clusters(groups, [2, 3], progress=lambda *words: told.append(words))
    # Some fits may be missing from the reports, because progress is reported only at intervals.
    fits = [words[1:] for words in told if words[0] == "clusters"]
    assert fits[0] == (0, 2, "k = 2") and set(fits) <= {(0, 2, "k = 2"), (1, 2, "k = 3")}


@pytest.mark.parametrize(
    "arguments, says",
    [
        (dict(clusters=4), "several integers"),
        (dict(clusters=[2, 3.5]), "several integers"),
        (dict(clusters=[]), "at least one"),
        (dict(clusters=[0, 2]), "at least 1"),
        (dict(clusters=[2, 201]), "201 clusters"),
        (dict(clusters=[2, 3], criterion="silhuette"), "did you mean 'silhouette'"),
        (dict(clusters=[2, 3], init=np.zeros((2, 3))), "several are compared"),
        (dict(clusters=[2, 3], silhouette_points=1), "at least 2 points"),
    ],
)
def test_refuses_what_cannot_be(groups, arguments, says):
    with pytest.raises(ValueError, match=says):
        gradus.choose_clusters(groups, **arguments)
