import signal

import numpy as np
import pytest

# Who starts the tests in the background may have them ignore Ctrl-C, and Python then does too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)
