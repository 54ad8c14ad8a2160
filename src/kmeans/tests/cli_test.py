"""Tests the k-means commands. tests/cli/run.py runs this."""

import fcntl
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import zipfile
import zlib
from fractions import Fraction

import kit
from advice import advice_in
from kit import (DATA, GRADUS, Case, CompletionCase, InterruptCase, TerminalCase, content, gradus, read_npy, read_png,
                 write_npy)


# tests/cli/cli_test.py runs the jobs below: see tests/cli/run.py.
def json_jobs(case):
    points, centroids = case.points(), case.file("c.csv", "0,0,0\n1,1,1\n")
    return {
        "demo": ["-o", case.path("demo")],
        "kmeans": [points, "-k", 2],
        "predict": [centroids, points],
        "check": [centroids, points, "--labels", case.file("l.csv", "0\n" * 200), "--tolerance", 1],
        "transform": [centroids, points, "-o", case.path("d.npy")],
    }


def repeated_jobs(case):  # tests/repeat_test.py has more jobs
    return {"kmeans": [([case.points(), "-k", 3, "--tolerance", "0.30000000000000004"], ""), ([case.points(), "-k", 2], None)]}


NARROWED = {
    "gradus verify kmeans": "--case uniform_17x1_k17 --threads 2",
    "gradus bench kmeans": "--variants sequential --shape 500x2 --repeats 1",
    "gradus bench kmeans --shape 20000x3 -k 64 --threads 1,2 --json bench.json": "--variants simd_grid --repeats 1",
    "gradus bench --experiment kmeans-openmp --scale 0.01": "--threads 2 --repeats 1",
}
INPUTS = {
    "'part-*.npy'": "gradus generate blobs -n 100 -d 3 -o part-0.npy && cp part-0.npy part-1.npy",
    "more.npy": "gradus generate uniform -n 100 -d 3 -o more.npy",
    "vectors.npy": "gradus generate uniform -n 500 -d 16 -o vectors.npy",
    "table.csv": "gradus generate uniform -n 50 -d 4 -o table.csv",
    "photo.png": 'cp "$DATA/picture.png" photo.png',
    "clusters": "gradus generate blobs -n 1000 -d 3 -o points.npy && gradus kmeans points.npy -k 3 -o clusters",
    "centroids.npy": "gradus generate blobs -n 1000 -d 3 -o points.npy && gradus kmeans points.npy -k 3 -o clusters && "
                     "cp clusters/centroids.npy centroids.npy && cp clusters/labels.npy labels.npy",
    "flowers.csv": r"printf 'id,length,width,species\nf1,5.1,3.5,setosa\nf2,4.9,3.0,setosa\nf3,7.0,3.2,versicolor\n"
                   r"f4,6.4,3.1,versicolor\nf5,6.3,3.3,virginica\n' > flowers.csv",
}


class KMeans(Case):
    def test_outputs(self):
        points = self.points()
        out = self.path("a/b/out")
        result = self.succeed("kmeans", points, "-k", 5, "-o", out)
        self.assertEqual(sorted(os.listdir(out)), ["centroids.npy", "labels.npy", "summary.json"])
        dtype, shape, centroids = read_npy(os.path.join(out, "centroids.npy"))
        self.assertEqual((dtype, shape), ("<f4", (5, 3)))
        dtype, shape, labels = read_npy(os.path.join(out, "labels.npy"))
        self.assertEqual((dtype, shape), ("<i4", (200,)))
        self.assertEqual(set(labels), set(range(5)))
        with open(os.path.join(out, "summary.json")) as file:
            summary = json.load(file)
        for key, value in {"n": 200, "d": 3, "k": 5, "dtype": "f32", "seed": 0, "converged": True}.items():
            self.assertEqual(summary[key], value, key)
        for key in ("variant", "device", "iterations", "inertia", "stop_reason", "threads", "restart", "rechecked",
                    "memory_bytes"):
            self.assertIn(key, summary)
        self.assertEqual(len(summary["history"]), summary["iterations"])
        self.assertEqual(summary["counts"], [labels.count(cluster) for cluster in range(5)])
        for key in ("read", "write", "total", "initialize"):
            self.assertGreaterEqual(summary["seconds"][key], 0)
        self.assertLessEqual(summary["seconds"]["read"] + summary["seconds"]["write"], summary["seconds"]["total"])
        # Every label must be the nearest centroid, and the inertia must be the sum of the squared distances.
        _, _, values = read_npy(points)
        inertia = 0
        for point in range(200):
            distances = [sum((values[3 * point + dim] - centroids[3 * cluster + dim]) ** 2 for dim in range(3))
                         for cluster in range(5)]
            self.assertEqual(labels[point], distances.index(min(distances)))
            inertia += min(distances)
        self.assertLess(abs(inertia - summary["inertia"]), 1e-6 * inertia)
        # The table has a line per cluster. The second column is the size of the cluster.
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split()[:3], ["cluster", "size", "share"])
        self.assertEqual([int(line.split()[1]) for line in lines[1:6]], summary["counts"])
        self.assertIn("200 points", lines[-1])

    def summary(self, *arguments, **options):
        return json.loads(self.succeed("kmeans", *arguments, "--json", **options).stdout)

    def test_json_is_the_summary_and_nothing_else(self):
        out = self.path("out")
        printed = self.summary(self.points(), "-k", 4, "-o", out)
        with open(os.path.join(out, "summary.json")) as file:
            self.assertEqual(printed, json.load(file))

    def test_same_bits_for_any_number_of_threads(self):
        points = self.path("blobs.npy")
        for dtype, dimensions in (("f32", 2), ("f64", 19)):
            self.succeed("generate", "blobs", "-n", 5000, "-d", dimensions, "--dtype", dtype, "-o", points)
            seen = set()
            for threads in (1, 2, 3, 7):
                out = self.path("out%d" % threads)
                self.succeed("kmeans", points, "-k", 9, "--threads", threads, "-o", out)
                seen.add((content(os.path.join(out, "centroids.npy")), content(os.path.join(out, "labels.npy"))))
            self.assertEqual(len(seen), 1, dtype)

    def test_quiet_and_messages(self):
        points = self.points()
        loud = self.succeed("kmeans", points, "-k", 2, "-o", self.path("a"))
        self.assertIn("wrote", loud.stderr)
        quiet = self.succeed("kmeans", points, "-k", 2, "-o", self.path("b"), "--quiet")
        self.assertEqual(quiet.stderr, "")
        for result in (loud, quiet):
            self.assertNotIn("\x1b", result.stdout + result.stderr)  # neither stream is a terminal

    def test_csv_on_standard_input(self):
        text = "x,y\n" + "".join("%d,%d\n" % (100 * (index % 2), index % 5) for index in range(40))
        result = self.succeed("kmeans", "-", "-k", 2, stdin=text)
        self.assertEqual(result.stdout.splitlines()[0].split(), ["cluster", "size", "share", "x", "y"])
        summary = self.summary("-", "-k", 2, stdin=text)
        self.assertEqual((summary["dtype"], summary["counts"]), ("f64", [20, 20]))

    def test_files_of_all_kinds_give_the_same(self):
        rows = [(index * 31 % 17, index * 7 % 23) for index in range(60)]
        flat = [value for row in rows for value in row]
        files = [
            self.file("a.csv", "".join("%d,%d\n" % row for row in rows)),
            self.file("a.tsv", "a\tb\r\n" + "".join("%d\t%d\r\n" % row for row in rows)),
            write_npy(self.path("a.npy"), "<f8", (60, 2), flat),
            write_npy(self.path("b.npy"), "|u1", (60, 2), flat),
        ]
        inertias = {self.summary(file, "-k", 5)["inertia"] for file in files[:3]}
        self.assertEqual(len(inertias), 1)
        self.assertEqual(self.summary(files[3], "-k", 5)["dtype"], "f32")
        self.assertEqual(self.summary(files[3], "-k", 5, "--dtype", "f64")["inertia"], inertias.pop())

    def test_picture(self):
        picture = os.path.join(DATA, "picture.png")
        width, height, _, before = read_png(picture)
        out = self.path("out")
        self.succeed("kmeans", picture, "-k", 6, "-o", out)
        self.assertIn("quantized.png", os.listdir(out))
        after = read_png(os.path.join(out, "quantized.png"))
        self.assertEqual(after[:2], (width, height))
        self.assertLessEqual(len(after[3]), 6)
        self.assertGreater(len(before), 6)
        _, shape, centroids = read_npy(os.path.join(out, "centroids.npy"))
        colours = {bytes(int(value + 0.5) for value in centroids[3 * cluster : 3 * cluster + 3]) for cluster in range(shape[0])}
        self.assertLessEqual(after[3], colours)

    def test_initial_centroids_and_weights(self):
        points = write_npy(self.path("p.npy"), "<f4", (4, 1), [0, 1, 10, 14])
        start = self.file("start.csv", "0\n10\n")
        weights = self.file("weights.csv", "1\n1\n3\n1\n")
        out = self.path("out")
        self.succeed("kmeans", points, "-k", 2, "--init", start, "--weights", weights, "-o", out)
        self.assertEqual(read_npy(os.path.join(out, "centroids.npy"))[2], [0.5, 11.0])
        self.assertEqual(read_npy(os.path.join(out, "labels.npy"))[2], [0, 0, 1, 1])
        self.assertEqual(self.summary(points, "-k", 2, "--init", start, "--weights", weights)["init"], "given")

    def test_fewer_different_points_than_clusters(self):
        points = self.file("p.csv", "1,1\n5,5\n1,1\n1,1\n")
        refused = self.refused(3, "kmeans", points, "-k", 3, says=["only 2 different points"])
        (advice,) = advice_in(refused.stderr)
        self.refused(2, "kmeans", points, "-k", 3, advice.option, advice.value[:-1], says=[advice.option, advice.value])
        for init in ("k-means++", "k-means-parallel", "random", "first"):
            summary = self.summary(points, "-k", 3, "--init", init, advice.option, advice.value)
            self.assertEqual((sorted(summary["counts"]), summary["inertia"], summary["converged"]), ([0, 1, 3], 0, True))

    def test_options_of_single_variants(self):
        points = self.points()
        (problem,) = json.loads(self.succeed("list", "kmeans", "--json").stdout)
        owners = {}
        for variant in problem["variants"]:
            for row in variant.get("options", []):
                owners.setdefault((row["name"], (row["choices"] or [self.path("x.dot")])[-1]), []).append(variant["name"])
        self.assertGreater(len(owners), 2)
        for (name, value), variants in owners.items():
            option = "--" + name.replace("_", "-")
            self.refused(2, "kmeans", points, "-k", 3, "--variant", "sequential", option, value,
                         says=["'sequential' does not have the option " + option, *map("'{}'".format, variants)])
            self.assertEqual(self.summary(points, "-k", 3, "--variant", variants[0], option, value)["k"], 3)
            self.assertIn(option, self.succeed("kmeans", "--help").stdout)
        self.refused(2, "kmeans", points, "-k", 3, "--variant", "openmp_locked", "--lock", "clh", says=["--lock", "clh_lock"])
        self.refused(2, "kmeans", points, "-k", "2..3", "--variant", "tbb_flow_graph", "--dump-graph", self.path("x.dot"),
                     says=["--dump-graph: the graph belongs to one fit"])

    def test_weights_of_a_prediction(self):
        points = write_npy(self.path("p.npy"), "<f4", (4, 1), [0, 1, 10, 14])
        centroids = write_npy(self.path("c.npy"), "<f4", (2, 1), [0, 10])
        weights = self.file("weights.csv", "1\n3\n1\n0.5\n")
        answer = lambda *options: json.loads(self.succeed("predict", centroids, points, "--json", *options).stdout)
        self.assertEqual(answer()["inertia"], 17)
        self.assertEqual(answer("--weights", weights)["inertia"], 11)
        self.assertEqual(answer("--weights", weights)["labels"], [0, 0, 1, 1])
        self.refused(3, "predict", centroids, points, "--weights", self.file("w.csv", "1\n2\n"),
                     says=["w.csv", "2 weights for 4 points"])
        self.refused(2, "predict", centroids, points, "--weights", weights, "-o", weights, says=["weights.csv"])
        self.refused(2, "transform", centroids, points, "--weights", weights, says=["--weights"])

    def test_binary_weights_are_not_rounded_in_silence(self):
        points = self.points(n=3, d=1)
        exact = write_npy(self.path("exact.npy"), "<f8", (3,), [0.5, 1, 2])
        rounded = write_npy(self.path("rounded.npy"), "<f8", (3,), [0.5, 1, 0.1])
        self.succeed("kmeans", points, "-k", 2, "--weights", exact)
        self.refused(3, "kmeans", points, "-k", 2, "--weights", rounded, says=["rounded.npy", "row 2", "--dtype f64"])
        self.succeed("kmeans", points, "-k", 2, "--weights", rounded, "--dtype", "f64")

    def test_every_initialization_and_option(self):
        points = self.points()
        for init in ("k-means++", "k-means-parallel", "k-means||", "random", "first"):
            self.assertEqual(self.summary(points, "-k", 3, "--init", init)["init"], init.replace("||", "-parallel"))
        one = self.summary(points, "-k", 5, "--max-iterations", 1)
        self.assertEqual((one["iterations"], one["converged"]), (1, False))
        many = self.summary(points, "-k", 5, "--restarts", 4, "--seed", 11)
        self.assertEqual((many["restarts"], many["seed"]), (4, 11))
        self.assertLess(many["restart"], 4)
        self.assertEqual(self.summary(points, "-k", 5, "--metric", "cosine")["metric"], "cosine")
        for pin in ("none", "compact", "scatter"):
            self.succeed("kmeans", points, "-k", 5, "--pin", pin, "--threads", 2)
        for empty in ("relocate", "keep", "error"):
            self.succeed("kmeans", points, "-k", 2, "--empty", empty)

    def test_every_variant_by_its_name(self):
        points = self.points()
        for row in json.loads(self.succeed("list", "kmeans", "--json").stdout)[0]["variants"]:
            if not row["runs_here"]:
                continue
            result = gradus("kmeans", points, "-k", 3, "--variant", row["name"].replace("_", "-"), "--json")
            if result.returncode == 4:
                self.assertIn("cannot run here", result.stderr)  # the variant does not support this shape
            else:
                self.assertEqual(json.loads(result.stdout)["variant"], row["name"])


