#!/usr/bin/env python3
"""Strong and weak scaling of `mpirun -n P gradus kmeans`, each compared with its floor and a model.

    scaling.py --program build/gradus --sums build/measure_sums --json scaling.json --page scaling.html

Measures all numbers of ranks on all inputs, in rounds of random order. Each rank has one thread, which runs on a
separate core. The result of every job must equal, byte for byte, the result of one process with a thread per core;
otherwise the measurement ends. For comparison, also measures:

* one process with as many threads as there are ranks;
* as many independent processes as there are ranks, each with the rows of one rank;
* fits of the same points from many files and from one file;
* the sum of one iteration alone, among the same processes (measure_sums).

The floor of a curve is the time that one rank needs for its share of the rows, plus the time of the sums alone. The
model is

    T(p) = (n/p) t_row + t_launch + 2 ceil(log2 p) alpha + 2 (p-1)/p bytes/B

for one iteration of a fit of n rows on p ranks, where `bytes` is the length of the sum. alpha and B are fitted to the
times of the sums alone, t_row and t_launch to the times of the fits. Cores that are busy at the same time are slower
than a single busy core, and some are slower than others. Ranks wait for the slowest core. A second version of the model
therefore uses the speed of the independent processes. The figures for many machines are predictions: each machine has
one rank, and the properties of the network are assumed.

Needs only Python: the program makes the points and the page of the result.
"""

import argparse
import hashlib
import json
import math
import os
import pathlib
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# Lets Open MPI run as root in a container.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Options that bind each rank to a core, if possible.
BINDINGS = (["--bind-to", "core", "--map-by", "core"], ["--bind-to", "none"], ["--bind-to", "none", "--oversubscribe"])
RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
SUMS = (8, 128, 2048, 32768)  # numbers of words whose sums are timed; the sums that the inputs need are timed, too
FILES = 16
NODES = tuple(2**power for power in range(11))
TARGETS = {"ranks": 1.10, "weak": 0.90, "files": 1.02, "model": 0.15, "rule": 0.90}
# Fields of a result that may differ between jobs: they state where and how the result was computed.
OF_THE_RUN = ("variant", "command", "directory", "device", "gpus", "threads", "rechecked", "memory_bytes", "seconds", "resumed", "input")


class Failed(Exception):
    """Raised if a program fails, or if two results differ."""


class Shape:
    def __init__(self, n, d, dtype, k, iterations):
        self.n, self.d, self.dtype, self.k, self.iterations = n, d, dtype, k, iterations

    @property
    def words(self):
        """Returns the number of words in the sum of an iteration. Each centroid has two words per column and a count.
        In addition, there is one word of state."""
        return self.k * (2 * self.d + 1) + 1

    def of(self, rows):
        return Shape(rows, self.d, self.dtype, self.k, self.iterations)

    def text(self, rows=None):
        return f"{rows or format(self.n, ',')} x {self.d} {self.dtype}, K {self.k}"


class Job:
    """A command that is measured repeatedly, with `ranks` ranks of `threads` threads each. If `apart` is set,
    independent processes run instead of the ranks, and each process reads a separate file."""

    def __init__(self, group, shape, files, ranks, threads, apart=False):
        self.group, self.shape, self.files, self.ranks, self.threads, self.apart = group, shape, files, ranks, threads, apart
        self.samples = []

    def values(self, name):
        return [sample[name] for sample in self.samples]

    def median(self, name="fit"):
        return statistics.median(self.values(name))


def positive_least_squares(rows, scales=None):
    """Fits value = first * x + second * y to the rows (first, second, value). Returns x >= 0 and y >= 0 that minimize
    the sum of the squared errors, each divided by its scale (default: the value)."""
    scaled = [(first / scale, second / scale, value / scale)
              for (first, second, value), scale in zip(rows, scales or [row[2] for row in rows]) if scale > 0]
    aa, ab, bb, a, b = (sum(row[i] * row[j] for row in scaled) for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2)))
    determinant = aa * bb - ab * ab
    if determinant > 1e-12 * aa * bb:
        x, y = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
        if x >= 0 and y >= 0:
            return x, y
    alone = [(max(a / aa, 0.0) if aa else 0.0, 0.0), (0.0, max(b / bb, 0.0) if bb else 0.0)]
    return min(alone, key=lambda xy: sum((row[0] * xy[0] + row[1] * xy[1] - row[2]) ** 2 for row in scaled))


