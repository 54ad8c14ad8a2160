"""k-means over points that arrive in batches."""

from __future__ import annotations

from typing import Any, Callable, Iterable

import numpy as np

from gradus import _arrays, _core
from gradus._errors import InputError, UsageError
from gradus._kmeans import KMeansModel, Array, kmeans_initial_centroids
from gradus._options import Progress, names_arguments, report_of, request

_LABEL = np.dtype(np.int32)


class KMeansBatches:
    """Centroids, and exact sums over the points of each cluster, for points that arrive in batches.

    add() assigns the points of a batch to the centroids and adds the points to the sums. Because the sums are exact,
    the means depend neither on the order nor on the size of the batches, nor on how the batches are distributed over
    objects that merge() combines. One pass over all points and move() give the bits of one iteration of kmeans() with
    empty="keep".

    Without forget(), the sums keep the points of earlier batches, as in mini-batch k-means: a centroid is the mean of all
    points that were ever assigned to it.

    An object can be pickled, to continue later or to merge it in another process.

    * `centroids`: clusters x d array of float32 or float64 in host memory; later points are converted to its type
    * `metric`: "euclidean" or "cosine"

    Raises UsageError for invalid arguments and while another thread uses the object, and InputError for values that
    kmeans() would refuse.

    Examples
    --------
    >>> batches = gradus.KMeansBatches(points[:16])
    >>> for iteration in range(10):
    ...     batches.forget()
    ...     for first in range(0, len(points), 1000):
    ...         labels = batches.add(points[first : first + 1000])
    ...     if batches.move() == 0:
    ...         break
    """

    @names_arguments
    def __init__(self, centroids: Any, *, metric: str = "euclidean") -> None:
        rows = _arrays.matrix(centroids, "centroids")
        self._dtype = rows.dtype
        self._metric = metric
        self._batches = _core.KMeansBatches(rows, metric)

    def __getstate__(self) -> tuple[str, str, bytes]:
        return self._dtype.name, self._metric, self._batches.save()

    def __setstate__(self, state: tuple[str, str, bytes]) -> None:
        element, self._metric, saved = state
        self._dtype = np.dtype(element)
        self._batches = _core.KMeansBatches.restore(saved, element)

    @names_arguments
    def add(
        self,
        points: Any,
        *,
        weights: Any = None,
        device: str = "auto",
        variant: str | None = None,
        threads: int | None = None,
        memory_limit: int | None = None,
        progress: Progress | None = None,
    ) -> Array:
        """Adds the rows of `points` to the sums. Returns their labels, n of int32, like kmeans_predict().

        * `points`: n x d array in host memory; n may be 0
        * `weights`: n non-negative numbers, or None: 1 for each point

        The other arguments are the same as for kmeans(). Raises the errors of kmeans_predict(), and UnsupportedError for
        points on a GPU; the object is then unchanged.
        """
        running = request(device, variant, threads, "none", None, memory_limit, None, progress)
        return self._add(points, weights, running)[0]

    def _add(self, points: Any, weights: Any, running: Any) -> tuple[Array, float]:
        """Adds points like add(). Returns their labels and their inertia."""
        rows = _arrays.matrix(points, "points", self._dtype)
        weighed = None if weights is None else _arrays.vector(weights, "weights", self._dtype)
        labels = np.empty(len(rows), _LABEL)
        inertia, report = self._batches.add(rows, labels, weighed, running)
        report_of(report)
        return labels, inertia

    @names_arguments
    def merge(self, other: KMeansBatches) -> None:
        """Adds the sums of another object. Raises UsageError unless both have the same centroids, type and metric."""
        if not isinstance(other, KMeansBatches):
            raise UsageError.about("other", f"{other!r}; another KMeansBatches is needed")
        if other is self:
            raise UsageError.about("other", "the object itself; its points would count twice")
        self._batches.merge(other._batches)

    def means(self) -> Array:
        """Returns the exact weighted mean of each cluster, rounded once. A cluster without weight keeps its centroid."""
        return self._batches.means()  # type: ignore[return-value]

    def move(self) -> float:
        """Moves the centroids to means(). Returns the sum of their squared movements."""
        return self._batches.move()

    def forget(self) -> None:
        """Forgets all points: sums, counts and inertia become zero, and the centroids stay."""
        self._batches.forget()

    @names_arguments
    def replace(self, cluster: int, centroid: Any) -> None:
        """Forgets the points of one cluster and moves its centroid to `centroid`, d numbers."""
        self._batches.replace(cluster, _arrays.vector(centroid, "centroid", self._dtype))

    @property
    def centroids(self) -> Array:
        """A copy of the present centroids, clusters x d."""
        return self._batches.centroids()  # type: ignore[return-value]

    @property
    def counts(self) -> Array:
        """int64 number of points in the sums of each cluster."""
        return self._batches.counts()  # type: ignore[return-value]

    @property
    def weights(self) -> Array:
        """float64 weight of the points in the sums of each cluster, rounded once."""
        return self._batches.weights()  # type: ignore[return-value]

    @property
    def inertia(self) -> float:
        """The inertia of all points since forget(), rounded once. Each batch counts with the centroids at the time of
        its add()."""
        return self._batches.inertia()

    @property
    def model(self) -> KMeansModel:
        """The present centroids and the metric, for kmeans_predict() and kmeans_transform()."""
        return KMeansModel(self.centroids, self._metric, None)


