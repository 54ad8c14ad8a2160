"""Pair-distance histograms: compares Gradus with Corrfunc, and production variants with the rungs that they extend.

Only the counting is timed. For Corrfunc, this is DD with the coordinates in memory. For Gradus, it is the total minus
reading and writing, as reported in its summary. The CPU time is reported, too. For Gradus, this is the CPU time of
the whole process. Needs the packages of requirements-pair-histogram.txt.
"""

import json
import math
import statistics
import time

from common import Disagreement, note, print_table, run_program, spread, uniform

BOX = 10.0  # side of the box that holds the uniform points
NEIGHBOURS = 100


class Bins:
    """`count` bins, each of width `width`. The first one starts at zero."""

    def __init__(self, width, count):
        self.width, self.count = width, count

    def edges(self):
        import numpy

        return numpy.arange(self.count + 1) * self.width


# ----------------------------------------------------------------------------------------------------------- programs


class Gradus:
    """A variant of Gradus that runs on points.npy in the folder. If `variant` is empty, the default variant runs."""

    def __init__(self, program, threads, folder, variant="", name="Gradus"):
        self.program, self.threads, self.folder, self.variant, self.name = program, threads, folder, variant, name

    def count(self, bins, periodic, edges=None):
        """Counts the pairs in the bins. If `edges` is given, counts the pairs between these edges instead."""
        import numpy

        command = [self.program, "pair-histogram", str(self.folder / "points.npy"), "--threads", str(self.threads),
                   "--json", "--quiet"]
        if self.variant:
            command += ["--variant", self.variant]
        if periodic:
            command += ["--box", ",".join([repr(BOX)] * 3)]
        if edges is None:
            command += ["--bin-width", repr(bins.width), "--bins", str(bins.count)]
        else:
            numpy.save(self.folder / "edges.npy", edges)
            command += ["--edges", str(self.folder / "edges.npy")]
        process = run_program(command)
        summary = json.loads(process.output)
        seconds = summary["seconds"]
        return {
            "seconds": seconds["total"] - seconds["read"] - seconds["write"],
            "cpu_seconds": process.cpu_seconds,
            "counts": summary["counts"],
            "below": summary["below"],
            "pairs": summary["pairs"],
            "variant": summary["variant"],
            "rechecked": summary["rechecked"],
        }


