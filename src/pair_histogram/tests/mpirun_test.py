"""Tests `gradus pair-histogram` on several ranks under mpirun. Files must equal the files of one process, and an error must be reported once."""

import json
import os
import random
import signal
import time
import unittest

from kit import GRADUS, content, write_npy
from mpirun import RanksCase

RANKS = (5, 2, 3, 1)
ENDINGS = (".csv", ".npy", ".json")  # the lengths of RANKS and ENDINGS are coprime, so the jobs cover every combination
# The values of these keys may differ between one process and several, because they say where and how long a job ran.
OF_THE_RUN = ("command", "device", "threads", "memory_bytes", "seconds")


class PairsCase(RanksCase):
    COMMAND = "pair-histogram"
    ENDING = ".csv"

    def array(self, name, n, d, dtype="<f8", seed=1, low=0, high=10):
        """Writes a file of weights, or of points on a fine lattice."""
        numbers = random.Random(seed)
        values = [numbers.randrange(64 * low, 64 * high) / 64 for _ in range(n * d)]
        return write_npy(self.path(name), dtype, (n, d) if d > 1 else (n,), values)

    def trajectory(self, name="water.xyz", frames=5, atoms=60):
        text = ""
        for frame in range(frames):
            numbers = random.Random(frame)
            text += "%d\nLattice=\"%d 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:id:I:1\n" % (atoms, 9 + frame)
            for atom in range(atoms):
                # some atoms are outside the box
                place = " ".join(str(numbers.randrange(900) / 100 - 0.5) for _ in range(3))
                text += "%s %s %d\n" % ("HHO"[atom % 3], place, atom + 1)
        return self.file(name, text)

    def result_of(self, path):
        """Returns the bytes of a result's file. If the file is a summary, returns only the parts that do not depend on
        the run."""
        if not path.endswith(".json"):
            return content(path)
        summary = json.loads(content(path))
        for key in OF_THE_RUN:
            del summary[key]
        return json.dumps(summary)

    def same(self, ranks, ending, *arguments):
        one, several = self.path("one" + ending), self.path("several" + ending)
        alone = self.succeed("pair-histogram", *arguments, "-o", one)
        result = self.mpirun(ranks, "pair-histogram", *arguments, "-o", several)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.result_of(several), self.result_of(one), (ranks, arguments))
        self.assertGreater(os.path.getsize(one), 20)
        if ranks > 1:
            self.assertIn("on each of %d ranks" % ranks, result.stderr)
        self.assertNotIn("ranks", alone.stderr)
        os.remove(several)

    def all_same(self, jobs):
        """Runs each job on some number of ranks with some output format."""
        for number, job in enumerate(jobs):
            with self.subTest(job=job):
                self.same(RANKS[number % len(RANKS)], ENDINGS[number % len(ENDINGS)], *job)


