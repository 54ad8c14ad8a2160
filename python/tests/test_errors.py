"""Provokes the errors of tests/errors in Python and compares their fields with provoked.json there."""

import json
import math
import pathlib
import pickle
import re

import numpy as np
import pytest

import gradus

FIELDS = ("code", "argument", "file", "row", "column", "byte", "value", "allowed", "remedy")
NONE = 2147483647
FILE = pathlib.Path(__file__).parents[2] / "tests" / "errors" / "provoked.json"
TABLE = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []  # absent if a wheel is tested without a checkout
POINTS = np.array([[1.0, 1], [2, 2], [3, 3]])


def graph(dtype, *values):
    return np.array(values, dtype=dtype).reshape(3, 3)


PROVOCATIONS = {
    "a point that is not a number": lambda: gradus.kmeans([[1, 1], [math.nan, 2], [3, 3]], 2),
    "more clusters than points": lambda: gradus.kmeans(POINTS, 9),
    "fewer different points than clusters": lambda: gradus.kmeans(np.ones((3, 2)), 2),
    "a row without a direction": lambda: gradus.kmeans([[1.0, 1], [0, 0], [3, 1]], 2, metric="cosine"),
    "a negative weight": lambda: gradus.kmeans(POINTS, 2, weights=[1, 1, -1]),
    "two weights for three points": lambda: gradus.kmeans(POINTS, 2, weights=[1, 1]),
    "an unknown variant": lambda: gradus.kmeans(POINTS, 2, variant="nonsense"),
    "no memory": lambda: gradus.kmeans(POINTS, 2, memory_limit=1),
    "an empty cluster": lambda: gradus.kmeans([[0.0], [1.0]], 2, init=[[0.0], [9.0]], empty="error"),
    "a point outside of the box": lambda: gradus.pair_histogram(
        [[1.0, 1], [2, 2], [3, 7]], bin_width=1, bins=2, box=[5, 5]
    ),
    "bins that reach too far": lambda: gradus.pair_histogram(POINTS, bin_width=1, bins=4, box=[5, 5]),
    "an origin without a box": lambda: gradus.pair_histogram(POINTS, bin_width=1, bins=2, box_origin=[0, 0]),
    "a flat cell": lambda: gradus.pair_histogram(
        [[1.0, 1, 1], [2, 2, 2]], bin_width=1, bins=2, box=[[5, 0, 0], [0, 5, 0], [5, 5, 1e-9]]
    ),
    "a distance beyond int32": lambda: gradus.shortest_paths(
        graph(np.int32, 0, 2000000000, NONE, NONE, 0, 2000000000, NONE, NONE, 0)
    ),
    "a negative cycle": lambda: gradus.shortest_paths(graph(np.int32, 0, 1, NONE, -2, 0, NONE, NONE, NONE, 0)),
    "a weight that is not a number": lambda: gradus.shortest_paths(graph(np.float64, 0, math.nan, 1, 1, 0, 1, 1, 1, 0)),
}
CLASSES = {1: gradus.Error, 2: gradus.UsageError, 3: gradus.InputError, 4: gradus.UnsupportedError}


def test_the_table_is_complete():
    assert not TABLE or {row["name"] for row in TABLE} == set(PROVOCATIONS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["name"])
def test_fields(row):
    with pytest.raises(CLASSES[row["status"]]) as caught:
        PROVOCATIONS[row["name"]]()
    error = caught.value
    for field in ("code", "argument", "row", "column"):
        assert getattr(error, field) == row.get(field), (field, str(error))
    for field in ("value", "allowed"):
        assert field not in row or getattr(error, field) == row[field], (field, str(error))
    if "remedy" in row:
        assert error.remedy == row["remedy"]["Python"] and str(error).endswith("; " + error.remedy)
    assert re.search("--[a-z]|[A-Za-z]::", str(error)) is None, str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert [getattr(copy, field) for field in FIELDS] == [getattr(error, field) for field in FIELDS]


def test_fields_of_errors_that_python_raises():
    with pytest.raises(gradus.UsageError) as caught:
        gradus.kmeans(POINTS, 2, seed=-1)
    assert caught.value.argument == "seed"
    with pytest.raises(gradus.UsageError) as caught:
        gradus.kmeans(POINTS, 2, empty="kepe")
    assert (caught.value.code, caught.value.argument, caught.value.value) == ("unknown_choice", "empty", "kepe")
    plain = gradus.InputError("text")
    assert [getattr(plain, field) for field in FIELDS] == ["bad_input"] + 8 * [None]
