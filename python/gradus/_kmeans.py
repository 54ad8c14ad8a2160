"""k-means clustering: Lloyd's algorithm, exact and reproducible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from gradus import _arrays, _core
from gradus._errors import UsageError
from gradus._gpu import OnGpu
from gradus._options import MemoryEstimate, Progress, RunReport, names_arguments, request, stream_number

Array = np.ndarray[Any, Any]

_LABEL = np.dtype(np.int32)


class KMeansIteration(NamedTuple):
    """One iteration: the assignment to the centroids of the iteration before, and the update that followed."""

    inertia: float
    changed: int
    shift: float
    seconds: float


@dataclass(frozen=True, eq=False)
class KMeansInitialCentroids:
    """What a fit begins with. For points on a GPU the arrays are of their library, there."""

    centroids: Array  #: clusters x d, in the type of the points; with metric="cosine" of unit length
    rows: Array  #: of the points, one for each centroid, in int64; empty where the centroids were given
    report: RunReport


@dataclass(frozen=True, eq=False, repr=False)
class KMeansResult:
    """For points on a GPU centroids and labels are arrays of their library, there."""

    centroids: Array  #: clusters x d, in the type of the points
    labels: Array  #: n of int32; each point's nearest of `centroids`
    counts: Array  #: points per cluster under `labels`
    inertia: float  #: of `labels` and `centroids`
    iterations: int
    converged: bool  #: stopped for any reason but the iteration limit
    stop_reason: str
    history: tuple[KMeansIteration, ...]
    restart: int  #: which of the restarts won
    report: RunReport

    @property
    def threads(self) -> int:
        return self.report.threads

    @property
    def variant(self) -> str:
        return self.report.variant

    def __repr__(self) -> str:
        clusters, dimensions = self.centroids.shape
        return (
            f"KMeansResult({len(self.labels)} points, {clusters} centroids of {dimensions} columns, "
            f"inertia={self.inertia:.6g}, iterations={self.iterations}, stop_reason={self.stop_reason!r}, "
            f"variant={self.report.variant!r})"
        )


def _numbers_fit(**numbers: int) -> None:
    for name, number in numbers.items():
        if not -(2**31) <= number < 2**31:
            raise UsageError(f"{name}: {number} is out of range")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise UsageError(f"seed: {seed}; a whole number from 0 to 2^64 - 1 is needed")


def _init(init: Any, dtype: np.dtype[Any], stream: int | None) -> tuple[str, _arrays.Placed]:
    """The name of the method, and the centroids where they are given."""
    if not isinstance(init, str):
        return "given", _arrays.matrix(init, "init", dtype, stream)
    if init == "given":
        raise UsageError("init: there is no 'given': pass the array of centroids itself")
    return init, None


def _weights(
    weights: Any, rows: _arrays.Placed, stream: int | None, **others: _arrays.Placed
) -> _arrays.Placed:
    """One number for each row, beside the rows or in host memory. `others`: what else a job reads, on the same GPU."""
    weighed = None if weights is None else _arrays.vector(weights, "weights", rows.dtype, stream)
    if isinstance(weighed, OnGpu) and not isinstance(rows, OnGpu):
        _arrays.refuse_place("weights", weighed, "points", rows)
    _arrays.on_one_gpu(points=rows, weights=weighed, **others)
    return weighed


@names_arguments
def kmeans(
    points: Any,
    clusters: int,
    *,
    init: Any = "k-means++",
    weights: Any = None,
    restarts: int = 1,
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    changed: float = 0.0,
    empty: str = "relocate",
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    seed: int = 0,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> KMeansResult:
    """Clusters the rows of `points`. `init`: "k-means++", "k-means||", "random", "first" or an array of centroids.

    `fewer_distinct`: what happens where there are fewer different points than clusters. "error", or "accept": the surplus
    clusters repeat a centroid and have no points.
    """
    _check_seed(seed)
    _numbers_fit(restarts=restarts, max_iterations=max_iterations)
    stream = stream_number(stream)
    rows = _arrays.matrix(points, "points", None, stream)
    init, given = _init(init, rows.dtype, stream)
    weighed = _weights(weights, rows, stream, init=given)
    labels = _arrays.new((len(rows),), _LABEL, rows, stream)
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    centroids, counts, inertia, iterations, converged, stop_reason, history, restart, report = _core.kmeans(
        rows, labels, clusters, init, given, weighed, restarts, max_iterations, tolerance, changed, empty, fewer_distinct,
        metric, seed, running,
    )  # fmt: skip
    return KMeansResult(
        _arrays.come_out(centroids, rows),
        _arrays.come_out(labels, rows),
        counts,
        inertia,
        iterations,
        converged,
        stop_reason,
        tuple(map(KMeansIteration._make, history)),
        restart,
        RunReport(*report),
    )


@names_arguments
def kmeans_initial_centroids(
    points: Any,
    clusters: int,
    *,
    init: Any = "k-means++",
    weights: Any = None,
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    seed: int = 0,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> KMeansInitialCentroids:
    """The centroids with which kmeans() of the same arguments begins its first fit, and the rows that they are."""
    _check_seed(seed)
    stream = stream_number(stream)
    rows = _arrays.matrix(points, "points", None, stream)
    init, given = _init(init, rows.dtype, stream)
    weighed = _weights(weights, rows, stream, init=given)
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    centroids, chosen, report = _core.kmeans_initial_centroids(
        rows, clusters, init, given, weighed, fewer_distinct, metric, seed, running
    )
    return KMeansInitialCentroids(
        _arrays.come_out(centroids, rows), _arrays.come_out(chosen, rows), RunReport(*report)
    )


@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str = ..., out: Array | None = ...,
    return_inertia: Literal[False] = ..., device: str = ..., variant: str | None = ..., threads: int | None = ...,
    pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
    progress: Progress | None = ...,
) -> Array: ...  # fmt: skip
@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str = ..., out: Array | None = ...,
    return_inertia: Literal[True], device: str = ..., variant: str | None = ..., threads: int | None = ...,
    pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
    progress: Progress | None = ...,
) -> tuple[Array, float]: ...  # fmt: skip
@names_arguments
def kmeans_predict(
    centroids: Any,
    points: Any,
    *,
    weights: Any = None,
    metric: str = "euclidean",
    out: Array | None = None,
    return_inertia: bool = False,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> Array | tuple[Array, float]:
    """The nearest centroid of each row of `points`, in int32; with `return_inertia` also the inertia, to which each
    point contributes as much as its weight says."""
    stream = stream_number(stream)
    rows = _arrays.matrix(points, "points", None, stream)
    means = _arrays.matrix(centroids, "centroids", rows.dtype, stream)
    weighed = _weights(weights, rows, stream, centroids=means)
    read = (rows, means) if weighed is None else (rows, means, weighed)
    labels = _arrays.output(out, (len(rows),), _LABEL, *read, stream=stream)
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    inertia, _ = _core.kmeans_predict(means, rows, labels, weighed, metric, running)
    found = out if out is not None else _arrays.come_out(labels, rows)
    return (found, inertia) if return_inertia else found


@names_arguments
def kmeans_transform(
    centroids: Any,
    points: Any,
    *,
    metric: str = "euclidean",
    out: Array | None = None,
    device: str = "auto",
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> Array:
    """The distance of every point to every centroid; with metric="cosine", 1 - cosine similarity."""
    stream = stream_number(stream)
    rows = _arrays.matrix(points, "points", None, stream)
    means = _arrays.matrix(centroids, "centroids", rows.dtype, stream)
    _arrays.on_one_gpu(points=rows, centroids=means)
    distances = _arrays.output(out, (len(rows), len(means)), rows.dtype, rows, means, stream=stream)
    running = request(device, None, threads, pinning, block_size, memory_limit, stream, progress)
    _core.kmeans_transform(means, rows, distances, metric, running)
    return out if out is not None else _arrays.come_out(distances, rows)


@names_arguments
def kmeans_memory(
    points: int,
    dimensions: int,
    clusters: int,
    *,
    dtype: Any = np.float32,
    weighted: bool = False,
    gpu: int | None = None,
    init: str = "k-means++",
    restarts: int = 1,
    metric: str = "euclidean",
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
) -> MemoryEstimate:
    """Bytes that kmeans() takes beyond its input for so many points; `gpu`: the points lie on this one."""
    running = request(device, variant, threads, "none", None, None, None, None)
    return MemoryEstimate(
        *_core.kmeans_memory(
            points, dimensions, np.dtype(dtype).itemsize, weighted, gpu, clusters, init, restarts, metric, running
        )
    )
