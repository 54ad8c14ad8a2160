"""Radial distributions of trajectories that other libraries read."""

from __future__ import annotations

import functools
import itertools
import operator
from dataclasses import dataclass, replace
from typing import Any, Iterator, Sequence

import numpy as np

from gradus import _arrays, _core, _gpu
from gradus._errors import Error, InputError, UnsupportedError, UsageError
from gradus._options import names_arguments, options_in, request
from gradus._pair_histogram import PairHistogramResult, RadialDistribution, pair_histogram
from gradus._trajectories import Frame, Library, open_source

Array = np.ndarray[Any, Any]

_FEWEST_PAIRS_COUNTED_BY_VARIANTS = 2**22  #: pairs of a group; the code for groups runs on one thread


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


class _Grouped:
    """Rows in groups, as the extension module needs them. Group g has rows[starts[g]:starts[g + 1]]."""

    def __init__(self, numbers: Array, keys: Array) -> None:
        chosen = np.flatnonzero(np.isin(numbers, keys))
        self.rows = chosen[np.argsort(numbers[chosen], kind="stable")].astype(np.int64)
        self.starts = np.append(np.searchsorted(numbers[self.rows], keys), len(self.rows)).astype(np.int64)


class _Exclusions:
    """Pairs that do not count: pairs of a row of points and a row of others with the same number, or without others of
    two rows of points."""

    def __init__(self, numbers: Array, other_numbers: Array | None) -> None:
        keys, sizes = np.unique(numbers, return_counts=True)
        if other_numbers is None:
            pairs = sizes * (sizes - 1) // 2
        else:
            other_keys, other_sizes = np.unique(other_numbers, return_counts=True)
            keys, at, other_at = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
            pairs = sizes[at] * other_sizes[other_at]
        small = keys[(pairs > 0) & (pairs < _FEWEST_PAIRS_COUNTED_BY_VARIANTS)]
        self.points = _Grouped(numbers, small)
        self.others = None if other_numbers is None else _Grouped(other_numbers, small)
        self.large = [
            (np.flatnonzero(numbers == key), None if other_numbers is None else np.flatnonzero(other_numbers == key))
            for key in keys[pairs >= _FEWEST_PAIRS_COUNTED_BY_VARIANTS]
        ]

    def taken_from(self, histogram: PairHistogramResult, points: Array, others: Array | None, call: dict[str, Any]) -> PairHistogramResult:
        """Returns the histogram without these pairs. `call` has the arguments with which pair_histogram() counted it."""
        counts, below, beyond, pairs = _core.pair_histogram_in_groups(
            points, others, self.points.rows, self.points.starts,
            None if self.others is None else self.others.rows, None if self.others is None else self.others.starts,
            options_in("pair_histogram", call), request("cpu", None, 1, "none", None, None, None, None),
        )  # fmt: skip
        for rows, other_rows in self.large:
            some = pair_histogram(points[rows], others=None if others is None else others[other_rows], **call)
            counts, below, beyond, pairs = counts + some.counts, below + some.below, beyond + some.beyond, pairs + some.pairs
        return replace(
            histogram, counts=histogram.counts - counts, below=histogram.below - below, beyond=histogram.beyond - beyond,
            pairs=histogram.pairs - pairs,
        )  # fmt: skip


def _rows_of(library: Library, source: Any, selection: Any, argument: str, atoms: int) -> Array:
    """Returns the rows of the selected atoms in a frame."""
    if hasattr(selection, "ix") and hasattr(selection, "universe"):
        if getattr(source, "universe", None) is not selection.universe:
            raise UsageError.about(argument, "the AtomGroup is of another Universe than `atoms`")
        if hasattr(selection, "is_uptodate"):
            raise UnsupportedError.about(argument, "the atoms of an UpdatingAtomGroup change; select them without updating=True")
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
        raise InputError.about(argument, f"{selection!r} selects none of the {atoms} atoms")
    if rows.min() < 0 or rows.max() >= atoms:
        raise InputError.about(argument, f"an index is {int(rows.min() if rows.min() < 0 else rows.max())}; indices are 0 to {atoms - 1}")
    if len(np.unique(rows)) < len(rows):
        raise InputError.about(argument, "an atom is selected twice")
    return rows


