"""Life: Gradus compared with Golly's engines, which the program bgolly runs. The baseline is HashLife on lines whose
names mention it, and QuickLife on all other lines.

Both sides read the same pattern, a soup or a known one, and write the result. The results of each run are compared.
bgolly does not report its time. Its time is therefore the time of the whole process minus the time of a process that
computes no generation and writes no output. The time of Gradus is the total minus reading and writing, as reported in
its summary. Each run is a fresh process. The lines "whole call" compare the whole processes, from file to file.
QuickLife uses one thread. "Gradus" uses one, and "Gradus, all threads" uses all. QuickLife skips inactive parts of the
plane. With a border it computes one generation at a time. Needs the packages of requirements-life.txt.
"""

import json
import pathlib
import random
import statistics

import life_field
from common import Disagreement, note, print_table, run_program, spread

ACORN = (7, 3, "bo$3bo$2o2b3o!")
GUN = (36, 9, "24bo$22bobo$12b2o6b2o12b2o$11bo3bo4b2o12b2o$2o8bo5bo3b2o$2o8bo3bob2o4bobo$10bo5bo7bo$11bo3bo$12b2o!")

# Each line has a name, a pattern (None: a soup), a side, a topology (a torus or a plane with this side; empty: no
# border), a rule, and a number of generations. In the name, {} stands for the side.
LINES = [
    ("torus {0} x {0}", None, 4096, "T", "B3/S23", 1000),
    ("torus {0} x {0}", None, 1024, "T", "B3/S23", 500),
    ("dead border {0} x {0}", None, 1024, "P", "B3/S23", 500),
    ("HighLife, torus {0} x {0}", None, 1024, "T", "B36/S23", 500),
    ("Day & Night, torus {0} x {0}", None, 1024, "T", "B3678/S34678", 500),
    ("Seeds, torus {0} x {0}", None, 1024, "T", "B2/S", 500),
    ("B34/S34, torus {0} x {0}", None, 1024, "T", "B34/S34", 500),
    ("plane, a soup of {0} x {0}", None, 1024, "", "B3/S23", 500),
    ("plane, acorn", ACORN, 0, "", "B3/S23", 5206),
    ("plane, Gosper's gun", GUN, 0, "", "B3/S23", 3000),
    ("whole call, torus {0} x {0}", None, 100, "T", "B3/S23", 100),
    ("whole call, plane, a soup of {0} x {0}", None, 100, "", "B3/S23", 100),
]

BREEDER = pathlib.Path(__file__).parents[2] / "data" / "life" / "breeder.rle"

# Each line has a name, a function that writes the pattern's file, a side, and a number of generations. Both
# programs use HashLife and compute all generations in one step.
TREES = [
    ("HashLife, a field of {0} x {0} tiles", life_field.write, 128, 2**20),
    ("HashLife, Gosper's gun", lambda side, path: write_pattern(path, GUN, 0, "", "B3/S23"), 0, 2**30),
    ("HashLife, breeder", lambda side, path: path.write_text(BREEDER.read_text()), 0, 2**30),
]


def write_pattern(path, pattern, side, topology, rule):
    with open(path, "w", encoding="ascii") as file:
        if pattern:
            file.write(f"x = {pattern[0]}, y = {pattern[1]}, rule = {rule}\n{pattern[2]}\n")
            return
        border = f":{topology}{side},{side}" if topology else ""
        file.write(f"x = {side}, y = {side}, rule = {rule}{border}\n")
        generator = random.Random(1)
        for row in range(side):
            bits = generator.getrandbits(side) & generator.getrandbits(side)  # each cell is alive with probability 1/4
            file.write(bin(bits)[2:].zfill(side).replace("0", "b").replace("1", "o") + ("!" if row + 1 == side else "$") + "\n")


def runs_of(path):
    """Returns the cells of a file as one line, without comments and header."""
    with open(path, encoding="ascii") as file:
        lines = [line.strip() for line in file if not line.startswith("#")]
    return "".join(lines[1:])


class Gradus:
    def __init__(self, program, threads, whole, more=()):
        self.program, self.threads, self.whole, self.more = program, threads, whole, more

    def seconds(self, path, generations, output):
        process = run_program([self.program, "life", str(path), "-g", str(generations), "--threads", str(self.threads),
                               "--device", "cpu", "-o", str(output), "--json", "--quiet", *self.more])
        if self.whole:
            return process.seconds
        seconds = json.loads(process.output)["seconds"]
        return seconds["total"] - seconds["read"] - seconds["write"]


class Golly:
    def __init__(self, whole, bounded, more=()):
        self.whole, self.more = whole, more
        self.step = lambda generations: 1 if bounded else max(generations, 1)

    def run(self, path, generations, output):
        command = ["bgolly", *self.more, "-q", "-q", "-i", str(self.step(generations)), "-m", str(generations)]
        return run_program([*command, *(["-o", str(output)] if output else []), str(path)]).seconds

    def seconds(self, path, generations, output):
        if self.whole:
            return self.run(path, generations, output)
        self.run(path, generations, output)
        return self.run(path, generations, None) - self.run(path, 0, None)


