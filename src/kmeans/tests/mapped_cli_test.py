"""`gradus kmeans` on points that are mapped from a file, under memory limits below the size of the points.
tests/cli/run.py runs this.

docs/howto/more-points-than-fit.md has a table of the inputs that are mapped. Its rows are the tests' cases."""

import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import zipfile

import kit
from kit import DATA, GRADUS, Case, InterruptCase, content, gradus, write_hdf5, write_npy, write_vectors

IS_MAPPED = "it is mapped, not copied"
N, D, K = 4000, 64, 3
LIMIT = 900_000  # less than the points of 4 bytes, and enough for a fit with few clusters
STORED_LIMIT = 1_200_000  # enough for a fit to points that are widened where they are read


class MappedCase(Case):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        # Small integers in groups, so that every type holds the values.
        self.values = [20 * (row % 5) + draw.randrange(12) for row in range(N) for _ in range(D)]

    def npy(self, name, dtype, fortran=False, values=None):
        values = values or self.values
        if fortran:
            values = [values[row * D + column] for column in range(D) for row in range(N)]
        code = {"<f4": "<%df", "<f8": "<%dd", ">f4": ">%df", "<f2": "<%de", "|u1": "%dB", "<u2": "<%dH"}[dtype]
        header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }" % (dtype, fortran, N, D)
        return write_npy(self.path(name), dtype, (N, D), raw=struct.pack(code % len(values), *values), header=header)

    def npz(self, name, compression):
        with zipfile.ZipFile(self.path(name), "w", compression) as archive:
            archive.writestr("x.npy", content(self.npy("x.npy", "<f4")))
        return self.path(name)

    def vectors(self, ending):
        return write_vectors(self.path("points" + ending), (N, D), self.values)

    def hdf5(self, dtypes, chunk=None):
        """Returns a job for each type, or none without libhdf5."""
        packed = {"<f4": "<%df", "<f8": "<%dd"}
        return [[write_hdf5(self.path("%s%s.h5" % (dtype[1:], "c" if chunk else "")), "x", dtype, (N, D),
                            struct.pack(packed[dtype] % len(self.values), *self.values), chunk)]
                for dtype in dtypes if kit.HDF5]

    def stored(self):
        """Returns files of points of 8 or 16 bits by the name of their type and their ending."""
        return {"f16.npy": self.npy("f2.npy", "<f2"), "u8.npy": self.npy("u1.npy", "|u1"), "u8.u8bin": self.vectors(".u8bin"),
                "i8.i8bin": self.vectors(".i8bin"), "u8.bvecs": self.vectors(".bvecs"), "bf16.safetensors": self.bf16()}

    def bf16(self):
        halves = struct.pack("<%df" % (N * D), *self.values)
        halves = b"".join(halves[at + 2 : at + 4] for at in range(0, len(halves), 4))
        header = json.dumps({"x": {"dtype": "BF16", "shape": [N, D], "data_offsets": [0, len(halves)]}}).encode()
        header += b" " * (-len(header) % 8)
        with open(self.path("b.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + halves)
        return self.path("b.safetensors:x")

    def csv(self, name="points.csv"):
        rows = (",".join(map(str, self.values[row * D : row * D + D])) for row in range(N))
        return self.file(name, "\n".join(rows) + "\n")

    def part(self, first, last, name):
        return write_npy(self.path(name), "<f4", (last - first, D), self.values[first * D : last * D])

    def weights(self, dtype):
        return write_npy(self.path("weights%s.npy" % dtype[1:]), dtype, (N,), [row % 7 for row in range(N)])

    def fit(self, *arguments, limit=None, status=0, clusters=K, **options):
        """Returns centroids and labels of a fit, and what it said."""
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        limits = ["--memory-limit", limit] if limit else []
        result = gradus("kmeans", *arguments, "-k", clusters, "-o", out, "--threads", 2, "--device", "cpu", *limits, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        if status:
            return result.stderr
        return content(os.path.join(out, "centroids.npy")), content(os.path.join(out, "labels.npy")), result.stderr


    def summary(self):
        return json.loads(content(self.path("out/summary.json")))


class Table(MappedCase):
    """The table of the how-to page: the name of each row, and a job of that row."""

    def jobs(self):
        f4 = lambda: self.npy("f4.npy", "<f4")
        return {
            "`.npy` of `f4` or `f8`, in C order and native byte order": [[f4()], [self.npy("f8.npy", "<f8")]],
            "`.fvecs`, `.fbin`, `F32` or `F64` in `.safetensors`": [[self.vectors(".fvecs")], [self.vectors(".fbin")],
                                                                    [self.vectors(".safetensors")]],
            "contiguous datasets of `f4` or `f8` in HDF5, in native byte order": self.hdf5(["<f4", "<f8"]),
            "`u1`, `i1` or `f2` in `.npy`; `.bvecs`, `.u8bin`, `.i8bin`; `U8`, `I8`, `F16` or `BF16` in `.safetensors`":
                [[points] for points in self.stored().values()],
            "`--weights`, `--init`, `--restarts` and every other option of the fit": [
                [f4(), "--weights", self.weights("<f4")], [f4(), "--weights", self.weights("<f8")],
                [f4(), "--init", self.part(0, K, "first.npy")], [f4(), "--restarts", 2]],
            "`.npy` in Fortran order or the other byte order": [[self.npy("fortran.npy", "<f4", True)],
                                                               [self.npy("swapped.npy", ">f4")]],
            "other types, which are widened": [[self.npy("u2.npy", "<u2")], [self.vectors(".ivecs")]],
            "an array in `.npz`, whose bytes are compressed or not aligned": [[self.npz("packed.npz", zipfile.ZIP_DEFLATED)],
                                                                              [self.npz("stored.npz", zipfile.ZIP_STORED)]],
            "chunked or compressed datasets of HDF5": self.hdf5(["<f4"], (100, D)),
            "text, pictures, standard input": [[self.csv()], ["-"]],
            "several files": [[self.part(0, 1000, "part-1.npy"), self.part(1000, N, "part-2.npy")]],
            "`--dtype` with another type than the file's": [[self.npy("wide.npy", "<f8"), "--dtype", "f32"]],
            "`--columns`, `--drop-columns`, `--id-column`, `--weight-column`": [
                [f4(), "--columns", "1-32"], [f4(), "--drop-columns", 2], [f4(), "--id-column", 1], [f4(), "--weight-column", 1]],
            "`--metric cosine`, which needs rows of unit length": [[f4(), "--metric", "cosine"]],
            "`--standardize`, which needs standardized rows": [[f4(), "--standardize"]],
        }

    def test_rows(self):
        page = content(os.path.join(os.path.dirname(DATA), "docs", "howto", "more-points-than-fit.md"), "r")
        table = dict(re.findall(r"^\| (.*) \| (mapped|copied) \|$", page, re.M))
        jobs = self.jobs()
        self.assertEqual(list(table), list(jobs))
        for name, memory in table.items():
            for job in jobs[name]:
                stdin = content(self.csv(), "r") if job == ["-"] else None
                init = [] if "--init" in job else ["--init", "random"]
                limit = STORED_LIMIT if name.startswith("`u1`") else LIMIT
                result = gradus("kmeans", *job, "-k", K, *init, "--memory-limit", limit, "--device", "cpu", "--threads", 2, "--json",
                                stdin=stdin)
                summary = json.loads(result.stdout) if result.returncode == 0 else {}
                mapped = IS_MAPPED in result.stderr or summary.get("stored_dtype") != summary.get("dtype")
                self.assertEqual(memory == "mapped", mapped, (name, job, result.stderr))


class Bytes(MappedCase):
    def test_same_bytes(self):
        """Mapped points under a limit give the bytes of copied points without one."""
        copied = {"<f4": self.npy("copied-f4.npy", "<f4", True), "<f8": self.npy("copied-f8.npy", "<f8", True)}
        mapped = [("<f4", self.npy("f4.npy", "<f4")), ("<f4", self.vectors(".fvecs")), ("<f4", self.vectors(".fbin")),
                  ("<f4", self.vectors(".safetensors")), ("<f8", self.npy("f8.npy", "<f8"))]
        inits = [[], ["--init", "k-means-parallel"], ["--init", "random"], ["--init", "first"], ["--init-rows", 50],
                 ["--init", self.part(3, 3 + K, "given.npy")]]
        weights = [[], ["--weights", self.weights("<f4")]]
        for metric, init, weight in itertools.product(["euclidean", "cosine"], inits, weights):
            expected = {}
            for dtype, points in mapped:
                options = ["--metric", metric, *init, *weight]
                if dtype not in expected:
                    expected[dtype] = self.fit(copied[dtype], *options)[:2]
                limit = (LIMIT if metric == "euclidean" else LIMIT + 4 * N * D) * (2 if dtype == "<f8" else 1)
                found = self.fit(points, *options, limit=limit)
                self.assertEqual(found[:2], expected[dtype], (points, options))
                self.assertEqual(IS_MAPPED in found[2], metric == "euclidean", found[2])

    def test_stored(self):
        """Points of 8 and 16 bits give the bytes of f4, under a limit below the size of their copy."""
        copied = self.npy("copied.npy", "<f4", True)
        for options in ([], ["--init", "k-means-parallel"], ["--init", "first", "--weights", self.weights("<f4")],
                        ["--metric", "cosine"], ["--standardize"]):
            expected = self.fit(copied, *options)[:2]
            hashes = self.summary()["input_hashes"]
            for name, points in self.stored().items():
                copies = {"--metric": 1, "--standardize": 1}.get((options + [""])[0], 0)
                self.assertEqual(self.fit(points, *options, limit=STORED_LIMIT + 4 * N * D * copies)[:2], expected, (points, options))
                summary = self.summary()
                self.assertEqual((summary["dtype"], summary["stored_dtype"]), ("f32", name.split(".")[0]))
                self.assertEqual(summary["input_hashes"], hashes)
            self.fit(points, *options, "--variant", "sequential")

    def test_stored_choices_and_pages(self):
        """The choice of k and the page have the bytes of f4, without a copy in f4."""
        copied, page = self.npy("copied.npy", "<f4", True), self.path("page.html")
        picture = lambda: re.search(r'"series":.*?</script>', content(page, "r"), re.S)[0]
        for options in ([], ["--metric", "cosine"], ["--standardize"]):
            several = ["--silhouette-points", 300, *options]
            expected = self.fit(copied, *several, clusters="2..4")[:2]
            takes = [{**fit, "seconds": 0} for fit in self.summary()["choice"]["fits"]]
            self.fit(copied, "--report", page, *options)
            shown = picture()
            for name, points in self.stored().items():
                limit = STORED_LIMIT + (4 * N * D if options else 0)
                self.assertEqual(self.fit(points, *several, clusters="2..4", limit=limit)[:2], expected, (points, options))
                summary = self.summary()
                self.assertEqual([{**fit, "seconds": 0} for fit in summary["choice"]["fits"]], takes)
                self.assertEqual(summary["stored_dtype"], name.split(".")[0])
            # The projection keeps the rows that it shows in double: all rows of this file.
            self.fit(points, "--report", page, *options, limit=8 * N * (D + 4) + 1000)
            self.assertEqual(picture(), shown)
            self.assertEqual(self.summary()["stored_dtype"], name.split(".")[0])

    def test_stored_files(self):
        """Several files of one stored type are copied in this type."""
        expected = self.fit(self.npy("copied.npy", "<f4", True))[:2]
        cuts = (0, 1, 1500, 1500, N)
        for dtype, code, stored in (("|u1", "B", "u8"), ("<f2", "e", "f16")):
            files = []
            for first, last in zip(cuts, cuts[1:]):
                values = self.values[first * D : last * D]
                raw = struct.pack("<%d%s" % (len(values), code), *values)
                files.append(write_npy(self.path("%s-%d.npy" % (stored, len(files))), dtype, (last - first, D), raw=raw))
            self.assertEqual(self.fit(*files, limit=STORED_LIMIT)[:2], expected)
            self.assertEqual(self.summary()["stored_dtype"], stored)
            said = self.fit(*files, "--dtype", "f64", limit=STORED_LIMIT, status=1)
            self.assertIn("needs", said)
            self.assertEqual(self.fit(files[0], self.path("u8-1.npy"), *files[2:])[:2], expected)
            self.assertEqual(self.summary()["stored_dtype"], "u8" if stored == "u8" else "f32")

    def test_stored_values_that_are_not_finite(self):
        for code, says in ((0x7c00, "is infinite"), (0xfe00, "is NaN")):
            points = self.npy("f2.npy", "<f2")
            with open(points, "r+b") as file:
                file.seek(-2 * 70, os.SEEK_END)  # row N - 2, column 58
                file.write(struct.pack("<H", code))
            said = self.fit(points, status=3)
            for words in (points, "row %d, column %d" % (N - 2, 58), says):
                self.assertIn(words, said)

    def test_standardized(self):
        points, copied = self.npy("f4.npy", "<f4"), self.npy("copied.npy", "<f4", True)
        self.assertEqual(self.fit(points, "--standardize", limit=4 * N * D + LIMIT)[:2], self.fit(copied, "--standardize")[:2])
        self.assertIn("memory limit allows only", self.fit(points, "--standardize", limit=LIMIT, status=1))

    def test_streams(self):
        """Inputs that cannot be mapped are read as before."""
        points = self.npy("f4.npy", "<f4")
        expected = self.fit(points)[:2]
        for name in ("-", "/dev/stdin"):
            self.assertEqual(self.fit(name, stdin=content(points), text=False)[:2], expected)
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        writer = subprocess.Popen(["cp", points, pipe])
        self.assertEqual(self.fit(pipe)[:2], expected)
        self.assertEqual(writer.wait(), 0)


class Limits(MappedCase):
    def test_the_smallest_limit_works(self):
        """The memory that the message names is enough, and one byte less is not."""
        draw = random.Random(1)
        for n, d, fastest, smallest in ((40000, 2, "simd_grid", "simd_small_dim"), (N, D, "simd_bounds", "simd_large_dim")):
            points = write_npy(self.path("p.npy"), "<f4", (n, d), [draw.random() for _ in range(n * d)])
            expected = self.fit(points, "--init", "random")[:2]
            self.assertEqual(self.summary()["variant"], fastest)
            needs = r"needs (\d+) bytes.*but the memory limit allows only"
            least = int(re.search(needs, self.fit(points, "--init", "random", limit=1, status=1)).group(1))
            self.assertEqual(int(re.search(needs, self.fit(points, "--init", "random", limit=least - 1, status=1)).group(1)), least)
            self.assertEqual(self.fit(points, "--init", "random", limit=least)[:2], expected)
            self.assertEqual((self.summary()["variant"], self.summary()["memory_bytes"]), (smallest, least))

    def test_a_copy_that_does_not_fit(self):
        for points in (self.npy("u2.npy", "<u2"), self.npy("swapped.npy", ">f4")):
            said = self.fit(points, limit=LIMIT, status=1)
            self.assertIn("needs", said)
            self.assertIn("is read in place", said)

    def test_predict_and_transform_in_blocks(self):
        """Files of 8 and 16 bits are read in blocks, with the bytes of f4."""
        centroids = self.part(0, K, "centroids.npy")
        weights = self.weights("<f4")
        made = lambda *job: (self.succeed(*job, "--quiet", "--threads", 2, "--device", "cpu", "-o", self.path("made.npy")),
                             content(self.path("made.npy")))[1]
        for command, options in (("predict", []), ("predict", ["--weights", weights]), ("predict", ["--metric", "cosine"]),
                                 ("transform", []), ("transform", ["--metric", "cosine"])):
            expected = made(command, centroids, self.npy("f4.npy", "<f4"), *options)
            for points in self.stored().values():
                for limit in ([], ["--memory-limit", LIMIT]):
                    self.assertEqual(made(command, centroids, points, *options, *limit), expected, (command, points))

    def test_resident_memory(self):
        """The pages of a large file do not stay in the memory of the process."""
        n, d, limit = 2_000_000, 64, 64 << 20
        points = write_npy(self.path("large.npy"), "<f4", (n, d), raw=struct.pack("<%df" % (4 * d), *range(4 * d)))
        os.truncate(points, os.path.getsize(points) - 16 * d + 4 * n * d)  # a sparse file: the other rows are zeros
        peaks, labels = {}, {}
        for name, options in (("limited", ["--memory-limit", limit]), ("unlimited", [])):
            out = self.path(name)
            job = subprocess.Popen([GRADUS, "kmeans", points, "-k", "2", "--init", "first", "--threads", "2", "--device", "cpu", "-o", out,
                                    *map(str, options)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(job.pid, 0)
            job.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(job.returncode, 0)
            peaks[name] = 1024 * usage.ru_maxrss
            labels[name] = content(os.path.join(out, "labels.npy"))
        self.assertEqual(labels["limited"], labels["unlimited"])
        self.assertGreater(peaks["unlimited"], 4 * n * d)
        self.assertLess(peaks["limited"], limit + (256 << 20))


class Lost(InterruptCase):
    """A file that changes, shrinks or cannot be read in the middle of a fit."""

    def fit_that_meets(self, change, iterations=1000, env=None, options=()):
        """Calls change(points) in the middle of a fit. Returns the status and what the fit said. No file is left."""
        points, out = self.path("points.npy"), self.path("out")
        self.succeed("generate", "uniform", "-n", 400000, "-d", 32, "-o", points)
        job = subprocess.Popen([GRADUS, "kmeans", points, "-k", "40", "--tolerance", "0", "--max-iterations", str(iterations), "--init", "random",
                                "--threads", "2", "--device", "cpu", "--memory-limit", "20M", "-o", out, *options],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 0.5)
        change(points)
        stdout, stderr = job.communicate(timeout=300)
        self.assertEqual(stdout, "")
        self.assertEqual(os.listdir(out) if os.path.exists(out) else [], [])
        return job.returncode, stderr

    def test_shorter(self):
        status, said = self.fit_that_meets(lambda points: os.truncate(points, 8192))
        self.assertEqual(status, 3, said)
        self.assertRegex(said, "points.npy': the file has changed while it was read: it had [0-9]+ bytes and now has 8192;")

    def test_changed(self):
        def change(points):
            with open(points, "r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(struct.pack("<f", 0.5))
        status, said = self.fit_that_meets(change, iterations=200)
        self.assertEqual(status, 3, said)
        self.assertIn("points.npy': the file has changed while it was read", said)

    def test_changed_weights(self):
        weights = self.path("weights.npy")
        self.succeed("generate", "uniform", "-n", 400000, "-d", 1, "--low", 1, "-o", weights)

        def change(points):
            with open(weights, "r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(struct.pack("<f", 9.5))
        status, said = self.fit_that_meets(change, iterations=200, options=["--weights", weights])
        self.assertEqual(status, 3, said)
        self.assertIn("weights.npy': the file has changed while it was read", said)

    def test_disk_error(self):
        """A library makes the program believe that the file still has its length."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        source = self.file("size.c", """#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int fstat(int file, struct stat* state) {
  int result = syscall(SYS_fstat, file, state);
  if (result == 0 && S_ISREG(state->st_mode) && state->st_size == 8192) state->st_size = 1L << 40;
  return result;
}
""")
        library = self.path("size.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        status, said = self.fit_that_meets(lambda points: os.truncate(points, 8192), env=kit.preloading(library))
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"points.npy': byte \d+: the disk or the file system could not read it")
