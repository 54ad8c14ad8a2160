"""k-means: Gradus compared with scikit-learn and FAISS.

Only the fit is timed. For scikit-learn it is KMeans.fit and for FAISS Kmeans.train, with the points in memory.
For Gradus it is the total minus reading and writing, as reported in its summary.json. The time of the whole
Gradus process is reported too. Needs the packages of requirements-kmeans.txt.

With --everyday or --sweep, whole calls are timed instead. Each side is one process that makes many calls:
--everyday  twelve default calls (k-means++, one start, scikit-learn's stop rule): first and later calls of a process
--sweep     200 random shapes, given start, 10 iterations: lists those slower than scikit-learn, with their phases
--spectra   points with the spectrum of embeddings: given start, and whole calls, with each set of instructions
--python    the overhead of the Python package over the same C++ call, and gradus.KMeans compared with scikit-learn's
--everyday and --sweep need only a Python with NumPy, SciPy and scikit-learn, and a build folder with gradus and
kmeans_calls (cmake --build build --target kmeans_calls): baselines.py kmeans --gradus build/gradus --sweep.
"""

import json
import shutil
import statistics
import time
import warnings

from common import REPOSITORY, Disagreement, note, print_table, run_program, spread, uniform

ITERATIONS = 10


# ---------------------------------------------------------------------------------------------------------- data sets


