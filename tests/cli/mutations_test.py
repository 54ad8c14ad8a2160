"""Runs the program on damaged files of every format. tests/cli/run.py runs this.

The inputs are the fuzzers' seeds, truncated, with extreme numbers in the header, or with changed bytes. The program must read
or refuse each of them, and a refusal must leave no file."""

import concurrent.futures
import json
import os
import pathlib
import random

import kit
from kit import Case, gradus

FILES = 50  # for each format
WORKERS = 2
COMMANDS = {
    "points": ("kmeans", "-k", 1, "--device", "cpu", "--threads", 1),
    "graph": ("shortest-paths", "--device", "cpu", "--threads", 1),
    "trajectory": ("pair-histogram", "--bins", 4, "--bin-width", 0.001, "--device", "cpu", "--threads", 1),
    "pattern": ("life", "--generations", 1, "--device", "cpu", "--threads", 1),
}
OUTPUTS = {"points": "out", "graph": "out", "trajectory": "out.csv", "pattern": "out.rle"}
EXTREMES = (b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"9")


def damaged(seed, draw):
    """Returns a copy of the bytes `seed` with one kind of damage."""
    copy = bytearray(seed)
    kind = draw.choice(("truncated", "header", "changed"))
    if kind == "truncated":
        return copy[: draw.randrange(len(copy))]
    if kind == "header":
        size = draw.choice((1, 2, 4, 8))
        place = draw.randrange(min(len(copy), 256))
        copy[place : place + size] = draw.choice(EXTREMES) * size
        return copy[: len(seed)]
    for _ in range(draw.randrange(1, 5)):
        copy[draw.randrange(len(copy))] = draw.randrange(256)
    return copy


class MutationsCase(Case):
    def seeds(self, endings):
        corpus = pathlib.Path(kit.DATA).parent / "tests" / "fuzz" / "corpus"
        return [path for path in sorted(corpus.glob("*/*")) if path.suffix in endings.split() and path.stat().st_size]

    def run_on(self, kind, folder, name, content):
        """Runs the program on a file, and returns an error or "", and whether the file was read."""
        os.makedirs(folder)
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        command, *options = COMMANDS[kind]
        result = gradus(command, path, *options, "-o", os.path.join(folder, OUTPUTS[kind]), "--memory-limit", "256M", "--quiet", text=False)
        stderr = result.stderr.decode(errors="backslashreplace")
        left = sorted(os.listdir(folder))
        expected = sorted([name, OUTPUTS[kind]]) if result.returncode == 0 else [name]
        if result.returncode not in (0, 1, 3, 4):
            return f"{path}: status {result.returncode}: {stderr}", False
        if left != expected:
            return f"{path}: status {result.returncode}, and these files: {left}", False
        if result.returncode and (not stderr.startswith("gradus: ") or stderr.count("\n") != 1):
            return f"{path}: no message: {stderr}", False
        return "", result.returncode == 0

    def check(self, kind):
        rows = json.loads(self.succeed("info", "--json").stdout)["formats"][kind]
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for number, row in enumerate(rows):
                if row["name"] == "HDF5" and not kit.HDF5:
                    continue
                seeds = self.seeds(row["endings"])
                self.assertTrue(seeds, row["name"])
                draw = random.Random(row["name"])
                files = [(seed.name, seed.read_bytes()) for seed in seeds]
                files += [(seed.name, damaged(seed.read_bytes(), draw)) for seed in draw.choices(seeds, k=FILES)]
                ends = list(pool.map(lambda one: self.run_on(kind, self.path(f"{number}-{one[0]}"), *one[1]), enumerate(files)))
                self.assertEqual([error for error, _ in ends if error], [])
                read = [was_read for _, was_read in ends]
                self.assertTrue(any(read[: len(seeds)]), f"{row['name']}: no seed can be read")
                self.assertFalse(all(read[len(seeds) :]), f"{row['name']}: no damage was found")


class MutatedPoints(MutationsCase):
    def test(self):
        self.check("points")


class MutatedGraphs(MutationsCase):
    def test(self):
        self.check("graph")


class MutatedTrajectories(MutationsCase):
    def test(self):
        self.check("trajectory")


class MutatedPatterns(MutationsCase):
    def test(self):
        self.check("pattern")