class Usage(Case):
    def test_misspelt_names_are_suggested(self):
        points = self.points()
        self.refused(2, "kmean", points, says=["'kmean'", "did you mean 'kmeans'?"])
        self.refused(2, "kmeans", points, "-k", 2, "--tolerence", 1, says=["--tolerence", "did you mean '--tolerance'?"])
        self.refused(2, "kmeans", points, "-k", 2, "--tread=2", says=["did you mean '--threads'?"])
        self.refused(2, "kmeans", points, "-k", 2, "--variant", "sequentail", says=["did you mean 'sequential'?", "gradus list"])
        self.refused(2, "kmeans", points, "-k", 2, "--init", "kmeans++", says=["did you mean 'k-means++'?"])
        self.refused(2, "kmeans", points, "-k", 2, "--pin", "scater", says=["did you mean 'scatter'?"])
        self.refused(2, "list", "k-mean", says=["did you mean 'kmeans'?"])
        self.refused(2, "help", "kmaens", says=["did you mean 'kmeans'?"])

    def test_wrong_use(self):
        points = self.points()
        for arguments, says in [
            (["kmeans"], ["INPUT... is missing"]),
            (["kmeans", points], ["-k", "missing"]),
            (["kmeans", points, "-k"], ["-k", "missing"]),
            (["kmeans", points, "-k", "0"], ["-k", "'0'", "from 1"]),
            (["kmeans", points, "-k", "-3"], ["-k", "'-3'"]),
            (["kmeans", points, "-k", "2.5"], ["'2.5'", "neither a number of clusters"]),
            (["kmeans", points, "-k", "99999999999999999999"], ["-k"]),
            (["kmeans", points, "-k", "2", "-k", "3"], ["more than once"]),
            (["kmeans", points, "-k", "2", "--standardize", "--seed"], ["--seed", "missing"]),
            (["kmeans", points, "-k", "2", "--standardize=junk"], ["--standardize", "'junk'", "neither true nor false"]),
            (["kmeans", points, "-k", "2", "--quality=10"], ["--quality", "'10'", "neither true nor false"]),
            (["kmeans", points, "-k", "2", "--certify=2"], ["--certify", "'2'", "neither true nor false"]),
            (["kmeans", points, "-k", "2", "--balanced=0.5"], ["--balanced", "'0.5'", "neither true nor false"]),
            (["kmeans", points, "-k", "2", "--balanced=20%"], ["--balanced", "'20%'", "neither true nor false"]),
            (["matmul", points, points, "more"], ["'more'"]),
            (["kmeans", points, "-k", "2", "--tolerance", "nan"], ["--tolerance", "'nan'"]),
            (["kmeans", points, "-k", "2", "--tolerance", "-1"], ["--tolerance", "at least 0"]),
            (["kmeans", points, "-k", 2, "--seed", 2**64], ["--seed", f"from 0 to {2**64 - 1}"]),
            (["kmeans", points, "-k", "2", "--changed", "1.5"], ["--changed", "from 0 to 1"]),
            (["kmeans", points, "-k", "2", "--threads", "0"], ["--threads"]),
            (["kmeans", points, "-k", "2", "--threads", "99999"], ["--threads", "4096"]),
            (["kmeans", points, "-k", "2", "--device", "tpu"], ["--device", "auto, cpu or gpu"]),
            (["kmeans", points, "-k", "2", "--memory-limit", "10Q"], ["--memory-limit", "500M"]),
            (["kmeans", points, "-k", "2", "--max-iterations", "0"], ["--max-iterations"]),
            (["kmeans", points, "-k", "2", "--restarts", "-1"], ["--restarts"]),
            (["kmeans", points, "-k", "2", "-o", ""], ["--output"]),
            (["kmeans", "-", "-k", "2", "--weights", "-"], ["standard input"]),
        ]:
            self.refused(2, *arguments, says=says)

    def test_no_such_device(self):
        self.refused(4, "kmeans", self.points(), "-k", 2, "--device", "gpu:7", says=["GPU"])

    def test_errors_as_json(self):
        self.refused_as_json(2, "kmeans")
        self.refused_as_json(3, "kmeans", "missing.npy", "-k", 2)

    def test_abbreviations_lead_to_the_name(self):
        points = self.points()
        for typed, name in {"--out": "--output", "--max": "--max-iterations", "--memory=1G": "--memory-limit"}.items():
            self.refused(2, "kmeans", points, "-k", 2, typed, says=["no option '%s'" % typed.split("=")[0],
                                                                  "did you mean '%s'?" % name])

    def test_two_hyphens_end_the_options(self):
        self.file("-x.csv", "1,2\n3,4\n5,6\n")
        write_npy(self.path("--json"), "<f4", (2, 1), [1, 2])

        def succeed(*arguments):
            return self.succeed(*arguments, cwd=self.folder).stdout

        self.assertIn("3 points", succeed("kmeans", "-k", 2, "--", "-x.csv"))
        self.assertIn("2 points", succeed("kmeans", "-k", 2, "--", "--json"))  # here, --json is the name of a file
        self.assertEqual(succeed("predict", "--", "-x.csv", "-x.csv"), "0\n1\n2\n")
        self.assertEqual(succeed("predict", "-x.csv".replace("-", "./-"), "--", "-x.csv"), "0\n1\n2\n")
        self.assertIn("3 points", succeed("kmeans", "-k", 2, "./-x.csv", "--"))
        for arguments, says in [
            (["kmeans", "-k", 2, "-x.csv"], ["there is no option '-x.csv'"]),
            (["kmeans", "--", "-x.csv"], ["-k, --clusters N is missing"]),
            (["kmeans", "--", "-x.csv", "-k", 2], ["-k, --clusters N is missing"]),  # here, -k is the name of a file
            (["matmul", "--", "-x.csv", "-x.csv", "-y.csv"], ["one argument too many: '-y.csv'"]),
            (["matmul", "./-x.csv", "./-x.csv", "--", "--json"], ["one argument too many: '--json'"]),
            (["matmul", "./-x.csv", "./-x.csv", "--", "list"], ["one argument too many: 'list'"]),
            (["kmeans", "-k", 2, "--"], ["INPUT... is missing"]),
            (["--", "kmeans"], ["the command comes first"]),
        ]:
            self.refused(2, *arguments, says=says, cwd=self.folder)

    def test_options_without_effect_are_refused(self):
        points = self.points()
        centroids, out = self.file("c.csv", "0,0,0\n1,1,1\n"), self.path("out.npy")
        for arguments, says in [
            (["kmeans", points, "-k", 2, "--init", "first", "--seed", 0], ["--seed has no effect", "--init first"]),
            (["kmeans", points, "-k", 2, "--init", centroids, "--seed", 3], ["--seed has no effect", "file"]),
            (["kmeans", points, "-k", 2, "--init", "first", "--restarts", 2], ["--restarts has no effect"]),
            (["kmeans", points, "-k", 2, "--device", "cpu", "--block-size", 96], ["block size", "runs on the CPU"]),
            (["kmeans", points, "-k", 2, "--variant", "sequential", "--block-size", 100], ["block size", "'sequential'"]),
            (["demo", "-o", out, "--device", "cpu", "--block-size", 96], ["block size"]),
            (["predict", centroids, points, "--device", "cpu", "--block-size", 96], ["block size"]),
            (["verify", "kmeans", "--variant", "cuda-naive", "--threads", 2], ["--threads has no effect"]),
            (["bench", "kmeans", "--scale", 1], ["--scale has no effect", "--shape"]),
            (["bench", "kmeans", "--experiment", "kmeans-openmp"], ["PROBLEM has no effect", "experiment"]),
            (["bench", "--experiment", "kmeans-openmp", "--dtype", "f32"], ["--dtype has no effect", "experiment"]),
            (["bench", "kmeans", "--data", points, "--shape", "9x3"], ["--shape has no effect", "--data"]),
            (["bench", "kmeans", "--variants", "sequential", "--block-size", 96], ["--block-size has no effect", "GPU"]),
            (["bench", "kmeans", "--variants", "sequential", "--threads", 2], ["--threads has no effect", "threads"]),
            (["bench", "kmeans", "--variants", "sequential", "--pin", "compact"], ["--pin has no effect"]),
        ]:
            self.refused(2, *arguments, says=says)
        self.assertFalse(os.path.exists(out))
        # The options refused above are accepted where they have an effect.
        self.succeed("kmeans", points, "-k", 2, "--init", "first", "--restarts", 1)
        self.succeed("kmeans", points, "-k", 2, "--init", "random", "--restarts", 2, "--seed", 3)

    def test_memory_limit(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 100000, "-o", points)
        job = ("kmeans", points, "-k", 2, "--init", "first", "--max-iterations", 1, "--threads", 1)
        # The smallest limit is the memory of simd_small_dim, which replaces simd_grid if memory does not suffice.
        needed = json.loads(self.succeed(*job, "--variant", "simd_small_dim", "--json").stdout)["memory_bytes"]
        self.assertTrue(2**18 < needed < 2**20, needed)
        for limit, amount in [("0.25M", "262144 bytes (256 KiB)"), ("262144", "262144 bytes (256 KiB)"),
                              (".25MiB", "262144 bytes (256 KiB)"), ("256k", "262144 bytes (256 KiB)"),
                              ("0.0001G", "107374 bytes (105 KiB)"), ("100", "100 bytes")]:
            shown = self.refused(1, *job, "--memory-limit", limit, says=["the memory limit allows only " + amount + "\n"])
            self.assertRegex(shown.stderr, r"needs %d bytes \([\d.]+ KiB\) of memory" % needed)
            self.assertNotIn("Execution", shown.stderr)
        self.refused(1, *job, "--memory-limit", needed - 1, says=["needs %d bytes" % needed, "only %d" % (needed - 1)])
        for limit in (needed, "1M", "1.5M", "0.001T", "1.5GiB"):
            self.succeed(*job, "--memory-limit", limit)
        for limit in ("0", "1.5", "0.1", "-1M", "1.5X", "1,5M", "M", "", "1e3M", "inf", "nanM", "1.5MB ", "99999999T", "0x10"):
            self.refused(2, *job, "--memory-limit", limit, says=["--memory-limit", "1.5G"])
        # The memory limit also applies to jobs that only label points. They read the points in blocks and therefore
        # need little memory.
        centroids = self.file("c.csv", "0,0\n1,1\n")
        self.refused(1, "predict", centroids, points, "--memory-limit", "1K", says=["the memory limit allows only 1024 bytes (1 KiB)"])
        self.succeed("predict", centroids, points, "--memory-limit", "100K", "--threads", 1, "-o", self.path("l.npy"))

    def test_a_refusal_names_a_limit_that_suffices(self):
        points, doubles, page = self.path("p.npy"), self.path("d.npy"), self.path("page.html")
        self.succeed("generate", "uniform", "-n", 20000, "-d", 9, "-o", points)
        self.succeed("generate", "uniform", "-n", 20000, "-d", 9, "--dtype", "f64", "-o", doubles)
        weights = self.file("w.csv", "".join(f"{row % 3 + 1}\n" for row in range(20000)))
        fit = ("kmeans", points, "-k", 3, "--max-iterations", 1)
        several = ("kmeans", points, "-k", "2..3", "--max-iterations", 1, "--silhouette-points", 200)
        jobs = [(*job, *more) for job in (fit, several) for more in ((), ("--standardize",), ("--report", page), ("--standardize", "--report", page))]
        jobs += [(*fit, *more) for more in (("--metric", "cosine"), ("--weights", weights), ("--restarts", 2), ("--init-rows", 500),
                                            ("--init", "k-means-parallel"), ("--standardize", "--init", "random"),
                                            ("--standardize", "--dtype", "f64"), ("--dtype", "f64", "--report", page),
                                            ("--checkpoint", self.path("fit.npz")))]
        jobs += [("kmeans", points, points, *fit[2:], *more) for more in ((), ("--standardize",), ("--report", page))]
        jobs += [("kmeans", doubles, *fit[2:], "--dtype", "f32", "--standardize", "--report", page)]
        small = write_npy(self.path("u.npy"), "|u1", (20000, 9), raw=bytes(at * 7919 % 251 for at in range(180000)))
        jobs += [("kmeans", small, *job[2:], *more) for job in (fit, several)
                 for more in ((), ("--metric", "cosine"), ("--standardize", "--report", page))]
        jobs += [("kmeans", small, small, *fit[2:])]
        for job in jobs:
            with self.subTest(job=job[1:]):
                job = (*job, "--threads", 1, "--quiet")
                refused = self.refused(1, *job, "--memory-limit", 1, says=["the memory limit allows only 1 byte"])
                self.assertFalse(os.path.exists(page))
                needed = int(re.search(r"needs (\d+) bytes", refused.stderr)[1])
                self.succeed(*job, "--memory-limit", needed)
                for made in (page, self.path("fit.npz")):
                    if os.path.exists(made):
                        os.remove(made)

    def test_one_file_is_not_several(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 20000, "-d", 9, "-o", points)
        job = ("-k", 3, "--memory-limit", 1000)
        one = self.refused(1, "kmeans", points, "--dtype", "f64", *job, says=["a .npy file in the points' type is read in place"])
        self.assertNotIn("several", one.stderr)
        self.refused(1, "kmeans", points, points, *job, says=["one .npy file in place of several in the points' type is read in place"])

    def test_one_is_singular(self):
        one, two = self.file("one.csv", "1\n"), self.file("two.csv", "1\n2\n")
        text = self.succeed("kmeans", one, "-k", 1, "--threads", 1, "--max-iterations", 1).stdout.splitlines()[-1]
        self.assertRegex(text, r"^1 point x 1 \(f64\) in 1 cluster: inertia 0, 1 iteration \(.*, 1 thread$")
        text = self.succeed("kmeans", two, "-k", 2, "--threads", 2).stdout.splitlines()[-1]
        self.assertRegex(text, r"^2 points x 1 \(f64\) in 2 clusters: .*, 2 threads$")
        self.assertIn(" 1 point to ", self.succeed("predict", one, one, "-o", self.path("l.csv")).stderr)
        self.assertIn("of 2 points to 1 centroid to", self.succeed("transform", one, two, "-o", self.path("d.csv")).stderr)


