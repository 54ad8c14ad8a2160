#!/usr/bin/env python3
"""One iteration of k-means as PyTorch users write it on a GPU, timed by events: a matrix product, argmin, index_add.

usage: kmeans_pytorch.py [--shape NxDxK:TYPE[:tf32] ...] [--scikit-learn NxDxK:TYPE ...]   prints JSON

The distance is |x|^2 - 2 x.c + |c|^2 without |x|^2, which is the same for all centroids of a point. The arithmetic uses
the data's type, or TF32 products if requested. The labels therefore belong to rounded distances and are not certified.
"""
import argparse
import json
import statistics

import torch


def iterate(points, centroids, clusters, chunk):
    """Computes new centroids from one assignment, in chunks of rows so that the scores fit the memory."""
    sums = torch.zeros_like(centroids)
    counts = torch.zeros(clusters, device=points.device, dtype=points.dtype)
    norms = (centroids * centroids).sum(1)
    for first in range(0, points.shape[0], chunk):
        part = points[first:first + chunk]
        labels = torch.addmm(norms, part, centroids.T, alpha=-2).argmin(1)
        sums.index_add_(0, labels, part)
        counts += torch.bincount(labels, minlength=clusters)
    return sums / counts.clamp(min=1).unsqueeze(1)


def measure(n, d, clusters, dtype, tf32, repeats=9):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    generator = torch.Generator(device="cuda").manual_seed(0)
    points = torch.rand(n, d, device="cuda", dtype=dtype, generator=generator) * 10
    centroids = points[:clusters].clone()
    chunk = max(1, min(n, (8 << 30) // (clusters * points.element_size())))
    times = []
    for repeat in range(repeats + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        centroids = iterate(points, centroids, clusters, chunk)
        end.record()
        torch.cuda.synchronize()
        if repeat >= 2:
            times.append(start.elapsed_time(end))
    return {"n": n, "d": d, "k": clusters, "dtype": str(dtype).split(".")[1], "tf32": tf32,
            "median_milliseconds_in_an_iteration": statistics.median(times), "samples": times}


def measure_scikit_learn(n, d, clusters, dtype, iterations=10):
    """Times scikit-learn's Lloyd algorithm on all cores, for scale."""
    import time

    import numpy
    import sklearn
    from sklearn.cluster import KMeans

    points = (numpy.random.default_rng(0).random((n, d)) * 10).astype(dtype)
    job = KMeans(clusters, init=points[:clusters], n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    start = time.perf_counter()
    job.fit(points)
    seconds = time.perf_counter() - start
    return {"scikit_learn": sklearn.__version__, "n": n, "d": d, "k": clusters, "dtype": dtype,
            "iterations": int(job.n_iter_), "seconds": seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--scikit-learn", action="append", default=[])
    arguments = parser.parse_args()
    shapes = arguments.shape or ["16777216x2x16:float64", "2097152x16x16:float64", "33554432x2x16:float32",
                                 "8294400x3x256:float32", "100000x2x100:float32", "1048576x128x1024:float32",
                                 "1048576x128x1024:float32:tf32", "1048576x128x16384:float32",
                                 "1048576x128x16384:float32:tf32", "1000000x768x4096:float32",
                                 "1000000x768x4096:float32:tf32"]
    rows = []
    for shape in shapes:
        sizes, dtype, *products = shape.split(":")
        n, d, clusters = map(int, sizes.split("x"))
        rows.append(measure(n, d, clusters, getattr(torch, dtype), products == ["tf32"]))
    others = []
    for shape in arguments.scikit_learn:
        sizes, dtype = shape.split(":")
        others.append(measure_scikit_learn(*map(int, sizes.split("x")), dtype))
    print(json.dumps({"pytorch": torch.__version__, "gpu": torch.cuda.get_device_name(), "rows": rows, "scikit_learn": others}, indent=1))


if __name__ == "__main__":
    main()
