"""Pair-distance histograms: the number of pairs of points per interval of distance. Each pair counts once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import UsageError
from gradus._options import Gpus, Progress, RunReport, names_arguments, options_in, request, run, stream_number

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class RadialDistribution:
    """Radial distribution, one value per bin in each array."""

    g: Array  #: number of pairs in the bin, divided by the number for uniformly distributed points
    density: Array  #: number of other points per unit volume in the shell around a point
    coordination: Array  #: mean number of other points around a point, from the first edge to the upper edge of the bin


@dataclass(frozen=True, eq=False, repr=False)
class PairHistogramResult:
    """Result of pair_histogram(). Results with equal bins can be added with + and sum(), also of other numbers of points."""

    edges: Array  #: bins + 1 edges, float64
    counts: Array  #: number of pairs in each bin, uint64
    weighted: Array | None  #: sum of the products of weights per bin; None without weights
    below: int  #: pairs nearer than the first edge
    beyond: int  #: pairs at or beyond the last edge or the cutoff
    pairs: int  #: total number of pairs
    flat: str  #: column, such as "z", in which the box is thin and all points agree; "" if there is none
    report: RunReport
    points: float  #: number of points in a frame, the mean if it varies
    others: float  #: number of other points in a frame, the mean if it varies; 0: pairs are counted among the points
    dimensions: int  #: columns in which distances are measured
    volume: float | None  #: volume of the box (harmonic mean over the frames); None in open space
    frames: int = 1
    pairs_per_volume: float | None = None  #: sum over the frames of pairs / volume; None in open space
    shells: Array | None = None  #: with beyond_half: sizes of the shells in the box (mean over the frames); else None

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.edges, self.counts, self.weighted, self.below, self.beyond, self.pairs, self.flat,
            self.report.rechecked,
        )  # fmt: skip

    def __add__(self, other: PairHistogramResult) -> PairHistogramResult:
        if not isinstance(other, PairHistogramResult):
            return NotImplemented
        if (self.others > 0, self.dimensions) != (other.others > 0, other.dimensions):
            raise UsageError("histograms of one set and of two sets, or in other dimensions, cannot be added")
        counts, weighted, below, beyond, pairs, flat, rechecked = _core.pair_histogram_add(self._fields(), other._fields())
        if (self.volume is None) != (other.volume is None):
            raise UsageError(
                "a histogram in a periodic box and one without a box cannot be added: pass `box` for all frames, or for none"
            )
        phases = dict(self.report.phases)
        for name, seconds in other.report.phases.items():
            phases[name] = phases.get(name, 0.0) + seconds
        report = RunReport(self.report.variant, self.report.device, self.report.threads, phases, rechecked)
        frames = self.frames + other.frames
        volume = None
        if self.volume is not None and other.volume is not None:  # harmonic mean, because densities are averaged
            volume = frames / (self.frames / self.volume + other.frames / other.volume)

        def mean(first: float, second: float) -> float:
            return first if first == second else (first * self.frames + second * other.frames) / frames

        shells = None
        if self.shells is not None and other.shells is not None and self.pairs_per_volume and other.pairs_per_volume:
            shells = self.shells * self.pairs_per_volume + other.shells * other.pairs_per_volume
            shells /= self.pairs_per_volume + other.pairs_per_volume
        return PairHistogramResult(
            self.edges, counts, weighted, below, beyond, pairs, flat, report, mean(self.points, other.points),
            mean(self.others, other.others), self.dimensions, volume, frames,
            None if volume is None else (self.pairs_per_volume or 0) + (other.pairs_per_volume or 0), shells,
        )  # fmt: skip

    def __radd__(self, other: Any) -> PairHistogramResult:
        """Supports sum(histograms), which starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def rdf(self, volume: float | None = None) -> RadialDistribution:
        """Returns the radial distribution.

        `volume` is the volume of the space that contains the points (area in two dimensions). `volume` must be given if
        there is no periodic box. Raises UsageError if it is missing. Also raises UsageError if the points are in a
        plane of a three-dimensional box (`flat`).
        """
        pairs_per_volume = self.pairs_per_volume
        if volume is not None:
            space = _numbers.number(volume, "volume")
            if not 0 < space < float("inf"):
                raise UsageError.about("rdf", f"a volume is a finite number above zero, not {space:g}")
            pairs_per_volume = self.pairs / space
        if pairs_per_volume is None:
            raise UsageError.about("rdf", "no box closes the space of the points: pass its volume")
        if self.flat and self.dimensions == 3:
            plane = "xyz".replace(self.flat, "")
            raise UsageError.about(
                "rdf", f"all points have the same {self.flat}, and the box is thin there, so that shells in space do not "
                f"fit them: dimensions='{plane}' counts in their plane, dimensions='xyz' in space all the same"
            )
        g, density, coordination = _core.pair_histogram_radial_distribution(
            self._fields(), self.dimensions, self.points * self.frames, pairs_per_volume, self.others > 0, self.shells
        )
        return RadialDistribution(g, density, coordination)

    def structure_factor(self, q: Any) -> tuple[Array, Array]:
        """Returns the static structure factor S(q) by Debye's sum, and the greatest error that the widths of the bins cause.

        `q` holds wave numbers in one dimension, in the inverse unit of the distances. The bins must hold all pairs of the
        points, in open space; frames are averaged. Raises UsageError otherwise: for a periodic box, structure_factor()
        sums directly.
        """
        if self.volume is not None or self.others or self.points * self.frames != int(self.points * self.frames):
            raise UsageError("Debye's sum needs pairs of one set of points in open space; structure_factor() sums in a box")
        return _core.debye_structure_factor(
            self._fields(), int(self.points * self.frames), np.atleast_1d(np.ascontiguousarray(q, np.float64))
        )

    def __repr__(self) -> str:
        frames = "" if self.frames == 1 else f"{self.frames} frames, "
        return f"PairHistogramResult({frames}{self.pairs} pairs, {len(self.counts)} bins, {self.beyond} pairs beyond)"


