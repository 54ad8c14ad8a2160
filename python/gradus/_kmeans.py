"""k-means clustering: Lloyd's algorithm, exact and reproducible."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Iterable, Literal, Mapping, NamedTuple, overload

import numpy as np

from gradus import _arrays, _core, _fitted_folder, _numbers
from gradus._errors import OutOfMemoryError, UsageError
from gradus._gpu import OnGpu
from gradus._options import MemoryEstimate, Progress, RunReport, names_arguments, options_in, report_of, request, run, stream_number

Array = np.ndarray[Any, Any]

_LABEL = np.dtype(np.int32)


class KMeansIteration(NamedTuple):
    """One iteration: the assignment to the centroids of the iteration before, and the update that followed."""

    inertia: float
    changed: int
    shift: float
    seconds: float


class KMeansStandardization(NamedTuple):
    """Mean and scale of each column, in float64: a standardized value is (value - mean) / scale."""

    mean: Array
    scale: Array


class KMeansModel(NamedTuple):
    """A fit as what labels further points: KMeansResult.model."""

    centroids: Array  #: of a fit of standardized points the standardized ones
    metric: str = "euclidean"
    standardization: KMeansStandardization | None = None


@dataclass(frozen=True, eq=False)
class KMeansInitialCentroids:
    """What a fit begins with. For points on a GPU the arrays are of their library, there."""

    #: clusters x d, in the type of the points; with metric="cosine" of unit length, with standardize=True in the units of
    #: the data
    centroids: Array
    rows: Array  #: of the points, one for each centroid, in int64; empty where the centroids were given
    report: RunReport


@dataclass(frozen=True, eq=False, repr=False)
class KMeansResult:
    """For points on a GPU centroids and labels are arrays of their library, there."""

    centroids: Array  #: clusters x d, in the type of the points and the units of the data
    labels: Array  #: n of int32; each point's nearest of `centroids`
    counts: Array  #: points per cluster under `labels`
    inertia: float  #: of `labels` and `centroids`
    iterations: int
    converged: bool  #: stopped for any reason but the iteration limit
    stop_reason: str
    history: tuple[KMeansIteration, ...]
    restart: int  #: which of the restarts won
    report: RunReport
    metric: str = "euclidean"
    standardization: KMeansStandardization | None = None  #: with standardize=True
    #: with standardize=True: the centroids as the fit saw them, of which each label is the nearest
    standardized_centroids: Array | None = None

    @property
    def model(self) -> KMeansModel:
        """What kmeans_predict() and kmeans_transform() take for this fit, as well as the result itself."""
        seen = self.centroids if self.standardized_centroids is None else self.standardized_centroids
        return KMeansModel(seen, self.metric, self.standardization)

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


class KMeansCandidate(NamedTuple):
    """One of the fits that choose_clusters() compares. Criteria are None where fewer than 2 clusters have points, or as
    many as there are points."""

    clusters: int
    inertia: float
    iterations: int
    seconds: float
    silhouette: float | None
    calinski_harabasz: float | None
    davies_bouldin: float | None


@dataclass(frozen=True, eq=False)
class KMeansChoice:
    """What choose_clusters() found."""

    result: KMeansResult  #: the recommended fit
    candidates: tuple[KMeansCandidate, ...]  #: one for each number of clusters, ascending
    chosen: int  #: the place of `result` among them; 0 where the criterion recommends none
    recommended: Mapping[str, int | None]  #: for each criterion the number of clusters that it recommends
    silhouette_points: int  #: points of which the silhouette is
    report: RunReport

    @property
    def clusters(self) -> int:
        """The recommended number of clusters."""
        return self.candidates[self.chosen].clusters


class KMeansProjection(NamedTuple):
    """Rows on their first two principal components."""

    rows: Array  #: numbers of the rows that were projected, ascending, in int64
    places: Array  #: m x 2 of float64, in the units of the points, from the rows' mean


def _cluster_counts(clusters: Iterable[int]) -> list[int]:
    try:
        return sorted({operator.index(count) for count in clusters})
    except TypeError as error:
        raise UsageError.about("clusters", f"{clusters!r}; several integers are needed, such as range(2, 21)") from error


def _model(
    centroids: Any, metric: str | None, dtype: np.dtype[Any], stream: int | None
) -> tuple[_arrays.Placed, str, Array | None, Array | None]:
    """Centroids, metric, mean and scale of a result, a model, or an array of centroids."""
    model = centroids.model if isinstance(centroids, KMeansResult) else centroids
    if not isinstance(model, KMeansModel):
        return _arrays.matrix(model, "centroids", dtype, stream), metric or "euclidean", None, None
    if metric not in (None, model.metric):
        raise UsageError.about("metric", f"{metric!r}, but the fit is one by {model.metric!r}; leave it out")
    mean, scale = (
        (None, None)
        if model.standardization is None
        else (_arrays.vector(numbers, "standardization", np.dtype(np.float64)) for numbers in model.standardization)
    )
    return _arrays.matrix(model.centroids, "centroids", dtype, stream), model.metric, mean, scale


def _result(fields: tuple[Any, ...], rows: _arrays.Placed, labels: _arrays.Placed, metric: str) -> KMeansResult:
    """What the compiled part gives of a fit, as the caller gets it."""
    centroids, counts, inertia, iterations, converged, stop_reason, history, restart, report, scaled = fields
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
        report_of(report),
        metric,
        None if scaled is None else KMeansStandardization(*scaled[:2]),
        None if scaled is None else _arrays.come_out(scaled[2], rows),
    )


def _method(init: Any) -> str:
    """The name of the method that chooses the first centroids; "given" for an array or the folder of a fit."""
    if not isinstance(init, str) or _fitted_folder.is_folder(init):
        return "given"
    if init == "given":
        raise UsageError.about("init", "there is no 'given': pass the array of centroids itself")
    return init


def _given(init: Any, dtype: np.dtype[Any], stream: int | None) -> _arrays.Placed:
    """The centroids where they are given."""
    return None if isinstance(init, str) else _arrays.matrix(init, "init", dtype, stream)


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
    # <options of kmeans as arguments, but clusters init>
    restarts: int = 1,
    max_iterations: int = 300,
    tolerance: float = 0.0001,
    changed: float = 0.0,
    empty: str = "relocate",
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    variant: str | None = None,
    variant_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> KMeansResult:
    """Clusters the rows of `points`. `init`: "k-means++", "k-means-parallel" (also "k-means||"), "random", "first", an array
    of centroids, or the path of a folder that `gradus kmeans --output` wrote: the fit begins with its centroids.

    .. <options of kmeans as text, but clusters init>
    restarts : int; number of fits, each from its own seed; the one with the least inertia is kept
    max_iterations : int; iteration limit
    tolerance : float; stop when the centroids' squared movements sum to at most this times the mean variance of a
        column, as scikit-learn does; 0: never
    changed : float; stop when at most this share of the labels changed; 0: never
    empty : "relocate", "keep" or "error"; an empty cluster moves to the farthest point, keeps its centroid, or fails
        the job
    fewer_distinct : "error" or "accept"; fewer different points than clusters fail the job, or leave clusters that
        repeat a centroid and have no points
    metric : "euclidean" or "cosine"; the measure of nearness: the distance, or the angle between rows, which are scaled
        to unit length (spherical k-means)
    standardize : bool; bring every column to mean 0 and variance 1 first; centroids come back in the units of the data
    seed : int; seed of the random numbers
    .. </options>

    Columns are standardized as by scikit-learn's StandardScaler, from exact sums; pass the result itself to
    kmeans_predict().

    `variant_options`: what only the named variant has, such as {"lock": "clh_lock"} for "openmp_locked".

    `communicator`: one of mpi4py, whose processes all make this call. `points`, `weights` and the labels are then the rows
    of this process, in the order of the ranks; all else is that of all rows, and the same everywhere.
    """

    call = locals()

    def prepared() -> tuple[Any, ...]:
        method = call["init"] = _method(init)
        options = options_in("kmeans", call)
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        start = init
        if method == "given" and _fitted_folder.is_folder(init):
            start = _fitted_folder.centroids_of(init, points, clusters, metric, standardize)
        given = _given(start, rows.dtype, number)
        if method in ("given", "first") and restarts > 1:
            raise UsageError.about("restarts", f"{restarts}, but with this `init` nothing is random; leave restarts out")
        weighed = _weights(weights, rows, number, init=given)
        labels = _arrays.new((len(rows),), _LABEL, rows, number)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress, variant_options)
        return rows, labels, given, weighed, options, running

    (rows, labels, *_), fields = run(communicator, _core.kmeans, prepared)
    return _result(fields, rows, labels, metric)


@names_arguments
def choose_clusters(
    points: Any,
    clusters: Iterable[int],
    *,
    criterion: str = "silhouette",
    silhouette_points: int = 20000,
    init: str = "k-means++",
    weights: Any = None,
    # <options of kmeans as arguments, but clusters init>
    restarts: int = 1,
    max_iterations: int = 300,
    tolerance: float = 0.0001,
    changed: float = 0.0,
    empty: str = "relocate",
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> KMeansChoice:
    """Fits `points` with each of the numbers of clusters, such as range(2, 21), and recommends one of the fits.

    `criterion`: "silhouette" or "calinski-harabasz", whose largest value is recommended, or "davies-bouldin", the least.
    They are defined as in scikit-learn, without weights. The silhouette is exact up to `silhouette_points` points, and
    beyond that the silhouette of that many of them, drawn by the seed.

    Each fit has the bits of kmeans() with that number of clusters.
    """
    options = options_in("kmeans", {**locals(), "clusters": 8, "init": _method(init)})  # `clusters` are several here
    number = stream_number(stream)
    rows = _arrays.matrix(points, "points", None, number)
    if not isinstance(init, str) or _fitted_folder.is_folder(init):
        raise UsageError.about("init", "given centroids are those of one number of clusters, and several are compared; name a method")
    weighed = _weights(weights, rows, number)
    labels = _arrays.new((len(rows),), _LABEL, rows, number)
    fields, candidates, chosen, recommended, sample, report = _core.kmeans_choose(
        rows, labels, _cluster_counts(clusters), criterion, silhouette_points, weighed, options,
        request(device, variant, threads, pinning, block_size, memory_limit, number, progress),
    )  # fmt: skip
    return KMeansChoice(
        _result(fields, rows, labels, metric),
        tuple(map(KMeansCandidate._make, candidates)),
        chosen,
        recommended,
        sample,
        report_of(report),
    )


@names_arguments
def kmeans_initial_centroids(
    points: Any,
    clusters: int,
    *,
    init: Any = "k-means++",
    weights: Any = None,
    # <options of kmeans for kmeans_initial_centroids as arguments, but init>
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> KMeansInitialCentroids:
    """The centroids with which kmeans() of the same arguments begins its first fit, and the rows that they are.

    `communicator`: as for kmeans()."""

    call = locals()

    def prepared() -> tuple[Any, ...]:
        method = call["init"] = _method(init)
        options = options_in("kmeans", call)
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        start = init
        if method == "given" and _fitted_folder.is_folder(init):
            start = _fitted_folder.centroids_of(init, points, clusters, metric, standardize)
        given = _given(start, rows.dtype, number)
        weighed = _weights(weights, rows, number, init=given)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress)
        return rows, given, weighed, options, running

    (rows, *_), (centroids, chosen, report) = run(communicator, _core.kmeans_initial_centroids, prepared)
    return KMeansInitialCentroids(
        _arrays.come_out(centroids, rows), _arrays.come_out(chosen, rows), report_of(report)
    )


@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str | None = ..., out: Array | None = ...,
    return_inertia: Literal[False] = ..., device: str = ..., variant: str | None = ..., threads: int | None = ...,
    pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
    progress: Progress | None = ..., communicator: Any = ...,
) -> Array: ...  # fmt: skip
@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str | None = ..., out: Array | None = ...,
    return_inertia: Literal[True], device: str = ..., variant: str | None = ..., threads: int | None = ...,
    pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
    progress: Progress | None = ..., communicator: Any = ...,
) -> tuple[Array, float]: ...  # fmt: skip
@names_arguments
def kmeans_predict(
    centroids: Any,
    points: Any,
    *,
    weights: Any = None,
    metric: str | None = None,
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
    communicator: Any = None,
) -> Array | tuple[Array, float]:
    """The nearest centroid of each row of `points`, in int32; with `return_inertia` also the inertia, to which each
    point contributes as much as its weight says. `centroids`: the result of a fit, whose metric and standardization hold
    for the points too; or an array of centroids, and their `metric` ("euclidean" if it is left out).

    `communicator`: as for kmeans(); the inertia is that of all rows."""

    def prepared() -> tuple[Any, ...]:
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        means, by, mean, scale = _model(centroids, metric, rows.dtype, number)
        weighed = _weights(weights, rows, number, centroids=means)
        read = (rows, means) if weighed is None else (rows, means, weighed)
        labels = _arrays.output(out, (len(rows),), _LABEL, *read, stream=number)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress)
        return means, rows, labels, weighed, by, mean, scale, running

    (_, rows, labels, *_), (inertia, report) = run(communicator, _core.kmeans_predict, prepared)
    report_of(report)
    found = out if out is not None else _arrays.come_out(labels, rows)
    return (found, inertia) if return_inertia else found


def _limit_beyond(result: int, memory_limit: int | None) -> int | None:
    """Returns what the limit leaves for the job beyond a result of that many bytes, which the caller's library allocates."""
    if memory_limit is None:
        return None
    if result >= memory_limit:
        raise OutOfMemoryError(f"the result takes {result} bytes, but the memory limit allows only {memory_limit}")
    return memory_limit - result


