"""Helpers for all comparisons with baselines: data, processes, facts, output."""

import datetime
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Disagreement(Exception):
    """Raised if the results of two programs differ by more than rounding explains."""


def uniform(rows, columns, dtype, seed=1):
    """Returns coordinates uniform in [0, 10)."""
    import numpy

    generator = numpy.random.Generator(numpy.random.PCG64(seed))
    points = numpy.empty((rows, columns), dtype)
    for begin in range(0, rows, 1 << 18):
        block = points[begin : begin + (1 << 18)]
        block[:] = 10 * generator.random(block.shape, dtype=dtype)
    return points


class Ended:
    """The wall time of a finished process, the CPU time of all its threads, and its output."""

    def __init__(self, seconds, cpu_seconds, output):
        self.seconds, self.cpu_seconds, self.output = seconds, cpu_seconds, output


def cpu_seconds(whose):
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def run_program(command):
    """Runs the command. If the command fails, prints its messages and ends this program."""
    before = cpu_seconds(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, messages = process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        raise SystemExit(f"baselines: {' '.join(command)}\nended with status {process.returncode}:\n{messages.decode()}")
    return Ended(seconds, cpu_seconds(resource.RUSAGE_CHILDREN) - before, output.decode())


def spread(values):
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def note(text):
    """Writes a line to the terminal. The next call replaces the line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def print_table(header, rows):
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    sys.stdout.flush()


def facts(options, versions):
    processor = platform.processor()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    commit = subprocess.run(["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                            capture_output=True, text=True, check=False).stdout.strip()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]),
        "commit": commit or "unknown",
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)),
        "threads": options.threads,
        "python": platform.python_version(),
        "versions": versions,
    }


def write_whole(path, value):
    """Writes the file atomically."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
