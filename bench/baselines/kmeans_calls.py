"""Whole k-means calls compared with scikit-learn: everyday calls, and a random sweep of shapes.

Each side is a process that executes calls on request and reports their time: kmeans_calls.cpp, which calls
gradus::kmeans, and kmeans_scikit_learn.py. One side is idle while the other works. A call starts only after the
spinning threads of the other side's libraries have gone to sleep.
"""

import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

from common import REPOSITORY, Disagreement, note, print_table, uniform
from kmeans import blobs, explain_labels, inertia_of, pixels

FOLDER = pathlib.Path(__file__).resolve().parent
SIDES = ("Gradus", "scikit-learn")
# Seconds to wait before a call: OpenBLAS's threads spin for 2^26 cycles, and GNU's OpenMP threads for 300,000 pauses.
REST = 0.03


# ------------------------------------------------------------------------------------------------------------ processes


def program_of(options):
    """Returns the program kmeans_calls, which is in the build folder of `gradus`. Rebuilds it if possible."""
    build = pathlib.Path(options.gradus).resolve().parent
    program = build / "kmeans_calls"
    if (build / "build.ninja").exists() and shutil.which("cmake") and shutil.which("ninja"):
        subprocess.run(["cmake", "--build", str(build), "--target", "kmeans_calls"], stdout=sys.stderr, check=True)
    if not program.exists():
        raise SystemExit(f"baselines: there is no {program}; make it: cmake --build {build} --target kmeans_calls")
    return program


