"""What the estimator needs of the library and this build does not have yet."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gradus import _arrays, _core, _kmeans
from gradus._options import request


def kmeans(points: Any, clusters: int, **options: Any) -> _kmeans.KMeansResult:
    if "fewer_distinct" not in inspect.signature(_kmeans.kmeans).parameters:
        del options["fewer_distinct"]
    return _kmeans.kmeans(points, clusters, **options)


def kmeans_initial_centroids(points: Any, clusters: int, **options: Any) -> Any:
    return _kmeans.kmeans_initial_centroids(points, clusters, **options)  # type: ignore[attr-defined]


def kmeans_predict(
    centroids: Any, points: Any, *, weights: Any, metric: str, return_inertia: bool, device: str, variant: str | None,
    threads: int | None, memory_limit: int | None, stream: Any,
) -> tuple[Any, float]:  # fmt: skip
    rows = _arrays.matrix(points, "points")
    means = _arrays.matrix(centroids, "centroids", rows.dtype)
    labels = np.empty(len(rows), np.int32)
    running = request(device, variant, threads, "none", None, memory_limit, stream, None)
    inertia, _ = _core.kmeans_predict(means, rows, labels, metric, running)
    if weights is not None:
        inertia = float(((rows.astype(float) - means[labels]) ** 2).sum(axis=1) @ weights)
    return labels, inertia
