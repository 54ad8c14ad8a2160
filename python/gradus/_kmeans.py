"""k-means clustering: Lloyd's algorithm, exact and reproducible."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Iterable, Literal, Mapping, NamedTuple, overload

import numpy as np

from gradus import _arrays, _core, _fitted_folder, _numbers
from gradus._errors import OutOfMemoryError, UsageError
from gradus._gpu import OnGpu
from gradus._options import Gpus, MemoryEstimate, Progress, RunReport, names_arguments, options_in, report_of, request, run, stream_number

Array = np.ndarray[Any, Any]

_LABEL = np.dtype(np.int32)


class KMeansIteration(NamedTuple):
    """One iteration: the points are assigned to the current centroids, and then the centroids are updated."""

    inertia: float  #: sum of weighted squared distances after the assignment
    changed: int  #: number of points whose label changed
    shift: float  #: sum of squared movements of the centroids
    seconds: float


class KMeansStandardization(NamedTuple):
    """Mean and scale of each column: a standardized value is (value - mean) / scale."""

    mean: Array  #: d of float64
    scale: Array  #: d of float64


class KMeansModel(NamedTuple):
    """The part of a fit that labels further points. KMeansResult.model returns it."""

    centroids: Array  #: clusters x d; standardized if `standardization` is set
    metric: str = "euclidean"
    standardization: KMeansStandardization | None = None


@dataclass(frozen=True, eq=False)
class KMeansInitialCentroids:
    """Initial centroids of a fit. If the points are on a GPU, `centroids` and `rows` are arrays of the same library on that
    GPU."""

    centroids: Array  #: clusters x d, in the type and units of the points; of unit length with metric="cosine"
    rows: Array  #: int64 row number of each centroid in the points; empty if `init` is an array or a folder
    report: RunReport


@dataclass(frozen=True, eq=False, repr=False)
class KMeansResult:
    """Result of kmeans(). If the points are on a GPU, centroids and labels are arrays of the same library on that GPU."""

    centroids: Array  #: clusters x d, in the type of the points and the units of the data
    #: n of int32: for each point, the number of the nearest centroid; a list of arrays if the points are a list
    labels: Array
    counts: Array  #: number of points in each cluster
    inertia: float  #: sum of weighted squared distances to the nearest centroid
    iterations: int
    converged: bool  #: False if the fit stopped at the iteration limit
    stop_reason: str
    history: tuple[KMeansIteration, ...]
    restart: int  #: number of the restart with the least inertia
    report: RunReport
    metric: str = "euclidean"
    standardization: KMeansStandardization | None = None  #: with standardize=True: mean and scale of the columns
    standardized_centroids: Array | None = None  #: with standardize=True: centroids of the standardized points
    #: number of moves that were made to improve the fit (quality); the same number as `quality_moves` repeats them
    quality_moves: int = 0
    #: `size_min`, `size_max` and `balanced` of the fit; None without limits of size
    size_options: tuple[int, int, bool] | None = None

    @property
    def model(self) -> KMeansModel:
        """The model that kmeans_predict() and kmeans_transform() need. Both functions also accept the result itself."""
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
            f"KMeansResult({self.counts.sum()} points, {clusters} centroids of {dimensions} columns, "
            f"inertia={self.inertia:.6g}, iterations={self.iterations}, stop_reason={self.stop_reason!r}, "
            f"variant={self.report.variant!r})"
        )


class KMeansCandidate(NamedTuple):
    """One of the fits that choose_clusters() compares.

    The criteria are None if fewer than 2 clusters have points, or if every point is alone in its cluster. The elbow
    is how far the curve of the inertia sags below the straight line from the first to the last candidate, 0 at
    both ends; it is None for fewer than 3 candidates.
    """

    clusters: int
    inertia: float
    iterations: int
    seconds: float
    silhouette: float | None
    calinski_harabasz: float | None
    davies_bouldin: float | None
    elbow: float | None


@dataclass(frozen=True, eq=False)
class KMeansChoice:
    """Result of choose_clusters()."""

    result: KMeansResult  #: the recommended fit
    candidates: tuple[KMeansCandidate, ...]  #: one candidate for each number of clusters, in ascending order
    chosen: int  #: index of `result` in `candidates`; 0 if the criterion recommends no fit
    recommended: Mapping[str, int | None]  #: number of clusters that each criterion recommends
    silhouette_points: int  #: number of points from which the silhouette is computed
    report: RunReport

    @property
    def clusters(self) -> int:
        """The recommended number of clusters."""
        return self.candidates[self.chosen].clusters


class KMeansProjection(NamedTuple):
    """Points projected on their first two principal components."""

    rows: Array  #: m of int64: numbers of the projected rows, ascending
    places: Array  #: m x 2 of float64: coordinates relative to the mean of the rows, in the units of the points


def _cluster_counts(clusters: Iterable[int]) -> list[int]:
    try:
        return sorted({operator.index(count) for count in clusters})
    except TypeError as error:
        raise UsageError.about("clusters", f"{clusters!r}; several integers are needed, such as range(2, 21)") from error


def _model(
    centroids: Any, metric: str | None, dtype: np.dtype[Any], stream: int | None
) -> tuple[_arrays.Placed, str, Array | None, Array | None]:
    """Returns centroids, metric, mean and scale of a KMeansResult, a KMeansModel or an array."""
    model = centroids.model if isinstance(centroids, KMeansResult) else centroids
    if not isinstance(model, KMeansModel):
        return _arrays.matrix(model, "centroids", dtype, stream), metric or "euclidean", None, None
    if metric not in (None, model.metric):
        raise UsageError.about("metric", f"{metric!r}, but the fit used {model.metric!r}; leave it out")
    mean, scale = (
        (None, None)
        if model.standardization is None
        else (_arrays.vector(numbers, "standardization", np.dtype(np.float64)) for numbers in model.standardization)
    )
    return _arrays.matrix(model.centroids, "centroids", dtype, stream), model.metric, mean, scale


def _result(
    fields: tuple[Any, ...], rows: _arrays.Placed, labels: _arrays.Placed, metric: str, *size_options: Any
) -> KMeansResult:
    """Converts the extension module's tuple for a fit to a KMeansResult."""
    centroids, counts, inertia, iterations, converged, stop_reason, history, restart, report, scaled, moves = fields
    if isinstance(rows, _arrays.Parts):
        labels, rows = rows.split(labels), rows.arrays[0]
    else:
        labels = _arrays.come_out(labels, rows)
    return KMeansResult(
        _arrays.come_out(centroids, rows),
        labels,
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
        moves,
        size_options if any(size_options) else None,
    )


