"""Measures everything that the documents show, on this machine and at one commit: ./dev measure cpu|gpu.

usage: measure.py cpu|gpu --gradus build/gradus [--only WORD,...] [--into FOLDER] [--scale X] [--draft]
       measure.py --state                        print each result and whether it is current, stale or missing

A measurement is a row of MEASUREMENTS. Its raw file in docs/results records the facts of the run: machine, command, a
commit without local changes, and the digest of the problem's code (docs/figures.py). Documents show a result as long as
this digest equals the digest of the present code. --scale and --draft are for testing a new row: docs/results never
keeps their results, and copies of them there count as stale. A result whose run failed is kept as NAME.failed.json.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "bench" / "baselines")]

from common import write_whole  # noqa: E402
from figures import RESULTS, digest, digest_at, is_clean, kind_of_machine, state  # noqa: E402

BENCH = "gradus bench"
OTHERS = "baselines.py"
FILES = "file_rates"

# Each row consists of the name of the raw file, the problem, the machine, the program and the program's arguments. In
# the arguments, {gpu} stands for the GPU variants, {all} for the number of cores, and {scale} for the share of the
# sizes. The code of the problem "files" consists of the readers and writers of all formats.
MEASUREMENTS = [
    ("kmeans-cpu", "kmeans", "cpu", BENCH, "--shape 2097152x16 --dtype f64 -k 16 --threads {all} --repeats 2"),
    ("kmeans-cpu-baselines", "kmeans", "cpu", OTHERS, "--repeats 3 --lines uniform,pixels"),
    ("pair-histogram-cpu", "pair_histogram", "cpu", BENCH, "--shape 20000x3 --dtype f64 --repeats 3"),
    ("pair-histogram-cpu-baselines", "pair_histogram", "cpu", OTHERS, "--repeats 3 --lines neighbours,all"),
    ("shortest-paths-cpu", "shortest_paths", "cpu", BENCH, "-n 2048 --repeats 3"),
    ("shortest-paths-cpu-baselines", "shortest_paths", "cpu", OTHERS, "--repeats 3 --lines sparse,peers,everyday --scale 0.34"),
    ("matmul-cpu", "matmul", "cpu", BENCH, "--size 1024 --dtype f32,f64 --repeats 5"),
    ("matmul-cpu-baselines", "matmul", "cpu", OTHERS, "--shapes 30 --rounds 2 --repeats 3 --at-a-time 10"),
    ("life-cpu", "life", "cpu", BENCH, "--size 64,1024,4096 -g 100 --threads 1 --repeats 3"),
    ("life-cpu-baselines", "life", "cpu", OTHERS, "--repeats 2 --threads 1 --lines 1024,acorn,gun,breeder"),
    ("locks-cpu", "locks", "cpu", BENCH, "--critical 0,10 --outside 0,100 --threads 1,{all} --repeats 3"),
    ("locks-cpu-baselines", "locks", "cpu", OTHERS, "--repeats 3 --seconds 0.02"),
    ("sets-cpu", "sets", "cpu", BENCH, "--size 1024 --mix 100/0/0,20/40/40 --threads 1,{all} --operations 100000 --repeats 3"),
    ("sets-cpu-baselines", "sets", "cpu", OTHERS, "--repeats 2"),
    ("file-rates-cpu", "files", "cpu", FILES, "--scale {scale} --rounds 5"),
    ("kmeans-gpu", "kmeans", "gpu", BENCH, "--shape 2097152x16 --dtype f64 -k 16 --variants {gpu} --repeats 5"),
    ("kmeans-gpu-baselines", "kmeans", "gpu", "kmeans_pytorch.py",
     "--shape 2097152x16x16:f64 --shape 8294400x3x256:f32 --shape 1048576x128x1024:f32 --shape 1048576x128x1024:f32:tf32"),
    ("pair-histogram-gpu", "pair_histogram", "gpu", BENCH, "--shape 200000x3 --dtype f64 --variants {gpu} --repeats 3"),
    ("shortest-paths-gpu", "shortest_paths", "gpu", BENCH, "-n 8192 --variants {gpu} --repeats 3"),
    ("matmul-gpu", "matmul", "gpu", BENCH, "--size 8192 --dtype f32,f64 --variants {gpu} --repeats 3"),
    ("life-gpu", "life", "gpu", BENCH, "--size 4096 -g 100 --variants {gpu} --repeats 5"),
    # The published experiments, each of which takes well under a minute. Published speed-ups are judged only at full
    # size.
    ("experiment-floyd-warshall-openmp", "shortest_paths", "cpu", BENCH, "--experiment floyd-warshall-openmp --scale 0.02 --repeats 1"),
    ("experiment-kmeans-locks", "kmeans", "cpu", BENCH, "--experiment kmeans-locks --scale 0.1 --repeats 2"),
    ("experiment-kmeans-openmp", "kmeans", "cpu", BENCH, "--experiment kmeans-openmp --scale 0.01 --repeats 1"),
    ("experiment-life-openmp", "life", "cpu", BENCH, "--experiment life-openmp --scale 0.1 --repeats 2"),
    ("experiment-locks", "locks", "cpu", BENCH, "--experiment locks --scale 0.3 --repeats 3"),
    ("experiment-sets", "sets", "cpu", BENCH, "--experiment sets --scale 0.1 --repeats 2"),
    ("experiment-kmeans-cuda-double", "kmeans", "gpu", BENCH, "--experiment kmeans-cuda-double --scale 1 --repeats 1"),
    ("experiment-kmeans-cuda-float", "kmeans", "gpu", BENCH, "--experiment kmeans-cuda-float --scale 1 --repeats 1"),
    ("experiment-kmeans-simt", "kmeans", "gpu", BENCH, "--experiment kmeans-simt --scale 1 --repeats 2"),
    ("experiment-kmeans-task-graph", "kmeans", "gpu", BENCH, "--experiment kmeans-task-graph --scale 1 --repeats 3"),
    ("experiment-matmul-cuda", "matmul", "gpu", BENCH, "--experiment matmul-cuda --scale 1 --repeats 3"),
    ("experiment-pair-histogram-cuda", "pair_histogram", "gpu", BENCH, "--experiment pair-histogram-cuda --scale 0.1 --repeats 3"),
]


def gpu_variants(gradus, problem):
    """Returns the names of the GPU variants that this machine can run, joined by commas."""
    listed = json.loads(subprocess.run([gradus, "list", problem.replace("_", "-"), "--json"], check=True, capture_output=True,
                                       text=True).stdout)
    return ",".join(row["name"] for row in listed[0]["variants"] if row["backend"] == "cuda" and row["runs_here"])


def command_of(options, problem, program, arguments, target):
    """Returns the command line of a measurement. It does not include the problem of an experiment, because the
    experiment itself names the problem."""
    name = problem.replace("_", "-")
    words = arguments.format(all=options.cores, scale=options.scale,
                             gpu=gpu_variants(options.gradus, problem) if "{gpu}" in arguments else "").split()
    if program == BENCH:
        subject = [] if "--experiment" in words else [name]
        return [options.gradus, "bench", *subject, *words, "--json", str(target), "--quiet"]
    if program == FILES:
        return [str(pathlib.Path(options.gradus).parent / FILES), *words, "--json", str(target)]
    script = [sys.executable, str(ROOT / "bench" / "baselines" / program)]
    if program == OTHERS:
        script.append(name)
        if options.scale != 1 and "--scale" not in words:
            words += ["--scale", str(options.scale)]
    return [*script, "--gradus", options.gradus, *words, "--json", str(target)]


def measure(options, row):
    """Runs one measurement and completes its facts. Returns a description of the fault, or "" if there is none."""
    name, problem, machine, program, arguments = row
    # The new file gets its final name only if the result is correct. Until then, the file of an earlier result stays in
    # place.
    target = options.into / f"{name}.failed.json"
    target.unlink(missing_ok=True)
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if machine == "cpu" else {}  # keeps default calls off the GPU
    ended = subprocess.run(command_of(options, problem, program, arguments, target), cwd=ROOT, env={**os.environ, **hidden},
                           capture_output=True, text=True, check=False)
    if not target.is_file():
        return f"status {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-600:]}"
    result = json.loads(target.read_text(encoding="utf-8"))
    commit = result["facts"].get("commit", "")
    # The digest is computed from the files of the measured commit, because the working tree may have changed since the
    # build.
    try:
        code = digest_at(ROOT, commit, problem, kind_of_machine(name)) if is_clean(commit) else digest(ROOT, problem, kind_of_machine(name))
    except subprocess.CalledProcessError:
        return f"this repository has no commit '{commit}', which it names; see {target.name}"
    result["facts"] |= {"code": code, **({"draft": True} if options.draft or options.scale != 1 else {})}
    write_whole(target, result)
    if ended.returncode != 0:
        return f"status {ended.returncode}: the results disagree; see {target.name}"
    if not options.draft and not is_clean(commit):
        return f"it names the commit '{commit}', which is not a clean one; see {target.name}"
    target.replace(options.into / f"{name}.json")
    return ""


def print_state():
    for name, problem, *_ in MEASUREMENTS:
        print(f"{name}: {state(ROOT, name, problem)}")


def main():
    if sys.argv[1:] == ["--state"]:
        print_state()
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", choices=["cpu", "gpu"])
    parser.add_argument("--gradus", required=True)
    parser.add_argument("--only", default="", help="measurements whose names hold one of these words")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / RESULTS)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--draft", action="store_true", help="also at a commit with local changes; not into docs/results")
    options = parser.parse_args()
    options.gradus = str(pathlib.Path(options.gradus).resolve())
    options.into = options.into.resolve()
    options.cores = len(os.sched_getaffinity(0))
    if (options.draft or options.scale != 1) and options.into == (ROOT / RESULTS).resolve():
        parser.error("results of --draft and --scale need another folder: --into FOLDER")
    options.into.mkdir(parents=True, exist_ok=True)
    failed = 0
    for row in MEASUREMENTS:
        if row[2] != options.machine or not any(word in row[0] for word in options.only.split(",")):
            continue
        start = time.monotonic()
        problem = measure(options, row)
        failed += bool(problem)
        print(f"{row[0]}: {time.monotonic() - start:.0f} s{': ' + problem if problem else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
