"""All-pairs shortest paths: Gradus compared with SciPy's scipy.sparse.csgraph, igraph and NetworKit.

Only the search is timed. Baselines start with the graph in memory. Each run of Gradus is a fresh process, whose start
costs some milliseconds. The time of Gradus is the total minus reading and writing, as reported in its summary. On the
small graphs of the lines "peers" and "everyday", Gradus makes calls in a warm process like the baselines: `gradus
bench` on a random graph with the same numbers of vertices and edges. On these lines and on dense graphs, both sides get
a matrix. SciPy and igraph use one thread, and NetworKit uses as many as Gradus. "Gradus" uses one thread, and "Gradus,
all threads" uses all. Every distance is compared. Lengths are integers, and a double represents every distance exactly,
so the distances must be equal. Needs the packages of requirements-shortest-paths.txt.
"""

import json
import statistics
import time

from common import Disagreement, note, print_table, run_program, spread

NONE = 2**31 - 1


# ------------------------------------------------------------------------------------------------------------- graphs


class Graph:
    """A graph without parallel edges, with lengths from 1 to 1000."""

    def __init__(self, vertices, edges, seed=1):
        import numpy

        generator = numpy.random.Generator(numpy.random.PCG64(seed))
        places = vertices * (vertices - 1)
        edges = min(edges, places)
        if edges > places // 4:
            chosen = generator.permutation(places)[:edges]
        else:
            chosen = numpy.unique(generator.integers(0, places, 2 * edges + 16))
            generator.shuffle(chosen)
            chosen = chosen[:edges]
        chosen.sort()
        self.vertices = vertices
        self.source, target = numpy.divmod(chosen, max(vertices - 1, 1))
        self.target = target + (target >= self.source)
        self.length = generator.integers(1, 1001, len(chosen))

    def sparse(self):
        import numpy
        import scipy.sparse

        shape = (self.vertices, self.vertices)
        return scipy.sparse.csr_matrix((self.length.astype(numpy.float64), (self.source, self.target)), shape)

    def dense(self):
        """Returns the matrix of weights, with 0 for "no edge", as SciPy expects."""
        import numpy

        matrix = numpy.zeros((self.vertices, self.vertices))
        matrix[self.source, self.target] = self.length
        return matrix

    def write(self, path):
        """Writes the graph as a matrix or as a DIMACS edge list, depending on the extension."""
        import numpy

        if path.suffix == ".npy":
            matrix = numpy.full((self.vertices, self.vertices), NONE, numpy.int32)
            matrix[self.source, self.target] = self.length
            numpy.save(path, matrix)
            return
        with open(path, "w", encoding="ascii") as file:
            file.write(f"p sp {self.vertices} {len(self.length)}\n")
            for edge in zip(self.source + 1, self.target + 1, self.length):
                file.write("a %d %d %d\n" % edge)


# ----------------------------------------------------------------------------------------------------------- programs


class Gradus:
    def __init__(self, program, path, threads):
        self.program, self.path, self.threads = program, path, threads

    def find(self):
        import numpy

        folder = self.path.parent / "paths"
        process = run_program([self.program, "shortest-paths", str(self.path), "--device", "cpu", "--threads",
                               str(self.threads), "-o", str(folder), "--json", "--quiet"])
        summary = json.loads(process.output)
        seconds = summary["seconds"]
        distances = numpy.load(folder / "distances.npy").astype(numpy.float64)
        distances[distances == NONE] = numpy.inf
        return {"seconds": seconds["total"] - seconds["read"] - seconds["write"], "distances": distances,
                "variant": summary["variant"]}


