"""Converts arguments from every element type. Either the result is exact, or an error names the first inexact
element."""

from decimal import Decimal
from fractions import Fraction

import gradus
import numpy as np
import pytest
from scipy import sparse

ODD = 2**53 + 1  # not representable in float64
FLOAT_ODD = 2**24 + 1  # not representable in float32
ONE = np.float32([[1], [2], [4], [8]])  # four points, in float32
EYE = np.eye(4, dtype=np.float32)


def histogram(points, **options):
    found = gradus.pair_histogram(points, **{"edges": [0, 1, 4, 1e300], **options})
    return [found.counts, found.weighted, found.edges, found.below, found.beyond]


def fit(points, **options):
    found = gradus.kmeans(points, 2, **{"init": "first", **options})
    return [found.centroids, found.labels, found.inertia]


def model(X, **options):
    found = gradus.KMeans(2, random_state=0, **options).fit(X)
    return [found.cluster_centers_, found.labels_, found.inertia_]


# The name of each tested argument, with a call that passes four numbers to the argument.
OWN_TYPE = {
    "kmeans points": lambda x: fit(x.reshape(-1, 1)),
    "kmeans_initial_centroids points": lambda x: gradus.kmeans_initial_centroids(x.reshape(-1, 1), 2, init="first").centroids,
    "kmeans_predict points": lambda x: gradus.kmeans_predict([[1.0], [4.0]], x.reshape(-1, 1), return_inertia=True),
    "kmeans_transform points": lambda x: gradus.kmeans_transform([[1.0], [4.0]], x.reshape(-1, 1)),
    "pair_histogram points": lambda x: histogram(x.reshape(-1, 1)),
    "matmul a": lambda x: gradus.matmul(x, np.eye(4)),
    "matmul b": lambda x: gradus.matmul(np.eye(4), x),
    "matmul add": lambda x: gradus.matmul(np.eye(4), np.eye(4), add=x),
}
BESIDE_FLOAT32 = {
    "kmeans init": lambda x: fit(ONE, init=x.reshape(-1, 1)[1:3]),
    "kmeans weights": lambda x: fit(ONE, weights=x),
    "kmeans_initial_centroids init": lambda x: gradus.kmeans_initial_centroids(ONE, 4, init=x.reshape(-1, 1)).centroids,
    "kmeans_initial_centroids weights": lambda x: gradus.kmeans_initial_centroids(ONE, 2, weights=x).rows,
    "kmeans_predict centroids": lambda x: gradus.kmeans_predict(x.reshape(-1, 1), ONE, return_inertia=True),
    "kmeans_predict weights": lambda x: gradus.kmeans_predict(ONE[:1], ONE, weights=x, return_inertia=True),
    "kmeans_transform centroids": lambda x: gradus.kmeans_transform(x.reshape(-1, 1), ONE),
    "pair_histogram others": lambda x: histogram(ONE, others=x.reshape(-1, 1)),
    "pair_histogram weights": lambda x: histogram(ONE, weights=x),
    "pair_histogram other_weights": lambda x: histogram(ONE, others=ONE, weights=ONE.ravel(), other_weights=x),
}
FLOAT64 = {
    "pair_histogram edges": lambda x: histogram(ONE, edges=x),
    "pair_histogram box": lambda x: histogram(np.ones((3, 3)), box=x[1:], edges=[0, 0.25, 0.5]),
    "pair_histogram box_origin": lambda x: histogram(np.full((3, 3), 9.0), box=[8e15] * 3, box_origin=x[:3], edges=[0, 1]),
}
SCALARS = {
    "kmeans tolerance": lambda x: fit(ONE, tolerance=x),
    "kmeans changed": lambda x: fit(ONE, changed=x),
    "pair_histogram bin_width": lambda x: histogram(ONE, edges=None, bin_width=x, bins=4),
    "pair_histogram cutoff": lambda x: histogram(ONE, cutoff=x),
    "rdf volume": lambda x: gradus.pair_histogram(np.ones((5, 3)), bin_width=1, bins=3).rdf(x).g,
    "matmul alpha": lambda x: gradus.matmul(EYE, EYE, alpha=x),
    "matmul beta": lambda x: gradus.matmul(EYE, EYE, beta=x, add=EYE),
    "shortest_paths no_edge": lambda x: gradus.shortest_paths(np.arange(16.0).reshape(4, 4), no_edge=x).distances,
}
EXACT_TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">f4", ">f8", ">i8"]


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(np.asarray(one, np.float64), np.asarray(other, np.float64), equal_nan=True)


