"""Tests `gradus kmeans` on several ranks under mpirun. The files must be equal to the files of a single process, and
every error must appear once."""

import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import kit
from advice import advice_in
from kit import GRADUS, content, gradus, write_npy
from mpirun import ENVIRONMENT, RanksCase

# Fields that may differ between a run on one process and a run on several processes.
OF_THE_RUN = ("variant", "command", "device", "threads", "rechecked", "memory_bytes", "seconds", "resumed")


def lattice(n, d, seed=1, levels=7):
    """Returns points with many ties and repetitions."""
    numbers = random.Random(seed)
    return [numbers.randrange(levels) - levels // 2 + (0.25 if column % 3 == 0 else 0) for _ in range(n) for column in range(d)]


class KMeansCase(RanksCase):
    COMMAND = "kmeans"

    def files_of(self, folder):
        files = {name: content(os.path.join(folder, name)) for name in os.listdir(folder)}
        summary = json.loads(files.pop("summary.json"))
        for key in OF_THE_RUN:
            del summary[key]
        for iteration in summary["history"]:
            del iteration["seconds"]
        summary.pop("input")
        # The summary is compared as text, so that all digits of its numbers count.
        return dict(files, summary=json.dumps(summary))

    def one(self, *arguments):
        out = self.path("one")
        shutil.rmtree(out, ignore_errors=True)
        self.succeed("kmeans", *arguments, "-o", out, "--quiet")
        return self.files_of(out)

    def several(self, ranks, *arguments, **more):
        out = self.path("several")
        shutil.rmtree(out, ignore_errors=True)
        result = self.mpirun(ranks, "kmeans", *arguments, "-o", out, "--quiet", **more)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return self.files_of(out)

    def same(self, ranks, *arguments, **more):
        self.assertEqual(self.several(ranks, *arguments, **more), self.one(*arguments), (ranks, arguments))

    def parts(self, dtype, d, values, cuts, name="part-%d.npy"):
        """Writes the rows to several files. The first file begins with row 0, and the other files begin with the rows
        `cuts`."""
        n = len(values) // d
        files = []
        for index, (begin, end) in enumerate(zip([0, *cuts], [*cuts, n])):
            files.append(write_npy(self.path(name % index), dtype, (end - begin, d), values[begin * d : end * d]))
        return files


RANKS = (1, 2, 3, 5, 8, 16)
SHAPES = (  # type, rows, columns, clusters
    ("<f4", 1, 1, 1),
    ("<f8", 3, 2, 2),
    ("<f4", 200, 3, 7),
    ("<f8", 1500, 16, 12),
    ("|u1", 997, 5, 40),
    ("<f4", 600, 130, 9),
    ("<f4", 40000, 2, 5),
)
INITS = ("k-means++", "k-means-parallel", "random", "first", "FILE")
OPTIONS = (
    ("--seed", 5),
    ("--weights", "FILE"),
    ("--metric", "cosine"),
    ("--standardize",),
    ("--restarts", 3),
    ("--empty", "keep", "--tolerance", 0),
    ("--changed", 0.2, "--max-iterations", 9),
    ("--dtype", "f64", "--threads", 2),
    ("--max-iterations", 1),
)


class Enumerated(KMeansCase):
    """Tests combinations of four things: numbers of ranks, shapes, initialisations and options. Each step changes all
    four."""

    STEPS = 16

    def job(self, shape, init, option, seed):
        dtype, n, d, k = shape
        values = lattice(n, d, seed)
        if dtype == "|u1":
            values = [int(value) & 255 for value in values]
        if "cosine" in option:
            values = [value + 1 if column % d == 0 and not any(values[column : column + d]) else value
                      for column, value in enumerate(values)]
        words = [write_npy(self.path("points.npy"), dtype, (n, d), values), "-k", k, *self.accepting()]
        if init == "FILE":
            first = [float(value) for value in values[: k * d]]
            wide = dtype == "<f8" or "f64" in option
            init = write_npy(self.path("first.npy"), "<f8" if wide else "<f4", (k, d), first)
        if "--seed" not in option or init in INITS[:3]:
            words += option
        if "--restarts" in words and init not in INITS[:3]:
            words = words[: -len(option)]
        if "--weights" in words:
            weights = [(row * 7 + seed) % 5 / 2 + (row == 0) for row in range(n)]
            words[words.index("--weights") + 1] = write_npy(
                self.path("weights.npy"), "<f8" if dtype == "<f8" else "<f4", (n,), weights)
        return [*words, "--init", init]

    @functools.cache
    def accepting(self):
        """Returns the option that accepts coinciding points, as the error about too few different points recommends it."""
        (advice,) = advice_in(self.refused(3, "kmeans", self.file("equal.csv", "1\n1\n"), "-k", 2).stderr)
        return advice.option, advice.value

    def test_the_files_are_those_of_one_process(self):
        seen = set()
        for step in range(self.STEPS):
            # The lengths of the lists have few common factors, so that every pair of elements occurs.
            ranks, shape = RANKS[step % len(RANKS)], SHAPES[step % len(SHAPES)]
            init, option = INITS[step % len(INITS)], OPTIONS[(step + step // 24) % len(OPTIONS)]
            seen |= {ranks, shape, init, option}
            with self.subTest(ranks=ranks, shape=shape, init=init, option=option):
                self.same(ranks, *self.job(shape, init, option, step))
        self.assertEqual(seen, {*RANKS, *SHAPES, *INITS, *OPTIONS})

    def test_many_centroids_of_which_each_rank_makes_a_share(self):
        """With one thread per rank, the ranks share the update if there are at least 5,600 means
        (means/cluster_shares.hpp)."""
        points = write_npy(self.path("many.npy"), "<f4", (900, 40), lattice(900, 40))
        for ranks, init in ((2, "first"), (5, "random"), (16, "first")):
            with self.subTest(ranks=ranks):
                self.same(ranks, points, "-k", 200, "--init", init, *self.accepting(), "--threads", 1)


class Inputs(KMeansCase):
    def test_several_files_are_as_one(self):
        values = lattice(700, 4)
        whole = write_npy(self.path("whole.npy"), "<f4", (700, 4), values)
        expected = self.one(whole, "-k", 6)
        for cuts in ((), (100, 100), (1, 2, 3, 300, 301, 699)):
            files = self.parts("<f4", 4, values, cuts)
            self.assertEqual(self.one(*files, "-k", 6), expected)
            self.assertEqual(self.several(3, *files, "-k", 6), expected)
        # If the input is a pattern of file names, the files are sorted by the numbers in their names, so 10 comes after
        # 2.
        folder = self.path("many")
        os.mkdir(folder)
        self.parts("<f4", 4, values, range(50, 700, 50), "many/%d.npy")
        self.assertEqual(self.one(os.path.join(folder, "*.npy"), "-k", 6), expected)
        self.assertEqual(self.several(5, os.path.join(folder, "*.npy"), "-k", 6), expected)
        self.refused(3, "kmeans", os.path.join(folder, "*.csv"), "-k", 6, says=["no file has a name like that"])

    def test_several_files_of_bytes_are_as_one(self):
        values = [(at * 7919) % 251 for at in range(700 * 4)]
        whole = write_npy(self.path("whole.npy"), "<f4", (700, 4), values)
        for options in ((), ("--standardize",)):
            expected = self.one(whole, "-k", 6, *options)
            for cuts in ((100, 100), (1, 2, 3, 300, 301, 699)):
                files = self.parts("|u1", 4, values, cuts)
                for found in (self.one(*files, "-k", 6, *options), self.several(3, *files, "-k", 6, *options)):
                    for name in ("centroids.npy", "labels.npy"):  # the summary names the type of the files
                        self.assertEqual(found[name], expected[name], (cuts, options))

    def test_text_after_an_array_on_ranks(self):
        """The first rank needs no copy of its rows, and shares the rows of the text."""
        values = lattice(700, 4)
        files = [write_npy(self.path("first.npy"), "<f8", (400, 4), values[:1600]),
                 self.file("rest.csv", "".join(",".join(map(str, values[at : at + 4])) + "\n" for at in range(1600, 2800, 4)))]
        self.same(3, *files, "-k", 6)

    def test_each_rank_may_have_a_file_of_its_own(self):
        values = lattice(700, 4)
        whole = write_npy(self.path("whole.npy"), "<f4", (700, 4), values)
        weights = [row % 3 for row in range(700)]
        expected = self.one(whole, "-k", 6, "--weights", write_npy(self.path("w.npy"), "<f4", (700,), weights))
        self.parts("<f4", 4, values, (250, 250))  # the middle file is empty
        self.parts("<f4", 1, weights, (250, 250), "w-%d.npy")
        for of_rows in ("w-{rank}.npy", "w.npy"):
            self.assertEqual(self.several(3, self.path("part-{rank}.npy"), "--input-per-rank", "-k", 6,
                                          "--weights", self.path(of_rows)), expected)
        # Files with different column names cannot be parts of one table.
        for rank, names in enumerate(("a,b", "b,a")):
            self.file("named-%d.csv" % rank, names + "\n" + "\n".join("%d,%d" % (row % 5, row % 7) for row in range(20)))
        self.all_refused((2, 3, self.path("named-{rank}.csv"), "--input-per-rank", "-k", 2,
                          {"says": ["named-1.csv'", "other names", "named-0.csv'"]}))
        self.refused(3, "kmeans", self.path("named-0.csv"), self.path("named-1.csv"), "-k", 2, says=["named-1.csv'", "other names"])
        # If no rank would read a file, this is reported.
        of_ranks = [self.path("part-{rank}.npy"), "--input-per-rank", "-k", 6]
        self.refused(2, "kmeans", *of_ranks, says=["part-1.npy' exists too", "one process reads a file"])
        self.all_refused((2, 2, *of_ranks, {"says": ["part-2.npy' exists too", "2 ranks read a file"]}))

    def test_ranks_may_keep_different_types(self):
        bytes_of_rows = [(row * 7919) % 251 for row in range(1200)]
        write_npy(self.path("part-0.npy"), "|u1", (100, 8), raw=bytes(bytes_of_rows[:800]))
        write_npy(self.path("part-1.npy"), "<f4", (50, 8), bytes_of_rows[800:])
        write_npy(self.path("part-2.npy"), "|u1", (0, 8), raw=b"")
        whole = write_npy(self.path("whole.npy"), "<f4", (150, 8), bytes_of_rows)
        few = write_npy(self.path("few.npy"), "|u1", (2, 2), raw=bytes([1, 2, 3, 4]))
        for options in ((), ("--standardize",), ("--init", "k-means-parallel", "--standardize")):
            several = self.several(3, self.path("part-{rank}.npy"), "--input-per-rank", "-k", 6, *options)
            one = self.one(whole, "-k", 6, *options)
            for name in ("centroids.npy", "labels.npy"):  # the summary names the type of the first file
                self.assertEqual(several[name], one[name], options)
            self.same(3, few, "-k", 1, *options)

    def test_what_cannot_be_read_in_slices(self):
        rows = ["%d,%d,%s" % (index % 7, index % 11, index / 8) for index in range(300)]
        text = "a,b,c\n" + "\n".join(rows) + "\n"
        table = self.file("table.csv", text)
        self.same(3, table, "-k", 4)
        self.same(3, table, "-k", 4, "--id-column", "c")
        self.same(3, os.path.join(kit.DATA, "picture.png"), "-k", 3)
        expected = self.one(table, "-k", 4)
        self.assertEqual(self.several(3, "-", "-k", 4, stdin=text), expected)
        two = [self.file("1.csv", "a,b,c\n" + "\n".join(rows[:40]) + "\n"), self.file("2.csv", "\n".join(rows[40:]) + "\n")]
        self.assertEqual(self.several(2, *two, "-k", 4), expected)
        # The file is stored column by column, so that no rank has a complete column.
        values = [index % 13 for index in range(200)]
        by_columns = write_npy(self.path("by_columns.npy"), "<f4", (50, 4), values,
                               header="{'descr': '<f4', 'fortran_order': True, 'shape': (50, 4), }")
        self.same(3, by_columns, "-k", 4)
        self.same(3, by_columns, by_columns, "-k", 4)
        self.same(3, write_npy(self.path("all.npy"), "<i4", (50, 4), values), "-k", 3, "--columns", "1,3-4")
        for ending in kit.VECTORS:
            points = kit.write_vectors(self.path("points" + ending), (50, 4), values)
            self.same(3, points, "-k", 4)
            self.same(5, points, points, "-k", 3, "--columns", "2-4")

    def test_rows_that_lack_numbers_and_weights_in_a_column(self):
        rows = "".join(f"p{row},{'NA' if row % 13 == 4 else row % 7},{row % 5},{1 + row % 3}\n" for row in range(90))
        table = self.file("t.csv", "id,x,y,w\n" + rows)
        weights = self.file("w.csv", "".join(f"{1 + row % 3}\n" for row in range(90)))
        for options in (["--id-column", "id", "--weight-column", "w"], ["--drop-columns", "id,w", "--weights", weights]):
            self.same(3, table, "-k", 4, "--missing", "drop-rows", *options)
        self.same(2, table, table, "-k", 4, "--missing", "drop-rows", "--id-column", "id", "--weight-column", "w")

    def test_what_is_printed_is_printed_once(self):
        points = self.points()
        result = self.mpirun(3, "kmeans", points, "-k", 4, "-o", self.path("out"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("200 points x 3"), 1)
        self.assertIn("on each of 3 ranks", result.stdout)
        several = self.mpirun(1, "kmeans", points, "-k", 3, "--threads", 1, ":", "-n", 2, GRADUS, "kmeans", points, "-k", 3, "--threads", 2)
        self.assertIn(", 1 to 2 threads on each of 3 ranks", several.stdout)
        full = self.file("full", '#!/bin/sh\nexec "%s" "$@" > /dev/full\n' % GRADUS)
        os.chmod(full, 0o755)
        result = self.mpirun(2, "kmeans", points, "-k", 3, program=full)
        self.assertEqual((result.returncode, self.said(result)), (1, ["gradus: cannot write to standard output: No space left on device"]))
        self.assertEqual(len(self.said(result)), 1, result.stderr)
        summary = json.loads(self.mpirun(3, "kmeans", points, "-k", 4, "--json").stdout)
        self.assertEqual(summary["n"], 200)
        self.assertEqual(self.mpirun(3, "kmeans", "--help").stdout, self.succeed("kmeans", "--help").stdout)


class Faults(KMeansCase):
    def test_a_wrong_value_is_named_by_its_row_among_all_and_its_file(self):
        values = lattice(400, 3)
        whole = write_npy(self.path("whole.npy"), "<f4", (400, 3), values)
        weights = [-1.0 if row == 390 else 1.0 for row in range(400)]
        zero = write_npy(self.path("zero.npy"), "<f4", (400, 3),
                         [0 if at // 3 == 201 else value or 1 for at, value in enumerate(values)])
        values[3 * 391 + 1] = float("nan")
        bad = write_npy(self.path("bad.npy"), "<f4", (400, 3), values)
        parts = self.parts("<f4", 3, values, (50, 380))
        big = write_npy(self.path("big.npy"), "<f8", (400, 3), [1e300 if at == 1150 else at for at in range(1200)])
        far = write_npy(self.path("far.npy"), "<i8", (400, 3), [2**53 + 1 if at == 1150 else at for at in range(1200)])
        uneven = kit.write_vectors(self.path("uneven.fvecs"), (400, 3), values)
        rows = content(uneven)
        self.file("uneven.fvecs", rows[:5600] + b"\2" + rows[5601:])
        negative = write_npy(self.path("negative.npy"), "<f4", (400,), weights)
        short = write_npy(self.path("short.npy"), "<f4", (399,), weights[:399])
        there = "part-2.npy' (row 11 there): the value in row 391, column 1"
        self.all_refused(
            (4, 3, bad, "-k", 3, {"says": ["rank 3 of 4 (", "bad.npy': the value in row 391, column 1", "NaN"]}),
            (4, 3, *parts, "-k", 3, {"says": ["rank 3 of 4 (", there]}),
            (3, 3, self.path("part-{rank}.npy"), "--input-per-rank", "-k", 3, {"says": ["rank 2 of 3 (", there]}),
            (4, 3, whole, "-k", 3, "--weights", negative, {"says": ["rank 3 of 4 (", "negative.npy'", "row 390"]}),
            (4, 3, whole, "-k", 3, "--weights", short, {"says": ["short.npy': there are 399 weights for 400 points"]}),
            (4, 3, zero, "-k", 3, "--metric", "cosine", {"says": ["rank 2 of 4", "zero.npy': row 201", "all zeros"]}),
            (4, 3, big, "-k", 3, "--dtype", "f32", {"says": ["rank 3 of 4", "big.npy': row 383, column 1", "beyond"]}),
            (3, 3, uneven, "-k", 3, {"says": ["rank 2 of 3", "row 350 at byte 5600", "has 2 columns, but row 0 has 3"]}),
            (4, 3, far, "-k", 3, {"says": ["rank 3 of 4", "far.npy': row 383, column 1", "no exact double"]}))
        self.refused(3, "kmeans", *parts, "-k", 3, says=[there])

    def test_files_that_do_not_fit_together(self):
        values = lattice(90, 3)
        parts = self.parts("<f4", 3, values, (30, 60))
        other = write_npy(self.path("other.npy"), "<f4", (10, 4), lattice(10, 4))
        wide = write_npy(self.path("wide.npy"), "<f8", (10, 3), lattice(10, 3))
        cut = self.parts("<f4", 3, values, (30, 60), "cut-%d.npy")
        self.file("cut-1.npy", content(cut[1])[:-4])
        self.parts("<f4", 3, values, (30, 60), "narrow-%d.npy")
        write_npy(self.path("narrow-2.npy"), "<f4", (30, 2), lattice(30, 2))
        of_ranks = ["--input-per-rank", "-k", 3]
        self.all_refused(
            (3, 3, *parts, other, "-k", 3, {"says": ["other.npy': rows of 4 columns, but the rows of", "have 3"]}),
            (3, 3, *parts, wide, "-k", 3, {"says": ["wide.npy': values of type f64", "--dtype"]}),
            (3, 3, *cut, "-k", 3, {"says": ["cut-1.npy'", "takes 360 bytes after the header, but 356 are there"]}),
            (3, 3, self.path("cut-{rank}.npy"), *of_ranks, {"says": ["rank 1 of 3 (", "cut-1.npy'", "356 are there"]}),
            (3, 3, self.path("narrow-{rank}.npy"), *of_ranks, {"says": ["narrow-2.npy'", "2 columns"]}),
            (4, 3, self.path("part-{rank}.npy"), *of_ranks, {"says": ["rank 3 of 4 (", "part-3.npy'", "No such file"]}),
            (2, 2, parts[0], *of_ranks, {"says": ["{rank}"]}),
            (3, 3, self.path("none.npy"), "-k", 3, {"says": ["none.npy'", "No such file"]}))
        self.same(3, *parts, wide, "-k", 3, "--dtype", "f64")

    def test_options_that_differ_between_ranks(self):
        points = self.points()
        other = self.points("other.npy", n=100)
        self.all_refused(*[
            (1, 2, points, *own, {"others": [points, *theirs], "says": says}) for own, theirs, says in [
                (["-k", 3], ["-k", 4], ["rank 1 of 3", "--clusters 4", "--clusters 3", "same arguments"]),
                (["-k", 3], ["-k", 3, "--seed", 1], ["--seed 1", "nothing of that"]),
                (["-k", 3, "--seed", 1], ["-k", 3], ["--seed 1", "nothing of that"]),
                (["-k", 3, "--init", points], ["-k", 3, "--init", other], ["--init", "other.npy"]),
                (["-k", 3], ["-k", "three"], ["rank 1 of 3", "'three' is neither a number of clusters"])]])
        for line in self.all_refused(*[(3, 2, points, *words, {}) for words in (["-k", 0], ["-k", 3, "--frobnicate"])]):
            self.assertNotIn("rank", line)  # if an error is the same on all ranks, its message names no rank

    def test_commands_that_differ_between_ranks(self):
        points = self.points()
        limit = ["--stall-timeout", 5]
        fit = ["kmeans", points, "-k", 3, "-o", self.path("out"), *limit]
        count = ["pair-histogram", points, "--bin-width", 1, "--bins", 3, "-o", self.path("out.csv"), *limit]
        commands = (("kmeans", fit, "pair-histogram", count), ("pair-histogram", count, "kmeans", fit))
        results = self.together(*[lambda first=first, other=other: self.mpirun(1, *first, ":", "-n", 2, GRADUS, *other)
                                  for _, first, _, other in commands])
        for (name, _, other_name, _), result in zip(commands, results):
            self.assertEqual((result.returncode, result.stdout, len(self.said(result))), (2, "", 1), result.stderr)
            self.assertIn("rank 1 of 3 (", self.said(result)[0])
            self.assertIn(f"'{other_name}' here, but '{name}' on rank 0; start all processes with the same arguments", self.said(result)[0])
        self.assertEqual(os.listdir(self.folder), ["points.npy"])
        told = self.mpirun(1, *fit, ":", "-n", 1, GRADUS, "kmeans", "--help")
        self.assertEqual(told.returncode, 1, told.stderr)  # the process that prints the help takes part in no job
        self.assertIn("cluster points into k groups", told.stdout)
        self.assertIn("MPI has not started within 5 s", told.stderr)

    def test_what_needs_one_process(self):
        points = self.points()
        self.all_refused(*[
            (2, 4, points, *arguments, {"says": [says]}) for arguments, says in [
                (["-k", "2..4"], "several -k"),
                (["-k", 3, "--report", self.path("page.html")], "--report"),
                (["-k", 3, "--variant", "openmp_shared"], "does not run on several ranks"),
                (["-k", 3, "--device", "gpu:1000"], "GPU"),
                (["-k", 3, "--gpus", "2"], "one process for each GPU")]])
        self.assertEqual(sorted(os.listdir(self.folder)), ["points.npy"])
        out = ["-o", self.path("out.npy")]
        commands = (["predict", points, points, *out], ["list"], ["info", "--json"], ["generate", "uniform", "-n", 9, "-d", 2, *out],
                    ["report", "result.json"], ["bench", "kmeans", "--repetitions", 1])
        for words, result in zip(commands, self.together(*[lambda words=words: self.mpirun(3, *words) for words in commands])):
            self.assertEqual((result.returncode, len(self.said(result))), (4, 1), (words, result.stderr))
            self.assertIn(f"'gradus {words[0]}' runs as one process only", self.said(result)[0])
            self.assertLessEqual(result.stdout.count('"error"'), 1)
        result = self.mpirun(3, "knmeans", points)
        self.assertEqual((result.returncode, result.stdout, len(self.said(result))), (2, "", 1), result.stderr)
        result = self.mpirun(1, "kmeans", points, "-k", 3, *out, ":", "-n", 2, GRADUS, "list")
        self.assertIn("'gradus list' runs as one process only", result.stderr)
        self.assertEqual((result.returncode, result.stdout), (4, ""), result.stderr)
        self.assertEqual(os.listdir(self.folder), ["points.npy"])

    def test_what_is_only_told_is_told_once(self):
        ways = ([], ["--version"], ["help"], ["help", "kmeans"], ["kmeans", "--help"], ["matmul", "--help"])
        for words, result in zip(ways, self.together(*[lambda words=words: self.mpirun(3, *words) for words in ways])):
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, gradus(*words).stdout, ""), words)

    def test_ranks_that_run_otherwise(self):
        points = self.points()
        alone = self.one(points, "-k", 3)
        ways = [(["--device", "cpu"], ["--variant", "simd_large_dim"]), (["--threads", 2], ["--memory-limit", "1G"])]
        if any(gpu["usable"] for gpu in json.loads(self.succeed("info", "--json").stdout)["gpus"]):
            ways += [(["--device", "cpu"], ["--device", "gpu"]), (["--device", "gpu"], [])]
        else:
            self.refused_on_ranks(3, 4, points, "-k", 3, "--device", "gpu", says=["no GPU can be used"])
        for first, others in ways:
            out = self.path("otherwise")
            shutil.rmtree(out, ignore_errors=True)
            job = ["kmeans", points, "-k", 3, "-o", out, "--quiet"]
            result = self.mpirun(1, *job, *first, ":", "-n", 2, GRADUS, *job, *others)
            self.assertEqual((result.returncode, result.stderr), (0, ""), (first, others))
            self.assertEqual(self.files_of(out), alone, (first, others))

    def test_no_library_for_mpi(self):
        folder = tempfile.mkdtemp(prefix="gradus_alone_", dir=os.path.dirname(GRADUS))  # a hard link must be on the same file system
        self.addCleanup(shutil.rmtree, folder)
        program = os.path.join(folder, "gradus")
        os.link(GRADUS, program)
        points = self.points()
        says = ["one of 3 processes", "cannot be opened", "libgradus_mpi_process.so", "GRADUS_MPI"]
        self.refused_on_ranks(3, 4, points, "-k", 3, program=program, says=says)

    def test_the_mpirun_of_another_mpi(self):
        points = self.points()
        for size, rank in (("PMI_SIZE", "PMI_RANK"), ("SLURM_STEP_NUM_TASKS", "PMIX_RANK")):
            first = gradus("kmeans", points, "-k", 2, "-o", self.path("out"), env={size: "2", rank: "0"})
            self.assertEqual((first.returncode, first.stdout), (4, ""), first.stderr)
            self.assertIn("mpirun belongs to another MPI", first.stderr)
            for place in ("0", "1"):  # on another machine or on the machine of rank 0
                other = gradus("kmeans", points, "-k", 2, "-o", self.path("out"), env={size: "2", rank: "1", "SLURM_LOCALID": place})
                self.assertEqual((other.returncode, other.stdout), (4, ""))
                self.assertEqual("mpirun belongs to another MPI" in other.stderr, place == "0")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_no_memory_and_no_room(self):
        points = self.points(n=30000)
        self.refused_on_ranks(3, 1, points, "-k", 3, "--memory-limit", "1K", says=["rank 0 of 3 (", "needs", "the memory limit allows only"])
        small = self.path("small")
        os.mkdir(small)
        script = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 99; shift; "$@"; echo "status $?"; ls -A "%s"' % small
        job = ["mpirun", "-n", "3", GRADUS, "kmeans", points, "-k", "3", "-o", os.path.join(small, "out")]
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", small, *job], capture_output=True, text=True,
                                env=dict(os.environ, **ENVIRONMENT), timeout=60)
        if result.returncode == 99 or "unshare:" in result.stderr:
            self.skipTest("no file system can be mounted here: " + result.stderr.strip())
        self.assertEqual(result.stdout, "status 1\n", result.stderr)
        self.assertEqual(len(self.said(result)), 1, result.stderr)
        self.assertIn("rank 0 of 3", self.said(result)[0])
        self.assertIn("but only 65536 bytes (64 KiB) are free", self.said(result)[0])

    def test_room_that_ends_while_the_labels_are_written(self):
        """Limits the size of files. The job exceeds the limit only when it writes the result, after all ranks have
        finished their work."""
        points = self.points(n=30000)
        program = self.file("limited", '#!/bin/sh\nulimit -f 64\nexec "%s" "$@"\n' % GRADUS)  # ulimit counts blocks of 512 bytes
        os.chmod(program, 0o755)
        self.refused_on_ranks(3, 1, points, "-k", 3, program=program, says=["labels.npy'", "File too large"])


class Ended(KMeansCase):
    """Ends or stops processes in the middle of a job. The other processes must not wait for long, and there must be no
    result."""

    def setUp(self):
        super().setUp()
        self.succeed("generate", "uniform", "-n", 200000, "-d", 8, "-o", self.path("points.npy"))

    def end(self, number, rank, *, seconds, within, options=(), more=()):
        """Sends a signal to a rank, or to mpirun if `rank` is None. If there is no signal, truncates the file of
        points. Returns the output."""
        points, out = self.path("points.npy"), self.path("out-%d" % next(self.numbers))
        job = self.start(3, "kmeans", points, "-k", 300, "--tolerance", 0, "--max-iterations", 1000000, "-o", out, *more,
                         options=options)
        self.addCleanup(job.kill)
        deadline = time.time() + 30
        while len(self.ranks_of(out)) < 3 or not os.path.exists(out):  # when these files exist, MPI has started and the input is open
            self.assertLess(time.time(), deadline)
            self.assertIsNone(job.poll())
            time.sleep(0.02)
        time.sleep(seconds)
        processes = self.ranks_of(out)
        if number is None:
            os.truncate(points, 4096)
        else:
            os.kill(job.pid if rank is None else processes[rank], number)
        started = time.time()
        _, stderr = job.communicate(timeout=60)
        while self.ranks_of(out):
            self.assertLess(time.time() - started, within, stderr)
            time.sleep(0.05)
        self.assertLess(time.time() - started, within, stderr)
        self.assertEqual(os.listdir(out) if os.path.exists(out) else [], [])
        shutil.rmtree(out, ignore_errors=True)
        return job.returncode, [line for line in stderr.splitlines() if line.startswith("gradus: ")]

    def signals_at(self, moment):
        """Returns options with which mpirun loads the library that src/ranks/tests/signals.cpp describes."""
        library = os.path.join(os.path.dirname(GRADUS), "libmpi_signals.so")
        return ["-x", "LD_PRELOAD=" + library, "-x", "GRADUS_TEST_SIGNALS=" + moment]

    def test_killed(self):
        for status, _ in self.together(*[lambda rank=rank, seconds=seconds: self.end(signal.SIGKILL, rank, seconds=seconds, within=10)
                                         for rank, seconds in ((0, 0), (2, 0.5))]):
            self.assertNotEqual(status, 0)

    def test_a_killed_job_goes_on_with_other_ranks(self):
        points, checkpoint, out = self.path("points.npy"), self.path("c.npz"), self.path("out")
        fit = [points, "-k", 60, "--tolerance", 0, "--max-iterations", 150, "--checkpoint", checkpoint, "--checkpoint-every", 3]
        job = self.start(3, "kmeans", *fit, "-o", out)
        self.addCleanup(job.kill)
        deadline = time.time() + 30
        while not os.path.exists(checkpoint):
            self.assertLess(time.time(), deadline)
            time.sleep(0.01)
        os.kill(self.ranks_of(out)[1], signal.SIGKILL)
        job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(os.listdir(out), [])
        expected = self.one(*fit[:-4])
        before = content(checkpoint)
        shutil.rmtree(out)
        self.assertIn("another job: seed=0", self.refused_on_ranks(2, 3, *fit, "--resume", "--seed", 1))
        self.assertEqual(content(checkpoint), before)
        self.assertEqual(self.several(5, *fit, "--resume"), expected)

    def test_asked_to_stop(self):
        asked = ((1, signal.SIGTERM), (None, signal.SIGTERM), (None, signal.SIGINT))
        for (rank, _), (status, said) in zip(asked, self.together(*[
                lambda rank=rank, number=number: self.end(number, rank, seconds=0.3, within=10) for rank, number in asked])):
            self.assertNotEqual(status, 0)
            self.assertLessEqual(len(said), 1, said)
            if rank is not None:
                self.assertEqual(status, 130)
                self.assertIn("stopped", said[0])

    def test_a_file_that_becomes_shorter(self):
        status, said = self.end(None, None, seconds=0.3, within=10)
        self.assertEqual((status, len(said)), (3, 1), said)
        self.assertIn("points.npy': the file has changed while it was read", said[0])

    def test_a_rank_that_does_not_start(self):
        late = self.file("late", '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && kill -STOP $$\nexec "%s" "$@"\n' % GRADUS)
        os.chmod(late, 0o755)
        started = time.time()
        job = self.start(2, "kmeans", self.path("points.npy"), "-k", 3, "--stall-timeout=2", "-o", self.path("late-out"), program=late)
        self.addCleanup(job.kill)
        _, stderr = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("gradus: MPI has not started within 2 s (--stall-timeout)", stderr)
        self.assertLess(time.time() - started, 20)

    def test_who_waits_too_long_says_for_what(self):
        status, said = self.end(signal.SIGSTOP, 1, seconds=0.3, within=12, more=["--stall-timeout", "2"])
        self.assertNotEqual(status, 0)
        self.assertEqual({line.split()[2] for line in said}, {"0", "2"}, said)
        for line in said:
            self.assertRegex(line, r"has waited for the others for 2\S* s \(--stall-timeout\) in collective call \d+, .* \d+ ")

    def test_asked_to_stop_while_mpi_starts(self):
        result = self.mpirun(3, "kmeans", self.path("points.npy"), "-k", 3, "-o", self.path("early-out"), options=self.signals_at("start"))
        self.assertEqual((result.returncode, result.stdout, len(self.said(result))), (130, "", 1), result.stderr)
        self.assertIn("stopped", self.said(result)[0])
        self.assertFalse(os.path.exists(self.path("early-out")))

    def test_a_process_that_was_stopped_at_its_end_goes_on(self):
        """While a process is stopped, its time does not count as waiting."""
        out = self.path("stopped-out")
        job = self.start(2, "kmeans", self.path("points.npy"), "-k", 3, "--stall-timeout", 3, "--quiet", "-o", out,
                         options=self.signals_at("end"))
        self.addCleanup(job.kill)
        deadline = time.time() + 30
        while list(left := self.ranks_of(out)) != [1] or not os.path.exists(os.path.join(out, "summary.json")):
            self.assertLess(time.time(), deadline)
            self.assertIsNone(job.poll())
            time.sleep(0.02)
        time.sleep(4)
        os.kill(left[1], signal.SIGCONT)
        _, stderr = job.communicate(timeout=60)
        self.assertEqual((job.returncode, stderr), (0, ""))

    def test_a_launcher_that_does_not_clean_up(self):
        _, said = self.end(signal.SIGKILL, 1, seconds=0.3, within=12, options=["--enable-recovery"], more=["--stall-timeout", "2"])
        self.assertEqual({line.split()[2] for line in said}, {"0", "2"}, said)


class Scaling(RanksCase):
    """Runs bench/scaling/scaling.py on inputs that are too small for meaningful measurements of speed."""

    def scaling(self, program, *more):
        script = os.path.join(os.path.dirname(kit.DATA), "bench", "scaling", "scaling.py")
        command = [sys.executable, script, "--program", program, "--sums", os.path.join(os.path.dirname(GRADUS), "measure_sums"), "--scale", 0.02,
                   "--ranks", "1,2,3", "--mpirun-options=--oversubscribe", "--repeats", 2, "--json", self.path("s.json"), "--folder", self.folder, *more]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False,
                              env=dict(os.environ, **ENVIRONMENT))

    def test_the_result_and_its_page(self):
        result = self.scaling(GRADUS, "--files-gib", 0.01, "--page", self.path("s.html"))
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(content(self.path("s.json")))
        curves = answer["scaling"]["curves"]
        self.assertEqual([curve["kind"] for curve in curves], ["strong", "strong", "weak"])
        charts = self.charts_of(self.path("s.html"))
        for curve in curves:
            self.assertIn(curve["title"], result.stdout)
            points = curve["points"]
            self.assertEqual([point["ranks"] for point in points], [1, 2, 3])
            self.assertEqual([point["rows"] / points[0]["rows"] for point in points], [1, 2, 3] if curve["kind"] == "weak" else [1, 1, 1])
            self.assertEqual(points[0]["floor_seconds"], points[0]["seconds"])
            shown = charts["time by ranks: " + curve["title"]]
            for row, point in zip(shown[1:], points, strict=True):
                by_name = dict(zip(shown[0], row))
                self.assertEqual([float(by_name[name]) for name in ("ranks", "measured", "floor", "model")],
                                 [point[key] for key in ("ranks", "seconds", "floor_seconds", "model_seconds")])
        # There is one group per input. Each row of a group has samples of this input. The floor includes the measured
        # time of the sums.
        self.assertEqual([len(group["rows"]) for group in answer["groups"]], [4, 4, 1, 1, 1, 1, 1])
        for group in answer["groups"]:
            self.assertTrue(all(len(row["samples"]) == 2 for row in group["rows"]))
        sums = {(point["ranks"], point["bytes"]): point["seconds"] for point in answer["scaling"]["sums"]["points"]}
        few = curves[0]["points"]
        for point in few[1:]:
            self.assertAlmostEqual(point["sums_seconds"], 31 * sums[point["ranks"], 8 * (16 * 33 + 1)])
            self.assertAlmostEqual(point["floor_seconds"], few[0]["seconds"] / point["ranks"] + point["sums_seconds"])
        self.assertIn("Predicted, not measured", content(self.path("s.html"), "r"))
        self.assertEqual([int(row[0]) for row in charts["predicted efficiency by machines"][1:]], [2**power for power in range(11)])
        compared = self.succeed("compare", self.path("s.json"), self.path("s.json"))
        self.assertIn("3 x 1", compared.stdout)

    def test_a_wrong_result_ends_it(self):
        wrong = self.file("wrong", f'''#!/bin/sh
"{GRADUS}" "$@" || exit
if [ "$OMPI_COMM_WORLD_RANK" = 0 ] && [ "$OMPI_COMM_WORLD_SIZE" = 2 ]; then for out in "$@"; do :; done; echo >>"$out/labels.npy"; fi
''')
        os.chmod(wrong, 0o755)
        result = self.scaling(wrong, "--files-gib", 0)
        self.assertEqual(result.returncode, 1)
        self.assertIn("the result of 2 ranks differs from the result of one process", result.stderr)
        self.assertFalse(os.path.exists(self.path("s.json")))


if __name__ == "__main__":
    unittest.main()
