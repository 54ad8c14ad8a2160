"""Selects current raw results and generates the benchmark tables and the overview chart from them.

A raw result in docs/results is current if its commit has no local changes and its digest equals the digest of the
problem's present code for that kind of machine. Documents show only current results. `./dev docs` calls benchmarks()
and chart(); bench/measure.py measures the results.
"""

import functools
import hashlib
import io
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from prose import CPP, code_of_cpp  # noqa: E402

RESULTS = "docs/results"
CLEAN = re.compile(r"[0-9a-f]{7,40}$")
# Each problem with its title, in the order in which documents show them.
PROBLEMS = [("kmeans", "k-means"), ("pair_histogram", "pair-distance histogram"), ("shortest_paths", "all-pairs shortest paths"),
            ("matmul", "matrix multiplication"), ("life", "Game of Life"), ("locks", "locks"), ("sets", "concurrent sets")]


def without_text(literal):
    """Returns "" for a literal of several words, and any other literal unchanged. A single word may be more than text:
    an included file, a target of the compiler or a name."""
    return '""' if literal.endswith('"') and re.search(r'\w[.,:;!?)]* (\w|"$)|^" \w', literal) else literal


# Folders of a problem whose code no measured call runs, and with them the public headers PROBLEM_FOLDER.hpp. No file
# outside may include one of theirs (tests/figures_test.py), but tests, bindings and the headers given here, through
# which a call reaches what its options ask for.
UNMEASURED = {"batches": None, "certify": None, "check": None, "hierarchy": "bisection|hierarchy|options|shares",
              "line": "borders|options", "quality": "moves", "sizes": "limited_sizes", "sky": None}

# The code of a problem that runs on one kind of machine alone. It does not count for figures of the other kind.
# No code of GPUs may include code of CPUs (tests/figures_test.py).
ONLY_ON = {"gpu": re.compile(r".*\.cuh?$|(.*/)?((gpu|persistent)/.*|cuda_[^/]*)$"),
           "cpu": re.compile(r"(.*/)?(simd/.*|rungs/(?!cu(da|blas)_?)[^/]*\.[ch]pp|(simd|byte|dense|short|filtered|integer)_[^/]*|cell_table[^/]*)"
                           r"(?<!/simd_pairs.[ch]pp)(?<!/edge_table.[ch]pp)$")}


# The file in the folder api/ of a problem that implements the measured call. Of api/, only this file counts, and what it
# includes: other public operations may change.
MEASURED_CALL = {"kmeans": "fit", "pair_histogram": "count", "shortest_paths": "compute", "matmul": "multiply", "life": "compute"}


def is_file_code(path):
    """Returns true for the code that reads and writes files of any format."""
    return ("files" in path.parts or path.stem == "output" and path.parts[0] == "cli") and not path.stem.endswith("_test")


def is_measured(path):
    return not {"tests", "files", *UNMEASURED} & set(path.parts) and not path.stem.endswith(("_test", *(f"_{name}" for name in UNMEASURED)))


def measured_api(room, call):
    """Returns the files of api/ that the measured call includes, each header with the file that implements it."""
    found, left = set(), [room / "api" / f"{call}.cpp"]
    while left:
        path = left.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        left += [room / "api" / f"{stem}.{ending}" for stem in re.findall(rf'#include "{room.name}/api/(\w+)\.hpp"', path.read_text(encoding="utf-8"))
                 for ending in ("hpp", "cpp")]
    return found


def measured_code(root, problem, machine):
    """Returns the files of a problem's measured code on "cpu", on "gpu", or on both if the machine is None."""
    if problem == "files":
        return [path for folder in ("src", "cli") for path in (root / folder).rglob("*") if is_file_code(path.relative_to(root))]
    room = root / "src" / problem
    names = [*room.rglob("*"), *(root / "include" / "gradus").rglob(f"{problem}*"), *(root / "include" / "gradus" / problem).rglob("*")]
    api = measured_api(room, MEASURED_CALL[problem]) if problem in MEASURED_CALL else None
    others = [ONLY_ON[other] for other in ONLY_ON if machine and other != machine]
    return [path for path in names if is_measured(path.relative_to(root)) and
            (api is None or path.parent != room / "api" or path in api) and
            not any(other.match(str(path.relative_to(root))) for other in others)]