class BadInput(Case):
    """Checks that a command with invalid input ends with a clear message, the correct exit status, and no output."""

    def refuse(self, status, *arguments, says=(), **options):
        out = self.path("parent/out")
        self.refused(status, "kmeans", *arguments, "-o", out, says=says, **options)
        self.assertFalse(os.path.exists(self.path("parent")), "output was left")

    def test_files(self):
        self.refuse(3, self.path("missing.npy"), "-k", 2, says=["missing.npy", "No such file"])
        self.refuse(3, self.folder, "-k", 2, says=[self.folder, "directory"])
        for name in ("empty.npy", "empty.csv", "empty.png", "empty"):
            self.refuse(3, self.file(name, b""), "-k", 2, says=[name, "empty"])
        self.refuse(3, self.file("what.bin", b"hello"), "-k", 2, says=["what.bin", ".npy", ".xyz", ".dump"])
        self.refuse(3, self.file("atoms.xyz", b"1\n\nH 0 0 0\n"), "-k", 2, says=["atoms.xyz", "trajectory", "one set of points"])
        self.refuse(3, self.file("bad.png", b"\x89PNG\r\n\x1a\n1234"), "-k", 2, says=["bad.png"])
        self.refuse(3, self.file("bad.jpg", b"\xff\xd8\xff\xe0"), "-k", 2, says=["bad.jpg"])
        self.refuse(3, "-", "-k", 2, stdin="", says=["standard input"])

    def test_npy(self):
        path = self.path("a.npy")
        for says, options in [
            (["takes 240 bytes", "200 are there"], dict(dtype="<f4", shape=(20, 3), raw=b"x" * 200)),
            (["takes 240 bytes", "280 are there"], dict(dtype="<f4", shape=(20, 3), raw=b"x" * 280)),
            (["overflows"], dict(dtype="<f4", shape=(2**62, 2**62), raw=b"x" * 200)),
            (["|O", "Python objects"], dict(dtype="|O", shape=(20, 3), raw=b"x" * 240)),
            (["<c8", "complex"], dict(dtype="<c8", shape=(2, 3), raw=b"x" * 48)),
            (["one or two dimensions"], dict(dtype="<f4", shape=(2, 2, 2), raw=b"x" * 32)),
            (["header"], dict(dtype="", shape=(), header="{'descr': '<f4', 'shape': (2,)", raw=b"x" * 8)),
            (["header"], dict(dtype="", shape=(), header="__import__('os').system('true')", raw=b"x" * 8)),
            (["version"], dict(dtype="<f4", shape=(2, 1), raw=b"x" * 8, version=b"\x09\x00")),
            (["at least one row"], dict(dtype="<f4", shape=(0, 3), raw=b"")),
            (["header"], dict(dtype="<f4", shape=(-3, 3), raw=b"")),
        ]:
            write_npy(path, **options)
            self.refuse(3, path, "-k", 2, says=["a.npy"] + says)
        self.refuse(3, self.file("short.npy", b"\x93NUMPY\x01\x00\xff\xff{}"), "-k", 2, says=["short.npy", "header"])
        self.refuse(3, self.file("other.npy", b"PK\x03\x04 and so on"), "-k", 2, says=["other.npy", "is a ZIP archive"])

    def test_csv_names_line_and_column(self):
        for text, place in [
            ("a,b\n1,2\n3\n", ":3:2: "),
            ("1,2\n3,4,5\n", ":2:3: "),
            ("1,2\n3,x\n", ":2:2: 'x'"),
            ("1,2\n,4\n", ":2:1: "),
            ("1,2\n3,nan\n", ":2:2: 'nan'"),
            ("1,2\n3,1e999\n", ":2:2: "),
            ("1,2\n\n3,4\n", ":2:"),
            ('1,2\n"3,4\n', ":2:1: the field '\"3,4' has no closing quote"),
            ('1,2\n3,"4,5"\n', ":2:2: '\"4,5\"' is not a number"),
            ("1,2\n#N/A,4\n5,6\n", ":2:1: "),
            ("1.5,N/A,2\n3,4,5\n", ":1:2: 'N/A'"),
            ("0x10,2\n3,4\n", ":1:1: '0x10'"),
            ("1.5,abc,2\n3,4,5\n", ":1:2: 'abc'"),
        ]:
            self.refuse(3, self.file("a.csv", text), "-k", 1, says=["a.csv" + place])
            self.refuse(3, "-", "-k", 1, stdin=text, says=["standard input" + place])

    def test_binary_data_in_the_place_of_text(self):
        array = content(write_npy(self.path("a.npy"), "<f4", (2, 2), [1, 2, 3, 4]))
        for name in ("a.csv", "a.txt", "a.tsv"):
            self.refuse(3, self.file(name, array), "-k", 1, says=[name, "is a .npy array", "ends in .npy"])
        result = gradus("kmeans", "-", "-k", 1, stdin=content(os.path.join(DATA, "picture.png")), text=False)
        self.assertEqual((result.returncode, result.stdout), (3, b""))
        self.assertIn(b"standard input is a picture (PNG)", result.stderr)

    def test_values(self):
        nan, inf = float("nan"), float("inf")
        for dtype in ("<f4", "<f8"):
            self.refuse(3, write_npy(self.path("a.npy"), dtype, (3, 2), [1, 2, 3, nan, 5, nan]), "-k", 2,
                        says=["a.npy", "row 1", "NaN"])
            self.refuse(3, write_npy(self.path("a.npy"), dtype, (3, 2), [1, 2, 3, 4, -inf, 6]), "-k", 2,
                        says=["a.npy", "row 2", "infinite"])
        self.refuse(3, write_npy(self.path("a.npy"), "<f8", (2, 1), [1, 1e160]), "-k", 2,
                    says=["a.npy", "row 1", "too large", "2^500"])
        self.refuse(3, self.file("a.csv", "x\n1e39\n2\n"), "-k", 2, "--dtype", "f32", says=["1e+39 is beyond"])

    def test_differences_whose_squares_are_zero(self):
        for dimensions in (1, 3):
            tiny = write_npy(self.path("tiny.npy"), "<f8", (3 * dimensions, dimensions),
                             [row * 1e-170 for row in range(3 * dimensions) for _ in range(dimensions)])
            self.refuse(3, tiny, "-k", 2, says=["tiny.npy", "e-170", "zero in double", "scale the points up"])
            self.refuse(3, tiny, "-k", 2, "--init", "first", says=["zero in double"])
            self.refused(3, "predict", tiny, tiny, says=["zero in double"])
            self.succeed("kmeans", tiny, "-k", 1)
            self.succeed("kmeans", tiny, "-k", 1, "--init", "random")
        visible = write_npy(self.path("visible.npy"), "<f8", (3, 1), [1e-160, 2e-160, 9e-160])
        self.succeed("kmeans", visible, "-k", 2)

    def test_clusters(self):
        points = self.points(n=20)
        self.refuse(2, points, "-k", 0, says=["-k"])
        self.refuse(3, points, "-k", 21, says=["21 clusters", "20 points"])
        same = write_npy(self.path("same.npy"), "<f4", (6, 1), [1, 2, 1, 2, 1, 2])
        self.refuse(3, same, "-k", 3, says=["same.npy", "3 clusters", "are only 2 different points"])
        one = write_npy(self.path("one.npy"), "<f4", (2, 1), [7, 7])
        self.refuse(3, one, "-k", 2, says=["is only 1 different point;"])
        for init in ("random", "first", "k-means-parallel"):
            self.refuse(3, same, "-k", 3, "--init", init, says=["2 different"])

    def test_weights(self):
        points = self.points(n=4)
        for text, says in [("1\n2\n-1\n4\n", ["row 2", "negative"]), ("1\n2\n3\n", ["3 weights for 4 points"]),
                           ("0\n0\n0\n0\n", ["zero"]), ("2,1\n3,4\n", ["one value per row"]), ("1\nx\n3\n4\n", [":2:1"])]:
            self.refuse(3, points, "-k", 2, "--weights", self.file("w.csv", text), says=["w.csv"] + says)
        self.refuse(3, points, "-k", 2, "--dtype", "f64", "--weights", self.file("w.csv", "1\n2\n1e200\n4\n"),
                    says=["w.csv", "row 2", "too large", "2^500"])
        self.refuse(3, points, "-k", 2, "--weights", self.path("none.csv"), says=["none.csv", "No such file"])

    def test_centroids(self):
        points = self.points(n=20)
        for shape in ((2, 2), (3, 3), (1, 3)):
            start = write_npy(self.path("c.npy"), "<f4", shape, list(range(shape[0] * shape[1])))
            self.refuse(3, points, "-k", 2, "--init", start, says=["c.npy", "%d x %d" % shape, "2 x 3"])
        self.refuse(3, points, "-k", 2, "--init", self.path("none.npy"), says=["none.npy", "No such file"])
        broken = write_npy(self.path("nan.npy"), "<f4", (2, 3), [1, 2, 3, 4, float("nan"), 6])
        self.refuse(3, points, "-k", 2, "--init", broken, says=["nan.npy", "row 1", "NaN"])

    def test_too_little_memory(self):
        self.refuse(1, self.points(), "-k", 2, "--memory-limit", 100, says=["bytes", "100"])

    def test_cosine_needs_directions(self):
        zero = write_npy(self.path("z.npy"), "<f4", (3, 2), [1, 2, 0, 0, 3, 4])
        self.refuse(3, zero, "-k", 2, "--metric", "cosine", says=["z.npy", "row 1", "zeros"])