def run_alternately(options, folder, name, path, subjects, generations, ending, cells_of):
    samples = {subject: [] for subject in subjects}
    expected = None
    for turn in range(options.repeats + 1):  # the first turn is a warm-up
        for subject, program in subjects.items():
            note(f"{name}: {subject}, {turn} of {options.repeats}")
            output = folder / ("result" + ending)
            seconds = program.seconds(path, generations, output)
            cells = cells_of(output)
            if expected is None:
                expected = cells
            if cells != expected:
                raise Disagreement(f"{subject} gives other cells after {generations} generations")
            if turn > 0:
                samples[subject].append(seconds)
    note("")
    return [{"subject": subject, "samples": values, "seconds": statistics.median(values)}
            for subject, values in samples.items()]


def measure(options, folder, line):
    pattern_name, pattern, side, topology, rule, generations = line
    if not pattern:
        side = max(16, int(side * options.scale ** 0.5))
    name = pattern_name.format(side)
    whole = name.startswith("whole call")
    path = folder / "pattern.rle"
    write_pattern(path, pattern, side, topology, rule)
    subjects = {"bgolly, QuickLife": Golly(whole, bool(topology)), "Gradus": Gradus(options.gradus, 1, whole)}
    if options.threads > 1 and not whole:
        subjects["Gradus, all threads"] = Gradus(options.gradus, options.threads, whole)
    rows = run_alternately(options, folder, name, path, subjects, generations, ".rle", runs_of)
    return {"line": name, "rule": rule, "side": side, "topology": topology or "plane", "generations": generations,
            "rows": rows}


def measure_tree(options, folder, line):
    pattern_name, write, side, generations = line
    side = max(4, int(side * options.scale ** 0.5)) if side else 0
    name = pattern_name.format(side)
    write(side, folder / "pattern.rle")
    # Converts the pattern to Macrocell, because a Macrocell file contains coordinates. bgolly would put the corner of
    # an RLE file without coordinates at (0, 0).
    path = folder / "pattern.mc"
    run_program([options.gradus, "life", str(folder / "pattern.rle"), "-g", "0", "-o", str(path), "--quiet"])

    def cells_of(output):
        """Returns the lines of the pattern. First rewrites the pattern with its nodes in the order of the tree, so that
        equal cells give equal lines. Drops comments, because one of the two programs does not write them."""
        same = folder / "same.mc"
        run_program([options.gradus, "life", str(output), "-g", "0", "-o", str(same), "--quiet", "--variant", "hashlife"])
        return [line for line in same.read_text().splitlines() if not line.startswith("#C") and line[:2] not in ("#N", "#O")]

    subjects = {"bgolly, HashLife": Golly(False, False, ["-a", "HashLife", "-M", "4000"]),
                "Gradus": Gradus(options.gradus, 1, False, ["--variant", "hashlife"])}
    rows = run_alternately(options, folder, name, path, subjects, generations, ".mc", cells_of)
    return {"line": name, "rule": "B3/S23", "side": side, "topology": "plane", "generations": generations, "rows": rows}


HEADER = ["line", "subject", "ms", "cell updates/s", "bgolly's time over it"]


def table_rows(result):
    golly = result["rows"][0]["seconds"]
    for row in result["rows"]:
        bounded = result["topology"] != "plane"
        rate = result["side"] ** 2 * result["generations"] / row["seconds"] if bounded else None
        yield [result["line"], row["subject"], f"{1000 * row['seconds']:.4g} ± {1000 * spread(row['samples']):.2g}",
               f"{rate:.3g}" if rate else "", f"{golly / row['seconds']:.4g}" if row["subject"] == "Gradus" or "threads" in row["subject"] else ""]


def add_options(_parser):
    pass


def versions():
    found = run_program(["dpkg-query", "-W", "-f", "${Version}", "golly"]).output
    return {"golly": found or "unknown"}


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    results, problems = [], []
    for line in LINES + TREES:
        if options.lines and not any(word in line[0] for word in options.lines):
            continue
        try:
            results.append((measure if line in LINES else measure_tree)(options, folder, line))
        except Disagreement as disagreement:
            problems.append(f"{line[0].format(line[2])}: {disagreement}; no figure is given")
    if not results and not problems:
        raise SystemExit("baselines: no line has such a name; the names are:\n  " +
                         "\n  ".join(line[0].format(line[2]) for line in LINES + TREES))
    print_table(HEADER, [row for result in results for row in table_rows(result)])
    if not problems:
        print(f"Medians of alternate runs; all threads are {options.threads}; ± is the median deviation. "
              "All cells of both programs are equal.")
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"lines": results, "disagreements": problems}, not problems
