import os
import re
import signal
import sys

import gradus
import numpy as np
import pytest

# The program's tests share the module torchrun with these tests.
sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "tests", "cli"))

# A shell may start a background job with SIGINT ignored. Python would then also ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)


def accepting_coinciding_points():
    """Returns the argument that permits fewer distinct points than clusters. The error that recommends this argument
    provides its name and value."""
    with pytest.raises(gradus.InputError) as refused:
        gradus.kmeans([[1.0], [1.0]], 2)
    (name, value), = re.findall(r'(\w+)="(\w+)"', refused.value.remedy)
    return {name: value}


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)