def _fit(rows: _arrays.Placed, labels: Any, given: Any, weights: Any, stored: str | None, *settings: Any) -> tuple[Any, ...]:
    """Calls the function of the extension module for one array or for a list of arrays."""
    if isinstance(rows, _arrays.Parts):
        return _core.kmeans_parts(rows.arrays, labels, given, weights, *settings)
    return _core.kmeans(rows, labels, given, weights, stored, *settings)


def _method(init: Any) -> str:
    """Returns the name of the method of initialization, or "given" if `init` is an array or the folder of a fit."""
    if not isinstance(init, str) or _fitted_folder.is_folder(init):
        return "given"
    if init == "given":
        raise UsageError.about("init", "there is no 'given': pass the array of centroids itself")
    return init


def is_random(init: Any) -> bool:
    """Returns true if `init` names a method that draws random numbers."""
    return _method(init) not in ("given", "first")


def _given(init: Any, dtype: np.dtype[Any], stream: int | None) -> _arrays.Placed:
    """Returns `init` as an array of centroids, or None if it names a method."""
    return None if isinstance(init, str) else _arrays.matrix(init, "init", dtype, stream)


def _weights(
    weights: Any, rows: _arrays.Placed, stream: int | None, dtype: np.dtype[Any] | None = None, **others: _arrays.Placed
) -> _arrays.Placed:
    """Returns the weights in the given type (None: the type of the rows). They must be in host memory or on the same GPU as the rows. Checks that no two arrays,
    including `others`, are on different GPUs."""
    weighed = None if weights is None else _arrays.vector(weights, "weights", dtype or rows.dtype, stream)
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
    init_rows: int = 0,
    restarts: int = 1,
    max_iterations: int = 300,
    tolerance: float = 0.0001,
    changed: float = 0.0,
    empty: str = "relocate",
    fewer_distinct: str = "error",
    size_min: int = 0,
    size_max: int = 0,
    balanced: bool = False,
    quality: bool = False,
    quality_moves: int = 0,
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    gpus: Gpus | None = None,
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
    """Clusters the rows of `points` by Lloyd's algorithm.

    * `points`: n x d array; float32 and float64 are used as they are, as are uint8, int8, float16 and bfloat16 in NumPy
        arrays and in PyTorch tensors in host memory, with centroids of float32; other types are converted if that is
        exact. A list of arrays, for example one on each GPU, stands for all their rows in this order, as float32 or
        float64; `gpus` may name a GPU for each
    * `clusters`: int; number of clusters, from 1 to n
    * `init`: "k-means++", "k-means-parallel" (also "k-means||"), "random" or "first"; or a clusters x d array of initial
        centroids; or the path of a folder that `gradus kmeans --output` wrote, whose centroids are the initial ones
    * `weights`: n non-negative numbers, or None: 1 for each point

    .. <options of kmeans as text, but clusters init>
    init_rows : int; choose the first centroids from this many rows, drawn at random without replacement; 0: from all
    restarts : int; number of fits, each from its own seed; the one with the least inertia is kept; 0: fit until most
        fits came after the best one, at most 100 times
    max_iterations : int; iteration limit
    tolerance : float; stop when the centroids' squared movements sum to at most this times the mean variance of a
        column, as scikit-learn does; 0: never
    changed : float; stop when at most this share of the labels changed; 0: never
    empty : "relocate", "keep" or "error"; an empty cluster moves to the farthest point, keeps its centroid, or fails
        the job
    fewer_distinct : "error" or "accept"; fewer different points than clusters fail the job, or leave clusters that
        repeat a centroid and have no points
    size_min : int; least number of points per cluster; every assignment is the best one within the limits; 0: no limit
    size_max : int; greatest number of points per cluster; 0: no limit
    balanced : bool; keep all clusters within 10 % of the mean size: floor(0.9 n/k) to ceil(1.1 n/k) points
    quality : bool; after the fit, exchange centroids and fit again while that lowers the inertia, for about as long as
        the fit took
    quality_moves : int; try this number of exchanges instead, with the same result on any number of threads and ranks
    metric : "euclidean" or "cosine"; the measure of nearness: the distance, or the angle between rows, which are scaled
        to unit length (spherical k-means)
    standardize : bool; bring every column to mean 0 and variance 1 first; centroids come back in the units of the data
    seed : int; seed of the random numbers
    .. </options>

    * `device`: "auto", "cpu", "gpu" or "gpu:1"; "auto" chooses a GPU if the job gains from it
    * `gpus`: GPUs that share the job: "all", the number of GPUs, a list of their indices, or "auto": as many as pay, by
        a model of the time; None: one GPU at most
    * `variant`: a name in variants("kmeans"); None: the fastest with the exact result
    * `variant_options`: mapping; options of the named variant, such as {"lock": "clh_lock"} for "openmp_locked"
    * `threads`: int; CPU threads; None: all cores, or the limit set by OMP_NUM_THREADS or threadpoolctl
    * `pinning`: "none", "compact" or "scatter"; binding of threads to cores
    * `block_size`: int; threads per CUDA block; None: the variant's choice
    * `memory_limit`: int; bytes that the job may take in addition to its input; None: the available memory
    * `stream`: stream of PyTorch or CuPy, or address of a CUDA stream, in which points on a GPU were written
    * `progress`: function of (phase, done, total, detail); an exception in it ends the job and reaches the caller
    * `communicator`: communicator of mpi4py, or "torchrun", whose processes all make this call. `points`, `weights` and
        the returned labels hold the rows of this process. The rows of all ranks, in rank order, are clustered together.
        All other fields except the report are the same on all ranks.

    Returns a KMeansResult. It has the same bits for any number of threads and ranks, on CPU and GPU, unless `variant`
    names a variant with another contract. `standardize` works like scikit-learn's StandardScaler, except that mean and
    variance come from exact sums. With `standardize`, pass the result itself, not its centroids, to kmeans_predict().

    Raises UsageError for invalid arguments, InputError for NaN, infinity, inexact conversions, negative weights and
    fewer points than clusters, UnsupportedError if the variant or device cannot run here, OutOfMemoryError, and
    KeyboardInterrupt on Ctrl-C.

    Examples
    --------
    >>> result = gradus.kmeans(points, 16, restarts=4)
    >>> result.labels, result.inertia
    """

    call = locals()

    def prepared() -> tuple[Any, ...]:
        method = call["init"] = _method(init)
        options = options_in("kmeans", call)
        number = stream_number(stream)
        rows, stored = _arrays.points_or_parts(points, number)
        dtype = _arrays.type_of_job(rows, stored)
        start = init
        if method == "given" and _fitted_folder.is_folder(init):
            start = _fitted_folder.centroids_of(init, points, clusters, metric, standardize)
        given = _given(start, dtype, number)
        if restarts != 1 and not is_random(init):
            raise UsageError.about("restarts", f"{restarts}, but with this `init` nothing is random; leave restarts out")
        weighed = _weights(weights, rows, number, dtype, init=given)
        labels = _arrays.new((len(rows),), _LABEL, rows, number)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress, variant_options, gpus)
        return rows, labels, given, weighed, stored, options, running

    (rows, labels, *_), fields = run(communicator, _fit, prepared)
    return _result(fields, rows, labels, metric, size_min, size_max, balanced)