class OnRanks(PairsCase):
    def test_the_files_are_those_of_one_process(self):
        points = self.array("points.npy", 2600, 3)
        single = self.array("single.npy", 2600, 3, "<f4")
        others = self.array("others.npy", 700, 3, seed=2)
        weights = self.array("weights.npy", 2600, 1, low=-3, high=3)
        other_weights = self.array("other_weights.npy", 700, 1, seed=3, low=1, high=2)
        table = self.file("table.csv", "x,y\n" + "".join("%d,%s\n" % (row % 31, row * 7 % 50 / 4) for row in range(500)))
        edges = self.file("edges.csv", "0.5\n1\n2\n6\n")
        box = ("--box", "20,20,20", "--bin-width", 0.5)
        bins = ("--bin-width", 0.5, "--bins", 20)
        jobs = [
            (points, *bins),
            (single, *bins, "--centers", "--threads", 2),
            (points, "--edges", edges, "--cutoff", 5),
            (points, *box, "--rdf"),
            (points, "--box", "20,0,0,5,22,0,3,4,24", *bins[:2]),
            (points, *bins, "--box", "30,30,30", "--box-origin", "-1,-1,-1", "--cutoff", 4),
            (points, *bins, "--box", "5,5,5", "--fold", "--cutoff", 2.5),
            (points, *bins, "--cross", others, "--rdf", "--volume", 1000),
            (points, *bins, "--weights", weights),
            (points, *bins, "--cross", others, "--weights", weights, "--cross-weights", other_weights),
            (table, *bins),
            (table, *bins, "--columns", "y", "--dtype", "f32"),
            (self.array("two.npy", 2, 3), *bins),
            (self.array("alone.npy", 1, 3), *bins),
            *[(points, *bins, "--variant", variant)
              for variant in ("simd_brute_force", "simd-filter", "simd_cells", "simd_dual_tree")]]
        self.all_same(jobs)

    def test_gpus(self):
        points = self.array("points.npy", 2600, 3)
        bins = ("--bin-width", 0.5, "--bins", 20)
        if not any(gpu["usable"] for gpu in json.loads(self.succeed("info", "--json").stdout)["gpus"]):
            self.all_refused((3, 4, points, *bins, "--device", "gpu", {"says": ["no GPU can be used"]}),
                             (3, 4, points, *bins, "--variant", "cuda_filter", {"says": ["no GPU can be used"]}))
            return
        weights = self.array("weights.npy", 2600, 1, low=-3, high=3)
        for number, job in enumerate([(points, *bins), (points, *bins, "--box", "20,20,20"), (points, *bins, "--weights", weights)]):
            with self.subTest(job=job):
                self.same(RANKS[number], ".csv", *job, "--device", "gpu")
                self.succeed("pair-histogram", *job, "--device", "cpu", "-o", self.path("cpu.csv"))
                self.succeed("pair-histogram", *job, "--gpus", "0,0,0", "-o", self.path("gpus.csv"))
                for name in ("one.csv", "gpus.csv"):
                    self.assertEqual(content(self.path(name)), content(self.path("cpu.csv")), name)

    def test_frames_of_a_trajectory(self):
        water = self.trajectory()
        bins = ("--bin-width", 0.5, "--bins", 8)
        more = self.trajectory("more.xyz")
        self.all_same([(water, *job) for job in (
            bins,
            (*bins, "--partial", "--rdf"),
            (*bins, "--select", "type O", "--cross-select", "element H"),
            (*bins, "--select", "id 1-40", "--cross-select", "index 20-59", "--rdf"),
            (*bins, "--frames", "::2"),
            (*bins, "--frames", "-2:", "--cross", more, "--cross-select", "type O"),
            ("--bin-width", 0.25, "--box", "40,40,40", "--fold"))])

    def test_what_is_printed_is_printed_once(self):
        points = self.array("points.npy", 300, 3)
        job = ("pair-histogram", points, "--bin-width", 1, "--bins", 5)
        page = self.path("page.html")
        result = self.mpirun(3, *job, "--report", page)
        self.assertEqual((result.returncode, result.stdout), (0, self.succeed(*job).stdout), result.stderr)
        self.assertEqual(len(self.said(result)), 1, result.stderr)
        self.assertIn(b"</html>", content(page))
        summary = json.loads(self.mpirun(3, *job, "--json").stdout)
        self.assertEqual((summary["n"], summary["pairs"]), (300, 300 * 299 // 2))


class RanksFaults(PairsCase):
    BINS = ("--bin-width", 1, "--bins", 4)

    def test_wrong_input(self):
        points = self.array("points.npy", 300, 3)
        bad = write_npy(self.path("bad.npy"), "<f8", (300, 3), [float("nan") if at == 391 else at % 50 for at in range(900)])
        short = self.array("short.npy", 299, 1)
        edges = self.file("edges.csv", "1\n3\n2\n")
        cut = self.array("cut.npy", 300, 3)
        self.file("cut.npy", content(cut)[:-8])
        broken = self.file("broken.xyz", content(self.trajectory()) + b"7\nno atoms\n")
        self.all_refused(
            (3, 3, bad, *self.BINS, {"says": ["rank 0 of 3 (", "bad.npy': the value in row 130, column 1", "NaN"]}),
            (3, 3, self.path("none.npy"), *self.BINS, {"says": ["none.npy'", "No such file"]}),
            (3, 3, points, *self.BINS, "--cross", self.path("none.npy"), {"says": ["none.npy'", "No such file"]}),
            (3, 3, points, *self.BINS, "--cross", bad, {"says": ["rank 0 of 3 (", "bad.npy': the value in row 130"]}),
            (3, 3, points, *self.BINS, "--weights", short, {"says": ["short.npy'", "299 weights for 300 points"]}),
            (3, 3, points, "--edges", edges, {"says": ["edges.csv'", "rank 0 of 3 ("]}),
            (3, 3, cut, *self.BINS, {"says": ["cut.npy'", "are there"]}),
            (3, 3, broken, *self.BINS, {"says": ["broken.xyz:"]}),
            (3, 3, points, *self.BINS, "--box", "10,10,9", {"says": ["points.npy'", "outside the periodic box", "--fold"]}),
            (3, 3, points, "--bin-width", 5, "--bins", 5, "--box", "20,20,20", {"says": ["past half of the box"],
                                                                                 "status": 2}))

    def all_refused(self, *jobs):
        return super().all_refused(*[(job[0], job[-1].pop("status", job[1]), *job[2:]) for job in jobs])

    def test_what_differs_between_ranks(self):
        points = self.array("points.npy", 300, 3)
        self.all_refused(*[
            (1, 2, points, *own, {"others": [points, *theirs], "says": says}) for own, theirs, says in [
                (self.BINS, ("--bin-width", 2, "--bins", 4), ["rank 1 of 3", "--bin-width 2", "--bin-width 1", "same arguments"]),
                (self.BINS, (*self.BINS, "--box", "30,30,30"), ["--box 30,30,30", "nothing of that"]),
                (self.BINS, (*self.BINS, "--variant", "simd_filter"), ["rank 1 of 3", "variant=simd_filter", "variant=the best"])]])

    def test_files_of_one_name_that_differ(self):
        """Each rank reads a separate folder, as on machines with separate disks."""
        folders = [self.path("a"), self.path("b")]
        for number, folder in enumerate(folders):
            os.mkdir(folder)
            for name, n, d in (("points", 300, 3), ("others", 50, 3)):
                self.array(os.path.join(folder, name + ".npy"), n, d, seed=number if name == "others" else 7)
            self.trajectory(os.path.join(folder, "water.xyz"), frames=3 + number)
            self.file(os.path.join(folder, "kinds.xyz"), "2\n\nA 0 0 0\n%s 0 0 1\n" % "AB"[number])
        both = lambda *job: self.mpirun(1, "pair-histogram", *job, ":", "-n", 1, "-wdir", folders[1], GRADUS, "pair-histogram", *job,
                                        options=["-wdir", folders[0]])
        self.assertEqual(both("points.npy", *self.BINS).returncode, 0)
        for status, says, job in (
                (2, ["rank 1 of 2", "'others=50 x 3 with the hash"], ("points.npy", *self.BINS, "--cross", "others.npy")),
                (3, ["rank 1 of 2", "'others.npy': here it is another file than on rank 0"], ("others.npy", *self.BINS)),
                (3, ["rank 1 of 2", "'water.xyz': here it is another file than on rank 0"], ("water.xyz", *self.BINS)),
                (3, ["rank 1 of 2", "'kinds.xyz': here it is another file"], ("kinds.xyz", *self.BINS, "--partial"))):
            result = both(*job)
            self.assertEqual((result.returncode, result.stdout, len(self.said(result))), (status, "", 1), result.stderr)
            for expected in says:
                self.assertIn(expected, result.stderr)

    def test_what_needs_one_process(self):
        points = self.array("points.npy", 300, 3)
        self.all_refused(
            (2, 4, "-", *self.BINS, {"says": ["standard input", "name a file"]}),
            (2, 4, points, *self.BINS, "--weights", "-", {"says": ["standard input", "name a file"]}),
            (2, 4, points, *self.BINS, "--variant", "openmp_privatized", {"says": ["does not run on several ranks", "'simd_cells'"]}),
            (2, 4, points, *self.BINS, "--gpus", "2", {"says": ["one process for each GPU"]}),
            (2, 1, points, *self.BINS, "--memory-limit", "1K", {"says": ["rank 0 of 2 (", "needs", "the memory limit allows only"]}))

    def test_a_result_that_cannot_be_written(self):
        points = self.array("points.npy", 300, 3)
        result = self.mpirun(3, "pair-histogram", points, *self.BINS, "-o", self.path("none/out.csv"))
        self.assertEqual((result.returncode, len(self.said(result))), (1, 1), result.stderr)
        self.assertIn("none", self.said(result)[0])

    def test_asked_to_stop(self):
        """Interrupts only one rank."""
        self.succeed("generate", "uniform", "-n", 3000000, "-d", 3, "-o", self.path("points.npy"))
        out = self.path("out.csv")
        pids = self.path("pids")
        os.mkdir(pids)
        program = self.file("noted", '#!/bin/sh\necho $$ > "%s/$OMPI_COMM_WORLD_RANK"\nexec "%s" "$@"\n' % (pids, GRADUS))
        os.chmod(program, 0o755)
        job = self.start(3, "pair-histogram", self.path("points.npy"), "--bin-width", 0.001, "--bins", 900, "-o", out, program=program)
        self.addCleanup(job.kill)
        deadline = time.time() + 30
        while not os.path.exists(os.path.join(pids, "1")) or not content(os.path.join(pids, "1")):
            self.assertLess(time.time(), deadline)
            time.sleep(0.02)
        time.sleep(3)
        os.kill(int(content(os.path.join(pids, "1"))), signal.SIGTERM)
        started = time.time()
        _, stderr = job.communicate(timeout=60)
        self.assertLess(time.time() - started, 15)
        said = [line for line in stderr.splitlines() if line.startswith("gradus: ")]
        self.assertEqual((job.returncode, len(said)), (130, 1), stderr)
        self.assertIn("rank 1 of 3", said[0])
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    unittest.main()
