"""Locks: Gradus compared with the C and C++ standard libraries, ConcurrencyKit, oneTBB, abseil and nsync.

One program (locks.cpp) contains all locks, built with g++ -O3. Each line sets a number of threads, the work
inside the critical section, and the work between two critical sections of a thread, in steps of about a
nanosecond. The locks take turns in random order. A lost update ends the run. --scale does not affect the sizes,
but shortens the samples.
"""

import json
import pathlib
import statistics
import subprocess

from common import REPOSITORY, note, print_table, run_program

# The linker flags of the baseline libraries.
LIBRARIES = ["-ltbb", "-lnsync_cpp"]
HEADER = ["work", "threads", "best of ours", "ns", "best baseline", "ns", "baseline / ours", "queue locks over ConcurrencyKit's"]
# Each pair holds one of our locks and ConcurrencyKit's lock of the same kind.
PAIRS = [("array_lock", "ck anderson"), ("clh_lock", "ck clh"), ("mcs_lock", "ck mcs"), ("ticket_lock", "ck ticket")]
WITHOUT_ORDER = ["tas_lock", "ttas_lock", "park_lock"]


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=0.1, help="of a sample (default 0.1)")


def versions():
    packages = ["libck-dev", "libtbb-dev", "libabsl-dev", "libnsync-dev", "libc6", "libstdc++6"]
    found = {}
    for package in packages:
        asked = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package], capture_output=True, text=True)
        found[package] = asked.stdout or None
    return found


def lines(options):
    counts = []
    count = 1
    while count < options.threads:
        counts.append(count)
        count *= 2
    counts.append(options.threads)
    works = {"nothing": (0, 0), "short": (10, 100), "long": (200, 200)}
    for name, (critical, outside) in works.items():
        for threads in counts:
            yield name, threads, critical, outside
        for times in (4, 16):
            if times * options.threads <= 256:
                yield name + ", more threads than cores", times * options.threads, critical, outside


def build(folder):
    program = folder / "locks"
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "absl_synchronization"], capture_output=True, text=True, check=True)
    # -fpermissive is needed, because ConcurrencyKit's C headers convert a void* implicitly in four places.
    run_program(["g++", "-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror", "-fpermissive", "-I", str(REPOSITORY / "include"),
                 str(pathlib.Path(__file__).with_suffix(".cpp")), "-o", str(program), *found.stdout.split(), *LIBRARIES])
    return program


def median_of(line, name, key="ns"):
    lock = next(lock for lock in line["locks"] if lock["lock"] == name)
    return statistics.median(sample[key] for sample in lock["samples"])


def best(line, is_ours):
    names = [lock["lock"] for lock in line["locks"] if (lock["library"] == "gradus") == is_ours]
    return min(names, key=lambda name: median_of(line, name))


def table_row(line):
    ours, baseline = best(line, True), best(line, False)
    own, other = median_of(line, ours), median_of(line, baseline)
    pairs = ", ".join(f"{median_of(line, theirs) / median_of(line, mine):.2f}" for mine, theirs in PAIRS[:3])
    return [f"{line['name']} {line['critical']}/{line['outside']}", str(line["threads"]), ours, f"{own:.4g}", baseline, f"{other:.4g}",
            f"{other / own:.2f}", pairs]


def in_sentences(results):
    """Yields lines of text, which state the ratios that have targets."""
    alone = [line for line in results if line["threads"] == 1 and line["name"] == "nothing"]
    for line in alone:
        mutex = median_of(line, "std::mutex")
        ratios = ", ".join(f"{lock['lock']} {median_of(line, lock['lock']) / mutex:.2f}" for lock in line["locks"]
                           if lock["library"] == "gradus")
        yield f"uncontended, a second thread alive, times of std::mutex ({mutex:.3g} ns): {ratios}"
    for line in results:
        if "more threads" not in line["name"]:
            continue
        mutex = median_of(line, "std::mutex")
        ratios = ", ".join(f"{lock['lock']} {median_of(line, lock['lock']) / mutex:.2f}" for lock in line["locks"]
                           if lock["library"] == "gradus")
        yield f"{line['name']} ({line['threads']} threads, {line['critical']}/{line['outside']}), times of std::mutex: {ratios}"


def run(options, folder):
    """Returns a pair: the results, and True if everything agrees."""
    program = build(folder)
    results = []
    for name, threads, critical, outside in lines(options):
        if options.lines and not any(word in name for word in options.lines):
            continue
        note(f"{name}, {threads} threads")
        ended = run_program([str(program), str(options.seconds * options.scale), str(options.repeats),
                             f"{name}:{threads}:{critical}:{outside}"])
        results += json.loads(ended.output)
    if not results:
        raise SystemExit("baselines: no line has such a name")
    note("")
    print_table(HEADER, [table_row(line) for line in results])
    print(f"Medians of {options.repeats} samples of {options.seconds * options.scale:g} s, in nanoseconds from one critical section to the next; "
          "the last column: ConcurrencyKit's time over ours of array, CLH and MCS.")
    for sentence in in_sentences(results):
        print(sentence)
    return {"seconds": options.seconds * options.scale, "lines": results}, True
