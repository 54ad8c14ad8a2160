"""Radial distributions of trajectories that other libraries read."""

from __future__ import annotations

import functools
import itertools
import operator
import reprlib
from dataclasses import dataclass, replace
from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from gradus import _arrays, _core, _gpu
from gradus._errors import Error, InputError, UnsupportedError, UsageError
from gradus._options import names_arguments, options_in, request
from gradus._pair_histogram import PairHistogramResult, RadialDistribution, pair_histogram
from gradus._trajectories import Frame, Library, open_source

Array = np.ndarray[Any, Any]

@dataclass(frozen=True, eq=False, repr=False)
class RadialDistributionResult(RadialDistribution):
    """Result of radial_distribution(): means over the frames, with standard errors."""

    edges: Array  #: bins + 1 edges, float64
    counts: Array  #: number of pairs in each bin, in all frames, uint64
    g_error: Array  #: standard error of g from the spread of the blocks; NaN with a single block
    coordination_error: Array  #: standard error of the coordination, in the same way
    running: Array  #: blocks x bins: row b is g of the frames up to the end of block b
    frame_counts: Array  #: frames x bins: the counts of each frame, uint64
    excluded: int  #: pairs left out in all frames: of an atom with itself, and because of exclude_same
    unit: str  #: unit of all lengths, which the library defines: "Å" or "nm"; "" if the library does not fix it
    histogram: PairHistogramResult  #: the sum of the histograms of all frames

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.frame_counts)

    def __repr__(self) -> str:
        reach = f"{self.edges[-1]:g} {self.unit}".strip()
        return f"RadialDistributionResult({self.frames} frames, {len(self.counts)} bins up to {reach})"


class _Groups(NamedTuple):
    """Rows in groups, as the extension module needs them. Group g has rows[starts[g]:starts[g + 1]]."""

    rows: Array
    starts: Array

    @staticmethod
    def of(numbers: Array, keys: Array) -> _Groups:
        """Returns a group for each key: the rows with this number."""
        chosen = np.flatnonzero(np.isin(numbers, keys))
        rows = chosen[np.argsort(numbers[chosen], kind="stable")].astype(np.int64)
        return _Groups(rows, np.append(np.searchsorted(numbers[rows], keys), len(rows)).astype(np.int64))


class _Exclusions(NamedTuple):
    """Pairs that do not count: two points of a group, or with others, a point and an other of the same group."""

    points: _Groups
    others: _Groups | None

    @staticmethod
    def of_numbers(numbers: Array, other_numbers: Array | None) -> _Exclusions:
        """Returns the pairs with equal numbers."""
        if other_numbers is None:
            keys, sizes = np.unique(numbers, return_counts=True)
            return _Exclusions(_Groups.of(numbers, keys[sizes > 1]), None)
        keys = np.intersect1d(numbers, other_numbers)
        return _Exclusions(_Groups.of(numbers, keys), _Groups.of(other_numbers, keys))

    @staticmethod
    def of_bonds(bonds: Array, rows: Array, other_rows: Array | None, atoms: int) -> _Exclusions:
        """Returns the bonded pairs of atoms and, with others, the pairs of an atom with itself."""
        places = np.full(atoms, -1)
        places[rows] = np.arange(len(rows))
        if other_rows is None:
            pairs = places[bonds]
            pairs = pairs[(pairs >= 0).all(axis=1)]
            return _Exclusions(_Groups(pairs.ravel().astype(np.int64), np.arange(0, pairs.size + 1, 2)), None)
        other_places = np.full(atoms, -1)
        other_places[other_rows] = np.arange(len(other_rows))
        both = np.concatenate([bonds, bonds[:, ::-1], np.repeat(np.arange(atoms), 2).reshape(-1, 2)])
        first, second = places[both[:, 0]], other_places[both[:, 1]]
        kept = (first >= 0) & (second >= 0)
        starts = np.arange(kept.sum() + 1)
        return _Exclusions(_Groups(first[kept].astype(np.int64), starts), _Groups(second[kept].astype(np.int64), starts))

    def taken_from(self, histogram: PairHistogramResult, points: Array, others: Array | None, call: dict[str, Any]) -> PairHistogramResult:
        """Returns the histogram without these pairs. `call` has the arguments with which pair_histogram() counted it."""
        counts, below, beyond, pairs = _core.pair_histogram_in_groups(
            points, others, self.points.rows, self.points.starts, None if self.others is None else self.others.rows,
            None if self.others is None else self.others.starts,
            options_in("pair_histogram", call),
            request("cpu", None, call["threads"], "none", None, call["memory_limit"], None, None),
        )  # fmt: skip
        left = histogram.pairs - pairs
        return replace(
            histogram, counts=histogram.counts - counts, below=histogram.below - below, beyond=histogram.beyond - beyond,
            pairs=left, pairs_per_volume=None if histogram.volume is None else left / histogram.volume,
        )  # fmt: skip


