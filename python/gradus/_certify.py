"""Proven lower bounds for the inertia of every clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradus import _arrays, _core
from gradus._check import _as_labels, _parts
from gradus._errors import UsageError
from gradus._kmeans import _model, _weights
from gradus._options import Progress, RunReport, names_arguments, report_of, request


@dataclass(frozen=True, eq=False)
class KMeansCertificate:
    """Result of certify()."""

    bound: float  #: no clustering into at most as many clusters has an inertia below this
    gap: float | None  #: largest share by which another clustering can be better, 0 to 1; None without an inertia
    method: str  #: the proof: "one-column", "groups", "spectrum", or "none" if the bound is 0
    confidence: float  #: 1: every method is a proof
    report: RunReport


@names_arguments
def certify(
    result: Any,
    points: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    inertia: float | None = None,
    metric: str | None = None,
    effort: float = 1.0,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> KMeansCertificate:
    """Proves a lower bound for the inertia of every clustering of the points into as many clusters as the result has.

    * `result`: KMeansResult or KMeansModel; a fitted estimator, such as scikit-learn's KMeans; a clusters x d array of
        centroids; or the path of a folder that `gradus kmeans --output` wrote
    * `points`: n x d array in host memory, as for kmeans()
    * `labels`: n integers; None: the labels of the result. They help to find a good bound, which holds for any labels
    * `weights`: n numbers, or None: the weights of the fit
    * `inertia`: number to compare with the bound; None: the inertia of the result, if it has one
    * `metric`: "euclidean" or "cosine" for an array of centroids; None: the metric of the model, or "euclidean"
    * `effort`: number, at least 0; limits the search for a bound of points with two columns, as a multiple of the work of
        a usual fit. More effort usually gives a larger bound.
    * `threads`: int; None: all cores
    * `memory_limit`: int; bytes that the job may take in addition to its input; None: the available memory
    * `progress`: function of (phase, done, total, detail); an exception in it ends the job and reaches the caller

    Returns a KMeansCertificate. Runs on the CPU. Raises UsageError if there are no labels, InputError for shapes that do
    not match, labels that are no clusters, NaN, infinity and negative weights or effort, UnsupportedError for arrays in GPU
    memory, and OutOfMemoryError if memory does not suffice for a copy of the points in float64.

    Examples
    --------
    >>> gradus.certify(gradus.kmeans([[0, 0], [0, 1], [9, 0], [9, 1]], 2), [[0, 0], [0, 1], [9, 0], [9, 1]]).gap < 1e-9
    True
    """
    given, given_labels, given_inertia, *_ = _parts(result)
    given_labels = given_labels if labels is None else labels
    if given_labels is None:
        raise UsageError.about("labels", "the result has no labels; pass them, too")
    rows = _arrays.matrix(points, "points", None, None)
    means, by, mean, scale = _model(given, metric, rows.dtype, None)
    weighed = _weights(weights, rows, None, centroids=means)
    running = request("auto", None, threads, "none", None, memory_limit, None, progress)
    stated = given_inertia if inertia is None else float(inertia)
    bound, gap, method, report = _core.kmeans_certify(
        means, rows, _as_labels(given_labels), weighed, by, mean, scale, 0.0 if stated is None else stated,
        float(effort), running
    )
    return KMeansCertificate(bound, None if stated is None else gap, method, 1.0, report_of(report))
