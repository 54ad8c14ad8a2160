"""Verification of k-means results of Gradus and of other libraries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradus import _arrays, _core, _fitted_folder
from gradus._errors import InputError, UnsupportedError, UsageError
from gradus._kmeans import Array, KMeansModel, KMeansResult, KMeansStandardization, _model, _weights
from gradus._options import Gpus, Progress, RunReport, names_arguments, report_of, request, run, stream_number

_LABEL = np.dtype(np.int32)


class KMeansLabelCheck(NamedTuple):
    """The labels of a result: each should be the lowest number among the nearest centroids."""

    incorrect: int  #: number of labels that are not
    within_tolerance: int  #: number of labels that pass only because of the tolerance
    largest_excess: float  #: largest share by which a squared distance exceeds the squared distance to the nearest
    row: int  #: row of the first incorrect label, or -1; the fields below describe this row
    label: int
    nearest: int  #: the correct label
    distance: float  #: squared distance to the centroid of the label
    nearest_distance: float  #: squared distance to the nearest centroid


class KMeansMeanCheck(NamedTuple):
    """The centroids of a result: each should be the mean of the points with its label."""

    incorrect: int  #: number of centroids that are not
    within_tolerance: int  #: number of centroids that pass only because of the tolerance
    without_mean: int  #: number of clusters that have no mean, for example because they have no points
    largest_deviation: float  #: largest difference between a coordinate and the mean
    excess_inertia: float  #: one more iteration lowers the inertia by at least this amount; 0 for metric="cosine"
    cluster: int  #: number of the first incorrect centroid, or -1; the fields below describe it
    column: int  #: its first incorrect column
    value: float  #: the coordinate there
    mean: float  #: the correct coordinate
    ulps: float  #: number of steps between adjacent numbers of the type, from `value` to `mean`


@dataclass(frozen=True, eq=False, repr=False)
class KMeansCheck:
    """Result of check()."""

    labels: KMeansLabelCheck
    means: KMeansMeanCheck
    inertia: float  #: inertia of the labels and centroids
    inertia_correct: bool | None  #: None if no inertia was given
    counts: Array  #: number of points in each cluster
    reference_rows: int  #: number of rows that were compared by a plain loop
    reference_differences: int  #: number of these rows with another nearest centroid: 0 unless Gradus has a fault
    report: RunReport
    #: least and greatest number of points per cluster that the fit permitted; None without limits of size
    size_limits: tuple[int, int] | None = None

    @property
    def sizes_correct(self) -> bool | None:
        """True if all clusters are within the limits of size; None without limits."""
        if self.size_limits is None:
            return None
        least, most = self.size_limits
        return bool((self.counts >= least).all() and (self.counts <= most).all())

    @property
    def passed(self) -> bool:
        """True if labels, centroids, inertia and sizes are correct. With limits of size, labels need not be the nearest."""
        labels = self.labels.incorrect == 0 if self.size_limits is None else self.sizes_correct
        return bool(labels) and not (self.means.incorrect or self.reference_differences or self.inertia_correct is False)

    def __repr__(self) -> str:
        return (
            f"KMeansCheck(passed={self.passed}, {self.labels.incorrect} incorrect labels, "
            f"{self.means.incorrect} incorrect centroids, inertia={self.inertia:.6g}, "
            f"inertia_correct={self.inertia_correct}"
            + (")" if self.size_limits is None else f", size_limits={self.size_limits}, sizes_correct={self.sizes_correct})")
        )


def _size_limits(options: tuple[Any, ...], counts: Array) -> tuple[int, int] | None:
    """Returns the limits of size of a fit with these options, as the fit computes them."""
    size_min, size_max, balanced = options
    if not (size_min or size_max or balanced):
        return None
    points, clusters = int(counts.sum()), len(counts)
    if balanced:
        return 9 * points // (10 * clusters), -(-11 * points // (10 * clusters))
    return int(size_min or 0), min(int(size_max or points), points)


class _Parts(NamedTuple):
    """A result to check. Labels and inertia are None if it has none."""

    model: Any  #: or centroids
    labels: Any = None
    inertia: float | None = None
    size_options: tuple[Any, ...] = (0, 0, False)  #: size_min, size_max and balanced
    bisected: bool = False  #: its labels follow a tree


def _of_folder(folder: str) -> _Parts:
    """Reads a folder that `gradus kmeans --output` wrote."""
    summary = _fitted_folder.summary_of(folder, "result")
    by = summary.get("standardize")
    name = "centroids.npy" if by is None else "standardized_centroids.npy"
    try:
        centroids, labels = (np.load(os.path.join(folder, file)) for file in (name, "labels.npy"))
        standardization = None if by is None else KMeansStandardization(np.array(by["mean"]), np.array(by["scale"]))
        options = summary.get("options", {})
        limits = options.get("size_min", 0), options.get("size_max", 0), options.get("balanced", False)
        model = KMeansModel(centroids, summary["metric"], standardization)
        return _Parts(model, labels, float(summary["inertia"]), limits, "bisecting" in summary)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError.about("result", f"{folder!r} cannot be read as a result: {error}") from error


def _parts(result: Any) -> _Parts:
    if isinstance(result, (str, os.PathLike)):
        return _of_folder(os.fspath(result))
    if isinstance(result, KMeansResult):
        return _Parts(result.model, result.labels, result.inertia, result.size_options or (0, 0, False))
    if hasattr(result, "cluster_centers_"):  # an estimator of scikit-learn or of a library like it
        limits = tuple(getattr(result, name, 0) for name in ("size_min", "size_max", "balanced"))
        labels, inertia = getattr(result, "labels_", None), getattr(result, "inertia_", None)
        return _Parts(result.cluster_centers_, labels, inertia, limits, hasattr(result, "bisecting_strategy"))
    return _Parts(result)


def _as_labels(labels: Any) -> _arrays.Placed:
    """Returns labels as int32. Labels that do not fit are refused with their row."""
    array = labels if isinstance(labels, np.ndarray) else np.asarray(labels) if isinstance(labels, (list, tuple)) else None
    if array is not None and array.ndim == 1 and array.dtype.kind in "iu" and array.dtype.itemsize >= 4:
        limits = np.iinfo(_LABEL)
        far = np.flatnonzero((array > limits.max) | (array < limits.min))
        if far.size:
            row = int(far[0])
            raise InputError.about("labels", f"the label in row {row} (counted from 0) is {array[row]}, which is no cluster", row=row)
        labels = array.astype(_LABEL, copy=False)
    return _arrays.vector(labels, "labels", _LABEL)


@names_arguments
def check(
    result: Any,
    points: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    inertia: float | None = None,
    metric: str | None = None,
    tolerance: float = 0.0,
    reference_rows: int = 0,
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
) -> KMeansCheck:
    """Checks a k-means result against its points: every label is the nearest centroid, every centroid is the mean.

    * `result`: KMeansResult or KMeansModel; a fitted estimator, such as scikit-learn's KMeans; a clusters x d array of
        centroids; or the path of a folder that `gradus kmeans --output` wrote
    * `points`: n x d array, as for kmeans(); the centroids are converted to its type
    * `labels`: n integers; None: the labels of the result
    * `weights`: n numbers, or None: the weights of the fit
    * `inertia`: number to compare with; None: the inertia of the result, if it has one
    * `metric`: "euclidean" or "cosine" for an array of centroids; None: the metric of the model, or "euclidean"
    * `tolerance`: largest relative error of distances, centroids and inertia that passes; 0 for results of Gradus; other
        libraries round their sums and distances
    * `reference_rows`: int; number of rows, spread evenly, whose nearest centroid is searched by a plain loop, too; if
        there are not more rows, plain loops compute everything

    The other arguments and the errors are the same as for kmeans_predict(). Returns a KMeansCheck. An incorrect result
    is no error; its `passed` is False. A fit that ended before its labels settled has correct labels, but its centroids
    are the means of the labels of its last iteration. After a fit with limits of size (also of a folder or an estimator),
    the sizes must be within these limits, and labels need not be the nearest; that no assignment within the limits is
    better is not checked. Raises UnsupportedError for labels of bisecting k-means, which follow a tree.

    Examples
    --------
    >>> gradus.check(gradus.kmeans(points, 8, tolerance=0), points).passed
    True
    """
    given, given_labels, given_inertia, size_options, bisected = _parts(result)
    if bisected and labels is None:
        raise UnsupportedError.about("result", "its labels follow the tree of bisecting k-means, and not the nearest centroids")
    stated = given_inertia if inertia is None else inertia
    given_labels = given_labels if labels is None else labels
    if given_labels is None:
        raise UsageError.about("labels", "the result has no labels; pass them, too")

    def prepared() -> tuple[Any, ...]:
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        means, by, mean, scale = _model(given, metric, rows.dtype, number)
        weighed = _weights(weights, rows, number, centroids=means)
        running = request(device, variant, threads, pinning, block_size, memory_limit, number, progress, gpus=gpus)
        return means, rows, _as_labels(given_labels), weighed, by, mean, scale, float(tolerance), reference_rows, running

    _, (of_labels, of_means, found, counts, compared, differences, report) = run(communicator, _core.kmeans_check, prepared)
    return KMeansCheck(
        KMeansLabelCheck(*of_labels),
        KMeansMeanCheck(*of_means),
        found,
        None if stated is None else abs(float(stated) - found) <= tolerance * abs(found),
        counts,
        compared,
        differences,
        report_of(report),
        _size_limits(size_options, counts),
    )
