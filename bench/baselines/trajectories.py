"""Radial distributions of trajectories: Gradus compared with MDAnalysis and ASE, bin by bin.

The trajectories contain water and a binary mixture, in orthogonal and triclinic boxes. ASE writes them as
extended XYZ, MDAnalysis as DCD and .gro. Requirements:

* Our counts equal the counts of ASE's distances (nearest images, in double) in every bin.
* MDAnalysis' InterRDF uses float positions. For each edge, we count the pairs nearer than the edge minus the rounding
  error of MDAnalysis, and the pairs nearer than the edge plus this error. The count of MDAnalysis must be between
  these two counts.
* g agrees with both programs. MDAnalysis divides by the density and the volume of the shell, as Gradus does. For pairs
  within one kind, ASE divides by n^2, where n (n - 1) is correct. The comparison corrects for this.
"""

import json

from common import Disagreement, note, run_program

ROUNDING = 2e-5  # error of a distance that is computed in float from coordinates up to about 40


def water(random, cell, molecules):
    """Returns positions that fill the cell evenly, near the points of a lattice. The molecules have random
    orientations."""
    import numpy

    side = round(molecules ** (1 / 3))
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    oxygen = (grid + 0.5 + random.uniform(-0.35, 0.35, grid.shape)) / side @ cell
    directions = random.normal(size=(2, len(oxygen), 3))
    directions /= numpy.linalg.norm(directions, axis=-1, keepdims=True)
    positions = numpy.concatenate([oxygen[:, None], oxygen[:, None] + 0.9572 * directions[0][:, None],
                                   oxygen[:, None] + 0.9572 * directions[1][:, None]], axis=1)
    return ["O", "H", "H"] * len(oxygen), positions.reshape(-1, 3)


def mixture(random, cell, molecules):
    count = 2 * molecules
    return ["Ar" if row % 5 else "Kr" for row in range(count)], random.uniform(size=(count, 3)) @ cell


CELLS = {
    "orthogonal": [[24.0, 0, 0], [0, 26.0, 0], [0, 0, 25.0]],
    "triclinic": [[24.0, 0, 0], [7.0, 26.0, 0], [-5.0, 9.0, 25.0]],
    "rotated": [[20.0, 9.0, 3.0], [-8.0, 23.0, 2.5], [1.5, -6.0, 24.0]],
}
FRAMES = 3
BINS = 50


def frames_of(make, cell, seed):
    import ase
    import numpy

    random = numpy.random.default_rng(seed)
    frames = []
    for _ in range(FRAMES):
        symbols, positions = make(random, numpy.array(cell), 216)
        frames.append(ase.Atoms(symbols, positions=positions, cell=cell, pbc=True))
    return frames


def gradus(options, file, cutoff, *more):
    command = [options.gradus, "pair-histogram", str(file), "--bin-width", repr(cutoff / BINS), "--bins", str(BINS),
               "--json", "--quiet", *more]
    return json.loads(run_program(command).output)


def gradus_cumulative(options, file, edges, first, second, folder):
    import numpy

    numpy.save(folder / "edges.npy", edges)
    command = [options.gradus, "pair-histogram", str(file), "--edges", str(folder / "edges.npy"), "--select",
               "element " + first, "--cross-select", "element " + second, "--json", "--quiet"]
    return numpy.cumsum(json.loads(run_program(command).output)["counts"])


def ase_counts(frames, edges, first, second):
    import numpy
    from ase.geometry import get_distances

    counts = numpy.zeros(len(edges) - 1, dtype=int)
    for atoms in frames:
        symbols = numpy.array(atoms.get_chemical_symbols())
        one, other = atoms.positions[symbols == first], atoms.positions[symbols == second]
        distances = get_distances(one, other, cell=atoms.cell, pbc=True)[1]
        distances = distances[numpy.triu_indices(len(one), 1)] if first == second else distances.ravel()
        counts += numpy.histogram(distances[distances < edges[-1]], edges)[0]
    return counts


def ase_g(frames, cutoff, first, second):
    """Returns ASE's g over all frames. For pairs within one kind, ASE divides by n^2, where n (n - 1) is correct. The
    returned g is corrected for this."""
    import numpy
    from ase.data import atomic_numbers
    from ase.geometry.rdf import get_rdf

    total = 0
    for atoms in frames:
        g, _ = get_rdf(atoms, cutoff, BINS, elements=(atomic_numbers[first], atomic_numbers[second]))
        total = total + g / len(frames)
    n = sum(symbol == first for symbol in frames[0].get_chemical_symbols())
    return numpy.asarray(total) * (n / (n - 1) if first == second else 1)