class Corrfunc:
    name = "Corrfunc"

    def __init__(self, points, threads, instructions):
        import numpy

        self.columns = [numpy.ascontiguousarray(points[:, column]) for column in range(3)]
        self.threads, self.instructions = threads, instructions

    def count(self, bins, periodic):
        from Corrfunc.theory.DD import DD

        before, start = time.process_time(), time.perf_counter()
        rows = DD(1, self.threads, bins.edges(), *self.columns, periodic=periodic, boxsize=BOX if periodic else None,
                  isa=self.instructions)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - before
        counts = [int(count) for count in rows["npairs"]]
        # Corrfunc counts each point as a pair with itself; these pairs are subtracted.
        counts[0] -= len(self.columns[0])
        # Corrfunc counts a pair in both orders.
        return {"seconds": seconds, "cpu_seconds": cpu_seconds, "counts": [count // 2 for count in counts]}


# ---------------------------------------------------------------------------------------------------------- agreement


def explain_counts(ours, theirs, gradus, bins, periodic, dtype, extent):
    """Returns the number of counts that differ. Raises Disagreement unless the rounding of the other program explains
    each difference. A distance computed in precision eps, from coordinates up to `extent`, has an error of less
    than 8 eps extent. For each edge, we therefore count exactly the pairs nearer than the edge minus this error,
    and the pairs nearer than the edge plus this error. The other program's number of pairs nearer than the edge
    must be between these two numbers."""
    import numpy

    if ours == theirs:
        return {"counts": "equal"}
    allowed = 8 * float(numpy.finfo(dtype).eps) * extent
    edges = bins.edges()[1:]
    cumulative = numpy.cumsum(theirs)
    bounds = []
    for shift in (-allowed, allowed):
        result = gradus.count(bins, periodic, numpy.concatenate([[0.0], edges + shift]))
        bounds.append(numpy.cumsum(result["counts"]))
    if not bool(numpy.all((bounds[0] <= cumulative) & (cumulative <= bounds[1]))):
        raise Disagreement("the counts differ by more than rounding explains")
    different = numpy.abs(numpy.array(ours) - numpy.array(theirs))
    return {"counts": "within rounding", "bins_that_differ": int(numpy.count_nonzero(different)),
            "largest_difference": int(different.max()), "distances_moved_by_at_most": allowed}


def require_equal(first, second, names):
    if first["counts"] != second["counts"]:
        raise Disagreement(f"the counts of {names[0]} and {names[1]} differ")


# -------------------------------------------------------------------------------------------------------------- lines


def alternate(contenders, repeats, name):
    """Returns samples of the contenders. The runs of the contenders alternate. A contender is a function without
    arguments."""
    samples = {contender: {"seconds": [], "cpu_seconds": []} for contender in contenders}
    for round_number in range(repeats):
        for contender, count in contenders.items():
            note(f"{name}: round {round_number + 1} of {repeats}, {contender}")
            result = count()
            for key, values in samples[contender].items():
                values.append(result[key])
    note("")
    return samples


def ratio_of(ours, theirs, target, factor=1):
    """Returns the ratio of their time to ours. Their time is first multiplied by `factor`."""
    pairs = [factor * b / a for a, b in zip(ours["seconds"], theirs["seconds"])]
    return {
        "median": factor * statistics.median(theirs["seconds"]) / statistics.median(ours["seconds"]),
        "lowest": min(pairs),
        "highest": max(pairs),
        "of_cpu_seconds": factor * statistics.median(theirs["cpu_seconds"]) / statistics.median(ours["cpu_seconds"]),
        "target": target,
    }


def line_result(name, points, bins, samples, ratios, agreement, **more):
    return {"name": name, "n": len(points), "d": points.shape[1], "dtype": "f64" if points.dtype == "f8" else "f32",
            "bins": {"width": bins.width, "count": bins.count}, **more, "samples": samples, "ratios": ratios,
            "agreement": agreement}


def lab_atoms(rows, options, folder):
    """Writes the first `rows` atoms of the published experiment to points.npy."""
    import numpy

    run_program([options.gradus, "generate", "lab-atoms", "-n", str(rows), "--dtype", "f64", "-o",
                 str(folder / "points.npy"), "--quiet"])
    return numpy.load(folder / "points.npy")


def neighbours(dtype):
    """Compares counts with a cutoff that gives about 100 neighbours in a periodic box, in 15 bins. Corrfunc uses
    its default settings."""

    def measure(options, folder, name, rows):
        import numpy

        points = uniform(rows, 3, dtype)
        numpy.save(folder / "points.npy", points)
        cutoff = BOX * (NEIGHBOURS / rows / (4 / 3 * math.pi)) ** (1 / 3)
        bins = Bins(cutoff / 15, 15)
        gradus = Gradus(options.gradus, options.threads, folder)
        baseline = Corrfunc(points, options.threads, "fastest")
        ours = gradus.count(bins, True)
        agreement = explain_counts(ours["counts"], baseline.count(bins, True)["counts"], gradus, bins, True, dtype, BOX)
        samples = alternate({"Gradus": lambda: gradus.count(bins, True), "Corrfunc": lambda: baseline.count(bins, True)},
                            options.repeats, name)
        ratios = {"Corrfunc": ratio_of(samples["Gradus"], samples["Corrfunc"], 1.2)}
        return line_result(name, points, bins, samples, ratios, {"Corrfunc": agreement}, box=BOX,
                           gradus_variant=ours["variant"], threads=options.threads, rechecked=ours["rechecked"],
                           corrfunc_isa=baseline.instructions, neighbours=2 * sum(ours["counts"]) / rows)

    return measure


def all_pairs(options, folder, name, rows):
    """Compares counts of all pairs in 80 bins. Corrfunc is designed for cutoffs, but there is no cutoff here. Corrfunc
    uses its narrower instruction set, which is faster here."""
    points = lab_atoms(rows, options, folder)
    bins = Bins(500.0, 80)
    gradus = Gradus(options.gradus, options.threads, folder)
    baseline = Corrfunc(points, options.threads, "avx")
    ours = gradus.count(bins, False)
    agreement = {}

    def baseline_counts():
        result = baseline.count(bins, False)
        agreement["Corrfunc"] = explain_counts(ours["counts"], result["counts"], gradus, bins, False, "f8", 23000.0)
        return result

    samples = alternate({"Gradus": lambda: gradus.count(bins, False), "Corrfunc": baseline_counts},
                        min(options.repeats, 2), name)
    ratios = {"Corrfunc": ratio_of(samples["Gradus"], samples["Corrfunc"], 1.2)}
    return line_result(name, points, bins, samples, ratios, agreement, box=None, gradus_variant=ours["variant"],
                       threads=options.threads, rechecked=ours["rechecked"], corrfunc_isa=baseline.instructions)


def one_core(options, folder, name, rows):
    """Compares the filter with the textbook loop, each on one thread. The textbook loop is compiled for this CPU."""
    if not options.native:
        raise SystemExit("baselines: --native is missing: a gradus built with -D GRADUS_NATIVE_SEQUENTIAL=ON")
    points = lab_atoms(rows, options, folder)
    bins = Bins(500.0, 80)
    contenders = {"simd_filter": Gradus(options.gradus, 1, folder, "simd_filter"),
                  "sequential": Gradus(options.native, 1, folder, "sequential")}
    ours = contenders["simd_filter"].count(bins, False)

    def checked(contender):
        result = contenders[contender].count(bins, False)
        require_equal(ours, result, contenders)
        return result

    samples = alternate({"simd_filter": lambda: checked("simd_filter"), "sequential": lambda: checked("sequential")},
                        min(options.repeats, 3), name)
    ratios = {"sequential": ratio_of(samples["simd_filter"], samples["sequential"], 5)}
    return line_result(name, points, bins, samples, ratios, {"sequential": {"counts": "equal"}}, box=None,
                       gradus_variant="simd_filter", threads=1, rechecked=ours["rechecked"],
                       sequential_flags="-O3 -march=native")


def wide_bins(options, folder, name, rows):
    """Compares the tree, which counts all pairs of two cells at once if their distances are in one bin, with a variant
    that examines every pair of points. This variant would take minutes on all points. It is therefore timed on a tenth
    of the points, and its time is multiplied by a hundred. The counts of both on this tenth must be equal."""
    import numpy

    points = uniform(rows, 3, "f8")
    bins = Bins(math.sqrt(3) * BOX / 8, 8)
    tree = Gradus(options.gradus, options.threads, folder, "simd_dual_tree")
    brute = Gradus(options.gradus, options.threads, folder, "simd_filter")

    def on(count):
        numpy.save(folder / "points.npy", points[:count])

    # Finds the smallest number of points for which the tree is faster. Times both variants on growing numbers of
    # points.
    brute_points = len(points) // 10
    crossover = []
    count = 5000
    while count <= brute_points // 2:
        on(count)
        require_equal(tree.count(bins, False), brute.count(bins, False), ("simd_dual_tree", "simd_filter"))
        both = alternate({"simd_dual_tree": lambda: tree.count(bins, False),
                          "simd_filter": lambda: brute.count(bins, False)}, min(options.repeats, 3),
                         f"{name}: {count:,} points")
        medians = {variant: statistics.median(sample["seconds"]) for variant, sample in both.items()}
        crossover.append({"n": count, "median_seconds": medians,
                          "ratio": medians["simd_filter"] / medians["simd_dual_tree"]})
        count *= 2

    factor = (len(points) / brute_points) ** 2
    on(brute_points)
    require_equal(tree.count(bins, False), brute.count(bins, False), ("simd_dual_tree", "simd_filter"))

    def tree_counts():
        on(len(points))
        result = tree.count(bins, False)
        if sum(result["counts"]) + result["below"] > result["pairs"]:
            raise Disagreement("simd_dual_tree counts more pairs than there are")
        return result

    def brute_counts():
        on(brute_points)
        return brute.count(bins, False)

    samples = alternate({"simd_dual_tree": tree_counts, "simd_filter": brute_counts}, min(options.repeats, 2), name)
    ratios = {"simd_filter": ratio_of(samples["simd_dual_tree"], samples["simd_filter"], 5, factor)}
    return line_result(name, points, bins, samples, ratios, {"simd_filter": {"counts": "equal"}}, box=None,
                       gradus_variant="simd_dual_tree", threads=options.threads,
                       brute_force={"points": brute_points, "time_counts": factor,
                                    "note": "timed on fewer points; its time is multiplied by the growth of n^2; the "
                                            "counts are compared on these points"},
                       crossover=crossover)


class Line:
    """A line of the table: its name, with a placeholder for the number of points, this number, and the function
    that measures the line."""

    def __init__(self, pattern, rows, measure):
        self.pattern, self.rows, self.measure = pattern, rows, measure

    def name(self, scale):
        return self.pattern.format(self.scaled(scale))

    def scaled(self, scale):
        return max(10_000, int(self.rows * scale))


LINES = [
    Line("neighbours: {:,} x 3 f64, periodic, about 100 within the cutoff, 15 bins", 1_000_000, neighbours("f8")),
    Line("neighbours: {:,} x 3 f32, periodic, about 100 within the cutoff, 15 bins", 1_000_000, neighbours("f4")),
    Line("all pairs: lab-atoms {:,} x 3 f64, 80 bins of 500", 100_000, all_pairs),
    Line("one core: lab-atoms {:,} x 3 f64, 80 bins of 500", 100_000, one_core),
    Line("wide bins: {:,} x 3 f64, 8 bins", 2_000_000, wide_bins),
]


# ------------------------------------------------------------------------------------------------------------- report

HEADER = ["points and bins", "Gradus variant", "ms", "beside", "ms", "ratio", "range", "of CPU time", "target", "",
          "counts"]


def table_rows(result):
    ours = result["samples"].get("Gradus") or result["samples"][result["gradus_variant"]]
    factor = result.get("brute_force", {}).get("time_counts", 1)
    for name, ratio in result["ratios"].items():
        theirs = result["samples"][name]
        yield [
            result["name"],
            result["gradus_variant"],
            f"{1e3 * statistics.median(ours['seconds']):.0f} ±{1e3 * spread(ours['seconds']):.0f}",
            name,
            f"{1e3 * factor * statistics.median(theirs['seconds']):.0f} ±{1e3 * factor * spread(theirs['seconds']):.0f}",
            f"{ratio['median']:.2f}",
            f"{ratio['lowest']:.2f}-{ratio['highest']:.2f}",
            f"{ratio['of_cpu_seconds']:.2f}",
            f">= {ratio['target']:g}",
            "reached" if ratio["median"] >= ratio["target"] else "missed",
            result["agreement"][name]["counts"],
        ]


def add_options(parser):
    parser.add_argument("--native", metavar="PROGRAM",
                        help="a gradus built with -D GRADUS_NATIVE_SEQUENTIAL=ON, for the line 'one core'")
    parser.add_argument("--trajectories", action="store_true",
                        help="instead: compare partial radial distributions of trajectories with the results of MDAnalysis and "
                        "ASE, bin by bin")


def versions():
    import importlib.metadata

    there = {package.metadata["Name"] for package in importlib.metadata.distributions()}
    return {package: importlib.metadata.version(package) for package in ("Corrfunc", "numpy", "ase", "MDAnalysis")
            if package in there}


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    if options.trajectories:
        import trajectories

        results, agree = trajectories.run(options, folder)
        return results, agree
    results, problems = [], []
    for line in LINES:
        name = line.name(options.scale)
        if options.lines and not any(word in name for word in options.lines):
            continue
        try:
            results.append(line.measure(options, folder, name, line.scaled(options.scale)))
        except Disagreement as disagreement:
            problems.append(f"{name}: {disagreement}; no figure is given")
    if not results and not problems:
        names = "".join(f"\n  {line.name(options.scale)}" for line in LINES)
        raise SystemExit(f"baselines: no line has such a name; the names are:{names}")
    print_table(HEADER, [row for result in results for row in table_rows(result)])
    print(f"""Medians of alternate runs, {options.threads} threads but for the line "one core".
± is the median deviation; range is the range of the ratios of single runs; of CPU time: the ratio of the medians of all threads'
CPU time, for Gradus of the whole process.
counts: equal, or within what the baseline's rounding explains. simd_filter compared with simd_dual_tree: timed on a tenth of the
points and taken a hundred times.""")
    for result in results:
        for step in result.get("crossover", []):
            print(f"  {step['n']:>9,} points: simd_dual_tree is {step['ratio']:.2f} times as fast as simd_filter")
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"lines": results, "disagreements": problems}, not problems
