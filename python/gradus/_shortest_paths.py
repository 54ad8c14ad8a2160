"""All-pairs shortest paths: distances and routes between all vertices of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import InputError, UsageError
from gradus._options import Progress, RunReport, names_arguments, options_in, request

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class ShortestPathsResult:
    """Result of shortest_paths()."""

    distances: Array  #: sources x vertices, in the type of the weights
    predecessors: Array | None  #: sources x vertices of int32: the last vertex before the target; -1: none
    report: RunReport
    sources: Array | None  #: int64 source vertex of each row; None: all vertices

    @property
    def no_edge(self) -> Any:
        """The value in `distances` that means "no route": infinity, or the greatest integer of the type."""
        kind = self.distances.dtype
        return kind.type(np.inf) if kind.kind == "f" else np.iinfo(kind).max

    def route(self, source: int, target: int) -> list[int]:
        """Returns the vertices of a shortest route, both ends included. If there is no route, returns an empty list.

        Raises UsageError without predecessors, and for a vertex that is not a source or does not exist.
        """
        if self.predecessors is None:
            raise UsageError.about("route", "needs the predecessors, which shortest_paths(…, predecessors=True) finds")
        row = source
        if self.sources is not None:
            found = np.flatnonzero(self.sources == source)
            if len(found) == 0:
                raise UsageError.about("route", f"vertex {source} is none of the sources")
            row = int(found[0])
        if not 0 <= row < len(self.predecessors):
            raise UsageError.about("route", f"there is no vertex {source}; they are 0 to {len(self.predecessors) - 1}")
        return list(_core.shortest_path_route(self.predecessors[row], source, target))

    def __repr__(self) -> str:
        rows, vertices = self.distances.shape
        return f"ShortestPathsResult({rows} sources, {vertices} vertices, {self.distances.dtype}, variant={self.report.variant!r})"


def _weights(array: Array, no_edge: float | None) -> tuple[Array, float | None]:
    """Converts weights to float32, float64, int32 or int64.

    The greatest value of an integer type remains "no edge" after conversion. For booleans, False means "no edge".
    """
    kind = array.dtype
    if kind.kind not in "biu":
        return _numbers.in_type(array, "graph", None), no_edge
    if kind.kind == "b":
        return array.astype(np.int32), 0.0 if no_edge is None else no_edge
    unsigned = kind.kind == "u" and kind.itemsize == 8
    wide = np.dtype(np.int64) if unsigned else np.promote_types(kind, np.int32)
    if kind == wide and kind.isnative:
        return array, no_edge
    if kind.newbyteorder("=") == wide:
        return array.astype(wide), no_edge
    none = array == np.iinfo(kind).max
    if unsigned:
        _numbers.refuse_rounding(np.where(none, np.uint64(0), array), "graph", wide)
    weights = array.astype(wide)
    weights[none] = np.iinfo(wide).max
    return weights, no_edge


def _integers(array: Any, what: str, wanted: Any) -> Array:
    """Converts vertex numbers or row starts to the type `wanted`. Raises InputError if the conversion is not exact."""
    found = np.asarray(array)
    if found.dtype.kind not in "iu":
        raise InputError.about(what, f"the elements are of the type {found.dtype}; integers are needed")
    _numbers.refuse_rounding(found, what, np.dtype(wanted))
    return np.ascontiguousarray(found, wanted)


def _sources(sources: Any) -> Array | None:
    if sources is None:
        return None
    chosen = np.atleast_1d(np.asarray(sources))
    if chosen.ndim != 1 or len(chosen) == 0:
        raise UsageError.about("sources", f"an array of the shape {chosen.shape}; a list of one vertex or more is needed")
    if isinstance(sources, np.ma.MaskedArray) and np.ma.is_masked(sources):
        raise InputError.about("sources", "a masked array; pass sources.compressed()")
    return _integers(chosen, "sources", np.int64)


@names_arguments
def shortest_paths(
    graph: Any,
    *,
    directed: bool = True,
    unweighted: bool = False,
    predecessors: bool = False,
    sources: int | Sequence[int] | Array | None = None,
    no_edge: float | None = None,
    tile: int = 0,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> ShortestPathsResult:
    """Computes the lengths of shortest paths from all vertices, or from `sources`, to all vertices.

    * `graph`: square array of weights, row = start and column = end of an edge. `no_edge`, infinity, the greatest integer
        of the type and masked elements mean "no edge"; 0 is an edge of length 0. It may also be a sparse array of SciPy:
        its stored elements, zeros included, are the edges, and of several edges between the same vertices, the lightest
        counts.
    * `directed`: bool; False: every edge leads both ways
    * `unweighted`: bool; every edge has length 1
    * `predecessors`: bool; also compute predecessors, which route() needs
    * `sources`: int or sequence of int; None: all vertices
    * `no_edge`: float; an additional weight that means "no edge"
    * `tile`: int; side of the tiles in tiled variants; 0: the variant's choice

    The other arguments are the same as for kmeans(). Returns a ShortestPathsResult.

    Raises UsageError for invalid arguments, InputError for NaN, negative cycles and inexact conversions,
    UnsupportedError if the variant or device cannot run here, and OutOfMemoryError.

    Examples
    --------
    >>> result = gradus.shortest_paths([[0, 5, 1], [5, 0, 2], [1, 2, 0]], predecessors=True)
    >>> int(result.distances[0, 1]), result.route(0, 1)
    (3, [0, 2, 1])
    """
    call = locals()
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    chosen = _sources(sources)
    if not isinstance(directed, (bool, np.bool_)):
        raise TypeError("directed: True or False is needed")
    call.update(sources=None if chosen is None else chosen.tolist(), undirected=not directed)
    options = options_in("shortest_paths", call)
    if no_edge is not None:
        no_edge = _numbers.number(no_edge, "no_edge")
    if hasattr(graph, "tocoo") and hasattr(graph, "nnz"):
        vertices, columns = graph.shape
        if vertices != columns:
            raise InputError.about("graph", f"{vertices} rows of {columns} weights; as many rows as columns are needed")
        if vertices >= 2**31:
            raise InputError.about("graph", f"{vertices} vertices; fewer than 2^31 are needed")
        compressed = graph.format == "csr"
        edges = graph if compressed else graph.tocoo()
        weights, no_edge = _weights(np.ascontiguousarray(edges.data), no_edge)
        places = (
            _integers(edges.indptr, "graph: starts of rows", np.int64)
            if compressed
            else _integers(edges.row, "graph: rows", np.int32)
        )
        targets = _integers(edges.indices if compressed else edges.col, "graph: columns", np.int32)
        found = _core.shortest_paths_of_edges(
            compressed, vertices, places, targets, weights, {**options, "no_edge": no_edge}, running
        )
    else:
        masked = graph.mask if isinstance(graph, np.ma.MaskedArray) else None
        dense = _arrays._to_numpy(graph if masked is None else graph.data, "graph")
        if dense.ndim != 2:
            raise UsageError.about("graph", f"an array of the shape {dense.shape}; a square one is needed")
        weights, no_edge = _weights(dense, no_edge)
        if masked is not None:  # masked elements mean "no edge", as in scipy.sparse.csgraph
            none = np.inf if weights.dtype.kind == "f" else np.iinfo(weights.dtype).max
            weights = np.where(masked, weights.dtype.type(none), weights)
        found = _core.shortest_paths(_arrays.with_contiguous_rows(weights), {**options, "no_edge": no_edge}, running)
    distances, last_but_one, report = found
    return ShortestPathsResult(distances, last_but_one, RunReport(*report), chosen)
