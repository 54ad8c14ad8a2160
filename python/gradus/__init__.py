"""Gradus: exact parallel kernels for data."""

from gradus import _core
from gradus._errors import Error, InputError, OutOfMemoryError, UnsupportedError, UsageError
from gradus._options import MemoryEstimate, RunReport
from gradus._kmeans import (
    KMeansInitialCentroids,
    KMeansIteration,
    KMeansResult,
    kmeans,
    kmeans_initial_centroids,
    kmeans_memory,
    kmeans_predict,
    kmeans_transform,
)
from gradus._machine import Gpu, Variant, gpus, info, problems, variants
from gradus._pair_histogram import PairHistogramResult, RadialDistribution, pair_histogram

__version__: str = _core.version()

__all__ = [
    "Error",
    "Gpu",
    "InputError",
    "KMeansInitialCentroids",
    "KMeansIteration",
    "KMeansResult",
    "MemoryEstimate",
    "OutOfMemoryError",
    "PairHistogramResult",
    "RadialDistribution",
    "RunReport",
    "UnsupportedError",
    "UsageError",
    "Variant",
    "gpus",
    "info",
    "kmeans",
    "kmeans_initial_centroids",
    "kmeans_memory",
    "kmeans_predict",
    "kmeans_transform",
    "pair_histogram",
    "problems",
    "variants",
]