class Side:
    """A process that runs k-means calls on request."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"baselines: {self.name} ended at the request {request}")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"baselines: {self.name}: {answer['error']}, at the request {request}")
        return answer

    def load(self, path):
        self.ask({"load": str(path)})

    def call(self, clusters, seed=0, first=None, max_iterations=300, tolerance=1e-4, output=None, threads=0):
        time.sleep(REST)
        return self.ask({"clusters": clusters, "seed": seed, "first": first and str(first),
                         "max_iterations": max_iterations, "tolerance": tolerance, "output": output and str(output),
                         "threads": threads})

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def start_sides(options):
    return [Side("Gradus", [str(options.calls)]),
            Side("scikit-learn", [sys.executable, str(FOLDER / "kmeans_scikit_learn.py")])]


def in_turns(number, sides):
    """Returns both sides. Swaps their order in every other turn."""
    return sides if number % 2 == 0 else sides[::-1]


# ------------------------------------------------------------------------------------------------------- everyday calls


def iris():
    from sklearn.datasets import load_iris

    return load_iris().data


def digits():
    import numpy

    return numpy.load(REPOSITORY / "data" / "digits.npy").astype("f8")


class Call:
    """A default call. `long` marks calls for which scikit-learn takes a minute or more on two cores."""

    def __init__(self, name, clusters, make, long=False):
        self.name, self.clusters, self.make, self.long = name, clusters, make, long


EVERYDAY = [
    Call("iris", 3, iris),
    Call("digits", 10, digits),
    Call("blobs", 8, lambda: blobs(10_000, 50, "f8", 8, 2.0)),
    Call("blobs", 8, lambda: blobs(50_000, 20, "f8", 12, 3.0)),
    Call("uniform", 3, lambda: uniform(12_000, 900, "f8")),
    Call("blobs", 3, lambda: blobs(20_000, 1000, "f8", 5, 8.0)),
    Call("blobs", 12, lambda: blobs(30_000, 300, "f4", 12, 6.0)),
    Call("pixels", 16, lambda: pixels(500_000, "f4")),
    Call("blobs", 64, lambda: blobs(100_000, 16, "f4", 64, 1.5)),
    Call("uniform", 16, lambda: uniform(1_000_000, 2, "f8")),
    Call("uniform", 2000, lambda: uniform(200_000, 100, "f4"), long=True),
    Call("blobs", 100, lambda: blobs(500_000, 768, "f4", 200, 6.0), long=True),
]
SEEDS = tuple(range(8))  # the two sides draw different random numbers, so their numbers of iterations differ
PROCESSES = 2
TURNS = 2  # number of turns in each process; a turn runs all seeds
LINE_SECONDS = 6  # no further turn starts after this time
AS_GOOD = 1.1  # maximum ratio of the mean inertias of both sides; generous, because there are only a few seeds


def shape_name(kind, points, clusters):
    return f"{kind} {len(points):,} x {points.shape[1]} f{8 * points.itemsize}, K {clusters}"


def everyday_call(line, options, folder):
    """Measures a default call. For each side, returns the seconds of a process's first call, and the seconds of its
    later calls by seed."""
    import numpy

    points = line.make()
    numpy.save(folder / "points.npy", points)
    name = shape_name(line.name, points, line.clusters)
    seeds, processes = ((0,), 1) if line.long else (SEEDS, PROCESSES)
    begin = time.perf_counter()
    first = {side: [] for side in SIDES}
    later = {side: {seed: [] for seed in seeds} for side in SIDES}
    answers = {side: {} for side in SIDES}
    for number in range(processes):
        sides = start_sides(options)
        for side in sides:
            side.load(folder / "points.npy")
        for side in in_turns(number, sides):
            note(f"{name}: process {number + 1} of {processes}, {side.name}")
            answer = side.call(line.clusters)
            first[side.name].append(answer["seconds"])
            if line.long and side.name != "Gradus":
                later[side.name][0].append(answer["seconds"])
                answers[side.name][0] = answer
        for turn in range(TURNS):
            if later["Gradus"][0] and time.perf_counter() - begin > LINE_SECONDS:
                break
            for seed in seeds:
                for side in in_turns(number + turn + seed, sides):
                    if line.long and side.name != "Gradus":
                        continue
                    answer = side.call(line.clusters, seed)
                    times = later[side.name][seed]
                    if not times or answer["seconds"] < min(times):
                        answers[side.name][seed] = answer
                    times.append(answer["seconds"])
        for side in sides:
            side.end()
    note("")
    ours, theirs = answers.values()
    inertia = (statistics.mean(answer["inertia"] for answer in ours.values()) /
               statistics.mean(answer["inertia"] for answer in theirs.values()))
    best = {side: statistics.mean(min(times) for times in of_seed.values()) for side, of_seed in later.items()}
    total = sum(answer["seconds"] for answer in ours.values())
    return {
        "name": name, "n": points.shape[0], "d": points.shape[1], "k": line.clusters,
        "dtype": f"f{8 * points.itemsize}", "seconds_first": first, "seconds_later": later,
        "best": best, "ratio": best["scikit-learn"] / best["Gradus"],
        "ratio_first": min(first["scikit-learn"]) / min(first["Gradus"]),
        "inertia_over_theirs": inertia, "answers": answers,
        "first_centroids_share": sum(answer["phases"].get("initialize", 0) for answer in ours.values()) / total,
        "as_good": inertia <= AS_GOOD,
    }


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}"


EVERYDAY_HEADER = ["default call", "variant", "threads", "ms", "scikit-learn", "ratio", "first ms", "scikit-learn",
                   "ratio", "iterations", "theirs", "first centroids", "inertia / theirs"]


def everyday_row(result):
    ours, theirs = result["answers"].values()
    return [result["name"], ours[0]["variant"], str(ours[0]["threads"]),
            *(milliseconds(result["best"][side]) for side in SIDES), f"{result['ratio']:.2f}",
            *(milliseconds(min(result["seconds_first"][side])) for side in SIDES), f"{result['ratio_first']:.2f}",
            *(f"{statistics.mean(answer['iterations'] for answer in of.values()):.0f}" for of in (ours, theirs)),
            f"{100 * result['first_centroids_share']:.0f} %", f"{result['inertia_over_theirs']:.4f}"]


def geometric_mean(values):
    return math.exp(statistics.mean(math.log(value) for value in values))


def everyday(options, folder):
    lines = [line for line in EVERYDAY if not (options.quick and line.long) and (line.long or not options.long)]
    if options.lines:
        lines = [line for line in lines if any(word in line.name for word in options.lines)]
    results = []
    for line in lines:
        results.append(everyday_call(line, options, folder))
        print(" | ".join(everyday_row(results[-1])), flush=True)
    print_table(EVERYDAY_HEADER, [everyday_row(result) for result in results])
    if not results:
        return {}, True
    means = {key: geometric_mean(result[key] for result in results) for key in ("ratio", "ratio_first")}
    slow = [result["name"] for result in results if result["ratio"] < 5]
    print(f"""Default calls (k-means++, one start, the same stop rule), {options.threads} threads; of each of {len(SEEDS)} seeds
