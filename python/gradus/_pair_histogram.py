"""Pair-distance histograms: how many pairs of points lie at each distance. Each pair counts once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import UsageError
from gradus._options import Progress, RunReport, names_arguments, options_in, request, run, stream_number

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class RadialDistribution:
    g: Array  #: pairs in the bin's shell over those of as many points spread uniformly
    density: Array  #: of others in the shell around a point, per unit volume
    coordination: Array  #: others nearer than the bin's upper edge, per point


@dataclass(frozen=True, eq=False, repr=False)
class PairHistogramResult:
    """`a += b` adds the histogram of another frame, of the same bins."""

    edges: Array  #: one more than there are bins
    counts: Array  #: of pairs in each bin, in uint64; each pair once
    weighted: Array | None  #: sum of the pairs' weights in each bin
    below: int  #: pairs nearer than the first edge
    beyond: int  #: pairs at the last edge or the cutoff, or past it
    pairs: int  #: all of them
    flat: str  #: "z" of points that all have the same z, in a box that is thin there; else ""
    report: RunReport
    points: int  #: of a frame
    others: int  #: of a frame; 0: pairs among the points
    dimensions: int
    volume: float | None  #: of the box; None in open space
    frames: int = 1

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.edges, self.counts, self.weighted, self.below, self.beyond, self.pairs, self.flat,
            self.report.rechecked,
        )  # fmt: skip

    def __add__(self, other: PairHistogramResult) -> PairHistogramResult:
        if not isinstance(other, PairHistogramResult):
            return NotImplemented
        if (self.points, self.others, self.dimensions) != (other.points, other.others, other.dimensions):
            raise UsageError("histograms of frames with other numbers of points cannot be added")
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
        if self.volume is not None and other.volume is not None:  # the harmonic mean: densities are averaged
            volume = frames / (self.frames / self.volume + other.frames / other.volume)
        return PairHistogramResult(
            self.edges, counts, weighted, below, beyond, pairs, flat, report, self.points, self.others, self.dimensions,
            volume, frames,
        )  # fmt: skip

    def __radd__(self, other: Any) -> PairHistogramResult:
        """sum(histograms) begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def rdf(self, volume: float | None = None) -> RadialDistribution:
        """The radial distribution; `volume`: of the space that the points lie in, where there is no periodic box."""
        space = self.volume if volume is None else _numbers.number(volume, "volume")
        if space is None:
            raise UsageError.about("rdf", "no box closes the space of the points: pass its volume")
        if self.flat and self.dimensions == 3:
            plane = "xyz".replace(self.flat, "")
            raise UsageError.about(
                "rdf", f"all points have the same {self.flat}, and the box is thin there, so that shells in space do not "
                f"fit them: dimensions='{plane}' counts in their plane, dimensions='xyz' in space all the same"
            )
        return RadialDistribution(
            *_core.pair_histogram_radial_distribution(
                self._fields(), self.dimensions, self.points, self.others, space, self.frames
            )
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
    weights: Any = None,
    other_weights: Any = None,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
    communicator: Any = None,
) -> PairHistogramResult:
    """Counts the pairs among the rows of `points`, or between them and `others`. Each pair counts once, not twice.

    Bins of one width go up to the cutoff, or up to half of the box, where `bins` does not say how many there are.

    `box`: a length for each column, or the three vectors of a triclinic cell. It repeats in the directions `periodic`:
    some of the letters "xyz", columns or vectors, or "none". `fold=True` first moves points that are outside into it.
    `dimensions`: the columns in which distances are measured, "xy" of a layer.

    `communicator`: one of mpi4py, whose processes all make this call, with the same points and options; the pairs are
    shared out among them, and each gets the whole result.
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
            request(device, variant, threads, pinning, block_size, memory_limit, number, progress),
        )  # fmt: skip

    arguments, fields = run(communicator, _core.pair_histogram, prepared)
    borders, counts, weighted, below, beyond, pairs, flat, report, volume = fields
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
    )
