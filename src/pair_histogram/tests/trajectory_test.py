"""Tests the boxes and frames of `gradus pair-histogram`. Compares the results with sums over periodic images in plain
Python. tests/cli/run.py runs this file."""

import itertools
import json
import math
import random
import struct

from kit import Case, content, gradus, write_npy


def nearest(first, second, vectors):
    """Returns the distance to the nearest image. Tries all images up to two vectors away."""
    best = math.inf
    for times in itertools.product(range(-2, 3), repeat=len(vectors)):
        apart = [a - b for a, b in zip(first, second)]
        for time, vector in zip(times, vectors):
            apart = [x + time * v for x, v in zip(apart, vector)]
        best = min(best, math.sqrt(sum(x * x for x in apart)))
    return best


def counts_of(points, vectors, width, bins):
    counts = [0] * bins
    for first, second in itertools.combinations(points, 2):
        bin = int(nearest(first, second, vectors) / width)
        if bin < bins:
            counts[bin] += 1
    return counts


def along_axes(*lengths):
    return [[length if axis == place else 0 for axis in range(3)] for place, length in enumerate(lengths) if length]


def record(data):
    return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))


def dcd(points, cell, version):
    numbers = [1, 1, 1] + [0] * 7 + [1] + [0] * 8 + [version]
    parts = [record(b"CORD" + struct.pack("<20i", *numbers)), record(struct.pack("<i", 1) + b" " * 80),
             record(struct.pack("<i", len(points))), record(struct.pack("<6d", *cell))]
    return b"".join(parts + [record(struct.pack("<%df" % len(points), *axis)) for axis in zip(*points)])


class TrajectoryCase(Case):
    def answer(self, *arguments, **options):
        return json.loads(self.succeed("pair-histogram", *arguments, "--json", **options).stdout)

    def xyz(self, name, frames):
        """Writes an XYZ file. `frames` is a list of (comment, points)."""
        text = ""
        for comment, points in frames:
            text += "%d\n%s\n" % (len(points), comment) + "".join("A %r %r %r\n" % tuple(point) for point in points)
        return self.file(name, text)

    @staticmethod
    def uniform(count, vectors, seed=1):
        """Returns points with 32-bit coordinates in the cell."""
        numbers = random.Random(seed)
        points = []
        for _ in range(count):
            shares = [numbers.random() for _ in vectors]
            place = [sum(share * vector[axis] for share, vector in zip(shares, vectors)) for axis in range(3)]
            points.append(struct.unpack("<3f", struct.pack("<3f", *place)))
        return points


class CellsOfDcd(TrajectoryCase):
    MATRIX = [[11.75, 1.5, 1.125], [1.5, 11.25, 0.875], [1.125, 0.875, 12.0]]  # these vectors do not follow from lengths and simple angles
    ROWS = (11.75, 1.5, 11.25, 1.125, 0.875, 12.0)

    def test_charmm_writes_a_matrix_from_version_25_on(self):
        points = self.uniform(50, self.MATRIX)
        right = counts_of(points, self.MATRIX, 1, 5)
        for version in (25, 36, 47):
            path = self.file("m.dcd", dcd(points, self.ROWS, version))
            answer = self.answer(path, "--bin-width", 1, "--bins", 5)
            self.assertEqual(answer["counts"], right, version)
            self.assertEqual(answer["box"], [number for row in self.MATRIX for number in row])
        box = along_axes(9, 8, 7)
        points = self.uniform(50, box)
        for cell, version in (((9, 0, 8, 0, 0, 7), 36), ((9, 90, 8, 90, 90, 7), 36), ((9, 90, 8, 90, 90, 7), 24),
                              ((9, 0, 8, 0, 0, 7), 24)):
            answer = self.answer(self.file("o.dcd", dcd(points, cell, version)), "--bin-width", 1, "--bins", 3)
            self.assertEqual((answer["box"], answer["counts"]), ([9, 8, 7], counts_of(points, box, 1, 3)), cell)

    def test_numbers_that_would_do_for_either_form_are_refused(self):
        points = self.uniform(5, along_axes(9, 9, 9))
        job = ("--bin-width", 1, "--bins", 3)
        both = self.file("b.dcd", dcd(points, (100, 60, 100, 60, 60, 100), 36))
        self.refused(3, "pair-histogram", both, *job, says=["b.dcd", "CHARMM 36", "60, 60 and 60", "angles in degrees", "--box"])
        self.answer(both, *job, "--box", "100,100,100")
        cosines = self.file("c.dcd", dcd(points, (9, 0.5, 9, 0, 0, 9), 35))  # this is what cpptraj writes, with the version number 35
        self.refused(3, "pair-histogram", cosines, *job, says=["c.dcd", "CHARMM 35", "0, 0 and 0.5", "cosines", "--box"])
        old = self.file("o.dcd", dcd(points, self.ROWS, 24))
        self.refused(3, "pair-histogram", old, *job, says=["o.dcd", "version 24", "shape matrix", "--box"])
        self.refused(3, "pair-histogram", self.file("n.dcd", dcd(points, (9, 50, 9, 20, 120, 9), 36)), *job,
                     says=["n.dcd", "no cell has the angles 120, 20 and 50", "byte"])


