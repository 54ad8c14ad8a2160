"""Compares radial_distribution() with brute force in NumPy (equal counts) and with MDAnalysis (equal g)."""

import itertools
from types import SimpleNamespace

import gradus
import numpy as np
import pytest
from gradus import _trajectories

MOLECULES, FRAMES, EDGES = 40, 6, np.linspace(0, 4, 21)
CELL = np.array([[10.0, 0, 0], [2, 9, 0], [-1, 3, 9.5]])
BINS = {"edges": EDGES}


def molecules(vectors, kind="f4"):
    """Returns frames of molecules of three atoms. Molecules cross the faces of the cell."""
    random = np.random.default_rng(5)
    centres = random.uniform(-0.5, 1.5, (FRAMES, MOLECULES, 1, 3)) @ vectors
    return (centres + random.normal(0, 0.4, (FRAMES, MOLECULES, 3, 3))).reshape(FRAMES, -1, 3).astype(kind)


def cells(vectors):
    """Returns another cell for each frame."""
    return [vectors * (1 + 0.01 * frame) for frame in range(FRAMES)]


def distances(points, others, vectors):
    """Returns the distances of nearest images by the rule of gradus/pair_histogram.hpp, of points that are in the cell."""
    apart = points[:, None].astype(np.float64) - others.astype(np.float64)
    if (vectors == np.diag(np.diag(vectors))).all():
        apart = np.abs(apart)
        nearest = np.minimum(apart, np.diag(vectors) - apart)
        return np.sqrt((nearest[..., 0] ** 2 + nearest[..., 1] ** 2) + nearest[..., 2] ** 2)
    shifts = np.array(list(itertools.product(range(-2, 3), repeat=3))) @ vectors
    return np.min([np.sqrt(((apart + shift) ** 2).sum(axis=2)) for shift in shifts], axis=0)


def folded(points, vectors):
    """Moves points into the cell and rounds as the library does: exactly, then once."""
    points = points.astype(np.longdouble)
    fractions = points.astype(np.float64) @ np.linalg.inv(vectors)
    return (points - np.floor(fractions) @ vectors.astype(np.longdouble)).astype(np.float32)


def expected(frames, vectors_of_frames, first, second, groups):
    """Returns the counts of each frame by brute force. Pairs of atoms with equal groups do not count."""
    rows = []
    for points, vectors in zip(frames, vectors_of_frames):
        inside = folded(points, vectors) if points.dtype == np.float32 else points
        apart = distances(inside[first], inside[second if second is not None else first], vectors)
        counted = np.ones(apart.shape, bool) if second is not None else np.triu(np.ones(apart.shape, bool), 1)
        if groups is not None:
            counted &= groups[first][:, None] != groups[second if second is not None else first]
        rows.append(np.histogram(apart[counted], EDGES)[0])
    return np.array(rows)


OXYGEN = np.arange(0, 3 * MOLECULES, 3)
HYDROGEN = np.setdiff1d(np.arange(3 * MOLECULES), OXYGEN)
RESIDUES = np.repeat(np.arange(MOLECULES), 3)


@pytest.mark.parametrize("vectors", [np.diag([10.0, 9.0, 11.0]), CELL], ids=["box", "cell"])
@pytest.mark.parametrize("other, same", [(None, None), (HYDROGEN, None), (HYDROGEN, RESIDUES), (None, RESIDUES), (slice(None), None)],
                         ids=["one", "two", "two of other molecules", "of other molecules", "one and all"])
