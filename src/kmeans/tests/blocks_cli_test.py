"""`gradus predict` and `gradus transform` on files that are read in blocks of rows. tests/cli/run.py runs this.

A small --memory-limit makes small blocks. Without it, the files of these tests are one block."""

import json
import math
import os
import random
import resource
import signal
import struct
import subprocess

from kit import GRADUS, Case, TerminalCase, content, gradus, write_npy

# Limits that are neither round nor multiples of the length of a row, so that blocks have unusual numbers of rows.
LIMITS = (83233, 99991, 123457, 333337)
TYPES = {"<f2": "e", "<f4": "f", "<f8": "d", ">f4": ">f", ">u2": ">H", "|i1": "b", "|u1": "B", "<i2": "h", "<i4": "i", "<u4": "I", "<i8": "q"}


class BlocksCase(Case):
    n, d, k = 6007, 5, 3

    def setUp(self):
        super().setUp()
        self.random = random.Random(5)

    def values(self, count):
        return [self.random.randrange(100) for _ in range(count)]

    def array(self, name, dtype="<f2", n=None, d=None, values=None, fortran=False):
        n, d = n or self.n, d or self.d
        values = values or self.values(n * d)
        order, code = (">", TYPES[dtype][1:]) if dtype[0] == ">" else ("<", TYPES[dtype])
        header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (dtype, fortran, n, d)
        return write_npy(self.path(name), dtype, (n, d), raw=struct.pack("%s%d%s" % (order, n * d, code), *values),
                         header=header)

    def centroids(self, name="c.csv", d=None):
        rows = [self.values(d or self.d) for _ in range(self.k)]
        return self.file(name, "".join(",".join(map(str, row)) + "\n" for row in rows))

    def weights(self, name="w.csv"):
        # The first 2000 rows, and also every third row, have the weight 0.
        weights = [0 if row < 2000 or row % 3 == 0 else self.random.random() * 10**self.random.randrange(-9, 9) for row in range(self.n)]
        return self.file(name, "".join("%r\n" % weight for weight in weights))

    def results(self, *job):
        """Returns all outputs of a job: files of each format, text, and JSON without times and paths."""
        found = []
        for ending in ("npy", "csv", "txt"):
            out = self.path("out." + ending)
            note = self.succeed(*job, "-o", out).stderr
            found += [content(out), note]
        found.append(self.succeed(*job).stdout)
        for out in ([], ["-o", self.path("out.npy")]):
            answer = json.loads(self.succeed(*job, "--json", *out).stdout)
            self.assertEqual(list(answer.pop("seconds")), ["read", {"predict": "assign", "transform": "transform"}[job[0]]])
            found.append(answer)
        return found

    def same_for_all_limits(self, *job, limits=LIMITS):
        expected = self.results(*job)
        for limit in limits:
            with self.subTest(job=job, limit=limit):
                self.assertEqual(self.results(*job, "--memory-limit", limit, "--threads", 1), expected)


