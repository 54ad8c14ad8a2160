"""Tests of fits that end early and resume. The tests use the command line, like a user or a batch system.
tests/cli/run.py runs this."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import zipfile

from kit import GRADUS, Case, InterruptCase, content

# Fields of the summary that may differ between an uninterrupted fit and a resumed fit: times, machine and variant.
FREE = {"seconds", "command", "variant", "device", "threads", "rechecked", "memory_bytes", "resumed"}


class FitCase(InterruptCase):
    def setUp(self):
        super().setUp()
        self.points_file, self.checkpoint = self.path("p.npy"), self.path("fit.npz")

    def generate(self, n, d):
        self.succeed("generate", "uniform", "-n", n, "-d", d, "-o", self.points_file)

    def command(self, *more):
        return ["kmeans", self.points_file, "-k", 80, "--tolerance", "0", "--restarts", 2, "--max-iterations", 60, *more]

    def start(self, *more):
        job = subprocess.Popen([GRADUS, *map(str, self.command(*more))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.kill)
        return job

    def results(self, out):
        """Returns the parts of the results that must be the same."""
        summary = json.loads(content(os.path.join(out, "summary.json")))
        for iteration in summary["history"]:
            del iteration["seconds"]
        for name in FREE:
            del summary[name]
        return summary, content(os.path.join(out, "centroids.npy")), content(os.path.join(out, "labels.npy"))


class KillCase(FitCase):
    """Sends SIGKILL and SIGTERM at random moments. The fit resumes with another number of threads and another variant."""

    def check_kills(self, kills, seed):
        self.generate(60000, 6)
        whole, out = self.path("whole"), self.path("out")
        start = time.monotonic()
        self.succeed(*self.command("--threads", 1, "-o", whole))
        duration = time.monotonic() - start
        expected = self.results(whole)
        chance = random.Random(seed)
        killed = resumed = finished = 0
        while killed < kills or not finished:
            job = self.start("--checkpoint", self.checkpoint, "--checkpoint-every", chance.choice(["1", "7", "0.01s"]), "--resume",
                             "--threads", chance.choice([1, 2]), "-o", out, "--variant",
                             chance.choice(["simd_large_dim", "simd_bounds", "simd_small_dim"]))
            if killed < kills:
                try:
                    job.wait(chance.uniform(0, 0.7 * duration))
                except subprocess.TimeoutExpired:
                    pass
                job.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            _, stderr = job.communicate(timeout=120)
            resumed += "is resumed" in stderr
            is_there = os.path.exists(os.path.join(out, "summary.json"))
            if is_there:  # the file exists even after a kill if the job had already finished its work
                self.assertEqual(self.results(out), expected, f"seed {seed}, after {killed} kills")
            shutil.rmtree(out, ignore_errors=True)  # a killed job leaves an empty folder behind
            if job.returncode in (-signal.SIGKILL, -signal.SIGTERM, 130):  # SIGTERM may arrive before the job has installed its handler
                killed += 1
                continue
            self.assertEqual((job.returncode, is_there), (0, True), stderr)
            finished += 1
            os.remove(self.checkpoint)
        self.assertGreater(resumed, kills // 3)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".tmp")], [])


class Kills(KillCase):
    def test_thirty_kills(self):
        self.check_kills(30, random.SystemRandom().randrange(1000000))


class Signals(FitCase):
    def long_job(self, *more):
        self.generate(800000, 8)
        return self.start("--max-iterations", 100000, "--init", "random", "--checkpoint", self.checkpoint, *more)

    def command(self, *more):  # an option may be given only once, so `more` must not repeat one
        return ["kmeans", self.points_file, "-k", 200, "--tolerance", "0", "--threads", 1, *more]

    def resumed(self, iterations):
        """Starts a job, returns its message about resuming, and kills it."""
        job = self.start("--max-iterations", iterations, "--init", "random", "--checkpoint", self.checkpoint, "--resume")
        line = job.stderr.readline()
        job.kill()
        job.wait()
        return line

    def test_a_user_signal_writes_one(self):
        job = self.long_job("--checkpoint-every", "1h")
        self.wait_until_busy(job, 1.5)
        self.assertFalse(os.path.exists(self.checkpoint))
        job.send_signal(signal.SIGUSR1)
        self.wait_until(job, lambda: os.path.exists(self.checkpoint))
        with zipfile.ZipFile(self.checkpoint) as archive:
            self.assertIsNone(archive.testzip())
            self.assertTrue({"job.npy", "progress.npy", "centroids.npy", "before.npy"} <= set(archive.namelist()))
        # The array `centroids` of the checkpoint can serve as a table of centroids.
        self.succeed("predict", self.checkpoint + ":centroids", self.points_file, "-o", self.path("labels.npy"))
        self.assertIsNone(job.poll())
        job.kill()
        job.wait()
        self.assertIn("is resumed: after iteration ", self.resumed(100000))

    def test_a_stop_writes_one(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.long_job()
            self.wait_until_busy(job, 1.5)
            job.send_signal(number)
            _, stderr = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 130, stderr)
            self.assertIn(f"--resume continues it from '{self.checkpoint}'", stderr)
            self.assertIn("is resumed: after iteration ", self.resumed(100000))
            before = content(self.checkpoint)
            self.assertIn("is resumed: after iteration ", self.resumed(90000))  # a resumed fit may have a different iteration limit
            self.refused(3, *self.command("--max-iterations", 100000, "--init", "random", "--checkpoint", self.checkpoint, "--resume", "--seed", 1),
                         says=[self.checkpoint, "seed=0 there, but seed=1 here"])
            self.assertEqual(content(self.checkpoint), before)
            os.remove(self.checkpoint)


class Checkpoints(FitCase):
    def test_finished_job_and_no_file(self):
        self.generate(3000, 3)
        job = self.command("--checkpoint", self.checkpoint, "--resume", "-o")
        first = self.succeed(*job, self.path("a"))
        self.assertIn("there is no checkpoint", first.stderr)
        self.assertIn("starts from the beginning", first.stderr)
        second = self.succeed(*job, self.path("b"))
        self.assertIn("the fit was done", second.stderr)
        self.succeed(*self.command("-o", self.path("c")))
        self.assertEqual(self.results(self.path("a")), self.results(self.path("c")))
        self.assertEqual(self.results(self.path("b")), self.results(self.path("c")))
        self.assertEqual([json.loads(content(self.path(f"{out}/summary.json")))["resumed"] for out in "abc"],
                         [False, True, False])
        again = self.succeed(*self.command("--checkpoint", self.checkpoint))
        self.assertIn("replaces it", again.stderr)

    def test_damaged(self):
        self.generate(3000, 3)
        job = self.command("--checkpoint", self.checkpoint, "--resume")
        self.succeed(*job)
        whole = content(self.checkpoint)
        for bad in (whole[:-100], whole[: len(whole) // 2], b"text", whole + b"\0"):
            self.file("fit.npz", bad)
            self.refused(3, *job, says=[self.checkpoint])
            self.assertEqual(content(self.checkpoint), bad)

    def test_other_points(self):
        self.generate(3000, 3)
        job = self.command("--checkpoint", self.checkpoint, "--resume")
        self.succeed(*job)
        before = content(self.checkpoint)
        self.refused(3, *job, "--metric", "cosine", says=["another job", "metric=euclidean there, but metric=cosine here"])
        self.succeed("generate", "uniform", "-n", 3000, "-d", 3, "--seed", 5, "-o", self.points_file)
        self.refused(3, *job, says=["another job", "hash of the points="])
        self.assertEqual(content(self.checkpoint), before)

    def test_points_that_change_during_the_fit(self):
        """No checkpoint contains the result of changed points, whose hash would be the hash of the points before."""
        self.generate(200000, 8)
        points = content(self.points_file)
        job = self.start("--checkpoint", self.checkpoint, "--checkpoint-every", 1)
        self.wait_until(job, lambda: os.path.exists(self.checkpoint))
        with open(self.points_file, "r+b") as file:
            file.seek(-400, os.SEEK_END)
            file.write(bytes(400))
        time.sleep(0.1)  # a checkpoint that had been started before may still be written
        before = content(self.checkpoint)
        for _ in range(10):
            time.sleep(0.1)
            self.assertEqual(content(self.checkpoint), before)
        _, stderr = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 3, stderr)
        self.assertIn("the file has changed while it was read", stderr)
        self.assertEqual(content(self.checkpoint), before)
        with open(self.points_file, "wb") as file:
            file.write(points)
        self.succeed(*self.command("--checkpoint", self.checkpoint, "--resume", "-o", self.path("a")))
        self.succeed(*self.command("-o", self.path("b")))
        self.assertEqual(self.results(self.path("a")), self.results(self.path("b")))

    def test_full_disk(self):
        self.generate(3000, 3)
        os.symlink("/dev/full", self.path("full.npz"))
        result = self.succeed(*self.command("--checkpoint", self.path("full.npz"), "--checkpoint-every", 3, "-o", self.path("out")))
        self.assertEqual(result.stderr.count("No space left on device"), 1, "said once")
        self.assertIn("No space left on device; the fit continues", result.stderr)
        # The job must succeed even if its messages are also written to the full disk.
        job = self.command("--checkpoint", self.path("full.npz"), "--checkpoint-every", 3, "-o", self.path("other"))
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([GRADUS, *map(str, job)], stdout=subprocess.DEVNULL, stderr=full).returncode, 0)
        self.assertEqual(content(self.path("other/labels.npy")), content(self.path("out/labels.npy")))
        self.refused(1, *self.command("--checkpoint", self.path("missing/fit.npz")), says=["missing/fit.npz"])

    def test_what_is_no_checkpoint_stays(self):
        self.generate(100, 3)
        with zipfile.ZipFile(self.path("other.npz"), "w") as archive:
            archive.write(self.points_file, "points.npy")
        for name, bytes_of_it in (("notes.npz", b"precious"), ("other.npz", content(self.path("other.npz")))):
            other = self.file(name, bytes_of_it)
            self.refused(3, "kmeans", self.points_file, "-k", 3, "--checkpoint", other, says=[other, "is no checkpoint"])
            self.assertEqual(content(other), bytes_of_it)
        self.refused(2, "kmeans", self.points_file, "-k", 3, "--checkpoint", self.path("fit.json"), says=["does not end in .npz"])

    def test_refused(self):
        self.generate(100, 3)
        points = self.points_file
        for bad in ("0", "-1", "1.5", "10x", "0m", "m", "", "1e99", "99999999999"):
            self.refused(2, "kmeans", points, "-k", 3, "--checkpoint", self.checkpoint, "--checkpoint-every", bad,
                         says=["--checkpoint-every"])
        self.refused(2, "kmeans", points, "-k", 3, "--resume", says=["--resume has no effect"])
        self.refused(2, "kmeans", points, "-k", 3, "--checkpoint-every", "5m", says=["--checkpoint-every has no effect"])
        self.refused(2, "kmeans", points, "-k", "2..4", "--checkpoint", self.checkpoint, says=["-k names several"])
        with zipfile.ZipFile(self.path("points.npz"), "w") as archive:
            archive.write(points, "points.npy")
        self.refused(2, "kmeans", self.path("points.npz"), "-k", 3, "--checkpoint", self.path("points.npz"),
                     says=["would be overwritten"])
        self.refused(2, "kmeans", self.path("points.npz:points"), "-k", 3, "--checkpoint", self.path("points.npz"),
                     says=["would be overwritten"])
        os.mkfifo(self.path("pipe.npz"))
        for resume in ([], ["--resume"]):
            self.refused(3, "kmeans", points, "-k", 3, "--checkpoint", self.path("pipe.npz"), *resume, says=["is no file"])
        self.refused(4, "kmeans", points, "-k", 3, "--checkpoint", self.checkpoint, "--variant", "sequential",
                     says=["simd_bounds"])
        self.assertFalse(os.path.exists(self.checkpoint))
