#!/usr/bin/env python3
"""Compares the bits of k-means fits that are made in every way: one CPU process, GPUs of one process, and ranks.

    ways.py --repeats 10

Needs the package gradus with NumPy, and GPUs; with mpirun and mpi4py, ranks of MPI as well. Makes all jobs of jobs() on
one CPU process. Then repeats all jobs in each way of WAYS, and compares centroids, labels, sizes, inertia and number of
iterations with the first results, bit by bit. Exits with status 1 if a way fails or gives other bits.
"""

import argparse
import itertools
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

import gradus
import gradus.mpi
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "cli"))

from torchrun import free_ports  # noqa: E402

FIELDS = ("centroids", "labels", "counts", "inertia", "iterations")
# name: (ranks, launcher, execution of each rank)
WAYS = {
    "1 GPU": (1, None, lambda rank: {"gpus": 1}),
    "2 GPUs": (1, None, lambda rank: {"gpus": 2}),
    "4 GPUs": (1, None, lambda rank: {"gpus": 4}),
    "2 ranks on a GPU": (1, None, lambda rank: {"gpus": [0, 0]}),
    "3 ranks on 2 GPUs": (1, None, lambda rank: {"gpus": [0, 1, 0]}),
    "torchrun, 2 GPUs": (2, "torchrun", lambda rank: {"device": f"gpu:{rank}"}),
    "torchrun, 4 GPUs": (4, "torchrun", lambda rank: {"device": f"gpu:{rank}"}),
    "mpirun, 4 GPUs": (4, "mpirun", lambda rank: {"device": f"gpu:{rank}"}),
    "mpirun, 2 CPU ranks and 2 GPUs": (4, "mpirun", lambda rank: {"device": "cpu" if rank < 2 else f"gpu:{rank - 2}", "threads": 4}),
    "mpirun, 3 CPU ranks": (3, "mpirun", lambda rank: {"device": "cpu", "threads": 2}),
}


def jobs():
    """Yields (name, points, clusters, weights, arguments) of each job."""
    draw = np.random.default_rng(7)
    rows = draw.normal(size=(20011, 24)) + 4 * draw.integers(0, 3, size=(20011, 1))
    weight = np.where(draw.random(20011) < 0.2, 0.0, draw.exponential(size=20011))
    starts = {"k-means++": "k-means++", "k-means||": "k-means-parallel", "random": "random", "given": rows[100:161]}
    for dtype, (start, init), kind in itertools.product(("f4", "f8"), starts.items(), ("plain", "weights", "cosine")):
        init = init.astype(dtype) if isinstance(init, np.ndarray) else init
        more = {"metric": "cosine"} if kind == "cosine" else {}
        yield (f"{dtype} {start} {kind}", rows.astype(dtype), 61, weight.astype(dtype) if kind == "weights" else None,
               {"init": init, "seed": 5, "max_iterations": 25, **more})
    for dtype, empty in itertools.product(("f4", "f8"), ("relocate", "keep")):
        far = rows[:40].copy()
        far[10:20] = far[:10]  # the higher of equal centroids stays empty
        far[20:30] += 1e6
        yield f"{dtype} empty clusters, {empty}", rows.astype(dtype), 40, None, {"init": far.astype(dtype), "empty": empty, "max_iterations": 25}
    few = rows[:401, :7]
    for dtype, init in itertools.product(("f4", "f8"), ("k-means++", "k-means-parallel", "random")):
        yield f"{dtype} more clusters than rows of a rank, {init}", few.astype(dtype), 150, None, {"init": init, "seed": 2}
    grid = np.indices((41, 37)).reshape(2, -1).T.repeat(3, axis=0)
    for dtype in ("f4", "f8"):
        yield f"{dtype} ties on a grid", grid.astype(dtype), 30, None, {"init": "k-means++", "seed": 1}
    yield "f4 two columns", rows[:, :2].astype("f4"), 33, None, {"init": "k-means-parallel", "seed": 3, "max_iterations": 40}


def bits(result):
    return {name: np.asarray(getattr(result, name)).tobytes() for name in FIELDS}


def make_references(file):
    file.write_bytes(pickle.dumps({name: bits(gradus.kmeans(points, k, weights=weights, device="cpu", **options))
                                   for name, points, k, weights, options in jobs()}))


def run_way(way, file, repeats):
    """Makes all jobs in one way, on this rank. Returns the number of equal results."""
    ranks, launcher, execution = WAYS[way]
    communicator, rank = None, 0
    if launcher == "mpirun":
        from mpi4py import MPI
        communicator, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank()
    elif launcher == "torchrun":
        communicator, rank = "torchrun", int(os.environ["RANK"])
    references = pickle.loads(file.read_bytes())
    equal = 0
    begin = time.monotonic()
    for _, (name, points, k, weights, options) in itertools.product(range(repeats), jobs()):
        own = gradus.mpi.rows_of_rank(len(points), communicator) if communicator else slice(None)
        result = gradus.kmeans(points[own], k, weights=None if weights is None else weights[own], communicator=communicator,
                               **execution(rank), **options)
        wanted = dict(references[name])
        labels = np.frombuffer(wanted["labels"], dtype=result.labels.dtype)
        wanted["labels"] = labels[own].tobytes()
        different = [field for field, content in bits(result).items() if content != wanted[field]]
        if different:
            sys.exit(f"{way}, rank {rank}, {name}: different {', '.join(different)} ({result.variant})")
        equal += 1
        if rank == 0 and equal % len(references) == 0:
            print(f"{way}: {equal} equal results after {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
    return equal


def start(way, file, repeats):
    """Starts the processes of a way."""
    ranks, launcher, _ = WAYS[way]
    command = [sys.executable, os.path.abspath(__file__), "--way", way, "--references", str(file), "--repeats", str(repeats)]
    if launcher == "mpirun":
        return [subprocess.Popen(["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *command])]
    port = free_ports()
    return [subprocess.Popen(command, env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} if launcher else None) for rank in range(ranks)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default="", help="only ways whose names contain this text")
    parser.add_argument("--seconds", type=float, default=600, help="end all ways after this time")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--references", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        equal = run_way(options.way, options.references, options.repeats)
        print(f"{options.way}: {equal} equal results", flush=True)
        return 0
    deadline = time.monotonic() + options.seconds
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "references")
        make_references(file)
        started = {way: start(way, file, options.repeats) for way in WAYS if options.only in way}
        for way, processes in started.items():
            for process in processes:
                try:
                    status = process.wait(max(1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    status = "killed after the time limit"
                if status != 0:
                    failed.append(f"{way}: {status}")
    print("\n".join(failed) if failed else f"all ways: the same bits in {len(list(jobs()))} jobs, {options.repeats} times")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