def load(universe, frames):
    """Passes the positions to MDAnalysis in float. MDAnalysis requires cells whose first vector is along x, so
    cells and positions are rotated."""
    import numpy
    from ase.geometry import cell_to_cellpar
    from MDAnalysis.coordinates.memory import MemoryReader

    turned = []
    for atoms in frames:
        rotated = atoms.copy()
        rotated.set_cell(atoms.cell.standard_form()[0], scale_atoms=True)
        turned.append(rotated.positions)
    universe.load_new(numpy.array(turned, dtype="f4"), format=MemoryReader,
                      dimensions=numpy.array([cell_to_cellpar(atoms.cell) for atoms in frames], dtype="f4"))


def mdanalysis(frames, cutoff, first, second):
    import MDAnalysis
    import numpy
    from MDAnalysis.analysis.rdf import InterRDF

    symbols = frames[0].get_chemical_symbols()
    universe = MDAnalysis.Universe.empty(len(symbols), trajectory=True)
    universe.add_TopologyAttr("type", symbols)
    load(universe, frames)
    one, other = (universe.select_atoms("type " + kind) for kind in (first, second))
    analysis = InterRDF(one, other, nbins=BINS, range=(0.0, cutoff), exclusion_block=(1, 1) if first == second else None)
    analysis.run()
    counts = numpy.rint(analysis.results.count).astype(int) // (2 if first == second else 1)
    return counts, analysis.results.rdf


def other_formats(options, folder, frames, file, cutoff, name):
    """MDAnalysis writes the positions, rounded, to DCD and .gro files. Compares the counts of these files with the
    counts of the positions in memory."""
    import MDAnalysis
    import numpy
    from ase.io import write

    results = {}
    universe = MDAnalysis.Universe.empty(len(frames[0]), n_residues=1, atom_resindex=[0] * len(frames[0]), trajectory=True)
    universe.add_TopologyAttr("name", frames[0].get_chemical_symbols())
    universe.add_TopologyAttr("resname", ["SOL"])
    universe.add_TopologyAttr("resid", [1])
    load(universe, frames)
    ours = gradus(options, file, cutoff)
    if ours["frames"] != len(frames):
        raise Disagreement(f"{name}: {ours['frames']} frames read of {len(frames)}")
    for ending, scale in (("dcd", 1.0), ("gro", 0.1)):
        path = folder / ("written." + ending)
        with MDAnalysis.Writer(str(path), len(frames[0])) as writer:
            for _ in universe.trajectory if ending == "dcd" else [universe.trajectory[0]]:
                writer.write(universe.atoms)
        found = gradus(options, path, cutoff * scale)
        same = frames if ending == "dcd" else frames[:1]
        pairs = len(same) * len(frames[0]) * (len(frames[0]) - 1) // 2
        if (found["frames"], found["pairs"]) != (len(same), pairs):
            raise Disagreement(f"{name}: {found['frames']} frames with {found['pairs']} pairs read of the {ending} file, "
                               f"which has {len(same)} with {pairs}")
        write(folder / "same.xyz", same, format="extxyz")
        # Positions are rounded in the file (DCD to float, .gro to 0.001 nm). The rounding may move a pair to another
        # bin, but no pair may be missing.
        precision = {"dcd": ROUNDING, "gro": 0.02}[ending]
        edges = numpy.arange(1, BINS + 1) * (cutoff / BINS)
        cumulative = numpy.cumsum(found["counts"])
        for shift, holds in ((-precision, numpy.less_equal), (precision, numpy.greater_equal)):
            moved = numpy.concatenate([[0.0], numpy.maximum(edges + shift, 1e-3 + edges * 0.5)])
            numpy.save(folder / "edges.npy", moved)
            bounds = numpy.cumsum(json.loads(run_program(
                [options.gradus, "pair-histogram", str(folder / "same.xyz"), "--edges", str(folder / "edges.npy"), "--json",
                 "--quiet"]).output)["counts"])
            if not holds(bounds, cumulative).all():
                raise Disagreement(f"{name}: the counts of the {ending} file differ by more than its rounding explains")
        results[ending] = {"frames": found["frames"], "pairs": found["pairs"], "agrees": True}
    return results


