"""k-means of points with the spectrum of embeddings: Gradus compared with SuperKMeans, FAISS and scikit-learn.

Gradus is kmeans_calls.cpp, once for each set of instructions. SuperKMeans (flat, all points) starts from other random
rows. FAISS starts from the same rows as Gradus. If its iterations take long, only two of ten run."""

import concurrent.futures
import os
import time
import warnings

from common import note, print_table
from kmeans import inertia_of
from kmeans_calls import REST, Side, program_of

ITERATIONS = 10
SPREAD = 0.5  # standard deviation within a cluster, relative to the deviation of the centres
INSTRUCTIONS = ("best", "avx512", "avx2")
FEW_ITERATIONS = 2
FAISS_RATE = 1e11  # multiply-adds a second, assumed to decide how many iterations of FAISS run
FAISS_SECONDS = 5
SCIKIT_LEARN_WORK = 7e10  # n d K of the largest call of scikit-learn with k-means++
LINES = {
    "spectra": [(500_000, 128, 2828), (250_000, 384, 2000), (150_000, 768, 1549), (100_000, 1024, 1265),
                (60_000, 1536, 980), (30_000, 3072, 693)],
    "tiles": [(1_048_576, 128, 1024), (500_000, 768, 2000), (200_000, 1536, 1500)],
}