the best of up to {TURNS * PROCESSES} later calls of a process, then their mean; "first": the best first call of {PROCESSES} processes. Where
scikit-learn takes minutes, one seed, and one call of it.
Geometric mean of the ratios: {means['ratio']:.1f}, of first calls {means['ratio_first']:.1f} (target 15).
Below the target of 5: {', '.join(slow) or 'none'}.""")
    worse = [result["name"] for result in results if not result["as_good"]]
    for name in worse:
        print(f"DISAGREES: {name}: more inertia than scikit-learn's, beyond {AS_GOOD:g} times")
    return {"everyday": results, "geometric_mean": means}, not worse


# ---------------------------------------------------------------------------------------------------------------- sweep

MOST_BYTES = 10**9
QUICK_SHAPES = 10
ITERATIONS = 10
SHAPE_SECONDS = 1.5  # no further turn starts after this time
MOST_TURNS = 4


def sweep_shapes(count, most_work):
    """Yields log-uniform, reproducible shapes with n from 10 to 10^6, d and K from 1 to 2000, and n d K <= `most_work`."""
    generator = random.Random(20261124)
    shapes = []
    while len(shapes) < count:
        n, d, k = (round(math.exp(generator.uniform(math.log(low), math.log(high))))
                   for low, high in ((10, 10**6), (1, 2000), (1, 2000)))
        dtype = generator.choice(("f4", "f8"))
        kind = generator.choice(("uniform", "blobs"))
        if k <= n and n * d * int(dtype[1]) <= MOST_BYTES and n * d * k <= most_work:
            shapes.append((n, d, k, dtype, kind))
    return shapes


def sweep_points(number, shape):
    n, d, k, dtype, kind = shape
    if kind == "uniform":
        return uniform(n, d, dtype, seed=number)
    return blobs(n, d, dtype, max(2, k // 2), 2.0, seed=number)


def agreement(points, answers, folder):
    """Returns the differences between the results. Raises Disagreement if rounding does not explain them."""
    import numpy

    labels, centroids = ([numpy.load(folder / f"{side}-{what}.npy") for side in SIDES] for what in ("labels", "centroids"))
    inertia = [inertia_of(points, of, which) for of, which in zip(centroids, labels)]
    if not abs(inertia[0] - answers["Gradus"]["inertia"]) <= 1e-9 * inertia[0]:
        raise Disagreement(f"inertia: Gradus says {answers['Gradus']['inertia']:.17g}, its labels and centroids {inertia[0]:.17g}")
    difference = abs(inertia[0] - inertia[1]) / inertia[1] if inertia[1] else inertia[0]
    different = explain_labels(points, (labels[0], centroids[0]), (labels[1], centroids[1]), points.mean(axis=0, dtype="f8"))
    return {"labels_different": different, "inertia_difference": difference}


def sweep_shape(number, shape, sides, folder):
    import numpy

    n, d, k, dtype, kind = shape
    points = sweep_points(number, shape)
    numpy.save(folder / "points.npy", points)
    numpy.save(folder / "first.npy", points[:k])
    for side in sides:
        side.load(folder / "points.npy")
    seconds = {side: [] for side in SIDES}
    answers = {}
    begin = time.perf_counter()
    turn = 0
    while turn == 0 or (turn < MOST_TURNS and time.perf_counter() - begin < SHAPE_SECONDS):
        for side in in_turns(turn + number, sides):
            answer = side.call(k, first=folder / "first.npy", max_iterations=ITERATIONS, tolerance=0,
                               output=folder / f"{side.name}-" if turn == 0 else None)
            if not seconds[side.name] or answer["seconds"] < min(seconds[side.name]):
                answers[side.name] = answer
            seconds[side.name].append(answer["seconds"])
        turn += 1
    best = {side: min(times) for side, times in seconds.items()}
    return {"name": shape_name(kind, points, k), "n": n, "d": d, "k": k, "dtype": f"f{8 * points.itemsize}",
            "seconds": seconds, "best": best, "ratio": best["scikit-learn"] / best["Gradus"], "answers": answers,
            "agreement": agreement(points, answers, folder)}


SWEEP_HEADER = ["fit", "variant", "threads", "ms", "scikit-learn", "ratio", "iterations", "theirs", "labels differ",
                "inertia differs by", "ms by phase"]


def sweep_row(result):
    ours, theirs = (result["answers"][side] for side in SIDES)
    phases = ", ".join(f"{name} {milliseconds(seconds)}" for name, seconds in ours["phases"].items())
    return [result["name"], ours["variant"], str(ours["threads"]), *(milliseconds(result["best"][side]) for side in SIDES),
            f"{result['ratio']:.2f}", str(ours["iterations"]), str(theirs["iterations"]),
            str(result["agreement"]["labels_different"]), f"{result['agreement']['inertia_difference']:.1e}", phases]


def sweep(options, folder):
    import numpy

    count = QUICK_SHAPES if options.quick else options.shapes
    shapes = sweep_shapes(count, options.most_work)
    sides = start_sides(options)
    numpy.save(folder / "points.npy", uniform(10_000, 16, "f4"))
    for side in sides:  # one untimed call on each side as a warm-up
        side.load(folder / "points.npy")
        side.call(16)
    results, problems = [], []
    begin = time.perf_counter()
    for number, shape in enumerate(shapes[options.skip:], options.skip):
        if time.perf_counter() - begin > options.limit:
            break
        note(f"sweep: shape {number + 1} of {count}, {shape}")
        try:
            results.append(sweep_shape(number, shape, sides, folder))
            if options.verbose:
                print(" | ".join(sweep_row(results[-1])), flush=True)
        except Disagreement as disagreement:
            problems.append(f"{shape}: {disagreement}")
            print(f"DISAGREES: {problems[-1]}", flush=True)
    note("")
    for side in sides:
        side.end()
    results.sort(key=lambda result: result["ratio"])
    slower = [result for result in results if result["ratio"] < 1]
    ratios = [result["ratio"] for result in results]
    print_table(SWEEP_HEADER, [sweep_row(result) for result in (slower if len(slower) > 5 else results[:5])])
    print(f"""Above: the five worst, and all that are slower than scikit-learn. Given start, {ITERATIONS} iterations, {options.threads} threads, in
processes that have run a job; the best of up to {MOST_TURNS} calls in turns. Measured: {len(results)} of {count} shapes (limit {options.limit} s).
Slower than scikit-learn: {len(slower)}. Ratio: least {ratios[0]:.2f}, median {statistics.median(ratios):.2f}, geometric mean {geometric_mean(ratios):.2f}.""")
    return {"sweep": results, "sweep_slower": [result["name"] for result in slower], "disagreements": problems}, not problems


# ------------------------------------------------------------------------------------------------------------------ run


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    options.calls = program_of(options)
    results, agrees = {}, True
    for wanted, part in ((options.everyday, everyday), (options.sweep, sweep)):
        if wanted:
            found, agree = part(options, folder)
            results |= found
            agrees &= agree
    return results, agrees
