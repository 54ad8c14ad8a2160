#!/usr/bin/env python3
"""Measures all CPU figures of matrix products in the docs, in one run on an otherwise idle machine:

    matmul_cores.py --gradus build/gradus --json matmul-cores.json [--cores 1,2,16]

On the first 1, 2 and 16 available CPUs, with one thread per CPU:
* everyday: `baselines.py matmul --lines everyday`, a hundred shapes compared with NumPy;
* square: simd_packed, OpenBLAS from Debian and OpenBLAS from NumPy, sizes 1024 to 4096, with the share of the measured
  multiply-add rate;
* vector: products of a matrix of 1 GiB and a vector, with the vector on the right or on the left and the matrix in
  row-major or transposed order, with the share of the measured read bandwidth.
--quick runs the first 20 everyday shapes and fewer samples. On a shared machine, compare the least samples, which the
summary lists next to the medians. The file of --json contains the summary and the complete output of the programs.
Needs NumPy and threadpoolctl, but no network.
"""

import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from common import facts, write_whole

FOLDER = pathlib.Path(__file__).resolve().parent
QUICK_SHAPES = 20
DEBIAN, NUMPY = "openblas of Debian", "openblas of NumPy"


def openblas_of_numpy():
    import numpy

    found = glob.glob(str(pathlib.Path(numpy.__file__).resolve().parents[1] / "numpy.libs" / "*openblas*"))
    return found[0] if found else None


def measured(options, cores, arguments, library=None):
    """Returns the output of `gradus bench matmul` on `cores` CPUs."""
    command = [options.gradus, "bench", "matmul", "--threads", str(cores), "--repeats", str(options.repeats), "--json", "--quiet",
               *arguments]
    environment = dict(os.environ)
    if library:
        environment["GRADUS_OPENBLAS"] = library
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"matmul_cores: {' '.join(command)}\nended with status {ended.returncode}")
    return json.loads(ended.stdout)


def rows_of(report, name):
    """Yields (m, n, k, dtype, transposed) and the variant's row for each group that contains the variant."""
    for group in report["groups"]:
        for row in group["rows"]:
            if row["variant"] == name and "seconds" in row:
                yield (group["m"], group["n"], group["k"], group["dtype"], group["transpose_a"]), row


def squares(options, cores):
    sizes = ",".join(str(max(64, round(size * options.scale))) for size in (1024, 2048, 4096))
    arguments = ["--size", sizes, "--dtype", "f32,f64", "--variants"]
    # The variants run in separate processes, because in one process the spinning threads of one library would take CPUs
    # from the other library.
    reports = {"simd_packed": measured(options, cores, [*arguments, "simd_packed"]),
               DEBIAN: measured(options, cores, [*arguments, "openblas"])}
    if openblas_of_numpy():
        reports[NUMPY] = measured(options, cores, [*arguments, "openblas"], openblas_of_numpy())
    lines = []
    for shape, row in rows_of(reports["simd_packed"], "simd_packed"):
        line = {"size": shape[0], "dtype": shape[3], "share_of_fma_rate": row["share_of_fma_rate"]}
        for name in (DEBIAN, NUMPY):
            theirs = dict(rows_of(reports[name], "openblas")) if name in reports else {}
            if shape in theirs:
                line[f"speed / {name}"] = theirs[shape]["seconds"]["median"] / row["seconds"]["median"]
        lines.append(line)
    return {"summary": lines, "reports": reports}


def vectors(options, cores):
    reports = {}
    lines = []
    for order, flags in (("rows", []), ("columns", ["--transpose-a", "yes", "--transpose-b", "yes"])):
        for dtype, k in (("f32", 16000), ("f64", 8000)):
            length = max(64, round(16777 * options.scale))
            k = max(64, round(k * options.scale))
            report = measured(options, cores, ["--size", f"{length}x1x{k},1x{length}x{k}", "--dtype", dtype, "--variants",
                                               "simd_packed", *flags])
            reports[f"{dtype}, by {order}"] = report
            lines += [{"m": shape[0], "n": shape[1], "k": shape[2], "dtype": dtype, "order": order,
                       "share_of_read_bandwidth": row["share_of_read_bandwidth"]} for shape, row in rows_of(report, "simd_packed")]
    return {"summary": lines, "reports": reports}


def everyday(options, cores, folder):
    path = pathlib.Path(folder) / f"{cores}.json"
    command = [sys.executable, str(FOLDER / "baselines.py"), "matmul", "--gradus", options.gradus, "--threads", str(cores),
               "--lines", "everyday", "--shapes", str(options.shapes), "--scale", str(options.scale), "--json", str(path)]
    if options.quick:
        command += ["--rounds", "2", "--repeats", "3", "--min-time", "0.002", "--at-a-time", str(QUICK_SHAPES)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode not in (0, 1) or not path.exists():
        raise SystemExit(f"matmul_cores: {' '.join(command)} failed")
    report = json.loads(path.read_text())
    lines = []
    for line in report["lines"]:
        times = sorted(1 / shape["ratio"] for shape in line["shapes"])
        least = sorted(min(shape["samples"]["Gradus"]) / min(shape["samples"]["NumPy"]) for shape in line["shapes"])
        lines.append({"dtype": line["dtype"], "shapes": len(times), **{
            name: {"median": statistics.median(ratios), "worst": ratios[-1], "above 1.25": sum(ratio > 1.25 for ratio in ratios)}
            for name, ratios in (("time / NumPy", times), ("least time / least of NumPy", least))}})
    return {"summary": lines, "reports": report}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gradus", required=True, help="the gradus program")
    parser.add_argument("--json", required=True, metavar="FILE", help="all results")
    parser.add_argument("--cores", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 16],
                        help="default 1,2,16; those that are not here are left out")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a trial")
    parser.add_argument("--shapes", type=int, default=100, help="everyday ones (default 100)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SHAPES} everyday shapes and fewer samples")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["square", "vector", "everyday"])
    options = parser.parse_args()
    if options.quick:
        options.shapes = min(options.shapes, QUICK_SHAPES)
    options.gradus = str(pathlib.Path(options.gradus).resolve())
    processors = sorted(os.sched_getaffinity(0))
    options.threads = len(processors)
    results = {}
    for cores in options.cores:
        if cores > len(processors):
            print(f"matmul_cores: there are no {cores} CPUs here; left out", file=sys.stderr)
            continue
        os.sched_setaffinity(0, processors[:cores])  # child processes inherit this setting
        parts = results[str(cores)] = {}
        with tempfile.TemporaryDirectory(prefix="gradus-cores-") as folder:
            for name, run in (("square", squares), ("vector", vectors), ("everyday", lambda *of: everyday(*of, folder))):
                if name not in options.parts:
                    continue
                parts[name] = run(options, cores)
                for line in parts[name]["summary"]:
                    print(cores, name, json.dumps(line), flush=True)
                found = facts(options, {"openblas_of_numpy": openblas_of_numpy()})
                write_whole(options.json, {"problem": "matmul", "facts": found, "scale": options.scale, "cores": results})
    os.sched_setaffinity(0, processors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