class AtomsByTheirIds(TrajectoryCase):
    HEAD = "ITEM: TIMESTEP\n%d\nITEM: NUMBER OF ATOMS\n%d\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\nITEM: ATOMS id type x y z\n"

    def dump(self, name, points, orders):
        text = ""
        for step, order in enumerate(orders):
            text += self.HEAD % (step, len(order)) + "".join("%d %d %r %r %r\n" % (atom + 1, atom % 2, *points[atom]) for atom in order)
        return self.file(name, text)

    def test_frames_in_any_order(self):
        points = self.uniform(6, along_axes(10, 10, 10))
        orders = list(range(6)), [5, 3, 1, 0, 2, 4], [1, 0, 2, 3, 5, 4]
        weights = self.file("w.csv", "".join("%d\n" % 10**atom for atom in range(6)))
        job = ("--bin-width", 5, "--bins", 1)
        right = sum(10**(i + j) for i, j in itertools.combinations(range(6), 2)
                    if nearest(points[i], points[j], along_axes(10, 10, 10)) < 5)
        path = self.dump("u.dump", points, orders)
        self.assertEqual(self.answer(path, *job, "--weights", weights)["weighted"], [3 * right])
        for selection in ("index 0-2", "id 1-3"):
            self.assertEqual(self.answer(path, *job, "--select", selection)["counts"],
                             [3 * counts_of(points[:3], along_axes(10, 10, 10), 5, 1)[0]], selection)
        pairs = self.answer(path, *job, "--select", "index 0", "--cross-select", "index 3", "--frames", "1")
        self.assertEqual(pairs["counts"], counts_of([points[0], points[3]], along_axes(10, 10, 10), 5, 1))

    def test_what_ids_cannot_be(self):
        points = self.uniform(4, along_axes(10, 10, 10))
        job = ("--bin-width", 5, "--bins", 1)
        self.refused(3, "pair-histogram", self.dump("t.dump", points, [[0, 1, 2, 1]]), *job,
                     says=["t.dump:13", "two atoms of the frame have the id 2"])
        other = self.dump("o.dump", points, [[0, 1, 2], [0, 3, 2]])
        weights = self.file("w.csv", "1\n2\n3\n")
        self.answer(other, *job)
        self.answer(other, *job, "--select", "id 1")
        for more in (("--weights", weights), ("--select", "index 1"), ("--select", "id 1", "--cross-select", "index 1"),
                     ("--cross", other, "--cross-select", "not index 1")):
            self.refused(3, "pair-histogram", other, *job, *more, says=["o.dump", "differ from the first frame", "(in frame 1"])

    def test_fewer_atoms_than_a_skipped_frame_claims(self):
        text = self.HEAD % (0, 12) + "1 1 0 0 0\n" + self.HEAD % (1, 1) + "1 1 0 0 0\n" + self.HEAD % (2, 1) + "1 1 0 0 0\n"
        self.refused(3, "pair-histogram", self.file("s.dump", text), "--bin-width", 1, "--bins", 1, "--frames", "1",
                     says=["s.dump:11", "claims 12 atoms and has 1"])


