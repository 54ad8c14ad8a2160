"""Tests the command `gradus pair-histogram` as a user runs it. tests/cli/run.py runs this."""

import gzip
import itertools
import json
import math
import os
import signal
import struct
import subprocess

from kit import DATA, GRADUS, Case, InterruptCase, content, gradus, write_npy


# The jobs that tests/cli/cli_test.py runs (see tests/cli/run.py).
def json_jobs(case):
    return {"pair-histogram": [case.points(), "--bin-width", 1, "--bins", 3, "-o", case.path("h.csv")],
            "pair-counts": [case.points(), "--edges", case.file("rp.csv", "0\n1\n3\n"), "--pi-max", 3, "-o", case.path("pair-counts.csv")]}


def repeated_jobs(case):
    points, others = case.points(), case.file("others.csv", "1,2,3\n3,4,90\n5,6.5,0\n-1,0,7\n")
    weights = case.file("weights.csv", "".join(f"{number % 5}\n" for number in range(200)))
    trajectory = case.file("water.xyz", PairHistogram.WATER)
    bins = ["--bin-width", "0.30000000000000004", "--bins", 70]
    return {"pair-histogram": [
        ([points, *bins], ".csv"), ([points, *bins, "--weights", weights], ".npy"), ([points, *bins, "--cross", others], None),
        ([points, "--edges", case.file("edges.csv", "0.1\n30.000000000000004\n50\n")], ".json"),
        ([points, "--bin-width", "0.7", "--box", "90,130.5,131", "--box-origin=-1,-1,-1", "--periodic", "x", "--fold", "--cutoff", 20],
         ".csv"),
        ([points, "--bin-width", 5, "--cutoff", "1e2", "--dimensions", "y", "--rdf", "--volume", 3, "--centers"], ".csv"),
        ([trajectory, "--bin-width", 0.25, "--bins", 6, "--partial"], ".csv"),
        ([trajectory, "--bin-width", 0.25, "--select", "element O", "--cross-select", "element H", "--frames=-1:"], ".json"),
        ([points, *bins, "--variant", "sequential", "--dtype", "f64"], None),
    ]}


NARROWED = {
    "gradus verify pair-histogram --variant simd_filter --threads 1,2": "--case uniform_2x3",
    "gradus verify pair-histogram --variant openmp_privatized --threads 1,2": "--case uniform_2x3",
    "gradus bench pair-histogram": "--variants sequential --shape 500x3 --repeats 1",
    "gradus bench pair-histogram --data atoms.npy --bin-width 0.05 --cutoff 1 --box 40,40,40":
        "--variants simd_cells --repeats 1",
}
INPUTS = {
    "atoms.npy": "gradus generate uniform -n 2000 -d 3 --dtype f64 --high 40 -o atoms.npy",
    "stars.csv": "gradus generate uniform -n 300 -d 3 -o stars.csv",
    "galaxies.csv": "gradus generate uniform -n 200 -d 3 -o galaxies.csv",
    "galaxies.npy": "gradus generate uniform -n 2000 -d 3 --high 200 -o galaxies.npy",
    "randoms.csv": "gradus generate uniform -n 200 -d 3 -o randoms.csv",
    "radec.csv": "gradus generate uniform -n 200 -d 2 --high 90 -o radec.csv",
    "degrees.csv": "printf '0.1\\n0.5\\n2\\n' > degrees.csv",
    "rp.csv": "printf '0.5\\n1\\n2\\n4\\n8\\n16\\n' > rp.csv",
    "s.csv": "printf '1\\n5\\n10\\n' > s.csv",
    "edges.csv": "printf '0.1\\n0.5\\n2\\n' > edges.csv",
    "water.xyz": "for frame in 1 2 3 4; do printf '6\\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\\n"
                 "O 1 1 %s\\nH 2 1 1\\nH 1 2 1\\nO 4 4 4\\nH 5 4 4\\nH 4 5 4\\n' $frame; done > water.xyz",
    "water.gro": "printf 'water\\n    2\\n    1SOL     OW    1   0.100   0.100   0.100\\n    1SOL    HW1    2   0.200   0.100"
                 "   0.100\\n   2.0   2.0   2.0   0.0   0.0   0.5   0.0   0.5   0.5\\n' > water.gro",
    "trajectory.xyz": "printf '2\\nLattice=\"9 0 0 0 9 0 0 0 9\"\\nH 0 0 0\\nH 1 1 1\\n' > trajectory.xyz",
    "traj.xtc": "echo AAAHywAAAAYAAAAAAAAAAEBAAAAAAAAAAAAAAAAAAABAQAAAAAAAAAAAAAAAAAAAQEAAAAAAAAZAG8aoPoMSbz8Jul9AIeuFPoMSbz8Ju"
                "l9AGj1xPrKwIT8Jul8/NcKPPwtDlkAZysE/TlYFPwtDlkAZysE/L52zPyMSb0AZysEAAAfLAAAABgAAAAEAAAAAQEAAAAAAAAAAAAAAAAAAAEB"
                "AAAAAAAAAAAAAAAAAAABAQAAAAAAABkAm2Rc/33ztPfGp+0As/fQ/33ztPfGp+0AlT98/62RaPfGp+z6QYk4/fvnbP6ZFoj7BiTc/fvnbP6ZFo"
                "j6EGJM/i2RbP6ZFog== | base64 -d > traj.xtc",
}


class PairCounts(Case):
    """Tests the command `gradus pair-counts`."""

    def count(self, *arguments):
        lines = self.succeed("pair-counts", *arguments).stdout.splitlines()
        return lines[0], [line.split(",")[-1] for line in lines[1:]]

    def test_bins(self):
        points = self.file("points.csv", "x,y,z\n0,0,0\n0,0,2\n0,3,2\n0,9,0\n")
        edges = self.file("edges.csv", "0\n1\n3.5\n")
        head, counts = self.count(points, "--edges", edges, "--pi-max", 3, "--pi-bins", 3, "--line-of-sight", "z")
        self.assertEqual((head, counts), ("rp_min,rp_max,pi_min,pi_max,count", ["0", "0", "1", "1", "0", "1"]))
        head, counts = self.count(points, "--edges", edges, "--pi-max", 3, "--pi-bins", 3, "--box", "10,10,10")
        self.assertEqual(counts, ["0", "0", "1", "2", "0", "2"])
        head, counts = self.count(points, "--edges", edges, "--kind", "s_mu", "--mu-bins", 2, "--line-of-sight", "y")
        self.assertEqual((head, counts), ("s_min,s_max,mu_min,mu_max,count", ["0", "0", "1", "0"]))  # mu = 1 is in no bin
        weights = self.file("weights.csv", "1\n2\n3\n4\n")
        head, counts = self.count(points, "--edges", edges, "--pi-max", 3, "--pi-bins", 1, "--line-of-sight", "z", "--weights", weights)
        self.assertEqual((head, counts), ("rp_min,rp_max,pi_min,pi_max,count,weighted", ["2", "9"]))

    def test_the_sky(self):
        points = self.file("sky.csv", "ra,dec,distance\n0,0,10\n360,0,11\n0,90,10\n180,90,12\n")
        edges = self.file("edges.csv", "0\n1\n91\n")
        self.assertEqual(self.count(points, "--columns", "ra,dec", "--kind", "theta", "--edges", edges), ("theta_min,theta_max,count", ["2", "4"]))
        self.assertEqual(self.count(points, "--sky", "--edges", edges, "--pi-max", 3)[1], ["0", "1", "1", "1", "2", "1"])
        turned = self.file("turned.csv", "DEC,ra\n0,0\n0,360\n")
        self.refused(3, "pair-counts", turned, "--kind", "theta", "--edges", edges, says=["turned.csv", "column 1", "'DEC'", "ra,dec", "--columns"])
        self.assertEqual(self.count(turned, "--columns", "ra,DEC", "--kind", "theta", "--edges", edges)[1], ["1", "0"])
        self.refused(3, "pair-counts", self.file("zyx.csv", "z,y,x\n1,2,3\n"), "--pi-max", 3, "--edges", edges, says=["'z'", "x,y,z"])

    def test_columns_of_cross_are_found_by_name(self):
        points, edges = self.file("a.csv", "x,y,z\n0,0,0\n9,0,2\n"), self.file("edges.csv", "0\n1\n3\n")
        turned = self.file("b.csv", "z,x,y,w\n0,9,0,1\n2,0,0,1\n")  # in columns x, y, z: 9,0,0 and 0,0,2
        job = (points, "--edges", edges, "--cross", turned)
        pi = ("--pi-max", 3, "--pi-bins", 1, "--line-of-sight", "z")
        self.assertEqual(self.count(*job, *pi)[1], ["2", "0"])
        self.assertEqual(self.succeed("pair-histogram", *job).stdout, "lo,hi,count\n0,1,0\n1,3,2\n")
        for command in (["pair-counts", *job, *pi], ["pair-histogram", *job]):
            self.refused(3, *command, "--columns", "1-3", says=["b.csv", "'z,x,y'", "'x,y,z'", "--columns"])
            self.succeed(*command, "--columns", "x,y,z")
        partly = self.file("c.csv", "z,x,q\n0,9,0\n")
        self.refused(3, "pair-counts", points, "--edges", edges, "--cross", partly, *pi, says=["c.csv", "no column 'y'", "a.csv' has"])
        self.succeed("pair-counts", points, "--edges", edges, "--cross", self.file("d.csv", "X,Y,Z\n0,9,0\n"), *pi)

    def test_too_little_memory_names_a_remedy(self):
        points, edges = self.points(n=3000), self.file("edges.csv", "0\n1\n2\n")
        many = ("--pi-max", 3, "--pi-bins", 10000, "--threads", 4)
        for job, limit, word in ((many, "5300K", "3 threads need little enough"), (many, "3300K", "one thread needs"),
                                 (many, "900K", "fewer bins or regions need less"), (("--pi-max", 3), "10K", "parts of the catalogue"),
                                 (("--pi-max", 3), "1", "parts of the catalogue")):
            self.refused(1, "pair-counts", points, "--edges", edges, *job, "--memory-limit", limit, says=["the job needs", word])
        for threads, limit in ((3, "5300K"), (1, "3300K")):
            self.succeed("pair-counts", points, "--edges", edges, *many[:-1], threads, "--memory-limit", limit)

    def test_the_default_number_of_bins(self):
        points, edges = self.points(), self.file("edges.csv", "0\n1\n")
        for most, ends in (("0.5", ["0.5"]), ("2.5", ["1.25", "2.5"])):
            lines = self.succeed("pair-counts", points, "--edges", edges, "--pi-max", most).stdout.splitlines()[1:]
            self.assertEqual([line.split(",")[3] for line in lines], ends)
        self.refused(2, "pair-counts", points, "--edges", edges, "--pi-max", 1e9, says=["--pi-bins", "16777216"])
        many = self.file("many.csv", "".join(f"{edge}\n" for edge in range(1000)))
        self.refused(2, "pair-counts", points, "--edges", many, "--pi-max", 1e6, says=["--pi-bins", "268"])

    def test_faults_of_cross_name_its_file(self):
        points, edges = self.file("a.csv", "ra,dec,d\n1,2,3\n2,3,5\n"), self.file("edges.csv", "0\n1\n")
        for others, arguments, says in (
            ("0,0,1\n0,91,2\n", ["--sky"], ["c.csv", "declination in row 1"]),
            ("0,0,1\n0,0,-2\n", ["--sky"], ["c.csv", "distance in row 1", "-2"]),
            ("0,0\n", ["--sky"], ["c.csv", "2 columns"]), ("1,2,30\n", ["--box", "6,6,6"], ["c.csv", "column z", "30"]),
        ):
            self.refused(3, "pair-counts", points, "--edges", edges, "--pi-max", 1, *arguments, "--cross", self.file("c.csv", others),
                         says=says)
        self.refused(3, "pair-counts", self.file("n.csv", "0,0,-1\n"), "--edges", edges, "--pi-max", 1, "--sky", says=["n.csv", "row 0", "-1"])

    def test_weights_of_rows_that_are_left_out(self):
        points, edges = self.file("a.csv", "x,y,z\n1,2,3\n,2,3\n1,2,3\n"), self.file("edges.csv", "0\n1\n")
        job = (points, "--edges", edges, "--pi-max", 1, "--missing", "drop-rows", "--weights")
        weights = self.file("w.csv", "2\n100\n3\n")
        self.assertEqual(self.count(*job, weights)[1], ["6"])
        self.assertEqual(self.count(*job, weights, "--cross", points, "--cross-weights", weights)[1], ["25"])
        result = gradus("pair-counts", *job, self.file("v.csv", "2\n3\n"))
        self.assertEqual(result.returncode, 3)
        self.assertIn("v.csv': 2 values for 3 rows, of which 1 lacks a number and is left out", result.stderr)

    def test_refusals(self):
        points, edges = self.points(), self.file("edges.csv", "0\n1\n")
        theta, second = ["--kind", "theta"], ["--second-edges", edges]
        for arguments, status, word in (
            ([*second, "--pi-max", 1], 2, "--pi-max has no effect: --second-edges"), ([*second, "--pi-bins", 1], 2, "--pi-bins has no effect"),
            ([*second, "--kind", "s_mu", "--mu-max", 1], 2, "--mu-max has no effect"),
            ([*second, "--kind", "s_mu", "--mu-bins", 1], 2, "--mu-bins has no effect"),
            ([*theta, "--line-of-sight", "z"], 2, "--line-of-sight has no effect"), ([*theta, "--box", "1,1,1"], 2, "take no box"),
            (["--pi-max", 1, "--gpus", "auto"], 4, "CPU"), (["--pi-max", 1, "--gpu-memory-limit", "1G"], 2, "has no effect"),
            (["--pi-max", 1, "--box", "9,9"], 2, "three lengths"), (["--pi-max", 1, "--box", "9,0,0,0,9,0,0,0,9"], 2, "three lengths"),
            (["--pi-max", 1, "--kind", "theta"], 2, "--pi-max"), ([], 2, "--pi-max"), (["--kind", "s_mu"], 2, "--mu-bins"),
            (["--kind", "theta"], 3, "right ascension"), (["--pi-max", 1, "--device", "gpu"], 4, "CPU"),
            (["--pi-max", 1, "--box", "1,1,1"], 2, "half of the box"), (["--pi-max", 1, "--cross-weights", edges], 2, "--cross"),
        ):
            self.refused(status, "pair-counts", points, "--edges", edges, *arguments, says=[word])


