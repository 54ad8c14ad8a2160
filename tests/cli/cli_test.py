"""Tests commands that apply to all problems or to none."""

import csv
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
import urllib.parse
import xml.etree.ElementTree
import zipfile

from kit import (DATA, GRADUS, Case, CompletionCase, InterruptCase, TerminalCase, content, gradus, load, read_npy, rooms,
                 write_npy)
from mpirun import ENVIRONMENT, why_not


# Some examples in the help read a result file of bench. This command makes such a file.
MEASUREMENT = ("bench", "kmeans", "--shape", "50x2", "--variants", "sequential,openmp_reduce", "--threads", "1", "--repeats", "8")


def measured(case, name):
    """Makes a small result of bench and returns its path."""
    case.succeed(*MEASUREMENT, "--json", case.path(name), "--quiet")
    return case.path(name)


class ProgramCase(Case):
    """Tests how the program describes its commands and problems."""

    def commands(self):
        lines = self.succeed().stdout.split("Commands\n")[1].split("\n\n")[0].splitlines()
        return [line.split()[0] for line in lines]

    def problems(self):
        return [problem["problem"] for problem in json.loads(self.succeed("list", "--json").stdout)]

    def json_jobs(self):
        """Returns a small job for each command that supports --json."""
        first = self.problems()[0]
        case = self.succeed("verify", first, "--list-cases").stdout.split()[0]
        jobs = {
            "generate": ["uniform", "-n", 3, "-o", self.path("u.npy")],
            "list": [],
            "verify": [first, "--variant", "sequential", "--case", case, "--threads", 1],
            "bench": ["kmeans", "--shape", "50x2", "--variants", "sequential", "--repeats", 1],
            "compare": [measured(self, "old.json"), self.path("old.json")],
            "info": [],
        }
        for room in rooms():
            jobs.update(room.json_jobs(self))
        return jobs