@names_arguments
def kmeans1d(
    points: Any,
    clusters: int,
    *,
    weights: Any = None,
    # <options of kmeans for kmeans1d as arguments, but clusters>
    fewer_distinct: str = "error",
    # </options>
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> KMeansResult:
    """Returns the clustering of numbers that has the least inertia of all clusterings.

    * `points`: n numbers, or an n x 1 array, in host memory; converted as the points of kmeans()
    * `clusters`: int; number of clusters, from 1 to n
    * `weights`: n non-negative numbers, or None: 1 for each point

    .. <options of kmeans for kmeans1d as text, but clusters>
    fewer_distinct : "error" or "accept"; fewer different points than clusters fail the job, or leave clusters that
        repeat a centroid and have no points
    .. </options>

    * `memory_limit`: int; bytes that the job may take in addition to its input; None: the available memory
    * `progress`: function of (phase, done, total, detail); an exception in it ends the job and reaches the caller

    Returns a KMeansResult without iterations. Its centroids ascend, but for those that repeat where values are too few.
    The sum of squared distances to the unrounded means is the least in exact arithmetic; of several such clusterings, the
    result is the one with the least borders. Runs on one CPU thread. Raises the errors of kmeans().

    Examples
    --------
    >>> gradus.kmeans1d([1, 2, 10, 11, 12], 2).labels
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    options = options_in("kmeans", locals())
    rows = _arrays.column(points, "points")
    weighed = _weights(weights, rows, None)
    labels = np.empty(len(rows), _LABEL)
    running = request("auto", None, None, "none", None, memory_limit, None, progress)
    return _result(_core.kmeans1d(rows, labels, weighed, options, running), rows, labels, "euclidean")


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
    init_rows: int = 0,
    restarts: int = 1,
    max_iterations: int = 300,
    tolerance: float = 0.0001,
    changed: float = 0.0,
    empty: str = "relocate",
    fewer_distinct: str = "error",
    size_min: int = 0,
    size_max: int = 0,
    balanced: bool = False,
    quality: bool = False,
    quality_moves: int = 0,
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    gpus: Gpus | None = None,
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> KMeansChoice:
    """Fits `points` with several numbers of clusters and recommends one of the fits.

    * `points`, `weights`: as for kmeans()
    * `clusters`: iterable of int, such as range(2, 21)
    * `criterion`: "silhouette", "calinski-harabasz" or "elbow", which recommend the largest value, or "davies-bouldin",
        which recommends the smallest. But for the elbow, which depends on the candidates, the criteria are defined as
        in scikit-learn and do not depend on the weights.
    * `silhouette_points`: int; if there are more points, the silhouette is computed from a random sample of this size
    * `init`: name of a method, as for kmeans()

    The other arguments and the errors are the same as for kmeans(). Returns a KMeansChoice. Each fit has the same bits
    as kmeans() with that number of clusters.

    Examples
    --------
    >>> choice = gradus.choose_clusters(points, range(2, 21))
    >>> choice.clusters, choice.result.labels
    """
    # 8 stands for any valid number of clusters.
    options = options_in("kmeans", {**locals(), "clusters": 8, "init": _method(init)})
    number = stream_number(stream)
    rows, stored = _arrays.points(points, number)
    if not isinstance(init, str) or _fitted_folder.is_folder(init):
        raise UsageError.about("init", "given centroids fix the number of clusters, but several are compared; name a method")
    weighed = _weights(weights, rows, number, _arrays.type_of_job(rows, stored))
    labels = _arrays.new((len(rows),), _LABEL, rows, number)
    fields, candidates, chosen, recommended, sample, report = _core.kmeans_choose(
        rows, labels, _cluster_counts(clusters), criterion, silhouette_points, weighed, stored, options,
        request(device, variant, threads, pinning, block_size, memory_limit, number, progress, gpus=gpus),
    )  # fmt: skip
    return KMeansChoice(
        _result(fields, rows, labels, metric, size_min, size_max, balanced),
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
    init_rows: int = 0,
    fewer_distinct: str = "error",
    metric: str = "euclidean",
    standardize: bool = False,
    seed: int = 0,
    # </options>
    device: str = "auto",
    gpus: Gpus | None = None,
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> KMeansInitialCentroids:
    """Returns the initial centroids of kmeans() with the same arguments, as a KMeansInitialCentroids.

    If there are restarts, returns the initial centroids of the first fit. Arguments and errors are the same as for
    kmeans().
    """

    call = locals()

    def prepared() -> tuple[Any, ...]:
        method = call["init"] = _method(init)
        options = options_in("kmeans", call)
        number = stream_number(stream)
        rows, stored = _arrays.points(points, number)
        dtype = _arrays.type_of_job(rows, stored)
        start = init
        if method == "given" and _fitted_folder.is_folder(init):
            start = _fitted_folder.centroids_of(init, points, clusters, metric, standardize)
        given = _given(start, dtype, number)
        weighed = _weights(weights, rows, number, dtype, init=given)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress, gpus=gpus)
        return rows, given, weighed, stored, options, running

    (rows, *_), (centroids, chosen, report) = run(communicator, _core.kmeans_initial_centroids, prepared)
    return KMeansInitialCentroids(
        _arrays.come_out(centroids, rows), _arrays.come_out(chosen, rows), report_of(report)
    )


@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str | None = ..., out: Array | None = ...,
    return_inertia: Literal[False] = ..., device: str = ..., gpus: Gpus | None = ..., variant: str | None = ...,
    threads: int | None = ..., pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
    progress: Progress | None = ..., communicator: Any = ...,
) -> Array: ...  # fmt: skip
@overload
def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any = ..., metric: str | None = ..., out: Array | None = ...,
    return_inertia: Literal[True], device: str = ..., gpus: Gpus | None = ..., variant: str | None = ...,
    threads: int | None = ..., pinning: str = ..., block_size: int | None = ..., memory_limit: int | None = ..., stream: Any = ...,
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
    gpus: Gpus | None = None,
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> Array | tuple[Array, float]:
    """Returns the number of the nearest centroid of each row of `points`.

    * `centroids`: KMeansResult or KMeansModel, whose metric and standardization apply to the points too; or a clusters x d
        array of centroids
    * `points`: n x d array, as for kmeans()
    * `weights`: n numbers, or None; they affect only the inertia
    * `metric`: "euclidean" or "cosine" for an array of centroids; None: the metric of the model, or "euclidean"
    * `out`: n of int32 for the labels, in C order and in the same memory as the points; None: a new array
    * `return_inertia`: bool; True: the call returns, in addition, the sum of weighted squared distances over the rows
        of all ranks

    The other arguments and the errors are the same as for kmeans(). Returns the labels, n of int32, or (labels,
    inertia).

    Examples
    --------
    >>> labels = gradus.kmeans_predict(result, new_points)
    """

    def prepared() -> tuple[Any, ...]:
        number = stream_number(stream)
        rows, stored = _arrays.points(points, number)
        dtype = _arrays.type_of_job(rows, stored)
        means, by, mean, scale = _model(centroids, metric, dtype, number)
        weighed = _weights(weights, rows, number, dtype, centroids=means)
        read = (rows, means) if weighed is None else (rows, means, weighed)
        labels = _arrays.output(out, (len(rows),), _LABEL, *read, stream=number)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress, gpus=gpus)
        return means, rows, labels, weighed, by, mean, scale, stored, running

    (_, rows, labels, *_), (inertia, report) = run(communicator, _core.kmeans_predict, prepared)
    report_of(report)
    found = out if out is not None else _arrays.come_out(labels, rows)
    return (found, inertia) if return_inertia else found


def _limit_beyond(result: int, memory_limit: int | None) -> int | None:
    """Returns the memory limit for libgradus, reduced by a result of `result` bytes that is allocated outside of
    libgradus."""
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
    gpus: Gpus | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> Array:
    """Returns the distance of every point to every centroid; with metric="cosine", 1 - cosine similarity.

    * `centroids`, `points`, `metric`: as for kmeans_predict()
    * `out`: n x clusters array in the type of the points (float32 for points of 8 or 16 bits), in C order and in the same
        memory as the points; None: a new array

    The other arguments and the errors are the same as for kmeans(). Returns an n x clusters array of this type.

    Examples
    --------
    >>> distances = gradus.kmeans_transform(result, points)
    """

    def prepared() -> tuple[Any, ...]:
        number = stream_number(stream)
        rows, stored = _arrays.points(points, number)
        dtype = _arrays.type_of_job(rows, stored)
        means, by, mean, scale = _model(centroids, metric, dtype, number)
        _arrays.on_one_gpu(points=rows, centroids=means)
        # libgradus allocates the result if the points are in host memory, and includes the result in the memory limit.
        made_there = out is None and isinstance(rows, np.ndarray)
        shape = (len(rows), len(means))
        limit = memory_limit
        if out is None and not made_there:
            limit = _limit_beyond(len(rows) * len(means) * dtype.itemsize, memory_limit)
        distances = None if made_there else _arrays.output(out, shape, dtype, rows, means, stream=number)
        running = request(device, None, threads, pinning, block_size, limit, number, progress, gpus=gpus)
        return means, rows, distances, by, mean, scale, stored, running

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
    """Projects points on their first two principal components, for a picture.

    * `points`: n x d array, as for kmeans()
    * `most_points`: int; if there are more points, a random sample of them is projected. The sample has at most 4
        million numbers, but never fewer than 1000 rows.
    * `memory_limit`: int; bytes in addition to the input

    Returns a KMeansProjection.
    """
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
    init_rows: int = 0,
    restarts: int = 1,
    size_min: int = 0,
    size_max: int = 0,
    balanced: bool = False,
    quality: bool = False,
    quality_moves: int = 0,
    metric: str = "euclidean",
    standardize: bool = False,
    # </options>
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
) -> MemoryEstimate:
    """Returns the memory that kmeans() needs in addition to its input, as a MemoryEstimate.

    * `points`, `dimensions`, `clusters`: int; shape of the job
    * `dtype`: type of the points
    * `weighted`: bool; the call has weights
    * `gpu`: int; number of the GPU that holds the points; None: host memory

    The other arguments are the same as for kmeans().
    """
    options = options_in("kmeans", locals())
    running = request(device, variant, threads, "none", None, None, None, None)
    given = np.dtype(dtype)
    size = (given if _arrays.stored_type(given) else _numbers.floating_type(given, "dtype")).itemsize
    return MemoryEstimate(*_core.kmeans_memory(points, dimensions, size, weighted, gpu, options, running))