@names_arguments
def pair_histogram(
    points: Any,
    *,
    bin_width: float | None = None,
    bins: int | None = None,
    edges: Sequence[float] | Array | None = None,
    cutoff: float | None = None,
    others: Any = None,
    box: Sequence[float] | Array | None = None,
    box_origin: Sequence[float] | Array | None = None,
    periodic: str = "xyz",
    dimensions: str | None = None,
    fold: bool = False,
    beyond_half: bool = False,
    weights: Any = None,
    other_weights: Any = None,
    device: str = "auto",
    gpus: Gpus | None = None,
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> PairHistogramResult:
    """Counts pairs by distance, among the rows of `points` or between `points` and `others`. Each pair counts once.

    * `points`: n x d array; float32 and float64 are used as they are, other types are converted if that is exact
    * `bin_width`: float; width of uniform bins that start at 0
    * `bins`: int; number of uniform bins; None: up to the cutoff, or else half of the box
    * `edges`: increasing non-negative numbers, instead of bin_width
    * `cutoff`: float; end of the last bin
    * `others`: m x d array; count pairs (point, other) instead of pairs of points
    * `box`: d lengths, or the three vectors of a triclinic cell as rows; None: open space
    * `box_origin`: d numbers; lower corner of the box; None: zero
    * `periodic`: letters of "xyz", the columns or vectors in which the box repeats; or "none"
    * `dimensions`: letters of "xyz", the columns in which distances are measured; None: all
    * `fold`: bool; move points outside the box into it first
    * `beyond_half`: bool; bins may reach past half of the box; g then divides by the part of a shell in the box
    * `weights`, `other_weights`: one number per point and per other; `weighted` then sums their products
    * `communicator`: communicator of mpi4py, or "torchrun", whose processes all make this call with the same arguments.
        They share the work, and each returns the whole result.

    The other arguments are the same as for kmeans(). Returns a PairHistogramResult.

    Raises UsageError for invalid arguments, InputError for NaN, infinity, inexact conversions and points outside the
    box, UnsupportedError if the variant or device cannot run here, and OutOfMemoryError.

    Examples
    --------
    >>> histogram = gradus.pair_histogram(points, bin_width=0.1, box=[10, 10, 10])
    >>> histogram.counts, histogram.rdf().g
    """

    call = locals()

    def prepared() -> tuple[Any, ...]:
        if bin_width is None and edges is None:
            raise UsageError("bin_width or edges is needed: the bins of the histogram")
        number = stream_number(stream)
        rows = _arrays.matrix(points, "points", None, number)
        second = None if others is None else _arrays.matrix(others, "others", rows.dtype, number)
        weighed = None if weights is None else _arrays.vector(weights, "weights", rows.dtype, number)
        other_weighed = (
            None if other_weights is None else _arrays.vector(other_weights, "other_weights", rows.dtype, number)
        )
        _arrays.on_one_gpu(points=rows, others=second, weights=weighed, other_weights=other_weighed)
        return (
            rows, second, weighed, other_weighed, options_in("pair_histogram", call),
            request(device, variant, threads, pinning, block_size, memory_limit, number, progress, gpus=gpus),
        )  # fmt: skip

    arguments, fields = run(communicator, _core.pair_histogram, prepared)
    borders, counts, weighted, below, beyond, pairs, flat, report, volume, shells = fields
    rows, second = arguments[:2]
    return PairHistogramResult(
        borders,
        counts,
        weighted,
        below,
        beyond,
        pairs,
        flat,
        RunReport(*report),
        len(rows),
        0 if second is None else len(second),
        len(dimensions) if dimensions else rows.shape[1],
        volume,
        pairs_per_volume=None if volume is None else pairs / volume,
        shells=shells,
    )