class Usage(ProgramCase):

    def test_no_arguments_show_a_short_help_with_an_example(self):
        result = self.succeed()
        self.assertRegex(result.stdout, r"\n  gradus [a-z-]+ points\.npy ")
        self.assertLess(result.stdout.count("\n"), 32)
        self.assertEqual(result.stdout, self.succeed("--help").stdout)
        self.assertEqual(result.stdout, self.succeed("help").stdout)
        self.assertEqual(result.stderr, "")

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^gradus \d+\.\d+\.\d+\n$")
        self.assertEqual(self.succeed("-V").stdout, self.succeed("--version").stdout)

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

    def options(self):
        """Returns (command, option, form, help) of each option of the program that has a value, each combination of
        the last three once."""
        found = {}
        for command in self.commands():
            lines = self.succeed(command, "--help").stdout.split("\n\nExample")[0].splitlines()
            for place, line in enumerate(lines):
                match = re.match(r"  (?:-\w, )?(--[a-z-]+) (\S+)(.*)", line)
                if not match:
                    continue
                end = next((at for at in range(place + 1, len(lines)) if not lines[at].startswith(" " * 10)), len(lines))
                words = " ".join([match[3], *lines[place + 1:end]]).split()
                found.setdefault((match[1], match[2], " ".join(words)), command)
        return [(command, *option) for option, command in found.items()]

    def test_every_word_that_an_option_accepts_is_in_its_help(self):
        options = self.options()
        self.assertGreater(len(options), 100)
        words = ("auto", "none", "all", "default", "no", "inf", "nan")

        def accepts(command, option, word):
            said = gradus(command, option, word, "--no-such-option").stderr
            return "no option '--no-such-option'" in said

        seen, hidden = 0, []
        for command, option, form, text in options:
            if accepts(command, option, "zyxwv"):
                continue  # a name or another free text
            for word in words:
                if re.search(rf"\b{re.escape(word)}\b", f"{form} {text}"):
                    seen += 1
                elif accepts(command, option, word):
                    hidden.append(f"gradus {command} {option} {word}")
        self.assertEqual(hidden, [])
        self.assertGreater(seen, 20)
        form, text = next((form, text) for _, option, form, text in options if option == "--restarts")
        self.assertEqual(form, "N|auto")
        self.assertIn("0 or auto: fit until", text)

    def test_mpi_starts_no_copies_of_a_job(self):
        self.succeed("generate", "uniform", "-n", 20, "-d", 2, "-o", self.path("points.npy"))
        job = ("kmeans", self.path("points.npy"), "-k", 2, "-o", self.path("result"))
        for size, rank in (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")):
            first = gradus(*job, env={size: "3", rank: "0"})
            self.assertEqual((first.returncode, first.stdout), (4, ""))
            self.assertIn("one of 3 processes that MPI has started", first.stderr)
            other = gradus(*job, env={size: "3", rank: "2", "OMPI_COMM_WORLD_LOCAL_RANK": "2"})
            self.assertEqual((other.returncode, other.stdout, other.stderr), (4, "", ""))
            # The first process of another machine may be the only one that knows the error.
            for place in ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"):
                elsewhere = gradus(*job, env={size: "3", rank: "2", place: "0"})
                self.assertEqual((elsewhere.returncode, elsewhere.stdout), (4, ""))
                self.assertIn("one of 3 processes that MPI has started", elsewhere.stderr)
            self.assertFalse(os.path.exists(self.path("result")))
            listed = gradus("list", env={size: "3", rank: "0"})  # only rank 0 prints the refusal, so it appears once
            self.assertEqual((listed.returncode, listed.stdout), (4, ""))
            self.assertIn("'gradus list' runs as one process only", listed.stderr)
            for words in (["list"], ["--version"]):
                other = gradus(*words, env={size: "3", rank: "2"})
                self.assertEqual((other.returncode, other.stdout, other.stderr), (4 if words == ["list"] else 0, "", ""))
            self.assertRegex(gradus("--version", env={size: "3", rank: "0"}).stdout, "^gradus ")
            for wrong, all_ranks, own in ((rank, "1", "1"), (size, "x", "0"), (size, "-2", "0"), (rank, "3", "99999999999"), (rank, "3", "-1")):
                refused = gradus(*job, env={size: all_ranks, rank: own})
                self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
                self.assertIn(f"{wrong} is '", refused.stderr)
                self.assertFalse(os.path.exists(self.path("result")))
            self.assertEqual(gradus(*job, "--quiet", env={size: "1", rank: "0"}).returncode, 0)
            shutil.rmtree(self.path("result"))

    def test_misspelt_commands_are_suggested(self):
        self.refused(2, "lst", says=["did you mean 'list'?"])

    def test_wrong_use(self):
        for arguments, says in [
            (["--frobnicate"], ["'--frobnicate'"]),
            (["generate", "uniform", "-o", self.path("x.npy")], ["--points", "--size-mib"]),
            (["generate", "uniform", "-n", "5", "-o", self.path("x.foo")], [".npy", ".csv"]),
            (["generate", "uniform", "-n", "5", "--low", "3", "--high", "3", "-o", self.path("x.npy")], ["--low"]),
            (["generate", "uniform", "-n", 2, "--high", "1e39", "-o", self.path("x.csv")], ["--high: 1e+39 is beyond", "f32", "--dtype f64"]),
            (["generate", "uniform", "-n", 2, "--low=-1e308", "--high", "1e308", "--dtype", "f64", "-o", self.path("x.csv")],
             ["--high minus --low is beyond the range of f64"]),
            (["generate", "blobs", "-n", 2, "--spread", "1e38", "-o", self.path("x.npy")], ["--spread", "6.9", "is allowed"]),
            (["completion", "ksh"], ["bash, zsh or fish"]),
            (["generate", "lab-points", "-n", 5, "--seed", 1, "-o", self.path("x.npy")], ["--seed has no effect", "lab-points"]),
            (["generate", "lab-atoms", "-n", 5, "--low", 1, "-o", self.path("x.npy")], ["--low has no effect"]),
            (["generate", "lab-atoms", "-n", 5, "--high", 1, "-o", self.path("x.npy")], ["--high has no effect"]),
            (["generate", "uniform", "-n", 5, "--clusters", 3, "-o", self.path("x.npy")], ["--clusters has no effect", "no blobs"]),
            (["generate", "lab-points", "-n", 5, "--spread", 3, "-o", self.path("x.npy")], ["--spread has no effect"]),
            (["verify", "--list-cases", "--seeds", 2], ["--seeds has no effect", "--list-cases"]),
            (["verify", "--list-cases", "--variant", "sequential"], ["--variant has no effect"]),
            (["verify", "--variant", "sequential", "--device", "cpu"], ["--device has no effect", "--variant"]),
            (["verify", "--device", "gpu", "--threads", 2], ["--threads has no effect", "block sizes"]),
        ]:
            self.refused(2, *arguments, says=says)
        self.assertFalse(os.path.exists(self.path("x.npy")))
        # The options are accepted if the shape uses them.
        self.succeed("generate", "blobs", "-n", 5, "--clusters", 3, "--spread", 1, "--low", 1, "--seed", 3,
                     "-o", self.path("x.npy"))

    def test_gpus_that_are_no_list_of_gpus(self):
        points = self.path("points.npy")
        self.succeed("generate", "uniform", "-n", 20, "-d", 3, "-o", points)
        jobs = [("kmeans", points, "-k", 2), ("predict", points, points), ("transform", points, points),
                ("pair-histogram", points, "--bin-width", 1, "--bins", 3)]
        values = [
            (2, ["0"], ["--gpus", "'0' is not an integer from 1 to 1024"]),
            (2, ["-1"], ["--gpus", "'-1'"]),
            (2, ["some"], ["--gpus: 'some' is not an integer from 1 to 1024, a list such as 0,2, all, or auto"]),
            (2, ["0,"], ["--gpus", "a value is empty"]),
            (2, ["0,x"], ["--gpus", "'x'"]),
            (2, ["0,-1"], ["--gpus", "'-1'"]),
            (2, ["auto", "--device", "cpu"], ["--gpus has no effect", "--device cpu"]),
            (2, ["all", "--device", "cpu"], ["--gpus has no effect", "--device cpu"]),
            (2, ["0,1", "--device", "gpu:1"], ["--gpus has no effect", "--device names one GPU"]),
            (4, ["1024"], ["GPU"]),
            (4, ["0,1023"], ["GPU"]),
        ]
        for job in jobs:
            for status, value, says in values:
                self.refused(status, *job, "--gpus=" + value[0], *value[1:], says=says)
        for job in jobs:
            self.refused(2, *job, "--gpu-memory-limit", "1G", "--device", "cpu", says=["--gpu-memory-limit has no effect", "--device cpu"])
            self.succeed(*job, "--gpu-memory-limit", "64G")
        self.assertIn("--gpus all|auto|N|LIST", self.succeed("kmeans", "--help").stdout)

    def test_gpus_that_pay(self):
        points = self.path("points.npy")
        self.succeed("generate", "uniform", "-n", 20, "-d", 3, "-o", points)
        for job in (("kmeans", points, "-k", 2), ("kmeans", points, "-k", "2..4"), ("predict", points, points),
                    ("pair-histogram", points, "--bin-width", 1, "--bins", 3)):
            usual, chosen = (json.loads(self.succeed(*job, *more, "--json").stdout) for more in ((), ("--gpus", "auto")))
            for name in ("inertia", "counts", "clusters"):
                self.assertEqual(usual.get(name), chosen.get(name))
        self.refused(3, "kmeans", points, "-k", 21, "--gpus", "auto", says=["only 20 points"])

    def test_errors_as_json(self):
        self.refused_as_json(2, "nothing")

    def test_json_lists_cases(self):
        for problem in self.problems():
            names = self.succeed("verify", problem, "--list-cases").stdout.splitlines()
            self.assertEqual(json.loads(self.succeed("verify", problem, "--list-cases", "--json").stdout), names)

    def test_every_command_with_json_prints_json(self):
        jobs = self.json_jobs()
        for command in self.commands():
            takes_json = "--json" in self.succeed(command, "--help").stdout
            self.assertEqual(takes_json, command in jobs, command)
            if takes_json:
                json.loads(self.succeed(command, *jobs[command], "--json").stdout)


class StandardStreams(ProgramCase):
    """Tests output to streams that cannot be written: a full disk, a descriptor that the caller has closed, and a pipe
    whose reader has exited."""

    def run_with(self, stream, fault, *arguments):
        """Runs the program with a fault in one of its two output streams. The other stream is captured."""
        number = {"stdout": 1, "stderr": 2}[stream]
        other = {"stdout": "stderr", "stderr": "stdout"}[stream]
        options = {other: subprocess.PIPE}
        ours = []
        if fault == "full":
            ours.append(os.open("/dev/full", os.O_WRONLY))
        elif fault == "gone":
            reader, writer = os.pipe()
            os.close(reader)
            ours.append(writer)
        if fault == "closed":
            options["preexec_fn"] = lambda: os.close(number)
        else:
            options[stream] = ours[0]
        try:
            return subprocess.run([GRADUS, *map(str, arguments)], stdin=subprocess.DEVNULL, timeout=300, **options)
        finally:
            for descriptor in ours:
                os.close(descriptor)

    def test_no_message_ends_a_job(self):
        jobs = self.json_jobs()
        for command in self.commands():
            for fault in ("full", "closed", "gone"):
                with self.subTest(command=command, fault=fault):
                    self.assertEqual(self.run_with("stderr", fault, command, "--frobnicate").returncode, 2)
                    if command in jobs:
                        self.assertEqual(self.run_with("stderr", fault, command, *jobs[command]).returncode, 0)

    def test_what_cannot_be_printed_is_an_error(self):
        for command in self.commands():
            for fault, says in (("full", b"No space left"), ("closed", b"Bad file descriptor")):
                with self.subTest(command=command, fault=fault):
                    result = self.run_with("stdout", fault, command, "--help")
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertTrue(result.stderr.startswith(b"gradus: cannot write to standard output: " + says), result.stderr)

    def test_messages_get_into_no_file(self):
        """If a standard stream is closed, the next file that the process opens gets the stream's number."""
        for number in (0, 1, 2):
            for name in ("x.npy", "x.csv"):
                self.succeed("generate", "uniform", "-n", 50, "-o", self.path(name))
                expected = content(self.path(name))
                result = subprocess.run([GRADUS, "generate", "uniform", "-n", "50", "-o", self.path(name)],
                                        preexec_fn=lambda number=number: os.close(number), stderr=subprocess.DEVNULL if number != 2 else None)
                self.assertEqual(result.returncode, 0)
                self.assertEqual(content(self.path(name)), expected)
        job = [GRADUS, "pair-histogram", "-", "--bin-width", "1"]
        result = subprocess.run(job, preexec_fn=lambda: os.close(0), capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
        self.assertIn("cannot read standard input", result.stderr)


class ForeignFiles(Case):
    """Unsupported formats; src/files/foreign_formats_test.cpp covers all of them."""

    JOBS = {
        "kmeans": ["-k", 1], "pair-histogram": ["--bin-width", 1], "matmul": [], "shortest-paths": [], "life": [],
    }

    def test_every_command_names_the_format_and_a_remedy(self):
        rows = [
            ("pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1\n", "a Git LFS pointer", "git lfs pull"),
            ("page", b"<!DOCTYPE html>\n<html></html>\n", "a web page", "log-in"),
            ("t.parquet", b"PAR1\x15\x04", "a Parquet file", ""),
            ("a.zip", b"PK\x03\x04" + bytes(26) + b"x.txt", "a ZIP archive", "unzip"),
        ]
        for command, options in self.JOBS.items():
            for name, data, called, remedy in rows:
                path = self.file(name, data)
                inputs = [path, path] if command == "matmul" else [path]
                status = 4 if command == "pair-histogram" else 3
                self.refused(status, command, *inputs, *options, says=[f"'{path}' is {called}", "which is not read here", remedy])

    def test_a_sparse_matrix_of_scipy(self):
        path = self.path("sp.npz")
        with zipfile.ZipFile(path, "w") as archive:
            for name, values in (("indices", [0, 1]), ("indptr", [0, 1, 2]), ("shape", [2, 2]), ("data", [3.0, 4.0]), ("format", [0])):
                part = write_npy(self.path("part.npy"), "<f8" if name == "data" else "<i4", (len(values),), values)
                archive.write(part, name + ".npy")
        result = self.refused(3, "kmeans", path, "-k", 1, says=["a sparse matrix, as scipy.sparse.save_npz writes it", "load_npz", "toarray()"])
        self.assertNotIn("sp.npz:data", result.stderr)
        self.refused(3, "shortest-paths", path, says=["a sparse matrix", "scipy.io.mmwrite"])


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

    def test_csv_is_the_same_on_any_number_of_threads(self):
        texts = []
        for threads in (1, 2, 5):
            self.succeed("generate", "uniform", "-n", 20_000, "-d", 8, "--threads", threads, "-o", self.path("x.csv"))
            texts.append(content(self.path("x.csv"), "r"))
        self.assertEqual(len(texts[0].splitlines()), 20_000)
        self.assertEqual(len(set(texts)), 1)

    def test_one_is_singular(self):
        self.assertIn("wrote 1 point x", self.succeed("generate", "uniform", "-n", 1, "-o", self.path("u.csv")).stderr)

    def test_unwritable(self):
        self.refused(1, "generate", "uniform", "-n", 3, "-o", "/proc/x.npy", says=["/proc/x.npy"])

    def test_more_than_the_disk_holds(self):
        """The program refuses a file that is larger than the disk before it writes anything. Its message states both
        sizes."""
        for name, size in [("huge.npy", "8000000000128 bytes (7.28 TiB)"), ("huge.csv", "TiB")]:
            self.refused(1, "generate", "uniform", "-n", 10**12, "-o", self.path(name),
                         says=[name, size, "are needed", "free"])
        small = self.path("small")
        os.mkdir(small)
        self.refused_for_want_of_space(small, "generate", "uniform", "-n", "20000", "-d", "1",
                                       "-o", os.path.join(small, "out.csv"))
        self.assertEqual(os.listdir(self.folder), ["small"])

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


class Compare(Case):
    """Tests comparisons of two results of bench. bench/compare_test.cpp tests the statistics."""

    def steady(self):
        """Returns the path of a result whose samples are the same on every machine."""
        result = json.loads(content(measured(self, "measured.json")))
        for row in result["groups"][0]["rows"]:
            row["samples"] = [{"seconds": 1e-3 * (1 + 0.001 * number), "runs": 1, "phases": {}} for number in range(8)]
        return self.file("old.json", json.dumps(result))

    def copy(self, source, name, factor=1.0, change=lambda result: None):
        """Copies a result, applies the changes, and multiplies the samples of the second row. Returns the path of the
        copy."""
        result = json.loads(content(source))
        for sample in result["groups"][0]["rows"][1]["samples"]:
            sample["seconds"] *= factor
        change(result)
        return self.file(name, json.dumps(result))

    def test_the_same_twice(self):
        old = self.steady()
        result = self.succeed("compare", old, old, "--fail-above", "0%")
        self.assertIn("0 rows slower, 0 faster", result.stderr)
        self.assertRegex(result.stdout, r"\nopenmp_reduce .* 1\.000 ")

    def test_a_slower_row_is_marked_and_fails(self):
        old = self.steady()
        new = self.copy(old, "new.json", 3)
        result = self.succeed("compare", old, new)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines() if line.endswith("slower")], ["openmp_reduce"])
        answer = json.loads(self.succeed("compare", old, new, "--json").stdout)
        self.assertEqual([row["mark"] for row in answer["rows"]], ["", "slower"])
        slower = answer["rows"][1]
        self.assertLess(slower["low"], slower["high"])
        self.assertLessEqual(slower["low"], 3)
        self.assertGreaterEqual(slower["high"], 3)
        self.succeed("compare", old, new, "--fail-above", "1000%")
        self.succeed("compare", new, old, "--fail-above", "5%")
        for threshold in ("5%", "5"):
            result = gradus("compare", old, new, "--fail-above", threshold)
            self.assertEqual(result.returncode, 1)
            self.assertIn("1 row slower by more than 5 %", result.stderr)
            self.assertIn("openmp_reduce", result.stdout)

    def test_a_row_that_became_wrong_fails(self):
        old = self.steady()
        def spoil(result):
            result["groups"][0]["rows"][1]["trouble"] = "wrong"
        new = self.copy(old, "new.json", change=spoil)
        result = gradus("compare", old, new, "--fail-above", "5%")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no result any more", result.stdout)

    def test_too_few_samples(self):
        old = self.steady()
        def thin(result):
            for row in result["groups"][0]["rows"]:
                del row["samples"][3:]
        few = self.copy(old, "few.json", 3, thin)
        result = self.succeed("compare", few, few, "--fail-above", "5%")
        self.assertEqual(result.stdout.count("too few samples"), 2)
        self.assertIn("--repeats", result.stderr)

    def test_pairs_in_turns(self):
        old = self.steady()
        new = self.copy(old, "new.json", 1.1)
        answer = json.loads(self.succeed("compare", *[old, new] * 12, "--json").stdout)
        self.assertEqual(answer["pairs"], 12)
        self.assertEqual([(row["mark"], round(row["low"], 9), round(row["high"], 9)) for row in answer["rows"]], [("", 1, 1), ("slower", 1.1, 1.1)])
        self.assertIn("the median of 12 pairs", " ".join(self.succeed("compare", *[old, new] * 12).stdout.split()))
        self.assertEqual(gradus("compare", *[old, new] * 12, "--fail-above", "5%").returncode, 1)
        self.assertIn("9 are needed", self.succeed("compare", *[old, new] * 4).stderr)
        self.refused(2, "compare", old, new, old, says=["pairs", "old.json' is alone"])
        def move(result):
            result["facts"]["machine"]["cores"] = 777
        self.refused(3, "compare", old, new, old, self.copy(old, "other.json", 1, move), says=["facts.machine.cores", "other.json"])
        def lose(result):
            del result["groups"][0]["rows"][1]
        self.refused(3, "compare", old, new, self.copy(old, "less.json", 1, lose), new, says=["less.json", "openmp_reduce"])

    def test_another_machine(self):
        old = self.steady()
        def move(result):
            result["facts"]["machine"]["cores"] = 777
        new = self.copy(old, "new.json", 1, move)
        self.refused(3, "compare", old, new, says=["facts.machine.cores", "777", "new.json", "--any-machine"])
        self.assertIn("different machines", self.succeed("compare", old, new, "--any-machine").stderr)

    def test_what_is_no_result(self):
        old = self.steady()
        whole = content(old, "r")
        for name, text, says in [
            ("missing.json", None, ["missing.json"]),
            ("short.json", whole[:1000], ["short.json", "ends too early"]),
            ("list.json", "[]", ["list.json", "not an object"]),
            ("foreign.json", '{"problem": "</script>"}', ["foreign.json", "problem"]),
            ("other.json", whole.replace('"samples"', '"simples"'), ["other.json", "groups[0].rows[0].samples is missing"]),
        ]:
            if text is not None:
                self.file(name, text)
            self.refused(3, "compare", old, self.path(name), says=says)
            self.refused(3, "compare", self.path(name), old, says=says)
        self.refused(2, "compare", old, says=["NEW is missing"])
        self.refused(2, "compare", old, old, "--fail-above", "much", says=["--fail-above"])


