import pickle
import subprocess
import sys

import gradus
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

HERE = [row for row in gradus.variants("shortest_paths") if row.supported]


def weights(vertices=60, edges=240, seed=1):
    """Returns a graph with edge lengths 0 to 99, in int32; its greatest value means "no edge"."""
    random = np.random.default_rng(seed)
    matrix = np.full((vertices, vertices), np.iinfo(np.int32).max, np.int32)
    matrix[random.integers(vertices, size=edges), random.integers(vertices, size=edges)] = random.integers(100, size=edges)
    return matrix


def floyd_warshall(matrix):
    distances = np.where(matrix == np.iinfo(np.int32).max, np.inf, matrix)
    np.fill_diagonal(distances, 0)
    for middle in range(len(matrix)):
        distances = np.minimum(distances, distances[:, middle, None] + distances[middle])
    return distances


def finite(result):
    return np.where(result.distances == result.no_edge, np.inf, result.distances)


@pytest.mark.parametrize("row", HERE, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_every_variant(row, dtype):
    matrix = weights()
    expected = floyd_warshall(matrix)
    given = np.where(matrix == matrix.max(), np.inf, matrix) if dtype[0] == "f" else matrix
    graph = given.astype(dtype)
    if dtype == "i8":
        graph[matrix == matrix.max()] = np.iinfo(np.int64).max
    for threads in (1, 3):
        result = gradus.shortest_paths(graph, predecessors=True, variant=row.name, threads=threads)
        assert result.report.variant == row.name
        assert result.distances.dtype == dtype and result.predecessors.dtype == np.int32
        assert (finite(result) == expected).all()  # integers below 2^24 are exact in every type
        for source, target in [(0, 7), (3, 59), (20, 41), (5, 5)]:
            route = result.route(source, target)
            assert bool(route) == np.isfinite(expected[source, target])
            if route:
                assert route[0] == source and route[-1] == target
                assert sum(matrix[step] for step in zip(route, route[1:])) == expected[source, target]


def test_there_are_variants():
    assert len(HERE) >= 5


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array", "lil_array", "dok_array"])
def test_sparse_arrays_with_explicit_zeros(form):
    matrix = weights()
    rows, columns = np.nonzero(matrix != matrix.max())
    listed = sparse.coo_array((matrix[rows, columns], (rows, columns)), matrix.shape)
    assert (listed.data == 0).any()
    if form in ("lil_array", "dok_array"):  # these formats drop stored zeros
        listed.data[listed.data == 0] = 1
        matrix[matrix == 0] = 1
    graph = getattr(sparse, form)(listed)
    before = graph.copy()
    result = gradus.shortest_paths(graph, predecessors=True)
    dense = gradus.shortest_paths(matrix, predecessors=True)
    assert result.distances.tobytes() == dense.distances.tobytes()
    assert result.predecessors.tobytes() == dense.predecessors.tobytes()
    assert (before != graph).nnz == 0


def test_of_edges_in_one_place_the_lighter_counts():
    edges = ([5, 3, 9], ([0, 0, 1], [1, 1, 2]))
    for graph in (sparse.coo_array(edges, (3, 3)), sparse.csr_array(([5, 3, 9], [1, 1, 2], [0, 2, 3, 3]), (3, 3))):
        assert gradus.shortest_paths(graph).distances[0].tolist() == [0, 3, 12]


def test_as_scipy_finds_them():
    graph = sparse.random_array((80, 80), density=0.05, rng=np.random.default_rng(3), format="csr")
    for directed in (True, False):
        ours = gradus.shortest_paths(graph, directed=directed)
        np.testing.assert_allclose(ours.distances, csgraph.shortest_path(graph, directed=directed), rtol=1e-12)


def test_sources():
    matrix = weights()
    whole = gradus.shortest_paths(matrix, predecessors=True)
    some = gradus.shortest_paths(matrix, predecessors=True, sources=[17, 3])
    assert some.distances.tobytes() == whole.distances[[17, 3]].tobytes()
    assert some.route(3, 9) == whole.route(3, 9) and some.sources.tolist() == [17, 3]
    one = gradus.shortest_paths(matrix, sources=np.int64(4))
    assert one.distances.tobytes() == whole.distances[[4]].tobytes() and one.predecessors is None
    with pytest.raises(gradus.UsageError, match="none of the sources"):
        some.route(4, 9)


def test_what_is_no_edge():
    graph = np.array([[0, 7, 255], [255, 0, 1], [2, 255, 0]], np.uint8)
    small = gradus.shortest_paths(graph)
    assert small.distances.dtype == np.int32 and small.distances.tolist() == [[0, 7, 8], [3, 0, 1], [2, 9, 0]]
    linked = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    result = gradus.shortest_paths(linked)
    none = np.iinfo(np.int32).max
    assert result.no_edge == none and result.distances.tolist() == [[0, 1, 2], [none, 0, 1], [none, none, 0]]
    zero = gradus.shortest_paths(linked.astype(float), no_edge=0)
    assert zero.distances.tolist() == [[0, 1, 2], [np.inf, 0, 1], [np.inf, np.inf, 0]] and zero.no_edge == np.inf
    assert gradus.shortest_paths(linked.astype(float)).distances.max() == 0


def test_any_host_array(tmp_path):
    matrix = weights()
    expected = gradus.shortest_paths(matrix).distances.tobytes()
    wide = np.zeros((60, 70), np.int32)
    wide[:, :60] = matrix
    np.save(tmp_path / "graph.npy", matrix)
    for graph in (wide[:, :60], np.asfortranarray(matrix), matrix.astype(">i4"), np.load(tmp_path / "graph.npy", mmap_mode="r")):
        assert gradus.shortest_paths(graph).distances.tobytes() == expected


def test_the_program_has_the_same_bits(tmp_path):
    np.save(tmp_path / "graph.npy", weights())
    command = [sys.executable, "-m", "gradus", "shortest-paths", "graph.npy", "--predecessors", "-o", "out", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    result = gradus.shortest_paths(weights(), predecessors=True)
    assert np.load(tmp_path / "out" / "distances.npy").tobytes() == result.distances.tobytes()
    assert np.load(tmp_path / "out" / "predecessors.npy").tobytes() == result.predecessors.tobytes()


def test_result_is_frozen_and_pickles():
    result = gradus.shortest_paths(weights(), predecessors=True)
    with pytest.raises(AttributeError):
        result.distances = None
    again = pickle.loads(pickle.dumps(result))
    assert again.route(0, 7) == result.route(0, 7) and len(repr(result)) < 120 and "60 vertices" in repr(result)


def test_no_vertices():
    assert gradus.shortest_paths(np.zeros((0, 0)), predecessors=True).predecessors.shape == (0, 0)


CYCLE = np.array([[0, 1.0], [-2, 0]])
SQUARE = np.zeros((3, 3))
BAD = [
    (lambda: gradus.shortest_paths(np.zeros((2, 3))), gradus.Error, "2 x 3|rows"),
    (lambda: gradus.shortest_paths(np.zeros(3)), gradus.UsageError, r"\(3,\)"),
    (lambda: gradus.shortest_paths(SQUARE * 1j), gradus.InputError, "complex128"),
    (lambda: gradus.shortest_paths(SQUARE.astype(object)), gradus.InputError, "object"),
    (lambda: gradus.shortest_paths(np.where(np.eye(3), np.nan, 1)), gradus.InputError, "row 0, column 0|0"),
    (lambda: gradus.shortest_paths(CYCLE), gradus.InputError, "negative cycle"),
    (lambda: gradus.shortest_paths(SQUARE, no_edge=np.nan), gradus.UsageError, "NaN|nan"),
    (lambda: gradus.shortest_paths(SQUARE.astype(int), no_edge=2**60), gradus.UsageError, "no edge|no_edge"),
    (lambda: gradus.shortest_paths(SQUARE, sources=[3]), gradus.UsageError, "3"),
    (lambda: gradus.shortest_paths(SQUARE, sources=[]), gradus.UsageError, "sources"),
    (lambda: gradus.shortest_paths(SQUARE, sources=[0.5]), gradus.InputError, "float64"),
    (lambda: gradus.shortest_paths(SQUARE, variant="sequentail"), gradus.UsageError, "did you mean 'sequential'"),
    (lambda: gradus.shortest_paths(sparse.csr_array((2, 3))), gradus.InputError, "2 rows of 3"),
    (lambda: gradus.shortest_paths(SQUARE).route(0, 1), gradus.UsageError, "predecessors=True"),
    (lambda: gradus.shortest_paths(SQUARE, predecessors=True).route(5, 1), gradus.UsageError, "vertex 5"),
    (lambda: gradus.shortest_paths(SQUARE, predecessors=True).route(0, 9), gradus.UsageError, "9"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", BAD)
def test_bad_input(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_negative_cycle_names_its_vertices():
    with pytest.raises(gradus.InputError, match="0.*1|1.*0"):
        gradus.shortest_paths(CYCLE)


def test_the_named_argument_that_was_meant():
    with pytest.raises(TypeError, match="did you mean 'predecessors'"):
        gradus.shortest_paths(SQUARE, predecesors=True)


def test_exceptions_of_progress_come_out():
    def stop(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        gradus.shortest_paths(np.random.default_rng(0).random((1500, 1500)), device="cpu", threads=1, progress=stop)


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u8", "f4", "f8", "?"])
def test_masked_elements_are_no_edges(dtype):
    lengths = np.array([[0, 1, 9], [9, 0, 2], [3, 9, 0]]).astype(dtype)
    masked = np.ma.masked_array(lengths, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    found = gradus.shortest_paths(masked, predecessors=True)
    expected = [[0, 1, 2], [2, 0, 1], [1, 2, 0]] if dtype == "?" else [[0, 1, 3], [5, 0, 2], [3, 4, 0]]
    assert found.distances.tolist() == expected and found.route(1, 0) == [1, 2, 0]
    assert gradus.shortest_paths(np.ma.masked_array([[0.0, np.nan], [1.0, 0.0]], [[0, 1], [0, 0]])).distances.tolist() == [[0, np.inf], [1, 0]]


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("directed", [True, False])
def test_unweighted(dtype, directed):
    matrix = weights()
    none = matrix == matrix.max()
    expected = floyd_warshall(np.where(none & (directed | none.T), matrix.max(), 1))
    edges = sparse.coo_array((matrix[~none].astype(dtype), np.nonzero(~none)), matrix.shape)
    graph = matrix.astype(dtype)
    graph[none] = np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    for given in (graph, edges, sparse.csr_array(edges)):
        assert (finite(gradus.shortest_paths(given, unweighted=True, directed=directed)) == expected).all()
    sources = gradus.shortest_paths(graph, unweighted=True, directed=directed, sources=[7, 3])
    assert (finite(sources) == expected[[7, 3]]).all()
