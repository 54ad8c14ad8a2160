"""Matrix multiplication: Gradus compared with NumPy and the OpenBLAS in its package.

Both sides time calls in a warm process. For Gradus, `gradus bench` runs the default variant of `gradus matmul` for the
product. For NumPy, numpy.matmul is called with out=. Both get row-major matrices uniform in [-1, 1), memory for the
result, and the same number of threads. A sample is the mean of the calls that fit in 5 ms (--min-time). The two sides
take turns. In each turn, a side multiplies a few shapes. The lines of the table are square products, and an everyday
sweep of fixed shapes whose m, n and k are log-uniform between 1 and 3000. A ratio above 1 means that Gradus is faster.
Both sides also multiply the same matrices once, and their results are compared. These may differ by the sum of both
rounding bounds. Needs the packages of requirements-matmul.txt.
"""

import json
import math
import random
import statistics
import time

from common import Disagreement, note, print_table, run_program, spread

EPSILON = {"f32": 2.0**-24, "f64": 2.0**-53}


def squares(options):
    sizes = [max(16, round(size * options.scale)) for size in (1024, 2048, 4096)]
    return [(size, size, size) for size in sizes]


def everyday(options):
    generator = random.Random(20240607)
    most = math.log(max(3000 * options.scale, 2))
    return [tuple(round(math.exp(generator.uniform(0, most))) for _ in range(3)) for _ in range(options.shapes)]


LINES = [(f"{name} {dtype}", dtype, shapes) for name, shapes in (("square", squares), ("everyday", everyday))
         for dtype in ("f32", "f64")]


class Numpy:
    """A product that NumPy computes: its operands and its result, in memory."""

    def __init__(self, shape, dtype):
        import numpy

        m, n, k = shape
        self.numpy = numpy
        kind = {"f32": numpy.float32, "f64": numpy.float64}[dtype]
        generator = numpy.random.Generator(numpy.random.PCG64([m, n, k]))
        self.a = 2 * generator.random((m, k), dtype=kind) - 1
        self.b = 2 * generator.random((k, n), dtype=kind) - 1
        self.c = numpy.empty((m, n), kind)

    def seconds(self, repeats, least):
        """Returns samples in seconds. Each sample is the mean over several calls, which together take about `least`
        seconds."""
        matmul, a, b, c = self.numpy.matmul, self.a, self.b, self.c
        matmul(a, b, out=c)
        start = time.perf_counter()
        matmul(a, b, out=c)
        calls = max(1, math.ceil(least / max(time.perf_counter() - start, 1e-7)))
        samples = []
        for _ in range(repeats):
            start = time.perf_counter()
            for _ in range(calls):
                matmul(a, b, out=c)
            samples.append((time.perf_counter() - start) / calls)
        return samples


def compared(options, folder, shape, dtype):
    """Returns the name of the variant that Gradus chose for the product. Raises Disagreement if Gradus's result differs
    from NumPy's by more than rounding explains."""
    import numpy

    baseline = Numpy(shape, dtype)
    paths = [folder / name for name in ("a.npy", "b.npy", "c.npy")]
    numpy.save(paths[0], baseline.a)
    numpy.save(paths[1], baseline.b)
    summary = json.loads(run_program([options.gradus, "matmul", *map(str, paths[:2]), "-o", str(paths[2]), "--device", "cpu",
                                      "--threads", str(options.threads), "--json", "--quiet"]).output)
    product = numpy.load(paths[2])
    numpy.matmul(baseline.a, baseline.b, out=baseline.c)
    roundings = (shape[2] + 2) * EPSILON[dtype]
    factor = summary["error_bound"] + roundings / (1 - roundings)
    allowed = factor * (numpy.abs(baseline.a).astype(numpy.float64) @ numpy.abs(baseline.b).astype(numpy.float64))
    difference = numpy.abs(product.astype(numpy.float64) - baseline.c)
    if product.dtype != baseline.c.dtype or product.shape != baseline.c.shape or not (difference <= allowed).all():
        raise Disagreement(f"{shape}: the results differ by up to {float(difference.max())}, more than rounding explains")
    return summary["variant"]


def gradus_seconds(options, shapes, dtype, variants):
    """Returns the samples of Gradus for each shape, in seconds. variants[i] is measured on shapes[i]."""
    output = run_program([options.gradus, "bench", "matmul", "--size", ",".join("x".join(map(str, shape)) for shape in shapes),
                          "--dtype", dtype, "--threads", str(options.threads), "--variants", ",".join(sorted(set(variants))),
                          "--repeats", str(options.repeats), "--min-time", str(options.min_time), "--json", "--quiet"]).output
    groups = json.loads(output)["groups"]
    if [(group["m"], group["n"], group["k"]) for group in groups] != shapes:
        raise SystemExit("baselines: gradus bench measured other shapes than it was asked for")
    return [[sample["seconds"] for row in group["rows"] if row["variant"] == variant for sample in row["samples"]]
            for group, variant in zip(groups, variants)]


