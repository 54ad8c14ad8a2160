#!/usr/bin/env python3
"""One iteration of k-means on a GPU: Gradus' production variants, and Lloyd's iteration as PyTorch users write it.

PyTorch's iteration is a matrix product, argmin and index_add, timed by events. It compares centroids by |c|^2 - 2
x.c, the squared distance without the term |x|^2, which is the same for all centroids. PyTorch computes in the type
of the data or, on request, with TF32 products, so its labels follow from rounded distances. Gradus' time is the
median iteration of the fastest production variant, whose labels are exact.

usage: kmeans_pytorch.py --gradus build/gradus --json FILE [--shape NxDxK:TYPE[:tf32] ...]
"""
import argparse
import json
import statistics
import subprocess
import types

import torch

from common import facts, write_whole

SHAPES = ["16777216x2x16:f64", "2097152x16x16:f64", "8294400x3x256:f32", "1048576x128x1024:f32", "1048576x128x1024:f32:tf32",
          "1048576x128x16384:f32", "1048576x128x16384:f32:tf32", "1000000x768x4096:f32", "1000000x768x4096:f32:tf32"]
TYPES = {"f32": torch.float32, "f64": torch.float64}
PRODUCTION = "cuda_small_dim,cuda_ordered,cuda_tensor"


def iterate(points, centroids, clusters, chunk):
    """Returns the centroids after one iteration. Rows are assigned in chunks, so that the scores fit the memory."""
    sums = torch.zeros_like(centroids)
    counts = torch.zeros(clusters, device=points.device, dtype=points.dtype)
    norms = (centroids * centroids).sum(1)
    for first in range(0, points.shape[0], chunk):
        part = points[first:first + chunk]
        labels = torch.addmm(norms, part, centroids.T, alpha=-2).argmin(1)
        sums.index_add_(0, labels, part)
        counts += torch.bincount(labels, minlength=clusters)
    return sums / counts.clamp(min=1).unsqueeze(1)


def pytorch_seconds(n, d, clusters, dtype, tf32, repeats=9):
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
            times.append(start.elapsed_time(end) / 1000)
    del points, centroids
    torch.cuda.empty_cache()
    return times


def gradus_seconds(program, n, d, clusters, dtype):
    """Returns the fastest production variant for the shape, and the median of its iterations."""
    command = [program, "bench", "kmeans", "--shape", f"{n}x{d}", "-k", str(clusters), "--dtype", dtype, "--variants", PRODUCTION,
               "--repeats", "3", "--quiet", "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    times = {row["variant"]: row["median_milliseconds_in_an_iteration"] / 1000 for row in report["groups"][0]["rows"]
             if "median_milliseconds_in_an_iteration" in row}
    variant = min(times, key=times.get)
    return variant, times[variant], report["facts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gradus", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--shape", action="append", default=[])
    arguments = parser.parse_args()
    lines, ours, machine = [], {}, {}
    for shape in arguments.shape or SHAPES:
        sizes, dtype, *products = shape.split(":")
        n, d, clusters = map(int, sizes.split("x"))
        if (sizes, dtype) not in ours:
            *ours[sizes, dtype], machine = gradus_seconds(arguments.gradus, n, d, clusters, dtype)
        variant, seconds = ours[sizes, dtype]
        theirs = pytorch_seconds(n, d, clusters, TYPES[dtype], products == ["tf32"])
        name = "PyTorch, TF32" if products else "PyTorch"
        lines.append({"name": f"{n:,} x {d} {dtype}, K {clusters}", "n": n, "d": d, "k": clusters, "dtype": dtype,
                      "gradus_variant": variant, "samples": {"Gradus": [seconds], name: theirs}})
        print(f"{lines[-1]['name']}: {variant} {1e3 * seconds:.3g} ms, {name} {1e3 * statistics.median(theirs):.3g} ms", flush=True)
    options = types.SimpleNamespace(threads=1)
    write_whole(arguments.json, {"problem": "kmeans", "facts": {**facts(options, {"torch": torch.__version__}), **machine},
                                 "lines": lines})


if __name__ == "__main__":
    main()