@names_arguments
def kmeans_transform(
    centroids: Any,
    points: Any,
    *,
    metric: str | None = None,
    out: Array | None = None,
    device: str = "auto",
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> Array:
    """The distance of every point to every centroid; with metric="cosine", 1 - cosine similarity. `centroids` and
    `metric`: as for kmeans_predict().

    `communicator`: as for kmeans()."""

    def prepared() -> tuple[Any, ...]:
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        means, by, mean, scale = _model(centroids, metric, rows.dtype, number)
        _arrays.on_one_gpu(points=rows, centroids=means)
        # Without memory for it the library makes the result, and counts it as part of the job.
        made_there = out is None and isinstance(rows, np.ndarray)
        shape = (len(rows), len(means))
        limit = memory_limit
        if out is None and not made_there:
            limit = _limit_beyond(len(rows) * len(means) * rows.dtype.itemsize, memory_limit)
        distances = None if made_there else _arrays.output(out, shape, rows.dtype, rows, means, stream=number)
        running = request(device, None, threads, pinning, block_size, limit, number, progress)
        return means, rows, distances, by, mean, scale, running

    (_, rows, distances, *_), (made, report) = run(communicator, _core.kmeans_transform, prepared)
    if report is not None:
        report_of(report)
    if distances is None:
        return made  # type: ignore[no-any-return]
    return out if out is not None else _arrays.come_out(distances, rows)


@names_arguments
def kmeans_projection(
    points: Any, *, most_points: int = 20000, seed: int = 0, memory_limit: int | None = None
) -> KMeansProjection:
    """Points on their first two principal components, for a picture: all of them, or a sample drawn by the seed. With many
    columns the sample is of fewer rows: of 4 million numbers, but of at least 1000 rows."""
    options = options_in("kmeans", {"seed": seed})
    rows = _arrays.matrix(points, "points")
    running = request("cpu", None, 1, "none", None, memory_limit, None, None)
    return KMeansProjection._make(_core.kmeans_projection(rows, most_points, options, running))


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
    # <options of kmeans for kmeans_memory as arguments, but init>
    restarts: int = 1,
    metric: str = "euclidean",
    standardize: bool = False,
    # </options>
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
) -> MemoryEstimate:
    """Bytes that kmeans() takes beyond its input for so many points; `gpu`: the points lie on this one."""
    options = options_in("kmeans", locals())
    running = request(device, variant, threads, "none", None, None, None, None)
    size = _numbers.floating_type(np.dtype(dtype), "dtype").itemsize
    return MemoryEstimate(*_core.kmeans_memory(points, dimensions, size, weighted, gpu, options, running))
