"""Compares `gradus pair-histogram` with MDAnalysis, on every trajectory of MDAnalysisTests whose format both programs
can read.

For each file there are four outcomes: MDAnalysis cannot read the file ("unread"), the command refuses the file with a
message, both programs give the same result, or their results differ ("wrong"). tests/cli/run.py runs this. The test
prints the table if GRADUS_PRINT_TABLE is set."""

import json
import os
import pathlib
import unittest
import warnings

from kit import Case, gradus

try:
    import MDAnalysis
    import MDAnalysisTests
    import numpy as np
    from MDAnalysis.coordinates import DCD, GRO, LAMMPS, PDB, TRR, XTC, XYZ
    from MDAnalysis.lib.mdamath import triclinic_vectors
except ImportError:
    MDAnalysis = None

ATOMS = 1500  # number of atoms used per frame
BINS = 40
TOLERANCE = 2e-4  # MDAnalysis keeps positions in 32 bits
# Files that the command rejects, with words of the reason. The command and MDAnalysis must agree on all other files.
REFUSED = {".pdb": "the space group", "model_then_cryst.pdb": "CRYST1 follows the first model", "model.pdb.gz": "a tar archive",
           "cryst.pdb.gz": "a tar archive"}


def readers():
    return {".xyz": XYZ.XYZReader, ".gro": GRO.GROReader, ".dcd": DCD.DCDReader, ".lammpstrj": LAMMPS.DumpReader,
            ".lammpsdump": LAMMPS.DumpReader, ".dump": LAMMPS.DumpReader, ".xtc": XTC.XTCReader, ".trr": TRR.TRRReader,
            ".pdb": PDB.PDBReader, ".ent": PDB.PDBReader}


def files():
    folder = pathlib.Path(MDAnalysisTests.__file__).parent / "data"
    for path in sorted(folder.rglob("*")):
        name = path.name.lower().removesuffix(".gz")
        ending = os.path.splitext(name)[1]
        if path.is_file() and ending in readers() and not path.name.startswith("."):
            yield path, ending


def distances(positions, vectors):
    first, second = np.triu_indices(len(positions), 1)
    apart = positions[first] - positions[second]
    if vectors is None:
        return np.sqrt((apart**2).sum(axis=1))
    apart -= np.rint(apart @ np.linalg.inv(vectors)) @ vectors
    return np.sqrt((apart**2).sum(axis=1))


@unittest.skipIf(MDAnalysis is None, "MDAnalysisTests is not installed (pip install MDAnalysisTests)")
class TrajectoriesOfMdanalysis(Case):
    @staticmethod
    def cell(reader):
        """Returns the vectors of the frame's cell, or None."""
        if isinstance(reader, DCD.DCDReader):
            raw = reader._file.readframes(reader.frame, reader.frame + 1).unitcell[0]
            if (raw < 0).any() or (raw[[1, 3, 4]] < 20).all() and (raw > 0).all():
                # The cell is a symmetric matrix. MDAnalysis rotates it so that a is along x, but does not rotate the
                # positions.
                return np.array([raw[[0, 1, 3]], raw[[1, 2, 4]], raw[[3, 4, 5]]], np.float64)
        dimensions = reader.ts.dimensions
        if dimensions is None or not (dimensions[:3] > 0).all():
            return None
        return triclinic_vectors(np.array(dimensions, np.float64), dtype=np.float64)

    def compare(self, path, ending):
        """Returns a pair: the kind of the outcome, and the error or the reason for the refusal, if any."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reader = readers()[ending](str(path))
                numbers = sorted({0, len(reader) - 1})
                frames = [(number, reader[number].positions.astype(np.float64), self.cell(reader)) for number in numbers]
            except Exception as error:  # MDAnalysis cannot read the file
                return "unread", "%s: %s" % (type(error).__name__, str(error)[:60])
        scale = 0.1 if ending in (".gro", ".xtc", ".trr") else 1.0  # in nm in files of Gromacs, in angstrom in MDAnalysis
        for number, positions, vectors in frames:
            positions = positions[:ATOMS] * scale
            reach = max(np.ptp(positions, axis=0).max(), 1e-3) if len(positions) else 1.0
            if vectors is not None:
                vectors = vectors * scale
                heights = 1 / np.linalg.norm(np.linalg.inv(vectors), axis=0)
                reach = heights.min() / 2 * (1 - 1e-6)
            reach = float(reach)
            width = reach / BINS
            arguments = ["pair-histogram", path, "--frames", number, "--bin-width", repr(width), "--cutoff", repr(reach), "--json"]
            if vectors is None:
                arguments += ["--periodic", "none"]
            if len(positions) == ATOMS:
                arguments += ["--select", "index 0-%d" % (ATOMS - 1)]
            result = gradus(*arguments)
            if result.returncode != 0:
                return "refused", result.stderr.strip().replace(str(path), path.name)
            answer = json.loads(result.stdout)
            edges, counts = np.array(answer["edges"]), np.array(answer["counts"])
            apart = distances(positions, vectors)
            slack = TOLERANCE * scale + 4e-7 * np.abs(positions).max(initial=0)
            least = [((apart >= low + slack) & (apart < high - slack)).sum() for low, high in zip(edges, edges[1:])]
            most = [((apart >= low - slack) & (apart < high + slack)).sum() for low, high in zip(edges, edges[1:])]
            outside = [bin for bin in range(len(counts)) if not least[bin] <= counts[bin] <= most[bin]]
            if outside:
                bin = outside[0]
                return "wrong", "frame %d, %d bins, first %d: %d, not %d to %d; box %s, there %s" % (
                    number, len(outside), bin, counts[bin], least[bin], most[bin], answer["box"], vectors)
        return "agree", ""

    def test_every_file(self):
        table = [(str(path.name), *self.compare(path, ending)) for path, ending in files()]
        totals = {kind: sum(1 for row in table if row[1] == kind) for kind in ("agree", "refused", "wrong", "unread")}
        if os.environ.get("GRADUS_PRINT_TABLE"):
            for row in table:
                print(*row, sep="\t")
            print(totals)
        self.assertEqual([row for row in table if row[1] == "wrong"], [])
        for name, kind, reason in table:
            if kind == "refused":
                self.assertTrue(any(part in name and words in reason for part, words in REFUSED.items()), (name, reason))
        self.assertGreater(totals["agree"], 20, totals)