def _with_weights(batch: Any) -> tuple[Any, Any]:
    """Returns (points, weights) of a batch. A batch is an array or a pair of arrays."""
    if isinstance(batch, tuple):
        if len(batch) != 2:
            raise UsageError.about("batches", f"a tuple of {len(batch)} elements; an array, or (points, weights), is needed")
        return batch
    return batch, None


@names_arguments
def kmeans_batches(
    batches: Callable[[], Iterable[Any]],
    clusters: int,
    *,
    init: Any = "k-means++",
    max_iterations: int = 300,
    metric: str = "euclidean",
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    memory_limit: int | None = None,
) -> KMeansBatches:
    """Clusters points that are read in batches, once per iteration, so that they need not fit in memory.

    * `batches`: function without arguments that returns a new iterable of batches for each iteration, in any order. A batch
        is an n x d array, or a tuple (array, weights). All iterations must return the same points in total
    * `clusters`: int; number of clusters
    * `init`: clusters x d array of initial centroids; or "k-means++", "k-means-parallel", "random" or "first", by which
        kmeans_initial_centroids() chooses rows of the first batch. Only an array makes the result independent of the
        batches
    * `max_iterations`: int; iteration limit; the fit also ends when no centroid moves
    * `metric`: "euclidean" or "cosine"
    * `seed`: int; seed of the choice of initial centroids

    The other arguments are the same as for kmeans(). Returns a KMeansBatches after a last pass, so that its counts and
    inertia belong to its centroids. The centroids have the bits of kmeans(..., init=the same centroids, tolerance=0,
    empty="keep").

    Raises UsageError for invalid arguments, InputError for batches without points and for other points than in the first
    pass, and the errors of kmeans().

    Examples
    --------
    >>> files = sorted(pathlib.Path("vectors").glob("*.npy"))
    >>> fit = gradus.kmeans_batches(lambda: map(numpy.load, files), 256)
    >>> fit.centroids, fit.counts
    """
    if not callable(batches):
        raise UsageError.about(
            "batches", f"a {type(batches).__name__}; a function that returns a new iterable for each iteration is needed, "
            "such as lambda: parts"
        )
    if max_iterations < 0:
        raise UsageError.about("max_iterations", f"{max_iterations}; 0 or more is needed")
    fit: KMeansBatches | None = None
    if not isinstance(init, str):
        fit = KMeansBatches(init, metric=metric)
        if len(fit.counts) != clusters:
            raise UsageError.about("init", f"{len(fit.counts)} centroids for {clusters} clusters")
    points_of_first_pass: int | None = None
    for iteration in range(max_iterations + 1):
        if fit is not None:
            fit.forget()
        for batch in batches():
            points, weights = _with_weights(batch)
            if fit is None:
                first = kmeans_initial_centroids(
                    points, clusters, init=init, weights=weights, metric=metric, seed=seed, device=device, threads=threads,
                    memory_limit=memory_limit,
                )
                fit = KMeansBatches(first.centroids, metric=metric)
            fit.add(points, weights=weights, device=device, threads=threads, memory_limit=memory_limit)
        count = 0 if fit is None else int(fit.counts.sum())
        if fit is None or count == 0:
            raise InputError.about("batches", "no points" + (" in a later pass; return a new iterable each time" if iteration else ""))
        if points_of_first_pass not in (None, count):
            raise InputError.about(
                "batches", f"{count} points in pass {iteration + 1}, but {points_of_first_pass} in the first; all passes "
                "must return the same points"
            )
        points_of_first_pass = count
        if iteration == max_iterations or not _moves(fit):
            break
    assert fit is not None
    return fit


def _moves(fit: KMeansBatches) -> bool:
    """Moves the centroids. Returns False if no centroid moved. In this case, labels, counts and inertia belong to the
    last pass."""
    before = fit.centroids
    fit.move()
    return not np.array_equal(before, fit.centroids)