def measured(options, folder, name, dtype, shapes):
    variants = []
    for index, shape in enumerate(shapes):
        note(f"{name}: results of {index + 1} of {len(shapes)}")
        variants.append(compared(options, folder, shape, dtype))
    ours, theirs = [[] for _ in shapes], [[] for _ in shapes]
    for number in range(options.rounds):
        for first in range(0, len(shapes), options.at_a_time):
            part = range(first, min(first + options.at_a_time, len(shapes)))
            note(f"{name}: round {number + 1} of {options.rounds}, {first} of {len(shapes)}")
            turns = [lambda: zip(part, gradus_seconds(options, [shapes[index] for index in part], dtype,
                                                      [variants[index] for index in part]), [ours] * len(part)),
                     lambda: [(index, Numpy(shapes[index], dtype).seconds(options.repeats, options.min_time), theirs)
                              for index in part]]
            for turn in turns if number % 2 == 0 else reversed(turns):
                for index, samples, of in turn():
                    of[index] += samples
    note("")
    return {"name": name, "dtype": dtype, "shapes": [
        {"m": m, "n": n, "k": k, "gradus_variant": variant, "samples": {"Gradus": mine, "NumPy": baseline},
         "ratio": statistics.median(baseline) / statistics.median(mine)}
        for (m, n, k), variant, mine, baseline in zip(shapes, variants, ours, theirs)]}


# ------------------------------------------------------------------------------------------------------------- report

HEADER = ["product", "Gradus variant", "Gradus µs", "GFLOP/s", "NumPy µs", "GFLOP/s", "ratio"]


def table_rows(line):
    for shape in line["shapes"]:
        operations = 2 * shape["m"] * shape["n"] * shape["k"]
        cells = []
        for samples in shape["samples"].values():
            seconds = statistics.median(samples)
            cells += [f"{1e6 * seconds:.4g} ±{1e6 * spread(samples):.2g}", f"{operations / seconds / 1e9:.4g}"]
        yield [f"{shape['m']} x {shape['k']} by {shape['k']} x {shape['n']} {line['dtype']}", shape["gradus_variant"], *cells,
               f"{shape['ratio']:.2f}"]


def in_a_sentence(line):
    ratios = sorted((shape["ratio"], f"{shape['m']} x {shape['k']} by {shape['k']} x {shape['n']}") for shape in line["shapes"])
    slower = sum(ratio < 1 for ratio, _ in ratios)
    return (f"{line['name']}: ratio {statistics.median(ratio for ratio, _ in ratios):.2f} in the median of {len(ratios)} shapes, "
            f"{ratios[0][0]:.2f} in the worst ({ratios[0][1]}), below 1 in {slower}")


def add_options(parser):
    parser.add_argument("--shapes", type=int, default=100, help="of the everyday sweep (default 100)")
    parser.add_argument("--rounds", type=int, default=3,
                        help="turns that both take, with --repeats samples in each (default 3)")
    parser.add_argument("--at-a-time", type=int, default=5, help="shapes of one process; then it is the other's turn (default 5)")
    parser.add_argument("--min-time", type=float, default=0.005, help="seconds that a sample fills with calls (default 0.005)")


def versions():
    import importlib.metadata

    import numpy  # noqa: F401: threadpool_info() examines the libraries that NumPy has loaded
    import threadpoolctl

    found = {package: importlib.metadata.version(package) for package in ("numpy", "threadpoolctl")}
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            found["blas"] = {key: library.get(key) for key in ("internal_api", "version", "architecture", "threading_layer",
                                                               "num_threads")}
    return found


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    results, problems = [], []
    for name, dtype, shapes in LINES:
        if options.lines and not any(word in name for word in options.lines):
            continue
        try:
            results.append(measured(options, folder, name, dtype, shapes(options)))
        except Disagreement as disagreement:
            problems.append(f"{name}: {disagreement}; no figure is given")
    if not results and not problems:
        raise SystemExit("baselines: no line has such a name; the names are:\n  " + "\n  ".join(line[0] for line in LINES))
    print_table(HEADER, [row for result in results for row in table_rows(result)])
    blas = versions().get("blas", {})
    print(f"Medians of {options.rounds * options.repeats} samples; ± is the median deviation; {options.threads} threads. NumPy "
          f"multiplies by {blas.get('internal_api')} {blas.get('version')} for {blas.get('architecture')}.")
    for result in results:
        print(in_a_sentence(result))
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"rounds": options.rounds, "min_time": options.min_time, "lines": results, "disagreements": problems}, not problems
