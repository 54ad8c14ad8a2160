"""Compares how fast Gradus, pandas and pyarrow read tables. The libraries read in turn, on the same cores.

usage: compare.py READ_TABLE FOLDER [REPEATS [MEBIBYTES]]

READ_TABLE is the program of read_table.cpp (target `read_table`). FOLDER holds the tables; missing tables are made. Set
the CPUs with taskset: every library uses all CPUs that the process may use. pyarrow is skipped if it is not installed.

Prints the size of each table and one row for each library. A row has the median rate in GB/s and the median ratio of
the library's time to Gradus' time, each with minimum and maximum. Both are computed from wall times and from CPU times.
CPU times depend less on other programs.
"""

import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd

try:
    import pyarrow
    import pyarrow.csv
except ImportError:
    pyarrow = None

warnings.simplefilter("ignore")  # ignores a warning of pandas about future changes of its number parsers
READ_TABLE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
REPEATS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
MEBIBYTES = int(sys.argv[4]) if len(sys.argv) > 4 else 128
CORES = len(os.sched_getaffinity(0))


def make(name, line, header):
    """Makes a table of about MEBIBYTES in which 20000 different lines repeat."""
    path = FOLDER / name
    if not path.exists():
        lines = "".join(line(row) for row in range(20000)).encode()
        with open(path, "wb") as file:
            file.write(header.encode())
            for _ in range(max(1, (MEBIBYTES << 20) // len(lines))):
                file.write(lines)
    return path


def tables():
    random = np.random.default_rng(1)
    full = random.normal(0, 100, (20000, 10))
    names = ",".join("x%d" % column for column in range(10)) + "\n"
    yield make("all-digits.csv", lambda row: ",".join(map(repr, map(float, full[row]))) + "\n", names), ""
    yield make("three-decimals.csv", lambda row: ",".join("%.3f" % value for value in full[row]) + "\n", names), ""
    whole = random.integers(0, 10000, (20000, 10))
    yield make("whole-numbers.csv", lambda row: ",".join(map(str, whole[row])) + "\n", names), ""
    yield make("text-column.csv", lambda row: ",".join("%.6g" % value for value in full[row]) + ',"item %d"\n' % row,
               names[:-1] + ",name\n"), "name"


class Gradus:
    def __init__(self):
        self.process = subprocess.Popen([READ_TABLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, path, dropped):
        self.process.stdin.write("%s %d %s\n" % (path, CORES, dropped))
        self.process.stdin.flush()
        seconds, busy, rows, columns, total = self.process.stdout.readline().split()
        return (float(seconds), float(busy)), (int(rows), int(columns)), float(total)


def timed(function):
    start, used = time.perf_counter(), time.process_time()
    values = function()
    seconds = time.perf_counter() - start, time.process_time() - used
    return seconds, values.shape, float(values.sum())


def with_pandas(path, dropped, **how):
    usecols = (lambda name: name != dropped) if dropped else None
    return timed(lambda: pd.read_csv(path, engine="c", dtype=np.float64, usecols=usecols, **how).to_numpy())


def with_pyarrow(path, dropped):
    def read():
        convert = pyarrow.csv.ConvertOptions(include_columns=["x%d" % column for column in range(10)] if dropped else None)
        table = pyarrow.csv.read_csv(path, convert_options=convert)
        return np.column_stack([column.to_numpy() for column in table.columns])
    return timed(read)


def main():
    gradus = Gradus()
    sides = {
        "gradus": gradus.read,
        "pandas": with_pandas,
        "pandas, exact": lambda path, dropped: with_pandas(path, dropped, float_precision="round_trip"),
    }
    if pyarrow:
        pyarrow.set_cpu_count(CORES)
        sides["pyarrow"] = with_pyarrow
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print("machine: %s, %d CPUs used; Python %s, pandas %s, pyarrow %s" %
          (model, CORES, platform.python_version(), pd.__version__, pyarrow.__version__ if pyarrow else "none"))
    print("load average at the start: %.1f; repeats: %d; medians (least, greatest) in GB/s of text" %
          (os.getloadavg()[0], REPEATS))
    for path, dropped in tables():
        size = path.stat().st_size
        rates = {side: [] for side in sides}
        ratios = {side: [] for side in sides}
        for repeat in range(REPEATS + 1):  # the first turn is a warm-up
            answers = {side: read(path, dropped) for side, read in sides.items()}
            shapes = {answer[1] for answer in answers.values()}
            totals = [answer[2] for answer in answers.values()]
            assert len(shapes) == 1, answers
            assert max(totals) - min(totals) <= 1e-6 * max(1, abs(totals[0])), answers
            if repeat == 0:
                continue
            for side, answer in answers.items():
                rates[side].append([size / seconds / 1e9 for seconds in answer[0]])
                ratios[side].append([own / ours for own, ours in zip(answer[0], answers["gradus"][0])])
        print("%s: %.1f MB, %d x %d%s" % (path.name, size / 1e6, *shapes.pop(), ", without '%s'" % dropped if dropped else ""))
        for side in sides:
            text = "  %-14s" % side
            for kind, name in enumerate(("clock", "processor")):
                values = [rate[kind] for rate in rates[side]]
                times = [ratio[kind] for ratio in ratios[side]]
                text += " %s %.3f (%.3f, %.3f), %.2f times as long (%.2f to %.2f);" % (
                    name, statistics.median(values), min(values), max(values), statistics.median(times), min(times), max(times))
            print(text.rstrip(";"))
        sys.stdout.flush()


main()