def _rows_of(library: Library, source: Any, selection: Any, argument: str, atoms: int) -> Array:
    """Returns the rows of the selected atoms in a frame."""
    if hasattr(selection, "ix") and hasattr(selection, "universe"):
        if getattr(source, "universe", None) is not selection.universe:
            raise UsageError.about(argument, "the AtomGroup is of another Universe than `atoms`")
        rows = selection.ix
    elif isinstance(selection, str):
        if library.select is None:
            raise UsageError.about(argument, f"{library.name} has no language of selections; pass the indices of the atoms")
        rows = np.asarray(library.select(source, selection))
    else:
        rows = np.asarray(selection)
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (atoms,) else np.asarray(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise UsageError.about(argument, "a text, or the indices of the atoms in one dimension, are needed")
    rows = rows.astype(np.int64)
    if not rows.size:
        shown = repr(selection) if isinstance(selection, str) else reprlib.repr(selection)
        raise InputError.about(argument, f"{shown} selects none of the {atoms} atoms")
    if rows.min() < 0 or rows.max() >= atoms:
        raise InputError.about(argument, f"an index is {int(rows.min() if rows.min() < 0 else rows.max())}; indices are 0 to {atoms - 1}")
    if len(np.unique(rows)) < len(rows):
        raise InputError.about(argument, "an atom is selected twice")
    return rows


def _from_library(library: Library, source: Any, what: str, argument: str) -> Any:
    try:
        return library.groups[what](source)
    except (KeyError, AttributeError, ValueError) as error:  # no such attribute in the topology
        noun = {"residue": "residues", "molecule": "molecules", "bonded": "bonds"}.get(what, what)
        needed = "an array of two indices for each bond" if what == "bonded" else "an array with one number for each atom of a frame"
        raise UsageError.about(
            argument, f"{library.name} has no {noun} for these atoms ({type(error).__name__}); pass {needed}"
        ) from error


def _numbers_of_groups(library: Library, source: Any, same: Any, atoms: int, argument: str) -> Array:
    """Returns one number for each atom of a frame: equal numbers form a group."""
    if isinstance(same, str) and same not in ("residue", "molecule"):
        allowed = "'residue', 'molecule', 'bonded'" if argument == "exclude_same" else "'residue', 'molecule'"
        raise UsageError.about(argument, f"{same!r}; {allowed} or an array of numbers is needed")
    numbers = np.asarray(_from_library(library, source, same, argument) if isinstance(same, str) else same)
    if numbers.shape != (atoms,) or numbers.dtype.kind not in "iu":
        raise UsageError.about(argument, f"an array with an integer for each of the {atoms} atoms of a frame is needed")
    return numbers


def _bonds(library: Library, source: Any, same: Any, atoms: int) -> Array:
    """Returns the two atoms of each bond, each bond once."""
    found = _from_library(library, source, "bonded", "exclude_same") if isinstance(same, str) else same
    bonds = np.asarray(found) if len(found) else np.empty((0, 2), np.int64)
    if bonds.ndim != 2 or bonds.shape[1] != 2 or bonds.dtype.kind not in "iu":
        raise UsageError.about("exclude_same", "bonds are an array of integers with two columns")
    if isinstance(same, str) and not len(bonds):
        raise InputError.about("exclude_same", f"{library.name} has no bonds for these atoms; read a topology that has them")
    if bonds.size and (bonds.min() < 0 or bonds.max() >= atoms or (bonds[:, 0] == bonds[:, 1]).any()):
        raise InputError.about("exclude_same", f"a bond joins two different atoms; indices are 0 to {atoms - 1}")
    return np.unique(np.sort(bonds.astype(np.int64), axis=1), axis=0)


class _Sides:
    """The points of both sides of the pairs, and the pairs that do not count, for the atoms of a frame."""

    def __init__(self, library: Library, source: Any, call: dict[str, Any], atoms: int) -> None:
        rows = np.arange(atoms) if call["select"] is None else _rows_of(library, source, call["select"], "select", atoms)
        self.lists = [rows]
        if call["other"] is not None:
            self.lists.append(_rows_of(library, source, call["other"], "other", atoms))
        self.all = call["select"] is None
        self.groups: list[_Groups] = []
        self.exclusions: _Exclusions | None = None
        same, centers = call["exclude_same"], call["mass_centers"]
        is_bonds = (isinstance(same, str) and same == "bonded") or (not isinstance(same, str) and np.ndim(same) == 2)
        if is_bonds:
            if centers is not None:
                raise UsageError.about("exclude_same", "centres of mass have no bonds")
            bonds = _bonds(library, source, same, atoms)
            self.exclusions = _Exclusions.of_bonds(bonds, rows, self.lists[1] if len(self.lists) == 2 else None, atoms)
            return
        numbers = np.arange(atoms)
        if centers is not None:
            numbers = _numbers_of_groups(library, source, centers, atoms, "mass_centers")
            self.groups = [_Groups.of(numbers[rows], np.unique(numbers[rows])) for rows in self.lists]
            masses = call["masses"] if call["masses"] is not None else _from_library(library, source, "masses", "masses")
            self.masses = np.asarray(masses, dtype=np.float64)
            if self.masses.shape != (atoms,):
                raise UsageError.about("masses", f"one number for each of the {atoms} atoms of a frame is needed")
        if same is not None:
            numbers = _numbers_of_groups(library, source, same, atoms, "exclude_same")
        if same is not None or len(self.lists) == 2:
            firsts = [numbers[rows] for rows in self.lists]
            if self.groups:
                firsts = [of_rows[groups.rows[groups.starts[:-1]]] for of_rows, groups in zip(firsts, self.groups)]
            self.exclusions = _Exclusions.of_numbers(firsts[0], firsts[1] if len(firsts) == 2 else None)

    def points(self, positions: Array, call: dict[str, Any]) -> tuple[Array, Array | None]:
        """Returns the points and the others."""
        sides = [positions if self.all and side == 0 else positions[rows] for side, rows in enumerate(self.lists)]
        if self.groups:
            options = {name: value for name, value in options_in("pair_histogram", call).items() if name in ("box", "periodic")}
            sides = [
                np.asarray(_core.pair_histogram_mass_centers(np.ascontiguousarray(side, np.float64), *groups, self.masses[rows], options))
                for side, groups, rows in zip(sides, self.groups, self.lists)
            ]
        return sides[0], sides[1] if len(sides) == 2 else None


def _wanted(frames: Iterator[Frame], wanted: slice | None) -> Iterator[tuple[int, Frame]]:
    numbered = enumerate(frames)
    if wanted is None:
        return numbered
    try:
        return itertools.islice(numbered, wanted.start, wanted.stop, wanted.step)
    except (ValueError, AttributeError) as error:
        raise UsageError.about(
            "frames", f"{wanted!r}; a slice of numbers from 0 is needed, because frames are read one by one"
        ) from error


def error_of_blocks(values: list[Array]) -> Array:
    """Returns the standard error of the mean of the blocks' values, NaN for a single block. NaN is a missing value."""
    return np.asarray(_core.average_frames(np.array(values), len(values))[1])


@names_arguments
def radial_distribution(
    atoms: Any,
    *,
    bin_width: float | None = None,
    bins: int | None = None,
    cutoff: float | None = None,
    edges: Sequence[float] | Array | None = None,
    select: Any = None,
    other: Any = None,
    exclude_same: Any = None,
    mass_centers: Any = None,
    masses: Any = None,
    frames: slice | None = None,
    blocks: int = 10,
    volume: float | None = None,
    dimensions: str | None = None,
    beyond_half: bool = False,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> RadialDistributionResult:
    """Computes the radial distribution g(r) over the frames of a trajectory, with standard errors. Counts are exact.

    Frames are read one by one, each with its own box, triclinic or not, into which positions are folded. Lengths have
    the unit of the library and are not converted.

    * `atoms`: an AtomGroup or Universe of MDAnalysis (Å), a Trajectory of mdtraj (nm), Atoms of ASE (Å), a Trajectory or
        Frame of chemfiles (Å), a tuple (box, points) of freud or NumPy; or a list or iterator of these
    * `bin_width` with `bins` or `cutoff`, or `edges`: bins as in pair_histogram(), in the unit of the library
    * `select`: atoms to count: indices, a mask, or a text in the library's language (ASE: chemical symbols)
    * `other`: the other side of each pair: an AtomGroup, or as `select`. Each pair (atom, other) counts, except pairs of
        an atom with itself.
    * `exclude_same`: "residue" or "molecule": pairs within one of these do not count; or an array with an integer for
        each atom of a frame: pairs of equal integers do not count. "bonded": pairs that are joined by a bond do not
        count; or an array (bonds x 2) with the indices of their atoms
    * `mass_centers`: "residue" or "molecule", or an array as for `exclude_same`: counts pairs of the centres of mass of
        the selected atoms of each of these. Each atom has the image that is nearest to the atom before it.
    * `masses`: one number for each atom of a frame; None: the masses of the library
    * `frames`: slice of frames, such as slice(100, None, 10); numbers from 0
    * `blocks`: int; consecutive blocks of frames, whose spread gives the errors; at most the number of frames counts
    * `volume`: float; needed if no box closes the space
    * `dimensions`: letters of "xyz", the columns in which distances are measured; None: all
    * `beyond_half`: bool; bins may reach past half of the box, as in pair_histogram()

    g divides by the number of pairs that may count, so that it tends to 1 with exclusions, too. The numbers of atoms may
    vary: g then divides the pairs of all frames by the sum of the numbers that uniform points would have in each. An
    UpdatingAtomGroup is selected again in each frame. The other arguments are the same as for kmeans(). Returns a
    RadialDistributionResult. Needs 8 bytes for each bin of each frame.

    Raises UsageError for invalid arguments, InputError for invalid positions, and the errors of pair_histogram(), with
    the number of the frame.

    Examples
    --------
    >>> universe = MDAnalysis.Universe("water.gro", "water.xtc")
    >>> oxygen, hydrogen = universe.select_atoms("name OW"), universe.select_atoms("name HW*")
    >>> result = gradus.radial_distribution(oxygen, other=hydrogen, exclude_same="residue", bin_width=0.05, cutoff=8)
    >>> result.g, result.g_error, result.coordination
    """
    if edges is None and (bin_width is None or (bins is None and cutoff is None)):
        raise UsageError("bin_width with bins or cutoff, or edges, are needed: boxes may change, bins may not")
    if blocks < 1:
        raise UsageError.about("blocks", f"{blocks}; at least 1 is needed")
    if masses is not None and mass_centers is None:
        raise UsageError.about("masses", "they have no effect without mass_centers")
    common: dict[str, Any] = {
        "bin_width": bin_width, "bins": bins, "cutoff": cutoff, "edges": edges, "device": device, "variant": variant,
        "threads": threads, "memory_limit": memory_limit, "beyond_half": beyond_half,
    }  # fmt: skip
    library, source, opened = open_source(atoms)
    if select is not None and hasattr(source, "ix"):
        raise UsageError.about("select", "an AtomGroup is a selection already; pass its Universe, or the AtomGroup alone")
    if select is None and hasattr(source, "ix"):
        select = source

    selections = {"select": select, "other": other, "exclude_same": exclude_same, "mass_centers": mass_centers, "masses": masses}
    updates = hasattr(select, "is_uptodate") or hasattr(other, "is_uptodate")

    histograms: list[PairHistogramResult] = []
    excluded = 0
    sides: _Sides | None = None
    size = -1
    for number, frame in _wanted(opened, frames):
        try:
            if _gpu.is_on_gpu(frame.positions):
                raise UnsupportedError.about("atoms", "the positions are on a GPU; pass them in host memory")
            if sides is None or updates or frame.source is not None or len(frame.positions) != size:
                size = len(frame.positions)
                sides = _Sides(library, source if frame.source is None else frame.source, selections, size)
            call: dict[str, Any] = {
                **common, "box": frame.box, "periodic": frame.periodic if frame.box is not None else "xyz",
                "box_origin": frame.box_origin, "fold": frame.box is not None, "dimensions": dimensions or frame.dimensions,
            }  # fmt: skip
            points, others = sides.points(_arrays.matrix(frame.positions, "positions"), call)
            counted = pair_histogram(points, others=others, **call)
            one = counted if sides.exclusions is None else sides.exclusions.taken_from(counted, points, others, call)
            excluded += counted.pairs - one.pairs
            if not histograms:
                one.rdf(volume)  # refuses spaces without a volume before the other frames are read
            histograms.append(one)
        except Error as error:
            error.args = (f"{error} (in frame {number}, counted from 0)",)
            raise
    if not histograms:
        raise InputError.about("atoms", "there are no frames" if frames is None else f"no frame is among {frames}")

    count = min(blocks, len(histograms))
    limits = [len(histograms) * block // count for block in range(count + 1)]
    parts = [functools.reduce(operator.add, histograms[low:high]) for low, high in zip(limits, limits[1:])]
    sums = list(itertools.accumulate(parts))
    of_parts = [part.rdf(volume) for part in parts]
    total = sums[-1].rdf(volume)
    return RadialDistributionResult(
        total.g, total.density, total.coordination, sums[-1].edges, sums[-1].counts,
        # A block without pairs or points has no value, so that it does not count.
        error_of_blocks([one.g if part.pairs else one.g * np.nan for part, one in zip(parts, of_parts)]),
        error_of_blocks([one.coordination if part.points else one.g * np.nan for part, one in zip(parts, of_parts)]),
        np.array([one.rdf(volume).g for one in sums]), np.array([one.counts for one in histograms]), excluded,
        library.unit, sums[-1],
    )  # fmt: skip