def _numbers_of_groups(library: Library, source: Any, same: Any, atoms: int) -> Array:
    """Returns one number for each atom of a frame. Pairs of atoms with one number are left out."""
    if isinstance(same, str):
        if same not in ("residue", "molecule"):
            raise UsageError.about("exclude_same", f"{same!r}; 'residue', 'molecule' or an array of numbers is needed")
        try:
            found = library.groups[same](source)
        except (KeyError, AttributeError, ValueError) as error:  # no such attribute in the topology
            raise UsageError.about(
                "exclude_same", f"{library.name} has no {same}s for these atoms ({type(error).__name__}); pass an array with "
                "one number for each atom of a frame"
            ) from error
    else:
        found = same
    numbers = np.asarray(found)
    if numbers.shape != (atoms,) or numbers.dtype.kind not in "iu":
        raise UsageError.about("exclude_same", f"an array with an integer for each of the {atoms} atoms of a frame is needed")
    return numbers


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
    frames: slice | None = None,
    blocks: int = 10,
    volume: float | None = None,
    dimensions: str | None = None,
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
        each atom of a frame: pairs of equal integers do not count
    * `frames`: slice of frames, such as slice(100, None, 10); numbers from 0
    * `blocks`: int; consecutive blocks of frames, whose spread gives the errors; at most the number of frames counts
    * `volume`: float; needed if no box closes the space
    * `dimensions`: letters of "xyz", the columns in which distances are measured; None: all

    g divides by the number of pairs that may count, so that it tends to 1 with exclusions, too. The other arguments are
    the same as for kmeans(). Returns a RadialDistributionResult. Needs 8 bytes for each bin of each frame.

    Raises UsageError for invalid arguments, InputError for invalid positions and frames with other numbers of atoms, and
    the errors of pair_histogram(), with the number of the frame.

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
    common: dict[str, Any] = {
        "bin_width": bin_width, "bins": bins, "cutoff": cutoff, "edges": edges, "device": device, "variant": variant,
        "threads": threads, "memory_limit": memory_limit,
    }  # fmt: skip
    library, source, opened = open_source(atoms)
    if select is not None and hasattr(source, "ix"):
        raise UsageError.about("select", "an AtomGroup is a selection already; pass its Universe, or the AtomGroup alone")
    if select is None and hasattr(source, "ix"):
        select = source

    histograms: list[PairHistogramResult] = []
    excluded = 0
    rows: Array | None = None
    other_rows: Array | None = None
    exclusions: _Exclusions | None = None
    size = -1
    for number, frame in _wanted(opened, frames):
        try:
            if _gpu.is_on_gpu(frame.positions):
                raise UnsupportedError.about("atoms", "the positions are on a GPU; pass them in host memory")
            if size < 0:
                size = len(frame.positions)
                rows = None if select is None else _rows_of(library, source, select, "select", size)
                other_rows = None if other is None else _rows_of(library, source, other, "other", size)
                if exclude_same is not None or other_rows is not None:
                    numbers = np.arange(size) if exclude_same is None else _numbers_of_groups(library, source, exclude_same, size)
                    exclusions = _Exclusions(
                        numbers if rows is None else numbers[rows], None if other_rows is None else numbers[other_rows]
                    )
            if len(frame.positions) != size:
                raise InputError.about("atoms", f"{len(frame.positions)} atoms, but the first frame has {size}")
            all_points = _arrays.matrix(frame.positions, "positions")
            points = all_points if rows is None else all_points[rows]
            others = None if other_rows is None else all_points[other_rows]
            call: dict[str, Any] = {
                **common, "box": frame.box, "periodic": frame.periodic if frame.box is not None else "xyz",
                "box_origin": frame.box_origin, "fold": frame.box is not None, "dimensions": dimensions or frame.dimensions,
            }  # fmt: skip
            counted = pair_histogram(points, others=others, **call)
            one = counted if exclusions is None else exclusions.taken_from(counted, points, others, call)
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

    def error_of(values: list[Array]) -> Array:
        if len(values) < 2:
            return np.full(len(values[0]), np.nan)
        return np.asarray(np.std(values, axis=0, ddof=1) / np.sqrt(len(values)))

    return RadialDistributionResult(
        total.g, total.density, total.coordination, sums[-1].edges, sums[-1].counts,
        error_of([part.g for part in of_parts]), error_of([part.coordination for part in of_parts]),
        np.array([one.rdf(volume).g for one in sums]), np.array([one.counts for one in histograms]), excluded,
        library.unit, sums[-1],
    )  # fmt: skip