class Report(Case):
    """Tests the text of pages. tests/cli/page_test.py opens pages in a browser."""

    HOSTILE = "</script><img src=x onerror=alert(1)>"

    def test_measurement(self):
        old = measured(self, "old.json")
        result = self.succeed("report", old, "-o", self.path("page.html"))
        self.assertEqual(result.stdout, "")
        self.assertIn("wrote 1 result to", result.stderr)
        page = content(self.path("page.html"), "r")
        answer = json.loads(content(old))
        for words in ("openmp_reduce", answer["facts"]["commit"], answer["facts"]["machine"]["processor"], answer["facts"]["compiler"],
                      answer["groups"][0]["verified"], "%.6g" % (1e3 * answer["groups"][0]["rows"][1]["seconds"]["median"])):
            self.assertIn(words, page)
        self.assertLess(len(page), (2 << 20) + os.path.getsize(old))
        # The page loads nothing from other sites. Only a comment of the chart library may name its home page.
        self.assertEqual([link for link in re.findall(r"(?:src|href)=[\"']?([^\"' >]{0,20})", page) if not link.startswith("data:")], [])
        self.assertIn("default-src 'none'", page)
        self.assertEqual(page, self.again(old))

    def again(self, *results):
        self.succeed("report", *results, "-o", self.path("again.html"), "--quiet")
        return content(self.path("again.html"), "r")

    def test_csv_has_the_values(self):
        old = measured(self, "old.json")
        answer = json.loads(content(old))
        page = self.again(old)
        texts = [urllib.parse.unquote(text) for text in re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', page)]
        self.assertGreater(len(texts), 2)
        rows = list(csv.reader(next(text for text in texts if "time, ms" in text).splitlines()))
        self.assertEqual(rows[0], ["what", "time, ms", "time, ms, lowest", "time, ms, highest"])
        for row, one in zip(rows[1:], answer["groups"][0]["rows"], strict=True):
            self.assertTrue(row[0].startswith(one["variant"]))
            self.assertEqual([float(cell) for cell in row[1:]],
                             [1e3 * one["seconds"][key] for key in ("median", "lowest", "highest")])

    def test_ladder(self):
        """Checks speed-ups and the roofline with known figures."""
        result = json.loads(content(measured(self, "old.json")))
        rows = result["groups"][0]["rows"] = [dict(result["groups"][0]["rows"][0], variant=f"rung_{number}") for number in range(3)]
        for row, median, bandwidth, rate in zip(rows, (0.4, 0.1, 0.05), (0.02, 0.08, 0.16), (0.1, None, 0.07), strict=True):
            row["seconds"] = {"median": median, "lowest": median, "highest": median, "median_absolute_deviation": 0}
            row.pop("share_of_fma_rate", None)
            row.update({"share_of_read_bandwidth": bandwidth} if rate is None else {"share_of_read_bandwidth": bandwidth, "share_of_fma_rate": rate})
        result["groups"] = result["groups"][:1]
        page = self.again(self.file("ladder.json", json.dumps(result)))
        charts = self.charts_of(self.path("again.html"))
        self.assertEqual([[row[0].split()[0], float(row[1])] for row in charts["gain over the rung before"][1:]], [["rung_1", 4.0], ["rung_2", 2.0]])
        shares = charts["share of each ceiling"]
        self.assertEqual({cell: [row[index] for row in shares[1:]] for index, cell in enumerate(shares[0]) if index},
                         {"read bandwidth": ["2", "8", "16"], "fma rate": ["10", "", "7.000000000000001"]})
        for words in ("4.00 x", "8.00 x", "10.0 %, by fma rate", "8.0 %, by read bandwidth", "16.0 %, by read bandwidth"):
            self.assertIn(words, page)

    def test_folders_and_summaries(self):
        folder = self.path("results")
        os.mkdir(folder)
        self.refused(3, "report", folder, "-o", self.path("page.html"), says=["holds no results"])
        measured(self, "results/b.json")
        shutil.copy(self.path("results/b.json"), self.path("results/a.json"))
        page = self.again(folder)
        self.assertLess(page.index("results/a.json"), page.index("results/b.json"))
        self.succeed("kmeans", self.points(), "-k", 3, "-o", self.path("clusters"), "--quiet")
        page = self.again(self.path("clusters"), folder)
        summary = json.loads(content(os.path.join(self.path("clusters"), "summary.json")))
        for words in ("stop reason", summary["stop_reason"], "inertia by iteration", "counts", "results/a.json"):
            self.assertIn(words, page)

    def test_experiment(self):
        self.succeed("bench", "--experiment", "kmeans-task-graph", "--scale", "0.001", "--threads", 1, "--repeats", 1, "--quiet",
                     "--json", self.path("result.json"), "--report", self.path("page.html"))
        page = content(self.path("page.html"), "r")
        experiment = json.loads(content(os.path.join(os.path.dirname(DATA), "experiments", "kmeans-task-graph.json")))
        for words in (experiment["title"], "Published, and here", "not decided here", "(100000, 10, 100000)"):
            self.assertIn(words, page)
        self.assertIn("Published, and here", self.again(self.path("result.json")))
        # Claims and speed-ups are judged only at full size. This test therefore uses made-up figures.
        result = json.loads(content(self.path("result.json")))
        result["scale"] = 1
        result["experiment"]["name"] = "unpublished"
        result["experiment"]["published"] = [
            {"shape": "(100, 10, 100)", "variant": "sequential", "speedup": speedup} for speedup in ([0.5, 0.6], [1, 1], [20, 30])]
        result["claims"] = [{"variant": "sequential", "claim": "stops_at", "threads": 2, "rule": "a rule", "verdict": "refuted",
                             "inputs": [{"label": "small", "verdict": "refuted", "because": "of that", "seconds": {}}]}]
        page = self.again(self.file("judged.json", json.dumps(result)))
        self.assertEqual(re.findall(r'"words (?:good|bad)">(\w+)<', page), ["confirmed", "confirmed", "refuted", "refuted", "refuted"])
        for words in ("only 1 x", "more: 1 x", "small: of that", "a rule"):
            self.assertIn(words, page)

    def test_text_never_becomes_markup(self):
        result = json.loads(content(measured(self, "old.json")))
        result["groups"][0]["label"] = result["groups"][0]["verified"] = result["facts"]["command"] = self.HOSTILE
        result["groups"][0]["rows"][0]["variant"] = self.HOSTILE
        page = self.again(self.file("hostile.json", json.dumps(result)))
        self.assertNotIn("<img", page)
        self.assertIn("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;", page)
        if "Chart.js v" in page:
            self.assertIn("\\u003c/script>\\u003cimg", page)
            self.assertEqual(page.count("<script"), page.count("</script>"))

    def test_what_is_no_result(self):
        old = measured(self, "old.json")
        for name, text, says in [
            ("missing.json", None, ["missing.json"]),
            ("short.json", content(old, "r")[:2000], ["short.json", "ends too early"]),
            ("list.json", "[]", ["list.json"]),
            ("foreign.json", '{"lines": []}', ["foreign.json", "groups", "seconds"]),
            ("odd.json", '{"problem": "kmeans", "seconds": 5}', ["odd.json", "seconds is not an object"]),
            ("other.json", content(old, "r").replace('"phases"', '"faces"'), ["other.json", "groups[0].rows[0].phases is missing"]),
        ]:
            if text is not None:
                self.file(name, text)
            self.refused(3, "report", old, self.path(name), "-o", self.path("page.html"), says=says)
        self.assertFalse(os.path.exists(self.path("page.html")))
        self.refused(2, "report", old, says=["--output"])
        self.refused(2, "report", "-o", self.path("page.html"), says=["RESULT"])
        self.refused_to_overwrite([old], "report", old, "-o", old)
        self.refused(1, "report", old, "-o", "/proc/page.html", says=["/proc/page.html"])


class Pictures(Case):
    """Checks that the pictures in the documents are up to date and that the list of experiments is complete."""

    ROOT = os.path.dirname(DATA)

    def documents(self):
        return {name: content(os.path.join(self.ROOT, name), "r") for name in
                ["README.md", *(os.path.join("src", room, "README.md") for room in os.listdir(os.path.join(self.ROOT, "src"))
                                if os.path.exists(os.path.join(self.ROOT, "src", room, "README.md")))]}

    def test_they_show_the_raw_results(self):
        pictures = load(os.path.join(self.ROOT, "docs", "pictures", "pictures.py"))
        listed = pictures.wanted()
        self.assertGreater(len(listed), 4)
        self.assertEqual(sorted(entry["picture"] for entry in listed),
                         sorted(name for name in os.listdir(pictures.FOLDER) if name.endswith(".svg") and name != "overview.svg"))  # docs/figures.py makes it
        shown = " ".join(self.documents().values())
        pages = {}
        for entry in listed:
            with self.subTest(picture=entry["picture"]):
                if entry["result"] not in pages:
                    pages[entry["result"]] = pictures.page_of(GRADUS, entry, self.path("page.html"))
                page = pages[entry["result"]]
                if "Chart.js v" not in page:
                    self.skipTest("this build has no library for charts")
                picture = content(os.path.join(pictures.FOLDER, entry["picture"]), "r")
                _, specification = pictures.find(page, entry)
                self.assertEqual(re.search(r'data-checksum="(\w+)"', picture)[1], pictures.checksum(specification), "./dev pictures redraws it")
                tree = xml.etree.ElementTree.fromstring(picture)
                words = " ".join(element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text"))
                data = json.loads(specification)
                self.assertIn(data["y"], words)
                for series in data["series"] if len(data["series"]) > 1 else []:
                    self.assertIn(series["name"], words)
                marks = sum(value is not None for series in data["series"] for value in series["values"])
                self.assertGreaterEqual(len(list(tree.iter("{http://www.w3.org/2000/svg}path"))), marks)
                self.assertIn(f"docs/pictures/{entry['picture']}", shown)

    def test_links_of_documents_to_pictures(self):
        for name, text in self.documents().items():
            for link in re.findall(r"\]\(((?:\.\./)*docs/pictures/[^)]*)\)", text):
                self.assertTrue(os.path.exists(os.path.join(self.ROOT, os.path.dirname(name), link)), (name, link))

    def test_each_experiment_is_listed_with_its_result(self):
        listed = content(os.path.join(self.ROOT, "docs", "experiments.md"), "r").splitlines()
        names = [name.removesuffix(".json") for name in os.listdir(os.path.join(self.ROOT, "experiments")) if name.endswith(".json")]
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(experiment=name):
                result = f"results/experiment-{name}.json"
                self.assertEqual(sum(f"(../experiments/{name}.json)" in line and f"`{result}`" in line for line in listed), 1)
                path = os.path.join(self.ROOT, "docs", result)
                if not os.path.exists(path):
                    continue
                self.assertEqual(json.loads(content(path))["experiment"]["name"], name)
                self.succeed("report", path, "-o", self.path("page.html"), "--quiet")
                judged = " ".join(re.findall(r"<h3>(?:Published, and here|Claims)</h3>.*?(?=<h[23]>|<details class=\"rows\")",
                                             content(self.path("page.html"), "r"), re.S))
                verdicts = sum(judged.count(f">{verdict}</td>") for verdict in ("confirmed", "refuted", "not decided here"))
                known = json.loads(content(os.path.join(self.ROOT, "experiments", name + ".json")))
                self.assertEqual(verdicts, len(known.get("published", [])) + len(known.get("claims", [])))


class Interrupt(InterruptCase):
    def test_while_generating(self):
        job = subprocess.Popen([GRADUS, "generate", "blobs", "-n", "100000000", "-d", "50", "-o", self.path("b.csv")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 0.5)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130)
        self.assertEqual(os.listdir(self.folder), [])

    def test_while_a_pipe_has_no_reader(self):
        """Tests every command with a job that waits for input: the first signal must end the job."""
        points = self.points()
        matrix = write_npy(self.path("matrix.npy"), "<f4", (2, 2), range(4))
        for number, command in ((signal.SIGINT, ["generate", "uniform", "-n", "10", "-o", "pipe.npy"]),
                                (signal.SIGTERM, ["pair-histogram", points, "--bin-width", "1", "--bins", "4", "-o", "pipe.csv"]),
                                (signal.SIGINT, ["matmul", matrix, matrix, "-o", "pipe.npy"])):
            with self.subTest(command=command[0]):
                pipe = self.path(command[-1])
                if not os.path.exists(pipe):
                    os.mkfifo(pipe)
                job = subprocess.Popen([GRADUS, *command[:-1], pipe], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.addCleanup(job.kill)
                self.wait_until_signals_are_awaited(job)
                time.sleep(0.3)
                self.assertIsNone(job.poll())
                job.send_signal(number)
                _, stderr = job.communicate(timeout=60)
                self.assertEqual(job.returncode, 130, stderr)
                self.assertIn(pipe.encode(), stderr)

    def test_second_signal_kills(self):
        """Sends both signals while the job is stopped. Both are pending when the job continues, so it cannot react to
        the first signal before the second one arrives. The job may still exit because of the first signal."""
        pipe = self.path("pipe.npy")
        os.mkfifo(pipe)
        for _ in range(50):
            job = subprocess.Popen([GRADUS, "generate", "uniform", "-n", "10", "-o", pipe], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            self.addCleanup(job.kill)
            self.wait_until_signals_are_awaited(job)
            time.sleep(0.05)
            for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
                job.send_signal(number)
            if job.wait(timeout=60) == -signal.SIGTERM:
                return
            self.assertEqual(job.returncode, 130)
        self.fail("the second signal never ended the job")


class Truncated(InterruptCase):
    """Tests inputs that shrink while they are read. If the program mapped such an input into memory, SIGBUS would kill
    the program."""

    def check(self, file, *arguments):
        out = self.path("out")
        os.mkdir(out)
        job = subprocess.Popen([GRADUS, *map(str, arguments), "--threads", "2", "--device", "cpu", "-o",
                                os.path.join(out, "result.npy")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 0.5)
        os.truncate(file, 4096)
        stdout, stderr = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 3, stderr)
        self.assertRegex(stderr, "'%s': the file has changed while it was read: it had [0-9]+ bytes and now has 4096;" % re.escape(file))
        self.assertEqual(stdout, "")
        self.assertEqual(os.listdir(out), [])

    def zeros(self, name, rows, columns):
        path = write_npy(self.path(name), "<f4", (rows, columns), raw=b"")
        os.truncate(path, os.path.getsize(path) + 4 * rows * columns)
        return path

    def test_matrix(self):
        matrix = self.zeros("matrix.npy", 4000, 4000)
        self.check(matrix, "matmul", matrix, matrix, "--variant", "openmp")

    def test_points(self):
        points = self.path("points.npy")
        self.succeed("generate", "uniform", "-n", 1000000, "-d", 8, "-o", points)
        self.check(points, "kmeans", points, "-k", 100, "--max-iterations", 1000, "--tolerance", 0, "--variant", "openmp_shared")



class Tools(ProgramCase, CompletionCase):
    """Tests of list, info, completion and manual."""

    def test_list(self):
        text = self.succeed("list").stdout
        answer = json.loads(self.succeed("list", "--json").stdout)
        for problem in answer:
            for variant in problem["variants"]:
                self.assertIn("\n" + variant["name"] + " ", text)
                self.assertIn(variant["summary"] if variant["runs_here"] else variant["reason"], text)
        for words in ("same bits:", "same bits of integers:", "within x:", "invariants:"):
            self.assertIn(words, text)
        self.assertIn("sequential", [variant["name"] for variant in answer[0]["variants"]])

    def test_list_shows_every_idea(self):
        for problem in json.loads(self.succeed("list", "--json").stdout):
            text = self.succeed("list", problem["problem"]).stdout
            for variant in problem["variants"]:
                line = next(line for line in text.splitlines() if line.startswith(variant["name"] + " "))
                self.assertTrue(line.endswith("  " + variant["summary"]), line)
                if variant["contract"] == "tolerance":
                    self.assertIn(f"  within {variant['tolerance']:g}  ", line)
                else:
                    self.assertIn(f"  {variant['contract']}  ", line)
                    self.assertEqual(variant["tolerance"], 0 if variant["contract"] == "same bits" else None)
                mark = "  yes  " if variant["runs_here"] else "  no ["
                self.assertIn(mark, line)
                if not variant["runs_here"]:
                    number = line[line.index("  no [") + 5 :].split("]")[0] + "]"
                    self.assertIn("\n" + number + " not here: " + variant["reason"] + "\n", text)

    def test_info(self):
        answer = json.loads(self.succeed("info", "--json").stdout)
        self.assertGreaterEqual(answer["cores"], 1)
        self.assertGreater(answer["memory_bytes"], 2**20)
        text = self.succeed("info").stdout
        self.assertIn(answer["processor"], text)
        self.assertIn(answer["version"], text)

    def test_avx512_by_its_name(self):
        with open("/proc/cpuinfo") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
        wanted = {"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"}
        names = json.loads(self.succeed("info", "--json").stdout)["simd"]
        self.assertEqual(any(name.startswith("AVX-512") for name in names), wanted <= set(flags), names)
        self.assertFalse(any("AVX3" in name for name in names), names)
        self.assertIn(", ".join(names), self.succeed("info").stdout)

    def test_completions_are_understood_by_their_shells(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.file("completion." + shell, self.succeed("completion", shell).stdout)
            if shutil.which(shell):
                result = subprocess.run([shell, "-n", script], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)
            elif shell == "bash":
                self.skipTest("no bash")

    def test_bash_completes(self):
        self.assertEqual(self.complete("gradus", "generate", "lab"), ["lab-points", "lab-atoms"])
        self.assertEqual(self.complete("gradus", "list", ""), self.problems())
        self.assertEqual(self.complete("gradus", "verify", "kmeans", "--variant", "sequential,simd_gr"),
                         ["sequential,simd_grid"])
        self.assertEqual(self.complete("gradus", "verify", "kmeans", "--variant", "=", "simd_grid,cuda_or"),
                         ["simd_grid,cuda_ordered"])
        self.assertEqual(self.complete("gradus", "kmeans", "--variant", "=", "simd_gr"), ["simd_grid"])
        for command in ("kmeans", "predict", "transform", "pair-histogram", "matmul", "life", "shortest-paths"):
            self.assertEqual(self.complete("gradus", command, "--memory-l"), ["--memory-limit"])

    def test_manual(self):
        page = self.succeed("manual").stdout
        for words in (".SH NAME", ".SS list", "\\-\\-json", ".SH EXIT STATUS", "NO_COLOR"):
            self.assertIn(words, page)
        script = self.file("gradus.1", page)
        if shutil.which("groff"):
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou", script], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"gradus [a-z-]+ points\.npy ")
        if shutil.which("man"):
            result = subprocess.run(["man", "--warnings", "-l", script], capture_output=True, text=True,
                                    env=dict(os.environ, MANPAGER="cat", LC_ALL="C.UTF-8"))
            self.assertEqual((result.returncode, result.stderr), (0, ""))


class Terminal(TerminalCase):
    def test_colour(self):
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.assertIn("\x1b[1m", self.on_terminal("list", env=dict(environment, NO_COLOR="")))
        self.assertNotIn("\x1b[1m", self.on_terminal("list", env={"NO_COLOR": "1"}))

    def test_tables_fit(self):
        plain = {"NO_COLOR": "1"}
        wide = self.on_terminal("list", "kmeans", env=plain).replace("\r", "")
        self.assertEqual(wide, self.succeed("list", "kmeans").stdout)
        # A table folds if the terminal is one column too narrow, and does not fold if the table just fits.
        table = wide.split("\n\n")[1].splitlines()
        widest = max(len(line) for line in table if not line.startswith("["))
        whole = "variant "
        self.assertIn("\n" + whole, self.on_terminal("list", "kmeans", env=plain, columns=widest).replace("\r", ""))
        self.assertNotIn("\n" + whole, self.on_terminal("list", "kmeans", env=plain, columns=widest - 1).replace("\r", ""))
        for columns in (40, 60, 100):
            lines = self.on_terminal("list", "kmeans", env=plain, columns=columns).replace("\r", "").splitlines()
            first = lines.index("sequential")
            end = next(at for at in range(first, len(lines)) if not lines[at])
            table = [line for line in lines[first:end] if " not here: " not in line]
            self.assertLessEqual(max(map(len, table)), columns)
            # The folded table has the same words, each preceded by its heading.
            told = " ".join(table).split()
            for variant in json.loads(self.succeed("list", "kmeans", "--json").stdout)[0]["variants"]:
                self.assertIn(variant["name"], table)
                words = ["idea", *variant["summary"].split()]
                self.assertTrue(any(told[at:at + len(words)] == words for at in range(len(told))), words)


class Examples(ProgramCase):
    """Runs every example in the documents and the help texts unchanged. If a document shows a part of the output,
    compares this part with the actual output."""

    SNIPPETS = load(os.path.join(os.path.dirname(DATA), "docs", "snippets.py"))
    narrowed_done = set()  # examples that take long run once, even if several pages have them
    narrowed = {}
    inputs = {"points.npy": "gradus generate blobs -n 1000 -d 3 -o points.npy"}
    inputs.update({"old.json": f"gradus {' '.join(MEASUREMENT)} --json old.json", "new.json": "cp old.json new.json"})
    for room in rooms():
        narrowed.update(room.NARROWED)
        inputs.update(room.INPUTS)

    def setUp(self):
        super().setUp()
        self.prepare(self.folder)

    def prepare(self, folder):
        """Prepares the folder in which examples run."""
        self.work = folder
        os.makedirs(os.path.join(folder, "build"), exist_ok=True)
        for link in ("gradus", "build/gradus"):
            os.symlink(GRADUS, os.path.join(folder, link))
        os.symlink(DATA, os.path.join(folder, "data"))

    def run_in_shell(self, command):
        environment = dict(os.environ, **ENVIRONMENT, HOME=self.work, DATA=DATA, PATH=self.work + os.pathsep + os.environ["PATH"])
        return subprocess.run(["sh", "-c", command], cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)

    def exists(self, name):
        return os.path.exists(os.path.join(self.work, name))

    def run_command(self, command, status=0):
        """Runs a command and returns its output. First makes the input files that the command names."""
        if command in self.narrowed:
            if command in self.narrowed_done:
                return None
            self.narrowed_done.add(command)
        if "<<" not in command:
            for name in [name for name in self.inputs if name in command.split()]:
                if "-o " + name not in command and not self.exists(name):
                    self.assertEqual(self.run_in_shell(self.inputs[name]).returncode, 0, name)
        result = self.run_in_shell(command + " " + self.narrowed[command] if command in self.narrowed else command)
        self.assertEqual(result.returncode, status, (command, result.stdout[-500:], result.stderr))
        return result.stdout + (result.stderr if status else "")

    def run_all(self, commands, at_least):
        commands = list(dict.fromkeys(commands))
        self.assertGreaterEqual(len(commands), at_least, commands)
        # Commands that make inputs come first, because other commands read the inputs.
        for command in sorted(commands, key=lambda command: "gradus generate" not in command):
            self.run_command(command)

    def is_example(self, text):
        """Returns True if the text can be run. A text cannot be run if it contains placeholders or is just the name of a
        command."""
        words = text.split()
        form = any(word.strip("'\"(),").split(".")[0].isupper() or "[" in word or "|" in word[1:] or "..." in word or "…" in word for word in words)
        return len(words) > 2 and not form

    def spans(self, text):
        """Finds commands within sentences."""
        text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
        return [span for span in spans if span.startswith("gradus ") and self.is_example(span)]

    def run_page(self, page):
        text = page.read_text(encoding="utf-8")
        done = 0
        for one in self.SNIPPETS.snippets(text):
            if one.language != "sh" or not one.is_run or (one.marker == "mpi" and why_not()):
                continue
            printed = [self.run_command(command, one.status) for command in one.commands()]
            done += len(printed)
            if one.expected is not None and None not in printed:
                self.assertEqual(self.SNIPPETS.comparable("".join(printed)), self.SNIPPETS.comparable(one.expected), one.text)
        for command in dict.fromkeys(self.spans(text)):
            self.run_command(command)
            done += 1
        return done

    def run_pages(self, chosen):
        self.assertGreater(len(chosen), 0)
        done = 0
        for number, page in enumerate(chosen):
            with self.subTest(page=page.name):
                folder = self.path(f"page{number}")
                os.mkdir(folder)
                self.prepare(folder)
                done += self.run_page(page)
        return done

    def test_tutorials_and_guides(self):
        pages = [page for page in self.SNIPPETS.pages() if page.parent.name in ("tutorials", "howto")]
        self.assertGreater(self.run_pages(pages), 80)

    def test_other_pages(self):
        pages = [page for page in self.SNIPPETS.pages() if page.parent.name not in ("tutorials", "howto")]
        self.assertGreater(self.run_pages(pages), 10)

    def test_help(self):
        overview = self.succeed("--help").stdout
        commands = [re.split(r"   +", line.strip())[0] for line in overview.splitlines() if line.startswith("  gradus ")]
        for command in self.commands():
            text = self.succeed(command, "--help").stdout
            examples = re.split(r"^Examples?\n", text, flags=re.M)[1].splitlines()
            self.assertTrue(all(line.startswith("  ") for line in examples), examples)
            commands += [line.strip() for line in examples]
            commands += [quoted for quoted in re.findall(r"'(gradus [^']+)'", " ".join(text.split()))
                         if self.is_example(quoted)]
        self.run_all(commands, 25)