class Output(Case):
    def test_unwritable(self):
        points = self.points()
        file = self.file("file", "in the way")
        self.refused(1, "kmeans", points, "-k", 2, "-o", os.path.join(file, "out"), says=["file/out"])
        self.refused(1, "kmeans", points, "-k", 2, "-o", "/proc/out", says=["/proc/out"])
        self.refused(1, "predict", points, points, "-o", self.path("no/such/x.npy"), says=["no/such/x.npy"])
        if os.geteuid() != 0:
            closed = self.path("closed")
            os.mkdir(closed, 0o555)
            self.refused(1, "kmeans", points, "-k", 2, "-o", os.path.join(closed, "out"), says=["Permission denied"])

    def test_no_input_is_overwritten(self):
        os.makedirs(self.path("fit"))
        points = self.file("fit/labels.npy", content(self.points()))
        table = self.file("points.csv", "x,y\n1,2\n3,4\n5,7\n")
        centroids = self.file("fit/centroids.npy", content(points))
        files = (points, table, centroids)
        for arguments in (
            ("kmeans", points, "-k", 2, "-o", self.path("fit")),
            ("kmeans", table, "-k", 1, "--init", centroids, "-o", self.path("fit")),
            ("predict", points, centroids, "-o", centroids),
            ("predict", points, centroids, "-o", points),
            ("transform", centroids, points, "-o", centroids),
        ):
            self.refused_to_overwrite(files, *arguments)
        before = content(table)
        refused = gradus("bench", "kmeans", "--data", table, "-k", 1, "--json", table)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("would be overwritten", refused.stderr)
        self.assertEqual(content(table), before)
        self.refused(2, "kmeans", table, "-k", 1, "-o", "-", says=["--output: '-' is not a folder"])

    def test_limit_on_the_size_of_files(self):
        def limit():  # the limit still allows the files with which an OpenMP runtime shares data between its libraries
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        points = self.points(n=300000, d=1)
        self.refused(1, "kmeans", points, "-k", 2, "-o", self.path("out"), preexec=limit, says=["labels.npy", "large"])
        self.assertEqual(os.listdir(self.folder), ["points.npy"])

    def test_full_file_system(self):
        points = self.points(n=20000)
        small = self.path("small")
        os.mkdir(small)
        said = self.refused_for_want_of_space(small, "kmeans", points, "-k", 2, "-o", os.path.join(small, "out"))
        self.assertIn("labels.npy", said)

    def test_more_than_the_disk_holds(self):
        """If a result does not fit on the disk, the command refuses it before it writes anything. The message states
        both sizes."""
        points = self.points(n=20000, d=1)
        small = self.path("small")
        os.mkdir(small)
        for job in [["predict", points, points, "-o", os.path.join(small, "out.npy")],  # the same file serves as points and as centroids
                    ["transform", points, points, "-o", os.path.join(small, "out.npy")],
                    ["transform", points, points, "-o", os.path.join(small, "out.csv")]]:
            self.refused_for_want_of_space(small, *job)
        self.assertEqual(sorted(os.listdir(self.folder)), ["points.npy", "small"])

    def test_report_of_a_picture(self):
        picture, page, out = os.path.join(DATA, "picture.png"), self.path("page.html"), self.path("out")
        self.succeed("kmeans", picture, "-k", "2..4", "--report", page, "-o", out, "--quiet")
        summary = json.loads(content(os.path.join(out, "summary.json")))
        pictures = self.pictures_of(page)
        self.assertEqual(list(pictures), ["before", f"in {summary['k']} colours"])
        before, after = pictures.values()
        self.assertEqual(read_png(self.file("before.png", before)), read_png(picture))
        self.assertEqual(after, content(os.path.join(out, "quantized.png")))
        charts = self.charts_of(page)
        for key in ("inertia", "silhouette", "calinski_harabasz", "davies_bouldin"):
            rows = charts[key.replace("_", " ") + " by k"][1:]
            self.assertEqual([[int(k), float(value)] for k, value in rows], [[fit["k"], fit[key]] for fit in summary["choice"]["fits"]])
        self.assertEqual([int(row[1]) for row in charts["counts"][1:]], summary["counts"])

    def test_files_of_an_earlier_result_go(self):
        out = self.path("out")
        picture = os.path.join(DATA, "picture.png")
        self.succeed("kmeans", picture, "-k", 3, "-o", out)
        self.assertIn("quantized.png", os.listdir(out))
        for foreign in ([], ["mine.txt"]):
            for name in foreign:
                self.file(os.path.join(out, name), "of the user")
            self.refused(3, "kmeans", self.points(), "-k", 2000, "-o", out)
            self.assertIn("quantized.png", os.listdir(out))
            self.succeed("kmeans", self.points(), "-k", 3, "-o", out)
            self.assertEqual(sorted(os.listdir(out)), sorted(["centroids.npy", "labels.npy", "summary.json", *foreign]))
            self.succeed("kmeans", picture, "-k", 3, "-o", out)
        self.assertEqual(content(os.path.join(out, "mine.txt"), "r"), "of the user")

    def test_summary_names_its_files_and_readers_check_them(self):
        points = self.points()
        out, other = self.path("out"), self.path("other")
        self.succeed("kmeans", points, "-k", 3, "-o", out)
        self.succeed("kmeans", points, "-k", 3, "--init", "first", "--max-iterations", 1, "-o", other)
        with open(os.path.join(out, "summary.json")) as file:
            files = json.load(file)["files"]
        self.assertEqual(sorted(files), ["centroids.npy", "labels.npy"])
        for name, facts in files.items():
            data = content(os.path.join(out, name))
            self.assertEqual(facts, {"bytes": len(data), "crc32": "%08x" % zlib.crc32(data)})
        centroids = os.path.join(out, "centroids.npy")
        readers = [["predict", centroids, points], ["transform", centroids, points],
                   ["kmeans", points, "-k", 3, "--init", centroids]]
        for reader in readers:
            self.succeed(*reader)
        # The folder now has the summary of one run and the centroids of another run.
        shutil.copy(os.path.join(other, "centroids.npy"), centroids)
        for reader in readers:
            self.refused(3, *reader, says=["centroids.npy", "summary.json", "written in part"])
        # If the summary in the folder is not from k-means, nothing is checked.
        summary = os.path.join(out, "summary.json")
        for text in ["no JSON", "[]", "{}", '{"problem": "other", "files": {"centroids.npy": {}}}', '{"problem": 3}',
                     '{"problem": "kmeans", "files": 3}', None]:
            os.remove(summary)
            if text is not None:
                self.file(summary, text)
            for reader in readers:
                self.succeed(*reader)
        self.file(summary, '{"problem": "kmeans", "unfinished": ""}')
        for reader in readers:
            self.refused(3, *reader, says=["centroids.npy", "summary.json", "unfinished"])

    def test_existing_output_is_replaced_only_by_a_whole_one(self):
        points = self.points()
        out = self.path("out")
        self.succeed("kmeans", points, "-k", 2, "-o", out)
        before = {name: content(os.path.join(out, name)) for name in os.listdir(out)}
        self.refused(3, "kmeans", points, "-k", 2000, "-o", out)
        after = {name: content(os.path.join(out, name)) for name in os.listdir(out)}
        self.assertEqual(before, after)
        self.succeed("kmeans", points, "-k", 3, "-o", out)
        self.assertEqual(read_npy(os.path.join(out, "centroids.npy"))[1], (3, 3))


