"""Gradus: exact parallel kernels for data.

By default, results have the same bits on every machine, on CPU and GPU, with any number of threads. Functions accept
NumPy arrays and objects that can be converted to NumPy arrays. The k-means functions and pair_histogram() also accept
arrays in GPU memory, for example from PyTorch, CuPy or JAX.

Examples
--------
>>> import gradus, numpy as np
>>> points = np.random.default_rng(0).random((10_000, 8), dtype=np.float32)
>>> result = gradus.kmeans(points, 16)
>>> result.centroids.shape, result.labels.shape
((16, 8), (10000,))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradus import _core
from gradus._errors import Error, InputError, OutOfMemoryError, UnsupportedError, UsageError
from gradus._options import MemoryEstimate, RunReport
from gradus._batches import KMeansBatches, kmeans_batches
from gradus._catalogue import read_catalogue
from gradus._certify import KMeansCertificate, certify
from gradus._check import KMeansCheck, KMeansLabelCheck, KMeansMeanCheck, check
from gradus._kmeans import (
    KMeansCandidate,
    KMeansChoice,
    KMeansInitialCentroids,
    KMeansIteration,
    KMeansModel,
    KMeansProjection,
    KMeansResult,
    KMeansStandardization,
    choose_clusters,
    kmeans,
    kmeans1d,
    kmeans_initial_centroids,
    kmeans_memory,
    kmeans_predict,
    kmeans_projection,
    kmeans_transform,
)
from gradus._kmeans_batch import KMeansBatchResult, kmeans_batch, kmeans_encode
from gradus._life import LifeResult, LifeTree, life
from gradus._machine import Gpu, Variant, gpus, info, problems, variants
from gradus._matmul import matmul
from gradus._pair_histogram import PairHistogramResult, RadialDistribution, pair_histogram
from gradus._radial_distribution import RadialDistributionResult, radial_distribution
from gradus._repeat import repeat
from gradus._shortest_paths import ShortestPathsResult, shortest_paths
from gradus._structure_factor import StructureFactorResult, structure_factor

if TYPE_CHECKING:
    from gradus.cluster import (
        BisectingKMeans as BisectingKMeans,
        KMeans as KMeans,
        MiniBatchKMeans as MiniBatchKMeans,
        k_means as k_means,
        kmeans_plusplus as kmeans_plusplus,
    )

__version__: str = _core.version()

_OF_CLUSTER = ("BisectingKMeans", "KMeans", "MiniBatchKMeans", "k_means", "kmeans_plusplus")

__all__ = [
    "Error",
    "Gpu",
    "InputError",
    "KMeansBatchResult",
    "KMeansBatches",
    "KMeansCandidate",
    "KMeansCertificate",
    "KMeansCheck",
    "KMeansChoice",
    "KMeansInitialCentroids",
    "KMeansIteration",
    "KMeansLabelCheck",
    "KMeansMeanCheck",
    "KMeansModel",
    "KMeansProjection",
    "KMeansResult",
    "KMeansStandardization",
    "LifeResult",
    "LifeTree",
    "MemoryEstimate",
    "OutOfMemoryError",
    "PairHistogramResult",
    "RadialDistribution",
    "RadialDistributionResult",
    "RunReport",
    "ShortestPathsResult",
    "StructureFactorResult",
    "UnsupportedError",
    "UsageError",
    "Variant",
    "certify",
    "check",
    "choose_clusters",
    "gpus",
    "info",
    "kmeans",
    "kmeans1d",
    "kmeans_batch",
    "kmeans_batches",
    "kmeans_encode",
    "kmeans_initial_centroids",
    "kmeans_memory",
    "kmeans_predict",
    "kmeans_projection",
    "kmeans_transform",
    "life",
    "matmul",
    "pair_histogram",
    "problems",
    "radial_distribution",
    "read_catalogue",
    "repeat",
    "shortest_paths",
    "structure_factor",
    "variants",
]


def __getattr__(name: str) -> Any:
    """Imports gradus.cluster and gradus.sklearn at their first use, because importing scikit-learn takes long."""
    import importlib

    if name == "sklearn":
        return importlib.import_module("gradus.sklearn")
    if name != "cluster" and name not in _OF_CLUSTER:
        raise AttributeError(f"module 'gradus' has no attribute {name!r}")
    cluster = importlib.import_module("gradus.cluster")
    return cluster if name == "cluster" else getattr(cluster, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_OF_CLUSTER])