class Warm:
    """A variant of Gradus that runs in a warm process, on a random graph with as many vertices and edges as `graph`."""

    def __init__(self, program, graph, repeats):
        self.program, self.graph, self.repeats = program, graph, repeats

    def seconds(self, variant):
        places = self.graph.vertices * (self.graph.vertices - 1)
        output = run_program([self.program, "bench", "shortest-paths", "-n", str(self.graph.vertices), "--density",
                              repr(len(self.graph.length) / places), "--threads", "1", "--variants", variant,
                              "--repeats", str(self.repeats), "--json", "--quiet"]).output
        row = json.loads(output)["groups"][0]["rows"][0]
        return [sample["seconds"] for sample in row["samples"]]


class Scipy:
    """A method of SciPy, applied to `matrix`. The matrix is dense or sparse."""

    def __init__(self, matrix, method):
        self.matrix, self.method = matrix, method

    def find(self):
        from scipy.sparse.csgraph import shortest_path

        start = time.perf_counter()
        distances = shortest_path(self.matrix, method=self.method)
        return {"seconds": time.perf_counter() - start, "distances": distances}


class Igraph:
    def __init__(self, graph):
        import igraph

        self.graph = igraph.Graph(n=graph.vertices, edges=list(zip(graph.source.tolist(), graph.target.tolist())),
                                  directed=True)
        self.length = graph.length.tolist()

    def find(self):
        import numpy

        start = time.perf_counter()
        distances = self.graph.distances(weights=self.length)
        return {"seconds": time.perf_counter() - start, "distances": numpy.array(distances, numpy.float64)}


class Networkit:
    def __init__(self, graph, threads):
        import networkit

        self.networkit = networkit
        networkit.setNumberOfThreads(threads)
        self.graph = networkit.GraphFromCoo((graph.length.astype(float), (graph.source, graph.target)),
                                            n=graph.vertices, weighted=True, directed=True)

    def find(self):
        import numpy

        start = time.perf_counter()
        search = self.networkit.distance.APSP(self.graph)
        search.run()
        seconds = time.perf_counter() - start
        distances = numpy.array(search.getDistances(True), numpy.float64)
        distances[distances >= numpy.finfo(numpy.float64).max] = numpy.inf
        return {"seconds": seconds, "distances": distances}


# -------------------------------------------------------------------------------------------------------------- lines


def measured(name, graph, contenders, repeats, targets, warm=None):
    """Returns a result with samples of all contenders, whose runs alternate. Each of the `targets` names one of our
    contenders, a baseline and the required ratio of speeds. If `warm` is given, the times of the contender "Gradus"
    come from `warm`, and the contender only supplies the distances."""
    import numpy

    samples = {contender: [] for contender in contenders}
    truth, variant = None, ""
    for round_number in range(repeats):
        for contender, program in contenders.items():
            note(f"{name}: round {round_number + 1} of {repeats}, {contender}")
            found = program.find()
            samples[contender].append(found["seconds"])
            variant = found.get("variant", variant)
            if truth is None:
                truth = found["distances"]
            elif not numpy.array_equal(truth, found["distances"]):
                raise Disagreement(f"{contender} has other distances")
    note("")
    if warm:
        samples["Gradus"] = warm.seconds(variant)
    ratios = [{"of": ours, "beside": baseline, "target": target,
               "median": statistics.median(samples[baseline]) / statistics.median(samples[ours])}
              for ours, baseline, target in targets]
    return {"name": name, "vertices": graph.vertices, "edges": len(graph.length), "gradus_variant": variant,
            "samples": samples, "ratios": ratios}


ALL = "Gradus, all threads"


def against_scipy(edges_of, file, form, method, targets, networkit=False):
    """Returns a function that measures a graph. It compares Gradus, on one thread and on all threads, with SciPy's
    `method`. If `networkit` is set, it also compares Gradus with NetworKit. SciPy gets the graph as form(graph)."""

    def measure(options, folder, name, vertices):
        graph = Graph(vertices, edges_of(vertices))
        path = folder / file
        graph.write(path)
        contenders = {"Gradus": Gradus(options.gradus, path, 1), "SciPy": Scipy(form(graph), method),
                      ALL: Gradus(options.gradus, path, options.threads)}
        if networkit:
            contenders["NetworKit"] = Networkit(graph, options.threads)
        return [measured(name, graph, contenders, min(options.repeats, 2), targets)]

    return measure


