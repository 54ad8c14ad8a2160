"""Shared parts of the black-box tests of the program `gradus`: calls, outputs, and files."""

import base64
import csv
import ctypes
import fcntl
import html
import importlib.util
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import urllib.parse
import zlib

GRADUS = ""  # path of the program; DATA is the folder data/ of the project; run.py sets both
DATA = ""


def load(file):
    """Loads the module in a file. Files of different rooms may have the same name."""
    path = pathlib.Path(file)
    specification = importlib.util.spec_from_file_location("_".join(path.with_suffix("").parts[-3:]), path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def rooms():
    """Returns the rooms' test modules, which define data for the loops over all commands."""
    return [load(file) for file in sorted(pathlib.Path(DATA).parent.glob("src/*/tests/cli_test.py"))]


def gradus(*arguments, stdin=None, env=None, preexec=None, cwd=None, text=True, program=None):
    """Runs the program. The result has returncode, stdout and stderr."""
    environment = dict(os.environ, **(env or {}))
    return subprocess.run(
        [program or GRADUS, *map(str, arguments)],
        input=stdin if stdin is not None else ("" if text else b""),
        capture_output=True,
        text=text,
        env=environment,
        preexec_fn=preexec,
        cwd=cwd,
        timeout=300,
    )


def preloading(library):
    """Returns the environment of a program that loads this library before all others, also before a sanitizer."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": options + ":verify_asan_link_order=0"}


def content(path, mode="rb"):
    with open(path, mode) as file:
        return file.read()


CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "<i2": "h", "<u2": "H", "<u4": "I",
         "|b1": "B"}


def read_npy(path):
    """Returns (dtype, shape, flat list of values), according to the definition of the format."""
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    (length,) = struct.unpack_from("<H", content, 8)
    assert (10 + length) % 64 == 0
    header = content[10 : 10 + length].decode("latin1")
    assert header.endswith("\n")
    # The call of eval() is safe, because our own program wrote the header.
    fields = eval(header, {"__builtins__": {}}, {"True": True, "False": False})
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


def open_hdf5():
    """Returns libhdf5, or None if the program has no library with which it reads HDF5."""
    for name in ("libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5.so.310", "libhdf5.so.103"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


HDF5 = open_hdf5()


def write_hdf5(path, name, dtype, shape, encoded, chunk=None):
    """Writes an HDF5 file with one dataset. The bytes `encoded` are the elements. With `chunk`, each chunk is compressed."""
    def call(name, *arguments):
        function = getattr(HDF5, name)
        function.restype = ctypes.c_int64 if "create" in name else ctypes.c_int
        result = function(*arguments)
        assert result >= 0, name
        return result

    def sizes(numbers):
        return (ctypes.c_uint64 * len(numbers))(*numbers)

    def number(value):
        return ctypes.c_int64(value)

    call("H5open")
    types = {"<f4": "H5T_IEEE_F32LE_g", ">f4": "H5T_IEEE_F32BE_g", "<f8": "H5T_IEEE_F64LE_g", "|u1": "H5T_STD_U8LE_g", "|i1": "H5T_STD_I8LE_g"}
    kind = ctypes.c_int64.in_dll(HDF5, types[dtype])
    file = number(call("H5Fcreate", path.encode(), 2, number(0), number(0)))
    space = number(call("H5Screate_simple", len(shape), sizes(shape), None))
    properties = number(call("H5Pcreate", ctypes.c_int64.in_dll(HDF5, "H5P_CLS_DATASET_CREATE_ID_g")))
    if chunk:
        call("H5Pset_chunk", properties, len(chunk), sizes(chunk))
        call("H5Pset_deflate", properties, 1)
        call("H5Pset_fletcher32", properties)
    dataset = number(call("H5Dcreate2", file, name.encode(), kind, space, number(0), properties, number(0)))
    call("H5Dwrite", dataset, kind, number(0), number(0), number(0), encoded)
    for handle in (dataset, properties, space, file):
        call("H5Idec_ref", handle)
    return path + ":/" + name


# For each format of vectors: the .npy type of its elements.
VECTORS = {".fvecs": "<f4", ".bvecs": "|u1", ".ivecs": "<i4", ".fbin": "<f4", ".u8bin": "|u1", ".i8bin": "|i1",
           ".safetensors": "<f4"}
if HDF5:
    VECTORS.update({".h5": "<f4", ".hdf5": "|u1"})


def write_vectors(path, shape, values):
    """Writes a file of vectors, in the format of its ending. A safetensors file also has a tensor before the values."""
    ending = os.path.splitext(path)[1]
    rows, columns = shape
    encoded = struct.pack("<%d%s" % (rows * columns, CODES[VECTORS[ending]]), *values)
    size = len(encoded) // rows
    if ending in (".h5", ".hdf5"):
        return write_hdf5(path, "x", VECTORS[ending], shape, encoded, chunk=(7, columns) if ending == ".hdf5" else None)
    if ending == ".safetensors":
        header = json.dumps({"__metadata__": {"format": "np"},
                             "bias": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]},
                             "x": {"dtype": "F32", "shape": shape, "data_offsets": [8, 8 + len(encoded)]}}).encode()
        encoded = struct.pack("<Q", len(header)) + header + bytes(8) + encoded
    elif ending.endswith("bin"):
        encoded = struct.pack("<II", rows, columns) + encoded
    else:
        encoded = b"".join(struct.pack("<i", columns) + encoded[row * size : (row + 1) * size] for row in range(rows))
    with open(path, "wb") as file:
        file.write(encoded)
    return path + ":x" if ending == ".safetensors" else path


def read_png(path):
    """Returns (width, height, color type, set of pixels) of an 8-bit PNG without interlacing."""
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
        """Expects that the program exits with this status, prints each of these words to standard error, and prints
        no result."""
        result = gradus(*arguments, **options)
        self.assertEqual(result.returncode, status, (arguments, result.stdout, result.stderr))
        self.assertTrue(result.stderr.startswith("gradus: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for words in says:
            self.assertIn(words, result.stderr)
        self.assertEqual(result.stdout, "")
        return result

    def refused_as_json(self, status, *arguments):
        result = gradus(*arguments, "--json")
        self.assertEqual(result.returncode, status)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["exit_status"], status)
        self.assertIn(answer["error"], result.stderr)

    def refused_to_overwrite(self, files, *arguments):
        before = [content(name) for name in files]
        self.refused(2, *arguments, says=["would be overwritten", "somewhere else"])
        self.assertEqual([content(name) for name in files], before)

    def refused_for_want_of_space(self, small, *job):
        """Runs the program on a separate file system of 64 KiB, if one can be mounted on the folder `small`."""
        script = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 99; shift; "$@"; echo "status $?"; ls -A "%s"' % small
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", small, GRADUS, *map(str, job)],
                                capture_output=True, text=True)
        if result.returncode == 99 or "unshare:" in result.stderr:
            self.skipTest("no file system can be mounted here: " + result.stderr.strip())
        self.assertEqual(result.stdout, "status 1\n", result.stderr)
        self.assertIn("but only 65536 bytes (64 KiB) are free", result.stderr)
        return result.stderr

    def points(self, name="points.npy", n=200, d=3):
        values = [((index * 7919 + 13) % 1000) / 8 for index in range(n * d)]
        return write_npy(self.path(name), "<f4", (n, d), values)


    def charts_of(self, page):
        """Returns a dict that maps the title of each chart on a page of results to the rows of the chart's values."""
        found = re.findall(r'<figure class="chart"><h4>([^<]*)</h4>.*?href="data:text/csv;charset=utf-8,([^"]*)"', content(page, "r"), re.S)
        return {html.unescape(title): list(csv.reader(urllib.parse.unquote(text).splitlines())) for title, text in found}

    def pictures_of(self, page):
        """Returns a dict that maps the title of each picture to the bytes of the picture's file."""
        found = re.findall(r'<img alt="([^"]*)"[^>]* src="data:image/png;base64,([^"]*)"', content(page, "r"))
        return {html.unescape(title): base64.b64decode(text, validate=True) for title, text in found}


class InterruptCase(Case):
    """Tests of interrupted jobs."""

    def wait_until(self, job, is_so):
        deadline = time.time() + 60
        while not is_so():
            self.assertLess(time.time(), deadline)
            self.assertIsNone(job.poll())
            time.sleep(0.02)

    def wait_until_signals_are_awaited(self, job):
        """Waits until the program has blocked the signals, so that one of its threads can wait for them."""
        def blocked():
            with open(f"/proc/{job.pid}/status") as status:
                mask = next(line.split()[1] for line in status if line.startswith("SigBlk:"))
            return int(mask, 16) >> (signal.SIGINT - 1) & 1
        self.wait_until(job, blocked)

    def used(self, job):
        with open(f"/proc/{job.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()  # skips the name of the program, which may contain blanks
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # the fields utime and stime

    def wait_until_busy(self, job, seconds):
        """Waits until the job has used `seconds` more CPU time. On a busy machine, wall time says little about its
        progress."""
        enough = self.used(job) + seconds
        self.wait_until(job, lambda: self.used(job) >= enough)

    def check(self, number, job):
        job.send_signal(number)
        stdout, stderr = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, stderr)
        self.assertTrue(stderr.startswith("gradus: "), stderr)
        self.assertIn("stop", stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.npy"])
        return stdout

    def stops_soon(self, *arguments, when, threads=1):
        """Starts a long job, calls when(job), and interrupts the job as soon as this call has returned. The job must
        exit with 130 before its threads have used half a second of CPU time each, and leave no file."""
        before = set(os.listdir(self.folder))
        finished = resource.getrusage(resource.RUSAGE_CHILDREN)
        job = subprocess.Popen([GRADUS, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.kill)
        when(job)
        used = self.used(job)
        job.send_signal(signal.SIGINT)
        # Until the job has ended, the test must not read its output, because reading could unblock the job.
        job.wait(timeout=120)
        _, stderr = job.communicate()
        self.assertEqual(job.returncode, 130, stderr)
        self.assertIn(b"stop", stderr)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = now.ru_utime + now.ru_stime - finished.ru_utime - finished.ru_stime
        self.assertLess(total - used, 0.5 * threads)
        self.assertEqual(set(os.listdir(self.folder)), before)


class TerminalCase(Case):
    """Tests of output on a terminal."""

    def on_terminal(self, *arguments, env=None, columns=400):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
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


class CompletionCase(Case):
    """Tests of bash completion."""

    def complete(self, *words):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        script = self.file("gradus.bash", self.succeed("completion", "bash").stdout)
        program = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gradus; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", program, "bash", script, *words], capture_output=True, text=True,
                                cwd=self.folder)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()
