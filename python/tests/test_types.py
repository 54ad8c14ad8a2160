import subprocess
import sys

import gradus
import numpy as np
import pytest


# The package calls functions that have no types in NumPy 2.2, the newest version for Python 3.10.
@pytest.mark.skipif(tuple(map(int, np.__version__.split(".")[:2])) < (2, 3), reason="NumPy's own types are incomplete")
def test_strict_types():
    command = [sys.executable, "-m", "mypy", "--strict", "--package", "gradus"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("call, meant", [
    (lambda: gradus.kmeans([[1.0]], 1, tolerence=0), "kmeans.*'tolerence'; did you mean 'tolerance'"),
    (lambda: gradus.kmeans_predict([[1.0]], [[1.0]], metrc="cosine"), "did you mean 'metric'"),
    (lambda: gradus.pair_histogram([[1.0]], bin_widht=1), "did you mean 'bin_width'"),
    (lambda: gradus.kmeans([[1.0]], 1, zzz=0), "'zzz', only points, clusters, init"),
    (lambda: gradus.kmeans(seed=0), "missing 2 required"),
    (lambda: gradus.kmeans([[1.0]], 1, random_state=0), "did you mean 'seed'"),
    (lambda: gradus.kmeans([[1.0]], 2.0), r"kmeans\(\): clusters: 2.0; an integer is needed$"),
    (lambda: gradus.kmeans([[1.0]], 1, metric=None), "metric: None; a string is needed$"),
    (lambda: gradus.kmeans([[1.0]], 1, memory_limit=-1), "memory_limit: -1 is out of range$"),
    (lambda: gradus.kmeans([[1.0]], 1, threads=2**63), "threads: 9223372036854775808 is out of range$"),
    (lambda: gradus.life([[1]], 1.5), r"life\(\): generations: 1.5; an integer is needed$"),
    (lambda: gradus.shortest_paths([[0.0]], directed="no"), "directed: 'no'; True or False is needed$"),
    (lambda: gradus.kmeans_memory(np.zeros((3, 3)), 1, 1), "points: a ndarray; an integer is needed$"),
])  # fmt: skip
def test_the_name_that_was_meant(call, meant):
    with pytest.raises(TypeError, match=meant):
        call()


@pytest.mark.parametrize("call, meant", [
    (lambda: gradus.kmeans([[1.0]], 1, threads=2**40), "^threads: 1099511627776 is more than the greatest number, 2147483647$"),
    (lambda: gradus.life([[1]], 2**63),
     "^generations must be an integer from 0 to 9223372036854775807, not 9223372036854775808$"),
    (lambda: gradus.life([[1]], -1), "^generations must be at least 0, not -1$"),
    (lambda: gradus.kmeans([[1.0]], 1, seed=2**64),
     "^seed must be an integer from 0 to 18446744073709551615, not 18446744073709551616$"),
    (lambda: gradus.kmeans([[1.0]], 1, restarts=-(2**70)), "^restarts must be an integer from 0 to "),
    (lambda: gradus.shortest_paths([[0.0]], tile=-1), "^tile must be at least 0, not -1$"),
    (lambda: gradus.pair_histogram([[1.0]], bin_width=-1, bins=1), "^bin_width must be greater than 0, not -1$"),
    (lambda: gradus.pair_histogram([[1.0]], bin_width=1, bins=0), "^bins must be at least 1, not 0$"),
    (lambda: gradus.life([[1]], 1, boundary="zzz"), "^boundary: there is no 'zzz', only plane, dead, torus"),
    (lambda: gradus.life([[1]], 1, rule="B9"), "B9"),
])  # fmt: skip
def test_values_are_checked_by_the_table(call, meant):
    with pytest.raises(gradus.UsageError, match=meant):
        call()