class Blocks(BlocksCase):
    def test_types(self):
        centroids = self.centroids()
        for dtype in TYPES:
            points = self.array("p.npy", dtype)
            for command in ("predict", "transform"):
                self.same_for_all_limits(command, centroids, points, limits=LIMITS[:2])

    def test_options(self):
        centroids = self.centroids()
        points = self.array("p.npy", values=[value + 1 for value in self.values(self.n * self.d)])
        two = self.centroids("two.csv", 2)
        for job in [["--metric", "cosine"], ["--dtype", "f32"], ["--dtype", "f64"]]:
            for command in ("predict", "transform"):
                self.same_for_all_limits(command, centroids, points, *job)
        for job in [["--columns", "5,2"], ["--drop-columns", "1-3"]]:
            self.same_for_all_limits("predict", two, points, *job)
        for variant in ("simd_bounds", "simd_large_dim", "simd_small_dim"):
            self.same_for_all_limits("predict", centroids, points, "--variant", variant)
        self.same_for_all_limits("predict", two, points, "--columns", "5,2", "--variant", "simd_grid", limits=LIMITS[3:])
        self.same_for_all_limits("predict", centroids, points, "--weights", self.weights())

    def test_models(self):
        """The folder of a fit determines the metric and the standardization. A prediction for the points of the fit
        must give their labels."""
        points = self.array("p.npy", "<i2", values=[value + 1 for value in self.values(self.n * self.d)])
        for options in [], ["--standardize"], ["--metric", "cosine"]:
            out = self.path("out" + "".join(options))
            self.succeed("kmeans", points, "-k", 4, *options, "-o", out, "--quiet")
            fit = json.loads(content(os.path.join(out, "summary.json")))
            for limit in LIMITS[1:]:
                answer = json.loads(self.succeed("predict", out, points, "--memory-limit", limit, "--threads", 1, "--json", "-o", self.path("l.npy")).stdout)
                self.assertEqual((answer["inertia"], answer["counts"]), (fit["inertia"], fit["counts"]))
                self.assertEqual(content(self.path("l.npy")), content(os.path.join(out, "labels.npy")))
            self.same_for_all_limits("transform", out, points)

    def test_inertia_is_exact(self):
        """The squared distances have very different magnitudes, and the exact sum is rounded once."""
        values = [self.random.random() * 10.0**self.random.randrange(-30, 30) for _ in range(self.n)]
        points = self.array("p.npy", "<f8", d=1, values=values)
        centroid = self.file("c.csv", "0\n")
        inertia = math.fsum(value * value for value in values)
        for limit in LIMITS:
            answer = json.loads(self.succeed("predict", centroid, points, "--memory-limit", limit, "--threads", 1, "--json", "-o", self.path("l.npy")).stdout)
            self.assertEqual(answer["inertia"], inertia)

    def test_other_inputs_are_one_block(self):
        centroids = self.centroids()
        values = self.values(self.n * self.d)
        expected = self.succeed("predict", centroids, self.array("p.npy", values=values)).stdout
        columns = [value for column in range(self.d) for value in values[column::self.d]]
        fortran = self.array("f.npy", values=columns, fortran=True)
        table = self.file("p.csv", "".join(",".join(map(str, values[row * self.d : (row + 1) * self.d])) + "\n" for row in range(self.n)))
        for points in (fortran, table):
            self.assertEqual(self.succeed("predict", centroids, points, "--memory-limit", "1M").stdout, expected)
        points, four = self.path("p.npy"), self.centroids("four.csv", 4)
        for job in [["predict", "--weight-column", 5], ["predict", "--id-column", 1], ["transform", "--id-column", 1]]:
            self.same_for_all_limits(job[0], four, points, *job[1:], limits=["1M"])
        for stdin in (content(table), content(points)):
            self.assertEqual(gradus("predict", centroids, "-", "--memory-limit", "1M", stdin=stdin, text=False).stdout.decode(), expected)

    def test_several_files(self):
        """Files of any format and type are one table. The middle file is empty, and blocks end inside of files."""
        centroids = self.centroids()
        values = self.values(self.n * self.d)
        whole = self.array("p.npy", values=values)
        weights = self.weights()
        cuts = [0, 1000, 1001, 1001, 4003, self.n]
        parts = [values[begin * self.d : end * self.d] for begin, end in zip(cuts, cuts[1:])]
        for number, (part, dtype) in enumerate(zip(parts, ("<f2", "|u1", "<f4", "<f8", ">f4"))):
            write_npy(self.path("part-%d.npy" % (number + 8)), dtype, (len(part) // self.d, self.d),
                      raw=struct.pack("%s%d%s" % (">" if dtype[0] == ">" else "<", len(part), TYPES[dtype][-1]), *part))
        table = self.file("last.csv", "".join(",".join(map(str, parts[4][at : at + self.d])) + "\n" for at in range(0, len(parts[4]), self.d)))
        mixed = [self.path("part-%d.npy" % number) for number in (8, 9, 10, 11)] + [table]
        for job in (["predict"], ["predict", "--weights", weights], ["transform"]):
            answer = json.loads(self.succeed(job[0], centroids, whole, *job[1:], "--dtype", "f64", "--json").stdout)
            for files in ([self.path("part-*.npy")], mixed):
                for limit in ([], ["--memory-limit", LIMITS[0], "--threads", 1]):
                    with self.subTest(job=job, files=files, limit=limit):
                        found = json.loads(self.succeed(job[0], centroids, *files, *job[1:], "--json", *limit).stdout)
                        self.assertEqual(found["input"], files if len(files) > 1 else files[0])
                        for key in ("n", "d", "labels", "inertia", "counts", "distances"):
                            self.assertEqual(found.get(key), answer.get(key), key)
        out = self.path("out.npy")
        self.succeed("predict", centroids, whole, "-o", self.path("whole.npy"), "--quiet")
        self.succeed("predict", centroids, self.path("part-*.npy"), "-o", out, "--quiet")
        self.assertEqual(content(out), content(self.path("whole.npy")))

    def test_names_of_several_files(self):
        """Names, weights and numbers of rows count all files."""
        centroids = self.file("c.csv", "a,b\n1,1\n9,9\n")
        one = self.file("one.csv", "id,a,b,w\nx,1,2,1\nleft out,,8,5\ny,9,8,2\n")
        two = self.file("two.csv", "id,a,b,w\nleft out,3,,1\nz,7,8,0.5\n")
        columns = ["--id-column", "id", "--weight-column", "w", "--missing", "drop-rows"]
        self.assertEqual(self.succeed("predict", centroids, one, two, *columns).stdout, "id,label\nx,0\ny,1\nz,1\n")
        answer = json.loads(self.succeed("predict", centroids, one, two, *columns, "--json").stdout)
        self.assertEqual((answer["inertia"], answer["ids"]), (1 * 1 + 1 * 2 + 5 * 0.5, ["x", "y", "z"]))
        self.assertEqual(self.succeed("predict", centroids, one, two, "--drop-columns", "id,w", "--missing", "drop-rows").stdout,
                         "row,label\n0,0\n2,1\n4,1\n")

    def test_one_dimension_and_no_rows(self):
        centroid = self.file("c.csv", "1\n7\n")
        vector = write_npy(self.path("v.npy"), "<i4", (self.n,), self.values(self.n),
                           header="{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }" % self.n)
        self.same_for_all_limits("predict", centroid, vector)
        self.refused(3, "predict", centroid, write_npy(self.path("none.npy"), "<f4", (0, 1), []), says=["none.npy"])


class FaultsInBlocks(BlocksCase):
    def setUp(self):
        super().setUp()
        self.limit = ("--memory-limit", LIMITS[0], "--threads", 1)

    def test_nan(self):
        centroids = self.centroids()
        out = self.file("out.csv", "of an earlier job")
        for row in (0, 1, 4444, self.n - 1):
            values = self.values(self.n * self.d)
            values[row * self.d + 2] = math.nan
            points = self.array("p.npy", values=values)
            for command in ("predict", "transform"):
                job = [command, centroids, points]
                whole = gradus(*job)
                self.assertEqual((whole.returncode, whole.stdout), (3, ""))
                self.assertIn("p.npy': the value in row %d, column 2 (counted from 0) is NaN" % row, whole.stderr)
                some = gradus(*job, *self.limit)
                self.assertEqual((some.returncode, some.stderr), (3, whole.stderr))
                self.assertLess(some.stdout.count("\n"), row + 1)
                self.assertEqual(some.stdout != "", row > 2000)  # earlier blocks have been printed
                error = json.loads(gradus(*job, *self.limit, "--json").stdout)
                self.assertEqual([error[key] for key in ("file", "row", "column", "code")], [points, row, 2, "not_finite"])
                for name in (out, self.path("new.npy"), self.path("new.csv")):
                    self.refused(3, *job, *self.limit, "-o", name, says=["row %d, column 2" % row])
                self.assertEqual(content(out, "r"), "of an earlier job")
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.csv", "out.csv", "p.npy"])

    def test_several_files(self):
        centroids = self.centroids()
        good = self.array("a.npy", n=11)
        bad = self.array("b.npy", n=7, values=self.values(4 * self.d) + [math.nan] + self.values(3 * self.d - 1))
        out = self.path("l.npy")
        for limit in ([], self.limit):
            answer = json.loads(gradus("predict", centroids, good, bad, "-o", out, "--json", *limit).stdout)
            self.assertEqual([answer[key] for key in ("exit_status", "file", "row", "column")], [3, bad, 4, 0])
        narrow = self.array("c.npy", n=7, d=2)
        for command in ("predict", "transform"):
            self.refused(3, command, centroids, good, narrow, "-o", out, says=["c.npy': rows of 2 columns, but the rows of", "a.npy' have 5"])
            self.refused(3, command, centroids, self.path("no-*.npy"), "-o", out, says=["no-*.npy': no file has a name like that"])
        self.refused(2, "predict", centroids, good, bad, "-o", good, says=["a.npy"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npy", "b.npy", "c.csv", "c.npy"])

    def test_values_that_do_not_fit(self):
        centroids = self.centroids()
        values = self.values(self.n * self.d)
        values[5000 * self.d + 3] = 2**53 + 1
        self.refused(3, "predict", centroids, self.array("i.npy", "<i8", values=values), *self.limit, "-o", self.path("l.npy"), says=["row 5000, column 3"])
        values[5000 * self.d + 3] = 1e300
        points = self.array("d.npy", "<f8", values=values)
        self.refused(3, "predict", centroids, points, *self.limit, "--dtype", "f32", "-o", self.path("l.npy"),
                     says=["row 5000, column 3: 1e+300 is beyond the range of f32"])

    def test_weights(self):
        centroids, points = self.centroids(), self.array("p.npy")
        job = ["predict", centroids, points, *self.limit, "--weights"]
        weights = ["1"] * self.n
        self.refused(3, *job, self.file("w.csv", "\n".join(weights[1:]) + "\n"), says=["w.csv': there are %d weights for %d points" % (self.n - 1, self.n)])
        self.refused(3, *job, self.file("w.csv", "\n".join(["0"] * self.n) + "\n"), says=["w.csv': all weights are zero"])
        weights[5001] = "-2"
        self.refused(3, *job, self.file("w.csv", "\n".join(weights) + "\n"), "-o", self.path("l.npy"), says=["w.csv': the weight in row 5001"])

    def test_memory(self):
        self.refused(1, "predict", self.centroids(), self.array("p.npy"), "--memory-limit", 100, says=["memory limit allows only 100 bytes"])
        self.refused(1, "transform", self.centroids(), self.array("p.npy"), "--memory-limit", 100, says=["memory limit allows only 100 bytes"])

    def test_disk(self):
        small = self.path("small")
        os.mkdir(small)
        points, centroids = self.array("p.npy", n=40009), self.centroids()
        for name in ("out.npy", "out.csv"):
            self.refused_for_want_of_space(small, "predict", centroids, points, *self.limit, "-o", os.path.join(small, name))
        os.rmdir(small)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))  # the job fails after some blocks
        for name in ("out.npy", "out.csv"):
            self.refused(1, "predict", centroids, points, *self.limit, "-o", self.path(name), preexec=limit, says=[name])
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.csv", "p.npy"])

    def blocked(self, points):
        """Starts a job that has printed some labels, and waits until they are read."""
        job = subprocess.Popen([GRADUS, "predict", self.path("c.csv"), points, "--memory-limit", "333337", "--threads", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.assertEqual(len(job.stdout.read(100)), 100)
        return job

    def test_files_that_change(self):
        self.centroids()
        points = self.array("p.npy", n=200003)
        before = content(points)

        def resize(by):
            os.truncate(points, len(before) + by)

        def replace():
            self.file("other.npy", before)
            os.replace(self.path("other.npy"), points)

        def set_value():
            with open(points, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"\x11")

        for change, says in [(lambda: resize(-1), "it had %d bytes and now has %d" % (len(before), len(before) - 1)),
                             (lambda: resize(1000), "it had %d bytes and now has %d" % (len(before), len(before) + 1000)),
                             (lambda: resize(100 - len(before)), "now has 100"), (replace, "replaced"), (set_value, "has changed"),
                             (lambda: os.remove(points), "has changed")]:
            self.file("p.npy", before)
            job = self.blocked(points)
            change()
            stdout, stderr = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 3, stderr)
            self.assertIn("p.npy': the file has changed while it was read", stderr)
            self.assertIn(says, stderr)
            self.assertLess(stdout.count("\n"), 200003 - 50)

    def test_interrupt(self):
        self.centroids()
        job = self.blocked(self.array("p.npy", n=200003))
        job.send_signal(signal.SIGINT)
        _, stderr = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, stderr)

    def test_reader_that_leaves(self):
        self.centroids()
        job = self.blocked(self.array("p.npy", n=200003))
        job.stdout.close()
        job.wait(timeout=60)
        job.stderr.close()
        self.assertNotEqual(job.returncode, 3)


class ProgressInBlocks(TerminalCase, BlocksCase):
    def test_progress_counts_all_rows(self):
        points = self.array("p.npy", n=200003)
        seen = self.on_terminal("predict", self.centroids(), points, "--memory-limit", "333337", "--threads", "1", "-o", self.path("l.npy"))
        shares = [int(part.split(b"]")[1].split()[0]) for part in seen.encode().split(b"\r") if b"assign [" in part]
        self.assertTrue(shares)
        self.assertEqual(shares, sorted(shares))
        self.assertTrue(all(0 <= share <= 100 for share in shares), shares)
