"""Tests jobs with several threads if the system refuses to start threads."""

import os
import resource
import shutil
import tempfile

import kit
from kit import Case, gradus, rooms


def jobs(case):
    """Returns a call of each command of a problem."""
    all_jobs = {}
    for room in rooms():
        all_jobs.update(room.json_jobs(case))
    return all_jobs


class RefusedThreads(Case):
    """If the system refuses a thread, a job uses fewer threads or fails with a message. The OpenMP runtime alone would
    end the process."""

    MANY = 2000

    @classmethod
    def setUpClass(cls):
        """Copies the program and its data to a folder that other users may read, unlike a clone in root's home."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        data = os.path.join(folder.name, "share", "gradus", "data")
        os.makedirs(data)
        for name in ("digits.npy", "digits_labels.npy"):
            shutil.copy(os.path.join(kit.DATA, name), data)
        os.mkdir(os.path.join(folder.name, "bin"))
        cls.program = shutil.copy(kit.GRADUS, os.path.join(folder.name, "bin"))

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)

    def address_space(self):
        limit = 3_000_000 * 1024
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def number_of_threads(self, number):
        """Runs the program as another user, because root is exempt from the limit."""

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (number, number))
            os.setgid(65534)
            os.setuid(65534)

        return limit

    def limits(self):
        yield "address space", self.address_space()
        if os.geteuid() == 0:
            yield "number of threads", self.number_of_threads(20)

    def test_more_threads_than_there_can_be_are_refused(self):
        refused = set()
        for command, words in jobs(self).items():
            if "--threads" not in self.succeed(command, "--help").stdout:
                continue
            for name, limit in self.limits():
                result = gradus(command, *words, "--threads", self.MANY, preexec=limit, program=self.program)
                if result.returncode == 0:
                    continue  # the job needs no second thread
                refused.add(command)
                with self.subTest(command=command, limit=name):
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertRegex(result.stderr, r"^gradus: .*\b(threads|memory)\b.*\n$")
        self.assertGreater(len(refused), 2)

    def test_a_program_at_the_end_of_its_threads_runs_or_says_so(self):
        if os.geteuid() != 0:
            self.skipTest("another user's limits are needed")
        for command, words in jobs(self).items():
            for number in (1, 2, 3, 4):
                for threads in ([], ["--threads", 2]):
                    result = gradus(command, *words, *threads, preexec=self.number_of_threads(number),
                                    program=self.program)
                    with self.subTest(command=command, limit=number, threads=threads):
                        self.assertIn(result.returncode, (0, 1), result.stderr)
                        if result.returncode != 0:
                            self.assertRegex(result.stderr, r"^gradus: .*\bthreads?\b.*\n$")

    def test_no_folder_is_left(self):
        points = self.file("p.csv", "0,0\n0,1\n5,5\n5,6\n")
        for _, limit in self.limits():
            self.refused(1, "kmeans", points, "-k", 2, "--threads", self.MANY, "-o", self.path("out"), preexec=limit,
                         program=self.program)
            self.assertFalse(os.path.exists(self.path("out")))