def link_terms(ranks, words):
    """Returns two factors. The modelled time of a sum is the first factor times the latency plus the second factor
    times the time per byte."""
    return 2 * math.ceil(math.log2(ranks)), 2 * (ranks - 1) / ranks * 8 * words


def link_seconds(ranks, words, link):
    steps, sent = link_terms(ranks, words)
    return steps * link["latency_seconds"] + sent / link["bytes_per_second"]


class Scaling:
    units, alone = "ranks", "one process"

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.cores = len(os.sched_getaffinity(0))
        self.ranks = options.ranks or [ranks for ranks in RANKS if ranks <= self.cores]
        self.most = max(self.ranks)
        self.environment = dict(os.environ, **ENVIRONMENT)
        self.binding = []
        self.jobs, self.expected, self.sums = [], {}, {}
        self.deadline = math.inf

    # ------------------------------------------------------------------------------------------------------ processes

    def run(self, words):
        words = [str(word) for word in words]
        result = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=False)
        if result.returncode != 0:
            raise Failed(f"{shlex.join(words)}\nended with status {result.returncode}:\n{result.stdout}{result.stderr}")
        return result.stdout

    def mpirun(self, ranks):
        return [self.options.mpirun, *self.binding, *shlex.split(self.options.mpirun_options), "-n", ranks]

    def choose_binding(self):
        for self.binding in BINDINGS:
            try:
                return self.run([*self.mpirun(self.most), self.options.sums, 1])
            except Failed as failed:
                trouble = failed
        raise trouble

    def facts(self):
        """Returns machine, compiler, commit and ceilings as reported by gradus bench."""
        file = self.folder / "facts.json"
        self.run([self.options.program, "bench", "kmeans", "--shape", "65536x16", "-k", 16, "--variants", "simd_small_dim",
                  "--threads", f"1,{self.cores}" if self.cores > 1 else 1, "--repeats", 3, "--quiet", "--json", file])
        return json.loads(file.read_text())

    # --------------------------------------------------------------------------------------------------------- points

    def points(self, name, shape, seed=0):
        file = self.folder / f"{name}.npy"
        self.run([self.options.program, "generate", "uniform", "-n", shape.n, "-d", shape.d, "--dtype", shape.dtype, "--seed", seed,
                  "--quiet", "-o", file])
        return file

    def parts(self, name, shape, count):
        """Makes `count` files, each with different points."""
        return [self.points(f"{name}-{index}", shape, seed=index + 1) for index in range(count)]

    def joined(self, name, shape, files):
        """Concatenates the rows of all files, and writes them to one file."""
        descr = "<f4" if shape.dtype == "f32" else "<f8"
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape.n}, {shape.d}), }}"
        text += " " * (63 - (10 + len(text)) % 64) + "\n"
        target = self.folder / f"{name}.npy"
        row_bytes = shape.d * int(shape.dtype[1:]) // 8
        with open(target, "wb") as output:
            output.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))
            for file in files:
                with open(file, "rb") as source:
                    source.seek(os.path.getsize(file) - shape.n // len(files) * row_bytes)
                    shutil.copyfileobj(source, output, 1 << 24)
        return [target]

    # ----------------------------------------------------------------------------------------------------------- jobs

    def add(self, *arguments):
        job = Job(*arguments)
        self.jobs.append(job)
        return job

    def measure_apart(self, job):
        """Runs the processes concurrently. Returns a sample with the time of the slowest process. If the ranks of other
        jobs are bound to cores, binds each process to a core."""
        processors = sorted(os.sched_getaffinity(0))
        bound = "none" not in self.binding and job.ranks <= len(processors)
        outs = [self.folder / f"apart-{index}" for index in range(job.ranks)]
        running = []
        start = time.perf_counter()
        for index, (file, out) in enumerate(zip(job.files, outs)):
            shutil.rmtree(out, ignore_errors=True)
            words = [str(word) for word in [self.options.program, *self.fit(job, [file], out)]]
            pin = (lambda index=index: os.sched_setaffinity(0, {processors[index]})) if bound else None
            running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=pin))  # noqa: PLW1509
        for process in running:
            _, said = process.communicate()
            if process.returncode != 0:
                raise Failed(f"{job.shape.text()}, side by side: {said.decode()}")
        took = time.perf_counter() - start
        fits = [json.loads((out / "summary.json").read_text())["seconds"]["fit"] for out in outs]
        return {"fit": max(fits), "fits": fits, "process": took}

    def fit(self, job, files, out):
        return ["kmeans", *files, "-k", job.shape.k, "--device", "cpu", "--init", "first", "--tolerance", 0, "--max-iterations", job.shape.iterations,
                "--threads", job.threads, "--quiet", "-o", out]

    def measure(self, job):
        """Returns a sample and the checksum of its result."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        start = time.perf_counter()
        self.run([*(self.mpirun(job.ranks) if job.threads == 1 else []), self.options.program, *self.fit(job, job.files, out)])
        process = time.perf_counter() - start
        summary = json.loads((out / "summary.json").read_text())
        seconds = summary["seconds"]
        phases = {name: value for name, value in seconds.items() if name not in ("fit", "total")}
        if summary["iterations"] != job.shape.iterations:
            raise Failed(f"{job.shape.text()}: {summary['iterations']} iterations instead of {job.shape.iterations}; take a larger --scale")
        sample = {"fit": seconds["fit"], "total": seconds["total"], "process": process, "phases": phases,
                  "variant": summary["variant"], "iteration": statistics.median(one["seconds"] for one in summary["history"])}
        for name in OF_THE_RUN:
            summary.pop(name, None)
        for iteration in summary["history"]:
            del iteration["seconds"]
        checksum = hashlib.sha256(json.dumps(summary).encode())
        for name in ("centroids.npy", "labels.npy"):
            with open(out / name, "rb") as file:
                while block := file.read(1 << 24):
                    checksum.update(block)
        return sample, checksum.hexdigest()

    def verified(self, job):
        """Returns a sample. Raises an error unless the result of the job equals the result of one process. Before the
        first job on an input, one process computes this expected result."""
        if job.apart:
            return self.measure_apart(job)
        points = (job.group if job.group[0] == "weak" else job.group[0], job.shape.text())
        if points not in self.expected:
            _, self.expected[points] = self.measure(Job(job.group, job.shape, job.files, 1, self.cores))
        sample, checksum = self.measure(job)
        if checksum != self.expected[points]:
            raise Failed(f"{job.shape.text()}: the result of {job.ranks} {self.units} differs from the result of {self.alone}")
        return sample

    def prepare(self):
        scale = self.options.scale
        rows = lambda n: max(1024, round(n * scale) // 1024 * 1024)  # noqa: E731
        clusters = max(16, round(1024 * min(scale, 1)))  # fewer clusters, so that fits with few rows do not end early
        few, many = Shape(rows(2097152), 16, "f64", 16, 30), Shape(rows(262144), 128, "f32", clusters, 10)
        weak = Shape(rows(65536), 128, "f32", clusters, 10)
        self.strong = [few, many]
        self.weak = weak
        for index, shape in enumerate(self.strong):
            file = [self.points(f"strong-{index}", shape)]
            for ranks in self.ranks:
                self.add(("strong", index), shape, file, ranks, 1)
                own = shape.of(shape.n // ranks)
                self.add(("apart", "strong", index), shape, self.parts(f"share-{index}-{ranks}", own, ranks) if ranks > 1 else file,
                         ranks, 1, True)
            if self.cores > 1:
                self.add(("strong", index), shape, file, 1, self.most)
        files = self.parts("weak", weak, self.most)
        for ranks in self.ranks:
            self.add(("weak", ranks), weak.of(ranks * weak.n), files[:ranks], ranks, 1)
            self.add(("apart", "weak", ranks), weak.of(ranks * weak.n), files[:ranks], ranks, 1, True)
        self.file_shape = None
        if self.options.files_gib > 0:
            d = 128
            part = Shape(int(self.options.files_gib * 2**30 / FILES / (4 * d)), d, "f32", 16, 3)
            self.file_shape = part.of(FILES * part.n)
            files = self.parts("part", part, FILES)
            for number, of_job in enumerate((files, self.joined("whole", self.file_shape, files))):
                self.add(("files", number), self.file_shape, of_job, self.most, 1)
        self.words = sorted({*SUMS, *(shape.words for shape in [*self.strong, weak])})

    def measure_sums(self, ranks):
        answer = json.loads(self.run([*self.mpirun(ranks), self.options.sums, *self.words]))
        for of_words in answer["sums"]:
            self.sums.setdefault((ranks, of_words["words"]), []).extend(of_words["seconds"])

    def measure_all(self):
        """Runs rounds of all jobs in random order. Always runs one round. Does not start another round that would
        exceed the time limit."""
        turns = [("job", job) for job in self.jobs] + [("sums", ranks) for ranks in self.ranks if ranks > 1]
        for job in self.jobs:  # the first run of each job is not measured: it reads the files into the cache
            self.verified(job)
        chance = random.Random(1)
        start = time.monotonic()
        for number in range(1, self.options.repeats + 1):
            self.say(f"round {number} of at most {self.options.repeats}")
            chance.shuffle(turns)
            for kind, what in turns:
                if kind == "sums":
                    self.measure_sums(what)
                else:
                    what.samples.append(self.verified(what))
            if time.monotonic() + (time.monotonic() - start) / number > self.deadline:
                break

    # ---------------------------------------------------------------------------------------------------------- model

    def sum_seconds(self, ranks, words):
        return statistics.median(self.sums[ranks, words]) if ranks > 1 else 0.0

    def fit_link(self):
        """Fits latency and bandwidth to the measured sums. Returns them, with the measured and modelled time of
        each sum."""
        rows = [(*link_terms(ranks, words), statistics.median(seconds)) for (ranks, words), seconds in self.sums.items()]
        if not rows:
            return None
        latency, byte_seconds = positive_least_squares(rows)
        link = {"latency_seconds": latency, "bytes_per_second": 1 / byte_seconds if byte_seconds > 0 else 1e15}
        points = []
        for (ranks, words), seconds in sorted(self.sums.items()):
            median = statistics.median(seconds)
            points.append({"ranks": ranks, "bytes": 8 * words, "seconds": median, "samples": len(seconds),
                           "model_seconds": link_seconds(ranks, words, link),
                           "model_deviation": link_seconds(ranks, words, link) / median - 1})
        return {**link, "points": points}

    def fit_model(self, jobs, link):
        """Fits the time per row and the time per iteration to jobs that differ only in the numbers of rows and ranks.
        Returns both times."""
        rows = []
        for job in jobs:
            sums = link_seconds(job.ranks, job.shape.words, link) if link and job.ranks > 1 else 0.0
            seconds = job.median() / job.shape.iterations
            rows.append((job.shape.n / job.ranks, 1.0, max(seconds - sums, 0.1 * seconds)))
        row, launch = positive_least_squares(rows)
        return {"seconds_per_row": row, "seconds_per_iteration": launch}

    def model_seconds(self, job, model, link):
        sums = link_seconds(job.ranks, job.shape.words, link) if link and job.ranks > 1 else 0.0
        return job.shape.iterations * (job.shape.n / job.ranks * model["seconds_per_row"] + model["seconds_per_iteration"] + sums)

    def apart(self, job):
        """Returns the job of independent processes in which each process has as many rows as a rank of `job`."""
        return next(other for other in self.jobs if other.apart and other.group[1:] == job.group and other.ranks == job.ranks)

    def curve(self, kind, title, jobs, model, link):
        share_alone = jobs[0].shape.n / jobs[0].ranks
        points = []
        for job in jobs:
            seconds = job.median()
            # The time that a single rank would need for as many rows as each rank of this job has.
            alone = jobs[0].median() * (job.shape.n / job.ranks / share_alone)
            modelled = self.model_seconds(job, model, link)
            # A fit with i iterations makes i + 1 sums.
            sums = (job.shape.iterations + 1) * self.sum_seconds(job.ranks, job.shape.words)
            apart = self.apart(job).median()
            of_busy_cores = apart + (job.shape.iterations * link_seconds(job.ranks, job.shape.words, link) if job.ranks > 1 else 0.0)
            points.append({"ranks": job.ranks, "rows": job.shape.n, "variant": job.samples[0]["variant"], "seconds": seconds,
                           "lowest": min(job.values("fit")), "highest": max(job.values("fit")),
                           "process_seconds": job.median("process"),
                           "floor_seconds": alone + sums, "sums_seconds": sums,
                           "model_seconds": modelled, "model_deviation": modelled / seconds - 1, "apart_seconds": apart,
                           "apart_efficiency": alone / apart,
                           "busy_model_seconds": of_busy_cores, "busy_model_deviation": of_busy_cores / seconds - 1,
                           "efficiency": alone / seconds, "floor_efficiency": alone / (alone + sums)})
        return {"kind": kind, "title": title, **model, "greatest_deviation": max(abs(point["model_deviation"]) for point in points),
                "greatest_busy_deviation": max(abs(point["busy_model_deviation"]) for point in points), "points": points}

    def rules(self, shape, model, numbers, link, cores=1):
        """Returns, for each number of ranks, the least number of rows per rank with which the efficiency reaches 90 %.
        If the jobs are so small that noise hides the time per row, returns an empty list."""
        if not link or not model["seconds_per_row"] > 0:
            return []
        return [(ranks, self.rule(shape, model, ranks, link, cores)) for ranks in numbers if ranks > 1]

    def rule(self, shape, model, ranks, link, cores):
        wanted = TARGETS["rule"]
        row, launch = model["seconds_per_row"] / cores, model["seconds_per_iteration"]
        waits = link_seconds(ranks, shape.words, link)
        # The efficiency is T(1) / (p T(p)), where T(1) is the time of one rank with all rows of the p ranks. The
        # returned number of rows per rank makes the efficiency equal to `wanted`.
        return max(0, math.ceil((wanted * (launch + waits) - launch / ranks) / ((1 - wanted) * row)))

    def predicted(self, shape, model):
        """Predicts the time on many machines like this one. Each machine has one rank that uses all cores. The
        properties of the network are assumptions."""
        network = {"latency_seconds": self.options.network_latency, "bytes_per_second": self.options.network_bandwidth}
        row, launch = model["seconds_per_row"] / self.most, model["seconds_per_iteration"]

        def seconds(rows, nodes):
            return rows * row + launch + (link_seconds(nodes, shape.words, network) if nodes > 1 else 0.0)

        curves = []
        for rows in (1 << 16, 1 << 20):
            curves.append({"title": f"weak, {rows:,} rows a node", "points": [
                {"nodes": nodes, "rows": rows * nodes, "seconds_per_iteration": seconds(rows, nodes),
                 "efficiency": seconds(rows, 1) / seconds(rows, nodes)} for nodes in NODES]})
        for total in (1 << 24, 1 << 30):
            curves.append({"title": f"strong, {total:,} rows", "points": [
                {"nodes": nodes, "rows": total, "seconds_per_iteration": seconds(total / nodes, nodes),
                 "efficiency": seconds(total, 1) / (nodes * seconds(total / nodes, nodes))} for nodes in NODES]})
        return {"cores": self.most, **network, "shape": shape.text("n"), "curves": curves,
                "rule": [{"nodes": nodes, "rows": rows} for nodes, rows in self.rules(shape, model, NODES, network, self.most)]}

    # --------------------------------------------------------------------------------------------------------- report

    def row_json(self, job, first, contract, figures):
        fits = job.values("fit")
        middle = statistics.median(fits)
        variants = sorted(set(job.values("variant")))
        return {"variant": variants[0], "threads": job.threads, "ranks": job.ranks, "pinning": "none", "block_size": 0,
                "contract": contract,
                "seconds": {"median": middle, "lowest": min(fits), "highest": max(fits),
                            "median_absolute_deviation": statistics.median(abs(value - middle) for value in fits)},
                "iterations": job.shape.iterations, "speedup": first.median() / middle,
                "phases": {name: statistics.median(sample["phases"].get(name, 0) for sample in job.samples)
                           for name in job.samples[0]["phases"]},
                "total_seconds": job.median("total"), "process_seconds": job.median("process"), **figures,
                "samples": [{"seconds": sample["fit"], "runs": 1, "phases": sample["phases"], "total": sample["total"],
                             "process": sample["process"]} for sample in job.samples]}

    def group_json(self, label, jobs, contract, points=()):
        shape = jobs[0].shape
        figures = {point["ranks"]: {name: point[name] for name in ("floor_seconds", "model_seconds", "efficiency")} for point in points}
        return {"label": label, "title": f"{label}: {shape.text()}, {shape.iterations} iterations", "points": "uniform", "n": shape.n,
                "d": shape.d, "k": shape.k, "dtype": shape.dtype, "iterations": shape.iterations, "files": len(jobs[0].files),
                "verified": f"each result equals, byte for byte, the result of one process with {self.cores} threads",
                "rows": [self.row_json(job, jobs[0], contract, figures.get(job.ranks, {}) if job.threads == 1 else {})
                         for job in jobs]}

    def report(self, facts):
        contract = facts["groups"][0]["rows"][0]["contract"]
        link = self.fit_link()
        ranked = [job for job in self.jobs if job.threads == 1 and not job.apart]
        weak_jobs = [job for job in ranked if job.group[0] == "weak"]
        groups, curves, checks = [], [], []

        def check(name, value, target, at_least=False):
            checks.append({"name": name, "value": value, "wanted": target, "at_least": at_least,
                           "reached": value >= target if at_least else value <= target})

        for index, shape in enumerate(self.strong):
            # The last job of this list is the single process with several threads.
            jobs = [job for job in self.jobs if job.group == ("strong", index)]
            alike = [job for job in jobs if job.threads == 1]
            model = self.fit_model(alike + (weak_jobs if shape.words == self.weak.words else []), link)
            curves.append(self.curve("strong", f"strong, {shape.text()}", alike, model, link))
            groups.append(self.group_json(f"strong {shape.d} columns", jobs, contract, curves[-1]["points"]))
            if self.most > 1:
                check(f"{self.most} ranks x 1 thread against 1 x {self.most}, {shape.text()}", alike[-1].median() / jobs[-1].median(),
                      TARGETS["ranks"])
                check(f"the same against {self.most} processes side by side, {shape.text()}",
                      alike[-1].median() / self.apart(alike[-1]).median(), TARGETS["ranks"])
        curves.append(self.curve("weak", f"weak, {self.weak.text()} a rank", weak_jobs, model, link))
        for job, point in zip(weak_jobs, curves[-1]["points"]):
            groups.append(self.group_json(f"weak {job.ranks} ranks", [job], contract, [point]))
        if self.most > 1:
            last = curves[-1]["points"][-1]
            check(f"efficiency of {self.most} ranks, {curves[-1]['title']}", last["efficiency"], TARGETS["weak"], True)
            check(f"the same against {self.most} processes side by side, {curves[-1]['title']}", last["apart_seconds"] / last["seconds"],
                  TARGETS["weak"], True)
        if self.file_shape:
            many, one = (job for job in self.jobs if job.group[0] == "files")
            for name, job in (("many files", many), ("one file", one)):
                groups.append(self.group_json(name, [job], contract))
            bytes_of = self.file_shape.n * self.file_shape.d * 4
            check(f"{bytes_of / 2**30:g} GiB in {FILES} files against one, {self.most} ranks, the whole job",
                  many.median("total") / one.median("total"), TARGETS["files"])
        for curve in curves:
            check(f"the model's greatest deviation, {curve['title']}", curve["greatest_deviation"], TARGETS["model"])
            check(f"the same with the speed of busy cores, {curve['title']}", curve["greatest_busy_deviation"], TARGETS["model"])
        rules = [{"shape": shape.text("n"), "ranks": ranks, "rows": rows} for shape, curve in zip(self.strong, curves)
                 for ranks, rows in self.rules(shape, curve, self.ranks, link)]
        command = shlex.join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
        mpi = self.run([self.options.mpirun, "--version"]).splitlines()[0]
        return {"problem": "kmeans", "right": True, "facts": {**facts["facts"], "command": command, "mpi": mpi},
                "ceilings": facts["ceilings"], "groups": groups,
                "scaling": {"scale": self.options.scale, "repeats": len(self.jobs[0].samples), "mpirun": shlex.join(map(str, self.mpirun("P"))),
                            "curves": curves, "sums": link, "checks": checks, "rule": rules,
                        "apart": [{"group": " ".join(map(str, job.group[1:])), "ranks": job.ranks, "fits": job.values("fits")}
                                  for job in self.jobs if job.apart],
                            "predicted": self.predicted(self.strong[1], curves[1])}}

    def say(self, text):
        if not self.options.quiet:
            print(f"scaling: {text}", file=sys.stderr, flush=True)


def print_report(report):
    scaling = report["scaling"]
    for curve in scaling["curves"]:
        print(f"\n{curve['title']}\n{'ranks':>6} {'fit s':>9} {'apart s':>9} {'floor s':>9} {'model s':>9} {'off':>7} {'busy off':>8} {'efficiency':>10} "
              f"{'process s':>9}  variant")
        for point in curve["points"]:
            print(f"{point['ranks']:>6} {point['seconds']:>9.4f} {point['apart_seconds']:>9.4f} {point['floor_seconds']:>9.4f} "
                  f"{point['model_seconds']:>9.4f} {100 * point['model_deviation']:>6.1f}% {100 * point['busy_model_deviation']:>7.1f}% "
                  f"{point['efficiency']:>10.3f} {point['process_seconds']:>9.2f}  {point['variant']}")
    if scaling["sums"]:
        print(f"\nsums: {1e6 * scaling['sums']['latency_seconds']:.1f} us a step, {1e-9 * scaling['sums']['bytes_per_second']:.2f} GB/s (fitted)")
    for one in scaling["checks"]:
        print(f"{one['name']}: {one['value']:.3f} ({'at least' if one['at_least'] else 'at most'} {one['wanted']:g} wanted"
              f"{'' if one['reached'] else '; NOT reached'})")
    for one in scaling["rule"]:
        print(f"rows a rank for 90 %, {one['shape']}: {one['rows']:,} on {one['ranks']} ranks")
    for last in scaling["predicted"]["rule"][-1:]:
        print(f"predicted, on {1e-9 * scaling['predicted']['bytes_per_second']:g} GB/s: {last['rows']:,} rows a node of "
              f"{scaling['predicted']['cores']} cores for 90 % on {last['nodes']:,} nodes")


def write_whole(path, value):
    """Writes the file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the gradus program, with libgradus_mpi_process.so in the same folder")
    parser.add_argument("--sums", required=True, help="the program measure_sums")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher of the MPI of both")
    parser.add_argument("--mpirun-options", default="", help="more options of it, in one word")
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")],
                        help="numbers of ranks, ascending from 1 (default: powers of two up to the number of cores)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the numbers of rows, and below 1 of clusters where there are many (default 1)")
    parser.add_argument("--files-gib", type=float, default=1.0, help="GiB of the points in many files and in one, twice on the disk; 0: none")
    parser.add_argument("--repeats", type=int, default=7, help="rounds at most (default 7)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round that would not end within them")
    parser.add_argument("--network-bandwidth", type=float, default=11e9, help="bytes a second between machines, for the prediction")
    parser.add_argument("--network-latency", type=float, default=5e-6, help="assumed seconds of a step between machines")
    parser.add_argument("--folder", help="folder for the points during the run (default: the folder for temporary files)")
    parser.add_argument("--json", type=pathlib.Path, required=True, metavar="FILE", help="the raw result")
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE.html", help="the page of it")
    parser.add_argument("--quiet", action="store_true", help="no messages")
    options = parser.parse_args()
    for name in ("program", "sums", "mpirun"):
        if not (found := shutil.which(getattr(options, name))):
            parser.error(f"--{name}: there is no program {getattr(options, name)}")
        setattr(options, name, os.path.abspath(found))
    if options.ranks and (options.ranks[0] != 1 or sorted(set(options.ranks)) != options.ranks):
        parser.error("--ranks: numbers that begin with 1 and ascend")
    if not 0 < options.scale <= 16 or options.repeats < 1 or options.files_gib < 0:
        parser.error("--scale is from 0 to 16, --repeats 1 at least, --files-gib not negative")
    deadline = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="gradus-scaling-", dir=options.folder) as name:
        scaling = Scaling(options, pathlib.Path(name))
        scaling.deadline = deadline
        try:
            scaling.choose_binding()
            facts = scaling.facts()
            scaling.say("making the points")
            scaling.prepare()
            scaling.measure_all()
            report = scaling.report(facts)
        except Failed as failed:
            sys.exit(f"scaling: {failed}")
    write_whole(options.json, report)
    print_report(report)
    if options.page:
        scaling.run([options.program, "report", options.json, "-o", options.page, "--quiet"])
    scaling.say(f"wrote {options.json}{f' and {options.page}' if options.page else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