class CutFiles(TrajectoryCase):
    """Tests files of three frames that were cut somewhere in the last frame."""

    NOTE = "the last line has no end: if the file was cut there, so may be its last number"
    FRAMES = {
        "c.xyz": '2\nLattice="9 0 0 0 9 0 0 0 9"\nAr 0 0 0\nAr 0 0 1.25\n',
        "c.dump": "ITEM: TIMESTEP\n7\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n"
                  "ITEM: ATOMS id x y z\n21 0 0 0\n2 0 0 1.25\n",
        "c.gro": "t\n    2\n    1SOL     OW    1   0.000   0.000   0.000\n    1SOL     OW    2   0.000   0.000   1.250\n"
                 "   9.0   9.0   9.0   0.0   0.0   1.0   0.0   0.0   0.0\n"}
    JOB = ("--bin-width", 0.5, "--bins", 4)

    def test_whatever_is_left_of_the_last_frame(self):
        for name, frame in self.FRAMES.items():
            accepted = 0
            for length in range(1, len(frame)):
                path = self.file(name, 2 * frame + frame[:length])
                result = gradus("pair-histogram", path, *self.JOB)
                if result.returncode == 0:
                    accepted += 1
                    self.assertIn("%s': %s; --frames :2 leaves" % (name, self.NOTE), result.stderr, length)
                    left = self.succeed("pair-histogram", path, *self.JOB, "--frames", ":2")
                    self.assertNotIn(self.NOTE, left.stderr)
                    continue
                self.assertEqual(result.returncode, 3, (name, length, result.stderr))
                self.assertIn("the 2 frames before it are whole: --frames :2", result.stderr, (name, length))
                self.assertEqual(self.answer(path, *self.JOB, "--frames", ":-1")["frames"], 2, (name, length))
            self.assertIn(accepted, range(1, 5), name)  # the cut is between the digits of the last number

    def test_where_the_note_belongs(self):
        frame = self.FRAMES["c.xyz"]
        for text, more in ((2 * frame, ()), (2 * frame + "  ", ()), (3 * frame + frame[:-1], ("--frames", "::2")), (frame + frame[:-1], ("--frames", "0"))):
            self.assertNotIn(self.NOTE, self.succeed("pair-histogram", self.file("n.xyz", text), *self.JOB, *more).stderr)
        one = self.file("o.xyz", frame[:-1])
        note = self.succeed("pair-histogram", one, *self.JOB).stderr
        self.assertIn(self.NOTE, note)
        self.assertNotIn("--frames", note)
        self.assertIn(self.NOTE, self.succeed("pair-histogram", "-", *self.JOB, stdin=frame[:-1]).stderr)
        both = self.file("b.xyz", frame)
        self.assertIn("o.xyz': " + self.NOTE, self.succeed("pair-histogram", both, "--cross", one, *self.JOB).stderr)
        self.assertEqual(self.answer(one, *self.JOB)["counts"], self.answer(both, *self.JOB)["counts"])

    def test_the_box_line_of_gro(self):
        frame = self.FRAMES["c.gro"]
        cut = frame[:frame.index("9.0   0.0") + 3]
        path = self.file("g.gro", frame + cut)
        self.refused(3, "pair-histogram", path, *self.JOB,
                     says=["g.gro:10", "three numbers, but the box of the frame before has nine", "the frame before it is whole: --frames :1"])
        self.answer(self.file("h.gro", frame + cut + "\n"), *self.JOB)  # the box of the last frame differs
        self.assertIn(self.NOTE, self.succeed("pair-histogram", self.file("i.gro", cut), *self.JOB).stderr)


