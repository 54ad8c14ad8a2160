"""Compares `gradus kmeans` with pandas on every table of text that some Python packages ship.

The test acts like a user who follows the program's advice and knows from pandas which columns are numeric. For each file
there are three possible results: agree (rows, columns and inertia of one cluster equal the values from pandas), refused
(with a message), wrong. tests/cli/run.py runs this test, which prints a table of results if GRADUS_PRINT_TABLE is set.
"""

import importlib.util
import json
import os
import pathlib
import unittest
import warnings

from advice import Input, follow
from kit import Case

try:
    import numpy as np
    import pandas
except ImportError:
    pandas = None

PACKAGES = ("sklearn", "statsmodels", "vega_datasets", "plotly")
ENDINGS = (".csv", ".csv.gz", ".tsv")


def files():
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        folder = pathlib.Path(spec.origin).parent if spec else None
        for path in sorted(folder.rglob("*")) if folder else ():
            if path.name.endswith(ENDINGS) and path.stat().st_size < 1 << 24:
                yield path


def is_number(name):
    """Returns True if a column name is a number. pandas may have added a suffix like ".1" to make it unique."""
    parts = str(name).split(".")
    return any(map(is_float, (str(name), ".".join(parts[:-1]))))


def is_float(text):
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def read(path):
    """Returns the data frame of a file. Uses the first separator that yields several columns, if there is one."""
    for separator in ("\t", ";", ",", r"\s+"):
        header = pandas.read_csv(path, sep=separator, skipinitialspace=True, nrows=0).columns
        if len(header) > 1:
            break
    if not all(map(is_number, header)):
        frame = pandas.read_csv(path, sep=separator, skipinitialspace=True)
        # R writes no heading for the column of row names.
        is_named = frame.index.nlevels == 1 and not frame.index.equals(pandas.RangeIndex(len(frame)))
        return frame.reset_index(names="Unnamed: 0") if is_named else frame
    # By default, pandas would use the first line as a header.
    frame = pandas.read_csv(path, sep=separator, skipinitialspace=True, header=None)
    frame.columns = [str(number) for number in range(1, frame.shape[1] + 1)]
    return frame


class PandasInput(Input):
    """A table as pandas reads it. The data frame shows which columns are numeric and which columns lack numbers."""

    def __init__(self, path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.frame = read(path)
        self.numbers = [name for name in self.frame if pandas.api.types.is_numeric_dtype(self.frame[name])
                        and self.frame[name].dtype != bool]
        self.kind, self.reason = "", ""

    def named(self, items):
        """Returns the columns that a list of --drop-columns names. Returns None if the data frame lacks one of them."""
        found = []
        for item in items.split(","):
            item = item.strip('"') or "Unnamed: 0"
            if item in self.frame:
                found.append(item)
            elif item.isdigit() and 1 <= int(item) <= self.frame.shape[1]:
                found.append(self.frame.columns[int(item) - 1])
            else:
                return None
        return found

    def fits(self, advice, options):
        if advice.option == "--missing":
            return "--missing" not in options
        if advice.option == "--id-column":  # correct if the column numbers the rows
            return self.named(advice.value) == ["Unnamed: 0"]
        if advice.option == "--header":
            return advice.value == "yes"
        if advice.option != "--drop-columns":
            return False
        columns = self.named(advice.value) or list(self.numbers)
        # The advice is correct if each of these columns contains text, numbers the rows, or lacks a value in at least
        # half of the rows.
        return all(name not in self.numbers or str(name).startswith("Unnamed") or self.frame[name].isna().mean() >= 0.5
                   for name in columns)

    def check(self, case, end):
        if end.status != 0:
            self.kind, self.reason = ("refused" if end.status == 3 else "wrong"), end.stderr.strip()
            return
        answer = json.loads(end.stdout)
        told = answer.get("columns", [])
        names = [name if name in self.frame else "Unnamed: 0" for name in told]
        names = [f"{name}.{told[:place].count(name)}" if name in told[:place] else name for place, name in enumerate(names)]
        if not names:
            dropped = self.named(end.options["--drop-columns"]) if "--drop-columns" in end.options else []
            names = [name for name in self.frame if name not in dropped]
        if not set(names) <= set(self.numbers):
            self.kind, self.reason = "wrong", f"columns {names}, those with numbers are {self.numbers}"
            return
        values = self.frame[names].dropna().to_numpy(float)
        inertia = float(((values - values.mean(0)) ** 2).sum())
        agrees = answer["n"] == len(values) and np.isclose(answer["inertia"], inertia, rtol=1e-6, atol=1e-9 * (values**2).sum())
        self.kind = "agree" if agrees else "wrong"
        if not agrees:
            self.reason = f"{answer['n']} rows and {answer['inertia']}, not {len(values)} and {inertia}; {end.steps[-1]}"


@unittest.skipIf(pandas is None or not any(map(importlib.util.find_spec, PACKAGES)),
                 "pandas and packages with tables are not installed (pip install pandas scikit-learn statsmodels vega_datasets)")
class TablesOfPackages(Case):
    def judged(self, path):
        try:
            known = PandasInput(path)
        except (ValueError, UnicodeDecodeError) as error:
            return path.name, "unread", str(error)[:60]
        try:
            follow(self, known, "kmeans", path, "-k", 1, "--json", rounds=8)
        except AssertionError as error:
            return path.name, "wrong", str(error)
        return path.name, known.kind, known.reason

    def test_every_file(self):
        table = [self.judged(path) for path in files()]
        kinds = [row[1] for row in table]
        totals = {kind: kinds.count(kind) for kind in ("agree", "refused", "wrong", "unread")}
        if os.environ.get("GRADUS_PRINT_TABLE"):
            for row in table:
                print(*row, sep="\t")
            print(totals)
        self.assertEqual([row for row in table if row[1] == "wrong"], [])
        self.assertGreater(totals["agree"], len(table) // 2, totals)
