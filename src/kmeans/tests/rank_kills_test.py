"""Kills ranks, stops them, or asks them to end, at random moments. No process may hang, and no file may be incomplete.
The job must resume on another number of ranks, and its files must be equal to the files of an uninterrupted job.

GRADUS_RANK_KILLS sets the number of kills (default 4), GRADUS_RANK_KILLS_SEED the seed, and GRADUS_RANK_KILLS_BESIDE
the number of concurrent jobs (default 2). `./dev test --full` makes 300 kills.
"""

import collections
import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import threading
import time
import zipfile

import kit
from kit import write_npy

_ranks = kit.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpirun_test.py"))

STALL = 5  # seconds; on a busy machine, a job may take this long without a kill
GRACE = 10  # seconds after which all processes must have ended
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
WORKS = ("read", "seed", "iterate", "write")  # phases that last long enough to be killed


def progress_of(checkpoint):
    """Returns the progress that a checkpoint stores. Raises an exception if the archive is incomplete."""
    if not os.path.exists(checkpoint):
        return "before the first checkpoint"
    with zipfile.ZipFile(checkpoint) as archive:
        if archive.testzip() is not None:
            raise AssertionError("torn: " + checkpoint)
        names = archive.namelist()
    if "centroids.npy" in names:
        return "iterating"
    return "choosing first centroids" if "chosen.npy" in names else "behind a fit"


