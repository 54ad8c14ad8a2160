#!/usr/bin/env python3
"""Strong and weak scaling of `gradus kmeans --gpus G` on the GPUs of one machine.

    gpus.py --program build/gradus --json gpus.json --page gpus.html

Measures all numbers of GPUs on all inputs, in rounds of random order. The figure of a run is the median time of its
iterations. The result of every run must equal, byte for byte, the result of one GPU; otherwise the measurement ends.
In strong scaling, all numbers of GPUs have the same rows. In weak scaling, each GPU has the rows that it has in strong
scaling on the most GPUs. Let t(G) be the time on G GPUs, and r(G) the number of rows of each GPU. The efficiency on G
GPUs is (t(1) / r(1)) / (t(G) / r(G)).

Needs only Python: the program makes the points and the page of the result. The points of all inputs are in the folder
at the same time, 54 GB at full scale.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import shutil
import statistics
import sys
import tempfile
import time

from scaling import Failed, Job, Scaling, Shape, write_whole

ITERATIONS = 12
SHAPES = (Shape(4194304, 128, "f32", 1024, ITERATIONS), Shape(16777216, 128, "f32", 16384, ITERATIONS),
          Shape(33554432, 128, "f32", 32768, ITERATIONS), Shape(1048576, 128, "f32", 1024, ITERATIONS),
          Shape(33554432, 16, "f32", 64, ITERATIONS))


class GpuScaling(Scaling):
    """The number of ranks of a job is its number of GPUs."""

    units, alone = "GPUs", "one GPU"

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.numbers = options.gpus or self.usable_numbers()

    def usable_numbers(self):
        """Returns the powers of two up to the number of GPUs."""
        usable = sum(gpu["usable"] for gpu in json.loads(self.run([self.options.program, "info", "--json"]))["gpus"])
        if usable == 0:
            raise Failed("there is no GPU that the program can use")
        return [2**power for power in range(usable.bit_length())]

    def mpirun(self, ranks):
        return []  # all GPUs belong to one process

    def fit(self, job, files, out):
        return ["kmeans", *files, "-k", job.shape.k, "--gpus", job.ranks, "--init", "first", "--tolerance", 0, "--max-iterations",
                job.shape.iterations, "--quiet", "-o", out]

    def prepare(self):
        most = self.numbers[-1]
        for index, full in enumerate(SHAPES):
            clusters = max(16, round(full.k * min(self.options.scale, 1)))
            shape = Shape(max(1024 * most, round(full.n * self.options.scale) // (1024 * most) * 1024 * most), full.d, full.dtype, clusters,
                          full.iterations)
            file = self.points(f"strong-{index}", shape)
            for gpus in self.numbers:
                self.jobs.append(Job(("strong", index), shape, [file], gpus, 0))
            for gpus in self.numbers[:-1]:
                part = shape.of(shape.n * gpus // most)
                self.jobs.append(Job(("weak", index), part, [self.points(f"weak-{index}-{gpus}", part)], gpus, 0))

    def curve(self, kind, index):
        """Returns the points of a curve. The last point of weak scaling is the job of strong scaling on the most
        GPUs."""
        jobs = [job for job in self.jobs if job.group[1] == index and (job.group[0] == kind or job.ranks == self.numbers[-1])]
        jobs.sort(key=lambda job: job.ranks)
        first, shape = jobs[0], jobs[-1].shape
        points = []
        for job in jobs:
            seconds = job.median("iteration")
            points.append({"gpus": job.ranks, "rows": job.shape.n, "variant": job.samples[0]["variant"], "seconds": seconds,
                           "lowest": min(job.values("iteration")), "highest": max(job.values("iteration")),
                           "efficiency": first.median("iteration") / first.shape.n * job.shape.n / job.ranks / seconds,
                           "fit_seconds": job.median("fit"), "total_seconds": job.median("total"), "process_seconds": job.median("process")})
        return {"kind": kind, "title": f"{kind}, {shape.text()}", "points": points}

    def group(self, job, contract):
        label = f"{job.group[0]} {job.shape.text()}, {job.ranks} GPU{'s' if job.ranks > 1 else ''}"
        made = self.group_json(label, [job], contract)
        for row in made["rows"]:
            row.update(threads=self.cores, ranks=1, gpus=job.ranks, iteration_seconds=job.median("iteration"))
        return {**made, "gpus": job.ranks, "verified": f"the result equals, byte for byte, the result of {self.alone}"}

    def report(self, facts):
        contract = facts["groups"][0]["rows"][0]["contract"]
        kinds = ("strong", "weak") if len(self.numbers) > 1 else ("strong",)
        return {"problem": "kmeans", "right": True, "facts": {**facts["facts"], "command": shlex.join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])},
                "ceilings": facts["ceilings"], "groups": [self.group(job, contract) for job in self.jobs],
                "scaling": {"gpus": self.numbers, "scale": self.options.scale, "repeats": len(self.jobs[0].samples), "iterations": ITERATIONS,
                            "curves": [self.curve(kind, index) for index in range(len(SHAPES)) for kind in kinds]}}


def print_report(report):
    for curve in report["scaling"]["curves"]:
        print(f"\n{curve['title']}\n{'GPUs':>6} {'rows':>12} {'iteration s':>12} {'efficiency':>10} {'fit s':>9} {'process s':>9}  variant")
        for point in curve["points"]:
            print(f"{point['gpus']:>6} {point['rows']:>12,} {point['seconds']:>12.6f} {point['efficiency']:>10.3f} {point['fit_seconds']:>9.3f} "
                  f"{point['process_seconds']:>9.2f}  {point['variant']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the gradus program")
    parser.add_argument("--gpus", type=lambda text: [int(word) for word in text.split(",")],
                        help="numbers of GPUs, ascending from 1, each a divisor of the last (default: powers of two up to the number of GPUs)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the numbers of rows, and below 1 of clusters (default 1)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds at most (default 3)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round that would not end within them")
    parser.add_argument("--folder", help="folder for the points during the run (default: /dev/shm, or the folder for temporary files)")
    parser.add_argument("--json", type=pathlib.Path, required=True, metavar="FILE", help="the raw result")
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE.html", help="the page of it")
    parser.add_argument("--quiet", action="store_true", help="no messages")
    options = parser.parse_args()
    found = shutil.which(options.program)
    if not found:
        parser.error(f"--program: there is no program {options.program}")
    options.program = os.path.abspath(found)
    if options.gpus and (options.gpus[0] != 1 or sorted(set(options.gpus)) != options.gpus or any(options.gpus[-1] % gpus for gpus in options.gpus)):
        parser.error("--gpus: numbers that begin with 1 and ascend; each is a divisor of the last")
    if not 0 < options.scale <= 16 or options.repeats < 1:
        parser.error("--scale is from 0 to 16, --repeats 1 at least")
    if options.folder is None and os.path.isdir("/dev/shm"):
        options.folder = "/dev/shm"
    options.ranks = [1]  # no sums between processes are measured
    return options


def main():
    options = parse()
    deadline = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="gradus-scaling-", dir=options.folder) as name:
        try:
            scaling = GpuScaling(options, pathlib.Path(name))
            scaling.deadline = deadline
            facts = scaling.facts()
            scaling.say("making the points")
            scaling.prepare()
            scaling.measure_all()
            report = scaling.report(facts)
            write_whole(options.json, report)
            print_report(report)
            if options.page:
                scaling.run([options.program, "report", options.json, "-o", options.page, "--quiet"])
        except Failed as failed:
            sys.exit(f"scaling: {failed}")
    scaling.say(f"wrote {options.json}{f' and {options.page}' if options.page else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
