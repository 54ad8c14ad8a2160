"""Compares kmeans_projection() with NumPy's singular value decomposition."""

import gradus
import numpy as np
import pytest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_places_are_those_on_the_singular_vectors(dtype):
    random = np.random.default_rng(3)
    points = (random.normal(size=(400, 6)) * [9, 4, 1, 1, 0.5, 0.1] @ random.normal(size=(6, 6)) + 20).astype(dtype)
    centered = points.astype(np.float64) - points.astype(np.float64).mean(axis=0)
    _, _, directions = np.linalg.svd(centered)
    found = gradus.kmeans_projection(points)
    assert (found.rows == np.arange(400)).all() and found.places.shape == (400, 2)
    for component in (0, 1):
        expected = centered @ directions[component]
        place = found.places[:, component]
        np.testing.assert_allclose(place * np.sign(place @ expected), expected, atol=1e-3 * abs(expected).max())


def test_a_sample():
    points = np.random.default_rng(3).normal(size=(5000, 2))
    found = gradus.kmeans_projection(points, most_points=100, seed=5)
    assert 90 < len(found.rows) <= 100 and (np.diff(found.rows) > 0).all()
    assert (gradus.kmeans_projection(points, most_points=100, seed=5).places == found.places).all()
    with pytest.raises(gradus.UsageError, match="at least 1 point"):
        gradus.kmeans_projection(points, most_points=0)
    with pytest.raises(gradus.UsageError, match="two dimensions are needed"):
        gradus.kmeans_projection(points[0])
