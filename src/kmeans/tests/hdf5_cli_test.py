"""`gradus kmeans` and `gradus predict` on datasets of HDF5 files. tests/cli/run.py runs this."""

import os
import shutil
import struct
import subprocess
import unittest

import kit
from kit import Case, content, write_hdf5, write_npy

N, D = 9000, 20
VALUES = [(row * row * 7 + 3 * column) % 101 for row in range(N) for column in range(D)]
PACKED = {dtype: struct.pack("%s%d%s" % (dtype[0].replace("|", "<"), N * D, kit.CODES["<f4" if dtype == ">f4" else dtype]), *VALUES)
          for dtype in ("<f4", ">f4", "<f8", "|u1")}


class DatasetCase(Case):
    def fit(self, points, *options):
        out = self.path("fit")
        shutil.rmtree(out, ignore_errors=True)
        self.succeed("kmeans", points, "-k", 5, "-o", out, "--device", "cpu", "--quiet", *options)
        return [content(os.path.join(out, name)) for name in ("centroids.npy", "labels.npy")]

    def npy(self, dtype):
        return write_npy(self.path("copy.npy"), "<f4" if dtype == ">f4" else dtype, (N, D), VALUES)


@unittest.skipUnless(kit.HDF5, "libhdf5 is not installed")
class Datasets(DatasetCase):
    def test_same_bytes(self):
        """Every type and layout gives the bytes of the same points in .npy. Chunks divide neither rows nor columns."""
        for dtype, packed in PACKED.items():
            expected = self.fit(self.npy(dtype))
            for chunk in (None, (177, 7), (10, D), (N, 3)):
                points = write_hdf5(self.path("x.h5"), "train", dtype, (N, D), packed, chunk)
                with self.subTest(dtype=dtype, chunk=chunk):
                    self.assertEqual(self.fit(points), expected)
                    out = self.path("labels.npy")
                    self.succeed("predict", self.path("fit"), points, "-o", out, "--quiet", "--memory-limit", "400k")
                    self.assertEqual(content(out), expected[1])

    def test_many_chunks_in_a_row(self):
        """Many chunks are read in pieces of their columns. A piece does not divide the columns."""
        rows, columns = 6, 9001
        values = [(row * 31 + column * column) % 251 for row in range(rows) for column in range(columns)]
        points = write_hdf5(self.path("wide.h5"), "x", "<f4", (rows, columns), struct.pack("<%df" % len(values), *values), (4, 2))
        npy = write_npy(self.path("wide.npy"), "<f4", (rows, columns), values)
        self.assertEqual(self.fit(points), self.fit(npy))

    def test_patterns(self):
        """The dataset follows the pattern of the files' names."""
        expected = self.fit(self.npy("<f4"))
        row = 4 * D
        for number, begin, end in ((9, 0, 1000), (10, 1000, 1000), (11, 1000, 8009), (12, 8009, N)):
            write_hdf5(self.path("part-%d.h5" % number), "x", "<f4", (end - begin, D), PACKED["<f4"][begin * row : end * row], None if number % 2 else (10, 7))
        for points in (self.path("part-*.h5:/x"), self.path("part-*.h5")):
            self.assertEqual(self.fit(points), expected)
            out = self.path("labels.npy")
            self.succeed("predict", self.path("fit"), points, "-o", out, "--quiet", "--memory-limit", "1M")
            self.assertEqual(content(out), expected[1])
        self.refused(3, "kmeans", self.path("no-*.h5:/x"), "-k", 5, "-o", self.path("none"), says=["no-*.h5': no file has a name like that"])
        self.refused(3, "kmeans", self.path("part-*.h5:/y"), "-k", 5, "-o", self.path("none"), says=["part-9.h5': there is no array '/y'"])

    def test_weights_and_first_centroids(self):
        weights = [float(row % 7) for row in range(N)]
        npy = write_npy(self.path("w.npy"), "<f4", (N,), weights)
        hdf5 = write_hdf5(self.path("w.h5"), "w", "<f4", (N,), struct.pack("<%df" % N, *weights), (100,))
        first = write_hdf5(self.path("first.h5"), "c", "<f4", (5, D), PACKED["<f4"][: 5 * D * 4])
        points = self.npy("<f4")
        self.assertEqual(self.fit(points, "--weights", hdf5), self.fit(points, "--weights", npy))
        self.assertEqual(self.fit(points, "--init", first), self.fit(points, "--init", "first"))

    def test_memory_limit(self):
        """A contiguous dataset is mapped. The rows of a chunked one are copied, and a copy that does not fit is refused."""
        contiguous = write_hdf5(self.path("x.h5"), "x", "<f8", (N, D), PACKED["<f8"])
        chunked = write_hdf5(self.path("y.h5"), "y", "<f8", (N, D), PACKED["<f8"], (100, D))
        limit = ("--memory-limit", "1M", "--init", "random", "--threads", 1)
        self.fit(contiguous, *limit)
        self.refused(1, "kmeans", chunked, "-k", 5, "-o", self.path("none"), *limit, says=["memory limit"])
        self.assertFalse(os.path.exists(self.path("none")))

    def test_damage(self):
        points = write_hdf5(self.path("x.h5"), "train", "|u1", (N, D), PACKED["|u1"], (100, D))
        whole = content(self.path("x.h5"))
        out = self.path("none")
        job = ("-k", 5, "-o", out, "--quiet")
        self.refused(3, "kmeans", self.path("x.h5:tain"), *job, says=["no array '/tain' (did you mean '/train'?)", "x.h5:/train"])
        self.file("x.h5", whole[:-1])
        self.refused(3, "kmeans", points, *job, says=["x.h5:/train': the file cannot be opened (HDF5: truncated file", "copy the file again"])
        self.file("x.h5", whole[: len(whole) * 2 // 3] + b"\xff" * 50 + whole[len(whole) * 2 // 3 + 50 :])
        self.refused(3, "kmeans", points, *job, says=["x.h5:/train': row ", "(counted from 0) cannot be read (HDF5: "])
        self.file("x.h5", "1,2\n3,4\n")
        self.refused(3, "kmeans", points, *job, says=["not an HDF5 file"])
        write_hdf5(self.path("nan.h5"), "x", "<f8", (2, 2), struct.pack("<4d", 1, 2, 3, float("nan")), (1, 2))
        self.refused(3, "kmeans", self.path("nan.h5"), "-k", 1, "-o", out, says=["nan.h5': the value in row 1, column 1", "NaN"])
        self.assertFalse(os.path.exists(out))

    def test_disk_error(self):
        """A library makes reads of the chunks fail."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        points = write_hdf5(self.path("x.h5"), "x", "|u1", (N, D), PACKED["|u1"], (100, D))
        source = self.file("read.c", """#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t pread(int file, void* to, size_t size, off_t place) {
  if (place > 10000) { errno = EIO; return -1; }
  return syscall(SYS_pread64, file, to, size, place);
}
ssize_t pread64(int file, void* to, size_t size, off_t place) { return pread(file, to, size, place); }
""")
        library = self.path("read.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        out = self.path("none")
        self.refused(1, "kmeans", points, "-k", 5, "-o", out, "--quiet", env=kit.preloading(library),
                     says=["x.h5:/x': row ", "cannot be read", "Input/output error"])
        self.assertFalse(os.path.exists(out))


class WithoutLibrary(DatasetCase):
    def test_refused(self):
        """Without libhdf5, the program names its package."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        source = self.file("open.c", """#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void* dlopen(const char* file, int flags) {
  static void* (*real)(const char*, int);
  if (!real) real = dlsym(RTLD_NEXT, "dlopen");
  return real(file && strstr(file, "hdf5") ? "/no/libhdf5.so" : file, flags);
}
""")
        library = self.path("open.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        points = os.path.join(os.path.dirname(kit.DATA), "tests/fuzz/corpus/hdf5/little_f4.h5")
        self.refused(4, "kmeans", points, "-k", 1, "-o", self.path("none"), env=kit.preloading(library),
                     says=["little_f4.h5': an HDF5 file, for which the library libhdf5", "install it (Debian: libhdf5-103-1", "h5py"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["open.c", "open.so"])
