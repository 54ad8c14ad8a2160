"""`gradus check`: results of fits, planted faults, and bad input. tests/cli/run.py runs this."""

import json
import math
import os
import random
import struct

from kit import Case, content, gradus, read_npy, write_npy


class CheckCase(Case):
    n, d, k = 900, 4, 5

    def setUp(self):
        super().setUp()
        self.random = random.Random(4)
        centers = [[self.random.uniform(-9, 9) for _ in range(self.d)] for _ in range(self.k)]
        self.rows = [[self.random.gauss(x, 2) for x in centers[row % self.k]] for row in range(self.n)]
        self.points = self.array("x.npy")
        self.weights = self.file("w.csv", "".join("%r\n" % self.random.choice([0, 0.5, 1, 3]) for _ in self.rows))

    def array(self, name, rows=None, dtype="<f4"):
        rows = rows or self.rows
        return write_npy(self.path(name), dtype, (len(rows), len(rows[0])), [value for row in rows for value in row])

    def fit(self, name, *options, points=None, tolerance=0):
        """Fits until no label changes, unless the options or the tolerance end the fit earlier."""
        folder = self.path(name)
        self.succeed("kmeans", *(points or [self.points]), "-k", self.k, "--tolerance", tolerance, "--quiet", "-o", folder, *options)
        return folder

    def check(self, status, *words):
        """Returns the JSON and the text of a check. Both runs must exit with the status."""
        answers = [gradus("check", *words, *form) for form in (["--json"], [])]
        for answer in answers:
            self.assertEqual(answer.returncode, status, (answer.stdout, answer.stderr))
        return json.loads(answers[0].stdout), answers[1].stdout

    def edit_summary(self, folder, edit):
        path = os.path.join(folder, "summary.json")
        summary = json.loads(content(path))
        edit(summary)
        self.file(os.path.relpath(path, self.path(".")), json.dumps(summary))

    def copied(self, folder, name):
        """Returns a file with the bytes of a file of the folder, outside of the folder."""
        path = self.path("copy-" + name)
        with open(path, "wb") as file:
            file.write(content(os.path.join(folder, name)))
        return path


