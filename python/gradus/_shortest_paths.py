"""All-pairs shortest paths: the length of the shortest route between every two vertices of a graph, and the route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from gradus import _arrays, _core
from gradus._errors import InputError, UsageError
from gradus._options import Progress, RunReport, names_arguments, request

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class ShortestPathsResult:
    distances: Array  #: a row for each source, a column for each vertex, in the type of the weights
    predecessors: Array | None  #: likewise, in int32: the last vertex but one of the route; -1 where there is none
    report: RunReport
    sources: Array | None  #: whose rows these are, in int64; None: all vertices

    @property
    def no_edge(self) -> Any:
        """What stands among the distances where there is no route: infinity, or the type's greatest whole number."""
        kind = self.distances.dtype
        return kind.type(np.inf) if kind.kind == "f" else np.iinfo(kind).max

    def route(self, source: int, target: int) -> list[int]:
        """The vertices of the shortest route, both ends included; none where there is no route."""
        if self.predecessors is None:
            raise UsageError("route: needs the predecessors, which shortest_paths(…, predecessors=True) finds")
        row = source
        if self.sources is not None:
            found = np.flatnonzero(self.sources == source)
            if len(found) == 0:
                raise UsageError(f"route: vertex {source} is none of the sources")
            row = int(found[0])
        if not 0 <= row < len(self.predecessors):
            raise UsageError(f"route: there is no vertex {source}; they are 0 to {len(self.predecessors) - 1}")
        return list(_core.shortest_path_route(self.predecessors[row], source, target))

    def __repr__(self) -> str:
        rows, vertices = self.distances.shape
        return f"ShortestPathsResult({rows} sources, {vertices} vertices, {self.distances.dtype}, variant={self.report.variant!r})"


def _weights(array: Array, no_edge: float | None) -> tuple[Array, float | None]:
    """The weights in a type that the library has. Narrow whole numbers become wider ones, and the greatest of their
    type still is no edge; False is none either."""
    kind = array.dtype
    if kind.kind not in "biuf":
        raise InputError(f"graph: the elements are of the type {kind}; real numbers are needed")
    if kind.kind == "f":
        return _arrays._floating(array, "graph", None), no_edge
    if kind.kind == "b":
        return array.astype(np.int32), 0.0 if no_edge is None else no_edge
    if kind.kind == "u" and kind.itemsize == 8:
        raise InputError("graph: the elements are of the type uint64; int64 is the widest whole type that is taken")
    wide = np.promote_types(kind, np.int32)
    if kind == wide and kind.isnative:
        return array, no_edge
    weights = array.astype(wide)
    if kind.newbyteorder("=") != wide:
        weights[array == np.iinfo(kind).max] = np.iinfo(wide).max
    return weights, no_edge


def _indices(array: Array) -> Array:
    """Vertices, of which there are fewer than 2^31."""
    return np.ascontiguousarray(array, np.int32)


def _sources(sources: Any) -> Array | None:
    if sources is None:
        return None
    chosen = np.atleast_1d(np.asarray(sources))
    if chosen.ndim != 1 or len(chosen) == 0:
        raise UsageError(f"sources: an array of the shape {chosen.shape}; a list of one vertex or more is needed")
    if chosen.dtype.kind not in "iu":
        raise InputError(f"sources: the elements are of the type {chosen.dtype}; numbers of vertices are needed")
    return chosen.astype(np.int64)


@names_arguments
def shortest_paths(
    graph: Any,
    *,
    directed: bool = True,
    predecessors: bool = False,
    sources: int | Sequence[int] | Array | None = None,
    no_edge: float | None = None,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> ShortestPathsResult:
    """The shortest paths from all vertices, or from `sources`, to all others.

    `graph`: a square array, in which `no_edge`, infinity and the greatest number of a whole type stand for no edge, and
    0 is an edge of length 0; or a sparse array of SciPy, whose stored elements are the edges, zeros too, and of two in
    the same place the lighter one. `directed=False`: each edge may be gone both ways.
    """
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    chosen = _sources(sources)
    rows = [] if chosen is None else chosen.tolist()
    if no_edge is not None:
        no_edge = float(no_edge)
    if hasattr(graph, "tocoo") and hasattr(graph, "nnz"):
        vertices, columns = graph.shape
        if vertices != columns:
            raise InputError(f"graph: {vertices} rows of {columns} weights; as many rows as columns are needed")
        if vertices >= 2**31:
            raise InputError(f"graph: {vertices} vertices; fewer than 2^31 are needed")
        compressed = graph.format == "csr"
        edges = graph if compressed else graph.tocoo()
        weights, no_edge = _weights(np.ascontiguousarray(edges.data), no_edge)
        places = np.ascontiguousarray(edges.indptr, np.int64) if compressed else _indices(edges.row)
        targets = _indices(edges.indices if compressed else edges.col)
        found = _core.shortest_paths_of_edges(
            compressed, vertices, places, targets, weights, directed, predecessors, rows, no_edge, running
        )
    else:
        dense = _arrays._to_numpy(graph, "graph")
        if dense.ndim != 2:
            raise UsageError(f"graph: an array of the shape {dense.shape}; a square one is needed")
        weights, no_edge = _weights(dense, no_edge)
        found = _core.shortest_paths(_arrays.in_rows(weights), directed, predecessors, rows, no_edge, running)
    distances, last_but_one, report = found
    return ShortestPathsResult(distances, last_but_one, RunReport(*report), chosen)
