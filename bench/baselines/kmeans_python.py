"""Measures gradus in Python: how much longer a Python call takes than the same C++ call, the memory of a call, and the
import time. Compares KMeans with scikit-learn, scikit-learn-intelex and FAISS, end to end. All fits start from the same
centroids and use the default number of threads.

A timed Python call also reports the time of the C++ call inside it, so both times belong to the same run.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

from common import note, print_table, uniform

# The required values, in the order of the tables.
PREDICT_MICROSECONDS = 20
JOB_RATIO = 1.02
MEMORY_MEBIBYTES = 2
IMPORT_MILLISECONDS = 30

ITERATIONS = 10


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def predict_overhead(rounds):
    """Predicts the labels of 100 x 8 points. Returns the difference between the time of the Python call and the time of
    the C++ call, in microseconds."""
    import gradus
    import numpy
    from gradus import _core
    from gradus._options import request

    points, centroids = uniform(100, 8, "f4"), uniform(10, 8, "f4", seed=2)
    labels = numpy.empty(100, numpy.int32)
    running = request("auto", None, None, "none", None, None, None, None)
    python, native = [], []
    for _ in range(rounds):
        python.append(1e6 * seconds_of(lambda: gradus.kmeans_predict(centroids, points)))
        _core.kmeans_predict(centroids, points, labels, None, "euclidean", running)
        native.append(1e6 * _core.seconds_in_library())
    model = gradus.KMeans(10, init=centroids, n_init=1, max_iter=1).fit(points)
    estimator = [1e6 * seconds_of(lambda: model.predict(points)) for _ in range(rounds // 10)]
    above = statistics.median(a - b for a, b in zip(python, native))
    return {"calls": rounds, "python_us": statistics.median(python), "cpp_us": statistics.median(native),
            "above_us": above, "estimator_us": statistics.median(estimator), "reached": above <= PREDICT_MICROSECONDS}


JOBS = [(200_000, 2, "f8", 16), (100_000, 16, "f8", 16), (30_000, 128, "f4", 64), (200_000, 3, "f4", 64)]


def job_ratios(repeats):
    """Returns ratios for each job: the time of a whole Python call divided by the time of the C++ call inside it.
    Measures both kmeans() and the fit() of the estimator."""
    import gradus
    from gradus import _core

    results = []
    for rows, columns, dtype, clusters in JOBS:
        points = uniform(rows, columns, dtype)
        first = points[:clusters].copy()

        def function():
            gradus.kmeans(points, clusters, init=first, max_iterations=ITERATIONS, tolerance=0)

        def estimator():
            gradus.KMeans(clusters, init=first, n_init=1, max_iter=ITERATIONS, tol=0).fit(points)

        ratios = {"function": [], "estimator": []}
        seconds = []
        for _ in range(repeats):
            for name, call in (("function", function), ("estimator", estimator)):
                whole = seconds_of(call)
                seconds.append(_core.seconds_in_library())
                ratios[name].append(whole / seconds[-1])
        middle = {name: statistics.median(values) for name, values in ratios.items()}
        long_enough = statistics.median(seconds) >= 0.010
        results.append({"n": rows, "d": columns, "dtype": dtype, "k": clusters, "cpp_seconds": statistics.median(seconds),
                        "ratios": ratios, "median": middle, "counts": long_enough,
                        "reached": not long_enough or all(value <= JOB_RATIO for value in middle.values())})
        note(f"jobs: {rows} x {columns}")
    note("")
    return results


SHAPES = [(100, 8, 8), (1000, 8, 8), (10_000, 8, 8), (100_000, 8, 8), (1000, 2, 3), (10_000, 32, 16)]


def beside_scikit_learn(repeats):
    """Measures fit, predict and transform in Gradus and in scikit-learn. Returns one result for each shape and
    each data type. The runs of the two libraries alternate."""
    import gradus
    import numpy
    import sklearn.cluster

    results = []
    for rows, columns, clusters in SHAPES:
        for dtype in ("f4", "f8"):
            points = uniform(rows, columns, dtype)
            first = points[:clusters].copy()
            models = {"Gradus": gradus.KMeans, "scikit-learn": sklearn.cluster.KMeans}
            fitted = {}
            times = {name: {step: [] for step in ("fit", "predict", "transform")} for name in models}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rounds = max(repeats, min(20 * repeats, 2_000_000 // (rows * columns)))
                for _ in range(rounds):
                    for name, kind in models.items():
                        model = kind(clusters, init=first, n_init=1, max_iter=ITERATIONS, tol=0)
                        times[name]["fit"].append(seconds_of(lambda: model.fit(points)))
                        times[name]["predict"].append(seconds_of(lambda: model.predict(points)))
                        times[name]["transform"].append(seconds_of(lambda: model.transform(points)))
                        fitted[name] = model
            ours, theirs = fitted["Gradus"], fitted["scikit-learn"]
            different = int(numpy.count_nonzero(ours.labels_ != theirs.labels_))
            ratios = {step: statistics.median(b / a for a, b in zip(times["Gradus"][step], times["scikit-learn"][step]))
                      for step in times["Gradus"]}
            results.append({
                "n": rows, "d": columns, "k": clusters, "dtype": dtype, "rounds": rounds,
                "iterations": {"Gradus": int(ours.n_iter_), "scikit-learn": int(theirs.n_iter_)},
                "labels_different": different,
                "seconds": {name: {step: statistics.median(values) for step, values in steps.items()}
                            for name, steps in times.items()},
                "ratios": ratios, "reached": all(ratio >= 1 for ratio in ratios.values()),
            })
            note(f"compared with scikit-learn: {rows} x {columns} {dtype}")
    note("")
    return results


FITS = [*JOBS, (100_000, 8, "f4", 8), (20_000, 784, "f4", 10), (500_000, 16, "f8", 64)]


def fits_of_others(repeats):
    """Returns the seconds of whole fits in Python. A fit starts with an array and ends with a model that has centroids
    and labels. The runs of the libraries alternate, and all fits have the same number of iterations. FAISS clusters
    only float32, and its labels come from a search after the training."""
    import faiss
    import gradus
    import sklearn.cluster
    import sklearnex.cluster

    classes = {"Gradus": gradus.KMeans, "scikit-learn": sklearn.cluster.KMeans,
               "scikit-learn-intelex": sklearnex.cluster.KMeans}
    results = []
    for rows, columns, dtype, clusters in FITS:
        points = uniform(rows, columns, dtype)
        first = points[:clusters].copy()

        def estimator(kind):
            return kind(clusters, init=first, n_init=1, max_iter=ITERATIONS, tol=0).fit(points).inertia_

        def trained():
            job = faiss.Kmeans(columns, clusters, niter=ITERATIONS, nredo=1, min_points_per_centroid=1,
                               max_points_per_centroid=1 << 30)
            job.train(points, init_centroids=first)
            return float(job.index.search(points, 1)[0].sum())

        calls = {name: (lambda kind=kind: estimator(kind)) for name, kind in classes.items()}
        if dtype == "f4":
            calls["FAISS"] = trained
        times = {name: [] for name in calls}
        inertia = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ignores the warning that max_iter is reached
            for _ in range(repeats + 1):
                for name, call in calls.items():
                    start = time.perf_counter()
                    inertia[name] = call()
                    times[name].append(time.perf_counter() - start)
        for values in times.values():
            values.pop(0)  # the first call creates threads
        ratios = {name: statistics.median(b / a for a, b in zip(times["Gradus"], times[name]))
                  for name in times if name != "Gradus"}
        results.append({"n": rows, "d": columns, "k": clusters, "dtype": dtype, "seconds": times, "ratios": ratios,
                        "inertia": inertia, "reached": all(ratio >= 1 for ratio in ratios.values())})
        note(f"fits of others: {rows} x {columns} {dtype}")
    note("")
    return results


MEMORY = """
import json, re, sys
import numpy, gradus
kind, path = sys.argv[1], sys.argv[2]
mapped = numpy.load(path, mmap_mode="r")
points = {"NumPy": lambda: numpy.load(path), "memory map": lambda: mapped, "columns of rows": lambda: numpy.load(path)[:, :3],
          "Fortran order": lambda: numpy.asfortranarray(numpy.load(path))}[kind]()