class Interrupt(InterruptCase):
    def long_job(self, *more):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 100000, "-d", 8, "-o", points)
        out = self.path("out")
        job = subprocess.Popen(
            [GRADUS, "kmeans", points, "-k", "300", "--variant", "sequential", "--init", "first", "--tolerance", "0",
             "--max-iterations", "1000000", "-o", out, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until(job, lambda: os.path.isdir(out))  # the job makes the folder before it starts its work
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.wait_until_busy(job, 0.5)
        return job

    def test_interrupt(self):
        self.assertEqual(self.check(signal.SIGINT, self.long_job()), "")

    def test_terminate(self):
        self.assertEqual(json.loads(self.check(signal.SIGTERM, self.long_job("--json")))["exit_status"], 130)

    def test_within_an_iteration(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 30000, "-d", 32, "-o", points)
        self.stops_soon("kmeans", points, "-k", 29000, "--variant", "sequential", "--init", "first",
                        "-o", self.path("out"), when=lambda job: self.wait_until_busy(job, 1.0))
        self.stops_soon("predict", points, points, "--variant", "sequential", "-o", self.path("l.npy"),
                        when=lambda job: self.wait_until_busy(job, 1.0))

    def test_while_a_table_is_read(self):
        points = self.path("p.csv")
        with open(points, "wb") as file:
            piece = b"0.1234567890123456,0.7654321098765432\n" * 100000
            for _ in range(120):
                file.write(piece)
        self.stops_soon("kmeans", points, "-k", 2, "-o", self.path("out"),
                        when=lambda job: self.wait_until_busy(job, 0.2))
        os.remove(points)

    def test_while_a_table_is_written(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 200000, "-d", 2, "-o", points)
        centroids = self.path("c.npy")
        self.succeed("generate", "uniform", "-n", 200, "-d", 2, "-o", centroids)

        def has_written(job):  # the file that the job writes may have no name yet, so this searches the job's descriptors
            files = f"/proc/{job.pid}/fd"
            for number in os.listdir(files):
                try:
                    target = os.readlink(f"{files}/{number}")
                    if (target.startswith(self.folder) and target != points and target != centroids
                            and os.stat(f"{files}/{number}").st_size > 1000000):
                        return True
                except OSError:  # the job closed the descriptor in the meantime
                    pass
            return False

        def writes(job):
            self.wait_until(job, lambda: has_written(job))
        self.stops_soon("transform", centroids, points, "-o", self.path("d.csv"), when=writes)

    def test_while_nobody_reads_the_result(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 100000, "-d", 2, "-o", points)

        def pending(job):
            return struct.unpack("i", fcntl.ioctl(job.stdout, termios.FIONREAD, struct.pack("i", 0)))[0]

        def waits(job):  # waits until the job is blocked, because its labels exceed the capacity of the pipe
            self.wait_until(job, lambda: pending(job) >= 4096)
            time.sleep(0.5)
        centroids = self.file("c.csv", "1,2\n3,4\n")
        self.stops_soon("predict", centroids, points, when=waits)

    def test_while_standard_input_is_read(self):
        job = subprocess.Popen([GRADUS, "kmeans", "-", "-k", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        job.stdin.write("1,2\n")
        job.stdin.flush()
        self.wait_until_signals_are_awaited(job)
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(timeout=60), 130)
        stderr = job.stderr.read()
        self.assertIn("stopped", stderr)
        job.stdin.close()
        job.stdout.close()
        job.stderr.close()


class Headers(Case):
    """If the first line of a table may be a header, the program reports its assumption or asks the user."""

    def rows(self, text, *options):
        result = self.succeed("predict", self.centroids, self.file("p.csv", text), *options)
        return len(result.stdout.splitlines()), result.stderr

    def setUp(self):
        super().setUp()
        self.centroids = write_npy(self.path("c.npy"), "<f8", (1, 3), [1, 2, 3])

    def test_doubtful_lines_are_said(self):
        below = "\n5,6,9\n3,1,2\n"
        for line, count in [("0,1,2", 3), ("1,2,3", 3), ("1990,1991,1992", 3), ("1990,2000,2001", 3), ("400,402,404", 3),
                            ("id,2019,2020", 2), ("1st,2nd,3rd", 2), ("x,N/A,y", 2)]:
            rows, said = self.rows(line + below)
            self.assertEqual(rows, count, line)
            self.assertIn("p.csv:1: the first line, '%s', is read as %s" % (line, "a row" if count == 3 else "names"), said)
            self.assertEqual(self.rows(line + below, "--quiet"), (count, ""))
            self.assertEqual(self.rows(line + below, "--header", "yes"), (2, ""), line)
        for line, count in [("x,y,z", 2), ("2.5,0,1", 3), ("7,7,7", 3), (",x,y", 2)]:
            self.assertEqual(self.rows(line + below), (count, ""), line)

    def test_no_and_yes(self):
        self.assertEqual(self.rows("0,1,2\n5,6,9\n", "--header", "no"), (2, ""))
        text = self.file("t.csv", "x,y,z\n5,6,9\n")
        self.refused(3, "predict", self.centroids, text, "--header", "no", says=["t.csv:1:1: 'x' is not a number"])
        rows, said = self.rows("1.5,7,2\n5,6,9\n", "--header", "yes")
        self.assertEqual(rows, 1)
        self.assertIn("p.csv:1: the first line, '1.5,7,2', is made of numbers", said)
        names = self.succeed("kmeans", "-", "-k", 1, "--header", "yes", stdin="0,1\n5,6\n").stdout
        self.assertEqual(names.splitlines()[0].split(), ["cluster", "size", "share", "0", "1"])
        self.refused(2, "predict", self.centroids, text, "--header", "maybe", says=["--header", "auto, yes or no"])

    def test_every_table_of_a_command(self):
        points = self.file("p.csv", "0,1\n5,6\n7,9\n")
        for lines in ("1\n2\n", "weight\n1\n2\n"):  # a list has a header if its first line is a word
            weights = self.file("w.csv", lines)
            summary = json.loads(self.succeed("kmeans", points, "-k", 1, "--weights", weights, "--header", "yes", "--json").stdout)
            self.assertEqual(summary["n"], 2)
        folder = self.path("fit")
        self.succeed("kmeans", points, "-k", 2, "--header", "yes", "-o", folder)
        self.succeed("check", folder, points, "--header", "yes", "--labels", self.file("labels.csv", "1\n0\n"))
        self.refused(2, "kmeans", self.centroids, "-k", 1, "--weights", weights, "--header", "yes", says=["--header", "points"])

    def test_no_meaning_without_a_table(self):
        says = ["--header is for points in tables of text"]
        for header in ("yes", "no"):
            option = "--header", header
            self.refused(2, "kmeans", self.centroids, "-k", 1, *option, says=says)
            self.refused(2, "kmeans", os.path.join(DATA, "picture.png"), "-k", 1, *option, says=says)
            self.refused(2, "predict", self.centroids, self.centroids, *option, says=says)
            self.refused(2, "transform", self.centroids, self.centroids, *option, says=says)
            self.refused(2, "bench", "kmeans", *option, says=says)
            self.refused(2, "bench", "--experiment", "kmeans-simt", *option, says=["an experiment has its own"])
        self.succeed("kmeans", self.centroids, "-k", 1, "--header", "auto")


class Bench(Case):
    def test_kmeans(self):
        text = self.succeed("bench", "kmeans", "--shape", "500x3", "-k", 4, "--variants", "sequential,openmp_reduce",
                            "--threads", 2, "--repeats", 2).stdout
        self.assertIn("500 x 3 f32 uniform, k = 4, at most 10 iterations\nverified: all points against the oracle", text)
        self.assertIn("ms/iteration", text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[3:5]], ["sequential", "openmp_reduce"])
        answer = json.loads(self.succeed("bench", "kmeans", "--shape", "500x3", "-k", 4, "--variants", "sequential",
                                         "--repeats", 2, "--json").stdout)
        self.assertEqual(answer["problem"], "kmeans")
        self.assertEqual(list(answer["groups"][0]), ["label", "title", "points", "n", "d", "k", "dtype", "iterations", "verified",
                                                     "rows"])
        self.assertEqual(list(answer["groups"][0]["rows"][0]), [
            "variant", "threads", "pinning", "block_size", "contract", "seconds", "iterations",
            "milliseconds_per_iteration", "median_milliseconds_in_an_iteration", "speedup", "phases",
            "share_of_read_bandwidth", "share_of_fma_rate", "peak_memory_bytes", "rechecked", "inertia", "samples"])

    def test_wrong_use(self):
        for arguments, words in {
            ("kmeans", "--bin-width", 1): "kmeans has none",
            ("kmeans", "--box", "1,1"): "kmeans has none",
            ("--experiment", "kmeans-openmp", "--bins", 3): "experiment",
        }.items():
            self.refused(2, "bench", *arguments, says=[words])


class GpuScaling(Case):
    """Runs bench/scaling/gpus.py with a program that uses the CPU in place of two GPUs."""

    def scaling(self, *more, broken="none"):
        program = self.file("gradus", f"""#!{sys.executable}
import json, subprocess, sys
words, gpus = sys.argv[1:], None
if words[0] == "info":
    print(json.dumps({{"gpus": [{{"usable": True}}, {{"usable": True}}, {{"usable": False}}]}}))
    sys.exit()
if "--gpus" in words:
    at = words.index("--gpus")
    gpus = words[at + 1]
    words[at:at + 2] = ["--device", "cpu"]
status = subprocess.call([{GRADUS!r}, *words])
if gpus == {broken!r}:
    open(words[-1] + "/labels.npy", "ab").write(b"!")
sys.exit(status)
""")
        os.chmod(program, 0o755)
        script = os.path.join(os.path.dirname(DATA), "bench", "scaling", "gpus.py")
        command = [sys.executable, script, "--program", program, "--scale", 0.004, "--repeats", 2, "--json", self.path("s.json"),
                   "--folder", self.folder, *more]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False)

    def test_the_result_and_its_page(self):
        result = self.scaling("--page", self.path("s.html"))
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(content(self.path("s.json")))
        curves = answer["scaling"]["curves"]
        self.assertEqual([curve["kind"] for curve in curves], ["strong", "weak"] * 5)
        charts = self.charts_of(self.path("s.html"))
        for curve in curves:
            self.assertIn(curve["title"], result.stdout)
            one, two = curve["points"]
            self.assertEqual([one["gpus"], two["gpus"], two["rows"] / one["rows"]], [1, 2, 2 if curve["kind"] == "weak" else 1])
            work = one["seconds"] / (1 if curve["kind"] == "weak" else 2)
            self.assertEqual(one["efficiency"], 1)
            self.assertAlmostEqual(two["efficiency"], work / two["seconds"])
            shown = charts["time by GPUs: " + curve["title"]]
            for name, figure in (("measured", "seconds"), ("floor", "floor_seconds"), ("model", "model_seconds")):
                column = shown[0].index(name)
                self.assertEqual([float(row[column]) for row in shown[1:]], [1000 * point[figure] for point in (one, two)])
            for point in (one, two):
                self.assertAlmostEqual(point["model_seconds"] / point["seconds"] - 1, point["model_deviation"])
            self.assertAlmostEqual(one["model_seconds"], one["rows"] * curve["seconds_per_row"] + curve["seconds_per_iteration"])
        self.assertEqual([[len(row["samples"]) for row in group["rows"]] for group in answer["groups"]], [[2]] * 15)
        predicted = answer["scaling"]["predicted"]["curves"]
        shown = charts["predicted efficiency by GPUs"]
        self.assertEqual([row[0] for row in shown[1:]], ["1", "2", "4", "8", "16", "64", "256", "1000"])
        for column, curve in enumerate(predicted, 1):
            self.assertIn("predicted", shown[0][column])
            self.assertEqual([float(row[column]) for row in shown[1:]], [100 * point["efficiency"] for point in curve["points"]])
            self.assertEqual(curve["points"][0]["efficiency"], 1)
        self.succeed("compare", self.path("s.json"), self.path("s.json"))

    def test_a_wrong_result_ends_it(self):
        result = self.scaling(broken="2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the result of 2 GPUs differs from the result of one GPU", result.stderr)


class Predict(Case):
    def test_labels_are_those_of_the_fit(self):
        for dtype in ("f32", "f64"):
            points, out = self.path("p.npy"), self.path("out" + dtype)
            self.succeed("generate", "blobs", "-n", 1000, "-d", 3, "--dtype", dtype, "-o", points)
            self.succeed("kmeans", points, "-k", 7, "-o", out)
            centroids, labels = os.path.join(out, "centroids.npy"), os.path.join(out, "labels.npy")
            again = self.path("labels.npy")
            self.succeed("predict", centroids, points, "-o", again)
            self.assertEqual(content(again), content(labels))
            text = self.succeed("predict", centroids, points).stdout
            self.assertEqual([int(line) for line in text.splitlines()], read_npy(labels)[2])
            answer = json.loads(self.succeed("predict", centroids, points, "--json").stdout)
            self.assertEqual(answer["labels"], read_npy(labels)[2])
            with open(os.path.join(out, "summary.json")) as file:
                summary = json.load(file)
            self.assertEqual((answer["inertia"], answer["counts"]), (summary["inertia"], summary["counts"]))

    def test_transform(self):
        centroids = self.file("c.csv", "0,0\n3,4\n")
        points = self.file("p.csv", "0,0\n6,8\n")
        self.assertEqual(self.succeed("transform", centroids, points).stdout, "0,5\n10,5\n")
        out = self.path("d.npy")
        self.succeed("transform", centroids, points, "-o", out)
        self.assertEqual(read_npy(out), ("<f8", (2, 2), [0, 5, 10, 5]))
        out = self.path("d.csv")
        self.succeed("transform", centroids, points, "-o", out)
        self.assertEqual(content(out, "r"), "0,5\n10,5\n")
        answer = json.loads(self.succeed("transform", centroids, points, "--json").stdout)
        self.assertEqual(answer["distances"], [[0, 5], [10, 5]])

    def test_mixed_types_meet_in_the_wider_one(self):
        centroids = write_npy(self.path("c.npy"), "<f4", (2, 1), [0, 1])
        points = write_npy(self.path("p.npy"), "<f8", (2, 1), [0.4999999999, 0.5000000001])
        self.assertEqual(self.succeed("predict", centroids, points).stdout, "0\n1\n")

    def test_bad_input(self):
        centroids = self.file("c.csv", "0,0\n3,4\n")
        self.refused(3, "predict", centroids, self.file("p.csv", "1,2,3\n"), says=["c.csv", "2 x 2", "3 columns"])
        self.refused(3, "predict", centroids, self.path("none.csv"), says=["none.csv"])
        self.refused(2, "predict", "-", "-", says=["standard input"])
        self.refused(2, "predict", centroids, says=["INPUT... is missing"])
        self.refused(2, "transform", centroids, centroids, "--variant", "sequential", says=["no option", "--variant"])
        out = self.path("x.npy")
        self.refused(3, "transform", centroids, self.file("p.csv", "1,2,3\n"), "-o", out)
        self.assertFalse(os.path.exists(out))

    def test_ending_of_the_output(self):
        missing = self.path("missing.npy")  # the ending of the output's name is refused before any file is read
        for command in ("predict", "transform"):
            self.refused(2, command, missing, missing, "-o", self.path("l.json"), says=["--output", ".npy, .csv or .txt"])


class Tables(Case):
    """Tests tables in which names and text stand next to numbers."""

    FLOWERS = ("id,length,width,species\n" + "".join(
        "f%d,%s,%s,%s\n" % (row, length, width, species) for row, (length, width, species) in enumerate([
            (5.1, 3.5, "setosa"), (4.9, 3.0, "setosa"), (7.0, 3.2, "versicolor"), (6.4, 3.1, "versicolor"),
            (6.3, 3.3, "virginica"), (5.8, 2.7, '"virginica, or so"')])))

    def flowers(self):
        return self.file("flowers.csv", self.FLOWERS)

    def fit(self, *options, name="fit"):
        out = self.path(name)
        self.succeed("kmeans", self.flowers(), "-k", 2, "--id-column", "id", "--drop-columns", "species", "-o", out, *options)
        return out

    def summary(self, out):
        with open(os.path.join(out, "summary.json")) as file:
            return json.load(file)

    def test_columns_of_every_command(self):
        flowers = self.flowers()
        centroids = self.file("c.csv", "5,3\n7,3\n")
        for command in (["kmeans", flowers, "-k", 2], ["predict", centroids, flowers], ["transform", centroids, flowers],
                        ["pair-histogram", flowers, "--bin-width", 1, "--bins", 5]):
            self.refused(3, *command, says=["flowers.csv:2:1: 'f0' is not a number", "columns 'id' and 'species' are text",
                                            "--drop-columns id,species"])
            whole = self.succeed(*command, "--drop-columns", "id,species").stdout
            for columns in (["--columns", "length,width"], ["--columns", "2-3"], ["--columns", "2,width"],
                            ["--drop-columns", "1,4"]):
                self.assertEqual(self.succeed(*command, *columns).stdout.split("inertia")[0], whole.split("inertia")[0])
            for options, status, says in [
                    (["--columns", "lenght,width"], 3, ["there is no column 'lenght' (did you mean 'length'?)", "'species'"]),
                    (["--columns", "2-9"], 3, ["'2-9' is beyond the table, whose columns are 1 to 4"]),
                    (["--columns", "2,2"], 3, ["column 2 is there twice"]),
                    (["--columns", "2-4"], 3, ["column 'species' is text", "take it out of --columns"]),
                    (["--columns", "3-2"], 2, ["--columns", "counts down"]),
                    (["--columns", ""], 2, ["--columns", "empty"]),
                    (["--drop-columns", "1-4"], 3, ["no column is left"]),
                    (["--columns", "2", "--drop-columns", "1"], 2, ["--drop-columns has no effect"]),
                    (["--thousands", "x"], 2, ["--thousands", "comma, point"]),
            ]:
                self.refused(status, *command, *options, says=says)

    def test_warnings(self):
        pandas = self.file("pandas.csv", ",x,y\n" + "".join("%d,%d,%d\n" % (row, row % 3, row % 2) for row in range(9)))
        years = self.file("years.csv", "year,x\n" + "".join("%d,%d\n" % (2001 + row, row % 3) for row in range(9)))
        for table, name in ((pandas, "1"), (years, "year")):
            self.assertIn("--id-column " + name, self.succeed("kmeans", table, "-k", 2).stderr)
            for options in (["--id-column", "1"], ["--columns", "1-"], ["--drop-columns", "1"], ["--quiet"]):
                self.assertNotIn("--id-column", self.succeed("kmeans", table, "-k", 2, *options).stderr, options)
        self.assertIn("--drop-columns year", self.succeed("pair-histogram", years, "--bin-width", 1, "--bins", 5).stderr)

    def test_decimals(self):
        plain = self.file("a.csv", "x;y\n1.5;2\n1234.25;4\n-3;5\n")
        comma = self.file("b.csv", "x;y\r\n1,5;2\r\n1234,25;4\r\n-3;5\r\n")
        groups = self.file("c.csv", "x;y\n1,5;2\n1.234,25;4\n-3;5\n")
        centroid = self.file("o.csv", "0;0\n")
        expected = self.succeed("transform", centroid, plain).stdout
        result = self.succeed("transform", centroid, comma)
        self.assertEqual(result.stdout, expected)
        self.assertIn("b.csv: decimals are assumed to follow a comma", result.stderr)
        for table, options in ((comma, ["--decimal", "comma"]), (groups, ["--thousands", "."]), (groups, ["--thousands", "point"])):
            result = self.succeed("transform", centroid, table, *options)
            self.assertEqual((result.stdout, result.stderr), (expected, ""))
        self.refused(3, "transform", centroid, groups, says=["c.csv:3:1: '1.234,25'", "--thousands"])
        array = self.points()
        self.refused(2, "kmeans", array, "-k", 2, "--decimal", "comma", says=["--decimal is for tables of text"])
        self.refused(2, "kmeans", array, "-k", 2, "--thousands", "comma", says=["--thousands is for tables of text"])

    def test_tabs_beside_decimal_commas(self):
        text = "1,5\t2,5\n3,5\t4,5\n7,5\t9,5\n"
        answers = {self.succeed("kmeans", self.file(name, text), "-k", 2, "--quiet", *options).stdout.split(" in ")[0]
                   for name in ("t.txt", "t.csv", "t.tsv") for options in ([], ["--decimal", "comma"])}
        self.assertEqual(len(answers), 1)
        self.assertIn("3 points x 2", answers.pop())

    def test_rows_without_numbers(self):
        table = self.file("t.csv", "name,x,y,w\nA,1,2,1\nB,NA,4,1\nC,5,,2\nD,9,8,3\nE,9,9,\n")
        self.refused(3, "kmeans", table, "-k", 2, "--id-column", "name", "--weight-column", "w",
                     says=["t.csv:3:2: 'NA'", "3 of 5 rows lack a number (columns 'x', 'y' and 'w')", "--missing drop-rows"])
        out = self.path("out")
        left = "--id-column", "name", "--weight-column", "w", "--missing", "drop-rows"
        result = self.succeed("kmeans", table, "-k", 1, *left, "-o", out)
        self.assertIn("t.csv: 3 of 5 rows lack a number (columns 'x', 'y' and 'w') and are left out", result.stderr)
        summary = self.summary(out)
        self.assertEqual([summary[key] for key in ("n", "d", "dropped_rows", "weighted")], [2, 2, 3, True])
        self.assertEqual(read_npy(os.path.join(out, "centroids.npy"))[2], [7, 6.5])
        self.assertEqual(content(os.path.join(out, "labels.csv"), "r"), "name,label\nA,0\nD,0\n")
        self.assertEqual(self.succeed("predict", out, table, *left).stdout, "name,label\nA,0\nD,0\n")
        self.assertEqual(json.loads(self.succeed("predict", out, table, *left, "--json").stdout)["inertia"], summary["inertia"])
        # If rows have no names, labels are numbered like the rows of the file. A file of weights must have one weight
        # for each row of the file.
        plain = self.file("p.csv", "x\n1\n\"\"\n5\n")
        more = self.file("q.csv", "x\n7\nNA\n9\n")
        weights = self.file("w.csv", "1\n8\n3\n1\n8\n1\n")
        for files, numbers, mean in (([plain, more], "0235", 5.333333333333333), ([more, plain], "0235", 6.666666666666667)):
            self.succeed("kmeans", *files, "-k", 1, "--missing", "drop-rows", "--weights", weights, "-o", out, "--quiet")
            self.assertEqual(content(os.path.join(out, "labels.csv"), "r"),
                             "row,label\n" + "".join(number + ",0\n" for number in numbers))
            self.assertAlmostEqual(read_npy(os.path.join(out, "centroids.npy"))[2][0], mean)
            self.assertNotIn("id_column", self.summary(out))
        self.refused(3, "kmeans", plain, "-k", 1, "--missing", "drop-rows", "--weights", self.file("w.csv", "1\n3\n"), "--quiet",
                     says=["w.csv", "2 values for 3 rows, of which 1 lack"])
        self.assertEqual(self.succeed("predict", self.file("c.csv", "1\n6\n"), plain, "--missing", "drop-rows").stdout,
                         "row,label\n0,0\n2,1\n")
        self.refused(2, "kmeans", self.points(), "-k", 1, "--missing", "drop-rows", says=["--missing is for points in tables of text"])

    def test_weights_in_a_column(self):
        table = self.file("t.csv", "x,w,y\n1,1,2\n5,3,6\n9,2,0\n")
        weights = self.file("w.csv", "1\n3\n2\n")
        plain = self.file("p.csv", "x,y\n1,2\n5,6\n9,0\n")
        array = write_npy(self.path("a.npy"), "<f4", (3, 3), [1, 1, 2, 5, 3, 6, 9, 2, 0])
        expected = self.succeed("kmeans", plain, "-k", 2, "--weights", weights, "--json").stdout
        for column in ((table, "w"), (table, "2"), (array, "2")):
            answer = self.succeed("kmeans", column[0], "-k", 2, "--weight-column", column[1], "--json").stdout
            for key in ("inertia", "counts", "weighted"):
                self.assertEqual(json.loads(answer)[key], json.loads(expected)[key])
        two = self.succeed("kmeans", table, table, "-k", 2, "--weight-column", "w", "--json").stdout
        self.assertEqual(json.loads(two)["inertia"], 2 * json.loads(expected)["inertia"])
        centroids = self.file("c.csv", "1,2\n")
        inertia = [json.loads(self.succeed("predict", centroids, *options, "--json").stdout)["inertia"]
                   for options in ([plain, "--weights", weights], [table, "--weight-column", "w"])]
        self.assertEqual(inertia[0], inertia[1])
        histograms = [self.succeed("pair-histogram", *options, "--bin-width", 5, "--bins", 3).stdout
                      for options in ([plain, "--weights", weights], [table, "--weight-column", "w"])]
        self.assertEqual(histograms[0], histograms[1])
        self.refused(2, "kmeans", table, "-k", 2, "--weight-column", "w", "--weights", weights, says=["--weight-column has no effect"])
        self.refused(3, "kmeans", self.file("n.csv", "x,w\n1,1\n2,-1\n"), "-k", 1, "--weight-column", "w", says=["n.csv", "the weight in row 1 (counted from 0) is negative"])

    def test_comments_and_rows(self):
        table = self.file("t.csv", "player,x,y\n#10,1,2\n#7,3,4\nBob,9,9\nEve,10,9\n")
        self.refused(3, "kmeans", table, "-k", 2, "--id-column", "player", says=["t.csv:2:1: the line begins with '#'", "--comment none"])
        answer = self.succeed("predict", self.file("c.csv", "0,0\n9,9\n"), table, "--id-column", "player", "--comment", "none").stdout
        self.assertEqual(answer, 'player,label\n"#10",0\n"#7",0\nBob,1\nEve,1\n')
        self.refused(2, "kmeans", table, "-k", 2, "--comment", "##", says=["--comment: '##' is neither one character nor none"])
        self.refused(2, "kmeans", self.points(), "-k", 2, "--comment", "%", says=["--comment is for tables of text"])

    def test_headers_of_numbers(self):
        """To decide whether the first line is a header, all lines are read, even if columns are chosen by number."""
        spectra = self.file("s.csv", "name,400.3,402.7,405.2\n" + "".join(f"s{row},0.{row},0.2{row},0.3{row}\n" for row in range(1, 9)))
        for options in (["--id-column", "1"], ["--drop-columns", "1"], ["--columns", "2-"], ["--id-column", "name"]):
            answer = json.loads(self.succeed("kmeans", spectra, "-k", 2, *options, "--json").stdout)
            self.assertEqual((answer["n"], answer["columns"]), (8, ["400.3", "402.7", "405.2"]))
            self.assertAlmostEqual(answer["inertia"], 0.102)
        out = self.path("out")
        self.succeed("kmeans", spectra, "-k", 2, "--id-column", "1", "-o", out)
        self.assertEqual(self.succeed("predict", out, spectra, "--id-column", "1").stdout, content(os.path.join(out, "labels.csv"), "r"))
        pairs = self.succeed("pair-histogram", spectra, "--columns", "2-4", "--bin-width", 1, "--bins", 1).stdout
        self.assertEqual(pairs.splitlines()[1].split(",")[2], "28")
        pandas = self.file("p.csv", ",0,1,2\n0,0.1,0.2,0.3\n1,0.1,0.4,0.3\n2,5.1,5.2,5.3\n3,5.3,5.2,5.3\n")
        self.assertIn("""--id-column '""'""", self.succeed("kmeans", pandas, "-k", 2).stderr)
        for option in ("--id-column", "--drop-columns"):
            self.refused(3, "kmeans", pandas, "-k", 2, option, "1",
                         says=["'1' is the name of column 3, and also the number of column 1", f"""{option} '"1"'""", option + " 1-1"])
            for item in ('""', "1-1"):
                self.assertAlmostEqual(json.loads(self.succeed("kmeans", pandas, "-k", 2, option, item, "--json").stdout)["inertia"], 0.04)

    def test_files_of_a_table(self):
        out = self.fit()
        self.assertEqual(sorted(os.listdir(out)), ["centroids.csv", "centroids.npy", "labels.csv", "labels.npy", "summary.json"])
        summary = self.summary(out)
        self.assertEqual((summary["columns"], summary["id_column"], summary["d"]), (["length", "width"], "id", 2))
        self.assertEqual(sorted(summary["files"]), ["centroids.csv", "centroids.npy", "labels.csv", "labels.npy"])
        labels = read_npy(os.path.join(out, "labels.npy"))[2]
        table = content(os.path.join(out, "labels.csv"), "r")
        self.assertEqual(table, "id,label\n" + "".join("f%d,%d\n" % row for row in enumerate(labels)))
        lines = content(os.path.join(out, "centroids.csv"), "r").splitlines()
        self.assertEqual(lines[0], "length,width")
        values = [float(field) for line in lines[1:] for field in line.split(",")]
        self.assertEqual(values, read_npy(os.path.join(out, "centroids.npy"))[2])
        # If rows have no names, labels are numbered from 0. Text that contains separators is quoted.
        out = self.path("plain")
        self.succeed("kmeans", self.flowers(), "-k", 2, "--columns", "2,3", "-o", out)
        self.assertEqual(content(os.path.join(out, "labels.csv"), "r").splitlines()[:2], ["row,label", "0,%d" % labels[0]])
        out = self.path("species")
        self.succeed("kmeans", self.flowers(), "-k", 2, "--columns", "2,3", "--id-column", "species", "-o", out)
        self.assertRegex(content(os.path.join(out, "labels.csv"), "r"), '\n"virginica, or so",[01]\n$')
        # A result that replaces an older result removes the tables of the older one.
        self.succeed("kmeans", self.points(), "-k", 2, "-o", out)
        self.assertEqual(sorted(os.listdir(out)), ["centroids.npy", "labels.npy", "summary.json"])

    def test_quiet_prints_nothing_where_the_result_is_in_files(self):
        result = self.succeed("kmeans", self.points(), "-k", 2, "-o", self.path("out"), "--quiet")
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        self.assertIn("cluster", self.succeed("kmeans", self.points(), "-k", 2, "--quiet").stdout)

    def test_standardize(self):
        # The first column has mean 3 and scale 2, the second has mean 500 and scale 100. A column of equal values stays unchanged.
        rows = [(1, 400, 7), (1, 600, 7), (5, 400, 7), (5, 600, 7)]
        table = self.file("t.csv", "a,b,c\n" + "".join("%d,%d,%d\n" % row for row in rows))
        out = self.path("out")
        start = self.file("start.csv", "1,400,7\n1,600,7\n5,400,7\n5,600,7\n")
        self.succeed("kmeans", table, "-k", 4, "--standardize", "--init", start, "-o", out)
        summary = self.summary(out)
        self.assertEqual(summary["standardize"], {"mean": [3, 500, 7], "scale": [2, 100, 1]})
        self.assertEqual((summary["inertia"], summary["counts"]), (0, [1, 1, 1, 1]))
        self.assertEqual(read_npy(os.path.join(out, "centroids.npy"))[2], [value for row in rows for value in row])
        scaled = [value for row in [(-1, -1, 0), (-1, 1, 0), (1, -1, 0), (1, 1, 0)] for value in row]
        self.assertEqual(read_npy(os.path.join(out, "standardized_centroids.npy"))[2], scaled)
        self.assertIn("standardized_centroids.npy", summary["files"])
        self.refused(3, "kmeans", write_npy(self.path("n.npy"), "<f8", (2, 1), [1, float("nan")]), "-k", 1, "--standardize",
                     says=["n.npy", "row 1", "NaN"])
        self.refused(3, "kmeans", write_npy(self.path("n.npy"), "<f8", (2, 1), [-1e308, 1e308]), "-k", 1, "--standardize",
                     says=["n.npy", "too large to be standardized"])
        self.refused(1, "kmeans", self.points(), "-k", 2, "--standardize", "--memory-limit", 100, says=["standardized copy"])

    def test_standardized_columns_are_the_same_bits_on_any_number_of_threads(self):
        points = self.path("p.npy")
        for dtype in ("f32", "f64"):
            self.succeed("generate", "blobs", "-n", 3000, "-d", 5, "--dtype", dtype, "-o", points)
            seen = set()
            for threads in (1, 2, 3, 7):
                out = self.path("out%d" % threads)
                self.succeed("kmeans", points, "-k", 5, "--standardize", "--threads", threads, "-o", out)
                seen.add(tuple(content(os.path.join(out, name)) for name in ("centroids.npy", "labels.npy")) +
                         (json.dumps(self.summary(out)["standardize"]),))
                # The standardized columns have mean 0 and variance 1. Predicting from the folder of the result gives the same labels.
                self.succeed("predict", out, points, "-o", self.path("l.npy"))
                self.assertEqual(content(self.path("l.npy")), content(os.path.join(out, "labels.npy")))
            self.assertEqual(len(seen), 1, dtype)
            by = self.summary(out)["standardize"]
            values = read_npy(points)[2]
            for column in range(5):  # computes the formulas of gradus/kmeans_standardization.hpp in exact fractions
                own = values[column::5]
                mean = float(sum(map(Fraction, own)) / 3000)
                shift = float(sum(Fraction(value - mean) for value in own) / 3000)
                squares = float(sum(Fraction(value - mean) ** 2 for value in own) / 3000)
                self.assertEqual((by["mean"][column], by["scale"][column]), (mean, (squares - shift * shift) ** 0.5))

    def test_a_folder_says_how_to_predict(self):
        options = ("--id-column", "id", "--drop-columns", "species")
        for more in ([], ["--standardize"], ["--metric", "cosine"], ["--standardize", "--metric", "cosine"]):
            out = self.fit(*more, name="fit%d" % len(more))
            again = self.path("again.csv")
            self.succeed("predict", out, self.flowers(), *options, "-o", again)
            self.assertEqual(content(again), content(os.path.join(out, "labels.csv")), more)
            self.assertEqual(self.succeed("predict", out, self.flowers(), *options).stdout, content(again, "r"))
            answer = json.loads(self.succeed("predict", out, self.flowers(), *options, "--json").stdout)
            self.assertEqual(answer["inertia"], self.summary(out)["inertia"])
            self.assertEqual((answer["metric"], answer["ids"][0]), (self.summary(out)["metric"], "f0"))
            lines = self.succeed("transform", out, self.flowers(), *options).stdout.splitlines()
            self.assertEqual((lines[0], len(lines)), ("id,distance_0,distance_1", 7))
            nearest = [min((float(field), label) for label, field in enumerate(line.split(",")[1:]))[1] for line in lines[1:]]
            self.assertEqual(nearest, read_npy(os.path.join(out, "labels.npy"))[2])
        self.refused(2, "predict", out, self.flowers(), *options, "--metric", "cosine", says=["--metric has no effect", "folder"])
        # A file of centroids does not record how the columns were standardized.
        for name in ("centroids.npy", "centroids.csv"):
            self.refused(3, "predict", os.path.join(out, name), self.flowers(), *options, says=["standardized", "name the folder"])

    def test_init_takes_the_folder_of_a_fit(self):
        options = ("-k", 2, "--id-column", "id", "--drop-columns", "species")
        for more in ([], ["--standardize"], ["--metric", "cosine"], ["--standardize", "--metric", "cosine"]):
            out = self.fit(*more, name="fit%d" % len(more))
            answers = []
            for init in (out, os.path.join(out, "centroids.npy")):
                answers.append(json.loads(self.succeed("kmeans", self.flowers(), *options, *more, "--init", init, "--json").stdout))
                for key in ("seconds", "history", "command"):
                    del answers[-1][key]
            self.assertEqual(answers[0], answers[1], more)
            self.assertEqual(answers[0]["init"], "given")

    def test_init_refuses_the_folder_of_another_fit(self):
        out = self.fit()
        options = ("--id-column", "id", "--drop-columns", "species", "--init", out)

        def refused(status, *more, says):
            self.refused(status, "kmeans", self.flowers(), *more, *options, says=["fit"] + says)

        refused(2, "-k", 2, "--standardize", says=["not one of standardized columns", "leave out --standardize", "centroids.npy"])
        refused(2, "-k", 2, "--metric", "cosine", says=["euclidean metric", "leave out --metric cosine"])
        refused(2, "-k", 3, says=["2 clusters, and -k asks for 3", "-k 2"])
        self.refused(2, "kmeans", self.flowers(), "-k", "2..3", *options, says=["--init", "several"])
        turned = self.file("turned.csv", "width,length\n3,5\n2,7\n2.5,6\n")
        self.refused(3, "kmeans", turned, "-k", 2, "--init", out,
                     says=["'width', 'length'", "'length', 'width'", "--columns length,width"])
        self.succeed("kmeans", turned, "-k", 2, "--init", out, "--columns", "length,width")
        other = self.refused(3, "kmeans", self.file("other.csv", "length,size\n5,3\n7,2\n"), "-k", 2, "--init", out,
                             says=["'length', 'size'", "'length', 'width'"])
        self.assertNotIn("--columns", other.stderr)
        self.fit("--standardize")
        refused(2, "-k", 2, says=["one of standardized columns", "add --standardize"])
        self.fit("--metric", "cosine")
        refused(2, "-k", 2, says=["cosine metric", "add --metric cosine"])
        self.refused(3, "kmeans", self.points(), "-k", 2, "--init", self.folder, says=["holds no result of 'gradus kmeans --output'"])
        self.refused_to_overwrite([os.path.join(out, name) for name in ("centroids.npy", "summary.json")],
                                  "kmeans", self.flowers(), "-k", 2, *options, "-o", out)

    def test_a_folder_checks_the_columns(self):
        out = self.fit()
        for text, options, says in [
                ("width,size\n1,2\n", [], ["no column 'length', which the fit in", "are 'width' and 'size'"]),
                ("name,width\na,2\nb,3\n", [], ["no column 'length', which the fit in", "are 'name' and 'width'"]),
                ("length,width,more\n1,2,3\n", ["--columns", "2,1"], ["2 columns ('width', 'length')", "without --columns"]),
                ("1,2.5,7\n", [], ["has 3 columns,", "2 columns ('length', 'width')"]),
        ]:
            self.refused(3, "predict", out, self.file("more.csv", text), *options, says=["more.csv", "fit"] + says)
        self.assertEqual(len(self.succeed("predict", out, self.file("more.csv", "5.5,2.5\n")).stdout.splitlines()), 1)
        # Columns are selected by name. Their order may differ, and there may be more columns.
        expected = self.succeed("transform", out, self.file("more.csv", "length,width\n2,1\n")).stdout
        for text, left_out in [("width,length\n1,2\n", ""), ("more,width,note,length\n1,1,a,2\n", "'more' and 'note' are left out")]:
            result = self.succeed("transform", out, self.file("more.csv", text))
            self.assertEqual(result.stdout, expected)
            self.assertIn(left_out, result.stderr)
            self.assertEqual(bool(left_out), bool(result.stderr))
        self.assertIn("'id' and 'species' are left out", self.succeed("predict", out, self.flowers()).stderr)
        self.assertIn("species", self.succeed("predict", out, self.flowers(), "--id-column", "species").stdout)
        self.refused(3, "predict", self.folder, self.flowers(), says=["holds no result of 'gradus kmeans --output'"])
        summary = self.summary(self.fit("--standardize"))
        summary["standardize"]["scale"] = [0, 1]
        self.file("fit/summary.json", json.dumps(summary))
        self.refused(3, "predict", out, self.flowers(), says=["summary.json", "standardization"])
        self.refused_to_overwrite([os.path.join(self.fit(name="b"), "centroids.npy")], "predict", self.path("b"), self.flowers(),
                                  "-o", self.path("b/centroids.npy"))

    def test_a_file_of_centroids_finds_the_columns_by_their_names(self):
        points = self.file("abc.csv", "a,b,c\n1,20,300\n2,10,310\n80,25,390\n90,15,395\n")
        turned = self.file("cba.csv", "c,b,a\n300,20,1\n310,10,2\n390,25,80\n395,15,90\n")
        out = self.path("named")
        self.succeed("kmeans", points, "-k", 2, "-o", out)
        centroids = os.path.join(out, "centroids.csv")
        for command in ("predict", "transform"):
            self.assertEqual(self.succeed(command, centroids, turned).stdout, self.succeed(command, out, points).stdout)
            self.refused(3, command, centroids, turned, "--columns", "c,b,a",
                         says=["cba.csv", "'c', 'b', 'a'", "'a', 'b', 'c'", "centroids.csv"])
            self.refused(3, command, centroids, self.file("abd.csv", "a,b,d\n1,2,3\n"), says=["no column 'c'", "centroids.csv' has", "'a', 'b' and 'd'"])
            self.succeed(command, centroids, self.file("plain.csv", "1.5,20,300\n"))
        table = self.file("ab.csv", "a,b\n0,5\n1,5\n9,5\n10,5\n")
        for text, left_out in [("b,a\n5,9.5\n5,0.5\n", ""), ("cluster,b,a\n0,5,9.5\n1,5,0.5\n", "'cluster' is left out")]:
            again = self.path("again")
            result = self.succeed("kmeans", table, "-k", 2, "--init", self.file("mine.csv", text), "-o", again)
            self.assertIn(left_out, result.stderr)
            self.assertEqual(content(os.path.join(again, "labels.csv"), "r"), "row,label\n0,1\n1,1\n2,0\n3,0\n")
        self.refused(3, "kmeans", points, "-k", 2, "--init", self.file("abd.csv", "a,b,d\n2,15,300\n85,20,390\n"),
                     says=["'a', 'b', 'c'", "'a', 'b', 'd'"])

    def test_streams(self):
        array = content(self.points())
        expected = self.succeed("predict", self.points(), self.points()).stdout
        result = gradus("predict", self.points(), "-", stdin=array, text=False)
        self.assertEqual((result.returncode, result.stdout.decode()), (0, expected))
        if not shutil.which("bash"):
            self.skipTest("no bash")
        script = '"$0" predict <(echo 0,0; echo 3,4) <(printf "a,b\n0,1\n3,3\n") && cat "$1" | "$0" kmeans /dev/stdin -k 2'
        result = subprocess.run(["bash", "-c", script, GRADUS, self.file("p.csv", "1,2\n3,4\n5,6\n")], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("0\n1\ncluster"), result.stdout)
        self.refused(2, "predict", "-", "/dev/stdin", says=["standard input, which can be read once only"])

    def test_archives(self):
        array = content(write_npy(self.path("a.npy"), "<f8", (3, 2), [1, 2, 3, 4, 5, 6]))
        for kind, name in ((zipfile.ZIP_STORED, "a.npz"), (zipfile.ZIP_DEFLATED, "b.npz")):
            with zipfile.ZipFile(self.path(name), "w", kind) as archive:
                archive.writestr("x.npy", array)
                archive.writestr("y.npy", array[:-8])
            expected = self.succeed("kmeans", self.path("a.npy"), "-k", 1, "--json").stdout
            answer = self.succeed("kmeans", self.path(name) + ":x", "-k", 1, "--json").stdout
            self.assertEqual(json.loads(answer)["history"][0]["inertia"], json.loads(expected)["history"][0]["inertia"])
            self.succeed("kmeans", self.path(name) + ":x", "-k", 1, "--columns", "2", "--id-column", "1")
            self.refused(3, "kmeans", self.path(name), "-k", 1, says=[name, "2 arrays", name + ":x", name + ":y"])
            self.refused(3, "kmeans", self.path(name) + ":z", "-k", 1, says=[name, "there is no array 'z'"])
            self.refused(3, "kmeans", self.path(name) + ":y", "-k", 1, says=[name + ":y", "are there"])
        whole = content(self.path("b.npz"))
        self.refused(3, "kmeans", self.file("c.npz", whole[:-9]) + ":x", "-k", 1, says=["c.npz", "cut off"])


    def test_vectors(self):
        """With every format of vectors, the results have the same bytes as with .npy."""
        shape, values = (300, 5), [row * row * 7 % 101 + column for row in range(300) for column in range(5)]
        for ending, dtype in kit.VECTORS.items():
            with self.subTest(ending=ending):
                outputs = []
                for points in (write_npy(self.path("x.npy"), dtype, shape, values),
                               kit.write_vectors(self.path("x" + ending), shape, values)):
                    out = self.path("out%d" % len(outputs))
                    self.succeed("kmeans", points, "-k", 7, "-o", out, "--quiet")
                    answers = [self.succeed("predict", out, points).stdout, self.succeed("transform", out, points).stdout]
                    files = [content(os.path.join(out, name)) for name in ("centroids.npy", "labels.npy")]
                    outputs.append((files, answers))
                    shutil.rmtree(out)
                self.assertEqual(*outputs)
                cut = self.file("cut" + ending, content(self.path("x" + ending))[:-1])
                self.refused(3, "kmeans", cut, "-k", 2, says=["cut" + ending, "; copy the file again"])
        values[1234] = math.nan
        for ending in (".fvecs", ".fbin", ".safetensors"):
            points = kit.write_vectors(self.path("x" + ending), shape, values)
            self.refused(3, "kmeans", points, "-k", 2, says=[points, "the value in row 246, column 4", "NaN"])


class Demo(Case):
    def test_demo(self):
        result = self.succeed("demo", cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), ["gradus-demo"])
        self.assertEqual(os.listdir(self.path("gradus-demo")), ["centroids.png"])
        lines = result.stdout.splitlines()
        start = next(index for index, line in enumerate(lines) if line.startswith("cluster"))
        rows = [line.split() for line in lines[start + 1 : start + 11]]
        self.assertEqual(sum(int(row[1]) for row in rows), 1797)
        self.assertEqual([int(row[4]) for row in rows], list(range(10)), "each digit has its cluster")
        answer = json.loads(self.succeed("demo", "-o", self.path("b"), "--json").stdout)
        self.assertGreater(answer["agreement"], 0.75)
        self.assertLess(answer["inertia"], 1.1660e6)
        width, height, color, pixels = read_png(answer["picture"])
        self.assertEqual(color, 0)
        self.assertGreater(width, 2 * height)
        self.assertLess(min(pixels), b"\x20")  # the darkest pixels are pixels of the drawing
        self.assertEqual(max(pixels), b"\xff")  # the lightest pixels are pixels of the background


