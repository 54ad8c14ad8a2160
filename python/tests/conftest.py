import numpy as np
import pytest


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)