def test_counts_are_those_of_brute_force(vectors, other, same):
    frames, boxes = molecules(vectors), cells(vectors)
    first = np.arange(3 * MOLECULES) if other is None and same is not None else OXYGEN
    second = np.arange(3 * MOLECULES) if isinstance(other, slice) else other
    result = gradus.radial_distribution(list(zip(boxes, frames)), select=first, other=second, exclude_same=same, **BINS)
    atoms = np.arange(3 * MOLECULES)
    groups = same if same is not None else None if second is None else atoms
    counts = expected(frames, boxes, first, second, groups)
    assert result.frame_counts.tolist() == counts.tolist()
    assert result.counts.tolist() == counts.sum(axis=0).tolist() and result.counts.dtype == np.uint64
    left_out = 0
    if same is not None:
        left_out = sum(int(n * m if second is not None else n * (n - 1) // 2) for n, m in (
            ((first // 3 == molecule).sum(), 0 if second is None else (second // 3 == molecule).sum()) for molecule in range(MOLECULES)))
    elif second is not None:
        left_out = len(np.intersect1d(first, second))
    assert result.excluded == FRAMES * left_out
    pairs = (len(first) * len(second) if second is not None else len(first) * (len(first) - 1) // 2) - left_out
    assert result.histogram.pairs == FRAMES * pairs
    shells = 4 / 3 * np.pi * np.diff(EDGES**3)
    volumes = [abs(np.linalg.det(box)) for box in boxes]
    np.testing.assert_allclose(result.g, counts.mean(axis=0) / (pairs * shells * np.mean(1 / np.array(volumes))), rtol=1e-12)
    neighbours = (1 if second is not None else 2) * counts.mean(axis=0) / len(first)
    np.testing.assert_allclose(result.coordination, np.cumsum(neighbours), rtol=1e-12)


def test_large_groups():
    """A group of more than four million pairs is counted by another code."""
    points = np.random.default_rng(8).uniform(0, 1, (4000, 3)) @ CELL
    same = np.where(np.arange(4000) % 4 > 0, 7, np.arange(4000))
    group, rest = points[same == 7], points[same != 7]
    for box in (CELL, [30.0, 30, 30]):
        shifted = points - points.min(axis=0) if len(box) == 3 and np.ndim(box) == 1 else points
        ours = gradus.radial_distribution((box, shifted), exclude_same=same, **BINS)
        some = [gradus.radial_distribution((box, shifted[mask]), **BINS).counts for mask in (slice(None), same == 7)]
        assert (ours.counts == some[0] - some[1]).all() and ours.excluded == len(group) * (len(group) - 1) // 2
    ours = gradus.radial_distribution((CELL, points), other=np.flatnonzero(same == 7)[:1500], exclude_same=same, **BINS)
    crossed = gradus.pair_histogram(rest, others=group[:1500], box=CELL, fold=True, **BINS)
    assert (ours.counts == crossed.counts).all() and ours.excluded == 3000 * 1500


@pytest.mark.parametrize("vectors", [np.diag([10.0, 9.0, 11.0]), CELL], ids=["box", "cell"])
def test_bonded_pairs_are_left_out(vectors):
    frames, boxes = molecules(vectors), cells(vectors)
    bonds = np.array([(atom + step, atom) for atom in OXYGEN for step in (1, 2)])
    for first, second in ((np.arange(3 * MOLECULES), None), (OXYGEN, None), (OXYGEN, HYDROGEN[::-1].copy()), (OXYGEN[::-1].copy(), np.arange(60)), (HYDROGEN, OXYGEN), (np.arange(70), np.arange(60))):
        ours = gradus.radial_distribution(list(zip(boxes, frames)), select=first, other=second, exclude_same=bonds, **BINS)
        counts = []
        for points, box in zip(frames, boxes):
            inside = folded(points, box)
            sides = inside[first], inside[first if second is None else second]
            counted = np.triu(np.ones((len(first),) * 2, bool), 1) if second is None else first[:, None] != second
            for a, b in bonds:
                joined = (first[:, None] == a) & ((first if second is None else second) == b)
                counted &= ~(joined | ((first[:, None] == b) & ((first if second is None else second) == a)))
            counts.append(np.histogram(distances(*sides, box)[counted], EDGES)[0])
        assert ours.frame_counts.tolist() == np.array(counts).tolist() and ours.histogram.pairs == FRAMES * counted.sum()


@pytest.mark.parametrize("vectors", [np.diag([10.0, 9.0, 11.0]), CELL], ids=["box", "cell"])
def test_centres_of_mass(vectors):
    frames, boxes = molecules(vectors, "f8"), cells(vectors)
    masses = np.tile([16.0, 1, 2], MOLECULES)
    centres = [np.array([np.average(points[rows], axis=0, weights=masses[rows]) for rows in np.arange(3 * MOLECULES).reshape(-1, 3)]) for points in frames]
    plain = gradus.radial_distribution(list(zip(boxes, centres)), **BINS)
    random = np.random.default_rng(4)
    broken = [points + random.integers(-2, 3, points.shape) @ box for points, box in zip(frames, boxes)]
    order = random.permutation(3 * MOLECULES)
    for points, numbers, of_atoms in ((frames, RESIDUES, masses), (broken, RESIDUES, masses), ([one[order] for one in frames], RESIDUES[order], masses[order])):
        ours = gradus.radial_distribution(list(zip(boxes, points)), mass_centers=numbers, masses=of_atoms, **BINS)
        assert ours.frame_counts.tolist() == plain.frame_counts.tolist() and ours.histogram.points == MOLECULES
    halves = RESIDUES < 20
    ours = gradus.radial_distribution(list(zip(boxes, frames)), select=halves, other=np.ones(3 * MOLECULES, bool), mass_centers=RESIDUES, masses=masses, **BINS)
    assert ours.histogram.pairs == FRAMES * (20 * MOLECULES - 20) and ours.excluded == FRAMES * 20


def test_numbers_of_atoms_may_vary():
    box, sizes = np.array([10.0, 9, 11]), [120, 30, 77]
    frames = [(box * (1 + 0.01 * frame), molecules(np.diag(box))[frame][:size]) for frame, size in enumerate(sizes)]
    ours = gradus.radial_distribution(frames, blocks=2, **BINS)
    assert ours.frame_counts.tolist() == [gradus.radial_distribution(frame, **BINS).counts.tolist() for frame in frames]
    shells = 4 / 3 * np.pi * np.diff(EDGES**3)
    wanted = sum(n * (n - 1) / 2 / np.prod(box) for n, (box, _) in zip(sizes, frames))
    np.testing.assert_allclose(ours.g, ours.counts / (shells * wanted), rtol=1e-12)
    np.testing.assert_allclose(ours.coordination, 2 * np.cumsum(ours.counts) / sum(sizes), rtol=1e-12)
    assert ours.histogram.points == sum(sizes) / 3 and np.isfinite(ours.g_error).all()


def test_beyond_half_of_boxes_that_change():
    random = np.random.default_rng(4)
    frames = [([10 + number / 10] * 3, random.uniform(0, 10 + number / 10, (800, 3))) for number in range(4)]
    result = gradus.radial_distribution(frames, bin_width=1, cutoff=8, blocks=2, beyond_half=True)
    ones = [gradus.pair_histogram(points, bin_width=1, cutoff=8, box=box, beyond_half=True) for box, points in frames]
    uniform = sum(one.pairs / one.volume * one.shells for one in ones)
    np.testing.assert_allclose(result.g, sum(one.counts for one in ones) / uniform, rtol=1e-12)
    assert np.all(np.abs(result.g[1:] - 1) < 0.02)
    assert np.isfinite(result.g_error).all()


def test_errors_are_of_blocks():
    box = [10.0, 9, 11]
    frames = molecules(np.diag(box))
    whole = gradus.radial_distribution([(box, points) for points in frames], blocks=3, **BINS)
    parts = [gradus.radial_distribution([(box, points) for points in frames[i : i + 2]], **BINS) for i in (0, 2, 4)]
    np.testing.assert_allclose(whole.g_error, np.std([part.g for part in parts], axis=0, ddof=1) / np.sqrt(3), rtol=1e-12)
    np.testing.assert_allclose(whole.coordination_error, np.std([part.coordination for part in parts], axis=0, ddof=1) / np.sqrt(3), rtol=1e-12)
    assert whole.running.shape == (3, len(EDGES) - 1) and (whole.running[0] == parts[0].g).all() and (whole.running[-1] == whole.g).all()
    assert whole.frames == FRAMES and len(gradus.radial_distribution([(box, frames[0])], **BINS).running) == 1
    assert np.isnan(gradus.radial_distribution([(box, frames[0])], **BINS).g_error).all()
    some = gradus.radial_distribution(((box, points) for points in frames), frames=slice(1, None, 2), **BINS)
    for points, are_counted in ((frames[0][:1], False), (frames[0][:0], True)):  # blocks without pairs or points have no value
        more = gradus.radial_distribution([(box, points) for points in (*frames, points, points)], blocks=4, **BINS)
        np.testing.assert_allclose(more.g_error, whole.g_error, rtol=1e-12)
        assert np.allclose(more.coordination_error, whole.coordination_error, rtol=1e-12) is are_counted
    assert (some.frame_counts == whole.frame_counts[1::2]).all()
    assert len(repr(whole)) < 100


def test_bad_input():
    box, points = [10.0, 9, 11], molecules(np.diag([10.0, 9, 11]))[0]
    for source, arguments, words in (
        ((box, points), {"bin_width": 0.1}, "bins or cutoff"),
        ((None, points), BINS, "volume"),
        (points, BINS, "needed are.*MDAnalysis.*mdtraj.*ASE.*chemfiles.*freud"),
        ([], BINS, "needed are"),
        ((box, points), {**BINS, "select": "name O"}, "no language"),
        ((box, points), {**BINS, "select": [0, 500]}, "500.*0 to 119"),
        ((box, points), {**BINS, "select": [1, 1]}, "twice"),
        ((box, points), {**BINS, "select": []}, "none of the 120"),
        ((box, points), {**BINS, "other": [[1]]}, "one dimension"),
        ((box, points), {**BINS, "exclude_same": "residue"}, "freud has no residues"),
        ((box, points), {**BINS, "exclude_same": "chain"}, "'residue', 'molecule', 'bonded'"),
        ((box, points), {**BINS, "exclude_same": "bonded"}, "freud has no bonds.*two indices"),
        ((box, points), {**BINS, "exclude_same": [[1, 2, 3]]}, "two columns"),
        ((box, points), {**BINS, "exclude_same": [[1, 120]]}, "0 to 119"),
        ((box, points), {**BINS, "exclude_same": [[1, 2]], "mass_centers": RESIDUES, "masses": np.ones(120)}, "no bonds"),
        ((box, points), {**BINS, "mass_centers": RESIDUES}, "freud has no masses"),
        ((box, points), {**BINS, "masses": RESIDUES}, "no effect"),
        ((box, points), {**BINS, "mass_centers": RESIDUES, "masses": [1]}, "each of the 120"),
        ((box, points), {**BINS, "mass_centers": RESIDUES, "masses": RESIDUES - 1.0}, "mass of atom 0.*-1"),
        ((box, points), {**BINS, "mass_centers": RESIDUES, "masses": np.minimum(RESIDUES, 1)}, "group 0.*zero"),
        ((box, points), {**BINS, "exclude_same": [1, 2]}, "each of the 120"),
        ((box, points), {**BINS, "blocks": 0}, "at least 1"),
        ((box, points), {**BINS, "frames": slice(-1, None)}, "from 0"),
        ((box, points), {**BINS, "frames": slice(3, None)}, "no frame"),
        ([(box, points), (box, points[1:])], {**BINS, "select": [119]}, "0 to 118.*frame 1"),
        ([(box, points), ([5, 5, 5], points)], BINS, "half of the box.*frame 1"),
        ([(box, points), (box, np.full_like(points, np.nan))], BINS, "frame 1"),
        ([(box, points), 3], BINS, "item 1"),
        ((np.eye(2), points), BINS, "3 lengths"),
    ):
        with pytest.raises((gradus.UsageError, gradus.InputError), match=words):
            gradus.radial_distribution(source, **arguments)


# ---- Other libraries ----


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed (pip install {name})")


def test_every_library_has_a_test():
    assert [row.name for row in _trajectories.LIBRARIES] == ["MDAnalysis", "mdtraj", "ASE", "chemfiles", "freud"]


@pytest.fixture(params=[[10, 9, 11, 90, 90, 90], [10, 9, 11, 80, 75, 100]], ids=["box", "cell"])
def universe(request):
    """Returns a Universe of MDAnalysis whose box changes."""
    MDAnalysis = library("MDAnalysis")
    from MDAnalysis.coordinates.memory import MemoryReader
    from MDAnalysis.lib.mdamath import triclinic_vectors

    made = MDAnalysis.Universe.empty(3 * MOLECULES, n_residues=MOLECULES, atom_resindex=RESIDUES, trajectory=True)
    made.add_TopologyAttr("name", ["OW", "HW1", "HW2"] * MOLECULES)
    made.add_TopologyAttr("element", ["O", "H", "H"] * MOLECULES)
    made.add_TopologyAttr("resname", ["SOL"] * MOLECULES)
    made.add_TopologyAttr("resids", np.arange(1, MOLECULES + 1))
    made.add_TopologyAttr("bonds", [(atom, atom + step) for atom in OXYGEN for step in (1, 2)])
    dimensions = np.array([[(1 + 0.01 * frame) if axis < 3 else 1 for axis in range(6)] for frame in range(FRAMES)]) * request.param
    made.load_new(molecules(triclinic_vectors(request.param)), format=MemoryReader, dimensions=dimensions.astype(np.float32))
    return made


def arrays_of(universe):
    return [(step.triclinic_dimensions.astype(np.float64), step.positions.copy()) for step in universe.trajectory]


def test_mdanalysis(universe):
    from MDAnalysis.analysis.rdf import InterRDF

    oxygen, hydrogen = universe.select_atoms("name OW"), universe.select_atoms("name HW*")
    frames = arrays_of(universe)
    bonds = universe.bonds.indices
    for same, numbers in ((None, None), ("residue", RESIDUES), ("molecule", RESIDUES), ("bonded", bonds)):
        ours = gradus.radial_distribution(oxygen, other=hydrogen, exclude_same=same, **BINS)
        plain = gradus.radial_distribution(frames, select=OXYGEN, other=HYDROGEN, exclude_same=numbers, **BINS)
        assert ours.frame_counts.tolist() == plain.frame_counts.tolist() and ours.unit == "Å" and plain.unit == ""
        assert (gradus.radial_distribution(universe, select="name OW", other="name HW*", exclude_same=same, **BINS).counts == ours.counts).all()
        if same in ("molecule", "bonded"):
            assert same == "molecule" or ours.excluded == FRAMES * 2 * MOLECULES
            continue
        theirs = InterRDF(oxygen, hydrogen, nbins=len(EDGES) - 1, range=(EDGES[0], EDGES[-1]), exclude_same=same).run()
        # MDAnalysis keeps boxes in 32 bits, so that a pair at an edge may change its bin.
        assert np.abs(ours.counts.astype(np.int64) - theirs.results.count).max() <= 2
        pairs = len(oxygen) * len(hydrogen)
        factor = pairs / (pairs - ours.excluded / FRAMES)  # MDAnalysis divides by all pairs, and by the mean volume
        np.testing.assert_allclose(ours.g, factor * theirs.results.rdf, rtol=0.01, atol=0.05)
    universe.add_TopologyAttr("masses", [15.999, 1.008, 1.008] * MOLECULES)
    centres = [universe.atoms.center_of_mass(compound="residues") for _ in universe.trajectory]
    of_centres = gradus.radial_distribution([(cell, points) for (cell, _), points in zip(frames, centres)], **BINS)
    ours = gradus.radial_distribution(universe, mass_centers="residue", **BINS)
    assert np.abs(ours.counts.astype(np.int64) - of_centres.counts).max() <= 2 and ours.histogram.points == MOLECULES
    layer = universe.select_atoms("name OW and prop z > 2 and prop z < 6", updating=True)
    numbers = [len(layer) for _ in universe.trajectory]
    rings = gradus.radial_distribution(layer, dimensions="xy", edges=EDGES[:9]) if len(frames[0][0][0].nonzero()[0]) == 3 else None
    ours = gradus.radial_distribution(layer, **BINS)
    assert len(set(numbers)) > 1 and ours.histogram.points == np.mean(numbers)
    assert ours.histogram.pairs == sum(n * (n - 1) // 2 for n in numbers) and (rings is None or rings.histogram.dimensions == 2)
    universe.del_TopologyAttr("bonds")
    with pytest.raises(gradus.UsageError, match="MDAnalysis has no molecules"):
        gradus.radial_distribution(oxygen, exclude_same="molecule", **BINS)
    with pytest.raises(gradus.UsageError, match="another Universe"):
        gradus.radial_distribution(oxygen, other=universe.copy().atoms, **BINS)
    with pytest.raises(gradus.UsageError, match="selection already"):
        gradus.radial_distribution(oxygen, select="name OW", **BINS)
    with pytest.raises(gradus.UsageError, match="MDAnalysis has no bonds"):
        gradus.radial_distribution(oxygen, exclude_same="bonded", **BINS)


def test_mdtraj(universe, tmp_path):
    mdtraj = library("mdtraj")
    universe.atoms.write(tmp_path / "top.pdb", bonds=None)
    universe.atoms.write(tmp_path / "all.xtc", frames="all")
    read = mdtraj.load(tmp_path / "all.xtc", top=str(tmp_path / "top.pdb"))
    bins = {"edges": EDGES / 10}
    plain = gradus.radial_distribution(list(zip(read.unitcell_vectors, read.xyz)), select=OXYGEN, other=HYDROGEN, exclude_same=RESIDUES, **bins)
    chunks = lambda: mdtraj.iterload(str(tmp_path / "all.xtc"), chunk=2, top=str(tmp_path / "top.pdb"))  # noqa: E731
    for source in (read, chunks()):
        ours = gradus.radial_distribution(source, select="element O", other="element H", exclude_same="residue", **bins)
        assert ours.frame_counts.tolist() == plain.frame_counts.tolist() and ours.unit == "nm"


def test_ase(universe):
    ase = library("ase")
    frames = arrays_of(universe)
    atoms = [ase.Atoms("OHH" * MOLECULES, positions=points, cell=cell, pbc=True) for cell, points in frames]
    plain = gradus.radial_distribution([(cell, points.astype(float)) for cell, points in frames], select=OXYGEN, other=HYDROGEN, exclude_same=RESIDUES, **BINS)
    ours = gradus.radial_distribution(atoms, select="O", other="H", exclude_same=RESIDUES, **BINS)
    fewer = [one[: len(one) - 3 * frame] for frame, one in enumerate(atoms)]
    varying = gradus.radial_distribution(fewer, select="O", other="H", **BINS)
    assert varying.histogram.pairs == sum(len(one) // 3 * (len(one) // 3 * 2) for one in fewer)
    assert ours.frame_counts.tolist() == plain.frame_counts.tolist() and ours.unit == "Å"
    for one in atoms:
        one.set_array("residuenumbers", RESIDUES)
    assert (gradus.radial_distribution(iter(atoms), select="O", other="H", exclude_same="residue", **BINS).counts == ours.counts).all()
    assert gradus.radial_distribution(atoms[0], select="O", **BINS).frames == 1
    atoms[0].pbc = [True, True, False]
    with pytest.raises(gradus.UsageError, match="volume"):
        gradus.radial_distribution(atoms[0], select="O", **BINS)


def test_chemfiles(universe, tmp_path):
    chemfiles = library("chemfiles")
    with chemfiles.Trajectory(str(tmp_path / "all.gro"), "w") as file:
        for cell, points in arrays_of(universe):
            frame = chemfiles.Frame()
            for place, name in zip(points, ["OW", "HW1", "HW2"] * MOLECULES):
                frame.add_atom(chemfiles.Atom(name, name[0]), place.astype(float))
            for number in range(MOLECULES):
                residue = chemfiles.Residue("SOL", number + 1)
                for atom in range(3 * number, 3 * number + 3):
                    residue.atoms.append(atom)
                frame.add_residue(residue)
            frame.cell = chemfiles.UnitCell(cell.T)
            file.write(frame)
    with chemfiles.Trajectory(str(tmp_path / "all.gro")) as file:
        plain = [(frame.cell.matrix.T.copy(), np.array(frame.positions)) for frame in (file.read_step(step) for step in range(file.nsteps))]
        ours = gradus.radial_distribution(file, select="name OW", other="name HW1 HW2", exclude_same="residue", **BINS)
    expect = gradus.radial_distribution(plain, select=OXYGEN, other=HYDROGEN, exclude_same=RESIDUES, **BINS)
    assert ours.frame_counts.tolist() == expect.frame_counts.tolist() and ours.unit == "Å"
    np.testing.assert_allclose(abs(np.linalg.det(plain[0][0])), universe.trajectory[0].volume, rtol=1e-3)


def test_freud(universe):
    freud = library("freud")
    frames = arrays_of(universe)
    boxes = [freud.box.Box.from_matrix(cell.T) for cell, _ in frames]
    ours = gradus.radial_distribution([(box, points) for box, (_, points) in zip(boxes, frames)], select=OXYGEN, **BINS)
    assert np.abs(ours.counts.astype(np.int64) - gradus.radial_distribution(frames, select=OXYGEN, **BINS).counts).max() <= 1
    theirs = freud.density.RDF(bins=len(EDGES) - 1, r_max=EDGES[-1], normalization_mode="finite_size")
    theirs.compute((boxes[0], boxes[0].wrap(frames[0][1][OXYGEN])))
    assert np.abs(2 * ours.frame_counts[0].astype(np.int64) - theirs.bin_counts).max() <= 2
    flat = np.random.default_rng(1).uniform(-5, 5, (200, 3)) * [1, 1, 0]
    layer = gradus.radial_distribution((freud.box.Box.square(10), flat), bin_width=0.5, cutoff=5)
    rings = gradus.pair_histogram(flat[:, :2], bin_width=0.5, cutoff=5, box=[10, 10], box_origin=[-5, -5])
    assert (layer.counts == rings.counts).all() and layer.histogram.volume == 100


def test_libraries_are_recognized_by_attributes():
    """No library is imported: objects with the same attributes will do."""
    points = molecules(CELL)[0]
    twin = SimpleNamespace(xyz=[points], unitcell_vectors=[CELL], topology=None)
    assert (gradus.radial_distribution(twin, **BINS).counts == gradus.radial_distribution((CELL, points), **BINS).counts).all()


def test_a_selection_in_a_message_is_short():
    for nothing in (np.zeros(500, bool), np.zeros(5000, bool), []):
        with pytest.raises(gradus.InputError, match="^select: .{2,60} selects none of the") as error:
            gradus.radial_distribution(([9.0] * 3, np.zeros((len(nothing) or 4, 3))), select=nothing, bin_width=1.0, bins=2)
        assert "\n" not in str(error.value)
