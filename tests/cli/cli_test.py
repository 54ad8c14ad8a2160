#!/usr/bin/env python3
"""Black-box tests of the program `gradus`: what a person types, sees, and finds on the disk.

usage: cli_test.py GRADUS SOURCE_DIR [unittest's arguments]
"""

import fcntl
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zlib

GRADUS = ""
DATA = ""


def gradus(*arguments, stdin=None, env=None, preexec=None, cwd=None, text=True):
    """Runs the program; the result has returncode, stdout, stderr."""
    environment = dict(os.environ, **(env or {}))
    return subprocess.run(
        [GRADUS, *map(str, arguments)],
        input=stdin if stdin is not None else ("" if text else b""),
        capture_output=True,
        text=text,
        env=environment,
        preexec_fn=preexec,
        cwd=cwd,
        timeout=300,
    )


def content(path, mode="rb"):
    with open(path, mode) as file:
        return file.read()


CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B"}


def read_npy(path):
    """(dtype, shape, flat list of values), by the definition of the format."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    (length,) = struct.unpack_from("<H", content, 8)
    assert (10 + length) % 64 == 0
    header = content[10 : 10 + length].decode("latin1")
    assert header.endswith("\n")
    fields = eval(header, {"__builtins__": {}}, {"True": True, "False": False})  # a literal, written by our own program
    assert fields["fortran_order"] is False
    count = 1
    for size in fields["shape"]:
        count *= size
    data = content[10 + length :]
    values = list(struct.unpack("<" + str(count) + CODES[fields["descr"]][-1], data))
    return fields["descr"], fields["shape"], values


def write_npy(path, dtype, shape, values=None, raw=None, header=None, version=b"\x01\x00"):
    if header is None:
        header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, tuple(shape))
    encoded = header.encode("latin1")
    encoded += b" " * (63 - (10 + len(encoded)) % 64) + b"\n"
    if raw is None:
        raw = struct.pack("<%d%s" % (len(values), CODES[dtype]), *values)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + version + struct.pack("<H", len(encoded)) + encoded + raw)
    return path


def read_png(path):
    """(width, height, color type, set of pixels) of an 8-bit PNG without interlacing."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    position, compressed = 8, b""
    while position < len(content):
        (length,) = struct.unpack_from(">I", content, position)
        kind, body = content[position + 4 : position + 8], content[position + 8 : position + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", content, position + 8 + length)[0]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and interlace == 0
        elif kind == b"IDAT":
            compressed += body
        position += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[color]
    stride = width * channels
    raw, rows, above = zlib.decompress(compressed), [], bytes(stride)
    for row in range(height):
        method, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1 : (row + 1) * (stride + 1)])
        for index in range(stride):
            left = line[index - channels] if index >= channels else 0
            up = above[index]
            corner = above[index - channels] if index >= channels else 0
            if method == 1:
                line[index] = (line[index] + left) & 255
            elif method == 2:
                line[index] = (line[index] + up) & 255
            elif method == 3:
                line[index] = (line[index] + (left + up) // 2) & 255
            elif method == 4:
                estimate = left + up - corner
                nearest = min((abs(estimate - left), 0, left), (abs(estimate - up), 1, up), (abs(estimate - corner), 2, corner))
                line[index] = (line[index] + nearest[2]) & 255
        rows.append(bytes(line))
        above = bytes(line)
    pixels = {row[index : index + channels] for row in rows for index in range(0, stride, channels)}
    return width, height, color, pixels


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gradus_cli_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def succeed(self, *arguments, **options):
        result = gradus(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, status, *arguments, says=(), **options):
        """The program ends with this status, says each of these words, and prints no result."""
        result = gradus(*arguments, **options)
        self.assertEqual(result.returncode, status, (arguments, result.stdout, result.stderr))
        self.assertTrue(result.stderr.startswith("gradus: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for words in says:
            self.assertIn(words, result.stderr)
        self.assertEqual(result.stdout, "")
        return result

    def points(self, name="points.npy", n=200, d=3):
        values = [((index * 7919 + 13) % 1000) / 8 for index in range(n * d)]
        return write_npy(self.path(name), "<f4", (n, d), values)


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
        # Every label is the nearest centroid, and the inertia is the sum of the squared distances.
        _, _, values = read_npy(points)
        inertia = 0
        for point in range(200):
            distances = [sum((values[3 * point + dim] - centroids[3 * cluster + dim]) ** 2 for dim in range(3))
                         for cluster in range(5)]
            self.assertEqual(labels[point], distances.index(min(distances)))
            inertia += min(distances)
        self.assertLess(abs(inertia - summary["inertia"]), 1e-6 * inertia)
        # The table: a line per cluster, its size in the second column.
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
            self.assertNotIn("\x1b", result.stdout + result.stderr)  # neither is a terminal

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
                self.assertIn("cannot run here", result.stderr)  # made for other shapes
            else:
                self.assertEqual(json.loads(result.stdout)["variant"], row["name"])


class Usage(Case):
    def commands(self):
        lines = self.succeed().stdout.split("Commands\n")[1].split("\n\n")[0].splitlines()
        return [line.split()[0] for line in lines]

    def test_no_arguments_show_a_short_help_with_an_example(self):
        result = self.succeed()
        self.assertIn("gradus kmeans points.npy -k 16", result.stdout)
        self.assertLess(result.stdout.count("\n"), 30)
        self.assertEqual(result.stdout, self.succeed("--help").stdout)
        self.assertEqual(result.stdout, self.succeed("help").stdout)
        self.assertEqual(result.stderr, "")

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^gradus \d+\.\d+\.\d+\n$")

    def test_every_command_has_a_help_with_an_example(self):
        for command in self.commands():
            text = self.succeed(command, "--help").stdout
            self.assertIn("Example", text)
            self.assertIn("\n  gradus " + command, text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 100, line)
                self.assertEqual(line, line.rstrip())
            self.assertEqual(text, self.succeed("help", command).stdout)
            self.assertEqual(text, self.succeed(command, "-h").stdout)

    def test_misspelt_names_are_suggested(self):
        points = self.points()
        self.refused(2, "kmean", points, says=["'kmean'", "did you mean 'kmeans'?"])
        self.refused(2, "lst", says=["did you mean 'list'?"])
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
            (["kmeans"], ["INPUT is missing"]),
            (["kmeans", points], ["-k", "missing"]),
            (["kmeans", points, "-k"], ["-k", "missing"]),
            (["kmeans", points, "-k", "0"], ["-k", "'0'", "from 1"]),
            (["kmeans", points, "-k", "-3"], ["-k", "'-3'"]),
            (["kmeans", points, "-k", "2.5"], ["'2.5'", "whole number"]),
            (["kmeans", points, "-k", "99999999999999999999"], ["-k"]),
            (["kmeans", points, "-k", "2", "-k", "3"], ["more than once"]),
            (["kmeans", points, "-k", "2", "more"], ["'more'"]),
            (["kmeans", points, "-k", "2", "--tolerance", "nan"], ["--tolerance", "'nan'"]),
            (["kmeans", points, "-k", "2", "--tolerance", "-1"], ["--tolerance", "at least 0"]),
            (["kmeans", points, "-k", "2", "--changed", "1.5"], ["--changed", "from 0 to 1"]),
            (["kmeans", points, "-k", "2", "--threads", "0"], ["--threads"]),
            (["kmeans", points, "-k", "2", "--threads", "99999"], ["--threads", "4096"]),
            (["kmeans", points, "-k", "2", "--device", "tpu"], ["--device", "auto, cpu or gpu"]),
            (["kmeans", points, "-k", "2", "--memory-limit", "10Q"], ["--memory-limit", "500M"]),
            (["kmeans", points, "-k", "2", "--max-iterations", "0"], ["--max-iterations"]),
            (["kmeans", points, "-k", "2", "--restarts", "0"], ["--restarts"]),
            (["kmeans", points, "-k", "2", "-o", ""], ["--output"]),
            (["kmeans", "-", "-k", "2", "--weights", "-"], ["standard input"]),
            (["--frobnicate"], ["'--frobnicate'"]),
            (["generate", "uniform", "-o", self.path("x.npy")], ["--points", "--size-mib"]),
            (["generate", "uniform", "-n", "5", "-o", self.path("x.foo")], [".npy", ".csv"]),
            (["generate", "uniform", "-n", "5", "--low", "3", "--high", "3", "-o", self.path("x.npy")], ["--low"]),
            (["completion", "ksh"], ["bash, zsh or fish"]),
        ]:
            self.refused(2, *arguments, says=says)
        self.assertFalse(os.path.exists(self.path("x.npy")))

    def test_no_such_device(self):
        self.refused(4, "kmeans", self.points(), "-k", 2, "--device", "gpu:7", says=["GPU"])

    def test_errors_as_json(self):
        for arguments, status in [(["kmeans", "--json"], 2), (["kmeans", "--json", "missing.npy", "-k", 2], 3),
                                  (["nothing", "--json"], 2)]:
            result = gradus(*arguments)
            self.assertEqual(result.returncode, status)
            answer = json.loads(result.stdout)
            self.assertEqual(answer["exit_status"], status)
            self.assertIn(answer["error"], result.stderr)


class BadInput(Case):
    """Each bad input: a clear message, the right exit status, no output."""

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
        self.refuse(3, self.file("atoms.xyz", b"1\n\nH 0 0 0\n"), "-k", 2, says=["atoms.xyz", "trajectory", "pair histograms"])
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
        self.refuse(3, self.file("other.npy", b"PK\x03\x04 and so on"), "-k", 2, says=["other.npy", "not a .npy file"])

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
            self.refuse(3, self.file(name, array), "-k", 1, says=[name, "this is a .npy array", "ends in .npy"])
        with open(self.path("a.npy"), "rb") as file:
            result = subprocess.run([GRADUS, "kmeans", "-", "-k", "1"], stdin=file, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("standard input:1: this is a .npy array", result.stderr)

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
        self.refused(1, "generate", "uniform", "-n", 3, "-o", "/proc/x.npy", says=["/proc/x.npy"])
        self.refused(1, "predict", points, points, "-o", self.path("no/such/x.npy"), says=["no/such/x.npy"])
        if os.geteuid() != 0:
            closed = self.path("closed")
            os.mkdir(closed, 0o555)
            self.refused(1, "kmeans", points, "-k", 2, "-o", os.path.join(closed, "out"), says=["Permission denied"])

    def test_no_input_is_overwritten(self):
        os.makedirs(self.path("fit"))
        points = self.file("fit/labels.npy", content(self.points()))
        table = self.file("points.csv", "x,y\n1,2\n3,4\n5,7\n")
        alias = self.path("alias.csv")
        os.symlink(table, alias)
        weights = self.file("weights.csv", "weight\n1\n2\n3\n")
        centroids = self.file("fit/centroids.npy", content(points))
        histogram = ("pair-histogram", table, "--bin-width", 1, "--bins", 3)
        for arguments in (
            (*histogram, "-o", table),
            (*histogram, "-o", alias),
            (*histogram, "--weights", weights, "-o", weights),
            (*histogram, "--cross", self.file("others.csv", content(table)), "-o", self.path("others.csv")),
            ("kmeans", points, "-k", 2, "-o", self.path("fit")),
            ("kmeans", table, "-k", 1, "--init", centroids, "-o", self.path("fit")),
            ("predict", points, centroids, "-o", centroids),
            ("predict", points, centroids, "-o", points),
            ("transform", centroids, points, "-o", centroids),
        ):
            before = {name: content(name) for name in (points, table, weights, centroids)}
            self.refused(2, *arguments, says=["would be overwritten", "somewhere else"])
            self.assertEqual({name: content(name) for name in before}, before)
        refused = gradus("bench", "kmeans", "--data", table, "-k", 1, "--json", table)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("would be overwritten", refused.stderr)
        self.assertEqual(content(table), before[table])
        self.refused(2, "kmeans", table, "-k", 1, "-o", "-", says=["--output: '-' is not a folder"])

    def test_limit_on_the_size_of_files(self):
        def limit():  # enough for the files that an OpenMP runtime shares between its libraries
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        points = self.points(n=300000, d=1)
        self.refused(1, "kmeans", points, "-k", 2, "-o", self.path("out"), preexec=limit, says=["labels.npy", "large"])
        self.assertEqual(os.listdir(self.folder), ["points.npy"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        os.symlink("/dev/full", self.path("full.npy"))
        self.refused(1, "generate", "uniform", "-n", 100000, "-o", self.path("full.npy"), says=["full.npy", "No space left"])
        with open("/dev/full", "w") as full:
            result = subprocess.run([GRADUS, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr)
        self.assertIn("No space left", result.stderr)

    def test_full_file_system(self):
        """A file system of 64 KiB of its own, where one may be mounted."""
        points = self.points(n=20000)
        small = self.path("small")
        os.mkdir(small)
        script = 'mount -t tmpfs -o size=64k tmpfs "$1" && "$2" kmeans "$3" -k 2 -o "$1/out"; echo "status $?"; ls -A "$1"'
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", small, GRADUS, points],
                                capture_output=True, text=True)
        if "status" not in result.stdout or "mount:" in result.stderr:
            self.skipTest("no file system can be mounted here: " + result.stderr.strip())
        self.assertEqual(result.stdout, "status 1\n", result.stderr)
        self.assertIn("labels.npy", result.stderr)
        self.assertIn("but only 65536 bytes (64 KiB) are free", result.stderr)

    def test_more_than_the_disk_holds(self):
        """Refused with both sizes before anything is written."""
        huge = 10**12
        for name, size in [("huge.npy", "8000000000128 bytes (7.28 TiB)"), ("huge.csv", "TiB")]:
            self.refused(1, "generate", "uniform", "-n", huge, "-o", self.path(name), says=[name, size, "are needed", "free"])
        points = self.points(n=20000, d=1)
        small = self.path("small")
        os.mkdir(small)
        jobs = [["predict", points, points, "-o", os.path.join(small, "out.npy")],  # 20000 centroids
                ["transform", points, points, "-o", os.path.join(small, "out.npy")],
                ["transform", points, points, "-o", os.path.join(small, "out.csv")],
                ["generate", "uniform", "-n", "20000", "-d", "1", "-o", os.path.join(small, "out.csv")]]
        for job in jobs:
            script = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 99; shift; "$@"; echo "status $?"; ls -A "%s"' % small
            result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", small, GRADUS, *job],
                                    capture_output=True, text=True)
            if result.returncode == 99 or "unshare:" in result.stderr:
                self.skipTest("no file system can be mounted here: " + result.stderr.strip())
            self.assertEqual(result.stdout, "status 1\n", result.stderr)
            self.assertIn("but only 65536 bytes (64 KiB) are free", result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["points.npy", "small"])

    def test_files_of_an_earlier_result_go(self):
        out = self.path("out")
        picture = os.path.join(DATA, "picture.png")
        self.succeed("kmeans", picture, "-k", 3, "-o", out)
        self.assertIn("quantized.png", os.listdir(out))
        for foreign in ([], ["mine.txt"]):
            for name in foreign:
                self.file(os.path.join(out, name), "of a person")
            self.refused(3, "kmeans", self.points(), "-k", 2000, "-o", out)
            self.assertIn("quantized.png", os.listdir(out))
            self.succeed("kmeans", self.points(), "-k", 3, "-o", out)
            self.assertEqual(sorted(os.listdir(out)), sorted(["centroids.npy", "labels.npy", "summary.json", *foreign]))
            self.succeed("kmeans", picture, "-k", 3, "-o", out)
        self.assertEqual(content(os.path.join(out, "mine.txt"), "r"), "of a person")

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
        # Centroids of another run beside the summary.
        shutil.copy(os.path.join(other, "centroids.npy"), centroids)
        for reader in readers:
            self.refused(3, *reader, says=["centroids.npy", "summary.json", "written in part"])
        # A summary of something else, or none, says nothing.
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


class Interrupt(Case):
    def wait_until(self, job, is_so):
        deadline = time.time() + 60
        while not is_so():
            self.assertLess(time.time(), deadline)
            self.assertIsNone(job.poll())
            time.sleep(0.02)

    def wait_until_signals_are_awaited(self, job):
        """The program blocks them in all threads, and awaits them in one."""
        def blocked():
            with open(f"/proc/{job.pid}/status") as status:
                mask = next(line.split()[1] for line in status if line.startswith("SigBlk:"))
            return int(mask, 16) >> (signal.SIGINT - 1) & 1
        self.wait_until(job, blocked)

    def used(self, job):
        with open(f"/proc/{job.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()  # the name before may contain blanks
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # utime, stime

    def wait_until_busy(self, job, seconds):
        """Until it has used so much more processor time: on a busy machine a clock says little about its progress."""
        enough = self.used(job) + seconds
        self.wait_until(job, lambda: self.used(job) >= enough)

    def long_job(self, *more):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 100000, "-d", 8, "-o", points)
        out = self.path("out")
        job = subprocess.Popen(
            [GRADUS, "kmeans", points, "-k", "300", "--variant", "sequential", "--init", "first", "--tolerance", "0",
             "--max-iterations", "1000000", "-o", out, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until(job, lambda: os.path.isdir(out))  # opened before the work
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.wait_until_busy(job, 0.5)
        return job

    def check(self, number, job):
        job.send_signal(number)
        stdout, stderr = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, stderr)
        self.assertTrue(stderr.startswith("gradus: "), stderr)
        self.assertIn("stop", stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.npy"])
        return stdout

    def test_interrupt(self):
        self.assertEqual(self.check(signal.SIGINT, self.long_job()), "")

    def test_terminate(self):
        self.assertEqual(json.loads(self.check(signal.SIGTERM, self.long_job("--json")))["exit_status"], 130)

    def test_second_interrupt_kills(self):
        """A job that waits for the operating system, here for a reader of its output, does not see the first."""
        pipe = self.path("h.csv")
        os.mkfifo(pipe)
        points = self.file("p.csv", "1,2\n3,4\n")
        job = subprocess.Popen([GRADUS, "pair-histogram", points, "--bin-width", "1", "--bins", "4", "-o", pipe],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.wait_until_signals_are_awaited(job)


        def opens_a_file():
            try:
                with open(f"/proc/{job.pid}/syscall") as call:
                    return call.read().split()[0] in ("257", "56")  # openat on x86-64 and on ARM
            except PermissionError:
                time.sleep(2)
                return True
        self.wait_until(job, lambda: opens_a_file() and not time.sleep(0.2) and opens_a_file())
        job.send_signal(signal.SIGINT)
        time.sleep(0.2)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(timeout=60), -signal.SIGINT)

    def stops_soon(self, *arguments, when, threads=1):
        """Starts a job that would go on for long, and interrupts it when when(job) has returned: it ends with 130
        before its threads have used half a second of processor time each, and leaves no file behind."""
        before = set(os.listdir(self.folder))
        finished = resource.getrusage(resource.RUSAGE_CHILDREN)
        job = subprocess.Popen([GRADUS, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.kill)
        when(job)
        used = self.used(job)
        job.send_signal(signal.SIGINT)
        job.wait(timeout=120)  # before anything is read: who waits for a reader must not be helped to an end
        _, stderr = job.communicate()
        self.assertEqual(job.returncode, 130, stderr)
        self.assertIn(b"stop", stderr)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = now.ru_utime + now.ru_stime - finished.ru_utime - finished.ru_stime
        self.assertLess(total - used, 0.5 * threads)
        self.assertEqual(set(os.listdir(self.folder)), before)

    def test_within_an_iteration(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 30000, "-d", 32, "-o", points)
        self.stops_soon("kmeans", points, "-k", 29000, "--variant", "sequential", "--init", "first",
                        "-o", self.path("out"), when=lambda job: self.wait_until_busy(job, 1.0))
        self.stops_soon("predict", points, points, "--variant", "sequential", "-o", self.path("l.npy"),
                        when=lambda job: self.wait_until_busy(job, 1.0))

    def test_while_points_are_folded(self):
        """Into a box so small that each coordinate takes microseconds."""
        points, n = self.path("p.npy"), 300000
        with open(points, "wb") as file:
            header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }" % n
            header += " " * (63 - (10 + len(header)) % 64) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            file.write(struct.pack("<3d", 1.1 * 2.0**499, 1.7 * 2.0**498, -1.3 * 2.0**499) * n)
        edges = self.file("e.csv", "0\n1e-301\n")
        self.stops_soon("pair-histogram", points, "--edges", edges, "--box=1.3e-300,1.3e-300,1.3e-300",
                        "--box-origin=1e-310,-1e-305,3e-320", "--fold", "--threads", 1,
                        when=lambda job: self.wait_until_busy(job, 0.3))

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

        def has_written(job):  # the file under construction may have no name: it is one of the job's own
            files = f"/proc/{job.pid}/fd"
            for number in os.listdir(files):
                try:
                    target = os.readlink(f"{files}/{number}")
                    if (target.startswith(self.folder) and target != points and target != centroids
                            and os.stat(f"{files}/{number}").st_size > 1000000):
                        return True
                except OSError:  # closed meanwhile
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

        def waits(job):  # it cannot end: the labels are more than the pipe holds
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

    def test_while_counting_pairs(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 2000000, "-d", 3, "-o", points)
        job = subprocess.Popen([GRADUS, "pair-histogram", points, "--bin-width", "0.1", "--bins", "50", "--variant",
                                "sequential", "-o", self.path("h.csv")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 1)
        self.assertEqual(self.check(signal.SIGINT, job), "")

    def test_while_generating(self):
        job = subprocess.Popen([GRADUS, "generate", "blobs", "-n", "100000000", "-d", "50", "-o", self.path("b.csv")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 0.5)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130)
        self.assertEqual(os.listdir(self.folder), [])


class PairHistogram(Case):
    POINTS = "x,y\n0,0\n3,4\n0,1\n6,8\n"  # distances 5, 1, 10, sqrt(18), 5, sqrt(85)

    def rows(self, text):
        lines = text.splitlines()
        return lines[0], [line.split(",") for line in lines[1:]]

    def test_csv_on_standard_output(self):
        result = self.succeed("pair-histogram", self.file("p.csv", self.POINTS), "--bin-width", 2.5, "--bins", 4)
        self.assertEqual(result.stdout, "lo,hi,count\n0,2.5,1\n2.5,5,1\n5,7.5,2\n7.5,10,1\n")
        self.assertIn("6 pairs: 5 in 4 bins, 1 beyond", result.stderr)
        again = self.succeed("pair-histogram", "-", "--bin-width", 2.5, "--bins", 4, "--quiet", stdin=self.POINTS)
        self.assertEqual((again.stdout, again.stderr), (result.stdout, ""))

    def test_file(self):
        points, out = self.file("p.csv", self.POINTS), self.path("h.csv")
        result = self.succeed("pair-histogram", points, "--bin-width", 5, "--bins", 2, "-o", out)
        self.assertEqual(result.stdout, "")
        self.assertIn("wrote", result.stderr)
        self.assertEqual(content(out, "r"), "lo,hi,count\n0,5,2\n5,10,3\n")
        self.refused(1, "pair-histogram", points, "--bin-width", 5, "--bins", 2, "-o", self.path("no/such/h.csv"),
                     says=["no/such/h.csv"])
        self.refused(3, "pair-histogram", self.file("bad.csv", "1,2\n3,nan\n"), "--bin-width", 5, "--bins", 2, "-o", out)
        self.assertEqual(content(out, "r"), "lo,hi,count\n0,5,2\n5,10,3\n")  # as it was
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.csv", "h.csv", "p.csv"])

    def test_published_table(self):
        points = self.path("lab.npy")
        self.succeed("generate", "lab-atoms", "-n", 10000, "-o", points)
        golden = content(os.path.join(DATA, "pair-histogram-10000-500.csv"), "r")
        self.assertEqual(self.succeed("pair-histogram", points, "--bin-width", 500, "--bins", 80).stdout, golden)

    def test_edges_cutoff_and_below(self):
        points = self.file("p.csv", self.POINTS)
        edges = self.file("edges.csv", "2\n5\n9\n20\n")
        answer = json.loads(self.succeed("pair-histogram", points, "--edges", edges, "--json").stdout)
        self.assertEqual((answer["counts"], answer["below"], answer["beyond"]), ([1, 2, 2], 1, 0))
        answer = json.loads(self.succeed("pair-histogram", points, "--edges", edges, "--cutoff", 6, "--json").stdout)
        self.assertEqual((answer["edges"], answer["counts"], answer["beyond"]), ([2, 5, 6], [1, 2], 2))
        text = self.succeed("pair-histogram", points, "--bin-width", 2, "--cutoff", 5).stdout
        self.assertEqual(text, "lo,hi,count\n0,2,1\n2,4,0\n4,5,1\n")

    def test_box_and_rdf(self):
        # A periodic lattice of 4 x 4 x 4: 6 neighbours at distance 1, 12 at sqrt(2), 8 at sqrt(3).
        text = "".join("%d,%d,%d\n" % (row % 4, row // 4 % 4, row // 16) for row in range(64))
        points = self.file("p.csv", text)
        edges = self.file("edges.csv", "0.5\n1.2\n1.5\n1.9\n")
        result = self.succeed("pair-histogram", points, "--edges", edges, "--box", "4,4,4", "--rdf")
        header, rows = self.rows(result.stdout)
        self.assertEqual(header, "lo,hi,count,g,density,coordination")
        self.assertEqual([row[2] for row in rows], ["192", "384", "256"])
        self.assertEqual([float(row[5]) for row in rows], [6, 18, 26])
        shell = 4 / 3 * 3.141592653589793 * (1.2**3 - 0.5**3)
        self.assertAlmostEqual(float(rows[0][4]), 6 / shell, places=12)
        self.assertAlmostEqual(float(rows[0][3]), 192 / (64 * 63 / 2) / (shell / 64), places=12)
        twice = self.succeed("pair-histogram", points, "--edges", edges, "--box", "4,4,4", "--rdf", "--volume", 128)
        self.assertAlmostEqual(float(self.rows(twice.stdout)[1][0][3]), 2 * float(rows[0][3]), places=12)
        half = self.succeed("pair-histogram", points, "--bin-width", 0.75, "--box", "4,4,4").stdout
        self.assertEqual([row[:2] for row in self.rows(half)[1]], [["0", "0.75"], ["0.75", "1.5"], ["1.5", "2"]])
        moved = self.file("m.csv", "".join("%d,%d,%d\n" % (row % 4 - 2, row // 4 % 4 - 2, row // 16 - 2) for row in range(64)))
        self.assertEqual(self.succeed("pair-histogram", moved, "--edges", edges, "--box", "4,4,4", "--box-origin",
                                      "-2,-2,-2", "--rdf").stdout, result.stdout)

    def test_frames_add_up(self):
        box = 'Lattice="4 0 0 0 4 0 0 0 4"'
        lattice = "".join("Ar %d %d %d\n" % (row % 4, row // 4 % 4, row // 16) for row in range(64))
        one, two = "64\n%s\n" % box + lattice, "64\npbc=\"T T T\" " + box + "\n" + lattice
        edges = self.file("edges.csv", "0.5\n1.2\n1.5\n1.9\n")
        single = self.succeed("pair-histogram", self.file("one.xyz", one), "--edges", edges, "--rdf")
        both = self.succeed("pair-histogram", self.file("two.xyz", one + two), "--edges", edges, "--rdf")
        self.assertEqual([row[2] for row in self.rows(single.stdout)[1]], ["192", "384", "256"])
        self.assertEqual([row[2] for row in self.rows(both.stdout)[1]], ["384", "768", "512"])
        self.assertEqual([row[3:] for row in self.rows(both.stdout)[1]], [row[3:] for row in self.rows(single.stdout)[1]])
        self.assertIn("128 points x 3 in 2 frames (f64)", both.stderr)
        answer = json.loads(self.succeed("pair-histogram", self.path("two.xyz"), "--bin-width", 0.75, "--json").stdout)
        self.assertEqual((answer["frames"], answer["n"], answer["box"]), (2, 64, [4, 4, 4]))
        self.assertEqual((answer["edges"], answer["pairs"]), ([0, 0.75, 1.5, 2], 2 * 64 * 63 // 2))
        half = json.loads(self.succeed("pair-histogram", self.path("two.xyz"), "--cross", self.path("two.xyz"),
                                       "--bin-width", 1, "--json").stdout)
        self.assertEqual((half["cross"], half["pairs"], half["counts"]), (64, 2 * 64 * 64, [2 * 64, 2 * 64 * 26]))

    def test_frames_with_and_without_a_box(self):
        lattice = 'Lattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3'
        frames = {True: "2\n%s\nC 0 0 0\nC 8 0 0\n" % lattice, False: "2\nfree\nC 0 0 0\nC 8 0 0\n"}
        for first in (True, False):
            path = self.file("mixed.xyz", frames[first] + frames[not first])
            self.refused(3, "pair-histogram", path, "--bin-width", 1, "--bins", 4,
                         says=["(in frame 2, counted from 1)", "is periodic", "is not", "--box"])
            result = self.succeed("pair-histogram", path, "--bin-width", 1, "--bins", 4, "--box", "9,9,9")
            self.assertIn("\n1,2,2\n", result.stdout)

    def test_edges_where_squares_lose_digits(self):
        path = self.file("points.csv", "x\n1e-170\n2e-170\n4e-170\n")
        result = self.succeed("pair-histogram", path, "--bin-width", "1e-171", "--bins", 3)
        self.assertIn("scale the points up", result.stderr)
        result = self.succeed("pair-histogram", path, "--bin-width", "1e-100", "--bins", 3)
        self.assertNotIn("scale", result.stderr)

    def test_lammps_dump(self):
        head = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n-5 5\n-5 5\n-5 5\n"
        dump = self.file("a.lammpstrj", head + "ITEM: ATOMS id xs ys zs\n1 0.05 0.5 0.5\n2 0.95 0.5 0.5\n")
        self.assertEqual(self.succeed("pair-histogram", dump, "--bin-width", 2.5).stdout, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        given = self.succeed("pair-histogram", dump, "--bin-width", 2.5, "--box", "10,10,10")  # the corner is the file's
        self.assertEqual(given.stdout, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        unwrapped = self.file("u.dump", head + "ITEM: ATOMS id xu yu zu\n1 -4.5 0 20\n2 14.5 30 0\n")
        self.refused(3, "pair-histogram", unwrapped, "--bin-width", 2.5, says=["u.dump", "outside the periodic box", "frame 1"])
        folded = self.succeed("pair-histogram", unwrapped, "--bin-width", 2.5, "--fold").stdout
        self.assertEqual(folded, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        self.refused(2, "pair-histogram", self.file("p.csv", "1,2,3\n"), "--bin-width", 1, "--bins", 2, "--fold",
                     says=["--fold needs a periodic box"])

    def test_folding_is_exact_and_ends(self):
        # 1.7 is 0.0999... after 16 lengths of the double 0.1, and not a tiny negative number.
        near = self.file("near.csv", "0.05\n1.7\n")
        result = self.succeed("pair-histogram", near, "--box", 0.1, "--fold", "--bin-width", 0.01)
        self.assertEqual([line for line in result.stdout.splitlines() if line.endswith(",1")], ["0.04,0.05,1"])
        # 5e15 modulo the double 0.7 is 0.2172: rounding a multiple of the length would give 0.
        far = self.file("far.csv", "0\n5000000000000000\n")
        result = self.succeed("pair-histogram", far, "--box", 0.7, "--fold", "--bin-width", 0.1)
        self.assertIn("\n0.2,0.3", result.stdout)
        self.assertEqual([line[:3] for line in result.stdout.splitlines() if line.endswith(",1")], ["0.2"])
        tiny = self.file("tiny.csv", "0.05,0.5\n0.45,0.2\n")
        self.succeed("pair-histogram", tiny, "--box", "1e-320,1", "--fold", "--bin-width", "1e-321")
        self.refused(3, "pair-histogram", self.file("large.csv", "1e300,0\n1,2\n"), "--box", "1,1", "--fold",
                     "--bin-width", 0.1, says=["large.csv", "row 0", "too large", "2^500"])

    def test_bad_trajectories(self):
        bins = "--bin-width", 1, "--bins", 3
        good = "1\n\nH 0 0 0\n"
        self.refused(3, "pair-histogram", self.file("a.xyz", good + "2\n\nH 0 0 0\nH 0 zero 0\n"), *bins,
                     says=["a.xyz:7", "'zero' is not a number"])
        self.refused(3, "pair-histogram", self.file("b.xyz", good + "1000000\n\n"), *bins, says=["b.xyz:4", "claims 1000000"])
        self.refused(4, "pair-histogram", self.file("c.xyz", '1\nLattice="1 0 0 1 1 0 0 0 1"\nH 0 0 0\n'), *bins,
                     says=["c.xyz:2", "not orthogonal"])
        changing = self.file("d.xyz", good + "2\n\nH 0 0 0\nH 0 0 1.5\n")
        self.assertEqual(self.succeed("pair-histogram", changing, *bins).stdout, "lo,hi,count\n0,1,0\n1,2,1\n2,3,0\n")
        self.refused(3, "pair-histogram", changing, *bins, "--rdf", "--volume", 8, says=["different numbers of points"])
        self.refused(3, "pair-histogram", changing, *bins, "--cross", self.path("e.xyz"), says=["e.xyz"])
        self.refused(3, "pair-histogram", changing, *bins, "--cross", self.file("f.xyz", good),
                     says=["f.xyz", "fewer frames"])
        self.refused(3, "pair-histogram", self.path("f.xyz"), *bins, "--cross", changing, says=["d.xyz", "more frames"])
        table = self.file("t.csv", "0,0,0\n")
        self.refused(3, "pair-histogram", table, *bins, "--cross", changing, says=["d.xyz", "more frames"])
        boxed = self.file("h.xyz", '1\nLattice="9 0 0 0 9 0 0 0 9"\nH 0 0 8\n')
        self.refused(3, "pair-histogram", table, *bins, "--cross", boxed, says=["h.xyz", "periodic box", "--box"])
        self.refused(3, "pair-histogram", boxed, *bins, "--cross", self.path("f.xyz"), says=["f.xyz", "periodic box"])
        for points, others in ((table, boxed), (boxed, self.path("f.xyz"))):
            result = self.succeed("pair-histogram", points, *bins, "--cross", others, "--box", "9,9,9")
            self.assertIn("\n1,2,1\n", result.stdout)
        self.refused(2, "pair-histogram", changing, "--bin-width", 1, says=["--bins is missing"])
        self.refused(2, "pair-histogram", changing, *bins, "--header", "no", says=["--header", "tables of text"])
        self.refused(2, "pair-histogram", self.file("g.xyz", '1\nLattice="4 0 0 0 4 0 0 0 4"\nH 0 0 0\n'), *bins,
                     says=["past half", "frame 1"])

    def test_boxes_in_every_writing(self):
        """Two atoms at a distance of 1 across the border of a box of 5 x 6 x 7."""
        lattices = {
            'Lattice="5 0 0 0 6 0 0 0 7"': 0,
            'Lattice="5 0 0 0 6 0 0 0 7" pbc=T': 0,
            'Lattice="5 1e-17 0 3.06e-16 6 0 0 -1e-16 7" pbc="T T T"': 0,
            'Lattice="0 5 0 6 0 0 0 0 7"': 4,
            'Lattice="0 0 5 0 6 0 7 0 0"': 4,
            'Lattice="0 2.5 2.5 2.5 0 2.5 2.5 2.5 0"': 4,
            'Lattice="5 0 0 1 6 0 0 0 7"': 4,
            'Lattice="5 0 0 0 6 0 0 0 7" pbc="T T F"': 4,
            'Lattice="5 0 0 0 0 0 0 0 7"': 3,
        }
        histogram = "lo,hi,count\n0,1.5,1\n1.5,2.5,0\n"
        job = "--bin-width", 1.5, "--cutoff", 2.5
        for comment, status in lattices.items():
            file = self.file("a.xyz", "2\n%s\nH 0.5 3 3\nH 4.5 3 3\n" % comment)
            if status:
                self.refused(status, "pair-histogram", file, *job, says=["a.xyz:2"])
            else:
                self.assertEqual(self.succeed("pair-histogram", file, *job).stdout, histogram, comment)
        dumps = {
            "pp pp pp\n0 5\n0 6\n0 7\n": 0,
            "xy xz yz pp pp pp\n0 5 0\n0 6 0.0\n0 7 0\n": 0,
            "abc origin pp pp pp\n5 0 0 0\n0 6 1e-17 0\n0 0 7 0\n": 0,
            "xy xz yz pp pp pp\n0 5 0\n0 6 2\n0 7 0\n": 4,
            "abc origin pp pp pp\n0 5 0 0\n6 0 0 0\n0 0 7 0\n": 4,
            "pp pp pq\n0 5\n0 6\n0 7\n": 3,
        }
        for bounds, status in dumps.items():
            file = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS %sITEM: ATOMS xsu ysu zsu\n"
                             "0.1 0.5 0.5\n0.9 0.5 0.5\n" % bounds)
            if status:
                self.refused(status, "pair-histogram", file, *job, says=["a.dump:"])
            else:
                self.assertEqual(self.succeed("pair-histogram", file, *job).stdout, histogram, bounds)

    def test_a_box_that_the_file_leaves_open(self):
        dump = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS\n0 5\n0 6\n0 7\nITEM: ATOMS x y z\n"
                         "0.5 3 3\n4.5 3 3\n")
        job = "--bin-width", 1.5, "--cutoff", 2.5
        self.refused(3, "pair-histogram", dump, *job, says=["a.dump:3", "does not say whether", "--box", "ff ff ff"])
        periodic = self.succeed("pair-histogram", dump, *job, "--box", "5,6,7").stdout
        self.assertEqual(periodic, "lo,hi,count\n0,1.5,1\n1.5,2.5,0\n")
        no_lattice = self.file("a.xyz", '2\npbc="T T T"\nH 0.5 3 3\nH 4.5 3 3\n')
        self.refused(3, "pair-histogram", no_lattice, *job, says=["a.xyz:2", "no Lattice", "--box"])
        self.assertEqual(self.succeed("pair-histogram", no_lattice, *job, "--box", "5,6,7").stdout, periodic)

    def test_cross_and_weights(self):
        points = self.file("p.csv", "0\n1\n")
        others = self.file("o.csv", "0\n2\n4\n")
        answer = json.loads(self.succeed("pair-histogram", points, "--cross", others, "--bin-width", 1, "--bins", 3,
                                         "--json").stdout)
        self.assertEqual((answer["pairs"], answer["counts"], answer["beyond"], answer["cross"]), (6, [1, 2, 1], 2, 3))
        weights, other_weights = self.file("w.csv", "2\n-1\n"), self.file("v.csv", "1\n10\n100\n")
        text = self.succeed("pair-histogram", points, "--cross", others, "--bin-width", 1, "--bins", 3, "--weights",
                            weights, "--cross-weights", other_weights).stdout
        self.assertEqual(text, "lo,hi,count,weight\n0,1,1,2\n1,2,2,-11\n2,3,1,20\n")

    def test_same_for_any_threads_variant_and_type(self):
        points = self.path("p.npy")
        self.succeed("generate", "blobs", "-n", 1500, "-d", 3, "-o", points)
        job = ("pair-histogram", points, "--bin-width", 0.1, "--bins", 200)
        seen = {self.succeed(*job, "--threads", threads).stdout for threads in (1, 2, 3, 7)}
        for row in json.loads(self.succeed("list", "pair-histogram", "--json").stdout)[0]["variants"]:
            if row["runs_here"]:
                result = gradus(*job, "--variant", row["name"].replace("_", "-"))
                if result.returncode == 4:
                    self.assertIn("cannot run here", result.stderr)  # made for other shapes
                else:
                    seen.add(result.stdout)
        seen.add(self.succeed(*job, "--dtype", "f64").stdout)  # the same points
        self.assertEqual(len(seen), 1)

    def test_json_has_the_usual_keys(self):
        answer = json.loads(self.succeed("pair-histogram", self.points(), "--bin-width", 10, "--bins", 9, "--json").stdout)
        for key in ("problem", "input", "n", "d", "dtype", "variant", "device", "threads", "rechecked", "memory_bytes"):
            self.assertIn(key, answer)
        self.assertEqual(answer["pairs"], 200 * 199 // 2)
        self.assertEqual(answer["pairs"], answer["below"] + sum(answer["counts"]) + answer["beyond"])
        for key in ("read", "examine", "histogram", "write", "total"):
            self.assertGreaterEqual(answer["seconds"][key], 0)

    def test_wrong_use(self):
        points = self.file("p.csv", self.POINTS)
        edges = self.file("edges.csv", "1\n2\n")
        for arguments, says in [
            ([], ["INPUT is missing"]),
            ([points], ["--bin-width", "--edges"]),
            ([points, "--bin-width", 1, "--edges", edges], ["one of the two"]),
            ([points, "--bins", 4, "--edges", edges], ["--bins"]),
            ([points, "--bin-width", 1], ["--bins is missing", "--cutoff"]),
            ([points, "--bin-width", -1, "--bins", 3], ["--bin-width", "'-1'"]),
            ([points, "--bin-width", 0, "--bins", 3], ["--bin-width", "'0'"]),
            ([points, "--bin-width", "nan", "--bins", 3], ["--bin-width", "'nan'"]),
            ([points, "--bin-width", 1, "--bins", 0], ["--bins", "'0'"]),
            ([points, "--bin-width", 1, "--bins", 99999999], ["99999999 bins", "16777216"]),
            ([points, "--bin-width", 1, "--cutoff", "0"], ["--cutoff"]),
            ([points, "--bin-width", 1e-300, "--cutoff", 1], ["more bins than the supported 16777216"]),
            ([points, "--bin-width", 1e-320, "--cutoff", 1], ["more bins than the supported 16777216"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10"], ["1 lengths", "2 columns"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10,x"], ["--box", "'x'"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10,-1"], ["--box", "'-1'"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box-origin", "1,1"], ["origin"]),
            ([points, "--bin-width", 1, "--bins", 7, "--box", "12,12"], ["reach to 7", "half", "6"]),
            ([points, "--bin-width", 1, "--bins", 3, "--rdf"], ["--volume", "--box"]),
            ([points, "--bin-width", 1, "--bins", 3, "--rdf", "--volume", 0], ["--volume"]),
            ([points, "--bin-width", 1, "--bins", 3, "--variant", "sequentail"], ["did you mean 'sequential'?"]),
            ([points, "--bin-width", 1, "--bins", 3, "--cross-weights", edges], ["needs --cross"]),
            (["-", "--bin-width", 1, "--bins", 3, "--cross", "-"], ["standard input"]),
        ]:
            self.refused(2, "pair-histogram", *arguments, says=says)

    def test_bad_input(self):
        def refuse(*arguments, says):
            self.refused(3, "pair-histogram", *arguments, says=says)

        points = self.file("p.csv", self.POINTS)
        bins = ("--bin-width", 1, "--bins", 3)
        refuse(self.path("none.npy"), *bins, says=["none.npy", "No such file"])
        refuse(self.file("nan.csv", "1,2\n3,nan\n"), *bins, says=["nan.csv:2:2"])
        nan = write_npy(self.path("nan.npy"), "<f4", (3, 2), [1, 2, 3, 4, float("nan"), 6])
        refuse(nan, *bins, says=["nan.npy", "row 2", "column 0", "NaN"])
        refuse(write_npy(self.path("4d.npy"), "<f4", (1, 4), [1, 2, 3, 4]), *bins, says=["4d.npy", "4 columns", "1, 2 or 3"])
        refuse(points, *bins, "--box", "7,7", says=["p.csv", "row 3", "column 1", "8", "outside the periodic box"])
        refuse(points, *bins, "--cross", self.file("c.csv", "1,2,3\n"), says=["c.csv", "3 columns", "2"])
        refuse(points, *bins, "--weights", self.file("w.csv", "1\n2\n"), says=["w.csv", "2 weights for 4 points"])
        refuse(points, "--edges", self.file("e.csv", "1\n3\n2\n"), says=["e.csv", "edge 2", "increase"])
        refuse(points, "--edges", self.file("e.csv", "1\n"), says=["e.csv", "two"])
        refuse(points, "--edges", self.file("e.csv", "-1\n2\n"), says=["e.csv", "negative"])
        self.refused(1, "pair-histogram", points, *bins, "--memory-limit", 100, says=["bytes", "100"])
        self.refused(4, "pair-histogram", points, *bins, "--device", "gpu:7", says=["GPU"])

    def test_progress_on_a_terminal_only(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 20000, "-d", 3, "-o", points)
        result = self.succeed("pair-histogram", points, "--bin-width", 1, "--bins", 9)
        self.assertNotIn("%", result.stderr)


class Headers(Case):
    """What is taken for a header is asked for, or said."""

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
            self.assertIn("p.csv:1: the first line, '%s', is taken as %s" % (line, "a row" if count == 3 else "names"), said)
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
        weights = self.file("w.csv", "0\n1\n2\n")
        summary = json.loads(self.succeed("kmeans", points, "-k", 1, "--weights", weights, "--header", "yes", "--json").stdout)
        self.assertEqual(summary["n"], 2)
        edges = self.file("e.csv", "0\n1\n5\n")
        result = self.succeed("pair-histogram", points, "--edges", edges, "--header", "yes")
        self.assertEqual(result.stdout, "lo,hi,count\n1,5,1\n")
        self.assertIn("e.csv:1: the first line, '0', is made of numbers", result.stderr)
        cross = self.succeed("pair-histogram", self.centroids, "--cross", self.file("o.csv", "0,1,2\n3,4,9\n"),
                             "--bin-width", 9, "--bins", 1, "--header", "yes", "--json")
        self.assertEqual(json.loads(cross.stdout)["cross"], 1)

    def test_no_meaning_without_a_table(self):
        says = ["--header is for tables of text"]
        for header in ("yes", "no"):
            option = "--header", header
            self.refused(2, "kmeans", self.centroids, "-k", 1, *option, says=says)
            self.refused(2, "kmeans", os.path.join(DATA, "picture.png"), "-k", 1, *option, says=says)
            self.refused(2, "predict", self.centroids, self.centroids, *option, says=says)
            self.refused(2, "transform", self.centroids, self.centroids, *option, says=says)
            self.refused(2, "pair-histogram", self.centroids, "--bin-width", 1, "--bins", 2, *option, says=says)
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
        self.assertEqual(list(answer["groups"][0]), ["label", "points", "n", "d", "k", "dtype", "iterations", "verified",
                                                     "rows"])
        self.assertEqual(list(answer["groups"][0]["rows"][0]), [
            "variant", "threads", "pinning", "block_size", "contract", "seconds", "iterations",
            "milliseconds_per_iteration", "median_milliseconds_in_an_iteration", "speedup", "phases",
            "share_of_read_bandwidth", "share_of_fma_rate", "peak_memory_bytes", "rechecked", "inertia", "samples"])

    def test_pair_histogram(self):
        out = self.path("bench.json")
        text = self.succeed("bench", "pair_histogram", "--shape", "600x3", "--variants", "sequential,openmp_privatized",
                            "--threads", "1,2", "--dtype", "f32,f64", "--repeats", 2, "--json", out).stdout
        self.assertIn("600 x 3 f64 lab_atoms, 80 bins of 500\nverified: all points against the oracle", text)
        self.assertIn("pairs G/s", text)
        answer = json.loads(content(out, "r"))
        self.assertEqual((answer["problem"], answer["right"], len(answer["groups"])), ("pair_histogram", True, 2))
        group = answer["groups"][1]
        self.assertEqual((group["n"], group["dtype"], group["pairs"], group["counted"]), (600, "f64", 179700, 179700))
        self.assertEqual(group["bins"], {"bin_width": 500, "bins": 80, "cutoff": None})
        self.assertEqual([(row["variant"], row["threads"]) for row in group["rows"]],
                         [("sequential", 1), ("openmp_privatized", 1), ("openmp_privatized", 2)])

    def test_pair_histogram_of_a_file_with_edges_in_a_box(self):
        points = self.file("p.csv", "0,1\n0,0\n3,4\n6,8\n")
        edges = self.file("edges.csv", "1\n3\n4\n")
        result = self.succeed("bench", "pair-histogram", "--data", points, "--edges", edges, "--box", "9,9",
                              "--variants", "sequential", "--repeats", 1, "--dtype", "f32,f64", "--json")
        self.assertEqual(result.stderr.count("p.csv:1: the first line, '0,1', is taken as a row"), 1)  # read for each type
        answer = json.loads(result.stdout)
        group = answer["groups"][0]
        self.assertEqual((group["points"], group["n"], group["box"]), (points, 4, [9, 9]))
        self.assertEqual(group["bins"], {"edges": [1, 3, 4], "cutoff": None})
        self.assertEqual((group["pairs"], group["counted"]), (6, 3))  # at 1, sqrt(10) and sqrt(13)

    def test_wrong_use(self):
        for arguments, words in {
            ("kmeans", "--bin-width", 1): "kmeans has none",
            ("kmeans", "--box", "1,1"): "kmeans has none",
            ("pair-histogram", "-k", 3): "--clusters",
            ("pair-histogram", "--data", "uniform"): "--bin-width",
            ("pair-histogram", "--data", "uniform", "--bin-width", 1): "--bins",
            ("pair-histogram", "--variants", "simd_filtre"): "simd_filter",
            ("pair-histogram", "--variants", "simd_filtre", "--threads", 2): "simd_filter",
            ("--experiment", "kmeans-openmp", "--bins", 3): "experiment",
            ("pair-histogramm",): "pair_histogram",
        }.items():
            self.refused(2, "bench", *arguments, says=[words])


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
        self.refused(2, "predict", centroids, says=["INPUT is missing"])
        self.refused(2, "transform", centroids, centroids, "--variant", "sequential", says=["no option", "--variant"])
        out = self.path("x.npy")
        self.refused(3, "transform", centroids, self.file("p.csv", "1,2,3\n"), "-o", out)
        self.assertFalse(os.path.exists(out))


class Generate(Case):
    def test_same_for_any_number_of_threads(self):
        for kind in ("uniform", "blobs", "lab-points", "lab-atoms"):
            contents = set()
            for threads in (1, 2, 3, 7):
                self.succeed("generate", kind, "-n", 3001, "-d", 3, "--threads", threads, "-o", self.path("x.npy"))
                contents.add(content(self.path("x.npy")))
            self.assertEqual(len(contents), 1, kind)

    def test_seed(self):
        contents = set()
        for seed in (0, 1, 18446744073709551615):
            self.succeed("generate", "uniform", "-n", 10, "--seed", seed, "-o", self.path("x.npy"))
            contents.add(content(self.path("x.npy")))
        self.assertEqual(len(contents), 3)

    def test_lab_points(self):
        def rand_r(state):
            result = 0
            for bits in (11, 10, 10):
                state = (state * 1103515245 + 12345) % 2**32
                result = result << bits | (state >> 16) % (1 << bits)
            return state, result

        def single(value):
            return struct.unpack("<f", struct.pack("<f", value))[0]

        for dtype in ("f32", "f64"):
            self.succeed("generate", "lab-points", "-n", 50, "-d", 4, "--dtype", dtype, "-o", self.path("x.npy"))
            _, _, values = read_npy(self.path("x.npy"))
            for row in range(50):
                state = row
                for column in range(4):
                    state, number = rand_r(state)
                    expected = single(single(single(number) / 2147483648.0) * 10)
                    self.assertEqual(values[4 * row + column], expected)

    def test_lab_atoms(self):
        answer = json.loads(self.succeed("generate", "lab-atoms", "-n", 3, "-o", self.path("x.npy"), "--json").stdout)
        self.assertEqual((answer["kind"], answer["d"], answer["dtype"]), ("lab-atoms", 3, "f64"))
        self.assertEqual(read_npy(self.path("x.npy"))[2][:3], [19324.31749455832, 9070.80731683914, 18011.282146447935])

    def test_size_in_mib(self):
        answer = json.loads(self.succeed("generate", "lab-points", "--size-mib", 1, "-d", 16, "--dtype", "f64", "-o",
                                         self.path("x.npy"), "--json").stdout)
        self.assertEqual((answer["n"], answer["d"]), (8192, 16))
        self.assertEqual(read_npy(self.path("x.npy"))[1], (8192, 16))

    def test_csv_reads_back_as_the_same_values(self):
        for dtype in ("f32", "f64"):
            for ending in ("npy", "csv"):
                self.succeed("generate", "uniform", "-n", 100, "--dtype", dtype, "-o", self.path("x." + ending))
            text = [float(field) for line in content(self.path("x.csv"), "r").splitlines() for field in line.split(",")]
            code = {"f32": "f", "f64": "d"}[dtype]
            self.assertEqual([struct.unpack(code, struct.pack(code, value))[0] for value in text],
                             read_npy(self.path("x.npy"))[2])


class Tools(Case):
    """list, info, demo, completion, manual."""

    def test_list(self):
        text = self.succeed("list").stdout
        answer = json.loads(self.succeed("list", "--json").stdout)
        for problem in answer:
            for variant in problem["variants"]:
                self.assertIn("\n" + variant["name"] + " ", text)
                self.assertIn(variant["summary"] if variant["runs_here"] else variant["reason"], text)
                self.assertIn(variant["contract"], ("same bits", "tolerance"))
        self.assertIn("sequential", [variant["name"] for variant in answer[0]["variants"]])

    def test_info(self):
        answer = json.loads(self.succeed("info", "--json").stdout)
        self.assertGreaterEqual(answer["cores"], 1)
        self.assertGreater(answer["memory_bytes"], 2**20)
        text = self.succeed("info").stdout
        self.assertIn(answer["processor"], text)
        self.assertIn(answer["version"], text)

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
        self.assertLess(min(pixels), b"\x20")  # ink
        self.assertEqual(max(pixels), b"\xff")  # paper

    def test_completions_are_understood_by_their_shells(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.file("completion." + shell, self.succeed("completion", shell).stdout)
            if shutil.which(shell):
                result = subprocess.run([shell, "-n", script], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)
            elif shell == "bash":
                self.skipTest("no bash")

    def complete(self, *words):
        script = self.file("gradus.bash", self.succeed("completion", "bash").stdout)
        program = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gradus; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", program, "bash", script, *words], capture_output=True, text=True,
                                cwd=self.folder)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_completes(self):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        self.assertEqual(self.complete("gradus", "km"), ["kmeans"])
        self.assertEqual(self.complete("gradus", "kmeans", "--resta"), ["--restarts"])
        self.assertIn("sequential", self.complete("gradus", "kmeans", "x.npy", "--variant", ""))
        self.assertEqual(self.complete("gradus", "kmeans", "--pin", "sc"), ["scatter"])
        self.assertEqual(self.complete("gradus", "kmeans", "--pin", "=", "sc"), ["scatter"])
        self.assertEqual(self.complete("gradus", "generate", "lab"), ["lab-points", "lab-atoms"])
        self.assertEqual(self.complete("gradus", "list", ""), ["kmeans", "pair_histogram"])
        self.file("some points.npy", "")
        self.assertEqual(self.complete("gradus", "kmeans", "some"), ["some", "points.npy"])

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        script = self.file("gradus.fish", self.succeed("completion", "fish").stdout)
        result = subprocess.run(["fish", "-c", "source %s; complete -C 'gradus kmeans --pin sc'" % script],
                                capture_output=True, text=True, env=dict(os.environ, HOME=self.folder))
        self.assertEqual(result.stdout.split()[0], "scatter", result.stderr)

    def test_manual(self):
        page = self.succeed("manual").stdout
        for words in (".SH NAME", ".SS kmeans", "\\-\\-max\\-iterations", ".SH EXIT STATUS", "NO_COLOR"):
            self.assertIn(words, page)
        script = self.file("gradus.1", page)
        if shutil.which("groff"):
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou", script], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("gradus kmeans points.npy -k 16 -o clusters", result.stdout)
        if shutil.which("man"):
            result = subprocess.run(["man", "--warnings", "-l", script], capture_output=True, text=True,
                                    env=dict(os.environ, MANPAGER="cat", LC_ALL="C.UTF-8"))
            self.assertEqual((result.returncode, result.stderr), (0, ""))


class Terminal(Case):
    """What is seen only on a terminal: colour and progress."""

    def on_terminal(self, *arguments, env=None):
        import pty

        master, slave = pty.openpty()
        job = subprocess.Popen([GRADUS, *map(str, arguments)], stdout=slave, stderr=slave, stdin=slave,
                               env=dict(os.environ, **(env or {})))
        os.close(slave)
        seen = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(master)
        self.assertEqual(job.wait(), 0)
        return seen.decode()

    def test_colour(self):
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.assertIn("\x1b[1m", self.on_terminal("list", env=dict(environment, NO_COLOR="")))
        self.assertNotIn("\x1b[1m", self.on_terminal("list", env={"NO_COLOR": "1"}))

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


class CommandLine(Case):
    """Options that mean nothing here, endings of files, amounts, the end of options: what a command line says of itself."""

    def test_options_without_effect_are_refused(self):
        points, others = self.points(), self.file("others.csv", "1,2,3\n")
        centroids, out = self.file("c.csv", "0,0,0\n1,1,1\n"), self.path("out.npy")
        bins = ("--bin-width", 1, "--bins", 3)
        for arguments, says in [
            (["kmeans", points, "-k", 2, "--init", "first", "--seed", 0], ["--seed has no effect", "--init first"]),
            (["kmeans", points, "-k", 2, "--init", centroids, "--seed", 3], ["--seed has no effect", "file"]),
            (["kmeans", points, "-k", 2, "--init", "first", "--restarts", 2], ["--restarts has no effect"]),
            (["kmeans", points, "-k", 2, "--device", "cpu", "--block-size", 96], ["--block-size", "runs on the CPU"]),
            (["kmeans", points, "-k", 2, "--variant", "sequential", "--block-size", 100], ["--block-size", "'sequential'"]),
            (["demo", "-o", out, "--device", "cpu", "--block-size", 96], ["--block-size"]),
            (["predict", centroids, points, "--device", "cpu", "--block-size", 96], ["--block-size"]),
            (["pair-histogram", points, *bins, "--device", "cpu", "--block-size", 96], ["--block-size", "on the CPU"]),
            (["pair-histogram", points, *bins, "--volume", 8], ["--volume has no effect", "--rdf"]),
            (["pair-histogram", points, *bins, "--cross-weights", others], ["--cross-weights has no effect", "needs --cross"]),
            (["pair-histogram", points, *bins, "--box-origin", "1,1,1"], ["--box-origin has no effect", "--box"]),
            (["generate", "lab-points", "-n", 5, "--seed", 1, "-o", out], ["--seed has no effect", "lab-points"]),
            (["generate", "lab-atoms", "-n", 5, "--low", 1, "-o", out], ["--low has no effect"]),
            (["generate", "lab-atoms", "-n", 5, "--high", 1, "-o", out], ["--high has no effect"]),
            (["generate", "uniform", "-n", 5, "--clusters", 3, "-o", out], ["--clusters has no effect", "no blobs"]),
            (["generate", "lab-points", "-n", 5, "--spread", 3, "-o", out], ["--spread has no effect"]),
            (["verify", "--list-cases", "--seeds", 2], ["--seeds has no effect", "--list-cases"]),
            (["verify", "--list-cases", "--variant", "sequential"], ["--variant has no effect"]),
            (["verify", "--variant", "sequential", "--device", "cpu"], ["--device has no effect", "--variant"]),
            (["verify", "--device", "gpu", "--threads", 2], ["--threads has no effect", "block sizes"]),
            (["verify", "--variant", "cuda-naive", "--threads", 2], ["--threads has no effect"]),
            (["bench", "kmeans", "--scale", 1], ["--scale has no effect", "--shape"]),
            (["bench", "kmeans", "--experiment", "kmeans-openmp"], ["PROBLEM has no effect", "experiment"]),
            (["bench", "--experiment", "kmeans-openmp", "--dtype", "f32"], ["--dtype has no effect", "experiment"]),
            (["bench", "kmeans", "--data", points, "--shape", "9x3"], ["--shape has no effect", "--data"]),
            (["bench", "kmeans", "--variants", "sequential", "--block-size", 96], ["--block-size has no effect", "GPU"]),
            (["bench", "kmeans", "--variants", "sequential", "--threads", 2], ["--threads has no effect", "threads"]),
            (["bench", "kmeans", "--variants", "sequential", "--pin", "compact"], ["--pin has no effect"]),
            (["bench", "pair-histogram", "--iterations", 3], ["--iterations has no effect", "pair_histogram has none"]),
        ]:
            self.refused(2, *arguments, says=says)
        self.assertFalse(os.path.exists(out))
        # The same options where they have one.
        self.succeed("kmeans", points, "-k", 2, "--init", "first", "--restarts", 1)
        self.succeed("kmeans", points, "-k", 2, "--init", "random", "--restarts", 2, "--seed", 3)
        self.succeed("pair-histogram", points, *bins, "--rdf", "--volume", 8)
        self.succeed("generate", "blobs", "-n", 5, "--clusters", 3, "--spread", 1, "--low", 1, "--seed", 3, "-o", out)

    def test_the_ending_says_how_a_histogram_is_written(self):
        points = self.file("p.csv", "0\n1\n3\n")
        weights = self.file("w.csv", "1\n2\n0.5\n")
        job = ("pair-histogram", points, "--bin-width", 1.5, "--bins", 3)
        text = "lo,hi,count,weight\n0,1.5,1,2\n1.5,3,1,1\n3,4.5,1,0.5\n"
        self.assertEqual(self.succeed(*job, "--weights", weights).stdout, text)
        for name in ("h.csv", "h.txt", "h.CSV"):
            self.succeed(*job, "--weights", weights, "-o", self.path(name))
            self.assertEqual(content(self.path(name), "r"), text)
        answer = json.loads(self.succeed(*job, "--weights", weights, "--json").stdout)
        both = self.succeed(*job, "--weights", weights, "--json", "-o", self.path("h.json"))
        for written in (json.loads(content(self.path("h.json"), "r")), json.loads(both.stdout)):
            written.pop("seconds")
            self.assertEqual(written, {key: value for key, value in answer.items() if key != "seconds"})
        self.succeed(*job, "--weights", weights, "-o", self.path("h.npy"))
        table = content(self.path("h.npy"))
        (length,) = struct.unpack_from("<H", table, 8)
        fields = eval(table[10 : 10 + length].decode("latin1"), {"__builtins__": {}}, {"False": False})
        self.assertEqual(fields["descr"], [("lo", "<f8"), ("hi", "<f8"), ("count", "<u8"), ("weight", "<f8")])
        self.assertEqual((fields["shape"], (10 + length) % 64), ((3,), 0))
        rows = list(struct.iter_unpack("<ddQd", table[10 + length :]))
        self.assertEqual(rows, [(0, 1.5, 1, 2), (1.5, 3, 1, 1), (3, 4.5, 1, 0.5)])
        for name in ("h.parquet", "h", "csv", ".csv.gz", ""):
            self.refused(2, *job, "-o", name, says=["--output", ".csv, .txt, .npy or .json"], cwd=self.folder)
        # Before anything is read.
        missing = self.path("missing.npy")
        self.refused(2, "pair-histogram", missing, "--bin-width", 1, "--bins", 3, "-o", "h.dat", says=["--output"])
        for command in ("predict", "transform"):
            self.refused(2, command, missing, missing, "-o", self.path("l.json"), says=["--output", ".npy, .csv or .txt"])

    def test_json_lists_cases(self):
        for problem in ("kmeans", "pair-histogram"):
            names = self.succeed("verify", problem, "--list-cases").stdout.splitlines()
            self.assertEqual(json.loads(self.succeed("verify", problem, "--list-cases", "--json").stdout), names)

    def test_every_command_with_json_prints_json(self):
        points, centroids = self.points(), self.file("c.csv", "0,0,0\n1,1,1\n")
        jobs = {
            "demo": ["-o", self.path("demo")],
            "kmeans": [points, "-k", 2],
            "predict": [centroids, points],
            "transform": [centroids, points, "-o", self.path("d.npy")],
            "pair-histogram": [points, "--bin-width", 1, "--bins", 3, "-o", self.path("h.csv")],
            "generate": ["uniform", "-n", 3, "-o", self.path("u.npy")],
            "list": [],
            "verify": ["--variant", "sequential", "--case", "uniform_1x1_k1", "--threads", 1],
            "bench": ["kmeans", "--shape", "50x2", "-k", 2, "--variants", "sequential", "--repeats", 1],
            "info": [],
        }
        for command in Usage.commands(self):
            takes_json = "--json" in self.succeed(command, "--help").stdout
            self.assertEqual(takes_json, command in jobs, command)
            if takes_json:
                json.loads(self.succeed(command, *jobs[command], "--json").stdout)

    def test_numbers_above_zero(self):
        points = self.file("p.csv", "0\n1\n")
        for option in ("--bin-width", "--cutoff", "--box", "--volume"):
            for value in ("0", "-1", "-0.0"):
                self.refused(2, "pair-histogram", points, "--rdf", option, value,
                             says=[option + " must be greater than 0, not '%s'" % value])
            for value in ("nan", "inf", "1e999", "1e-999", "wide"):
                self.refused(2, "pair-histogram", points, "--rdf", option, value,
                             says=[option, "'%s' is not a finite number greater than 0" % value])

    def test_memory_limit(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 100000, "-o", points)
        job = ("kmeans", points, "-k", 2, "--init", "first", "--max-iterations", 1, "--threads", 1)
        needed = json.loads(self.succeed(*job, "--json").stdout)["memory_bytes"]
        self.assertTrue(2**18 < needed < 2**20, needed)
        for limit, amount in [("0.25M", "262144 bytes (256 KiB)"), ("262144", "262144 bytes (256 KiB)"),
                              (".25MiB", "262144 bytes (256 KiB)"), ("256k", "262144 bytes (256 KiB)"),
                              ("0.0001G", "107374 bytes (105 KiB)"), ("100", "100 bytes")]:
            shown = self.refused(1, *job, "--memory-limit", limit, says=["--memory-limit allows only " + amount + "\n"])
            self.assertRegex(shown.stderr, r"needs %d bytes \([\d.]+ KiB\) of memory" % needed)
            self.assertNotIn("Execution", shown.stderr)
        self.refused(1, *job, "--memory-limit", needed - 1, says=["needs %d bytes" % needed, "only %d" % (needed - 1)])
        for limit in (needed, "1M", "1.5M", "0.001T", "1.5GiB"):
            self.succeed(*job, "--memory-limit", limit)
        for limit in ("0", "1.5", "0.1", "-1M", "1.5X", "1,5M", "M", "", "1e3M", "inf", "nanM", "1.5MB ", "99999999T", "0x10"):
            self.refused(2, *job, "--memory-limit", limit, says=["--memory-limit", "1.5G"])
        # A job that labels points by centroids has memory of its own, too.
        centroids = self.file("c.csv", "0,0\n1,1\n")
        self.refused(1, "predict", centroids, points, "--memory-limit", "100K", says=["--memory-limit allows only 102400 bytes (100 KiB)"])
        self.succeed("predict", centroids, points, "--memory-limit", "4M", "-o", self.path("l.npy"))

    def test_outside_the_box_names_fold(self):
        points = self.file("p.csv", "1,1\n9,1\n")
        job = ("pair-histogram", points, "--bin-width", 1, "--box", "8,8")
        self.refused(3, *job, says=["p.csv", "row 1", "outside the periodic box", "--fold moves such points in"])
        self.succeed(*job, "--fold")
        # A command without that option does not name it.
        told = self.refused(3, "bench", "pair-histogram", "--data", points, *job[2:], says=["outside the periodic box"])
        self.assertNotIn("--fold", told.stderr)

    def test_two_hyphens_end_the_options(self):
        self.file("-x.csv", "1,2\n3,4\n5,6\n")
        write_npy(self.path("--json"), "<f4", (2, 1), [1, 2])

        def succeed(*arguments):
            return self.succeed(*arguments, cwd=self.folder).stdout

        self.assertIn("3 points", succeed("kmeans", "-k", 2, "--", "-x.csv"))
        self.assertIn("2 points", succeed("kmeans", "-k", 2, "--", "--json"))  # not the option
        self.assertIn("lo,hi,count", succeed("pair-histogram", "--bin-width", 1, "--bins", 3, "--", "-x.csv"))
        self.assertEqual(succeed("predict", "--", "-x.csv", "-x.csv"), "0\n1\n2\n")
        self.assertEqual(succeed("predict", "-x.csv".replace("-", "./-"), "--", "-x.csv"), "0\n1\n2\n")
        self.assertIn("3 points", succeed("kmeans", "-k", 2, "./-x.csv", "--"))
        for arguments, says in [
            (["kmeans", "-k", 2, "-x.csv"], ["there is no option '-x.csv'"]),
            (["kmeans", "--", "-x.csv"], ["-k, --clusters N is missing"]),
            (["kmeans", "--", "-x.csv", "-k", 2], ["one argument too many: '-k'"]),
            (["kmeans", "-k", 2, "--", "-x.csv", "-y.csv"], ["one argument too many: '-y.csv'"]),
            (["kmeans", "-k", 2, "./-x.csv", "--", "--json"], ["one argument too many: '--json'"]),
            (["kmeans", "-k", 2, "./-x.csv", "--", "list"], ["one argument too many: 'list'"]),
            (["kmeans", "-k", 2, "--"], ["INPUT is missing"]),
            (["--", "kmeans"], ["the command comes first"]),
        ]:
            self.refused(2, *arguments, says=says, cwd=self.folder)

    def test_abbreviations_lead_to_the_name(self):
        points = self.points()
        for typed, name in {"--out": "--output", "--max": "--max-iterations", "--memory=1G": "--memory-limit"}.items():
            self.refused(2, "kmeans", points, "-k", 2, typed, says=["no option '%s'" % typed.split("=")[0],
                                                                  "did you mean '%s'?" % name])

    def test_one_is_singular(self):
        one, two = self.file("one.csv", "1\n"), self.file("two.csv", "1\n2\n")
        text = self.succeed("kmeans", one, "-k", 1, "--threads", 1, "--max-iterations", 1).stdout.splitlines()[-1]
        self.assertRegex(text, r"^1 point x 1 \(f64\) in 1 cluster: inertia 0, 1 iteration \(.*, 1 thread$")
        text = self.succeed("kmeans", two, "-k", 2, "--threads", 2).stdout.splitlines()[-1]
        self.assertRegex(text, r"^2 points x 1 \(f64\) in 2 clusters: .*, 2 threads$")
        told = self.succeed("pair-histogram", two, "--bin-width", 1, "--bins", 1, "--threads", 1).stderr
        self.assertRegex(told, r"2 points x 1 \(f64\), 1 pair: 0 in 1 bin, 1 beyond, .*, 1 thread\n$")
        self.assertIn(" 1 point to ", self.succeed("predict", one, one, "-o", self.path("l.csv")).stderr)
        self.assertIn("of 2 points to 1 centroid to", self.succeed("transform", one, two, "-o", self.path("d.csv")).stderr)
        self.assertIn("wrote 1 point x", self.succeed("generate", "uniform", "-n", 1, "-o", self.path("u.csv")).stderr)

    def test_list_shows_every_idea(self):
        for problem in json.loads(self.succeed("list", "--json").stdout):
            text = self.succeed("list", problem["problem"]).stdout
            for variant in problem["variants"]:
                line = next(line for line in text.splitlines() if line.startswith(variant["name"] + " "))
                self.assertTrue(line.endswith("  " + variant["summary"]), line)
                mark = "  yes  " if variant["runs_here"] else "  no ["
                self.assertIn(mark, line)
                if not variant["runs_here"]:
                    number = line[line.index("  no [") + 5 :].split("]")[0] + "]"
                    self.assertIn("\n" + number + " not here: " + variant["reason"] + "\n", text)

    def test_avx512_by_its_name(self):
        with open("/proc/cpuinfo") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
        wanted = {"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"}
        names = json.loads(self.succeed("info", "--json").stdout)["simd"]
        self.assertEqual(any(name.startswith("AVX-512") for name in names), wanted <= set(flags), names)
        self.assertFalse(any("AVX3" in name for name in names), names)
        self.assertIn(", ".join(names), self.succeed("info").stdout)


class Examples(Case):
    """Every example in the guide, the README and the help texts is run as it stands, so that none of them can rot."""

    # Chores of a clone, which build the program first or need the network: no commands of gradus.
    OTHERS = {
        "./dev demo": "builds the program, and runs 'gradus demo'",
        "./dev test": "runs these tests",
    }
    # What would take half a minute or more is narrowed by these words behind it, and runs once where several pages have
    # it: commands that run many variants on all there is.
    NARROWED = {
        "gradus verify kmeans": "--case uniform_17x1_k17 --threads 2",
        "gradus verify pair-histogram --variant simd_filter --threads 1,2": "--case uniform_2x3",
        "gradus verify pair-histogram --variant openmp_privatized --threads 1,2": "--case uniform_2x3",
        "gradus bench kmeans": "--variants sequential --shape 500x2 --repeats 1",
        "gradus bench kmeans --shape 20000x3 -k 64 --threads 1,2 --json bench.json": "--variants simd_grid --repeats 1",
        "gradus bench pair-histogram": "--variants sequential --shape 500x3 --repeats 1",
        "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40":
            "--variants simd_cells --repeats 1",
        "gradus bench --experiment kmeans-openmp --scale 0.01": "--threads 2 --repeats 1",
    }
    narrowed_done = set()
    # The reader's own files, by their names in the examples.
    INPUTS = {
        "points.npy": "gradus generate blobs -n 1000 -d 3 -o points.npy",
        "more.npy": "gradus generate uniform -n 100 -d 3 -o more.npy",
        "atoms.npy": "gradus generate uniform -n 2000 -d 3 --dtype f64 --high 40 -o atoms.npy",
        "stars.csv": "gradus generate uniform -n 300 -d 3 -o stars.csv",
        "galaxies.csv": "gradus generate uniform -n 200 -d 3 -o galaxies.csv",
        "edges.csv": "printf '0.1\\n0.5\\n2\\n' > edges.csv",
        "table.csv": "gradus generate uniform -n 50 -d 4 -o table.csv",
        "trajectory.xyz": "printf '2\\nLattice=\"9 0 0 0 9 0 0 0 9\"\\nH 0 0 0\\nH 1 1 1\\n' > trajectory.xyz",
        "photo.png": "cp \"$DATA/picture.png\" photo.png",
        "clusters/centroids.npy": "gradus kmeans points.npy -k 3 -o clusters",
    }

    def run_in_shell(self, command):
        environment = dict(os.environ, HOME=self.folder, DATA=DATA, PATH=self.folder + os.pathsep + os.environ["PATH"])
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)

    def run_all(self, commands, at_least):
        os.makedirs(self.path("build"), exist_ok=True)
        for link in ("gradus", "build/gradus"):
            os.symlink(GRADUS, self.path(link))
        commands = list(dict.fromkeys(commands))
        self.assertGreaterEqual(len(commands), at_least, commands)
        # Those that make inputs come first: what they make is what the others read.
        for command in sorted(commands, key=lambda command: "gradus generate" not in command):
            if command in self.OTHERS or command in self.narrowed_done:
                continue
            if command in self.NARROWED:
                self.narrowed_done.add(command)
            names = [name for name in self.INPUTS if name in command.split() and not os.path.exists(self.path(name))]
            for name in ["points.npy"] * ("clusters/centroids.npy" in names) + names:
                if "-o " + name not in command and not os.path.exists(self.path(name)):
                    self.assertEqual(self.run_in_shell(self.INPUTS[name]).returncode, 0, name)
            result = self.run_in_shell(command + " " + self.NARROWED.get(command, ""))
            self.assertEqual(result.returncode, 0, (command, result.stdout[-500:], result.stderr))

    def is_example(self, text):
        """Not a form with words to fill in, nor the bare name of a command in a sentence."""
        words = text.split()
        form = any(word.strip("'\"(),").isupper() or "[" in word or "|" in word[1:] or "..." in word for word in words)
        return len(words) > 2 and not form

    def of_page(self, name):
        import re

        text = content(os.path.join(os.path.dirname(DATA), name), "r")
        commands = []
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
            if language == "sh":
                commands += [line.split("  #")[0].strip() for line in block.splitlines()]
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        lines = [line.strip() for line in text.splitlines() if re.match(r"    (build/)?gradus ", line)]
        spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
        return commands + [line for line in lines if self.is_example(line)] + [
            span for span in spans if span.startswith("gradus ") and self.is_example(span)]

    def test_guide(self):
        self.run_all(self.of_page("docs/guide.md"), 10)

    def test_readme(self):
        self.run_all(self.of_page("README.md"), 5)

    def test_help(self):
        import re

        overview = self.succeed("--help").stdout
        commands = [re.split(r"   +", line.strip())[0] for line in overview.splitlines() if line.startswith("  gradus ")]
        for command in Usage.commands(self):
            text = self.succeed(command, "--help").stdout
            examples = re.split(r"^Examples?\n", text, flags=re.M)[1].splitlines()
            self.assertTrue(all(line.startswith("  ") for line in examples), examples)
            commands += [line.strip() for line in examples]
            commands += [quoted for quoted in re.findall(r"'(gradus [^']+)'", " ".join(text.split()))
                         if self.is_example(quoted)]
        self.run_all(commands, 25)


def main():
    global GRADUS, DATA
    GRADUS = os.path.abspath(sys.argv.pop(1))
    DATA = os.path.join(os.path.abspath(sys.argv.pop(1)), "data")
    unittest.main()


if __name__ == "__main__":
    main()
