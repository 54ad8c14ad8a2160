"""Concurrent sets: Gradus compared with libcds, xenium, oneTBB and a striped absl::flat_hash_set.

The calls of all threads on one set are timed. All subjects run in one process, with the job and clocks of `gradus bench
sets` (src/sets/job.hpp). Keys and calls are drawn beforehand, and the set is filled beforehand with a random half of
the keys. Subjects alternate, and the first turn is a warm-up. Every run is verified by its keys and their sum. The
lines of the table are lists of 1024 and 8192 keys with the four mixes (contains/insert/erase), and a skip list and a
hash set of 1,000,000 keys. The mix 90/10/0 includes oneTBB's sets, which do not support concurrent erasure. Only sets
that reclaim memory in a similar way are compared: hazard pointers with hazard pointers, epochs with epochs and RCU, and
oneTBB's sets with our sets that free nothing before their destruction. A ratio above 1 means that Gradus is faster.
Needs the packages of requirements-sets.txt, and the build folder of --gradus, because sets.cpp is linked with the
harness in this folder.
"""

import json
import pathlib
import statistics
import subprocess

from common import REPOSITORY, Disagreement, note, print_table, spread

PACKAGES = ["libcds-dev", "libxenium-dev", "libtbb-dev", "libabsl-dev"]


def compile_program(options, folder):
    build = pathlib.Path(options.gradus).resolve().parent
    program = folder / "sets"
    abseil = subprocess.run(["pkg-config", "--libs", "absl_flat_hash_set"], capture_output=True, text=True,
                            check=True).stdout.split()
    command = [options.compiler, "-std=c++20", "-O3", "-DNDEBUG", "-fopenmp", "-mcx16",
               *(f"-I{REPOSITORY / part}" for part in ("include", "src", "")),
               str(REPOSITORY / "bench" / "baselines" / "sets.cpp"), str(build / "libgradus_internal.a"),
               str(build / "libgradus_floors.a"), "-o", str(program), "-pthread", "-lhwloc", "-ltbb", "-ltbbmalloc", "-lhwy", *abseil, "-lcds"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        raise SystemExit(f"baselines: {' '.join(command)}\n{compiled.stderr}")
    return program


def kind_of(subject):
    """Returns the reclamation scheme of a subject. Only subjects with the same scheme are compared."""
    if "hazard_pointers" in subject or subject.endswith(" HP"):
        return "hazard pointers"
    if "_leak" in subject or subject.startswith("tbb::"):
        return "nothing is freed"
    return "others"


def add_options(parser):
    parser.add_argument("--compiler", default="g++", help="of the program that measures (default g++)")


def versions():
    found = {}
    for package in PACKAGES:
        result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
        found[package] = result.stdout or "unknown"
    return found


def measured(options, program):
    """Returns the rows of each line of the table."""
    lines = {}
    with subprocess.Popen([str(program), str(options.threads), str(options.repeats), str(options.scale), ",".join(options.lines)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for text in process.stdout:
            row = json.loads(text)
            note(f"{row['line']}: {row['subject']}")
            lines.setdefault(row["line"], []).append(row)
        messages = process.stderr.read()
    note("")
    if process.returncode == 5:
        raise Disagreement(messages.strip())
    if process.returncode != 0:
        raise SystemExit(f"baselines: {program} ended with status {process.returncode}:\n{messages}")
    return lines


HEADER = ["line", "subject", "M calls/s", "ms", "best of Gradus is faster by"]


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    program = compile_program(options, folder)
    try:
        lines = measured(options, program)
    except Disagreement as disagreement:
        print(f"DISAGREES: {disagreement}")
        return {"lines": [], "disagreements": [str(disagreement)]}, False
    if not lines:
        raise SystemExit("baselines: no line has such a name")
    table = []
    for name, rows in lines.items():
        best = {}
        for row in rows:
            row["median"] = statistics.median(row["seconds"])
            if row["subject"].startswith("gradus "):
                kind = kind_of(row["subject"])
                best[kind] = min(best.get(kind, row["median"]), row["median"])
        for row in rows:
            ratio = "" if row["subject"].startswith("gradus ") else f"{row['median'] / best[kind_of(row['subject'])]:.2f}"
            row["ratio"] = float(ratio) if ratio else None
            table.append([name, row["subject"], f"{row['operations'] / row['median'] / 1e6:.3g}",
                          f"{1e3 * row['median']:.4g} ±{1e3 * spread(row['seconds']):.2g}", ratio])
    print_table(HEADER, table)
    print(f"Medians of {options.repeats} runs; ± is the median deviation; {options.threads} threads.")
    if options.scale != 1:
        print(f"Scaled by {options.scale:g}: these are not the figures of the table's own sizes.")
    return {"lines": [{"name": name, "rows": rows} for name, rows in lines.items()], "disagreements": []}, True