@functools.lru_cache(maxsize=None)
def digest(root, problem, machine=None):
    """Returns the digest of a problem's measured code (measured_code). Comments, line breaks and texts do not affect the digest."""
    total = hashlib.sha256()
    for path in sorted(set(measured_code(pathlib.Path(root), problem, machine))):
        if path.suffix not in CPP:
            continue
        text = path.read_text(encoding="utf-8")
        words = code_of_cpp(text) if re.search("asm|_Pragma", text) else re.sub(r'""( "")+', '""', code_of_cpp(text, without_text))
        total.update(f"{path.relative_to(root)}\n{words}\n".encode())
    return total.hexdigest()[:16]


def kind_of_machine(name):
    """Returns the kind of machine of the raw result of this name, or None if the name does not contain it."""
    return next((machine for machine in ONLY_ON if f"-{machine}" in name), None)


def digest_at(root, commit, problem, machine=None):
    """Returns the digest of a problem's code at a commit."""
    packed = subprocess.run(["git", "archive", commit, "src", "include", *(["cli"] if problem == "files" else [])], cwd=root, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder)
        return digest(folder, problem, machine)


def is_clean(commit):
    return bool(CLEAN.fullmatch(commit))


def read(root, name):
    """Returns the raw result of this name, or None."""
    path = pathlib.Path(root) / RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def state(root, name, problem):
    result = read(root, name)
    if result is None:
        return "missing"
    facts = result["facts"]
    if not is_clean(facts.get("commit", "")):
        return f"stale: commit {facts.get('commit', 'unknown')}"
    if facts.get("draft"):
        return "stale: a draft"
    if not result.get("right", True):
        return "stale: its results are incorrect"
    return "current" if facts.get("code") == digest(root, problem, kind_of_machine(name)) else "stale: the code has changed since"


def current(root, name, problem):
    """Returns the raw result of this name if it is current, otherwise None."""
    return read(root, name) if state(root, name, problem) == "current" else None


class Comparison:
    """A job with two times in seconds: the time of our variant, and the time of the fastest other library."""

    def __init__(self, job, ours, seconds, others):
        self.job, self.ours, self.seconds = job, ours, seconds
        self.other, self.other_seconds = min(others.items(), key=lambda item: item[1])
        self.ratio = self.other_seconds / seconds


def best(samples):
    return {name: statistics.median(values["seconds"] if isinstance(values, dict) else values) for name, values in samples.items()}


def compared_samples(lines):
    """Yields one comparison per line. Each line lists samples by program. If several programs are ours, only the
    fastest one counts."""
    for line in lines:
        times = best(line.get("samples") or line["seconds"])
        ours = {name: value for name, value in times.items() if name.startswith("Gradus")}
        others = {name: value for name, value in times.items() if name not in ours and name not in ("sequential", "simd_filter")}
        if ours and others:
            yield Comparison(line["name"], line.get("gradus_variant", ""), min(ours.values()), others)


def compared_shapes(lines):
    """Yields one comparison per line of matrix products. The compared times are geometric means over the shapes of the
    line."""
    for line in lines:
        times = [best(shape["samples"]) for shape in line["shapes"]]
        mean = {name: math.exp(statistics.fmean(math.log(one[name]) for one in times)) for name in times[0]}
        name = f"{line['name']} {line['dtype']}" if line["dtype"] not in line["name"] else line["name"]
        yield Comparison(f"{name}, geometric mean of {len(times)}", "", mean.pop("Gradus"), mean)


def compared_rows(lines):
    """Yields one comparison per line. Each line has one row per subject. The names of our subjects begin with
    "gradus"."""
    for line in lines:
        times = {row["subject"]: row.get("median", row.get("seconds")) for row in line["rows"]}
        ours = {name: value for name, value in times.items() if name.lower().startswith("gradus")}
        others = {name: value for name, value in times.items() if name not in ours}
        if ours and others:
            variant = min(ours, key=ours.get)
            yield Comparison(line.get("name", line.get("line")), variant[len("gradus"):].strip(", "), ours[variant], others)


def compared_locks(lines):
    for line in lines:
        times = {lock["lock"]: 1e-9 * statistics.median(sample["ns"] for sample in lock["samples"]) for lock in line["locks"]}
        own = {lock["lock"] for lock in line["locks"] if lock["library"] == "gradus"}
        if not own or len(own) == len(times):
            continue
        variant = min(own, key=times.get)
        yield Comparison(f"{line['name']}, {line['threads']} threads, {line['critical']}/{line['outside']}", variant, times[variant],
                         {name: value for name, value in times.items() if name not in own})