def spectrum(rows, columns, clusters, seed=1):
    """Returns points around clusters / 4 centres. The standard deviation falls as the root of the column, and a random
    rotation mixes the columns."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    deviations = numpy.arange(1, columns + 1, dtype="f4") ** -0.5
    centers = generator.standard_normal((clusters // 4, columns), "f4") * deviations
    rotation = numpy.linalg.qr(generator.standard_normal((columns, columns), "f4"))[0]
    points = numpy.empty((rows, columns), "f4")
    block = 1 << 13

    def fill(number):
        own = numpy.random.Generator(numpy.random.PCG64([seed, number]))
        part = points[number * block : (number + 1) * block]
        own.standard_normal(part.shape, "f4", out=part)
        part *= SPREAD * deviations
        part += centers[own.integers(0, len(centers), len(part))]

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        list(threads.map(fill, range(-(-rows // block))))
    for begin in range(0, rows, 1 << 15):
        points[begin : begin + (1 << 15)] = points[begin : begin + (1 << 15)] @ rotation
    return points, points[numpy.sort(generator.choice(rows, clusters, replace=False))]


def timed(call):
    time.sleep(REST)
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def superkmeans(points, clusters, threads):
    """Returns the seconds of training and of labelling, and the inertia."""
    from superkmeans import SuperKMeans

    def make():
        return SuperKMeans(clusters, points.shape[1], hierarchical=False, sampling_fraction=1.0, iters=ITERATIONS,
                           max_points_per_cluster=1 << 30, n_threads=threads, early_termination=False, tol=0.0)

    job = make()
    train, centroids = timed(lambda: job.train(points))
    assign, labels = timed(lambda: job.assign_training_points(points, centroids))
    return {"train": train, "assign": assign, "inertia": inertia_of(points, centroids, labels)}


def faiss(points, first, threads):
    import faiss as package

    package.omp_set_num_threads(threads)
    whole = points.size * len(first) * ITERATIONS / FAISS_RATE
    iterations = ITERATIONS if whole < FAISS_SECONDS else FEW_ITERATIONS
    job = package.Kmeans(points.shape[1], len(first), niter=iterations, min_points_per_centroid=1,
                         max_points_per_centroid=1 << 30)
    seconds, _ = timed(lambda: job.train(points, init_centroids=first))
    return {"seconds": seconds * ITERATIONS / iterations, "iterations": iterations, "objective": float(job.obj[-1])}


def scikit_learn(points, clusters):
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ignores the warning that the fit has not converged
        seconds, fit = timed(lambda: KMeans(clusters, n_init=1, max_iter=ITERATIONS, tol=0, random_state=0).fit(points))
    return {"seconds": seconds, "inertia": float(fit.inertia_)}


def best_of(side, repeats, **request):
    answers = [side.ask({"seed": 0, "max_iterations": ITERATIONS, "tolerance": 0, "threads": 0, "output": None,
                         "first": None, **request}) for _ in range(repeats)]
    return min(answers, key=lambda answer: answer["seconds"])


def measure(shape, options, folder):
    import numpy

    n, d, k = shape
    note(f"{n} x {d}, K {k}")
    points, first = spectrum(n, d, k)
    numpy.save(folder / "points.npy", points)
    numpy.save(folder / "first.npy", first)
    side = Side("Gradus", [str(options.calls)])
    side.load(folder / "points.npy")
    given, results = {}, {}
    for most in INSTRUCTIONS:
        output = str(folder / most)
        given[most] = best_of(side, 1 if most == "avx2" else 2, clusters=k, first=str(folder / "first.npy"),
                              instructions=most, output=output)
        results[most] = (folder / f"{most}labels.npy").read_bytes() + (folder / f"{most}centroids.npy").read_bytes()
    result = {"name": f"{n:,} x {d} f32, K {k}", "n": n, "d": d, "k": k, "given": given,
              "same_bits": len(set(results.values())) == 1}
    result["k-means++"] = {most: best_of(side, 1, clusters=k, instructions=most) for most in INSTRUCTIONS[:2]}
    result["k-means||"] = best_of(side, 1, clusters=k, init="k-means||")
    side.end()
    result["superkmeans"] = superkmeans(points, k, options.threads)
    if options.spectra == "spectra":
        result["faiss"] = faiss(points, first, options.threads)
        if n * d * k <= SCIKIT_LEARN_WORK * options.scale:
            result["scikit_learn"] = scikit_learn(points, k)
    note("")
    return result


HEADER = ["points", "AMX ms", "AVX-512", "AVX2", "bits", "SuperKMeans", "ratio", "without AMX", "FAISS", "ratio",
          "k-means++ call", "share", "k-means|| call", "share", "SuperKMeans with labels", "ratio", "scikit-learn", "ratio",
          "inertia / theirs"]


def row(result):
    def ms(seconds):
        return f"{1e3 * seconds:.0f}"

    given = {most: answer["seconds"] for most, answer in result["given"].items()}
    theirs = result["superkmeans"]
    cells = [result["name"], *(ms(given[most]) for most in INSTRUCTIONS), "same" if result["same_bits"] else "DIFFERENT",
             ms(theirs["train"]), f"{theirs['train'] / given['best']:.2f}", f"{theirs['train'] / given['avx512']:.2f}"]
    other = result.get("faiss")
    cells += [ms(other["seconds"]), f"{other['seconds'] / given['best']:.1f}"] if other else ["-", "-"]
    plus, parallel = result["k-means++"]["best"], result["k-means||"]
    for call in (plus, parallel):
        cells += [ms(call["seconds"]), f"{100 * call['phases']['initialize'] / call['seconds']:.0f} %"]
    whole = theirs["train"] + theirs["assign"]
    cells += [ms(whole), f"{whole / plus['seconds']:.2f}"]
    learn = result.get("scikit_learn")
    cells += [ms(learn["seconds"]), f"{learn['seconds'] / plus['seconds']:.1f}"] if learn else ["-", "-"]
    return [*cells, f"{result['given']['best']['inertia'] / theirs['inertia']:.4f}"]


def run(options, folder):
    options.calls = program_of(options)
    results = []
    begin = time.perf_counter()
    for n, d, k in LINES[options.spectra]:
        if time.perf_counter() - begin > options.limit:
            break
        results.append(measure((max(4 * k, int(n * options.scale)), d, k), options, folder))
        print(" | ".join(row(results[-1])), flush=True)
    print_table(HEADER, [row(result) for result in results])
    print(f"""{ITERATIONS} iterations on {options.threads} threads; the better of two calls. FAISS and Gradus start from the same random
rows; FAISS takes five times its two iterations if ten would take long. "share": first centroids of the call.""")
    return {"spectra": results}, all(result["same_bits"] for result in results)