def both_peers(options, folder, name, vertices):
    results = []
    for edges in (4 * vertices, vertices * vertices // 4):
        graph = Graph(vertices, edges)
        path = folder / "graph.gr"
        graph.write(path)
        results.append(measured(f"{name}, {edges:,} edges", graph,
                                {"Gradus": Gradus(options.gradus, path, 1), "SciPy": Scipy(graph.sparse(), "auto"),
                                 "igraph": Igraph(graph)}, options.repeats,
                                [("Gradus", "SciPy", 1), ("Gradus", "igraph", 1)],
                                Warm(options.gradus, graph, options.repeats)))
    return results


def everyday(options, folder, _, most):
    results = []
    for vertices in (10, 30, 100, 300, 1000, 3000):
        if vertices > most:
            continue
        for density in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1):
            edges = round(density * vertices * (vertices - 1))
            if edges == 0:
                continue
            graph = Graph(vertices, edges)
            path = folder / "graph.npy"
            graph.write(path)
            results.append(measured(f"everyday: {vertices:,} vertices, density {density:g}", graph,
                                    {"Gradus": Gradus(options.gradus, path, 1), "SciPy": Scipy(graph.dense(), "auto")},
                                    options.repeats, [("Gradus", "SciPy", 1)], Warm(options.gradus, graph, options.repeats)))
    return results


LINES = [
    ("dense: {:,} vertices, all edges", 4096, 64,
     against_scipy(lambda n: n * n, "graph.npy", Graph.dense, "FW", [("Gradus", "SciPy", 25), (ALL, "SciPy", 250)])),
    ("sparse: {:,} vertices, five edges from each", 20_000, 200,
     against_scipy(lambda n: 5 * n, "graph.gr", Graph.sparse, "D",
                   [("Gradus", "SciPy", 2.5), (ALL, "SciPy", 30), (ALL, "NetworKit", 1.3)], networkit=True)),
    ("peers: {:,} vertices", 1_000, 50, both_peers),
    ("everyday: up to {:,} vertices", 3_000, 100, everyday),
]


# ------------------------------------------------------------------------------------------------------------- report

HEADER = ["graph", "Gradus variant", "threads", "ms", "beside", "ms", "ratio", "target", ""]


def milliseconds(samples):
    return f"{1e3 * statistics.median(samples):.3g} ±{1e3 * spread(samples):.2g}"


def table_rows(result):
    everyone = result["samples"]
    for ratio in result["ratios"]:
        yield [result["name"], result["gradus_variant"], "all" if ratio["of"] == ALL else "1",
               milliseconds(everyone[ratio["of"]]), ratio["beside"], milliseconds(everyone[ratio["beside"]]),
               f"{ratio['median']:.2f}", f">= {ratio['target']:g}",
               "reached" if ratio["median"] >= ratio["target"] else "missed"]


def add_options(_):
    pass


def versions():
    import importlib.metadata

    return {package: importlib.metadata.version(package) for package in ("igraph", "networkit", "numpy", "scipy")}


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    results, problems = [], []
    for pattern, vertices, least, measure in LINES:
        size = max(least, int(vertices * options.scale))
        name = pattern.format(size)
        if options.lines and not any(word in name for word in options.lines):
            continue
        try:
            results += measure(options, folder, name, size)
        except Disagreement as disagreement:
            problems.append(f"{name}: {disagreement}; no figure is given")
    if not results and not problems:
        raise SystemExit("baselines: no line has such a name; the names are:\n  " +
                         "\n  ".join(line[0].format(line[1]) for line in LINES))
    print_table(HEADER, [row for result in results for row in table_rows(result)])
    print(f"""Medians of alternate runs; all threads are {options.threads}; ± is the median deviation. All distances of all programs are equal."""
          if not problems else "")
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"lines": results, "disagreements": problems}, not problems
