"""Shared parts of the tests of the program on several ranks, started by mpirun."""

import concurrent.futures
import itertools
import os
import shutil
import subprocess
import time

from kit import GRADUS, Case, content

# Allows more processes than cores. Also allows the user root, as in a container.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def why_not():
    if not shutil.which("mpirun"):
        return "there is no mpirun (Debian: openmpi-bin)"
    if not os.path.exists(os.path.join(os.path.dirname(GRADUS), "libgradus_mpi_process.so")):
        return "the program was built without MPI (GRADUS_MPI)"
    if "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ:
        return "a sanitizer takes what MPI does with memory for errors"
    return ""


class RanksCase(Case):
    """Tests jobs of one command on several ranks."""

    COMMAND = ""
    ENDING = ""  # file name ending of the command's results

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        super().setUp()
        self.numbers = itertools.count()

    def start(self, ranks, *arguments, options=(), program=GRADUS, **more):
        return subprocess.Popen(["mpirun", "-n", str(ranks), *options, program, *map(str, arguments)],
                                env=dict(os.environ, **ENVIRONMENT), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                **more)

    def mpirun(self, ranks, *arguments, stdin="", timeout=60, **more):
        job = self.start(ranks, *arguments, stdin=subprocess.PIPE, **more)
        try:
            stdout, stderr = job.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
        return subprocess.CompletedProcess(job.args, job.returncode, stdout, stderr)

    def ranks_of(self, out):
        """Returns a dict that maps each rank to its process, for the job that writes to `out`."""
        found = {}
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = content(f"/proc/{process}/cmdline").split(b"\0")
                variables = content(f"/proc/{process}/environ").split(b"\0")
            except OSError:
                continue
            rank = [one for one in variables if one.startswith(b"OMPI_COMM_WORLD_RANK=")]
            if words[0] == GRADUS.encode() and out.encode() in words and rank:
                found[int(rank[0].partition(b"=")[2])] = int(process)
        return found

    def said(self, result):
        return [line for line in result.stderr.splitlines() if line.startswith("gradus: ")]

    def refused_on_ranks(self, ranks, status, *arguments, says=(), others=(), **more):
        """Expects that all ranks exit with this status, that one rank prints the message, and that -o does not
        exist. `others`: arguments of two additional ranks."""
        out = self.path("refused-%d%s" % (next(self.numbers), self.ENDING))
        words = [self.COMMAND, *arguments, "-o", out]
        if others:
            words += [":", "-n", 2, GRADUS, self.COMMAND, *others, "-o", out]
        started = time.time()
        # lets mpirun end without waiting for ranks that have finished
        result = self.mpirun(ranks, *words, options=["--mca", "odls_base_sigkill_timeout", "0"], **more)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertLess(time.time() - started, 20)
        self.assertEqual(len(self.said(result)), 1, result.stderr)
        for expected in says:
            self.assertIn(expected, self.said(result)[0])
        self.assertEqual(result.stdout, "")
        self.assertFalse(os.path.exists(out))
        return self.said(result)[0]

    def together(self, *jobs):
        """Runs jobs in parallel, because mpirun waits for a second or two if a process fails."""
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            return [one.result() for one in [pool.submit(job) for job in jobs]]

    def all_refused(self, *jobs):
        """Runs refused_on_ranks() for several jobs. The last argument of each job is a dict of keyword arguments."""
        return self.together(*[lambda job=job: self.refused_on_ranks(*job[:-1], **job[-1]) for job in jobs])