class PairHistogram(Case):
    POINTS = "x,y\n0,0\n3,4\n0,1\n6,8\n"  # the distances are 5, 1, 10, sqrt(18), 5 and sqrt(85)

    def rows(self, text):
        lines = text.splitlines()
        return lines[0], [line.split(",") for line in lines[1:]]

    def test_csv_on_standard_output(self):
        result = self.succeed("pair-histogram", self.file("p.csv", self.POINTS), "--bin-width", 2.5, "--bins", 4)
        self.assertEqual(result.stdout, "lo,hi,count\n0,2.5,1\n2.5,5,1\n5,7.5,2\n7.5,10,1\n")
        self.assertIn("6 pairs: 5 in 4 bins, 1 beyond", result.stderr)
        again = self.succeed("pair-histogram", "-", "--bin-width", 2.5, "--bins", 4, "--quiet", stdin=self.POINTS)
        self.assertEqual((again.stdout, again.stderr), (result.stdout, ""))

    def test_file(self):
        points, out = self.file("p.csv", self.POINTS), self.path("h.csv")
        result = self.succeed("pair-histogram", points, "--bin-width", 5, "--bins", 2, "-o", out)
        self.assertEqual(result.stdout, "")
        self.assertIn("wrote", result.stderr)
        self.assertEqual(content(out, "r"), "lo,hi,count\n0,5,2\n5,10,3\n")
        self.refused(1, "pair-histogram", points, "--bin-width", 5, "--bins", 2, "-o", self.path("no/such/h.csv"),
                     says=["no/such/h.csv"])
        self.refused(3, "pair-histogram", self.file("bad.csv", "1,2\n3,nan\n"), "--bin-width", 5, "--bins", 2, "-o", out)
        self.assertEqual(content(out, "r"), "lo,hi,count\n0,5,2\n5,10,3\n")  # the file has not changed
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.csv", "h.csv", "p.csv"])

    def test_published_table(self):
        points = self.path("lab.npy")
        self.succeed("generate", "lab-atoms", "-n", 10000, "-o", points)
        golden = content(os.path.join(DATA, "pair-histogram-10000-500.csv"), "r")
        self.assertEqual(self.succeed("pair-histogram", points, "--bin-width", 500, "--bins", 80).stdout, golden)

    def test_edges_cutoff_and_below(self):
        points = self.file("p.csv", self.POINTS)
        edges = self.file("edges.csv", "2\n5\n9\n20\n")
        answer = json.loads(self.succeed("pair-histogram", points, "--edges", edges, "--json").stdout)
        self.assertEqual((answer["counts"], answer["below"], answer["beyond"]), ([1, 2, 2], 1, 0))
        answer = json.loads(self.succeed("pair-histogram", points, "--edges", edges, "--cutoff", 6, "--json").stdout)
        self.assertEqual((answer["edges"], answer["counts"], answer["beyond"]), ([2, 5, 6], [1, 2], 2))
        text = self.succeed("pair-histogram", points, "--bin-width", 2, "--cutoff", 5).stdout
        self.assertEqual(text, "lo,hi,count\n0,2,1\n2,4,0\n4,5,1\n")

    def test_box_and_rdf(self):
        # In a periodic lattice of 4 x 4 x 4, a point has 6 neighbours at distance 1, 12 at sqrt(2) and 8 at sqrt(3).
        text = "".join("%d,%d,%d\n" % (row % 4, row // 4 % 4, row // 16) for row in range(64))
        points = self.file("p.csv", text)
        edges = self.file("edges.csv", "0.5\n1.2\n1.5\n1.9\n")
        result = self.succeed("pair-histogram", points, "--edges", edges, "--box", "4,4,4", "--rdf")
        header, rows = self.rows(result.stdout)
        self.assertEqual(header, "lo,hi,count,g,density,coordination")
        self.assertEqual([row[2] for row in rows], ["192", "384", "256"])
        self.assertEqual([float(row[5]) for row in rows], [6, 18, 26])
        shell = 4 / 3 * 3.141592653589793 * (1.2**3 - 0.5**3)
        self.assertAlmostEqual(float(rows[0][4]), 6 / shell, places=12)
        self.assertAlmostEqual(float(rows[0][3]), 192 / (64 * 63 / 2) / (shell / 64), places=12)
        twice = self.succeed("pair-histogram", points, "--edges", edges, "--box", "4,4,4", "--rdf", "--volume", 128)
        self.assertAlmostEqual(float(self.rows(twice.stdout)[1][0][3]), 2 * float(rows[0][3]), places=12)
        half = self.succeed("pair-histogram", points, "--bin-width", 0.75, "--box", "4,4,4").stdout
        self.assertEqual([row[:2] for row in self.rows(half)[1]], [["0", "0.75"], ["0.75", "1.5"], ["1.5", "2"]])
        moved = self.file("m.csv", "".join("%d,%d,%d\n" % (row % 4 - 2, row // 4 % 4 - 2, row // 16 - 2) for row in range(64)))
        self.assertEqual(self.succeed("pair-histogram", moved, "--edges", edges, "--box", "4,4,4", "--box-origin",
                                      "-2,-2,-2", "--rdf").stdout, result.stdout)

    def test_frames_add_up(self):
        box = 'Lattice="4 0 0 0 4 0 0 0 4"'
        lattice = "".join("Ar %d %d %d\n" % (row % 4, row // 4 % 4, row // 16) for row in range(64))
        one, two = "64\n%s\n" % box + lattice, "64\npbc=\"T T T\" " + box + "\n" + lattice
        edges = self.file("edges.csv", "0.5\n1.2\n1.5\n1.9\n")
        single = self.succeed("pair-histogram", self.file("one.xyz", one), "--edges", edges, "--rdf")
        both = self.succeed("pair-histogram", self.file("two.xyz", one + two), "--edges", edges, "--rdf")
        self.assertEqual([row[2] for row in self.rows(single.stdout)[1]], ["192", "384", "256"])
        self.assertEqual([row[2] for row in self.rows(both.stdout)[1]], ["384", "768", "512"])
        self.assertEqual([row[3:] for row in self.rows(both.stdout)[1]], [row[3:] for row in self.rows(single.stdout)[1]])
        self.assertIn("128 points x 3 in 2 frames (f64)", both.stderr)
        answer = json.loads(self.succeed("pair-histogram", self.path("two.xyz"), "--bin-width", 0.75, "--json").stdout)
        self.assertEqual((answer["frames"], answer["n"], answer["box"]), (2, 64, [4, 4, 4]))
        self.assertEqual((answer["edges"], answer["pairs"]), ([0, 0.75, 1.5, 2], 2 * 64 * 63 // 2))
        half = json.loads(self.succeed("pair-histogram", self.path("two.xyz"), "--cross", self.path("two.xyz"),
                                       "--bin-width", 1, "--json").stdout)
        self.assertEqual((half["cross"], half["pairs"], half["counts"]), (64, 2 * 64 * 64, [2 * 64, 2 * 64 * 26]))

    def test_a_box_of_the_file_that_is_out_of_range(self):
        path = self.file("far.xyz", '1\nLattice="1e306 0 0 0 1 0 0 0 1"\nO 0 0 0\n')
        job = ("pair-histogram", path, "--bin-width", ".1", "--bins", 4)
        self.refused(3, *job, says=["far.xyz", "1e+306", "in frame 0"])
        self.refused(2, *job, "--box", "1e306,1,1", says=["box", "1e+306"])

    def test_frames_with_and_without_a_box(self):
        lattice = 'Lattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3'
        frames = {True: "2\n%s\nC 0 0 0\nC 8 0 0\n" % lattice, False: "2\nfree\nC 0 0 0\nC 8 0 0\n"}
        for first in (True, False):
            path = self.file("mixed.xyz", frames[first] + frames[not first])
            self.refused(3, "pair-histogram", path, "--bin-width", 1, "--bins", 4,
                         says=["(in frame 1, counted from 0)", "is periodic", "is not", "--box"])
            result = self.succeed("pair-histogram", path, "--bin-width", 1, "--bins", 4, "--box", "9,9,9")
            self.assertIn("\n1,2,2\n", result.stdout)

    def test_edges_where_squares_lose_digits(self):
        path = self.file("points.csv", "x\n1e-170\n2e-170\n4e-170\n")
        result = self.succeed("pair-histogram", path, "--bin-width", "1e-171", "--bins", 3)
        self.assertIn("scale the points up", result.stderr)
        result = self.succeed("pair-histogram", path, "--bin-width", "1e-100", "--bins", 3)
        self.assertNotIn("scale", result.stderr)

    def test_lammps_dump(self):
        head = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n-5 5\n-5 5\n-5 5\n"
        dump = self.file("a.lammpstrj", head + "ITEM: ATOMS id xs ys zs\n1 0.05 0.5 0.5\n2 0.95 0.5 0.5\n")
        self.assertEqual(self.succeed("pair-histogram", dump, "--bin-width", 2.5).stdout, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        given = self.succeed("pair-histogram", dump, "--bin-width", 2.5, "--box", "10,10,10")  # the corner comes from the file
        self.assertEqual(given.stdout, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        unwrapped = self.file("u.dump", head + "ITEM: ATOMS id xu yu zu\n1 -4.5 0 20\n2 14.5 30 0\n")
        folded = self.succeed("pair-histogram", unwrapped, "--bin-width", 2.5)
        self.assertEqual(folded.stdout, "lo,hi,count\n0,2.5,1\n2.5,5,0\n")
        self.assertIn("2 atoms of 1 frame, outside the file's box, were moved into it", folded.stderr)
        asked = self.succeed("pair-histogram", unwrapped, "--bin-width", 2.5, "--fold")
        self.assertEqual((asked.stdout, "outside the file's box" in asked.stderr), (folded.stdout, False))
        # A box given by the user may be incorrect.
        self.refused(3, "pair-histogram", unwrapped, "--bin-width", 2.5, "--box", "10,10,10",
                     says=["u.dump", "outside the periodic box", "--fold", "frame 0"])
        points = self.file("p.csv", "1,2,3\n")
        self.refused(2, "pair-histogram", points, "--bin-width", 1, "--bins", 2, "--fold", says=["--fold needs a periodic box"])
        for box, says in (("20", "--box has 1 length, but the points have 3 coordinates; give one length for each, such as --box 20,20,20"),
                          ("20,30", "--box has 2 lengths"), ("1,2,3,4", "--box: there are 4 numbers; a box has one length"),
                          ("9,0,0,18,0,0,0,0,9", "--box: the three vectors of the cell are nearly in a plane")):
            self.refused(2, "pair-histogram", points, "--bin-width", 1, "--bins", 2, "--box", box, says=[says])

    # Two molecules of water in a box: two O and four H. In each molecule, one H is at distance 1 from the O along x,
    # the other along y.
    WATER = ('6\nLattice="20 0 0 0 20 0 0 0 20" Properties=species:S:1:pos:R:3:id:I:1\n'
             "O 1 1 1 11\nH 2 1 1 12\nH 1 2 1 13\nO 5 1 1 21\nH 6 1 1 22\nH 5 2 1 23\n")

    def counts(self, *arguments, **named):
        return json.loads(self.succeed("pair-histogram", *arguments, "--json", **named).stdout)

    def test_selections(self):
        water = self.file("w.xyz", self.WATER)
        job = (water, "--bin-width", 1, "--bins", 6)
        # Distances O-O: 4. Distances O-H: 1 (four times), 3, 5 and sqrt(17) (twice). Distances H-H: sqrt(2) (twice), 4 (twice),
        # sqrt(26) and sqrt(10).
        whole = self.counts(*job)
        self.assertEqual((whole["pairs"], whole["counts"]), (15, [0, 6, 0, 2, 5, 2]))
        for one, n, pairs, counts in (
            ("type O", 2, 1, [0, 0, 0, 0, 1, 0]),
            ("element H", 4, 6, [0, 2, 0, 1, 2, 1]),
            ("name O H", 6, 15, whole["counts"]),
            ("all", 6, 15, whole["counts"]),
            ("id 11,21", 2, 1, [0, 0, 0, 0, 1, 0]),
            ("id 11-13", 3, 3, [0, 3, 0, 0, 0, 0]),
            ("index 0-2", 3, 3, [0, 3, 0, 0, 0, 0]),
            ("not type O", 4, 6, [0, 2, 0, 1, 2, 1]),
            ("type H and (index 0-2 or id 22)", 3, 3, [0, 1, 0, 0, 1, 1]),
        ):
            answer = self.counts(*job, "--select", one)
            self.assertEqual((answer["n"], answer["pairs"], answer["counts"]), (n, pairs, counts), one)
        cross = self.counts(*job, "--select", "type O", "--cross-select", "type H")
        self.assertEqual((cross["n"], cross["cross"], cross["pairs"], cross["counts"]), (2, 4, 8, [0, 4, 0, 1, 2, 1]))
        again = self.counts(*job, "--select", "type O", "--cross", water, "--cross-select", "type H")
        self.assertEqual(again["counts"], cross["counts"])
        # If two selections are equal, each pair within the selection counts once. If two selections overlap, no atom is
        # paired with itself.
        same = self.counts(*job, "--select", "type O", "--cross-select", "index 0,3")
        self.assertEqual((same["cross"], same["pairs"], same["counts"]), (0, 1, [0, 0, 0, 0, 1, 0]))
        around = self.counts(*job, "--select", "type O", "--cross-select", "all", "--rdf")
        self.assertEqual((around["pairs"], around["counts"]), (10, [0, 4, 0, 1, 4, 1]))
        self.assertEqual(around["coordination"][-1], 5)
        shell = 4 / 3 * 3.141592653589793 * (2**3 - 1)
        self.assertAlmostEqual(around["g"][1], 4 / (10 * shell / 8000), places=9)
        weights = self.file("weights.csv", "1\n2\n3\n4\n5\n6\n")
        weighted = self.counts(*job, "--select", "type O", "--weights", weights)
        self.assertEqual(weighted["weighted"][4], 4)
        between = self.counts(*job, "--select", "type O", "--cross-select", "type H", "--weights", weights)
        self.assertEqual(between["weighted"][1], 1 * 2 + 1 * 3 + 4 * 5 + 4 * 6)

    def test_selections_that_are_equal_in_some_frames(self):
        head = '3\nLattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3\nO 1 1 1\nO 2 1 1\n'
        equal, other, empty = head + "O 1 2 1\n", head + "O 1 2 6\n", head.replace(" 1\n", " 9\n") + "O 1 2 9\n"
        # Within 5: three pairs, each in both orders; one pair in both orders; no atom in the second selection.
        frames = {"e": (equal, 6), "o": (other, 2), "n": (empty, 0)}
        for order in ("eo", "oe", "en", "ne", "eoe", "neo", "oeen"):
            path = self.file(f"{order}.xyz", "".join(frames[one][0] for one in order))
            job = (path, "--bin-width", 5, "--bins", 1, "--select", "all", "--cross-select", "z :5", "--rdf")
            answer = self.counts(*job, "--blocks", len(order))
            count = sum(frames[one][1] for one in order)
            self.assertEqual(answer["counts"], [count], order)
            self.assertAlmostEqual(answer["coordination"][0], count / (3 * len(order)), msg=order)
            shares = [frames[one][1] / 3 for one in order]
            mean = sum(shares) / len(shares)
            error = (sum((share - mean) ** 2 for share in shares) / (len(shares) - 1) / len(shares)) ** 0.5
            self.assertAlmostEqual(answer["coordination_error"][0], error, msg=order)
        self.assertEqual(self.counts(self.file("ee.xyz", 2 * equal), *job[1:])["counts"], [6])
        weights = self.file("weights.csv", "1\n2\n3\n")
        self.refused(3, "pair-histogram", self.path("ne.xyz"), *job[1:], "--weights", weights, says=["cannot be weighted"])

    def test_blocks_without_pairs_do_not_count(self):
        head = '{}\nLattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3\n'
        full = "".join(head.format(3) + f"O 1 1 1\nO 2 1 1\nO 1 {y} 1\n" for y in (2, 4, 6))
        job = ("--bin-width", 2, "--bins", 2, "--rdf", "--select", "z :5", "--blocks")
        alone = self.counts(self.file("full.xyz", full), *job, 3)
        self.assertGreater(alone["g_error"][0], 0)
        one = self.counts(self.file("one.xyz", full + head.format(1) + "O 1 1 1\n"), *job, 4)
        none = self.counts(self.file("none.xyz", full + head.format(1) + "O 1 1 9\n"), *job, 4)
        self.assertEqual((one["g_error"], none["g_error"], none["coordination_error"]),
                         (alone["g_error"], alone["g_error"], alone["coordination_error"]))

    def test_report(self):
        water, page = self.file("w.xyz", self.WATER), self.path("page.html")
        answer = json.loads(self.succeed("pair-histogram", water, "--bin-width", 1, "--bins", 6, "--rdf", "--report", page, "--json").stdout)
        charts = self.charts_of(page)
        for key in ("counts", "g", "density", "coordination"):
            self.assertEqual([float(row[1]) for row in charts[key][1:]], answer[key], key)
        self.assertEqual([row[0] for row in charts["g"][1:]], ["0.5", "1.5", "2.5", "3.5", "4.5", "5.5"])
        answer = json.loads(self.succeed("pair-histogram", water, "--bin-width", 1, "--bins", 6, "--rdf", "--partial", "--report", page,
                                         "--json").stdout)
        charts = self.charts_of(page)
        for key in ("counts", "g", "coordination"):  # a chart shows all kinds of pairs together
            self.assertEqual(charts[key][0][1:], ["H-H", "H-O", "O-O"])
            self.assertEqual([[float(cell) for cell in row[1:]] for row in charts[key][1:]],
                             [list(row) for row in zip(*(part[key] for part in answer["partial"]))], key)
        self.refused_to_overwrite([water], "pair-histogram", water, "--bin-width", 1, "--report", water)

    def test_selections_of_no_atom(self):
        """A selection that no frame matches is refused and says what there is."""
        water = self.file("w.xyz", self.WATER)
        job = ("pair-histogram", water, "--bin-width", 1, "--bins", 6)
        for text in ("type O and type H", "not all", "x 90:100", "index 0 and index 1"):
            for option in ("--select", "--cross-select"):
                self.refused(3, *job, option, text, says=["w.xyz", option, "matches none of the 6 atoms", "types O, H", "x from"])
        self.refused(3, *job, "--partial", "--select", "not all", says=["matches none of the 6 atoms"])
        two = self.file("two.xyz", self.WATER + self.WATER.replace("O 5 1 1", "O 8 1 1"))
        self.assertIn("in 2 frames", self.succeed("pair-histogram", two, *job[2:], "--select", "x 7.5:8.5").stderr)
        self.refused(3, "pair-histogram", two, *job[2:], "--select", "x 90:", says=["two.xyz", "--select 'x 90:'", "matches none"])
        table = self.file("p.csv", "0,0,0\n3,4,0\n")
        self.refused(3, "pair-histogram", table, *job[2:], "--select", "z 5:6", says=["p.csv", "z from 0 to 0"])

    def test_topology_that_has_no_use(self):
        water = self.file("w.xyz", self.WATER)
        job = ("pair-histogram", water, "--bin-width", 1, "--bins", 6, "--topology", water)
        for use in ((), ("--select", "index 0-2"), ("--cross-select", "x 0:9"), ("--rdf",),
                    ("--cross", water, "--cross-select", "type O")):
            self.refused(2, *job, *use, says=["--topology has no effect: it needs --partial", "--select"])
        for use in (("--select", "not type O"), ("--cross-select", "type O"), ("--partial",)):
            self.succeed(*job, *use)

    def test_bad_selections(self):
        water = self.file("w.xyz", self.WATER)
        job = ("pair-histogram", water, "--bin-width", 1, "--bins", 6)
        for text, says in (
            ("typ O", ["--select", "character 1", "atoms cannot be selected by 'typ'", "did you mean 'type'?"]),
            ("type", ["character 5", "a value is expected behind 'type'"]),
            ("type O and", ["character 11", "the selection ends too early"]),
            ("(type O", ["character 8", "a closing parenthesis"]),
            ("type O) or all", ["character 7", "'and', 'or' or the end is expected, not ')'"]),
            ("index 5-2", ["the range '5-2' ends before it begins"]),
            ("id x", ["'x' is not an integer"]),
            ("index -1", ["'-1' is not an integer"]),
            ("id 1,", ["a value is expected behind the comma"]),
            ("", ["the selection is empty"]),
            ("O", ["cannot be selected by 'O' alone; write 'element O', 'type O' or 'name O'; selections are made of"]),
            (")", ["cannot be selected by ')'; selections"]),
            ("z 5", ["'5' is not a range of coordinates A:B, with A below B"]),
            ("not " * 200 + "all", ["more than 100 levels"]),
        ):
            self.refused(2, *job, "--select", text, says=says)
        for text, says in (
            ("type N", ["w.xyz", "no atom has the type 'N'; there are O, H", "frame 0"]),
            ("residue SOL", ["the file gives the atoms no residue; select by 'x'", "'type'"]),
            ("id 1-10", ["no atom has an id from 1 to 10; they go from 11 to 23"]),
            ("index 0-6", ["there is no index 6: there are 6 atoms"]),
        ):
            self.refused(3, *job, "--select", text, says=says)
            self.refused(3, *job, "--cross-select", text, says=says)
        table = self.file("p.csv", "0,0,0\n3,4,0\n9,9,9\n")
        self.refused(3, "pair-histogram", table, *job[2:], "--select", "type O", says=["p.csv", "the atoms no type", "'index'"])
        self.refused(3, "pair-histogram", table, *job[2:], "--partial", says=["p.csv", "--partial", "of what kind"])
        picked = self.succeed("pair-histogram", table, *job[2:], "--select", "index 0,1")
        self.assertIn("\n5,6,1\n", picked.stdout)
        self.refused(3, *job, "--select", "index 0-2", "--cross-select", "type O", "--weights",
                     self.file("weights.csv", "1\n" * 6), says=["1 atoms are in both selections"])
        for more, says in ((("--cross", water), "--cross"), (("--cross-select", "all"), "--cross-select"),
                           (("--weights", table), "--weights")):
            self.refused(2, *job, "--partial", *more, says=["--partial has no effect", says])

    def test_partial(self):
        water = self.file("w.xyz", self.WATER + self.WATER.replace("O 5 1 1", "O 5 1 1.5"))
        job = (water, "--bin-width", 1, "--bins", 6, "--rdf")
        header, rows = self.rows(self.succeed("pair-histogram", *job, "--partial").stdout)
        self.assertEqual(header, "lo,hi,count_H-H,g_H-H,coordination_H-H,count_H-O,g_H-O,coordination_H-O,"
                         "coordination_O-H,count_O-O,g_O-O,coordination_O-O")
        for first, second, columns in (("H", "H", (2, 3, 4)), ("H", "O", (5, 6, 7)), ("O", "H", (5, 6, 8)), ("O", "O", (9, 10, 11))):
            alone = self.counts(*job, "--select", "type " + first, "--cross-select", "type " + second)
            self.assertEqual([int(row[columns[0]]) for row in rows], alone["counts"])
            for bin, row in enumerate(rows):
                self.assertAlmostEqual(float(row[columns[1]]), alone["g"][bin], places=12)
                self.assertAlmostEqual(float(row[columns[2]]), alone["coordination"][bin], places=12)
        answer = self.counts(*job, "--partial")
        self.assertEqual([part["kinds"] for part in answer["partial"]], [["H", "H"], ["H", "O"], ["O", "O"]])
        self.assertEqual(sum(part["pairs"] for part in answer["partial"]), 2 * 15)
        self.assertEqual((answer["n"], answer["frames"]), (6, 2))
        self.succeed("pair-histogram", *job, "--partial", "-o", self.path("h.npy"))
        self.assertIn(b"'coordination_O-H'", content(self.path("h.npy")))
        only = self.succeed("pair-histogram", *job, "--partial", "--select", "type O").stdout
        self.assertEqual(only.splitlines()[0], "lo,hi,count_O-O,g_O-O,coordination_O-O")
        changed = self.file("c.xyz", self.WATER + self.WATER.replace("O 5", "S 5"))
        self.refused(3, "pair-histogram", changed, *job[1:], "--partial", says=["kinds of atoms differ from the first", "frame 1"])
        dump = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n"
                         "ITEM: ATOMS id type x y z\n7 10 0 0 0\n3 2 1 0 0\n5 2 3 0 0\n")
        text = self.succeed("pair-histogram", dump, "--bin-width", 1, "--bins", 4, "--partial").stdout
        self.assertEqual(text, "lo,hi,count_2-2,count_2-10,count_10-10\n0,1,0,0,0\n1,2,0,1,0\n2,3,1,0,0\n3,4,0,1,0\n")

    def test_frames(self):
        path = self.file("t.xyz", "".join("2\n\nH 0 0 0\nH %d.5 0 0\n" % frame for frame in range(7)))
        job = ("pair-histogram", path, "--bin-width", 1, "--bins", 7)
        for text in ("0", "3", "-1", "-7", "2:5", "2:", ":3", ":", "::2", "1::3", "-3:", ":-5", "::-1", "5:1:-2", "::-3",
                     "100:2:-1", "-100:3", "3:100", "6:-8:-1"):
            wanted = [0] * 7
            parts = [int(part) if part else None for part in text.split(":")]
            for frame in [range(7)[parts[0]]] if len(parts) == 1 else range(7)[slice(*parts)]:
                wanted[frame] += 1
            answer = self.counts(*job[1:], "--frames=" + text)
            self.assertEqual((answer["counts"], answer["frames"]), (wanted, sum(wanted)), text)
        for text, says in (("1:2:3:4", "A:B:STEP"), ("", "A:B:STEP"), ("a:", "--frames"), ("1.5", "--frames"), ("::0", "step")):
            self.refused(2, *job, "--frames=" + text, says=[says])
        for text in ("7", "-8", "7:", "3:3", "5:2", "2:5:-1"):
            self.refused(3, *job, "--frames=" + text, says=["t.xyz", "--frames " + text, "none of its 7 frames, counted from 0"])
        self.refused(2, "pair-histogram", self.file("p.csv", "1,2,3\n"), *job[2:], "--frames", "0", says=["no trajectory"])
        # The command does not read frames after the last wanted frame, and does not parse atoms of skipped frames.
        broken = self.file("b.xyz", "2\n\nH 0 0 0\nH x 0 0\n2\n\nH 0 0 0\nH 1.5 0 0\nrubbish\n")
        self.assertEqual(self.counts(broken, *job[2:], "--frames", "1")["counts"][1], 1)
        self.refused(3, "pair-histogram", broken, *job[2:], "--frames", "0:2", says=["b.xyz:4"])
        pairs = self.counts(*job[1:], "--cross", path, "--frames", "2:4")
        self.assertEqual((pairs["frames"], pairs["counts"]), (2, [4, 0, 2, 2, 0, 0, 0]))
        short = self.file("s.xyz", "1\n\nH 0 0 0\n")
        self.refused(3, *job, "--cross", short, "--frames", "2:4", says=["s.xyz", "fewer frames"])

    def test_trajectories_packed_piped_and_by_content(self):
        job = ("--bin-width", 1, "--bins", 6)
        plain = self.succeed("pair-histogram", self.file("w.xyz", self.WATER), *job).stdout
        packed = self.file("w.xyz.gz", gzip.compress(self.WATER.encode()))
        self.assertEqual(self.succeed("pair-histogram", packed, *job).stdout, plain)
        self.assertEqual(self.counts(packed, *job, "--frames=-1")["counts"], [0, 6, 0, 2, 5, 2])
        self.assertEqual(self.succeed("pair-histogram", "-", *job, stdin=self.WATER).stdout, plain)
        for text in (self.WATER, self.WATER.replace("\n", "\r\n"), "\ufeff" + self.WATER):
            self.assertEqual(self.succeed("pair-histogram", self.file("water", text), *job).stdout, plain)
        self.refused(2, "pair-histogram", "-", *job, "--frames=-1:", stdin=self.WATER,
                     says=["the number of frames on standard input is unknown"])
        self.assertEqual(self.succeed("pair-histogram", "-", *job, "--frames=0:5", stdin=self.WATER).stdout, plain)
        # Numbers in a file that is not a trajectory are read as a table.
        for table in ("3\n4\n5\n", "3\n\n", "1,2,3\n", "x y z\n1 2 3\n4 5 6\n"):
            self.assertIn("points x", self.succeed("pair-histogram", "-", *job, stdin=table).stderr.replace("point x", "points x"))
        dump = ("ITEM: TIMESTEP\n100\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n"
                "ITEM: ATOMS id type x y z ix iy iz\n1 1 0 0 0 0 0 0\n2 1 9.5 0 0 3 0 0\n")
        result = self.succeed("pair-histogram", self.file("dump.100", dump), "--bin-width", 1)
        self.assertIn("\n0,1,1\n", result.stdout)
        self.assertIn("1 atom of 1 frame, outside", result.stderr)
        damaged = self.file("d.xyz.gz", gzip.compress(self.WATER.encode())[:-20])
        self.refused(3, "pair-histogram", damaged, *job, says=["d.xyz.gz", "cut off"])
        self.refused(3, "pair-histogram", self.file("e.xyz.gz", gzip.compress(b"900000000\n\nH 1 2 3\n")), *job,
                     says=["e.xyz.gz:4", "the file ends where the line of atom 2 of 900000000"])
        for ending, way_out in ((".tng", "gmx trjconv"), (".traj", "ase convert"), (".cif", "ase convert")):
            self.refused(4, "pair-histogram", self.file("t" + ending, "x"), *job, says=["t" + ending, "not read", way_out])

    def test_gro(self):
        text = ("water t= 0.5\n    3\n    1SOL     OW    1   0.100   0.100   0.100  0.1  0.2  0.3\n"
                "    1SOL    HW1    2   0.200   0.100   0.100\n    2NA      NA99999   1.950   0.100   0.100\n   2.0   2.0   2.0\n")
        path = self.file("w.gro", text + text)
        job = ("--bin-width", 0.08, "--bins", 4)
        self.assertEqual(self.counts(path, *job)["counts"], [0, 4, 0, 2])
        self.assertEqual(self.counts(path, *job, "--select", "residue SOL")["counts"], [0, 2, 0, 0])
        self.assertEqual(self.counts(path, *job, "--select", "name OW,NA")["counts"], [0, 2, 0, 0])
        self.assertEqual(self.counts(path, *job, "--select", "id 2,99999")["counts"], [0, 0, 0, 2])
        header = self.succeed("pair-histogram", path, *job, "--partial").stdout.splitlines()[0]
        self.assertEqual(header, "lo,hi,count_HW1-HW1,count_HW1-NA,count_HW1-OW,count_NA-NA,count_NA-OW,count_OW-OW")
        self.assertEqual(self.succeed("pair-histogram", "-", *job, stdin=text + text).stdout,
                         self.succeed("pair-histogram", path, *job).stdout)
        wide = text.replace("0.100", "0.100000").replace("0.200", "0.200000").replace("1.950", "1.950000")
        self.assertEqual(self.counts(self.file("wide.gro", wide), *job)["counts"], [0, 2, 0, 1])
        for old, new, says in (("    3\n", "   x3\n", "'x3' is not a number of atoms"),
                               ("0.200   0.100   0.100", "0.200   0.100", "characters, but 44 are needed"),
                               ("0.200 ", "0.2x0 ", "'0.2x0' is not a number (x)"),
                               ("   2.0   2.0   2.0", "  2.0 2.0", "the box has 2 numbers"),
                               ("0.100   0.100   0.100  0.1  0.2  0.3", "1 1 1", "no decimal points")):
            self.refused(3, "pair-histogram", self.file("bad.gro", text.replace(old, new, 1)), *job, says=["bad.gro:", says])

    ATOM = "ATOM      1  OW  SOL A   1       1.000   1.000   1.000  1.00  0.00           O\n"
    OTHER = "HETATM    2  HW1 SOL A   1       2.000   1.000   1.000  1.00  0.00           H\n"

    def test_damaged_records_of_pdb(self):
        job = ("--bin-width", 3, "--bins", 2)
        cell = "CRYST1   20.000   20.000   20.000  90.00  90.00  90.00 P 1           1\n"
        for record, damaged in (("ATOM  ", ("ATOMM ", "atom  ", "AT0M  ", "ATO   ", " ATOM ", "ATMO  ", "Atom  ")),
                                ("HETATM", ("HETATN", "HETAT ", "hetatm", "HETATOM", "HTEATM")),
                                ("CRYST1", ("CRYST ", "cryst1", "CRYST2", "CRIST1", "CRTST1")),
                                ("MODEL ", ("MODEL_", "model ", "MODFL ")), ("ENDMDL", ("ENDMDI", "EMDMDL")), ("CONECT", ("CONETC",))):
            for name in damaged:
                text = cell + "MODEL        1\n" + self.ATOM + self.OTHER + "ENDMDL\nCONECT    1    2\n"
                path = self.file("damaged.pdb", text.replace(record, name))
                self.refused(3, "pair-histogram", path, *job, says=["damaged.pdb:", "the record", record.strip()])
        ignored = ("HEADER TITLE COMPND SOURCE KEYWDS EXPDTA NUMMDL MDLTYP AUTHOR REVDAT SPRSDE JRNL REMARK DBREF SEQADV SEQRES MODRES HET "
                   "HETNAM HETSYN FORMUL HELIX SHEET TURN SSBOND LINK CISPEP SITE ORIGX1 SCALE3 MTRIX2 ANISOU SIGATM SIGUIJ TER CONECT "
                   "MASTER USER OBSLTE SPLIT CAVEAT FTNOTE HYDBND SLTBRG TVECT").split()
        path = self.file("whole.pdb", "".join(name.ljust(6) + "    1 ATOM\n" for name in ignored) + self.ATOM + "TER\n\n" + self.OTHER + "END\n")
        self.assertEqual(self.succeed("pair-histogram", path, *job).stdout, "lo,hi,count\n0,3,1\n3,6,0\n")
        large = self.file("large.pdb", self.ATOM.replace("ATOM      1", "ATOM 100000") + self.OTHER)  # the number begins in column 6
        self.assertEqual(self.succeed("pair-histogram", large, *job, "--select", "id 100000", "--cross-select", "id 2").stdout,
                         "lo,hi,count\n0,3,1\n3,6,0\n")

    def test_a_damaged_box_of_a_file_is_bad_input(self):
        for lattice in ("1e200 0 0 0 9 0 0 0 9", "0 0 0 0 9 0 0 0 9", "9 0 0 9 0 0 0 0 9", "9 0 0 9 1e-9 0 0 0 9", "nan 0 0 0 9 0 0 0 9",
                        "1e-60 0 1e-61 0 1e-60 0 0 0 1e-60"):
            for frames in (1, 2):
                whole = '2\nLattice="9 0 0 0 9 0 0 0 9"\nO 1 1 1\nH 2 1 1\n'
                path = self.file("box.xyz", whole * (frames - 1) + f'2\nLattice="{lattice}"\nO 0 0 0\nH 0 0 0\n')
                for bins in (("--bin-width", 1), ("--bin-width", 1, "--bins", 2), ("--bin-width", 1, "--cutoff", 2, "--rdf")):
                    self.refused(3, "pair-histogram", path, *bins, says=["box.xyz"])

    def test_centers(self):
        points = self.file("p.csv", self.POINTS)
        text = self.succeed("pair-histogram", points, "--bin-width", 2.5, "--bins", 2, "--centers").stdout
        self.assertEqual(text, "lo,hi,center,count\n0,2.5,1.25,1\n2.5,5,3.75,1\n")

    def test_folding_is_exact_and_ends(self):
        # After 16 lengths of the double 0.1 are subtracted, 1.7 is 0.0999..., not a tiny negative number.
        near = self.file("near.csv", "0.05\n1.7\n")
        result = self.succeed("pair-histogram", near, "--box", 0.1, "--fold", "--bin-width", 0.01)
        self.assertEqual([line for line in result.stdout.splitlines() if line.endswith(",1")], ["0.04,0.05,1"])
        # 5e15 modulo the double 0.7 is 0.2172. If a multiple of the length were rounded, the result would be 0.
        far = self.file("far.csv", "0\n5000000000000000\n")
        result = self.succeed("pair-histogram", far, "--box", 0.7, "--fold", "--bin-width", 0.1)
        self.assertIn("\n0.2,0.3", result.stdout)
        self.assertEqual([line[:3] for line in result.stdout.splitlines() if line.endswith(",1")], ["0.2"])
        tiny = self.file("tiny.csv", "0.05,0.5\n0.45,0.2\n")
        self.succeed("pair-histogram", tiny, "--box", "1e-320,1", "--fold", "--bin-width", "1e-321")
        self.refused(3, "pair-histogram", self.file("large.csv", "1e300,0\n1,2\n"), "--box", "1,1", "--fold",
                     "--bin-width", 0.1, says=["large.csv", "row 0", "too large", "2^500"])

    def test_bad_trajectories(self):
        bins = "--bin-width", 1, "--bins", 3
        good = "1\n\nH 0 0 0\n"
        self.refused(3, "pair-histogram", self.file("a.xyz", good + "2\n\nH 0 0 0\nH 0 zero 0\n"), *bins,
                     says=["a.xyz:7", "'zero' is not a number"])
        self.refused(3, "pair-histogram", self.file("b.xyz", good + "1000000\n\n"), *bins, says=["b.xyz:4", "claims 1000000"])
        self.refused(3, "pair-histogram", self.file("c.xyz", '1\nLattice="1 0 0 1 0 0 0 0 1"\nH 0 0 0\n'), *bins,
                     says=["c.xyz:2", "in a plane"])
        self.refused(3, "pair-histogram", self.file("c.xyz", '1\nLattice="1 0 0 1 1e-7 0 0 0 1"\nH 0 0 0\n'), *bins,
                     says=["c.xyz", "nearly in a plane", "frame 0"])
        self.refused(2, "pair-histogram", self.file("c.xyz", '1\nLattice="1 0 0 1 1 0 0 0 1"\nH 0 0 0\n'), *bins,
                     says=["reach to 3, past half of the cell's least height, 0.5", "frame 0"])
        changing = self.file("d.xyz", good + "2\n\nH 0 0 0\nH 0 0 1.5\n")
        self.assertEqual(self.succeed("pair-histogram", changing, *bins).stdout, "lo,hi,count\n0,1,0\n1,2,1\n2,3,0\n")
        self.succeed("pair-histogram", changing, *bins, "--rdf", "--volume", 8)  # groups_test.py compares the values
        self.refused(3, "pair-histogram", changing, *bins, "--cross", self.path("e.xyz"), says=["e.xyz"])
        self.refused(3, "pair-histogram", changing, *bins, "--cross", self.file("f.xyz", good),
                     says=["f.xyz", "fewer frames"])
        self.refused(3, "pair-histogram", self.path("f.xyz"), *bins, "--cross", changing, says=["d.xyz", "more frames"])
        table = self.file("t.csv", "0,0,0\n")
        self.refused(3, "pair-histogram", table, *bins, "--cross", changing, says=["d.xyz", "more frames"])
        boxed = self.file("h.xyz", '1\nLattice="9 0 0 0 9 0 0 0 9"\nH 0 0 8\n')
        self.refused(3, "pair-histogram", table, *bins, "--cross", boxed, says=["h.xyz", "periodic box", "--box"])
        self.refused(3, "pair-histogram", boxed, *bins, "--cross", self.path("f.xyz"), says=["f.xyz", "periodic box"])
        for points, others in ((table, boxed), (boxed, self.path("f.xyz"))):
            result = self.succeed("pair-histogram", points, *bins, "--cross", others, "--box", "9,9,9")
            self.assertIn("\n1,2,1\n", result.stdout)
        self.refused(2, "pair-histogram", changing, "--bin-width", 1, says=["--bins is missing"])
        self.refused(2, "pair-histogram", changing, *bins, "--header", "no", says=["--header", "tables of text"])
        self.refused(2, "pair-histogram", self.file("g.xyz", '1\nLattice="4 0 0 0 4 0 0 0 4"\nH 0 0 0\n'), *bins,
                     says=["past half", "frame 0"])

    def test_boxes_in_every_writing(self):
        """Two atoms are at a distance of 1 across the border of a box of 5 x 6 x 7."""
        lattices = {
            'Lattice="5 0 0 0 6 0 0 0 7"': 0,
            'Lattice="5 0 0 0 6 0 0 0 7" pbc=T': 0,
            'Lattice="5 1e-17 0 3.06e-16 6 0 0 -1e-16 7" pbc="T T T"': 0,
            'Lattice="0 6 0 5 0 0 0 0 7"': 0,
            'Lattice="0 0 7 0 6 0 5 0 0"': 0,
            'Lattice="2.5 0 2.5 0 2.5 2.5 2.5 2.5 0"': 2,
            'Lattice="5 0 0 1 6 0 0 0 7"': 0,
            'Lattice="5 0 0 0 6 0 0 0 7" pbc="T T F"': 0,
            'Lattice="5 0 0 0 0 0 0 0 7"': 3,
        }
        histogram = "lo,hi,count\n0,1.5,1\n1.5,2.4,0\n"
        job = "--bin-width", 1.5, "--cutoff", 2.4
        for comment, status in lattices.items():
            file = self.file("a.xyz", "2\n%s\nH 0.5 3 3\nH 4.5 3 3\n" % comment)
            if status:
                self.refused(status, "pair-histogram", file, *job, says=["a.xyz:2" if status != 2 else "half of the cell's least height"])
            else:
                self.assertEqual(self.succeed("pair-histogram", file, *job).stdout, histogram, comment)
        dumps = {
            "pp pp pp\n0 5\n0 6\n0 7\n": 0,
            "xy xz yz pp pp pp\n0 5 0\n0 6 0.0\n0 7 0\n": 0,
            "abc origin pp pp pp\n5 0 0 0\n0 6 1e-17 0\n0 0 7 0\n": 0,
            "xy xz yz pp pp pp\n0 7 0\n0 6 2\n0 7 0\n": 0,
            "abc origin pp pp pp\n0 5 0 0\n6 0 0 0\n0 0 7 0\n": 0,
            "abc origin pp pp pp\n5 0 0 0\n6 0 0 0\n0 0 7 0\n": 3,
            "pp pp pq\n0 5\n0 6\n0 7\n": 3,
        }
        for bounds, status in dumps.items():
            file = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS %sITEM: ATOMS xsu ysu zsu\n"
                             "0.1 0.5 0.5\n0.9 0.5 0.5\n" % bounds)
            if status:
                self.refused(status, "pair-histogram", file, *job, says=["a.dump:"])
            else:
                self.assertEqual(self.succeed("pair-histogram", file, *job).stdout, histogram, bounds)

    def dcd(self, name, cell, frames, order="<", version=24, fixed=0):
        def record(content):
            length = struct.pack(order + "i", len(content))
            return length + content + length

        numbers = [len(frames)] + [0] * 7 + [fixed, 0, 1] + [0] * 8 + [version]
        parts = [record(b"CORD" + struct.pack(order + "20i", *numbers)), record(struct.pack(order + "i", 1) + b" " * 80),
                 record(struct.pack(order + "i", len(frames[0])))]
        for frame in frames:
            parts.append(record(struct.pack(order + "6d", *cell)))
            parts += [record(struct.pack(order + "%df" % len(frame), *axis)) for axis in zip(*frame)]
        return self.file(name, b"".join(parts))

    def test_triclinic_cells_in_every_writing(self):
        """The distances of three atoms: 1 (to an image shifted by b = (4, 8, 0)), 2 (by c = (0, 0, 10)) and sqrt(5)."""
        atoms = [(0.5, 0.5, 0.5), (4.5, 7.5, 0.5), (0.5, 0.5, 8.5)]
        text = "".join("H %g %g %g\n" % atom for atom in atoms)
        job = ("--bin-width", 0.8, "--bins", 4)
        cell = "10,0,0,4,8,0,0,0,10"
        points = self.file("p.csv", "".join("%g,%g,%g\n" % atom for atom in atoms))
        right = self.succeed("pair-histogram", points, *job, "--box", cell, "--rdf")
        self.assertEqual([row[2] for row in self.rows(right.stdout)[1]], ["0", "1", "2", "0"])
        shell = 4 / 3 * 3.141592653589793 * (1.6**3 - 0.8**3)
        self.assertAlmostEqual(float(self.rows(right.stdout)[1][1][3]), 1 / (3 * shell / 800), places=9)
        xyz = self.file("a.xyz", '3\nLattice="%s"\n' % cell.replace(",", " ") + text)
        dump = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS xy xz yz pp pp pp\n0 14 4\n0 8 0\n0 10 0\n"
                         "ITEM: ATOMS element x y z\n" + text)
        scaled = self.file("s.dump", "ITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS xy xz yz pp pp pp\n0 14 4\n0 8 0\n0 10 0\n"
                           "ITEM: ATOMS xs ys zs\n0.025 0.0625 0.05\n0.075 0.9375 0.05\n0.025 0.0625 0.85\n")
        gro = self.file("a.gro", "x\n 3\n" + "".join("    1NA      NA    1%8.3f%8.3f%8.3f\n" % atom for atom in atoms) +
                        "10 8 10 0 0 4 0 0 0\n")
        angle = math.degrees(math.acos(4 / math.sqrt(80)))
        dcd = self.dcd("a.dcd", (10, angle, math.sqrt(80), 90, 90, 10), [atoms])
        cosine = self.dcd("b.dcd", (10, 4 / math.sqrt(80), math.sqrt(80), 0, 0, 10), [atoms], order=">")
        for file in (xyz, dump, scaled, gro, dcd, cosine):
            self.assertEqual(self.counts(file, *job)["counts"], [0, 1, 2, 0], file)
        for box in (cell, "4,8,0,0,0,10,10,0,0", "10,8,10,4,0,0"):
            self.assertEqual(self.counts(points, *job, "--box", box)["counts"], [0, 1, 2, 0])
        # The bins end at half of the least height. The least height belongs to vector b and is 800 / |c x a| = 8.
        self.assertEqual(self.counts(points, "--bin-width", 0.8, "--box", cell)["edges"][-1], 4)
        self.refused(2, "pair-histogram", points, *job[:2], "--bins", 8, "--box", cell, says=["half of the cell's least height, 4"])
        # These are the same three points, moved by vectors of the lattice.
        moved = self.file("m.csv", "0.5,0.5,0.5\n-13.5,-8.5,20.5\n1000000.5,0.5,8.5\n")
        self.refused(3, "pair-histogram", moved, *job, "--box", cell, says=["m.csv", "row 1", "outside the periodic box", "around the cell", "--fold"])
        self.assertEqual(self.counts(moved, *job, "--box", cell, "--fold")["counts"], [0, 1, 2, 0])
        away = self.file("m.xyz", '3\nLattice="%s"\nH 0.5 0.5 0.5\nH -13.5 -8.5 20.5\nH 100.5 0.5 8.5\n' % cell.replace(",", " "))
        result = self.succeed("pair-histogram", away, *job)
        self.assertIn("2 atoms of 1 frame, outside", result.stderr)
        self.assertEqual([row[2] for row in self.rows(result.stdout)[1]], ["0", "1", "2", "0"])

    def test_bad_boxes(self):
        points = self.file("p.csv", "0,0,0\n1,1,1\n")
        flat = self.file("flat.csv", "0,0\n1,1\n")
        job = ("--bin-width", 0.5, "--bins", 1)
        for box, says in (("9,9", ["2 lengths", "3 coordinates"]), ("9,9,9,9", ["4 numbers", "nine numbers"]),
                          ("40,40,40,90,90,90", ["--box", "XY,XZ,YZ", "angles", "nine numbers"]),
                          ("40,40,-40,0,0,0", ["--box must be greater than 0, not '-40'"]),
                          ("1,0,0,2,0,0,0,0,1", ["nearly in a plane"]), ("1,0,0,0,x,0,0,0,1", ["--box", "'x'"]),
                          ("1,0,0,0,1e60,0,0,0,1", ["2^150"])):
            self.refused(2, "pair-histogram", points, *job, "--box", box, says=says)
        self.refused(2, "pair-histogram", flat, *job, "--box", "1,0,0,0,1,0,0,0,1", says=["nine numbers of a cell", "3 columns"])
        cell = ("pair-histogram", points, *job, "--box", "9,0,0,1,9,0,0,0,9", "--variant")
        self.assertEqual(self.succeed(*cell, "simd_dual_tree").stdout, self.succeed(*cell, "sequential").stdout)

    def test_six_numbers_that_may_be_angles(self):
        points = self.file("p.csv", "0,0,0\n1,1,1\n")
        job = ("pair-histogram", points, "--bin-width", 0.5, "--bins", 1, "--box")
        for box, vectors in (("200,200,200,90,90,90", "200,0,0,90,200,0,90,90,200"), ("300,310,320.5,30,60,150", "300,0,0,30,310,0,60,150,320.5"),
                             ("9,9,9,90,90,120", "9,0,0,90,9,0,90,120,9")):
            self.refused(2, *job, box, says=["--box", "may be angles", "from 30 to 150", "are tilts", " %s;" % vectors, "triclinic_dimensions"])
        self.counts(*job[1:], "200,0,0,90,200,0,90,90,200")
        for box in ("200,200,200,29.5,90,90", "200,200,200,90,-90,90", "200,200,200,90,90,0"):
            self.counts(*job[1:], box)

    def lattice_points(self, name, vectors):
        """Writes points at fractions of a lattice's vectors. An additive recurrence spreads the fractions."""
        lines = []
        for row in range(1, 201):
            shares = [row * step % 1 for step in (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)]
            lines.append(",".join(repr(sum(share * vector[axis] for share, vector in zip(shares, vectors))) for axis in range(3)))
        return self.file(name, "\n".join(lines) + "\n")

    def test_long_vectors_count_as_short_ones(self):
        """The lattice has the vectors (10, 0, 0), (-3, 10, 0) and (1, 3, 10). No cell of this lattice has a least
        height above 9.42."""
        long = [[10, 0, 0], [37, 10, 0], [-55, 23, 10]]
        points = self.lattice_points("long.csv", long)
        job = ("--bin-width", 1, "--bins", 4, "--fold")
        box = lambda vectors: ",".join(str(number) for vector in vectors for number in vector)
        right = self.counts(points, *job, "--box", "10,0,0,-3,10,0,1,3,10")
        self.assertGreater(min(right["counts"][1:]), 0)
        for vectors in (long, long[::-1], [[-47, -10, 0], long[0], long[2]]):
            for variant in ("sequential", "simd_filter", "simd_cells", "simd_brute_force"):
                self.assertEqual(self.counts(points, *job, "--box", box(vectors), "--variant", variant)["counts"], right["counts"])
        self.assertEqual(self.counts(points, *job, "--box", "10,10,10,37,-55,23")["counts"], right["counts"])
        self.refused(2, "pair-histogram", points, "--bin-width", 1, "--bins", 5, "--fold", "--box", box(long),
                     says=["half of the cell's least height, 4.7", "reduced"])

    def test_a_hexagonal_cell_by_six_numbers(self):
        """The tilt is 40 * cos(60 degrees) in double, which exceeds half of 40 by a rounding error."""
        along, height = 40 * math.cos(math.pi / 3), 40 * math.sin(math.pi / 3)
        self.assertGreater(along, 20)
        points = self.lattice_points("hexagonal.csv", [[40, 0, 0], [along, height, 0], [0, 0, 40]])
        job = (points, "--bin-width", 2, "--bins", 8, "--fold")
        right = self.counts(*job, "--box", "40,0,0,%r,%r,0,0,0,40" % (along, height))
        for tilt in (repr(along), "20"):
            self.assertEqual(self.counts(*job, "--box", "40,%r,40,%s,0,0" % (height, tilt))["counts"], right["counts"])
        self.assertEqual(self.counts(*job, "--box", "40,%r,40,-%r,0,0" % (height, along))["counts"], right["counts"])

    def test_dcd(self):
        frames = [[(0, 0, 0), (1.5, 0, 0), (0, 0, 9.5)], [(0, 0, 0), (2.5, 0, 0), (0, 0, -0.5)]]
        job = ("--bin-width", 1, "--bins", 3)
        for order in "<>":
            path = self.dcd("t.dcd", (10, 90, 10, 90, 90, 10), frames, order)
            result = self.succeed("pair-histogram", path, *job)
            self.assertEqual([row[2] for row in self.rows(result.stdout)[1]], ["2", "2", "2"])
            self.assertIn("1 atom of 1 frame, outside", result.stderr)
            self.assertEqual(self.counts(path, *job, "--frames=-1", "--select", "index 0,1")["counts"], [0, 0, 1])
        self.assertEqual(self.succeed("pair-histogram", self.file("run7", content(path)), *job).stdout, result.stdout)
        open_space = self.dcd("o.dcd", (0, 0, 0, 0, 0, 0), frames)
        self.assertEqual(self.counts(open_space, *job)["counts"], [1, 1, 2])
        self.refused(3, "pair-histogram", path, *job, "--select", "type O", says=["t.dcd", "the atoms no type", "'index'"])
        self.refused(4, "pair-histogram", self.dcd("f.dcd", (0,) * 6, frames, fixed=1), *job, says=["f.dcd", "leave out 1 fixed atom;"])
        self.refused(3, "pair-histogram", self.dcd("a.dcd", (9, 190, 9, 90, 90, 9), frames), *job, says=["a.dcd", "no cell has the angles 90, 90 and 190"])
        self.refused(3, "pair-histogram", self.dcd("h.dcd", (9, 90.25, 8, 90, 90, 1e257), frames), *job, says=["h.dcd", "byte", "at most 2^500"])
        self.refused(3, "pair-histogram", self.dcd("n.dcd", (0,) * 6, [[(0, 0, float("nan"))]]), *job, says=["n.dcd", "atom 0", "not a finite number", "byte"])
        data = content(path)
        for cut in (3, 50, 100, 200, len(data) - 10):
            self.refused(3, "pair-histogram", self.file("cut.dcd", data[:cut]), *job, says=["cut.dcd", "byte"])
        self.refused(3, "pair-histogram", self.file("x.dcd", b"rubbish, and enough of it"), *job, says=["x.dcd", "not the beginning of a DCD"])

    def test_a_box_that_the_file_leaves_open(self):
        dump = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS\n0 5\n0 6\n0 7\nITEM: ATOMS x y z\n"
                         "0.5 3 3\n4.5 3 3\n")
        job = "--bin-width", 1.5, "--cutoff", 2.5
        self.refused(3, "pair-histogram", dump, *job, says=["a.dump:3", "does not say whether", "--box", "ff ff ff"])
        periodic = self.succeed("pair-histogram", dump, *job, "--box", "5,6,7").stdout
        self.assertEqual(periodic, "lo,hi,count\n0,1.5,1\n1.5,2.5,0\n")
        no_lattice = self.file("a.xyz", '2\npbc="T T T"\nH 0.5 3 3\nH 4.5 3 3\n')
        self.refused(3, "pair-histogram", no_lattice, *job, says=["a.xyz:2", "no Lattice", "--box"])
        self.assertEqual(self.succeed("pair-histogram", no_lattice, *job, "--box", "5,6,7").stdout, periodic)

    def test_cross_and_weights(self):
        points = self.file("p.csv", "0\n1\n")
        others = self.file("o.csv", "0\n2\n4\n")
        answer = json.loads(self.succeed("pair-histogram", points, "--cross", others, "--bin-width", 1, "--bins", 3,
                                         "--json").stdout)
        self.assertEqual((answer["pairs"], answer["counts"], answer["beyond"], answer["cross"]), (6, [1, 2, 1], 2, 3))
        weights, other_weights = self.file("w.csv", "2\n-1\n"), self.file("v.csv", "1\n10\n100\n")
        text = self.succeed("pair-histogram", points, "--cross", others, "--bin-width", 1, "--bins", 3, "--weights",
                            weights, "--cross-weights", other_weights).stdout
        self.assertEqual(text, "lo,hi,count,weight\n0,1,1,2\n1,2,2,-11\n2,3,1,20\n")

    def test_same_for_any_threads_variant_and_type(self):
        points = self.path("p.npy")
        self.succeed("generate", "blobs", "-n", 1500, "-d", 3, "-o", points)
        job = ("pair-histogram", points, "--bin-width", 0.1, "--bins", 200)
        seen = {self.succeed(*job, "--threads", threads).stdout for threads in (1, 2, 3, 7)}
        for row in json.loads(self.succeed("list", "pair-histogram", "--json").stdout)[0]["variants"]:
            if row["runs_here"]:
                result = gradus(*job, "--variant", row["name"].replace("_", "-"))
                if result.returncode == 4:
                    self.assertIn("cannot run here", result.stderr)  # the variant supports only other shapes
                else:
                    seen.add(result.stdout)
        seen.add(self.succeed(*job, "--dtype", "f64").stdout)  # the points are the same in both types
        self.assertEqual(len(seen), 1)

    def test_json_has_the_usual_keys(self):
        answer = json.loads(self.succeed("pair-histogram", self.points(), "--bin-width", 10, "--bins", 9, "--json").stdout)
        for key in ("problem", "input", "n", "d", "dtype", "variant", "device", "threads", "rechecked", "memory_bytes"):
            self.assertIn(key, answer)
        self.assertEqual(answer["pairs"], 200 * 199 // 2)
        self.assertEqual(answer["pairs"], answer["below"] + sum(answer["counts"]) + answer["beyond"])
        for key in ("read", "examine", "histogram", "write", "total"):
            self.assertGreaterEqual(answer["seconds"][key], 0)

    def test_wrong_use(self):
        points = self.file("p.csv", self.POINTS)
        edges = self.file("edges.csv", "1\n2\n")
        for arguments, says in [
            ([], ["INPUT is missing"]),
            ([points], ["--bin-width", "--edges"]),
            ([points, "--bin-width", 1, "--edges", edges], ["one of the two"]),
            ([points, "--bins", 4, "--edges", edges], ["--bins"]),
            ([points, "--bin-width", 1], ["--bins is missing", "--cutoff"]),
            ([points, "--bin-width", -1, "--bins", 3], ["--bin-width", "'-1'"]),
            ([points, "--bin-width", 0, "--bins", 3], ["--bin-width", "'0'"]),
            ([points, "--bin-width", "nan", "--bins", 3], ["--bin-width", "'nan'"]),
            ([points, "--bin-width", 1, "--bins", 0], ["--bins", "'0'"]),
            ([points, "--bin-width", 1, "--bins", 99999999], ["99999999 bins", "16777216"]),
            ([points, "--bin-width", 1, "--cutoff", "0"], ["--cutoff"]),
            ([points, "--bin-width", 1e-300, "--cutoff", 1], ["more bins than the supported 16777216"]),
            ([points, "--bin-width", 1e-320, "--cutoff", 1], ["more bins than the supported 16777216"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10"], ["1 length", "2 coordinates"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10,x"], ["--box", "'x'"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box", "10,-1"], ["--box", "'-1'"]),
            ([points, "--bin-width", 1, "--bins", 3, "--box-origin", "1,1"], ["origin"]),
            ([points, "--bin-width", 1, "--bins", 7, "--box", "12,12"], ["reach to 7", "half", "6"]),
            ([points, "--bin-width", 1, "--bins", 3, "--rdf"], ["--volume", "--box"]),
            ([points, "--bin-width", 1, "--bins", 3, "--rdf", "--volume", 0], ["--volume"]),
            ([points, "--bin-width", 1, "--bins", 3, "--variant", "sequentail"], ["did you mean 'sequential'?"]),
            ([points, "--bin-width", 1, "--bins", 3, "--cross-weights", edges], ["needs --cross"]),
            (["-", "--bin-width", 1, "--bins", 3, "--cross", "-"], ["standard input"]),
        ]:
            self.refused(2, "pair-histogram", *arguments, says=says)

    def test_bad_input(self):
        def refuse(*arguments, says):
            self.refused(3, "pair-histogram", *arguments, says=says)

        points = self.file("p.csv", self.POINTS)
        bins = ("--bin-width", 1, "--bins", 3)
        refuse(self.path("none.npy"), *bins, says=["none.npy", "No such file"])
        refuse(self.file("nan.csv", "1,2\n3,nan\n"), *bins, says=["nan.csv:2:2"])
        nan = write_npy(self.path("nan.npy"), "<f4", (3, 2), [1, 2, 3, 4, float("nan"), 6])
        refuse(nan, *bins, says=["nan.npy", "row 2", "column 0", "NaN"])
        refuse(write_npy(self.path("4d.npy"), "<f4", (1, 4), [1, 2, 3, 4]), *bins, says=["4d.npy", "4 columns", "1, 2 or 3"])
        refuse(points, *bins, "--box", "7,7", says=["p.csv", "row 3", "column 1", "8", "outside the periodic box"])
        refuse(points, *bins, "--cross", self.file("c.csv", "1,2,3\n"), says=["c.csv", "3 columns", "2"])
        refuse(points, *bins, "--weights", self.file("w.csv", "1\n2\n"), says=["w.csv", "2 weights for 4 points"])
        refuse(points, "--edges", self.file("e.csv", "1\n3\n2\n"), says=["e.csv", "edge 2", "increase"])
        refuse(points, "--edges", self.file("e.csv", "1\n"), says=["e.csv", "two"])
        refuse(points, "--edges", self.file("e.csv", "-1\n2\n"), says=["e.csv", "negative"])
        self.refused(1, "pair-histogram", points, *bins, "--memory-limit", 100, says=["bytes", "100"])
        self.refused(4, "pair-histogram", points, *bins, "--device", "gpu:7", says=["GPU"])

    def test_progress_on_a_terminal_only(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 20000, "-d", 3, "-o", points)
        result = self.succeed("pair-histogram", points, "--bin-width", 1, "--bins", 9)
        self.assertNotIn("%", result.stderr)

    def test_the_ending_says_how_a_histogram_is_written(self):
        points = self.file("p.csv", "0\n1\n3\n")
        weights = self.file("w.csv", "1\n2\n0.5\n")
        job = ("pair-histogram", points, "--bin-width", 1.5, "--bins", 3)
        text = "lo,hi,count,weight\n0,1.5,1,2\n1.5,3,1,1\n3,4.5,1,0.5\n"
        self.assertEqual(self.succeed(*job, "--weights", weights).stdout, text)
        for name in ("h.csv", "h.txt", "h.CSV"):
            self.succeed(*job, "--weights", weights, "-o", self.path(name))
            self.assertEqual(content(self.path(name), "r"), text)
        answer = json.loads(self.succeed(*job, "--weights", weights, "--json").stdout)
        both = self.succeed(*job, "--weights", weights, "--json", "-o", self.path("h.json"))
        for written in (json.loads(content(self.path("h.json"), "r")), json.loads(both.stdout)):
            self.assertEqual(*({**one, "seconds": 0, "command": []} for one in (written, answer)))
        self.succeed(*job, "--weights", weights, "-o", self.path("h.npy"))
        table = content(self.path("h.npy"))
        (length,) = struct.unpack_from("<H", table, 8)
        fields = eval(table[10 : 10 + length].decode("latin1"), {"__builtins__": {}}, {"False": False})
        self.assertEqual(fields["descr"], [("lo", "<f8"), ("hi", "<f8"), ("count", "<u8"), ("weight", "<f8")])
        self.assertEqual((fields["shape"], (10 + length) % 64), ((3,), 0))
        rows = list(struct.iter_unpack("<ddQd", table[10 + length :]))
        self.assertEqual(rows, [(0, 1.5, 1, 2), (1.5, 3, 1, 1), (3, 4.5, 1, 0.5)])
        for name in ("h.parquet", "h", "csv", ".csv.gz", ""):
            self.refused(2, *job, "-o", name, says=["--output", ".csv, .txt, .npy or .json"], cwd=self.folder)
        # The command is rejected before it reads anything.
        missing = self.path("missing.npy")
        self.refused(2, "pair-histogram", missing, "--bin-width", 1, "--bins", 3, "-o", "h.dat", says=["--output"])

    def test_numbers_above_zero(self):
        points = self.file("p.csv", "0\n1\n")
        for option in ("--bin-width", "--cutoff", "--box", "--volume"):
            for value in ("0", "-1", "-0.0"):
                self.refused(2, "pair-histogram", points, "--rdf", option, value,
                             says=[option + " must be greater than 0, not '%s'" % value])
            for value in ("nan", "inf", "1e999", "1e-999", "wide"):
                self.refused(2, "pair-histogram", points, "--rdf", option, value,
                             says=[option, "'%s' is not a finite number greater than 0" % value])

    def test_outside_the_box_names_fold(self):
        points = self.file("p.csv", "1,1\n9,1\n")
        job = ("pair-histogram", points, "--bin-width", 1, "--box", "8,8")
        self.refused(3, *job, says=["p.csv", "row 1", "outside the periodic box", "--fold moves such points in"])
        self.succeed(*job, "--fold")
        # `gradus bench` has no option --fold, so its message does not mention the option.
        told = self.refused(3, "bench", "pair-histogram", "--data", points, *job[2:], says=["outside the periodic box"])
        self.assertNotIn("--fold", told.stderr)

    def test_options_without_effect_are_refused(self):
        points, others = self.points(), self.file("others.csv", "1,2,3\n")
        bins = ("--bin-width", 1, "--bins", 3)
        for arguments, says in [
            (["pair-histogram", points, *bins, "--device", "cpu", "--block-size", 96], ["block size", "on the CPU"]),
            (["pair-histogram", points, *bins, "--volume", 8], ["--volume has no effect", "--rdf"]),
            (["pair-histogram", points, *bins, "--cross-weights", others], ["--cross-weights has no effect", "needs --cross"]),
            (["pair-histogram", points, *bins, "--box-origin", "1,1,1"], ["--box-origin has no effect", "--box"]),
            (["bench", "pair-histogram", "--iterations", 3], ["--iterations has no effect", "pair_histogram has none"]),
        ]:
            self.refused(2, *arguments, says=says)
        self.succeed("pair-histogram", points, *bins, "--rdf", "--volume", 8)  # the job has a volume

    def test_two_hyphens_end_the_options(self):
        self.file("-x.csv", "1,2\n3,4\n5,6\n")
        job = ("pair-histogram", "--bin-width", 1, "--bins", 3, "--", "-x.csv")
        self.assertIn("lo,hi,count", self.succeed(*job, cwd=self.folder).stdout)

    def test_one_is_singular(self):
        two = self.file("two.csv", "1\n2\n")
        told = self.succeed("pair-histogram", two, "--bin-width", 1, "--bins", 1, "--threads", 1).stderr
        self.assertRegex(told, r"2 points x 1 \(f64\), 1 pair: 0 in 1 bin, 1 beyond, .*, 1 thread\n$")

    def test_no_input_is_overwritten(self):
        table = self.file("points.csv", "x,y\n1,2\n3,4\n5,7\n")
        alias = self.path("alias.csv")
        os.symlink(table, alias)
        weights = self.file("weights.csv", "weight\n1\n2\n3\n")
        others = self.file("others.csv", content(table))
        files = (table, weights, others)
        histogram = ("pair-histogram", table, "--bin-width", 1, "--bins", 3)
        self.refused_to_overwrite(files, *histogram, "-o", table)
        self.refused_to_overwrite(files, *histogram, "-o", alias)
        self.refused_to_overwrite(files, *histogram, "--weights", weights, "-o", weights)
        self.refused_to_overwrite(files, *histogram, "--cross", others, "-o", others)

    def test_headers_of_every_table(self):
        points = self.file("p.csv", "0,1\n5,6\n7,9\n")
        for lines in ("0\n1\n5\n", "edge\n0\n1\n5\n"):  # a list has a header if its first line is a word
            edges = self.file("e.csv", lines)
            weights = self.file("w.csv", "2\n3\n")
            result = self.succeed("pair-histogram", points, "--edges", edges, "--weights", weights, "--header", "yes")
            self.assertEqual(result.stdout, "lo,hi,count,weight\n0,1,0,0\n1,5,1,6\n")
            self.assertNotIn("e.csv", result.stderr)
        array = write_npy(self.path("c.npy"), "<f8", (1, 3), [1, 2, 3])
        cross = self.succeed("pair-histogram", array, "--cross", self.file("o.csv", "0,1,2\n3,4,9\n"),
                             "--bin-width", 9, "--bins", 1, "--header", "yes", "--json")
        self.assertEqual(json.loads(cross.stdout)["cross"], 1)
        for header in ("yes", "no"):
            for bins in (("--bin-width", 1, "--bins", 2), ("--edges", edges)):
                self.refused(2, "pair-histogram", array, *bins, "--header", header, says=["--header is for points in tables of text"])


class StructureFactor(Case):
    """Tests `gradus pair-histogram --structure-factor`."""

    def frame(self, lattice, atoms):
        lines = "".join("%s %.17g %.17g %.17g\n" % (kind, *place) for kind, *place in atoms)
        return '%d\nLattice="%s" Properties=species:S:1:pos:R:3\n%s' % (len(atoms), " ".join(map(str, lattice)), lines)

    def atoms(self, number, length, n=40):
        return [("OH"[at % 2], *(((at * k + 7 * number + 3) * 0.37) % length for k in (17, 29, 71))) for at in range(n)]

    def expected(self, frames, q_max, width):
        """Returns {bin: (mean q, mean S, vectors)} for cubes, by sums over the full grid."""
        found = {}
        for length, places in frames:
            most, bins = int(q_max * length / (2 * math.pi)), {}
            for h in itertools.product(range(-most, most + 1), repeat=3):
                wave = 2 * math.pi * math.hypot(*h) / length
                if 0 < wave < q_max and h > tuple(-one for one in h):
                    phases = [2 * math.pi * sum(a * b for a, b in zip(h, place)) / length for place in places]
                    size = (sum(map(math.cos, phases)) ** 2 + sum(map(math.sin, phases)) ** 2) / len(places)
                    bins.setdefault(int(wave / width), []).append((wave, size))
            for number, pairs in bins.items():
                found.setdefault(number, []).append([sum(column) / len(pairs) for column in zip(*pairs)] + [len(pairs)])
        return {number: [sum(column) / len(rows) for column in zip(*rows)] for number, rows in found.items()}

    def table(self, *arguments):
        lines = self.succeed("pair-histogram", *arguments).stdout.splitlines()
        return lines[0], [list(map(float, line.split(","))) for line in lines[1:]]

    def test_frames_of_a_trajectory(self):
        frames = [(9, self.atoms(number, 9)) for number in range(3)]
        path = self.file("t.xyz", "".join(self.frame([length, 0, 0, 0, length, 0, 0, 0, length], atoms) for length, atoms in frames))
        for words, kinds in (((), "OH"), (("--select", "type O"), "O")):
            want = self.expected([(length, [atom[1:] for atom in atoms if atom[0] in kinds]) for length, atoms in frames], 3, 0.5)
            head, rows = self.table(path, "--structure-factor", "3,0.5", "--blocks", 3, *words)
            self.assertEqual(head, "q,s,s_error,vectors")
            self.assertEqual(len(rows), len(want))
            for row, (q, s, vectors) in zip(rows, (want[number] for number in sorted(want))):
                for ours, theirs in zip((row[0], row[1], row[3]), (q, s, vectors)):
                    self.assertAlmostEqual(ours, theirs, delta=1e-10 * theirs)
                self.assertGreater(row[2], 0)
        texts = {self.succeed("pair-histogram", path, "--structure-factor", "3,0.5", "--threads", threads).stdout for threads in (1, 2, 5)}
        self.assertEqual(len(texts), 1)
        few = self.table(path, "--structure-factor", "3,1", "--vectors-per-bin", 4)[1]
        self.assertEqual([row[2] for row in few], [4, 4, 4])

    def test_points_in_a_box_and_files(self):
        crystal = self.file("c.csv", "".join("%g,%g,%g\n" % tuple(1.25 * one for one in place) for place in itertools.product(range(8), repeat=3)))
        job = ("pair-histogram", crystal, "--box", "10,10,10", "--structure-factor", "5.03,0.01")
        peak = max(self.table(*job[1:])[1], key=lambda row: row[1])
        self.assertAlmostEqual(peak[0], 2 * math.pi / 1.25, delta=1e-9)
        self.assertAlmostEqual(peak[1] * peak[2], 3 * 512, delta=1e-7)
        summary = json.loads(self.succeed(*job, "--json").stdout)
        self.assertEqual((summary["problem"], summary["n"], summary["frames"]), ("structure_factor", 512, 1))
        self.assertAlmostEqual(max(summary["s"]), peak[1])
        self.succeed(*job, "-o", self.path("s.npy"))
        self.assertIn(b"'vectors'", content(self.path("s.npy")))
        record = self.path("s.json")
        self.succeed(*job, "-o", record)
        again = self.succeed("pair-histogram", "--repeat", record)
        self.assertEqual(again.stdout, self.succeed(*job).stdout)
        flat = self.file("flat.csv", "0,0,3\n2.5,0,4\n5,5,5\n")
        layer = self.table(flat, "--box", "10,10,10", "--dimensions", "xy", "--structure-factor", "2,0.5")[1]
        self.assertEqual(layer, self.table(self.file("xy.csv", "0,0\n2.5,0\n5,5\n"), "--box", "10,10", "--structure-factor", "2,0.5")[1])
        cell = self.table(crystal, "--box", "10,0,0,10,10,0,0,0,10", "--structure-factor", "5.03,0.01")[1]  # another basis of the lattice
        self.assertAlmostEqual(max(row[1] for row in cell), peak[1], delta=1e-7)

    def test_frames_without_selected_atoms(self):
        frames = [(9, [("O", 1 + number, 2, 5 if number in (1, 2) else 1), ("O", 4, 2 * number, 5 if number == 2 else 1)]) for number in range(5)]
        path = self.file("t.xyz", "".join(self.frame([length, 0, 0, 0, length, 0, 0, 0, length], atoms) for length, atoms in frames))
        job = ("pair-histogram", path, "--structure-factor", "3,0.5", "--blocks", 2, "--select")
        result = self.succeed(*job, "z 4:")
        self.assertIn("3 frames, in which --select matches no atom, do not count", result.stderr)
        want = self.expected([(9, [atom[1:] for atom in atoms if atom[3] > 4]) for _, atoms in frames if any(atom[3] > 4 for atom in atoms)], 3, 0.5)
        for line, (q, s, vectors) in zip(result.stdout.splitlines()[1:], (want[number] for number in sorted(want)), strict=True):
            row = list(map(float, line.split(",")))
            for ours, theirs in zip((row[0], row[1], row[3]), (q, s, vectors)):
                self.assertAlmostEqual(ours, theirs, delta=1e-10 * max(theirs, 1))
        self.refused(3, *job, "z 40:", says=["matches none of the 2 atoms"])
        counts = self.succeed("pair-histogram", path, "--bin-width", 1, "--select", "z 4:")
        self.assertIn("in 5 frames", counts.stderr)

    def test_refusals(self):
        water = self.file("w.xyz", PairHistogram.WATER)
        points = self.file("p.csv", "0,0,0\n3,4,0\n")
        job = ("pair-histogram", water, "--structure-factor", "3,0.5")
        for words, status, says in (
            (("--bin-width", 1), 2, "--bin-width has no effect: --structure-factor"), (("--centers",), 2, "--centers has no effect"),
            (("--rdf",), 2, "leave out"), (("--partial",), 2, "leave out"), (("--cross-select", "type O"), 2, "leave out"),
            (("--variant", "sequential"), 2, "--variant has no effect"), (("--device", "gpu"), 4, "CPU"), (("--gpus", "auto"), 4, "CPU"),
            (("--select", "not all"), 3, "matches none"), (("--blocks", 5), 3, "--blocks"), (("--periodic", "xy"), 2, "repeats only in xy"), (("--periodic", "none"), 2, "leave out --periodic none"),
            (("--box", 9), 2, "--box has 1 length, but the points have 3 coordinates; give one length for each, such as --box 9,9,9"),
        ):
            self.refused(status, *job, *words, says=[says])
        self.refused(2, "pair-histogram", points, "--structure-factor", "3,0.5", says=["there is none", "--box"])
        for text, says in (("3", "two numbers"), ("3,0", "greater than 0"), ("3,4", "a width above 0"),
                           ("1e5,1", "too far"), ("3,1e-9", "million"), ("x,1", "'x'"),
                           ("0.5,0.1", "below q_max 0.5; the smallest wave number of this box is 0.698")):
            self.refused(2, "pair-histogram", points, "--box", "9,9,9", "--structure-factor", text, says=[says])
        self.refused(2, "pair-histogram", points, "--bin-width", 1, "--bins", 2, "--vectors-per-bin", 4, says=["it needs --structure-factor"])
        self.refused(2, "pair-histogram", points, "--bin-width", 1, "--bins", 2, "--blocks", 4, says=["--rdf or --structure-factor"])


class BeyondHalf(Case):
    """Tests `gradus pair-histogram --beyond-half`."""

    def test_g_of_a_cube(self):
        count, length = 500, 6
        points = [[(place * k * 0.6180339887498949) % 1 * length for k in (1, 7.3, 31.7)] for place in range(1, count + 1)]
        path = self.file("p.csv", "".join("%.17g,%.17g,%.17g\n" % tuple(point) for point in points))
        job = ("pair-histogram", path, "--bin-width", 0.5, "--cutoff", 5.5, "--box", "6,6,6", "--rdf")
        self.refused(2, *job, says=["half of the box", "--beyond-half"])
        far = self.file("two.csv", "0,0,0\n4000,0,0\n")
        self.refused(2, "pair-histogram", far, "--bin-width", 0.1, "--box", "9,9,9", "--beyond-half", says=["has no effect", "--cutoff"])
        self.refused(4, "pair-histogram", far, "--edges", self.file("thin.csv", "0\n4000\n4000.01\n"), "--box", "10000,1,1",
                     "--beyond-half", "--rdf", says=["too thin", "widen the bins"])
        text = self.succeed(*job, "--beyond-half").stdout
        rows = [list(map(float, line.split(","))) for line in text.splitlines()[1:]]
        counts = [0] * 11
        for first, second in itertools.combinations(points, 2):
            apart = [min(abs(a - b), length - abs(a - b)) for a, b in zip(first, second)]
            counts[int(math.hypot(*apart) / 0.5)] += 1
        self.assertEqual([int(row[2]) for row in rows], counts)
        pairs = count * (count - 1) / 2
        shells = {bin: row[2] * length**3 / pairs / row[3] for bin, row in enumerate(rows) if row[2] > 0}  # by which g divides
        self.assertEqual([bin for bin in range(11) if bin not in shells], [bin for bin in range(11) if counts[bin] == 0])
        cap = lambda radius: math.pi * max(0, radius - 3) ** 2 * (3 * radius - max(0, radius - 3)) / 3
        ball = lambda radius: 4 / 3 * math.pi * radius**3 - 6 * cap(radius)
        for bin in {*shells} & {*range(8)}:  # up to 4, below the distance to an edge of the cube
            self.assertAlmostEqual(shells[bin], ball(bin / 2 + 0.5) - ball(bin / 2), delta=1e-10)
        two = self.file("t.xyz", "".join('500\nLattice="%g 0 0 0 %g 0 0 0 %g"\n' % ((size,) * 3) + "".join(
            "O %.17g %.17g %.17g\n" % tuple(one * size / 6 for one in point) for point in points) for size in (6, 6.2, 6.4)))
        frames = [self.succeed("pair-histogram", two, *job[2:5], 5.5, "--rdf", "--beyond-half", *words).stdout.splitlines()
                  for words in ((), ("--frames", "0"), ("--blocks", 3))]
        self.assertEqual([line.split(",")[:4] for line in frames[1][1:]], [line.split(",")[:4] for line in text.splitlines()[1:]])
        self.assertIn("g_error", frames[2][0])
        self.assertEqual([line.split(",")[:4] for line in frames[0]], [line.split(",")[:4] for line in frames[2]])
        for words in ((), ("--box", "6,6,6", "--periodic", "none")):
            self.refused(2, "pair-histogram", far, "--bin-width", 1, "--bins", 5, "--beyond-half", *words,
                         says=["--beyond-half has no effect: there is no periodic box"])
        self.refused(4, *job, "--beyond-half", "--variant", "simd_filter", says=["simd_brute_force"])
        self.refused(2, *job, "--beyond-half", "--periodic", "xy", says=["--volume"])
        self.refused(2, *job, "--beyond-half", "--periodic", "xy", "--volume", 9, says=["all measured directions"])


class Interrupt(InterruptCase):
    def test_while_points_are_folded(self):
        """Folds points into a box that is so small that each coordinate takes microseconds."""
        points, n = self.path("p.npy"), 300000
        with open(points, "wb") as file:
            header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }" % n
            header += " " * (63 - (10 + len(header)) % 64) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            file.write(struct.pack("<3d", 1.1 * 2.0**499, 1.7 * 2.0**498, -1.3 * 2.0**499) * n)
        edges = self.file("e.csv", "0\n1e-301\n")
        self.stops_soon("pair-histogram", points, "--edges", edges, "--box=1.3e-300,1.3e-300,1.3e-300",
                        "--box-origin=1e-310,-1e-305,3e-320", "--fold", "--threads", 1,
                        when=lambda job: self.wait_until_busy(job, 0.3))

    def test_while_counting_pairs(self):
        points = self.path("p.npy")
        self.succeed("generate", "uniform", "-n", 2000000, "-d", 3, "-o", points)
        job = subprocess.Popen([GRADUS, "pair-histogram", points, "--bin-width", "0.1", "--bins", "50", "--variant",
                                "sequential", "-o", self.path("h.csv")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        self.wait_until_busy(job, 1)
        self.assertEqual(self.check(signal.SIGINT, job), "")


class Bench(Case):
    def test_pair_histogram(self):
        out = self.path("bench.json")
        text = self.succeed("bench", "pair_histogram", "--shape", "600x3", "--variants", "sequential,openmp_privatized",
                            "--threads", "1,2", "--dtype", "f32,f64", "--repeats", 2, "--json", out).stdout
        self.assertIn("600 x 3 f64 lab_atoms, 80 bins of 500\nverified: all points against the oracle", text)
        self.assertIn("pairs G/s", text)
        answer = json.loads(content(out, "r"))
        self.assertEqual((answer["problem"], answer["right"], len(answer["groups"])), ("pair_histogram", True, 2))
        group = answer["groups"][1]
        self.assertEqual((group["n"], group["dtype"], group["pairs"], group["counted"]), (600, "f64", 179700, 179700))
        self.assertEqual(group["bins"], {"bin_width": 500, "bins": 80, "cutoff": None})
        self.assertEqual([(row["variant"], row["threads"]) for row in group["rows"]],
                         [("sequential", 1), ("openmp_privatized", 1), ("openmp_privatized", 2)])

    def test_pair_histogram_of_a_file_with_edges_in_a_box(self):
        points = self.file("p.csv", "0,1\n0,0\n3,4\n6,8\n")
        edges = self.file("edges.csv", "1\n3\n4\n")
        result = self.succeed("bench", "pair-histogram", "--data", points, "--edges", edges, "--box", "9,9",
                              "--variants", "sequential", "--repeats", 1, "--dtype", "f32,f64", "--json")
        # The warning is given once, although the file is read once per element type.
        self.assertEqual(result.stderr.count("p.csv:1: the first line, '0,1', is read as a row"), 1)
        answer = json.loads(result.stdout)
        group = answer["groups"][0]
        self.assertEqual((group["points"], group["n"], group["box"]), (points, 4, [9, 9]))
        self.assertEqual(group["bins"], {"edges": [1, 3, 4], "cutoff": None})
        self.assertEqual((group["pairs"], group["counted"]), (6, 3))  # the counted distances are 1, sqrt(10) and sqrt(13)

    def test_wrong_use(self):
        for arguments, words in {
            ("pair-histogram", "-k", 3): "--clusters",
            ("pair-histogram", "--data", "uniform"): "--bin-width",
            ("pair-histogram", "--data", "uniform", "--bin-width", 1): "--bins",
            ("pair-histogram", "--variants", "simd_filtre"): "simd_filter",
            ("pair-histogram", "--variants", "simd_filtre", "--threads", 2): "simd_filter",
            ("pair-histogramm",): "pair_histogram",
        }.items():
            self.refused(2, "bench", *arguments, says=[words])