def refused(call, value, says=""):
    kinds = (gradus.InputError, gradus.UsageError, gradus.UnsupportedError, TypeError)
    with pytest.raises(kinds) as caught:
        call(value)
    assert says in str(caught.value), caught.value
    return str(caught.value)


@pytest.mark.parametrize("name", [*OWN_TYPE, *BESIDE_FLOAT32, *FLOAT64])
def test_numbers_that_fit_are_taken_in_every_type(name):
    call = {**OWN_TYPE, **BESIDE_FLOAT32, **FLOAT64}[name]
    numbers = np.array([1.0, 2.0, 4.0, 8.0])
    for dtype in EXACT_TYPES:
        expected = numbers != 2 if dtype == "?" else numbers
        # Skipped: booleans cannot ascend like edges, and 0 is no valid length.
        if dtype == "?" and name in ("pair_histogram edges", "pair_histogram box"):
            continue
        assert same(call(expected.astype(dtype)), call(expected.astype(np.float64))), dtype
        strided = np.repeat(expected.astype(dtype), 3)[::3]
        assert same(call(strided), call(expected.astype(np.float64))), dtype


UNFIT = {  # arrays with unsupported elements, and a part of the error message
    "int64": (np.array([1, 2, ODD, 2**60]), str(ODD)),
    ">i8": (np.array([1, 2, ODD, 2**60], ">i8"), str(ODD)),
    "uint64": (np.array([1, 2, 2**64 - 1, 4], np.uint64), str(2**64 - 1)),
    "long double": (np.array([1, 2, 3, 4], np.longdouble), "float64"),
    "complex": (np.array([1, 2, 3, 4j]), "complex128"),
    "objects": (np.array([1, 2, 3, 4], object), "int"),
    "Decimal": (np.array([Decimal(number) for number in (1, 2, 3, 4)]), "Decimal"),
    "Fraction": (np.array([Fraction(number, 3) for number in (1, 2, 3, 4)]), "Fraction"),
    "None": (np.array([1, None, 3, 4]), "None"),
    "datetime64": (np.array(["2020", "2021", "2022", "2023"], "M8[ns]"), "timedelta64(1, 's')"),
    "timedelta64": (np.array([1, 2, 3, 4], "m8[s]"), "timedelta64(1, 's')"),
    "text": (np.array(["1", "2", "3", "4"]), "astype(numpy.float64)"),
    "fields": (np.array([(1, 2.0)] * 4, [("x", "i4"), ("y", "f8")]), "structured_to_unstructured"),
}


@pytest.mark.parametrize("name", [*OWN_TYPE, *BESIDE_FLOAT32, *FLOAT64])
@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_no_float64_is_refused(name, kind):
    numbers, says = UNFIT[kind]
    call = {**OWN_TYPE, **BESIDE_FLOAT32, **FLOAT64}[name]
    message = refused(call, numbers, says)
    assert message.startswith(name.split()[1] + ": ")


@pytest.mark.parametrize("name", BESIDE_FLOAT32)
@pytest.mark.parametrize("numbers", [
    np.array([0.25, 0.1, 0.5, 1.0]), np.array([1, FLOAT_ODD, 2, 3], np.int32), np.array([1, FLOAT_ODD, 2, 3], np.uint32),
    np.array([1, FLOAT_ODD, 2, 3]), np.array([1, 1e300, 2, 3]), np.array([1, 1e-300, 2, 3]),
], ids=["f8", "i4", "u4", "i8", "large", "small"])  # fmt: skip
def test_what_is_no_float32_is_refused_beside_points_in_float32(name, numbers):
    message = refused(BESIDE_FLOAT32[name], numbers, "not exactly a float32, the type of points")
    assert "(counted from 0)" in message and "astype(numpy.float32)" in message and "float64" in message