def blobs(rows, columns, dtype, centers, noise, seed=2):
    """Returns points around `centers` centres uniform in [0, 10), with normal noise of standard deviation `noise`."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    middle = 10 * generator.random((centers, columns))
    points = numpy.empty((rows, columns), dtype)
    for begin in range(0, rows, 1 << 16):
        block = points[begin : begin + (1 << 16)]
        which = generator.integers(0, centers, len(block))
        block[:] = middle[which] + noise * generator.standard_normal(block.shape)
    return points


def pixels(rows, dtype, seed=3):
    """Returns the pixels of a synthetic photograph in row-major order: a sky gradient, a sun, hills, a lake that
    mirrors the sky, some shaded balls, and sensor noise. The values are integers from 0 to 255."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    height = max(1, round((rows / 2) ** 0.5))
    width = -(-rows // height)
    y, x = numpy.mgrid[0:height, 0:width]
    y = y / height
    x = x / height
    sky = numpy.stack([90 + 140 * y, 140 + 80 * y, 235 - 60 * y], axis=-1)
    picture = sky.copy()
    glow = numpy.exp(-((x - 1.5) ** 2 + (y - 0.2) ** 2) / 0.02)[..., None]
    picture = picture * (1 - glow) + numpy.array([255.0, 240.0, 190.0]) * glow
    for level, colour in ((0.42, (95, 110, 140)), (0.5, (60, 95, 70)), (0.58, (45, 75, 35))):
        ridge = level + 0.05 * numpy.sin(5 * x + 9 * level) + 0.02 * numpy.sin(17 * x + 40 * level)
        shade = 1 + 0.25 * numpy.sin(60 * x + 35 * y) * numpy.sin(23 * y)
        picture = numpy.where((y > ridge)[..., None], numpy.array(colour, float) * shade[..., None], picture)
    lake = (y > 0.72)[..., None]
    ripple = 0.75 + 0.1 * numpy.sin(150 * y + 4 * numpy.sin(9 * x))
    picture = numpy.where(lake, sky[::-1] * ripple[..., None], picture)
    for center_x, center_y, radius, colour in (
        (0.35, 0.8, 0.13, (200, 40, 35)),
        (0.8, 0.62, 0.09, (235, 180, 30)),
        (1.2, 0.85, 0.11, (120, 50, 150)),
        (1.7, 0.75, 0.08, (240, 240, 235)),
    ):
        distance = numpy.sqrt((x - center_x) ** 2 + (y - center_y) ** 2) / radius
        from_light = numpy.sqrt((x - center_x + 0.4 * radius) ** 2 + (y - center_y + 0.4 * radius) ** 2) / radius
        light = numpy.clip(1.1 - 0.56 * from_light, 0.05, 1.2)
        picture = numpy.where((distance < 1)[..., None], numpy.array(colour, float) * light[..., None], picture)
    picture += 5 * generator.standard_normal(picture.shape)
    return numpy.clip(numpy.rint(picture), 0, 255).reshape(-1, 3)[:rows].astype(dtype)


def first_or_strided(points, clusters):
    """Returns the first rows. If some of these are equal, returns rows at regular intervals instead. Also returns a
    description of the choice."""
    import numpy

    first = points[:clusters]
    if len(numpy.unique(first, axis=0)) == clusters:
        return first.copy(), f"the first {clusters} rows"
    for count in range(clusters, len(points) + 1, clusters):
        sample = points[:: max(1, len(points) // count)]
        _, where = numpy.unique(sample, axis=0, return_index=True)
        if len(where) >= clusters:
            where = numpy.sort(where)
            chosen = where[numpy.linspace(0, len(where) - 1, clusters).astype(int)]
            return sample[chosen].copy(), f"{clusters} different rows, evenly strided"
    raise SystemExit(f"baselines: the data hold fewer than {clusters} different rows")


def off_the_grid(first):
    """Moves the centroids slightly off the integer grid. Without this, a point would often have equal distances to two
    centroids. Rounding would then decide which centroid the point joins, and the fits would diverge in the first
    iteration."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(5))
    return (first + 0.1 * generator.random(first.shape)).astype(first.dtype)


class Line:
    """A line of the speed table. `targets` maps each baseline to the required ratio of speeds."""

    def __init__(self, kind, rows, columns, dtype, clusters, make, targets):
        self.kind, self.rows, self.columns, self.dtype, self.clusters = kind, rows, columns, dtype, clusters
        self.make, self.targets = make, targets

    def scaled(self, scale):
        return max(10 * self.clusters, int(self.rows * scale))

    def name(self, rows):
        return f"{self.kind} {rows:,} x {self.columns} {self.dtype}, K {self.clusters}"


KMEANS_LINES = [
    Line("uniform", 16_777_216, 2, "f64", 16, lambda n: uniform(n, 2, "f8"), {"scikit-learn": 20}),
    Line("uniform", 2_097_152, 16, "f64", 16, lambda n: uniform(n, 16, "f8"), {"scikit-learn": 10}),
    Line("uniform", 262_144, 128, "f32", 1024, lambda n: uniform(n, 128, "f4"),
         {"scikit-learn": 2.5, "FAISS": 2}),
    # FAISS is left out, because clusters become empty on this line. To fill an empty cluster, FAISS splits a large
    # cluster, but Gradus and scikit-learn move the farthest point into it. The fits would therefore diverge and do
    # different work.
    Line("blobs", 262_144, 128, "f32", 1024, lambda n: blobs(n, 128, "f4", 1024, 2.0), {"scikit-learn": 2.5}),
    Line("pixels", 2_000_000, 3, "f32", 256, lambda n: pixels(n, "f4"), {"scikit-learn": 8}),
]


# Comparisons between two rungs of Gradus, on the line with the name RUNGS_ON. A comparison consists of a title, two
# variants, each with its number of threads (0: all), a bound for the first time divided by the second time, and the
# number of threads at which this bound applies (0: any).
RUNGS_ON = "uniform 2,097,152 x 16 f64, K 16"
RUNGS = [
    ("sequential over openmp_reduce_first_touch", ("sequential", 1), ("openmp_reduce_first_touch", 0), (">=", 14), 16),
    ("exact sums over plain private float sums", ("simd_small_dim", 0), ("simd_float_sums", 0), ("<=", 1.15), 0),
]


# ----------------------------------------------------------------------------------------------------------- programs


class Gradus:
    name = "Gradus"

    def __init__(self, program, threads, folder, variant=None):
        self.program, self.threads, self.folder, self.variant = program, threads, folder, variant

    def fit(self, clusters, iterations):
        """Fits the points in points.npy, starting from the centroids in first.npy. Both files are in the folder."""
        import numpy

        output = self.folder / "clusters"
        shutil.rmtree(output, ignore_errors=True)
        command = [self.program, "kmeans", str(self.folder / "points.npy"), "-k", str(clusters), "--init",
                   str(self.folder / "first.npy"), "--max-iterations", str(iterations), "--tolerance", "0",
                   "--threads", str(self.threads), "--quiet", "-o", str(output)]
        if self.variant:
            command += ["--variant", self.variant]
        process = run_program(command)
        summary = json.loads((output / "summary.json").read_text())
        seconds = summary["seconds"]
        return {
            "seconds": seconds["total"] - seconds["read"] - seconds["write"],
            "process_seconds": process.seconds,
            "phases": seconds,
            "variant": summary["variant"],
            "iterations": summary["iterations"],
            "inertia": summary["inertia"],
            "labels": numpy.load(output / "labels.npy"),
            "centroids": numpy.load(output / "centroids.npy"),
        }


class ScikitLearn:
    name = "scikit-learn"
    inertia_tolerance_f32 = 1e-4

    def __init__(self, threads):
        self.threads = threads

    def fit(self, points, first, clusters, iterations):
        import threadpoolctl
        from sklearn.cluster import KMeans

        # With copy_x=False, the fit centres the points in place and shifts them back, so it needs a private copy.
        own = points.copy()
        job = KMeans(clusters, init=first, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd", copy_x=False)
        with threadpoolctl.threadpool_limits(self.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            job.fit(own)
            seconds = time.perf_counter() - start
        return {"seconds": seconds, "iterations": job.n_iter_, "labels": job.labels_, "centroids": job.cluster_centers_,
                "inertia_reported": float(job.inertia_)}

    def nearest(self, points, centroids):
        """Assigns the points to our centroids with scikit-learn, and returns the labels."""
        from sklearn.cluster import KMeans

        job = KMeans(len(centroids), init=centroids, n_init=1, max_iter=1)
        job.fit(centroids)  # scikit-learn requires a call of fit() before predict()
        job.cluster_centers_ = centroids
        return job.predict(points)


class Faiss:
    name = "FAISS"
    inertia_tolerance_f32 = 1e-3  # wider, because FAISS splits a large cluster to fill an empty one

    def __init__(self, threads):
        self.threads = threads

    def fit(self, points, first, clusters, iterations):
        import faiss

        faiss.omp_set_num_threads(self.threads)
        job = faiss.Kmeans(points.shape[1], clusters, niter=iterations, nredo=1, spherical=False, gpu=False,
                           min_points_per_centroid=1, max_points_per_centroid=1 << 30)
        start = time.perf_counter()
        job.train(points, init_centroids=first)
        return {"seconds": time.perf_counter() - start, "iterations": iterations, "centroids": job.centroids}


# ---------------------------------------------------------------------------------------------------------- agreement


def inertia_of(points, centroids, labels):
    """Computes the inertia in double precision."""
    import numpy

    total = 0.0
    for begin in range(0, len(points), 1 << 16):
        block = points[begin : begin + (1 << 16)].astype("f8")
        total += float(numpy.square(block - centroids[labels[begin : begin + (1 << 16)]].astype("f8")).sum())
    return total


def nearest(points, centroids):
    """Returns the index of the nearest centroid for each point. Computes in double precision, on centred points and
    centroids."""
    import numpy

    shift = centroids.astype("f8").mean(axis=0)
    moved = centroids.astype("f8") - shift
    squares = numpy.square(moved).sum(axis=1)
    labels = numpy.empty(len(points), "i4")
    for begin in range(0, len(points), 1 << 13):
        block = points[begin : begin + (1 << 13)].astype("f8") - shift
        labels[begin : begin + (1 << 13)] = numpy.argmin(squares - 2 * block @ moved.T, axis=1)
    return labels


def explain_labels(points, ours, theirs, shift):
    """Returns the number of labels that differ. Raises Disagreement unless the rounding of the other program
    explains each difference. `ours` and `theirs` are (labels, centroids).

    The other program subtracts `shift` from the points and compares the scores |c|^2 - 2 x.c in precision eps.
    Each score then has an error of at most (d + 8) eps (|c|^2 + 2 |x| |c|). If a centroid of the other program
    differs from ours by delta, its squared distance also differs by at most 2 |x - c| delta + delta^2.
    """
    import numpy

    different = numpy.flatnonzero(ours[0] != theirs[0])
    if len(different) == 0:
        return 0
    rounding = (points.shape[1] + 8) * float(numpy.finfo(points.dtype).eps)
    our_centroids = ours[1].astype("f8") - shift
    moved = numpy.sqrt(numpy.square(our_centroids - (theirs[1].astype("f8") - shift)).sum(axis=1))
    for begin in range(0, len(different), 1 << 14):
        part = different[begin : begin + (1 << 14)]
        x = points[part].astype("f8") - shift
        length = numpy.sqrt(numpy.square(x).sum(axis=1))
        distances = []
        allowed = numpy.zeros(len(part))
        for labels in (ours[0][part], theirs[0][part]):
            c = our_centroids[labels]
            distance = numpy.sqrt(numpy.square(x - c).sum(axis=1))
            norm = numpy.sqrt(numpy.square(c).sum(axis=1))
            allowed += rounding * (norm**2 + 2 * length * norm)
            allowed += 2 * distance * moved[labels] + moved[labels] ** 2
            distances.append(distance**2)
        gap = numpy.abs(distances[0] - distances[1])
        if not bool(numpy.all(gap <= allowed)):
            worst = int(numpy.argmax(gap - allowed))
            raise Disagreement(f"label of point {int(part[worst])}: the two centroids' squared distances differ by "
                               f"{gap[worst]:.3g}, rounding explains {allowed[worst]:.3g}")
    return len(different)


def check_inertia(name, ours, theirs, tolerance):
    difference = abs(ours - theirs) / abs(theirs) if theirs else abs(ours)
    if not difference <= tolerance:
        raise Disagreement(f"inertia: {ours:.17g} of Gradus, {theirs:.17g} of {name}")
    return difference


def compare(points, gradus, baseline, program, scale):
    """Compares the baseline's result with ours. Returns the differences, which are stored in the raw file."""
    labels = baseline.get("labels")
    found = {"iterations": int(baseline["iterations"])}
    if labels is None:  # FAISS returns only centroids, so labels are computed here
        labels = nearest(points, baseline["centroids"])
    else:
        # The two fits may have diverged early because of one rounded label, so the first check allows for
        # different centroids. The second check asks the other program which of our final centroids is nearest to
        # each point.
        found["labels_different"] = explain_labels(points, (gradus["labels"], gradus["centroids"]),
                                                   (labels, baseline["centroids"]), points.mean(axis=0, dtype="f8"))
        found["labels_different_of_our_centroids"] = explain_labels(
            points, (gradus["labels"], gradus["centroids"]),
            (program.nearest(points, gradus["centroids"]), gradus["centroids"]), 0.0)
    found["inertia"] = inertia_of(points, baseline["centroids"], labels)
    check_inertia("its own labels and centroids", gradus["inertia"],
                  inertia_of(points, gradus["centroids"], gradus["labels"]), 1e-11)
    tolerance = 1e-9 if points.dtype == "f8" else program.inertia_tolerance_f32
    if scale < 1 and points.dtype == "f4":
        tolerance = max(tolerance, 1e-3)  # if a cluster has few points, a single label moves its centroid far
    found["inertia_difference"] = check_inertia(program.name, gradus["inertia"], found["inertia"], tolerance)
    return found


# -------------------------------------------------------------------------------------------------------------- runs


def measure_line(line, options, folder, gradus, baselines):
    import numpy

    rows = line.scaled(options.scale)
    points = line.make(rows)
    first, start_name = first_or_strided(points, line.clusters)
    if line.kind == "pixels":
        first, start_name = off_the_grid(first), start_name + ", moved off the integers"
    numpy.save(folder / "points.npy", points)
    numpy.save(folder / "first.npy", first)

    programs = [baseline for baseline in baselines if baseline.name in line.targets]
    ours = gradus.fit(line.clusters, ITERATIONS)  # not timed: fills the file cache and provides the result to compare
    samples = {gradus.name: [], **{baseline.name: [] for baseline in programs}}
    process_seconds = []
    agreement = {}
    for round_number in range(options.repeats):
        result = gradus.fit(line.clusters, ITERATIONS)
        if not (numpy.array_equal(result["labels"], ours["labels"]) and result["inertia"] == ours["inertia"]):
            raise Disagreement("two runs of Gradus differ")
        samples[gradus.name].append(result["seconds"])
        process_seconds.append(result["process_seconds"])
        for baseline in programs:
            note(f"{line.name(rows)}: round {round_number + 1} of {options.repeats}, {baseline.name}")
            result = baseline.fit(points, first, line.clusters, ITERATIONS)
            samples[baseline.name].append(result["seconds"])
            if round_number == 0:
                agreement[baseline.name] = compare(points, ours, result, baseline, options.scale)
    note("")
    ratios = {}
    for baseline in programs:
        pairs = [b / a for a, b in zip(samples[gradus.name], samples[baseline.name])]
        ratios[baseline.name] = {
            "median": statistics.median(samples[baseline.name]) / statistics.median(samples[gradus.name]),
            "lowest": min(pairs),
            "highest": max(pairs),
            "target": line.targets[baseline.name],
        }
    return {
        "name": line.name(rows),
        "n": rows,
        "d": points.shape[1],
        "k": line.clusters,
        "dtype": "f64" if points.dtype == "f8" else "f32",
        "initial_centroids": start_name,
        "gradus_variant": ours["variant"],
        "iterations": ours["iterations"],
        "inertia": ours["inertia"],
        "seconds": samples,
        "gradus_process_seconds": process_seconds,
        "gradus_phases": ours["phases"],
        "ratios": ratios,
        "agreement": agreement,
    }


def measure_rungs(options, folder, clusters):
    """Compares the pairs of rungs in RUNGS, on the points and centroids in the folder. The two rungs of a pair run
    alternately."""
    results = []
    for name, first, second, (sign, bound), meant_for in RUNGS:
        programs = [Gradus(options.gradus, threads or options.threads, folder, variant)
                    for variant, threads in (first, second)]
        inertia = [program.fit(clusters, ITERATIONS)["inertia"] for program in programs]
        check_inertia(name, *inertia, 1e-9)
        samples = [[], []]
        for round_number in range(options.repeats):
            note(f"{name}: round {round_number + 1} of {options.repeats}")
            for program, seconds in zip(programs, samples):
                seconds.append(program.fit(clusters, ITERATIONS)["seconds"])
        note("")
        ratios = [a / b for a, b in zip(*samples)]
        results.append({"name": name, "threads": [program.threads for program in programs], "seconds": samples,
                        "median": statistics.median(samples[0]) / statistics.median(samples[1]),
                        "lowest": min(ratios), "highest": max(ratios), "target": f"{sign} {bound:g}",
                        "target_is_for_threads": meant_for or None})
    return results


def verdict(rung):
    """Returns "reached" or "missed". If the target applies to another number of threads, returns a text with this
    number."""
    meant_for = rung["target_is_for_threads"]
    if meant_for and max(rung["threads"]) != meant_for:
        return f"for {meant_for} threads"
    sign, bound = rung["target"].split()
    reached = rung["median"] >= float(bound) if sign == ">=" else rung["median"] <= float(bound)
    return "reached" if reached else "missed"


def print_rungs(rungs):
    print(f"\nRungs of Gradus compared, {RUNGS_ON}; ratio of the medians of alternate runs:")
    print_table(["time of", "ratio", "range", "target", ""],
                [[rung["name"], f"{rung['median']:.2f}", f"{rung['lowest']:.2f}-{rung['highest']:.2f}",
                  rung["target"], verdict(rung)] for rung in rungs])


def speed_rows(result):
    """Yields the rows of the printed table for this line: one row for each baseline."""
    ours = result["seconds"]["Gradus"]
    for name, ratio in result["ratios"].items():
        theirs = result["seconds"][name]
        agreement = result["agreement"][name]
        different = agreement.get("labels_different")
        labels = "-" if different is None else "equal" if different == 0 else f"{different} within rounding"
        yield [
            result["name"],
            result["gradus_variant"],
            f"{1e3 * statistics.median(ours):.0f} ±{1e3 * spread(ours):.0f}",
            f"{1e3 * statistics.median(result['gradus_process_seconds']):.0f}",
            name,
            f"{1e3 * statistics.median(theirs):.0f} ±{1e3 * spread(theirs):.0f}",
            f"{ratio['median']:.2f}",
            f"{ratio['lowest']:.2f}-{ratio['highest']:.2f}",
            f">= {ratio['target']:g}",
            "reached" if ratio["median"] >= ratio["target"] else "missed",
            labels,
            f"{agreement['inertia_difference']:.1e}",
        ]


SPEED_HEADER = ["points", "Gradus variant", "Gradus ms", "process ms", "baseline", "baseline ms", "ratio", "range", "target",
                "", "labels", "inertia differs by"]


def agreement_sets():
    """Yields the name, the points and the initial centroids of each data set. The data sets contain no ties: no point
    has the same distance to two centroids. In a tie, scikit-learn's choice depends on rounding, and Gradus chooses the
    lower index."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(4))
    points = blobs(100_000, 8, "f8", 20, 1.0)
    yield "blobs", points, points[:20].copy()
    digits = REPOSITORY / "data" / "digits.npy"
    points = numpy.load(digits).astype("f8")
    yield "digits", points, points[:10] + 0.01 * generator.random((10, points.shape[1]))
    points = pixels(200_000, "f8")
    first, _ = first_or_strided(points, 32)
    yield "pixels", points, off_the_grid(first)
    points = blobs(100_000, 8, "f8", 20, 1.0) + 1e6
    yield "blobs offset by 1e6", points, points[:20].copy()
    points = numpy.repeat(uniform(3_000, 4, "f8"), 10, axis=0)
    yield "every point ten times", points, points[: 10 * 12 : 10].copy()


def agree(options, folder, gradus, baseline):
    """Fits with both programs until no label changes. Requires that the labels are equal and that the inertias agree to
    1e-9."""
    import numpy

    results = []
    for name, points, first in agreement_sets():
        numpy.save(folder / "points.npy", points)
        numpy.save(folder / "first.npy", first)
        ours = gradus.fit(len(first), 3000)
        theirs = baseline.fit(points, first, len(first), 3000)
        different = int(numpy.count_nonzero(ours["labels"] != theirs["labels"]))
        inertia = inertia_of(points, theirs["centroids"], theirs["labels"])
        difference = abs(ours["inertia"] - inertia) / inertia
        results.append({
            "name": name, "n": len(points), "d": points.shape[1], "k": len(first), "dtype": "f64",
            "iterations": {"Gradus": ours["iterations"], baseline.name: int(theirs["iterations"])},
            "inertia": {"Gradus": ours["inertia"], baseline.name: inertia,
                        baseline.name + " reported": theirs["inertia_reported"]},
            "labels_different": different, "inertia_difference": difference,
            "agrees": different == 0 and difference <= 1e-9,
        })
    rows = [[r["name"], f"{r['n']} x {r['d']}", str(r["k"]), str(r["iterations"]["Gradus"]),
             str(r["iterations"][baseline.name]),
             "equal" if r["labels_different"] == 0 else f"{r['labels_different']} differ",
             f"{r['inertia_difference']:.1e}", "agrees" if r["agrees"] else "DISAGREES"] for r in results]
    print_table(["points", "shape", "K", "iterations", "of " + baseline.name, "labels", "inertia differs by", ""], rows)
    return {"agreement": results}, all(result["agrees"] for result in results)


def speed(options, folder, gradus, baselines):
    results = []
    rungs = []
    problems = []
    for line in KMEANS_LINES:
        if options.lines and not any(word in line.name(line.rows) for word in options.lines):
            continue
        try:
            results.append(measure_line(line, options, folder, gradus, baselines))
            if line.name(line.rows) == RUNGS_ON:
                rungs = measure_rungs(options, folder, line.clusters)
        except Disagreement as disagreement:
            problems.append(f"{line.name(line.scaled(options.scale))}: {disagreement}; no figure is given")
    if not results and not problems:
        names = "".join(f"\n  {line.name(line.rows)}" for line in KMEANS_LINES)
        raise SystemExit(f"baselines: no line has such a name; the names are:{names}")
    print_table(SPEED_HEADER, [row for result in results for row in speed_rows(result)])
    print(f"""{ITERATIONS} iterations, tolerance 0; medians of {options.repeats} alternate runs, {options.threads} threads.
± is the median deviation; range is the range of the ratios of single runs.
Labels: "equal", or how many differ; the double-precision distances of each of these to the two centroids differ by no
more than the baseline's rounding and the difference of the two programs' centroids explain. The inertia, recomputed in
double precision, is compared to 1e-9 for f64 and 1e-4 for f32 (1e-3 for FAISS, which fills an empty cluster by
splitting a large one).""")
    if rungs:
        print_rungs(rungs)
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"lines": results, "rungs": rungs, "disagreements": problems}, not problems


def versions():
    import importlib.metadata

    found = {}
    for package in ("scikit-learn", "scikit-learn-intelex", "faiss-cpu", "superkmeans", "numpy", "scipy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def add_options(parser):
    parser.add_argument("--agree", action="store_true", help="compare results until convergence instead of speed")
    parser.add_argument("--criteria", action="store_true", help="compare the criteria for the number of clusters instead")
    parser.add_argument("--python", action="store_true", help="time the Python package instead")
    parser.add_argument("--everyday", action="store_true", help="time default calls instead")
    parser.add_argument("--sweep", action="store_true", help="time fits of random shapes instead")
    parser.add_argument("--spectra", nargs="?", const="spectra", choices=("spectra", "tiles"),
                        help="time points with the spectrum of embeddings instead; tiles: three large shapes")
    parser.add_argument("--quick", action="store_true", help="10 shapes of the sweep; not the everyday calls for which "
                        "scikit-learn takes minutes")
    parser.add_argument("--long", action="store_true", help="only the everyday calls for which scikit-learn takes minutes")
    parser.add_argument("--shapes", type=int, default=200, help="of the sweep (default 200)")
    parser.add_argument("--skip", type=int, default=0, help="skip this many shapes at the beginning")
    parser.add_argument("--most-work", type=float, default=float("inf"), help="of the sweep: n d K at most")
    parser.add_argument("--limit", type=float, default=1800, help="seconds after which the sweep begins no other shape "
                        "(default 1800)")
    parser.add_argument("--verbose", action="store_true", help="print each shape of the sweep as it is measured")


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    if options.everyday or options.sweep:
        import kmeans_calls

        return kmeans_calls.run(options, folder)
    if options.spectra:
        import kmeans_spectra

        return kmeans_spectra.run(options, folder)
    if options.python:
        import kmeans_python

        return kmeans_python.run(options, folder)
    if options.criteria:
        import kmeans_criteria

        return kmeans_criteria.run(options, folder)
    gradus = Gradus(options.gradus, options.threads, folder)
    baseline = ScikitLearn(options.threads)
    if options.agree:
        return agree(options, folder, gradus, baseline)
    return speed(options, folder, gradus, [baseline, Faiss(options.threads)])