class FitsTest(CheckCase):
    def test_fits_of_all_kinds_pass(self):
        doubles = self.array("f64.npy", dtype="<f8")
        bytes_ = self.array("u1.npy", [[int(abs(x)) for x in row] for row in self.rows], "|u1")
        parts = [self.array("part-%d.npy" % part, self.rows[part * 300 : part * 300 + 300]) for part in range(3)]
        table = self.file("t.csv", "id,a,b,c,d,w\n" + "".join(
            "p%d,%s,%r\n" % (i, ",".join("%.3f" % x for x in row), i % 3) for i, row in enumerate(self.rows)))
        jobs = [
            ([self.points], ()), ([self.points], ("--weights", self.weights)), ([self.points], ("--metric", "cosine")),
            ([self.points], ("--standardize",)), ([self.points], ("--standardize", "--weights", self.weights)),
            ([self.points], ("--metric", "cosine", "--standardize")), ([doubles], ()), ([doubles], ("--dtype", "f32")),
            ([bytes_], ()), (parts, ()), (parts, ("--weights", self.weights)), ([self.path("part-*.npy")], ()),
            ([table], ("--id-column", "id", "--weight-column", "w")),
            ([table], ("--id-column", "id", "--weight-column", "w", "--standardize")), ([self.points], ("--restarts", 3)),
        ]  # fmt: skip
        for number, (points, options) in enumerate(jobs):
            with self.subTest(points=points, options=options):
                folder = self.fit("r%d" % number, *options, points=points)
                read = [option for option in ("--weights", "--id-column", "--weight-column") if option in options]
                same = [word for option in read for word in (option, options[options.index(option) + 1])]
                for more in ([], ["--memory-limit", "99991"], ["--reference", "100"], ["--reference", "all"]):
                    answer, text = self.check(0, folder, *points, *same, *more)
                    self.assertTrue(answer["passed"])
                    self.assertTrue(answer["labels"]["correct"] and answer["centroids"]["correct"])
                    self.assertTrue(answer["record"]["correct"] and not answer["record"]["stopped_early"])
                    summary = json.loads(content(os.path.join(folder, "summary.json")))
                    self.assertEqual(answer["inertia"], summary["inertia"])
                    self.assertEqual(answer["counts"], summary["counts"])
                    self.assertTrue(text.endswith("\nThe result is correct.\n"), text)
                    self.assertNotIn("INCORRECT", text)

    def test_a_fit_that_ended_early(self):
        for options, tolerance in ((("--max-iterations", 1), 0), ((), 0.5)):
            folder = self.fit("early", *options, tolerance=tolerance)
            answer, text = self.check(0, folder, self.points)
            self.assertTrue(answer["passed"] and answer["record"]["stopped_early"] and answer["labels"]["correct"])
            self.assertFalse(answer["centroids"]["correct"])
            self.assertGreater(answer["centroids"]["excess_inertia"], 0)
            self.assertIn("one more iteration lowers the inertia by at least", text)
            self.assertIn("the fit ended early", text)
            self.assertTrue(text.endswith("\nThe result is correct for a fit that ended early.\n"))
            answer, text = self.check(5, folder, self.points, "--strict")
            self.assertFalse(answer["passed"])
            self.assertTrue(text.endswith("\nThe result is INCORRECT.\n"))

    def test_a_fit_with_limits_of_size(self):
        # One cluster has 90 points and the others have 180. So the limit binds.
        points = self.array("s.npy", [row for index, row in enumerate(self.rows) if index % self.k != 0 or index < 450])
        folder = self.fit("sizes", "--size-max", 170, points=[points])

        def limit(size_min, size_max):
            self.edit_summary(folder, lambda summary: summary["options"].update(size_min=size_min, size_max=size_max))

        for size_max in (170, 500):
            limit(0, size_max)
            answer, text = self.check(0, folder, points)
            self.assertGreater(answer["labels"]["incorrect"], 0)
            self.assertTrue(answer["record"]["within_limits"])
            self.assertTrue(text.endswith("\nThe result is correct within the limits of size.\n"), text)
        limit(0, 165)
        answer, text = self.check(5, folder, points)
        self.assertFalse(answer["record"]["within_limits"])
        self.assertIn("is not within the limits of size", text)
        limit(163, 0)
        self.refused(3, "check", folder, points, says=["summary.json", "within its limits of size"])

    def test_a_table_of_labels_with_names(self):
        table = self.file("t.csv", "name,x\n" + "".join("p%d,%d\n" % (row, row * row) for row in range(40)))
        folder = self.path("named")
        self.succeed("kmeans", table, "-k", 3, "--tolerance", 0, "--id-column", "name", "-o", folder)
        words = (os.path.join(folder, "centroids.npy"), table, "--id-column", "name", "--labels", self.copied(folder, "labels.csv"))
        self.check(0, *words)

    def test_the_textbooks_arithmetic(self):
        folder = self.fit("sequential", "--variant", "sequential")
        self.check(0, folder, self.points, "--tolerance", "1e-5")

    def test_memory_limits_do_not_change_the_answer(self):
        folder = self.fit("r")
        words = (self.copied(folder, "centroids.npy"), self.points, "--labels", self.labels_with_faults(folder))
        answers = [self.check(5, *words, "--memory-limit", limit)[0] for limit in ("61001", "99991", "1G")]
        for answer in answers:
            answer.pop("seconds")
            self.assertEqual(answer, answers[0])

    def labels_with_faults(self, folder):
        _, shape, labels = read_npy(os.path.join(folder, "labels.npy"))
        for row in (5, 700, 899):
            labels[row] = (labels[row] + 1) % self.k
        return write_npy(self.path("l.npy"), "<i4", shape, labels)


