"""Tests exclusions, centres of mass, errors from blocks and varying numbers of atoms of `gradus pair-histogram`. Compares
with plain Python. tests/cli/run.py runs this file."""

import itertools
import math
import random
import statistics

from kit import load

trajectories = load(__file__.replace("groups_test", "trajectory_test"))
TrajectoryCase, along_axes, dcd, nearest = (
    trajectories.TrajectoryCase, trajectories.along_axes, trajectories.dcd, trajectories.nearest)

BOX = along_axes(10, 9, 11)
VOLUME = 10 * 9 * 11
JOB = ("--bin-width", 1, "--bins", 4)
NAMES = ("OW", "HW1", "HW2")
MASSES = (15.999, 1.008, 1.008)


def molecules(count, seed):
    """Returns atoms of waters, which may be outside of the box, with three decimals."""
    numbers = random.Random(seed)
    atoms = []
    for _ in range(count):
        centre = [numbers.uniform(-0.5, 1.5) * sum(vector) for vector in zip(*BOX)]
        atoms += [[round(x + numbers.gauss(0, 0.4), 3) for x in centre] for _ in range(3)]
    return atoms


def gro(frames):
    text = ""
    for atoms in frames:
        text += "water\n%d\n" % len(atoms)
        for row, atom in enumerate(atoms):
            text += "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n" % (row // 3 + 1, "SOL", NAMES[row % 3], row + 1, *atom)
        text += "10 9 11\n"
    return text


def pdb(atoms, bonds):
    text = "CRYST1   10.000    9.000   11.000  90.00  90.00  90.00 P 1\n"
    for row, atom in enumerate(atoms):
        text += "ATOM  %5d %-4s SOL A%4d    %8.3f%8.3f%8.3f  1.00  0.00          %2s\n" % (
            row + 1, NAMES[row % 3], row // 3 + 1, *atom, NAMES[row % 3][0])
    return text + "".join("CONECT%5d%5d\n" % (first + 1, second + 1) for first, second in bonds) + "END\n"


def histogram(pairs, bins=4):
    counts = [0] * bins
    for first, second in pairs:
        # coordinates have three decimals: an integer calculation decides the bin
        apart = nearest(first, second, BOX)
        if apart < bins:
            counts[int(apart)] += 1
    return counts


def g_of(counts, pairs_per_volume):
    return [count / (4 / 3 * math.pi * ((bin + 1) ** 3 - bin**3) * pairs_per_volume) for bin, count in enumerate(counts)]


class Groups(TrajectoryCase):
    def close(self, found, wanted, relative=1e-12):
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            self.assertTrue(math.isclose(one, other, rel_tol=relative, abs_tol=1e-300), (found, wanted))

    def pairs_of(self, atoms, first, second, same):
        """Returns the pairs that count. `second` is None for pairs within `first`."""
        chosen = itertools.combinations(first, 2) if second is None else itertools.product(first, second)
        return [(i, j) for i, j in chosen if i != j and not same(i, j)]

    def test_pairs_of_a_residue_are_left_out(self):
        frames = [molecules(20, seed) for seed in range(4)]
        path = self.file("w.gro", gro(frames))
        every, oxygen, hydrogen = range(60), range(0, 60, 3), [i for i in range(60) if i % 3]
        def in_residue(i, j):
            return i // 3 == j // 3
        for first, second, options in (
                (every, None, ()), (oxygen, hydrogen, ("--select", "name OW", "--cross-select", "name HW1 HW2")),
                (oxygen, every, ("--select", "name OW", "--cross-select", "all"))):
            counts, pairs = [0] * 4, 0
            for atoms in frames:
                some = self.pairs_of(atoms, first, second, in_residue)
                pairs += len(some)
                counts = [a + b for a, b in zip(counts, histogram([(atoms[i], atoms[j]) for i, j in some]))]
            for threads in (1, 3):
                answer = self.answer(path, *JOB, "--rdf", "--exclude-same", "residue", "--threads", threads, *options)
                self.assertEqual((answer["counts"], answer["pairs"]), (counts, pairs))
                self.close(answer["g"], g_of(counts, pairs / VOLUME))
            all_pairs = 4 * (60 * 59 // 2 if second is None else len(first) * len(second))
            self.assertEqual(answer["excluded"], all_pairs - pairs)
        partial = self.answer(path, *JOB, "--rdf", "--partial", "--exclude-same", "residue")["partial"]
        mixed = next(part for part in partial if part["kinds"] == ["HW1", "OW"])
        wanted = [self.pairs_of(atoms, range(1, 60, 3), oxygen, in_residue) for atoms in frames]
        self.assertEqual(mixed["counts"], [sum(bin) for bin in zip(*(
            histogram([(atoms[i], atoms[j]) for i, j in some]) for atoms, some in zip(frames, wanted)))])
        self.assertEqual(mixed["pairs"], 4 * 20 * 19)

    def test_a_topology_names_the_atoms_of_another_file(self):
        frames = [molecules(20, 7)]
        topology = self.file("w.gro", gro(frames))
        bare = self.file("w.dcd", dcd(frames[0], (10, 90, 9, 90, 90, 11), 24))
        options = ("--select", "name OW", "--cross-select", "name HW1", "--exclude-same", "residue")
        named = self.answer(bare, *JOB, "--topology", topology, *options)
        self.assertEqual(named["pairs"], 20 * 19)
        self.assertEqual(named["counts"], self.answer(topology, *JOB, *options)["counts"])
        short = self.file("s.gro", gro([frames[0][:30]]))
        self.refused(3, "pair-histogram", bare, *JOB, "--topology", short, *options, says=["60 atoms", "names 30"])
        self.refused(3, "pair-histogram", bare, *JOB, "--exclude-same", "residue", says=["no residues", "--topology"])
        self.refused(3, "pair-histogram", topology, *JOB, "--exclude-same", "molecule", says=["no molecules", "'mol'"])
        self.refused(2, "pair-histogram", self.file("p.csv", "1,2,3\n"), *JOB, "--exclude-same", "residue", says=["trajectory"])
        self.refused(2, "pair-histogram", topology, *JOB, "--cross", topology, "--exclude-same", "residue", says=["--cross-select"])

    def test_bonded_pairs_are_left_out(self):
        atoms = molecules(20, 3)
        bonds = [(i, i + step) for i in range(0, 60, 3) for step in (1, 2)]
        path = self.file("w.pdb", pdb(atoms, bonds + [(second, first) for first, second in bonds]))
        def bonded(i, j):
            return tuple(sorted((i, j))) in bonds
        for first, second, options in (
                (range(60), None, ()), (range(0, 60, 3), range(60), ("--select", "element O", "--cross-select", "all")),
                ([i for i in range(60) if i % 3], range(60), ("--select", "element H", "--cross-select", "all"))):
            some = self.pairs_of(atoms, first, second, bonded)
            answer = self.answer(path, *JOB, "--exclude-same", "bonded", *options)
            self.assertEqual((answer["pairs"], answer["counts"]), (len(some), histogram([(atoms[i], atoms[j]) for i, j in some])))
        self.refused(3, "pair-histogram", self.file("n.pdb", pdb(atoms, [])), *JOB, "--exclude-same", "bonded", says=["no bonds", "CONECT"])
        self.refused(3, "pair-histogram", self.file("u.pdb", pdb(atoms, [(1, 98)])), *JOB, "--exclude-same", "bonded", says=["u.pdb:62", "'99'"])

    def test_molecules_of_lammps(self):
        atoms = molecules(20, 5)
        rows = list(range(60))
        random.Random(1).shuffle(rows)
        text = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n60\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 9\n0 11\nITEM: ATOMS id mol type xu yu zu\n"
        text += "".join("%d %d %d %r %r %r\n" % (i + 1, 0 if i >= 54 else i // 3 + 1, i % 3, *atoms[i]) for i in rows)
        answer = self.answer(self.file("m.dump", text), *JOB, "--exclude-same", "molecule")
        some = self.pairs_of(atoms, range(60), None, lambda i, j: i // 3 == j // 3 and i < 54)
        self.assertEqual((answer["pairs"], answer["counts"]), (len(some), histogram([(atoms[i], atoms[j]) for i, j in some])))

    def test_centres_of_mass(self):
        frames = [molecules(20, seed) for seed in range(2)]
        centres = [[[sum(m * atom[axis] for m, atom in zip(MASSES, atoms[i:i + 3])) / sum(MASSES) for axis in range(3)]
                    for i in range(0, 60, 3)] for atoms in frames]
        wanted = [sum(bin) for bin in zip(*(histogram(itertools.combinations(points, 2)) for points in centres))]
        # moves atoms by whole lengths of the box, each atom by others
        lengths = (10, 9, 11)
        broken = [[[round(x - math.floor(x / length) * length, 3) for x, length in zip(atom, lengths)] for atom in atoms] for atoms in frames]
        for points in (frames, broken):
            path = self.file("w.gro", gro(points))
            answer = self.answer(path, *JOB, "--mass-centers", "residue", "--rdf")
            self.assertEqual((answer["n"], answer["counts"]), (20, wanted))
        one = self.answer(path, *JOB, "--mass-centers", "residue", "--partial", "--select", "index 0-9", "--exclude-same", "residue")["partial"]
        self.assertEqual([(part["kinds"], part["n"]) for part in one], [(["SOL", "SOL"], 10)])
        odd = self.file("x.gro", gro(frames).replace("  OW", "  XX"))
        self.refused(3, "pair-histogram", odd, *JOB, "--mass-centers", "residue", says=["mass of atom 0", "'XX'", "--topology"])

    def test_errors_are_of_blocks(self):
        frames = [molecules(20, seed) for seed in range(7)]
        path = self.file("w.gro", gro(frames))
        answer = self.answer(path, *JOB, "--rdf", "--blocks", 3)
        parts = [self.answer(path, *JOB, "--rdf", "--frames", frames) for frames in ("0:2", "2:4", "4:7")]
        for name in ("g", "coordination"):
            errors = [statistics.stdev(values) / math.sqrt(3) for values in zip(*(part[name] for part in parts))]
            self.close(answer[name + "_error"], errors, 1e-9)
        header = self.succeed("pair-histogram", path, *JOB, "--rdf", "--blocks", 3).stdout.split("\n")[0]
        self.assertEqual(header, "lo,hi,count,g,density,coordination,g_error,coordination_error")
        self.refused(2, "pair-histogram", path, *JOB, "--blocks", 3, says=["--rdf"])
        self.succeed("pair-histogram", path, *JOB, "--rdf", "--blocks", 7)
        self.refused(3, "pair-histogram", path, *JOB, "--rdf", "--blocks", 8, says=["w.gro", "7 frames", "--blocks 7"])
        one = (path, *JOB, "--rdf", "--frames", 0, "--blocks", 2)
        self.refused(3, "pair-histogram", *one, says=["w.gro", "1 frame is", "leave out --blocks"])
        table = self.file("p.csv", "1,2,3\n3,4,5\n")
        self.refused(3, "pair-histogram", table, *JOB, "--rdf", "--volume", 9, "--blocks", 2, says=["p.csv", "1 frame is"])

    def test_layers_are_selected_by_coordinates(self):
        frames = [molecules(20, seed) for seed in range(3)]
        path = self.file("w.gro", gro(frames))
        layer = [[atom[:2] for row, atom in enumerate(atoms) if row % 3 == 0 and 2 <= atom[2] < 8.5] for atoms in frames]
        answer = self.answer(path, *JOB, "--select", "name OW and z 2:8.5", "--dimensions", "xy", "--rdf")
        flat = [vector[:2] for vector in BOX[:2]]
        counts = [0] * 4
        for points in layer:
            for first, second in itertools.combinations(points, 2):
                apart = nearest(first, second, flat)
                if apart < 4:
                    counts[int(apart)] += 1
        self.assertEqual(answer["counts"], counts)
        self.assertTrue(len({len(points) for points in layer}) > 1)
        pairs = sum(len(points) * (len(points) - 1) / 2 for points in layer)
        self.close(answer["g"], [count / (math.pi * (2 * bin + 1) * pairs / 90) for bin, count in enumerate(counts)])
        self.refused(2, "pair-histogram", path, *JOB, "--select", "z 5:5", says=["'5:5'", "A:B"])
        self.refused(2, "pair-histogram", path, *JOB, "--select", "z 5", says=["'5'", "A:B"])

    def test_a_frame_respects_the_memory_limit(self):
        path = self.file("l.dcd", dcd([[1.0, 1, 1]] * 200000, (10, 90, 9, 90, 90, 11), 24))
        job = (path, *JOB, "--select", "index 0-9")
        self.refused(1, "pair-histogram", *job, "--memory-limit", "2M", says=["memory limit", "2 MiB", "fewer atoms"])
        self.succeed("pair-histogram", *job, "--memory-limit", "100M")

    def test_numbers_of_atoms_may_vary(self):
        sizes = (60, 33, 45)
        frames = [molecules(20, seed)[:size] for seed, size in enumerate(sizes)]
        text = "".join("%d\nLattice=\"10 0 0 0 9 0 0 0 11\"\n" % len(atoms) + "".join(
            "%s %r %r %r\n" % ("OHH"[row % 3], *atom) for row, atom in enumerate(atoms)) for atoms in frames)
        path = self.file("v.xyz", text)
        counts = [sum(bin) for bin in zip(*(histogram(itertools.combinations(atoms, 2)) for atoms in frames))]
        answer = self.answer(path, *JOB, "--rdf")
        self.assertEqual((answer["counts"], answer["n"]), (counts, sum(sizes) / 3))
        self.close(answer["g"], g_of(counts, sum(n * (n - 1) / 2 for n in sizes) / VOLUME))
        self.close(answer["coordination"], [2 * sum(counts[:bin + 1]) / sum(sizes) for bin in range(4)])
        partial = self.answer(path, *JOB, "--rdf", "--partial")["partial"]
        mixed = next(part for part in partial if part["kinds"] == ["H", "O"])
        self.close(mixed["g"], g_of(mixed["counts"], sum(n / 3 * (n * 2 / 3) for n in sizes) / VOLUME))