class Layers(TrajectoryCase):
    """Tests points in a plane, in the form in which LAMMPS writes two-dimensional runs. Along z, the box extends from
    -0.5 to 0.5."""

    def flat(self, bounds="pp pp pp\n0 20\n0 20\n-0.5 0.5", vectors=((20, 0, 0), (0, 20, 0)), name="f.dump", moved=False):
        """Returns the file and its points. If `moved` is true, most points in the file are moved by lattice vectors."""
        points = [(x, y, 0.0) for x, y, _ in self.uniform(80, vectors)]
        if moved:
            times = [(number % 3, -(number % 2)) for number in range(80)]
            points = [tuple(x + m * p + n * q for x, p, q in zip(point, *vectors)) for point, (m, n) in zip(points, times)]
        text = "ITEM: NUMBER OF ATOMS\n80\nITEM: BOX BOUNDS %s\nITEM: ATOMS id x y z\n" % bounds
        return self.file(name, text + "".join("%d %r %r %r\n" % (atom, *place) for atom, place in enumerate(points))), points

    def check_rings(self, answer, points, vectors, width, area):
        counts = counts_of(points, vectors, width, len(answer["counts"]))
        self.assertEqual((answer["d"], answer["counts"]), (2, counts))
        for bin, count in enumerate(counts):
            ring = math.pi * ((width * (bin + 1))**2 - (width * bin)**2)
            self.assertAlmostEqual(answer["g"][bin], count / (80 * 79 / 2 * ring / area), places=9)

    def test_rings_in_the_plane(self):
        vectors = [[20, 0, 0], [0, 20, 0]]
        path, points = self.flat()
        self.check_rings(self.answer(path, "--bin-width", 0.5, "--rdf", "--dimensions", "xy"), points, vectors, 0.5, 400)
        self.assertEqual(len(self.answer(path, "--bin-width", 0.5, "--dimensions", "xy")["counts"]), 20)
        for box in ("20,20", "20,20,1"):
            again = self.answer(path, "--bin-width", 0.5, "--cutoff", 5, "--rdf", "--dimensions", "xy", "--box", box)
            self.check_rings(again, points, vectors, 0.5, 400)
        table = self.file("p.csv", "".join("%r,%r,%r\n" % (x, 7.0 + number, y) for number, (x, y, _) in enumerate(points)))
        again = self.answer(table, "--bin-width", 0.5, "--cutoff", 5, "--rdf", "--dimensions", "xz", "--box", "20,1,20")
        self.check_rings(again, points, vectors, 0.5, 400)
        line = self.answer(table, "--bin-width", 1, "--bins", 3, "--dimensions", "y")
        self.assertEqual((line["d"], line["counts"]), (1, [0, 79, 78]))

    def test_cells_in_the_plane(self):
        vectors = [[20, 0, 0], [8, 18, 0]]
        path, points = self.flat("xy xz yz pp pp pp\n0 28 8\n0 18 0\n-0.5 0.5 0", vectors)
        self.check_rings(self.answer(path, "--bin-width", 0.5, "--cutoff", 8, "--rdf", "--dimensions", "xy"), points, vectors, 0.5, 360)
        half = self.answer(path, "--bin-width", 0.5, "--dimensions", "xy")
        self.assertEqual(half["edges"][-1], 9)  # half of the height above the vector along x
        away, _ = self.flat("xy xz yz pp pp pp\n0 28 8\n0 18 0\n-0.5 0.5 0", vectors, moved=True)
        self.check_rings(self.answer(away, "--bin-width", 0.5, "--cutoff", 8, "--rdf", "--dimensions", "xy"), points, vectors, 0.5, 360)
        self.refused(2, "pair-histogram", away, "--bin-width", 0.5, "--bins", 2, "--dimensions", "xz",
                     says=["dimensions", "vector 1 of the cell"])

    def test_shells_around_points_in_a_plane_are_refused(self):
        path, points = self.flat()
        for more in ((), ("--bins", 1), ("--volume", 400)):
            self.refused(2, "pair-histogram", path, "--bin-width", 0.25, "--rdf", *more,
                         says=["all points have the same z", "--dimensions xy", "--dimensions xyz"])
        self.answer(path, "--bin-width", 0.25)
        self.assertEqual(self.answer(path, "--bin-width", 0.25, "--rdf", "--dimensions", "xyz")["d"], 3)
        tilted, _ = self.flat("xy xz yz pp pp pp\n0 28 8\n0 18 0\n-0.5 0.5 0", [[20, 0, 0], [8, 18, 0]])
        self.refused(2, "pair-histogram", tilted, "--bin-width", 0.25, "--rdf", says=["--dimensions xy"])

    def test_wrong_use(self):
        path, _ = self.flat()
        job = ("pair-histogram", path, "--bin-width", 0.5, "--bins", 1)
        for text in ("", "xx", "xw", "XY", "none"):
            self.refused(2, *job, "--dimensions", text, says=["--dimensions", "x, y and z"])
        write_npy(self.path("p.npy"), "<f8", (2, 2), [1, 2, 3, 4])
        self.refused(2, "pair-histogram", self.path("p.npy"), "--bin-width", 1, "--bins", 1, "--dimensions", "xz",
                     says=["a column that the points do not have"])


