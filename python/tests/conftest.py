import re
import signal

import gradus
import numpy as np
import pytest

# Who starts the tests in the background may have them ignore Ctrl-C, and Python then does too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def accepting_coinciding_points():
    """The argument that lets points coincide, as the error for too few different ones recommends it."""
    with pytest.raises(gradus.InputError) as refused:
        gradus.kmeans([[1.0], [1.0]], 2)
    (name, value), = re.findall(r'(\w+)="(\w+)"', refused.value.remedy)
    return {name: value}


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)
