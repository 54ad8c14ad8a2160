#!/usr/bin/env python3
"""Compares Gradus with its baselines. They run in turn, with the same data, initial values and number of threads.

    baselines.py PROBLEM --gradus build/gradus    prints the speed table
    baselines.py PROBLEM --help                   explains what is timed and how results are compared

A problem has baselines if requirements-PROBLEM.txt exists. The module of the same name measures them.
"""

import argparse
import importlib
import os
import pathlib
import shutil
import sys
import tempfile

from common import facts, write_whole

PROBLEMS = {name: name.replace("-", "_") for name in sorted(
    path.stem.removeprefix("requirements-") for path in pathlib.Path(__file__).parent.glob("requirements-*.txt"))}


def main():
    parser = argparse.ArgumentParser(description="Measures Gradus and its baselines alternately; checks that they agree.")
    problems = parser.add_subparsers(dest="problem", required=True, metavar="PROBLEM")
    modules = {name: importlib.import_module(module) for name, module in PROBLEMS.items()}
    for name, module in modules.items():
        problem = problems.add_parser(name, description=module.__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
        problem.add_argument("--gradus", required=True, help="the gradus program")
        problem.add_argument("--scale", type=float, default=1.0,
                             help="share of the table's numbers of points (default 1)")
        problem.add_argument("--repeats", type=int, default=5, help="alternate runs (default 5)")
        problem.add_argument("--cores", type=int, help="run both sides on the first N available CPUs")
        problem.add_argument("--threads", type=int, help="default: the number of CPUs")
        problem.add_argument("--lines", type=lambda text: text.split(","), default=[],
                             help="only the lines whose names hold one of these words, for example pixels,blobs")
        problem.add_argument("--json", metavar="FILE", help="raw results")
        module.add_options(problem)
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if options.cores is not None:
        if not 1 <= options.cores <= len(cpus):
            parser.error(f"--cores: there are {len(cpus)} CPUs here")
        # The CPUs are set before any package starts threads. Child processes inherit them.
        os.sched_setaffinity(0, cpus[: options.cores])
    if options.threads is None:
        options.threads = options.cores or len(cpus)
    if options.scale <= 0 or options.repeats < 1 or options.threads < 1:
        parser.error("--scale, --repeats and --threads must be positive")
    if not shutil.which(options.gradus):
        parser.error(f"--gradus: there is no program {options.gradus}")
    options.gradus = shutil.which(options.gradus)
    # Packages read these variables when they are loaded.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)

    module = modules[options.problem]
    with tempfile.TemporaryDirectory(prefix="gradus-baselines-") as name:
        results, agrees = module.run(options, pathlib.Path(name))
    report = {"problem": PROBLEMS[options.problem], "facts": facts(options, module.versions()),
              "scale": options.scale, "repeats": options.repeats, **results}
    if options.json:
        write_whole(options.json, report)
        print(f"raw results: {options.json}")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