def test_the_numbers_of_a_list_have_no_type():
    """In a list, floating-point numbers are rounded to the needed type, as in a text file. Integers must be exact."""
    weights = [0.1, 0.3, 0.7, 1.1]
    assert same(fit(ONE, weights=weights), fit(ONE, weights=np.float32(weights)))
    assert same(histogram(ONE, weights=tuple(weights)), histogram(ONE, weights=np.float32(weights)))
    centroids = [[0.1], [0.3]]
    assert same(gradus.kmeans_transform(centroids, ONE), gradus.kmeans_transform(np.float32(centroids), ONE))
    refused(lambda x: fit(ONE, weights=x), [1, 2, 3, FLOAT_ODD], str(FLOAT_ODD))
    refused(lambda x: fit(ONE, weights=x), [1, 2, 3, 1e300], "float32")


@pytest.mark.parametrize("numbers", [[[1], [ODD]], [[0.5], [ODD]], [[-1], [2**63 + 1]], [[0.5], [-ODD]], [[np.int64(ODD)], [0.5]]])
def test_integers_of_a_list_are_exact(numbers):
    refused(lambda x: gradus.kmeans(x, 1), numbers, str(max(abs(int(row[0])) for row in numbers)))
    assert gradus.kmeans([[0.5], [2.0**53]], 1).inertia > 0


def test_integers_of_data_frames_are_exact():
    pandas = pytest.importorskip("pandas")
    for column in ([ODD, 1, 2], pandas.array([ODD, 1, 2], "Int64")):
        refused(lambda x: gradus.kmeans(x, 1), pandas.DataFrame({"a": [0.5, 1, 2], "b": column}), str(ODD))
        refused(lambda x: gradus.KMeans(1).fit(x), pandas.DataFrame({"a": [0.5, 1, 2], "b": column}), str(ODD))
    assert gradus.kmeans(pandas.DataFrame({"a": [0.5, 1, 2], "b": [2**53, 1, 2]}), 1).iterations > 0
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame({"a": [0.5, 1, 2], "b": [ODD, 1, 2]}), polars.DataFrame({"a": [0.5, 1, None], "b": [ODD, 1, 2]})):
        refused(lambda x: gradus.kmeans(x, 1), frame, str(ODD))
    arrow = pytest.importorskip("pyarrow")
    refused(lambda x: gradus.kmeans(x, 1), arrow.table({"a": [0.5, 1, 2], "b": [ODD, 1, 2]}), str(ODD))
    assert gradus.kmeans(arrow.table({"a": [0.5, 1, 2], "b": [2**53, 1, 2]}), 1).iterations > 0


def test_numbers_that_are_missing_do_not_hide_integers():
    pandas = pytest.importorskip("pandas")
    refused(lambda x: gradus.kmeans(x, 1), pandas.DataFrame({"a": pandas.array([ODD, None], "Int64"), "b": [0.5, 1]}), str(ODD))
    refused(lambda x: gradus.kmeans(x, 1), pandas.Series([ODD, 1]), "reshape(-1, 1)")
    refused(lambda x: gradus.kmeans(ONE, 1, weights=x), pandas.Series(pandas.array([ODD, None, 1, 2], "Int64")), str(ODD))


@pytest.mark.parametrize("name", SCALARS)
def test_options_that_are_numbers(name):
    call = SCALARS[name]
    for number in (np.float32(0.5), np.float16(0.5), Fraction(1, 2), Decimal("0.5"), np.longdouble(0.5), np.array(0.5)):
        assert same(call(number), call(0.5)), repr(number)
    for number in (ODD, Fraction(1, 3), Decimal("0.1"), np.longdouble(1) / 3, 10**400, np.int64(ODD)):
        message = refused(call, number, name.split()[1] + ":")
        assert "float64" in message
    for number in ("0.5", 1j, [0.5, 1.0]):
        refused(call, number, "a number is needed")