class FaultsTest(CheckCase):
    def setUp(self):
        super().setUp()
        self.fitted = self.fit("r")
        self.centroids = read_npy(os.path.join(self.fitted, "centroids.npy"))[2]
        self.labels = read_npy(os.path.join(self.fitted, "labels.npy"))[2]

    def write_result(self, centroids=None, labels=None):
        """Writes files outside of the folder, as another library does."""
        return (write_npy(self.path("c.npy"), "<f4", (self.k, self.d), centroids or self.centroids), self.points,
                "--labels", write_npy(self.path("l.npy"), "<i4", (self.n,), labels or self.labels))

    def test_a_label_moved(self):
        labels = list(self.labels)
        labels[17] = (labels[17] + 1) % self.k
        answer, text = self.check(5, *self.write_result(labels=labels))
        self.assertEqual(answer["labels"]["incorrect"], 1)
        first = answer["labels"]["first"]
        self.assertEqual((first["row"], first["label"], first["nearest"]), (17, labels[17], self.labels[17]))
        point = self.rows_as_floats()[17]
        for key, label in (("squared_distance", labels[17]), ("nearest_squared_distance", self.labels[17])):
            centroid = self.centroids[label * self.d : (label + 1) * self.d]
            self.assertAlmostEqual(first[key], math.dist(point, centroid) ** 2, delta=1e-9 * first[key])
        self.assertEqual(answer["centroids"]["incorrect"], 2)
        self.assertEqual(answer["centroids"]["first"]["cluster"], min(labels[17], self.labels[17]))
        self.assertIn("INCORRECT: 1 of 900 points has the label of a centroid that is not the nearest", text)
        self.assertIn("the first is row 17 with label %d" % labels[17], text)

    def rows_as_floats(self):
        return [struct.unpack("<4f", struct.pack("<4f", *row)) for row in self.rows]

    def test_a_centroid_one_ulp_off(self):
        centroids = list(self.centroids)
        (bits,) = struct.unpack("<i", struct.pack("<f", centroids[9]))
        (centroids[9],) = struct.unpack("<f", struct.pack("<i", bits + 1))
        answer, text = self.check(5, *self.write_result(centroids))
        self.assertTrue(answer["labels"]["correct"])
        self.assertEqual(answer["centroids"]["incorrect"], 1)
        self.assertEqual(answer["centroids"]["first"],
                         {"cluster": 2, "column": 1, "value": centroids[9], "mean": self.centroids[9], "ulps": 1.0})
        self.assertIn("INCORRECT: 1 of 5 centroids is not the mean of its points", text)
        self.assertIn("centroid 2: column 1 is", text)
        self.assertIn("(1 ulp)", text)
        answer, text = self.check(0, *self.write_result(centroids), "--tolerance", "1e-6")
        self.assertEqual(answer["centroids"]["within_tolerance"], 1)
        self.assertIn("correct within the tolerance", text)

    def test_two_rows_swapped(self):
        first = self.labels.index(0)
        second = self.labels.index(3)
        rows = list(self.rows)
        rows[first], rows[second] = rows[second], rows[first]
        swapped = self.array("swapped.npy", rows)
        answer, text = self.check(5, self.fitted, swapped)
        self.assertEqual(answer["labels"]["incorrect"], 2)
        self.assertEqual(answer["labels"]["first"]["row"], min(first, second))
        self.assertIn("these are not the points of the fit", text)
        self.assertEqual(len(answer["record"]["changed_inputs"]), 1)
        # Rows of one cluster that are swapped leave the result correct, but they are not the points of the fit.
        second = self.labels.index(0, first + 1)
        rows = list(self.rows)
        rows[first], rows[second] = rows[second], rows[first]
        answer, text = self.check(5, self.fitted, self.array("swapped.npy", rows))
        self.assertTrue(answer["labels"]["correct"] and answer["centroids"]["correct"])
        self.assertIn("INCORRECT: these are not the points of the fit", text)

    def test_inertia(self):
        answer, text = self.check(0, *self.write_result())
        self.assertNotIn("inertia_correct", answer)
        right = json.loads(content(os.path.join(self.fitted, "summary.json")))["inertia"]
        for stated, options, correct in ((right, (), True), (right * (1 + 1e-9), (), False),
                                         (right * (1 + 1e-9), ("--tolerance", "1e-8"), True), (0, (), False)):
            answer, text = self.check(0 if correct else 5, *self.write_result(), "--inertia", repr(stated), *options)
            self.assertEqual(answer["inertia_correct"], correct)
            self.assertEqual(answer["inertia"], right)
            self.assertEqual("INCORRECT" in text, not correct)

    def test_the_record(self):
        changes = [
            (lambda summary: summary.update(inertia=summary["inertia"] * 1.5), "was stated, but it is"),
            (lambda summary: summary["counts"].__setitem__(2, 1), "cluster 2 has"),
            (lambda summary: summary.update(counts=summary["counts"][:-1]), "but the summary says nothing"),
            (lambda summary: summary.update(k=6), "INCORRECT: k is 5, not 6"),
            (lambda summary: summary.update(n=901), "INCORRECT: n is 900, not 901"),
            (lambda summary: summary["input_hashes"].update(points="0123456789abcdef"), "not 0123456789abcdef"),
            (lambda summary: summary["files"]["labels.npy"].update(crc32="00000000"), "INCORRECT: labels.npy is missing, or"),
            (lambda summary: summary["files"].update({"gone.npy": {}}), "INCORRECT: gone.npy is missing, or"),
        ]
        whole = content(os.path.join(self.fitted, "summary.json"))
        for edit, words in changes:
            with open(os.path.join(self.fitted, "summary.json"), "wb") as file:
                file.write(whole)
            self.check(0, self.fitted, self.points)
            self.edit_summary(self.fitted, edit)
            answer, text = self.check(5, self.fitted, self.points)
            self.assertIn(words, text)
            self.assertEqual(text.count("INCORRECT: "), 1, text)
            self.assertFalse(answer["passed"])

    def test_unknown_words_of_the_summary(self):
        for key in ("metric", "dtype"):
            self.edit_summary(self.fitted, lambda summary: summary.update({key: "other"}))
            self.refused(3, "check", self.fitted, self.points, says=["summary.json"])

    def test_a_result_that_does_not_exist(self):
        self.refused(3, "check", self.path("none"), self.points, says=["cannot read", "none"])

    def test_a_changed_file_of_the_folder(self):
        write_npy(os.path.join(self.fitted, "centroids.npy"), "<f4", (self.k, self.d), [x + 1 for x in self.centroids])
        answer, text = self.check(5, self.fitted, self.points)
        self.assertEqual(answer["record"]["changed_files"], ["centroids.npy"])
        self.assertEqual(answer["centroids"]["incorrect"], self.k)

    def test_the_units_of_a_standardized_fit(self):
        folder = self.fit("s", "--standardize")
        path = os.path.join(folder, "centroids.npy")
        centroids = read_npy(path)[2]
        centroids[self.d] += 1
        write_npy(path, "<f4", (self.k, self.d), centroids)
        answer, text = self.check(5, folder, self.points)
        self.assertTrue(answer["labels"]["correct"] and answer["centroids"]["correct"])
        self.assertFalse(answer["record"]["restored_correct"])
        self.assertIn("row 1 of centroids.npy is not the standardized centroid", text)

    def test_empty_clusters(self):
        write_npy(self.path("c.npy"), "<f4", (self.k + 2, self.d), self.centroids + [1e6] * self.d + [-1e6] * self.d)
        labels = self.write_result()[3]
        write_npy(self.path("c.npy"), "<f4", (self.k + 2, self.d), self.centroids + [1e6] * self.d + [-1e6] * self.d)
        answer, text = self.check(0, self.path("c.npy"), self.points, "--labels", labels)
        self.assertEqual(answer["centroids"]["without_mean"], 2)
        self.assertIn("2 clusters empty", text)

    def test_types_and_orders_of_labels(self):
        for dtype in ("|u1", "<i2", "<u4", "<i8"):
            path = write_npy(self.path("l2.npy"), dtype, (self.n,), self.labels)
            self.check(0, self.write_result()[0], self.points, "--labels", path)
        column = write_npy(self.path("l2.npy"), "<i8", (self.n, 1), self.labels)
        row = write_npy(self.path("l3.npy"), "<i4", (1, self.n), self.labels)
        text = self.file("l.csv", "".join("%d\n" % label for label in self.labels))
        table = self.file("l2.csv", "row,label\n" + "".join("%d,%d\n" % pair for pair in enumerate(self.labels)))
        for labels in (column, row, text, table):
            self.check(0, self.write_result()[0], self.points, "--labels", labels)

    def test_fortran_order(self):
        columns = [row[column] for column in range(self.d) for row in self.rows]
        points = write_npy(self.path("fortran.npy"), "<f4", (self.n, self.d), columns,
                           header="{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %d), }" % (self.n, self.d))
        self.check(0, self.fitted, points)
        centroids = [self.centroids[cluster * self.d + column] for column in range(self.d) for cluster in range(self.k)]
        path = write_npy(self.path("cf.npy"), "<f4", (self.k, self.d), centroids,
                         header="{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %d), }" % (self.k, self.d))
        self.check(0, path, points, "--labels", self.write_result()[3])

    def test_bad_input(self):
        nan = list(self.rows)
        nan[612] = [0, math.nan, 0, 0]
        rows = [value for row in self.rows for value in row]
        wrong = [
            # (status, words of the message, words of the command)
            (3, ["x-nan.npy", "row 612, column 1", "NaN"], (self.fitted, self.array("x-nan.npy", nan))),
            (3, ["part-b.npy' (row 312 there)", "column 1", "NaN"],
             (self.fitted, self.array("part-a.npy", nan[:300]), self.array("part-b.npy", nan[300:]))),
            (3, ["there are 900 labels, but there are 899 points"], (self.fitted, self.array("short.npy", self.rows[:899]))),
            (3, ["has 3 columns", "one of 4 columns"], (self.fitted, write_npy(self.path("d3.npy"), "<f4", (1200, 3), rows))),
            (3, ["l-5.npy", "the label in row 3 (counted from 0) is 5, but the labels of 5 centroids are the integers from 0 to 4"],
             (self.fitted, self.points, "--labels", write_npy(self.path("l-5.npy"), "<i8", (self.n,), self.labels[:3] + [5] + self.labels[4:]))),
            (3, ["the label in row 0 (counted from 0) is -1"],
             (self.fitted, self.points, "--labels", write_npy(self.path("l-1.npy"), "<i4", (self.n,), [-1] + self.labels[1:]))),
            (3, ["the label in row 7 (counted from 0) is 0.5"],
             (self.fitted, self.points, "--labels", write_npy(self.path("l-f.npy"), "<f8", (self.n,), self.labels[:7] + [0.5] + self.labels[8:]))),
            (3, ["c-inf.npy", "row 1, column 0", "infinite"],
             (write_npy(self.path("c-inf.npy"), "<f4", (self.k, self.d), self.centroids[:4] + [math.inf] + self.centroids[5:]), *self.write_result()[1:])),
            (3, ["the label in row", "the labels of 4 centroids"],
             (write_npy(self.path("c-k.npy"), "<f4", (self.k - 1, self.d), self.centroids[: -self.d]), *self.write_result()[1:])),
            (3, ["the folder holds no result of 'gradus kmeans --output'"], (self.path("."), self.points)),
            (3, ["cannot"], (self.path("nowhere"), self.points, "--labels", self.points)),
            (2, ["--labels", "is a file of centroids"], self.write_result()[:2]),
            (2, ["--weights", "had no weights"], (self.fitted, self.points, "--weights", self.weights)),
            (2, ["--metric"], (self.fitted, self.points, "--metric", "cosine")),
            (2, ["--tolerance"], (self.fitted, self.points, "--tolerance", "-1")),
            (2, ["--reference"], (self.fitted, self.points, "--reference", "some")),
            (4, ["'sequential'", "other arithmetic"], (self.fitted, self.points, "--variant", "sequential")),
        ]  # fmt: skip
        for status, words, command in wrong:
            with self.subTest(command=command):
                self.refused(status, "check", *command, says=words)
        weighted = self.fit("w", "--weights", self.weights)
        self.refused(2, "check", weighted, self.points, says=["had weights"])
        shuffled = self.file("w2.csv", "".join(reversed(content(self.weights).decode().splitlines(keepends=True))))
        answer, text = self.check(5, weighted, self.points, "--weights", shuffled)
        self.assertIn("these are not the weights of the fit", text)