def compare(options, folder):
    """Returns the results and the disagreements."""
    import numpy
    from ase.io import read, write

    results, problems = [], []
    for kind, make in (("water", water), ("mixture", mixture)):
        for cell_name, cell in CELLS.items():
            name = f"{kind}, {cell_name}"
            note(name)
            frames = frames_of(make, cell, seed=len(results) + 1)
            file = folder / "trajectory.xyz"
            write(file, frames, format="extxyz", write_results=False)
            # The file has eight decimals, so both sides use the values that are read back from it.
            frames = read(file, index=":")
            matrix = numpy.array(cell)
            heights = abs(numpy.linalg.det(matrix)) / numpy.linalg.norm(
                numpy.cross(matrix[[1, 2, 0]], matrix[[2, 0, 1]]), axis=1)
            cutoff = 0.49 * float(heights.min())
            edges = numpy.arange(BINS + 1) * (cutoff / BINS)
            answer = gradus(options, file, cutoff, "--partial", "--rdf")
            line = {"name": name, "cell": cell, "frames": FRAMES, "atoms": len(frames[0]), "cutoff": cutoff,
                    "bins": BINS, "pairs_of_kinds": []}
            kinds = sorted(set(frames[0].get_chemical_symbols()))
            wanted = sorted([one, other] for place, one in enumerate(kinds) for other in kinds[place:])
            found = sorted(sorted(part["kinds"]) for part in answer["partial"])
            if (found, answer["frames"]) != (wanted, FRAMES):
                problems.append(f"{name}: pairs of kinds {found} in {answer['frames']} frames; they are {wanted} in {FRAMES}")
            for part in answer["partial"]:
                first, second = part["kinds"]
                ours = numpy.array(part["counts"])
                of_pair = {"kinds": [first, second], "counted": int(ours.sum())}
                try:
                    different = ours != ase_counts(frames, edges, first, second)
                    of_pair["bins_that_differ_from_ase_distances"] = int(different.sum())
                    if different.any():
                        raise Disagreement(f"{int(different.sum())} bins differ from ASE's distances")
                    g = ase_g(frames, cutoff, first, second)
                    of_pair["largest_difference_of_g_from_ase"] = float(abs(g - part["g"]).max())
                    if not of_pair["largest_difference_of_g_from_ase"] < 1e-9 * max(1.0, float(max(part["g"]))):
                        raise Disagreement(f"g differs from ASE's by {of_pair['largest_difference_of_g_from_ase']}")
                    theirs, their_g = mdanalysis(frames, cutoff, first, second)
                    of_pair["bins_that_differ_from_mdanalysis"] = int((ours != theirs).sum())
                    of_pair["largest_difference_of_counts_from_mdanalysis"] = int(abs(ours - theirs).max())
                    cumulative = numpy.cumsum(theirs)
                    for shift, holds in ((-ROUNDING, numpy.less_equal), (ROUNDING, numpy.greater_equal)):
                        moved = numpy.concatenate([[0.0], edges[1:] + shift])
                        bounds = gradus_cumulative(options, file, moved, first, second, folder)
                        if not holds(bounds, cumulative).all():
                            raise Disagreement("the counts differ from MDAnalysis' by more than its rounding explains")
                    equal = ours == theirs
                    of_pair["bins_with_equal_counts"] = int(equal.sum())
                    if not 2 * equal.sum() > BINS:
                        raise Disagreement("the counts of most bins differ from MDAnalysis', so that g cannot be compared")
                    of_pair["largest_difference_of_g_from_mdanalysis_where_counts_are_equal"] = float(
                        abs(their_g - part["g"])[equal].max())
                    if not of_pair["largest_difference_of_g_from_mdanalysis_where_counts_are_equal"] < 1e-5 * max(
                            1.0, float(max(part["g"]))):
                        raise Disagreement("g differs from MDAnalysis' in bins with equal counts")
                except Disagreement as disagreement:
                    problems.append(f"{name}, {first}-{second}: {disagreement}")
                line["pairs_of_kinds"].append(of_pair)
            try:
                line["written_by_mdanalysis"] = other_formats(options, folder, frames, file, cutoff, name)
            except Disagreement as disagreement:
                problems.append(str(disagreement))
            results.append(line)
    note("")
    return results, problems


def run(options, folder):
    results, problems = compare(options, folder)
    for line in results:
        for pair in line["pairs_of_kinds"]:
            print(f"{line['name']:<24} {'-'.join(pair['kinds']):<8} {pair['counted']:>9,} pairs: "
                  f"{pair.get('bins_that_differ_from_ase_distances', '?')} bins differ from ASE, "
                  f"{pair.get('bins_that_differ_from_mdanalysis', '?')} from MDAnalysis, by at most "
                  f"{pair.get('largest_difference_of_counts_from_mdanalysis', '?')} pairs")
    print("Differences from MDAnalysis are those that its positions in float explain, unless a line below says otherwise.")
    for problem in problems:
        print(f"DISAGREES: {problem}")
    return {"trajectories": results, "disagreements": problems}, not problems