warm = gradus.kmeans(numpy.asarray(points[:1000]), 16, max_iterations=2, init="first", device="cpu")
float(numpy.asarray(points).sum())  # pages of the file are there before
def status(name):
    return 1024 * int(re.search(name + r":\\s*(\\d+) kB", open("/proc/self/status").read())[1])
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
found = gradus.kmeans(points, 16, init="first", max_iterations=5, tolerance=0, device="cpu")
grown = status("VmHWM") - before
estimate = gradus.kmeans_memory(*points.shape, 16, dtype=points.dtype, init="first", device="cpu").host
results = found.labels.nbytes + found.centroids.nbytes + found.counts.nbytes
print(json.dumps({"kind": kind, "grown": grown, "estimate": estimate, "results": results,
                  "copy": points.nbytes if kind == "Fortran order" else 0}))
"""


def memory(folder):
    """Compares kmeans_memory() with the increase of the process's peak memory during a fit."""
    import numpy

    path = folder / "points.npy"
    numpy.save(path, uniform(2_000_000, 8, "f4"))
    results = []
    for kind in ("NumPy", "memory map", "columns of rows", "Fortran order"):
        ended = subprocess.run([sys.executable, "-c", MEMORY, kind, str(path)], capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise SystemExit(f"baselines: memory of {kind}:\n{ended.stderr}")
        row = json.loads(ended.stdout)
        row["allowed"] = row["estimate"] + row["results"] + row["copy"] + MEMORY_MEBIBYTES * 2**20
        row["reached"] = row["grown"] <= row["allowed"]
        results.append(row)
    return results


IMPORT = """
import json, os, sys, time
import numpy
before = set(sys.modules)
start = time.perf_counter()
import gradus
seconds = time.perf_counter() - start
files = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
print(json.dumps({"seconds": seconds, "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
                  "gpu_files": [file for file in files if "nvidia" in file]}))
"""


def importing(repeats):
    runs = [json.loads(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)
            for _ in range(2 * repeats + 1)]
    milliseconds = 1e3 * statistics.median(run["seconds"] for run in runs)
    light = not any({"sklearn", "scipy", "torch"} & set(run["modules"]) or run["gpu_files"] for run in runs)
    return {"milliseconds": milliseconds, "all": [1e3 * run["seconds"] for run in runs], "modules": runs[0]["modules"],
            "gpu_files": runs[0]["gpu_files"], "reached": milliseconds <= IMPORT_MILLISECONDS and light}


def verdict(row):
    return "reached" if row["reached"] else "missed"


def run(options, folder):
    """Runs all measurements in separate processes, so that a limit on threads in one measurement does not affect the
    estimators in another."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(name, None)
    results = {
        "predict": predict_overhead(1000 * options.repeats),
        "jobs": job_ratios(3 * options.repeats),
        "memory": memory(pathlib.Path(folder)),
        "import": importing(options.repeats),
        "scikit_learn": beside_scikit_learn(options.repeats),
        "fits": fits_of_others(options.repeats),
    }
    one = results["predict"]
    print(f"predict 100 x 8: {one['python_us']:.1f} us, of which C++ {one['cpp_us']:.1f}; above it {one['above_us']:.1f} us "
          f"(<= {PREDICT_MICROSECONDS}: {verdict(one)}); KMeans.predict {one['estimator_us']:.0f} us\n")
    print_table(["job", "C++ ms", "function", "estimator", f"<= {JOB_RATIO}"],
                [[f"{r['n']:,} x {r['d']} {r['dtype']}, K {r['k']}", f"{1e3 * r['cpp_seconds']:.1f}",
                  f"{r['median']['function']:.4f}", f"{r['median']['estimator']:.4f}",
                  verdict(r) if r["counts"] else "too short"] for r in results["jobs"]])
    print()
    print_table(["memory of a fit of 2,000,000 rows", "grown MiB", "allowed MiB", ""],
                [[r["kind"], f"{r['grown'] / 2**20:.1f}", f"{r['allowed'] / 2**20:.1f}", verdict(r)]
                 for r in results["memory"]])
    print(f"\nimport gradus after NumPy: {results['import']['milliseconds']:.1f} ms "
          f"(<= {IMPORT_MILLISECONDS}: {verdict(results['import'])})\n")
    print_table(["KMeans", "fit ms", "of scikit-learn", "ratio", "predict", "transform", "labels", ">= 1"],
                [[f"{r['n']:,} x {r['d']} {r['dtype']}, K {r['k']}", f"{1e3 * r['seconds']['Gradus']['fit']:.2f}",
                  f"{1e3 * r['seconds']['scikit-learn']['fit']:.2f}", f"{r['ratios']['fit']:.2f}",
                  f"{r['ratios']['predict']:.2f}", f"{r['ratios']['transform']:.2f}",
                  "equal" if r["labels_different"] == 0 else f"{r['labels_different']} differ", verdict(r)]
                 for r in results["scikit_learn"]])
    print(f"\nwhole fits of {ITERATIONS} iterations: Gradus, and how many times as long the others take")
    print_table(["KMeans", "Gradus ms", "scikit-learn", "intelex", "FAISS", ">= 1"],
                [[f"{r['n']:,} x {r['d']} {r['dtype']}, K {r['k']}", f"{1e3 * statistics.median(r['seconds']['Gradus']):.1f}",
                  *(f"{r['ratios'][name]:.2f}" if name in r["ratios"] else "-"
                    for name in ("scikit-learn", "scikit-learn-intelex", "FAISS")), verdict(r)] for r in results["fits"]])
    return results, True