def compared_variants(groups):
    """Yields comparisons of our products on a GPU with cuBLAS. All times come from one measurement of the ladder, in
    which other libraries are rows, too. Of our variants, only those with the oracle's bits count."""
    for group in groups:
        times = {row["variant"]: (sum(row["phases"].get(phase, 0) for phase in ("pack", "multiply")), row["contract"])
                 for row in group["rows"] if "phases" in row}
        others = {name: seconds for name, (seconds, _) in times.items() if name.startswith(("cublas", "openblas"))}
        exact = {name: seconds for name, (seconds, contract) in times.items() if contract == "same bits" and name != "cuda_panels"}
        if exact and others:
            variant = min(exact, key=exact.get)
            yield Comparison(f"{group['m']} x {group['n']} x {group['k']} {group['dtype']}", variant, exact[variant], others)


READERS = {"kmeans": compared_samples, "pair_histogram": compared_samples, "shortest_paths": compared_samples,
           "matmul": compared_shapes, "life": compared_rows, "locks": compared_locks, "sets": compared_rows}


# If the times of a problem do not cover a whole call, a note states what they cover.
NOTES = {("kmeans", "gpu"): "The time is one iteration with the points on the GPU. ",
         ("matmul", "gpu"): "The time is the product with the matrices on the GPU. "}


def comparisons(root, problem, machine):
    """Returns the comparisons of a problem on "cpu" or "gpu" and the facts of the run, or ([], None) if none is current."""
    name = problem.replace("_", "-")
    if (problem, machine) == ("matmul", "gpu"):
        result = current(root, "matmul-gpu", problem)
        return (list(compared_variants(result["groups"])), result["facts"]) if result else ([], None)
    result = current(root, f"{name}-{machine}-baselines", problem)
    if not result:
        return [], None
    found = READERS[problem](result["lines"])
    return [one for one in found if machine == "gpu" or not one.ours.startswith("cuda_")], result["facts"]


def mean_ratio(found):
    return math.exp(statistics.fmean(math.log(one.ratio) for one in found))


