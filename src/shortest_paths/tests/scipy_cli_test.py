"""Compares `gradus shortest-paths` with SciPy on Matrix Market files of every field and symmetry. Some files have the
form that SciPy writes. Others have oddities of graph collections: comments, blank lines, blanks, capital letters,
entries on the diagonal and explicit zeros. tests/cli/run.py runs this file.
"""

import itertools
import pathlib
import random
import unittest

from kit import Case, gradus, read_npy

try:
    import numpy as np
    from scipy import sparse
    from scipy.io import mmread
    from scipy.sparse.csgraph import shortest_path
except ImportError:
    sparse = None

FIELDS = ("integer", "real", "pattern")
SYMMETRIES = ("general", "symmetric")  # a skew-symmetric matrix has negative weights, and complex weights have no order


def entries(choose, n, field, symmetry):
    """Returns distinct matrix entries as triples (row, column, weight). If the symmetry implies the upper half, all
    entries are below the diagonal."""
    places = [(row, column) for row, column in itertools.product(range(1, n + 1), repeat=2)
              if row > column or row != column and symmetry == "general"]
    weight = {"integer": lambda: choose.randint(1, 50), "real": lambda: choose.randint(1, 400) / 8, "pattern": lambda: ""}[field]
    return [(row, column, weight()) for row, column in choose.sample(places, min(len(places), 2 * n))]


def text_of(choose, n, field, symmetry, some):
    banner = f"%%MatrixMarket matrix coordinate {field} {symmetry}"
    if choose.random() < 0.3:
        banner = "%%MatrixMarket " + banner.split(" ", 1)[1].upper()
    lines = [banner] + ["% a comment"] * choose.randint(0, 2) + [f"{n} {n} {len(some)}"]
    gap = choose.choice([" ", "  ", "\t"])
    lines += [gap.join(map(str, entry)).rstrip() for entry in some]
    return choose.choice(["\n", "\r\n"]).join(lines) + "\n"


@unittest.skipIf(sparse is None, "SciPy is not installed (pip install scipy)")
class MatricesOfScipy(Case):
    def distances(self, path, *options):
        out = pathlib.Path(self.path("d"))
        result = gradus("shortest-paths", path, *options, "-o", out, "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        kind, shape, values = read_npy(out / "distances.npy")
        unreachable = {"<i4": 2**31 - 1, "<i8": 2**63 - 1}.get(kind)
        return np.array([np.inf if value == unreachable else value for value in values], float).reshape(shape)

    def compare(self, path, seed):
        matrix = sparse.csr_array(mmread(path))
        wanted = shortest_path(matrix, method="J")
        found = self.distances(path)
        self.assertTrue(np.array_equal(wanted, found), (seed, pathlib.Path(path).read_text(), wanted, found))

    def test_every_field_and_symmetry(self):
        number = 0
        for seed, field, symmetry in itertools.product(range(12), FIELDS, SYMMETRIES):
            with self.subTest(seed=seed, field=field, symmetry=symmetry):
                choose = random.Random(f"{seed} {field} {symmetry}")
                n = choose.randint(2, 12)
                some = entries(choose, n, field, symmetry)
                path = self.file("m.mtx", text_of(choose, n, field, symmetry, some))
                self.compare(path, seed)
                number += 1
        self.assertEqual(number, 12 * len(FIELDS) * len(SYMMETRIES))
