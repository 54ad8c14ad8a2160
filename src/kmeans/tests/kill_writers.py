#!/usr/bin/env python3
"""Kills `gradus kmeans -o DIR` at random moments, and examines the files that it leaves.

Each job overwrites an older result. The number of clusters shows which job wrote a file. After a kill, the folder holds
one of:

  whole     centroids, labels and summary of the same job
  refused   a summary that says that the result is unfinished; `gradus predict` refuses the centroids
  mixed     anything else

If the folder holds only the result, "whole" is required. If it also holds a file of the user (--foreign), "refused" is
allowed too.

usage: kill_writers.py GRADUS [--kills N] [--seed N] [--foreign] [--folder DIR]
"""

import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib
from collections import Counter

points_count, dimensions = 400_000, 4


def npy(path):
    """Returns the shape and the bytes of the elements of an .npy file."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack_from("<H", content, 8)
    header = eval(content[10 : 10 + length].decode("latin1"), {"__builtins__": {}}, {"True": True, "False": False})
    return header["shape"], content[10 + length :]


def state_of(gradus, out, points):
    with open(os.path.join(out, "summary.json")) as file:
        summary = json.load(file)
    centroids_path = os.path.join(out, "centroids.npy")
    if "unfinished" in summary:
        predict = subprocess.run([gradus, "predict", centroids_path, points, "-o", out + ".npy"], capture_output=True)
        return "refused" if predict.returncode == 3 else "mixed"
    shape, _ = npy(centroids_path)
    label_shape, labels = npy(os.path.join(out, "labels.npy"))
    clusters = shape[0]
    # There are at most 127 clusters, so the low byte of each label suffices.
    counts = Counter(labels[0::4])
    agree = (label_shape == (points_count,) and len(labels) == 4 * points_count and summary["k"] == clusters
             and summary["counts"] == [counts[label] for label in range(clusters)] and max(counts) == clusters - 1)
    for name, facts in summary.get("files", {}).items():
        with open(os.path.join(out, name), "rb") as file:
            content = file.read()
        agree = agree and facts == {"bytes": len(content), "crc32": "%08x" % zlib.crc32(content)}
    return "whole" if agree else "mixed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gradus")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("--folder", help="where to work [a temporary folder]")
    arguments = parser.parse_args()
    gradus = os.path.abspath(arguments.gradus)
    chance = random.Random(arguments.seed)
    folder = tempfile.mkdtemp(prefix="gradus_kills_", dir=arguments.folder)
    points, out = os.path.join(folder, "points.npy"), os.path.join(folder, "out")
    subprocess.run([gradus, "generate", "uniform", "-n", str(points_count), "-d", str(dimensions), "-o", points, "--quiet"],
                   check=True)

    def command(clusters):
        return [gradus, "kmeans", points, "-k", str(clusters), "--init", "first", "--max-iterations", "1", "--threads", "1",
                "-o", out, "--quiet"]

    def run(clusters, delay=None):
        """Runs a job. If `delay` is given, kills the job after `delay` seconds. Returns whether the kill ended the job,
        and the running time."""
        start = time.monotonic()
        job = subprocess.Popen(command(clusters), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if delay is not None:
            time.sleep(delay)
            job.send_signal(signal.SIGKILL)
        job.wait()
        return job.returncode == -signal.SIGKILL, time.monotonic() - start

    own = {"centroids.npy", "labels.npy", "summary.json"}
    if arguments.foreign:
        os.mkdir(out)
        with open(os.path.join(out, "mine.txt"), "w") as file:
            file.write("mine")
        own.add("mine.txt")
    duration = max(run(clusters)[1] for clusters in (2, 3, 2))
    states, kills, late, temporaries, clusters = Counter(), 0, 0, 0, 3
    newest = 2
    replaced = 0
    while kills < arguments.kills:
        clusters = 5 - clusters if chance.random() < 0.5 else chance.randrange(2, 8)
        killed, seconds = run(clusters, chance.uniform(0, 1.1 * duration))
        if not killed:
            late += 1
            newest = clusters
            duration = 0.9 * duration + 0.1 * seconds
            continue
        kills += 1
        state = state_of(gradus, out, points)
        states[state] += 1
        if state == "whole":
            shape, _ = npy(os.path.join(out, "centroids.npy"))
            replaced += shape[0] != newest
            newest = shape[0]
        left = [name for name in os.listdir(folder) + os.listdir(out) if name.endswith(".tmp")]
        temporaries += len(left)
        if state == "mixed":
            shutil.copytree(out, os.path.join(folder, "mixed-%d" % kills))
    run(2)
    after = set(os.listdir(out)) - own | {name for name in os.listdir(folder) if name.endswith(".tmp")}
    print(f"{kills} kills (and {late} jobs that ended before theirs), seed {arguments.seed}: "
          f"{states['whole']} whole, {states['refused']} refused, {states['mixed']} mixed; "
          f"of the whole ones at least {replaced} are the killed job's own; "
          f"temporary files seen after a kill: {temporaries}, after the next job: {len(after)}")
    if states["mixed"] == 0 and not after:
        shutil.rmtree(folder)
        return 0
    print("see", folder)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
