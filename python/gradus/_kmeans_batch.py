"""Batches of k-means problems, and the codebooks of product quantizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradus import _arrays, _core, _gpu
from gradus._errors import InputError, UsageError
from gradus._kmeans import Array, KMeansModel, KMeansStandardization, _method, is_random, kmeans_predict
from gradus._options import Gpus, Progress, RunReport, names_arguments, options_in, report_of, request, stream_number

_LABEL = np.dtype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class KMeansBatchResult:
    """Result of kmeans_batch() for B problems. With `subspaces`, the problems are the groups of columns."""

    centroids: Array  #: B x clusters x d, in the type of the points and the units of the data; codebooks with `subspaces`
    labels: Array  #: B x n of int32
    counts: Array  #: B x clusters of int64: number of points in each cluster
    inertia: Array  #: B of float64
    iterations: Array  #: B of int64
    converged: Array  #: B of bool; False if the fit stopped at the iteration limit
    report: RunReport
    metric: str = "euclidean"
    standardization: KMeansStandardization | None = None  #: with standardize=True: mean and scale, B x d each
    standardized_centroids: Array | None = None  #: with standardize=True: centroids of the standardized points

    def model(self, problem: int) -> KMeansModel:
        """Returns the model of a problem for kmeans_predict() and kmeans_transform()."""
        if self.standardization is None or self.standardized_centroids is None:
            return KMeansModel(self.centroids[problem], self.metric)
        mean, scale = self.standardization
        by = KMeansStandardization(mean[problem], scale[problem])
        return KMeansModel(self.standardized_centroids[problem], self.metric, by)

    @property
    def codes(self) -> Array:
        """The labels as n x B array of the smallest unsigned type: the codes of a product quantizer, a row for each point."""
        return _codes(self.labels, self.centroids.shape[1])

    def __repr__(self) -> str:
        problems, clusters, dimensions = self.centroids.shape
        return (
            f"KMeansBatchResult({problems} problems of {self.labels.shape[1]} points, {clusters} centroids of "
            f"{dimensions} columns each, inertia={self.inertia.sum():.6g})"
        )


def _codes(labels: Array, clusters: int) -> Array:
    return np.ascontiguousarray(labels.T, np.min_scalar_type(clusters - 1))


def _group_size(columns: int, subspaces: int) -> int:
    if subspaces < 1 or columns % subspaces:
        raise UsageError.about(
            "subspaces", f"{subspaces}, but the {columns} columns must form groups of equal size; pass a divisor of {columns}"
        )
    return columns // subspaces


def _for_all(source: Any, what: str, dtype: np.dtype[Any], problems: int) -> Array:
    """Returns centroids for each problem. A matrix stands for the centroids of all problems."""
    _arrays.refuse_gpu(source, what)
    if len(np.shape(source)) != 2:
        return _arrays.batch(source, what, dtype)[0]
    matrix = _arrays.matrix(source, what, dtype)
    return np.broadcast_to(matrix, (problems, *matrix.shape))


def _points(points: Any, subspaces: int | None, stream: int | None) -> tuple[_arrays.Placed, str | None]:
    """Returns a matrix for each problem, and the name of their type of 8 or 16 bits or None."""
    if subspaces is None:
        if _gpu.is_on_gpu(points):
            return _gpu.as_rows(points, "points", 3, None, stream), None
        return _arrays.batch(points, "points")
    rows, stored = _arrays.points(points, stream)
    size = _group_size(rows.shape[1], subspaces)
    if isinstance(rows, _gpu.OnGpu):
        return _gpu.column_groups(rows, subspaces), None
    return rows.reshape(len(rows), subspaces, size).transpose(1, 0, 2), stored


@names_arguments
def kmeans_batch(
    points: Any,
    clusters: int,
    *,
    subspaces: int | None = None,
    init: Any = "k-means++",
    weights: Any = None,
    # <options of kmeans as arguments, but clusters init quality>
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
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> KMeansBatchResult:
    """Fits many matrices of one shape: independent k-means problems in one call.

    * `points`: B x n x d array, a matrix for each problem, of the types of kmeans(). It is copied only if elements of a
        row are not contiguous or rows do not ascend in memory. An array on a GPU is fitted on this GPU.
    * `clusters`: int; number of clusters of each problem, from 1 to n
    * `subspaces`: int; None, or the number B of groups of equal size into which the columns of `points`, then an n x (B d)
        array, are divided. The centroids are the codebooks of a product quantizer, and the result has its `codes`.
    * `init`: "k-means++", "k-means-parallel" (also "k-means||"), "random" or "first"; or initial centroids: a clusters x d
        array for all problems, or a B x clusters x d array
    * `weights`: n non-negative numbers for all problems, a B x n array, or None: 1 for each point. Rows of weight 0 fill up
        problems that have fewer points than others.

    .. <options of kmeans as text, but clusters init quality>
    init_rows : int; choose the first centroids from this many rows, drawn at random without replacement; 0: from all
    restarts : int; number of fits, each from its own seed; the one with the least inertia is kept
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
    quality_moves : int; try this number of exchanges instead, with the same result on any number of threads and ranks
    metric : "euclidean" or "cosine"; the measure of nearness: the distance, or the angle between rows, which are scaled
        to unit length (spherical k-means)
    standardize : bool; bring every column to mean 0 and variance 1 first; centroids come back in the units of the data
    seed : int; seed of the random numbers
    .. </options>

    * `device`: "auto", "cpu", "gpu" or "gpu:1"; "auto" is the CPU, unless the points are on a GPU
    * `gpus`: GPUs that share the problems: "all", the number of GPUs, or a list of their indices
    * `variant`: a name in variants("kmeans"); None: the fastest with the exact result
    * `threads`: int; CPU threads; None: all cores, or the limit set by OMP_NUM_THREADS or threadpoolctl. Small problems use
        one thread each, large problems all of them.
    * `pinning`: "none", "compact" or "scatter"; binding of threads to cores
    * `memory_limit`: int; bytes that the job may take in addition to its input; None: the available memory
    * `stream`: stream of PyTorch or CuPy, or address of a CUDA stream, in which points on a GPU were written
    * `progress`: function of (phase, done, total, detail); `done` counts problems. An exception in it ends the job and
        reaches the caller

    Returns a KMeansBatchResult. All problems have the same seed. Problem b has the bits of kmeans(points[b], clusters, ...)
    with the same arguments. Raises the errors of kmeans(); the message names the first problem that fails.

    Examples
    --------
    >>> fits = gradus.kmeans_batch(tokens, 64)  # tokens: 32 x 4096 x 16
    >>> fits.labels[3], fits.inertia[3]
    >>> quantizer = gradus.kmeans_batch(vectors, 256, subspaces=8)
    >>> quantizer.codes
    """
    method = _method(init)
    # The time of a fit is no budget that could be repeated, so quality is no argument.
    options = options_in("kmeans", {**locals(), "init": method, "quality": False})
    matrices, stored = _points(points, subspaces, stream_number(stream))
    dtype = _arrays.type_of_job(matrices, stored)
    problems, n, _ = matrices.shape
    given = weighed = None
    if method == "given":
        if isinstance(init, str):
            raise UsageError.about("init", "a folder holds the centroids of one fit; pass an array, or name a method")
        given = _for_all(init, "init", dtype, problems)
    if restarts > 1 and not is_random(init):
        raise UsageError.about("restarts", f"{restarts}, but with this `init` nothing is random; leave restarts out")
    if weights is not None:
        _arrays.refuse_gpu(weights, "weights")
        shared = len(np.shape(weights)) == 1
        weighed = _arrays.vector(weights, "weights", dtype)[np.newaxis] if shared else _arrays.matrix(weights, "weights", dtype)
    labels = np.empty((problems, n), _LABEL)
    running = request(device, variant, threads, pinning, None, memory_limit, stream, progress, gpus=gpus)
    centroids, counts, inertia, iterations, converged, report, scaled = _core.kmeans_batch(
        matrices, labels, given, weighed, stored, subspaces is not None, options, running
    )
    shape = (problems, clusters, -1)
    return KMeansBatchResult(
        centroids.reshape(shape),
        labels,
        counts,
        inertia,
        iterations,
        converged.astype(bool),
        report_of(report),
        metric,
        None if scaled is None else KMeansStandardization(*scaled[:2]),
        None if scaled is None else scaled[2].reshape(shape),
    )


@names_arguments
def kmeans_encode(
    codebooks: Any, points: Any, *, threads: int | None = None, memory_limit: int | None = None, progress: Progress | None = None
) -> Array:
    """Returns the codes of points by the codebooks of a product quantizer: the nearest centroids, one for each subspace.

    * `codebooks`: result of kmeans_batch(..., subspaces=M), or an M x clusters x d array of centroids
    * `points`: n x (M d) array in host memory, of the types of kmeans()
    * `threads`, `memory_limit`, `progress`: as for kmeans_batch(); `progress` reports each subspace separately

    Returns an n x M array of the smallest unsigned type. The points of the fit get the codes of the result. Raises
    the errors of kmeans_predict().

    Examples
    --------
    >>> codes = gradus.kmeans_encode(quantizer, new_vectors)
    """
    fit = codebooks if isinstance(codebooks, KMeansBatchResult) else None
    centroids = _arrays.batch(codebooks, "codebooks")[0] if fit is None else fit.centroids
    _arrays.refuse_gpu(points, "points")
    rows, stored = _arrays.points(points, None)
    subspaces, clusters, size = centroids.shape
    if rows.shape[1] != subspaces * size:
        raise InputError.about(
            "points", f"there are {rows.shape[1]} columns, but {subspaces} codebooks of {size} columns need {subspaces * size}"
        )
    source = rows if stored is None else points  # the type of stored rows is known only from the source
    codes = np.empty((len(rows), subspaces), np.min_scalar_type(clusters - 1))
    for subspace in range(subspaces):
        group = source[:, subspace * size : (subspace + 1) * size]
        model = centroids[subspace] if fit is None else fit.model(subspace)
        codes[:, subspace] = kmeans_predict(
            model, group, device="cpu", threads=threads, memory_limit=memory_limit, progress=progress
        )
    return codes
