import numpy as np
import pytest


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)


def pytest_collection_modifyitems(items):
    """What waits for parts of the library that this build does not have."""
    import gradus

    waits = ("weight_zero", "private_start", "test_duplicate", "refused_alike[48]", "warned_alike[4]", "test_functions",
             "checks_of_scikit", "tests_of_scikit")  # fmt: skip
    if not hasattr(gradus, "kmeans_initial_centroids"):
        for item in items:
            if any(name in item.nodeid for name in waits):
                item.add_marker(pytest.mark.skip(reason="needs kmeans_initial_centroids() and fewer_distinct"))