def test_the_estimator_rounds_weights_and_centroids_as_scikit_learn_but_no_points():
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    weights = np.random.default_rng(1).random(50)
    assert same(model(X, init=X[:2].astype(np.float64) + 1e-9), model(X, init=X[:2]))
    fits = [gradus.KMeans(2, random_state=0).fit(X, sample_weight=given).inertia_ for given in (weights, np.float32(weights))]
    assert fits[0] == fits[1]
    whole = np.array([[1, 2], [3, 4], [ODD, 6]])
    for given in (whole, whole.astype(np.uint64), sparse.csr_array(whole), whole.tolist()):
        refused(lambda x: gradus.KMeans(1).fit(x), given, str(ODD))
        refused(lambda x: gradus.kmeans_plusplus(x, 1), given, str(ODD))
        refused(lambda x: gradus.KMeans(1).fit(X).predict(x), given, str(ODD))
    assert gradus.KMeans(1).fit(whole - 1).inertia_ > 0


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_graphs_of_every_integer_type(dtype):
    greatest = np.iinfo(dtype).max
    graph = np.array([[0, 5, greatest], [greatest, 0, 7], [1, greatest, 0]], dtype)
    found = gradus.shortest_paths(graph)
    assert found.distances.tolist() == [[0, 5, 12], [8, 0, 7], [1, 6, 0]]
    assert found.distances.dtype == ("i4" if graph.itemsize < 4 or dtype == "i4" else "i8")
    stored = sparse.coo_array((graph[graph != greatest], np.nonzero(graph != greatest)), graph.shape)
    assert gradus.shortest_paths(stored).distances.tolist() == found.distances.tolist()


def test_integers_that_a_graph_cannot_hold():
    refused(gradus.shortest_paths, np.array([[0, 2**63], [7, 0]], np.uint64), f"row 0, column 1 (counted from 0) is {2**63}")
    graph = [[0, 5], [7, 0]]
    refused(lambda x: gradus.shortest_paths(graph, sources=x), np.array([2**64 - 1], np.uint64), str(2**64 - 1))
    refused(lambda x: gradus.shortest_paths(graph, sources=x), [0.0], "integers")
    refused(lambda x: gradus.shortest_paths(graph, sources=x), [True], "integers")
    wrong = sparse.csr_array(np.ones((2, 2)))
    wrong.indices = np.array([0, 2**32 + 1, 0, 1])
    refused(gradus.shortest_paths, wrong, str(2**32 + 1))
    for kind in ("complex", "objects", "Decimal", "datetime64", "long double", "text"):
        refused(gradus.shortest_paths, np.broadcast_to(UNFIT[kind][0], (4, 4)), UNFIT[kind][1])


def test_memory_is_estimated_for_the_type_that_is_computed_in():
    for given, computed in {"i2": "f4", "?": "f4", "i8": "f8", "u4": "f8"}.items():
        assert gradus.kmeans_memory(1000, 8, 4, dtype=given) == gradus.kmeans_memory(1000, 8, 4, dtype=computed)
    refused(lambda x: gradus.kmeans_memory(1000, 8, 4, dtype=x), "c16", "complex128")


@pytest.mark.parametrize("name, numbers", [("points", np.array([[ODD], [1]])), ("weights", np.array([0.1, 0.3]))])
def test_the_program_refuses_the_same(name, numbers, tmp_path):
    """Tests that the program rejects the same numbers as the package."""
    import subprocess
    import sys

    np.save(tmp_path / "points.npy", np.array([[0.0], [1.0]], np.float32))
    np.save(tmp_path / f"{name}.npy", numbers)
    command = [sys.executable, "-m", "gradus", "kmeans", "points.npy", "-k", "1", "--quiet"]
    command += ["--weights", "weights.npy"] if name == "weights" else []
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 3 and "row 0" in run.stderr, run
