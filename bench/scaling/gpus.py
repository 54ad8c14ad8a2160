#!/usr/bin/env python3
"""Strong and weak scaling of `gradus kmeans --gpus G` on the GPUs of one machine.

    gpus.py --program build/gradus --json gpus.json --page gpus.html

Measures all numbers of GPUs on all inputs, in rounds of random order. The figure of a run is the median time of its
iterations. The result of every run must equal, byte for byte, the result of one GPU; otherwise the measurement ends.
In strong scaling, all numbers of GPUs have the same rows. In weak scaling, each GPU has the rows that it has in strong
scaling on the most GPUs. Let t(G) be the time on G GPUs, and r(G) the number of rows of each GPU. The efficiency on G
GPUs is (t(1) / r(1)) / (t(G) / r(G)). The floor is the time that one GPU needs for its share of the rows. The model is

    T(G) = (n/G) t_row + t_launch + 2 ceil(log2 G) alpha + 2 (G-1)/G bytes/B

for an iteration, where `bytes` is the length of the sums of all clusters. t_row and t_launch of each shape are fitted to
the times of one GPU, alpha and B to the remaining times of all shapes. B is at most the line rate of NVLink. The
figures for more GPUs than the machine has are predictions: hosts of 8 GPUs like these, connected by an assumed network.

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

from scaling import Failed, Job, Scaling, Shape, link_seconds, link_terms, positive_least_squares, write_whole

ITERATIONS = 12
HOST = 8  # GPUs of a host, in the prediction
LINE_RATE = 450e9  # bytes per second of NVLink 4 in one direction, which no fitted link exceeds
PREDICTED = (1, 2, 4, 8, 16, 64, 256, 1000)
SHAPES = (Shape(4194304, 128, "f32", 1024, ITERATIONS), Shape(16777216, 128, "f32", 16384, ITERATIONS),
          Shape(33554432, 128, "f32", 32768, ITERATIONS), Shape(1048576, 128, "f32", 1024, ITERATIONS),
          Shape(33554432, 16, "f32", 64, ITERATIONS))


class GpuScaling(Scaling):
    """The number of ranks of a job is its number of GPUs."""

    units, alone = "GPUs", "one GPU"

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.numbers = options.gpus or self.usable_numbers()
        self.models = []
        self.link = None
        self.network = {"latency_seconds": options.network_latency, "bytes_per_second": options.network_bandwidth}

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

    def jobs_of(self, index, kind=None):
        """Returns the jobs of a shape. The last job of weak scaling is the job of strong scaling on the most GPUs."""
        jobs = [job for job in self.jobs if job.group[1] == index and (kind in (None, job.group[0]) or job.ranks == self.numbers[-1])]
        return sorted(jobs, key=lambda job: job.ranks)

    def fit_models(self):
        """Fits t_row and t_launch of each shape, and the link of all shapes."""
        rows, scales = [], []
        for index in range(len(SHAPES)):
            jobs = self.jobs_of(index)
            row, launch = positive_least_squares([(job.shape.n, 1.0, job.median("iteration")) for job in jobs if job.ranks == 1])
            self.models.append({"seconds_per_row": row, "seconds_per_iteration": launch})
            for job in jobs:
                if job.ranks > 1:
                    seconds = job.median("iteration")
                    rows.append((*link_terms(job.ranks, job.shape.words), seconds - job.shape.n / job.ranks * row - launch))
                    scales.append(seconds)
        latency, byte_seconds = positive_least_squares(rows, scales)
        if byte_seconds < 1 / LINE_RATE:
            byte_seconds = 1 / LINE_RATE
            latency, _ = positive_least_squares([(steps, 0.0, seconds - sent * byte_seconds) for steps, sent, seconds in rows], scales)
        self.link = {"latency_seconds": latency, "bytes_per_second": 1 / byte_seconds}

    def modelled(self, model, rows, gpus, words):
        """Returns the modelled time of an iteration, with `rows` rows on each GPU."""
        seconds = rows * model["seconds_per_row"] + model["seconds_per_iteration"]
        near = min(gpus, HOST)
        if near > 1:
            seconds += link_seconds(near, words, self.link)
        if gpus > near:  # each GPU exchanges its share of the sums with the other hosts
            seconds += link_seconds(math.ceil(gpus / HOST), words / HOST, self.network)
        return seconds

    def curve(self, kind, index):
        """Returns the points of a curve."""
        jobs = self.jobs_of(index, kind)
        first, shape, model = jobs[0], jobs[-1].shape, self.models[index]
        points = []
        for job in jobs:
            seconds = job.median("iteration")
            floor = first.median("iteration") / first.shape.n * job.shape.n / job.ranks
            modelled = self.modelled(model, job.shape.n / job.ranks, job.ranks, job.shape.words)
            points.append({"gpus": job.ranks, "rows": job.shape.n, "variant": job.samples[0]["variant"], "seconds": seconds,
                           "lowest": min(job.values("iteration")), "highest": max(job.values("iteration")),
                           "efficiency": floor / seconds, "floor_seconds": floor,
                           "model_seconds": modelled, "model_deviation": modelled / seconds - 1,
                           "fit_seconds": job.median("fit"), "total_seconds": job.median("total"), "process_seconds": job.median("process")})
        return {"kind": kind, "title": f"{kind}, {shape.text()}", **model,
                "greatest_deviation": max(abs(point["model_deviation"]) for point in points), "points": points}

    def predicted(self, index):
        """Predicts the times on many GPUs, each with the rows that it has in weak scaling."""
        shape, model = self.jobs_of(index)[-1].shape, self.models[index]
        share = shape.n // self.numbers[-1]
        alone = self.modelled(model, share, 1, shape.words)

        def point(gpus):
            seconds = self.modelled(model, share, gpus, shape.words)
            return {"gpus": gpus, "rows": share * gpus, "seconds_per_iteration": seconds, "efficiency": alone / seconds}

        return {"title": f"weak, {share:,} rows a GPU, {shape.d} columns, K {shape.k}", "points": [point(gpus) for gpus in PREDICTED]}

    def group(self, job, contract):
        label = f"{job.group[0]} {job.shape.text()}, {job.ranks} GPU{'s' if job.ranks > 1 else ''}"
        made = self.group_json(label, [job], contract)
        for row in made["rows"]:
            row.update(threads=self.cores, ranks=1, gpus=job.ranks, iteration_seconds=job.median("iteration"))
        return {**made, "gpus": job.ranks, "verified": f"the result equals, byte for byte, the result of {self.alone}"}

    def report(self, facts):
        contract = facts["groups"][0]["rows"][0]["contract"]
        self.fit_models()
        kinds = ("strong", "weak") if len(self.numbers) > 1 else ("strong",)
        return {"problem": "kmeans", "right": True, "facts": {**facts["facts"], "command": shlex.join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])},
                "ceilings": facts["ceilings"], "groups": [self.group(job, contract) for job in self.jobs],
                "scaling": {"gpus": self.numbers, "scale": self.options.scale, "repeats": len(self.jobs[0].samples), "iterations": ITERATIONS,
                            "curves": [self.curve(kind, index) for index in range(len(SHAPES)) for kind in kinds], "link": self.link,
                            "predicted": {"gpus_of_a_host": HOST, **self.network, "curves": [self.predicted(index) for index in range(len(SHAPES))]}}}


def print_report(report):
    for curve in report["scaling"]["curves"]:
        print(f"\n{curve['title']}\n{'GPUs':>6} {'rows':>12} {'iteration s':>12} {'efficiency':>10} {'model off':>9} {'fit s':>9} {'process s':>9}  variant")
        for point in curve["points"]:
            print(f"{point['gpus']:>6} {point['rows']:>12,} {point['seconds']:>12.6f} {point['efficiency']:>10.3f} {100 * point['model_deviation']:>8.1f}% "
                  f"{point['fit_seconds']:>9.3f} {point['process_seconds']:>9.2f}  {point['variant']}")
    link, predicted = report["scaling"]["link"], report["scaling"]["predicted"]
    print(f"\nlink: {1e6 * link['latency_seconds']:.1f} us a step, {1e-9 * link['bytes_per_second']:.0f} GB/s (fitted)")
    for curve in predicted["curves"]:
        last = curve["points"][-1]
        print(f"predicted, {1e-9 * predicted['bytes_per_second']:g} GB/s a GPU between hosts: efficiency {last['efficiency']:.3f} on {last['gpus']:,} GPUs, "
              f"{curve['title']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the gradus program")
    parser.add_argument("--gpus", type=lambda text: [int(word) for word in text.split(",")],
                        help="numbers of GPUs, ascending from 1, each a divisor of the last (default: powers of two up to the number of GPUs)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the numbers of rows, and below 1 of clusters (default 1)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds at most (default 3)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round that would not end within them")
    parser.add_argument("--network-bandwidth", type=float, default=45e9, help="bytes a second of each GPU between hosts, for the prediction (default 45e9)")
    parser.add_argument("--network-latency", type=float, default=5e-6, help="assumed seconds of a step between hosts (default 5e-6)")
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