class RankKillCase(_ranks.KMeansCase):
    def make_works(self):
        """For each kind of work, makes the arguments of a job, and the files of an uninterrupted job. Measures how many
        seconds pass until all ranks have opened their files, and how many seconds pass after that until the end.
        """
        self.works = {}
        for work in WORKS:
            points = self.path(work + ".npy")
            if work == "read":
                points = self.path(work + ".csv")  # rank 0 reads this file and sends the other ranks their rows
                self.succeed("generate", "uniform", "-n", 120000, "-d", 6, "-o", points)
                fit = [points, "-k", 20, "--max-iterations", 8, "--init", "first"]
            elif work == "seed":
                self.succeed("generate", "uniform", "-n", 60000, "-d", 6, "-o", points)
                fit = [points, "-k", 250, "--max-iterations", 3]
            elif work == "iterate":
                self.succeed("generate", "uniform", "-n", 60000, "-d", 6, "-o", points)
                fit = [points, "-k", 60, "--max-iterations", 40, "--restarts", 2, "--init", "random"]
            else:
                values = [(row * 7919) % 251 for row in range(1500000)]
                write_npy(points, "|u1", (1500000, 1), raw=bytes(values))
                fit = [points, "-k", 5, "--max-iterations", 2, "--init", "first"]
            fit += ["--tolerance", 0, "--threads", 1]
            expected = self.one(*fit)
            out = self.path("timed")
            started = time.monotonic()
            job = self.start(3, "kmeans", *fit, "-o", out, "--quiet")
            while not os.path.exists(out):
                self.assertIsNone(job.poll())
                time.sleep(0.002)
            begun = time.monotonic()
            job.communicate()
            self.assertEqual(self.files_of(out), expected)
            self.works[work] = fit, expected, begun - started, time.monotonic() - begun

    def left_of(self, out, limit, but=()):
        """Waits up to `limit` seconds until all ranks of the job have ended, except the processes in `but`. Returns the
        remaining ranks and their states."""
        deadline = time.monotonic() + limit
        while left := {rank: process for rank, process in self.ranks_of(out).items() if process not in but}:
            if time.monotonic() > deadline:
                return [f"rank {rank}: {self.state_of(process)}" for rank, process in sorted(left.items())]
            time.sleep(0.05)
        return []

    def state_of(self, process):
        try:
            with open(f"/proc/{process}/status", encoding="ascii") as status:
                return next(line for line in status if line.startswith("State:")).strip()
        except OSError:
            return "gone"

    def waits_for_itself(self, job, out):
        """Returns True if all processes of mpirun have ended and mpirun still waits for a lock. With Open MPI 4.1 and PMIx 4.2,
        this sometimes happens if a process of any program is killed while MPI starts (docs/decisions/measurements/killed-ranks.txt).
        """
        children = subprocess.run(["ps", "--ppid", str(job.pid), "-o", "stat="], capture_output=True, text=True, check=False).stdout
        try:
            with open(f"/proc/{job.pid}/wchan", encoding="ascii") as file:
                waits_in = file.read()
        except OSError:
            return False
        return not self.ranks_of(out) and all(state.startswith("Z") for state in children.split()) and "futex" in waits_in

    def explain(self, about, job, out, moments):
        """Returns a description of the remaining processes and of the times of events."""
        now = time.monotonic()
        lines = [f"\nLEFT: {about}", "  load: %.1f %.1f %.1f" % os.getloadavg()]
        lines += [f"  {now - moment:.1f} s ago: {what}" for what, moment in moments.items()]
        processes = {"mpirun": job.pid, **{f"rank {rank}": process for rank, process in sorted(self.ranks_of(out).items())}}
        for name, process in processes.items():
            lines.append(f"  {name}, process {process}: {self.state_of(process)}")
            for what in ("wchan", "syscall", "stack"):
                try:
                    with open(f"/proc/{process}/{what}", encoding="ascii") as file:
                        lines += [f"    {what}: {line}" for line in file.read().splitlines()]
                except OSError:
                    pass
            if shutil.which("gdb"):
                try:
                    seen = subprocess.run(["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt"], stdin=subprocess.DEVNULL,
                                          capture_output=True, text=True, timeout=60).stdout.splitlines()
                except subprocess.TimeoutExpired:
                    seen = ["gdb came to no end"]
                lines += ["    " + line for line in seen if line.startswith(("#", "Thread", "gdb"))]
        children = subprocess.run(["ps", "--ppid", str(job.pid), "-o", "pid,stat,etimes,wchan:30,args"], capture_output=True, text=True,
                                  check=False).stdout
        lines += ["    children of mpirun: " + line for line in children.splitlines()]
        print("\n".join(lines), flush=True)

    def one_kill(self, number, seed):
        """Kills one job and returns its outcome."""
        chance = random.Random(f"{seed} {number}")
        work = WORKS[number % len(WORKS)]
        fit, expected, of_start, of_work = self.works[work]
        ranks = chance.choice((2, 3, 5))
        cleans_up = chance.random() < 0.75
        how = SIGNALS[chance.randrange(len(SIGNALS))]
        folder = self.path("kill-%d" % number)
        os.mkdir(folder)
        out, checkpoint = os.path.join(folder, "out"), os.path.join(folder, "fit.npz")
        saved = ["--checkpoint", checkpoint, "--resume", "--checkpoint-every", chance.choice(("0.002s", "0.02s", "1"))]
        about = f"kill {number} of seed {seed}: {work}, {how.name}, {ranks} ranks, {'' if cleans_up else 'no '}cleaning launcher"

        in_work = chance.random() < 0.85
        after = chance.uniform(0, 1.05 * of_work if in_work else of_start)
        moments = {"mpirun was started": time.monotonic()}
        job = self.start(ranks, "kmeans", *fit, *saved, "--stall-timeout", STALL, "-o", out,
                         options=[] if cleans_up else ["--enable-recovery"])
        said = []  # read while the job runs, because a full pipe would block the job
        readers = [threading.Thread(target=lambda stream=stream: said.append(stream.read())) for stream in (job.stdout, job.stderr)]
        for reader in readers:
            reader.start()
        victim = chance.randrange(ranks)
        process, left, launcher_left = None, [], False
        try:
            while in_work and job.poll() is None and not os.path.exists(out):
                time.sleep(0.005)
            time.sleep(after)
            while job.poll() is None and process is None:
                process = self.ranks_of(out).get(victim)
            if process is not None:
                try:
                    os.kill(process, how)
                except ProcessLookupError:
                    process = None
            started = moments["the signal" if process else "its end"] = time.monotonic()
            stopped = {process} if how == signal.SIGSTOP and process and not cleans_up else set()
            limit = GRACE + (STALL if how == signal.SIGSTOP or not cleans_up else 0)
            left = self.left_of(out, limit, stopped)
            # If a process is stopped when the other processes no longer need it, they end normally. The launcher then
            # waits for the stopped process.
            behind = how == signal.SIGSTOP and os.path.exists(out) and "summary.json" in os.listdir(out) and self.ranks_of(out) == {victim: process}
            if left and behind:
                stopped = {process}
            else:
                if left:
                    self.explain(about, job, out, moments)
                self.assertEqual(left, [], f"{about}, rank {victim}: processes are left after {limit} s")
            if stopped:  # the launcher leaves stopped processes behind, which end when they continue
                for one in stopped:
                    os.kill(one, signal.SIGCONT)
                self.assertEqual(self.left_of(out, GRACE + STALL), [], f"{about}: it continues without the others")
            moments["no rank was left"] = time.monotonic()
            took = time.monotonic() - started
            try:
                job.wait(GRACE + STALL)
            except subprocess.TimeoutExpired:
                launcher_left = self.waits_for_itself(job, out)
                if not launcher_left:
                    self.explain(about, job, out, moments)
                self.assertTrue(launcher_left, f"{about}: mpirun is left, or ranks that came late")
        finally:
            for one in self.ranks_of(out).values():
                os.kill(one, signal.SIGKILL)
            job.kill()
            job.wait()
            for reader, stream in zip(readers, (job.stdout, job.stderr)):
                reader.join()
                stream.close()

        if left:
            self.assertNotIn("--stall-timeout", "".join(said), f"{about}: the others knew of it, but it was left")
            self.assertEqual(job.returncode, 0, f"{about}: {said}")
        # The result must be complete or absent. It is complete if the job finished before the kill.
        files = os.listdir(out) if os.path.exists(out) else []
        whole = bool(files)
        if whole:
            self.assertEqual(self.files_of(out), expected, f"{about}: a torn result, {files}, {said}")
        elif process is None:
            self.assertIn("--stall-timeout", "".join(said), f"{about}: it ended by itself without a result")
        elif cleans_up and not launcher_left and how != signal.SIGSTOP:
            self.assertNotEqual(job.returncode, 0, about)
        if process is not None and how == signal.SIGSTOP and not whole:
            self.assertIn("has waited" if "has waited" in "".join(said) else "has not started within", "".join(said), about)
        before = progress_of(checkpoint)

        others = chance.choice([number for number in (1, 2, 3, 4, 5) if number != ranks])
        shutil.rmtree(out, ignore_errors=True)
        words = ["kmeans", *fit, *saved, "-o", out]
        if others == 1:
            again = kit.gradus(*words)
        else:
            again = self.mpirun(others, *words, timeout=300)
        self.assertEqual(again.returncode, 0, f"{about}, then {others}: {again.stderr}")
        self.assertEqual(self.files_of(out), expected, f"{about}, then {others} ranks after '{before}'")
        says = "starts from the beginning" if before == "before the first checkpoint" else "the fit was done" if before == "behind a fit" else "is resumed"
        self.assertTrue(says in again.stderr or before == "behind a fit" and "is resumed" in again.stderr, f"{about}: {again.stderr}")
        self.assertEqual(sorted(os.listdir(folder)), ["fit.npz", "out"], about)
        shutil.rmtree(folder)
        outcome = ("mpirun stayed, without ranks" if launcher_left else "behind the end of the others" if left else before if not whole else "result there" if process is not None
                   else "done before it")
        return work, how.name if process is not None else "none, done" if whole else "none, its own limit", outcome, took, cleans_up

    def check_kills(self, kills, seed, beside):
        self.make_works()
        results, wrong, killed, begun = [], [], [], 0
        with concurrent.futures.ThreadPoolExecutor(beside) as pool:
            # If a job ends before it is killed, another job is tried.
            while len(killed) + len(wrong) < kills and begun < 5 * kills + 20:
                more = range(begun, begun + kills - len(killed) - len(wrong))
                begun = more.stop
                for one in [pool.submit(self.one_kill, number, seed) for number in more]:
                    try:
                        results.append(one.result())
                    except (AssertionError, subprocess.TimeoutExpired) as error:
                        wrong.append(str(error))
                        print(f"\nWRONG: {error}", flush=True)
                killed = [one for one in results if not one[1].startswith("none")]
        print(f"\nseed {seed}: {begun} jobs, {len(killed)} of them hit while they ran; {len(wrong)} wrong; all others resumed to the bytes of "
              "the job that nothing interrupted")
        for title, key in (("signal", 1), ("work", 0), ("found", 2)):
            counts = collections.Counter(one[key] for one in killed)
            print(f"  by {title}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
        print(f"  without a launcher that cleans up: {sum(not one[4] for one in killed)}")
        for name in sorted({one[1] for one in killed}):
            print(f"  longest time to the end of all processes, {name}: {max(one[3] for one in killed if one[1] == name):.1f} s")
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(killed), kills)


class RankKills(RankKillCase):
    def test_kills(self):
        seed = int(os.environ.get("GRADUS_RANK_KILLS_SEED", random.SystemRandom().randrange(1000000)))
        self.check_kills(int(os.environ.get("GRADUS_RANK_KILLS", 4)), seed, int(os.environ.get("GRADUS_RANK_KILLS_BESIDE", 2)))