def digits(value):
    """Formats with three significant digits and no exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(rounded)))}f}"


def times(value):
    """Formats a ratio: 12×, 2.5×, 1.05×, 0.93×, 0.0042×. A loss never rounds to 1."""
    if 0.995 <= value < 1 or value < 0.1:
        return f"{digits(min(value, 0.999))}×"
    return f"{value:.0f}×" if value >= 9.95 else f"{value:.1f}×" if value >= 1.995 else f"{value:.2f}×"


LIBRARIES = {"ck ": "ConcurrencyKit", "tbb::": "oneTBB", "nsync": "nsync", "libcds": "libcds", "xenium": "xenium", "bgolly": "Golly",
             "absl": "Abseil", "cublas": "cuBLAS", "std::": "the standard library", "pthread": "POSIX threads"}


def library(name):
    """Returns the library that a subject belongs to."""
    return next((title for prefix, title in LIBRARIES.items() if name.startswith(prefix)), name.split(",")[0])


def against(found):
    """Formats the ratios of a problem: geometric mean, range and the other libraries."""
    ratios = [one.ratio for one in found]
    libraries = sorted({library(one.other) for one in found})
    text = times(ratios[0]) if len(found) == 1 else f"{times(mean_ratio(found))} ({times(min(ratios))} to {times(max(ratios))})"
    return f"{text} {', '.join(libraries)}"


def machine_of(facts):
    machine = facts.get("machine", {})
    gpus = machine.get("gpus", facts.get("gpus", []))
    cores = machine.get("cores", facts.get("cores"))
    cpu = machine.get("processor", facts.get("processor"))
    return f"{gpus[0]}" if gpus else f"{cores} cores of {cpu}"


def variant_text(name):
    return f"`{name}`" if "_" in name else name


def seconds_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if float(f"{seconds:.3g}") >= size:
            return f"{float(digits(seconds / size)):g} {unit}"
    return f"{float(digits(seconds / 1e-9)):g} ns"


def summary(root):
    """Returns {problem: {machine: text}}, the ratios to the best other library, for README."""
    return {problem: {machine: against(found) for machine in ("cpu", "gpu")
                      for found in [comparisons(root, problem, machine)[0]] if found} for problem, _ in PROBLEMS}


def benchmarks(root):
    """Returns the tables of docs/benchmarks.md. They contain each job of each problem, even if another library is
    faster."""
    text = []
    for problem, title in PROBLEMS:
        for machine, device in (("cpu", "CPU"), ("gpu", "GPU")):
            found, facts = comparisons(root, problem, machine)
            if not found:
                continue
            raw = "matmul-gpu" if (problem, machine) == ("matmul", "gpu") else f"{problem.replace('_', '-')}-{machine}-baselines"
            text.append(f"### {title[0].upper() + title[1:]}, {device}\n\n"
                        f"On {machine_of(facts)}, {facts['date'][:10]}, commit {facts['commit'][:12]}. "
                        f"{NOTES.get((problem, machine), '')}[Raw result](results/{raw}.json).\n\n"
                        "| job | Gradus | variant | fastest other library | its time | ratio |\n|---|---|---|---|---|---|\n" +
                        "".join(f"| {one.job} | {seconds_text(one.seconds)} | {variant_text(one.ours)} | {one.other} | "
                                f"{seconds_text(one.other_seconds)} | {times(one.ratio)}{' (slower)' if one.ratio < 1 else ''} |\n"
                                for one in found))
    return "\n".join([*text, ""])


def file_rates(root):
    """Returns the table of the rates at which files are read and written, or "" if no result is current."""
    result = current(root, "file-rates-cpu", "files")
    if not result:
        return ""

    def cell(row, way, times):
        share = row[way]["ceiling"]["seconds"] / times["seconds"]
        return "mapped" if share > 4 else f"{row['bytes'] / 1e6 / times['seconds']:.0f} ({100 * share:.0f} %)"

    def cells(row, way):
        return [cell(row, way, times) for times in row[way]["times"]] if way in row else ["", ""]
    lines = ["| files of | format | sample | read, 1 thread | 2 threads | write, 1 thread | 2 threads |", "|---|---|---|---|---|---|---|"]
    lines += [f"| {row['kind']} | {row['format'].removesuffix(row['ending']).strip()} `{row['ending']}` | {row['content']} | {' | '.join(cells(row, 'read') + cells(row, 'write'))} |"
              for row in result["rows"]]
    facts = result["facts"]
    return (f"On {machine_of(facts)}, {facts['date'][:10]}, commit {facts['commit'][:12]}. "
            "[Raw result](results/file-rates-cpu.json).\n\n" + "\n".join(lines) + "\n\n")


def chart(root):
    """Returns the overview chart as SVG: per problem, the geometric mean and range of the ratios to the best library."""
    rows = [(f"{title}, {device}", found) for problem, title in PROBLEMS for machine, device in (("cpu", "CPU"), ("gpu", "GPU"))
            for found in [comparisons(root, problem, machine)[0]] if found]
    left, right, line, top = 210, 90, 26, 34
    most = max([one.ratio for _, found in rows for one in found] + [10])
    least = min([one.ratio for _, found in rows for one in found] + [1])
    low, high = math.log10(least) - 0.05, math.log10(most) + 0.05

    def at(ratio):
        return left + (760 - left - right) * (math.log10(ratio) - low) / (high - low)
    height = top + line * len(rows) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" role="img" font-family="system-ui, sans-serif" font-size="13">',
             "<title>Gradus against the best other library, by problem: geometric mean and range of the ratio of times</title>",
             "<style>text{fill:#222}.grid{stroke:#ccc}.bar{fill:#3f6fb5}.range{stroke:#1b3358;stroke-width:2}.one{stroke:#b03a2e}"
             "@media (prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}.bar{fill:#7aa6e8}.range{stroke:#dbe7fb}.one{stroke:#ff8a7a}}</style>"]
    for exponent in range(math.floor(low), math.ceil(high) + 1):
        for ratio in (10**exponent, 3 * 10**exponent):
            if low <= math.log10(ratio) <= high:
                kind = "one" if ratio == 1 else "grid"
                parts.append(f'<line class="{kind}" x1="{at(ratio):.1f}" x2="{at(ratio):.1f}" y1="{top - 8}" y2="{height - 24}"/>')
                parts.append(f'<text x="{at(ratio):.1f}" y="{height - 8}" text-anchor="middle">{ratio:g}×</text>')
    parts.append('<text x="8" y="16">times as fast as the best other library (bar: geometric mean; line: range of all jobs)</text>')
    for number, (name, found) in enumerate(rows):
        y, mean = top + line * number, mean_ratio(found)
        start, end = sorted((at(1), at(mean)))
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{name}</text>')
        parts.append(f'<rect class="bar" x="{start:.1f}" y="{y + 2}" width="{max(end - start, 1):.1f}" height="16" rx="2"/>')
        ratios = [one.ratio for one in found]
        parts.append(f'<line class="range" x1="{at(min(ratios)):.1f}" x2="{at(max(ratios)):.1f}" y1="{y + 10}" y2="{y + 10}"/>')
        parts.append(f'<text x="{at(max(max(ratios), 1)) + 6:.1f}" y="{y + 14}">{times(mean)}</text>')
    return "\n".join([*parts, "</svg>", ""])