class BoxesThatChange(TrajectoryCase):
    def test_bins_go_to_half_of_the_least_box(self):
        numbers = random.Random(3)
        lengths = [20 + numbers.randrange(-999, 999) / 1000 for _ in range(20)]
        frames = [('Lattice="%r 0 0 0 %r 0 0 0 %r"' % (length, length, length), self.uniform(5, along_axes(*[length] * 3)))
                  for length in lengths]
        path = self.xyz("n.xyz", frames)
        right = [0] * 100
        for length, (_, points) in zip(lengths, frames):
            for bin, count in enumerate(counts_of(points, along_axes(*[length] * 3), 0.1, 100)):
                right[bin] += count
        answer = self.answer(path, "--bin-width", 0.1, "--rdf")
        self.assertEqual(answer["edges"][-1], min(lengths) / 2)
        self.assertEqual(answer["counts"][:90], right[:90])
        self.assertEqual(self.answer(path, "--bin-width", 0.1, "--frames", "3:7")["edges"][-1], min(lengths[3:7]) / 2)
        # The cutoff in the message suits all frames, whether the bins are given or cannot be chosen in advance.
        fits = "--cutoff %r fits all frames" % (min(lengths) / 2)
        self.refused(2, "pair-histogram", path, "--bin-width", 0.1, "--cutoff", 10, says=["past half", fits])
        self.refused(2, "pair-histogram", path, "--edges", self.file("e.csv", "0\n10.4\n"), says=["reach to 10.4", fits])
        self.refused(2, "pair-histogram", "-", "--bin-width", 0.1, stdin=content(path, "r"), says=["past half", fits])
        self.assertEqual(self.answer(path, "--bin-width", 0.1, "--cutoff", min(lengths) / 2)["counts"], answer["counts"])

    def test_a_cut_last_frame(self):
        path = self.file("c.xyz", "2\n\nA 0 0 0\nA 1 0 0\n" * 3 + "2\n\nA 0 0 0\n")
        job = ("--bin-width", 0.5, "--bins", 3)
        for more in ((), ("--frames=-1",), ("--frames", "3")):
            self.refused(3, "pair-histogram", path, *job, *more,
                         says=["c.xyz:16", "atom 2 of 2", "the 3 frames before it are whole: --frames :3"])
        for frames in (":-1", ":3", "-4:-1"):
            self.assertEqual(self.answer(path, *job, "--frames=" + frames)["counts"], [0, 0, 3], frames)
        boxed = self.file("b.xyz", '1\nLattice="9 0 0 0 9 0 0 0 9"\nA 0 0 0\n' * 2 + '1\nLattice="9 0 0 0 9 0 0 0 9"\n')
        self.refused(3, "pair-histogram", boxed, "--bin-width", 1, says=["the 2 frames before it are whole: --frames :2"])
        self.assertEqual(self.answer(boxed, "--bin-width", 1, "--frames", ":-1")["frames"], 2)
        data = dcd([(0, 0, 0), (1, 0, 0)], (9, 90, 9, 90, 90, 9), 24)
        frame = data[-(56 + 3 * 16):]
        cut = self.file("c.dcd", data + frame + frame[:60])
        self.refused(3, "pair-histogram", cut, *job, says=["c.dcd", "the 2 frames before it are whole: --frames :2"])
        self.assertEqual(self.answer(cut, *job, "--frames", ":-1")["counts"], [0, 0, 2])
        self.refused(3, "pair-histogram", self.file("d.xyz", "2\n\nA 0 0 0\n"), *job, says=["d.xyz:4"])