class Completion(CompletionCase):
    def test_bash_completes(self):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        self.assertEqual(self.complete("gradus", "km"), ["kmeans"])
        self.assertEqual(self.complete("gradus", "kmeans", "--resta"), ["--restarts"])
        self.assertIn("sequential", self.complete("gradus", "kmeans", "x.npy", "--variant", ""))
        self.assertEqual(self.complete("gradus", "kmeans", "--pin", "sc"), ["scatter"])
        self.assertEqual(self.complete("gradus", "kmeans", "--pin", "=", "sc"), ["scatter"])
        self.file("some points.npy", "")
        self.assertEqual(self.complete("gradus", "kmeans", "some"), ["some", "points.npy"])

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        script = self.file("gradus.fish", self.succeed("completion", "fish").stdout)
        result = subprocess.run(["fish", "-c", "source %s; complete -C 'gradus kmeans --pin sc'" % script],
                                capture_output=True, text=True, env=dict(os.environ, HOME=self.folder))
        self.assertEqual(result.stdout.split()[0], "scatter", result.stderr)


class WhichK(Case):
    """Tests of jobs that try several numbers of clusters."""

    def blobs(self):
        points = self.path("blobs.npy")
        self.succeed("generate", "blobs", "-n", 600, "-d", 2, "--clusters", 4, "--seed", 3, "-o", points)
        return points

    def test_choice(self):
        points, out = self.blobs(), self.path("out")
        result = self.succeed("kmeans", points, "-k", "2..5,8", "--restarts", 5, "-o", out)
        self.assertEqual(sorted(os.listdir(out)), ["centroids.npy", "choice.csv", "labels.npy", "summary.json"])
        with open(os.path.join(out, "summary.json")) as file:
            summary = json.load(file)
        fits = summary["choice"]["fits"]
        self.assertEqual([fit["k"] for fit in fits], [2, 3, 4, 5, 8])
        best = max(fits, key=lambda fit: fit["silhouette"])
        self.assertEqual((summary["k"], summary["inertia"]), (best["k"], best["inertia"]))
        self.assertEqual(summary["choice"]["by"], "silhouette")
        self.assertEqual(summary["choice"]["silhouette_points"], 600)
        takes = {"silhouette": best["k"],
                 "calinski-harabasz": max(fits, key=lambda fit: fit["calinski_harabasz"])["k"],
                 "davies-bouldin": min(fits, key=lambda fit: fit["davies_bouldin"])["k"],
                 "elbow": max(fits, key=lambda fit: (fits[0]["inertia"] - fit["inertia"])
                              / (fits[0]["inertia"] - fits[-1]["inertia"]) - (fit["k"] - 2) / 6)["k"]}
        self.assertEqual(summary["choice"]["takes"], takes)
        for name, k in takes.items():
            self.assertIn(f"{name} chooses k = {k}", result.stdout)
        _, shape, _ = read_npy(os.path.join(out, "centroids.npy"))
        self.assertEqual(shape, (best["k"], 2))
        with open(os.path.join(out, "choice.csv")) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "k,inertia,silhouette,calinski_harabasz,davies_bouldin,elbow,iterations,seconds")
        self.assertEqual([float(line.split(",")[2]) for line in lines[1:]], [fit["silhouette"] for fit in fits])
        # The stored fit is equal to a separate fit with the same k.
        alone = json.loads(self.succeed("kmeans", points, "-k", best["k"], "--restarts", 5, "--json").stdout)
        self.assertEqual((alone["inertia"], alone["counts"]), (summary["inertia"], summary["counts"]))
        for criterion, k in takes.items():
            chosen = json.loads(self.succeed("kmeans", points, "-k", "8,2..5", "--restarts", 5, "--choose", criterion,
                                             "--json").stdout)
            self.assertEqual(chosen["k"], k)

    def test_without_criteria(self):
        points = self.file("four.csv", "0,0\n0,1\n5,5\n9,1\n")
        summary = json.loads(self.succeed("kmeans", points, "-k", "1..4", "--json").stdout)
        fits = summary["choice"]["fits"]
        self.assertEqual([fit["silhouette"] is None for fit in fits], [True, False, False, True])
        summary = json.loads(self.succeed("kmeans", points, "-k", "1,4", "--json").stdout)
        self.assertEqual((summary["k"], summary["choice"]["takes"]["silhouette"]), (1, None))

    def test_sample(self):
        result = self.succeed("kmeans", self.blobs(), "-k", "2..4", "--silhouette-points", 200)
        self.assertIn("200 of the 600 points", result.stdout)

    def test_bad_numbers(self):
        points = self.points()
        for text, says in (("5..2", "ends before it begins"), ("2..", "-k"), ("..3", "-k"), ("2,,3", "-k"), ("0..3", "-k"),
                           ("1..5000", "more than 1000 fits"), ("2-5", "did you mean 2..5?"), ("4,2 - 50", "did you mean 2..50?"), ("2:5", "did you mean 2..5?"), ("2-x", "-k"), ("1..900,1000..1200", "more than 1000")):
            self.refused(2, "kmeans", points, "-k", text, says=[says])
        self.refused(2, "kmeans", points, "-k", 3, "--choose", "silhouette", says=["--choose", "nothing to choose"])
        self.refused(2, "kmeans", points, "-k", "2..3", "--init", self.file("c.csv", "0,0,0\n1,1,1\n"), says=["--init", "several"])
        self.refused(3, "kmeans", points, "-k", "2..300", says=["201 clusters"])

    def test_hint_of_restarts(self):
        hint = "--restarts 10"
        few = self.file("few.csv", "0,0\n0,1\n9,9\n9,8\n")
        self.assertNotIn(hint, self.succeed("kmeans", few, "-k", 2).stderr)
        seeds = [self.succeed("kmeans", self.blobs(), "-k", 4, "--init", "random", "--seed", seed).stderr
                 for seed in range(5)]
        self.assertTrue(any(hint in stderr for stderr in seeds), seeds)
        self.assertEqual(self.succeed("kmeans", self.blobs(), "-k", 4, "--init", "random", "--quiet").stderr, "")
        # Too few of 25 rows often differ, and then one of the restarts fails. This must not fail the complete job.
        same = self.file("same.csv", "0,0\n" * 900 + "".join(f"{row},1\n" for row in range(100)))
        statuses = []
        for seed in range(8):
            job = ("kmeans", same, "-k", 3, "--header", "no", "--init-rows", 25, "--seed", seed)
            statuses.append(gradus(*job, "--quiet").returncode)
            self.assertEqual(gradus(*job).returncode, statuses[-1], seed)
        self.assertEqual(set(statuses), {0, 3})


class Terminal(TerminalCase):
    def test_progress(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 40000, "-d", 8, "-o", points)

        def job(iterations):
            return ("kmeans", points, "-k", 250, "--init", "first", "--variant", "sequential", "--tolerance", 0,
                    "--max-iterations", iterations)
        bar = r"\[#*\.*\] +\d+ %"
        self.assertRegex(self.on_terminal(*job(5)), bar)
        self.assertNotRegex(self.on_terminal(*job(5), "--quiet"), bar)
        self.assertEqual(self.succeed(*job(5)).stderr, "")
        self.assertRegex(self.on_terminal(*job(90)), bar + ".*left")