class OpenDirections(TrajectoryCase):
    SLAB = 'Lattice="10 0 0 0 10 0 0 0 %d" pbc="T T F"'

    def test_slabs(self):
        vectors = along_axes(10, 10, 0)
        points = [(x, y, 3 * z - 7) for x, y, z in self.uniform(60, along_axes(10, 10, 10))]  # some points are beyond the lattice's height of 30
        right = counts_of(points, vectors, 1, 5)
        job = ("--bin-width", 1, "--cutoff", 5)
        dump = "ITEM: NUMBER OF ATOMS\n60\nITEM: BOX BOUNDS pp pp %s\n0 10\n0 10\n-7 23\nITEM: ATOMS x y z\n" + "".join("%r %r %r\n" % one for one in points)
        files = [self.xyz("slab.xyz", [(self.SLAB % 30, points)]), self.xyz("flat.xyz", [(self.SLAB % 0, points)]),
                 self.file("ff.dump", dump % "ff"), self.file("ss.dump", dump % "ss")]
        for path in files:
            answer = self.answer(path, *job)
            self.assertEqual((answer["counts"], answer["periodic"]), (right, "xy"), path)
            self.assertEqual(len(self.answer(path, "--bin-width", 1)["counts"]), 5)
        table = self.file("p.csv", "".join("%r,%r,%r\n" % one for one in points))
        for box in ("10,10,60", "10,10,1", "10,0,0,0,10,0,3,4,30"):
            self.assertEqual(self.answer(table, *job, "--box", box, "--periodic", "xy")["counts"], right, box)
        self.assertEqual(self.answer(files[0], *job, "--box", "10,10,60", "--fold")["periodic"], "xyz")
        self.assertEqual(self.answer(files[0], *job, "--periodic", "none")["counts"], counts_of(points, [], 1, 5))
        self.assertEqual(self.answer(files[0], *job, "--periodic", "y")["counts"], counts_of(points, along_axes(0, 10, 0), 1, 5))
        self.assertEqual(self.answer(files[2], *job, "--periodic", "xyz")["counts"], counts_of(points, along_axes(10, 10, 30), 1, 5))
        # An open direction has no volume.
        self.refused(2, "pair-histogram", files[0], *job, "--rdf", says=["--volume"])
        self.answer(files[0], *job, "--rdf", "--volume", 3000)
        # The in-plane distances of a slab do have an area.
        plane = self.answer(files[0], *job, "--rdf", "--dimensions", "xy")
        self.assertEqual(plane["counts"], counts_of([(x, y, 0) for x, y, _ in points], vectors, 1, 5))
        # Atoms outside the box are moved along the periodic directions only.
        away = self.xyz("away.xyz", [(self.SLAB % 30, [(x + 10 * (number % 5), y - 10, z) for number, (x, y, z) in enumerate(points)])])
        self.assertEqual(self.answer(away, *job)["counts"], right)

    def test_slabs_in_every_orientation(self):
        """Tests slabs along the axes and oblique slabs. The open vector of the cell is zero, perpendicular to the slab,
        or arbitrary."""
        job = ("--bin-width", 1, "--bins", 4)
        for seed, (a, b) in enumerate(((([12, 0, 0], [5, 11, 0])), ([8, 8, 0], [0, 9, 9]), ([0, 0, 11], [12, 3, 2]))):
            normal = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
            up = [3 * number / max(map(abs, normal)) * 10 for number in normal]
            points = self.uniform(50, [a, b, up], seed)
            right = counts_of(points, [a, b], 1, 4)
            for third in ([0, 0, 0], up, [1, 2, 3]):
                numbers = " ".join("%r" % number for number in a + b + third)
                slab = self.xyz("s.xyz", [('Lattice="%s" pbc="T T F"' % numbers, points)])
                self.assertEqual(self.answer(slab, *job)["counts"], right, numbers)
                numbers = " ".join("%r" % number for number in third + a + b)
                slab = self.xyz("s.xyz", [('Lattice="%s" pbc="F T T"' % numbers, points)])
                self.assertEqual(self.answer(slab, *job)["counts"], right, numbers)
            wire = self.xyz("w.xyz", [('Lattice="%s" pbc="F T F"' % " ".join("%r" % number for number in up + a + b), points)])
            self.assertEqual(self.answer(wire, *job)["counts"], counts_of(points, [a], 1, 4))
            moved = [[x + (number % 3 - 1) * p + (number % 2) * q for x, p, q in zip(point, a, b)] for number, point in enumerate(points)]
            away = self.xyz("m.xyz", [('Lattice="%s" pbc="T T F"' % " ".join("%r" % number for number in a + b + up), moved)])
            self.assertEqual(self.answer(away, *job)["counts"], right)

    def test_rdf_of_a_layer_or_a_wire(self):
        points = self.uniform(40, [[10, 0, 0], [2, 9, 0], [0, 0, 9]])
        for lattice, flags, columns in (("10 0 0 0 9 0 0 0 12", "T T F", "xy"), ("10 0 0 0 9 0 0 0 12", "F F T", "z"),
                                        ("10 0 0 2 9 0 -1 3 11", "T T F", "xy"), ("-1 3 11 10 0 0 2 9 0", "F T T", "xy"),
                                        ("0 0 12 2 9 0 10 0 0", "T F F", "z")):
            path = self.xyz("l.xyz", [('Lattice="%s" pbc="%s"' % (lattice, flags), points)])
            job = (path, "--bin-width", 1, "--bins", 4, "--rdf")
            self.refused(2, "pair-histogram", *job, says=["--volume", "--dimensions %s)" % columns])
            answer = self.answer(*job, "--dimensions", columns)
            self.assertEqual((answer["d"], len(answer["g"])), (len(columns), 4))
        mixed = self.xyz("m.xyz", [('Lattice="10 0 1 2 9 0 -1 3 11" pbc="T T F"', points)])
        self.assertNotIn("--dimensions", self.refused(2, "pair-histogram", mixed, "--bin-width", 1, "--bins", 4, "--rdf").stderr)
        table = self.file("t.csv", "0.5,1,1\n1,2,3\n")
        for box in ("0,0,12,11,0,0,0,9,0", "0,9,0,11,0,0,0,0,12"):
            answer = self.answer(table, "--bin-width", 1, "--bins", 3, "--box", box, "--dimensions", "xy")
            self.assertEqual(answer["counts"], [0, 1, 0])

    def test_every_variant_and_type(self):
        points = self.uniform(60, along_axes(10, 10, 30))
        path = self.path("p.npy")
        write_npy(path, "<f4", (60, 3), [number for point in points for number in point])
        right = counts_of(points, along_axes(10, 0, 30), 1, 5)
        for row in json.loads(self.succeed("list", "pair-histogram", "--json").stdout)[0]["variants"]:
            if row["runs_here"]:
                answer = self.answer(path, "--bin-width", 1, "--bins", 5, "--box", "10,10,30", "--periodic", "xz", "--variant", row["name"])
                self.assertEqual(answer["counts"], right, row["name"])

    def test_a_box_that_the_file_leaves_open(self):
        dump = self.file("a.dump", "ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS\n0 5\n0 6\n0 7\nITEM: ATOMS x y z\n0.5 3 3\n4.5 3 3\n")
        job = ("--bin-width", 1.5, "--cutoff", 2.5)
        self.refused(3, "pair-histogram", dump, *job, says=["a.dump:3", "--periodic", "--box"])
        for flags, counts in (("xyz", [1, 0]), ("x", [1, 0]), ("yz", [0, 0]), ("none", [0, 0])):
            self.assertEqual(self.answer(dump, *job, "--periodic", flags)["counts"], counts, flags)

    def test_wrong_use(self):
        points = self.file("p.csv", "0,0,0\n1,1,1\n")
        job = ("pair-histogram", points, "--bin-width", 1, "--bins", 1)
        self.refused(2, *job, "--periodic", "xy", says=["--periodic", "p.csv", "no box", "--box"])
        for text in ("", "xx", "abc", "XY"):
            self.refused(2, *job, "--box", "9,9,9", "--periodic", text, says=["--periodic", "x, y and z"])
        changing = self.xyz("c.xyz", [(self.SLAB % 30, [(1, 1, 1)]), (self.SLAB.replace("F", "T") % 30, [(1, 1, 1)])])
        self.refused(3, "pair-histogram", changing, "--bin-width", 1, "--bins", 1, says=["periodic in xy", "--periodic", "(in frame 1"])
        self.answer(changing, "--bin-width", 1, "--bins", 1, "--periodic", "xy")


class Units(TrajectoryCase):
    def test_files_of_different_units(self):
        gro = self.file("w.gro", "t\n    1\n    1SOL     OW    1   0.100   0.100   0.100\n   2.0   2.0   2.0\n")
        xyz = self.file("w.xyz", '1\nLattice="2 0 0 0 2 0 0 0 2"\nO 1 1 1\n')
        for points, others in ((gro, xyz), (xyz, gro)):
            self.refused(3, "pair-histogram", points, "--cross", others, "--bin-width", 0.5, "--bins", 1,
                         says=["w.gro", "in nm", "w.xyz", "in angstrom"])
        self.answer(gro, "--cross", gro, "--bin-width", 0.5, "--bins", 1)
