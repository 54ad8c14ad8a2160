"""Pair counts in two dimensions: across and along the line of sight, or by separation and direction; angles on the sky."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Sequence

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import InputError, UsageError
from gradus._options import Progress, RunReport, names_arguments, options_in, request, run

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class PairCountsResult:
    """Result of pair_counts(). A table has a row per bin of r_p, s or theta, and a column per bin of pi or mu. Tables of
    theta have one dimension."""

    kind: str  #: "rp_pi", "s_mu" or "theta"
    edges: Array  #: edges of r_p, s or theta, float64
    second_edges: Array | None  #: edges of pi or mu, float64; None for theta
    counts: Array  #: number of pairs in each bin, uint64; each pair counts once
    weighted: Array | None  #: sum of the products of weights per bin, float64; None without weights
    #: labels of the regions, in increasing order; None without regions
    regions: Array | None
    #: for each region: the table of the pairs with at least one point in the region; None without regions
    region_counts: Array | None
    region_weighted: Array | None  #: the same of `weighted`
    pairs: int  #: total number of pairs
    #: weight of all pairs: `pairs` without weights, otherwise the sum of the products of all pairs
    total: float
    region_totals: Array | None  #: for each region: the weight of all pairs with at least one point in the region
    report: RunReport

    @property
    def normalized(self) -> Array:
        """`weighted` (or `counts`), divided by `total`."""
        share: Array = self.table / self.total if self.total else np.zeros(self.counts.shape)
        return share

    @property
    def table(self) -> Array:
        """`weighted`, or `counts` as float64 without weights."""
        return self.counts.astype(np.float64) if self.weighted is None else self.weighted

    def without_regions(self) -> Array:
        """Returns, for each region, `normalized` of the points outside the region (one table per region)."""
        if self.region_counts is None or self.region_totals is None:
            raise UsageError("there are no regions: pass regions=... to pair_counts()")
        left = self.counts - self.region_counts if self.weighted is None else self.weighted - self.region_weighted
        totals = (self.total - self.region_totals).reshape(-1, *[1] * self.counts.ndim)
        shares: Array = np.divide(left, totals, out=np.zeros(left.shape), where=totals != 0)
        return shares

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.counts.shape))
        return f"PairCountsResult({self.kind}, {shape} bins, {int(self.counts.sum())} of {self.pairs} pairs)"


def _unit_vectors(directions: Any, name: str) -> Array:
    _arrays.refuse_gpu(directions, name)
    rows = _arrays.matrix(directions, name, np.dtype(np.float64), None)
    vectors: Array = np.asarray(_core.sky_vectors(rows), np.float64).reshape(-1, 3)
    return vectors


def sky_points(ra: Any, dec: Any, distance: Any = 1.0) -> Array:
    """Returns Cartesian coordinates (n x 3, float64) of directions on the sky, seen from an observer at the origin.

    * `ra`, `dec`: n numbers; right ascension and declination in degrees, -90 <= dec <= 90
    * `distance`: n numbers or one; distances from the observer

    A direction becomes the unit vector (cos dec cos ra, cos dec sin ra, sin dec), with the same bits on every machine.
    Raises InputError for numbers that are not finite and for declinations beyond 90 degrees.

    Examples
    --------
    >>> gradus.sky_points([0, 90], [0, 0], 100)
    """
    columns = [_arrays.host_vector(source, name) for source, name in ((ra, "ra"), (dec, "dec"))]
    is_one = isinstance(distance, (numbers.Real, Decimal))
    distances = np.array(_numbers.number(distance, "distance")) if is_one else _arrays.host_vector(distance, "distance")
    for name, column in (("dec", columns[1]), ("distance", distances)):
        if column.ndim == 1 and len(column) != len(columns[0]):
            raise InputError.about(name, f"there are {len(column)} numbers for {len(columns[0])} points")
    if not np.isfinite(distances).all():
        raise InputError.about("distance", "a number is NaN or infinite")
    return _unit_vectors(np.column_stack(columns), "points") * distances.reshape(-1, 1)


def _second_edges(kind: str, given: Any, pi_max: Any, pi_bins: Any, mu_max: Any, mu_bins: Any) -> Array | None:
    """Returns the edges of pi or mu. Each kind has its own arguments."""
    foreign = {
        "rp_pi": {"mu_max": mu_max, "mu_bins": mu_bins},
        "s_mu": {"pi_max": pi_max, "pi_bins": pi_bins},
        "theta": {"mu_max": mu_max, "mu_bins": mu_bins, "pi_max": pi_max, "pi_bins": pi_bins, "second_edges": given},
    }.get(kind, {})
    for name, value in foreign.items():
        if value is not None:
            raise UsageError.about(name, f"it has no effect on kind={kind!r}")
    most, bins, names = (pi_max, pi_bins, ("pi_max", "pi_bins")) if kind == "rp_pi" else (mu_max, mu_bins, ("mu_max", "mu_bins"))
    if kind not in ("rp_pi", "s_mu"):
        return None
    if given is not None:
        if most is not None or bins is not None:
            raise UsageError.about("second_edges", f"they replace {names[0]} and {names[1]}: leave those out")
        return np.array(_arrays.numbers_of(given, "second_edges"))
    if kind == "s_mu":
        if bins is None:
            raise UsageError.about("mu_bins", "the number of bins of mu is needed, or second_edges")
        most = 1.0 if most is None else most
        if not 0 < most <= 1:
            raise UsageError.about("mu_max", f"{most}; a number above 0 and at most 1 is needed")
    else:
        if most is None:
            raise UsageError.about("pi_max", "the end of the bins of pi is needed, or second_edges")
        if not 0 < most < np.inf:
            raise UsageError.about("pi_max", f"{most}; a positive number is needed")
        bins = max(1, int(min(most, 2.0**30))) if bins is None else bins
    if not 1 <= bins <= 2**24:
        raise UsageError.about(names[1], f"{bins}; an integer from 1 to 2^24 is needed")
    edges: Array = np.arange(bins + 1) * float(most) / bins
    return edges


def _region_numbers(regions: Any, other_regions: Any) -> tuple[Array | None, Array | None, Array | None]:
    """Returns the labels of all regions, and the number of each point's label."""
    given = [None if one is None else _arrays.host_vector(one, name)
             for one, name in ((regions, "regions"), (other_regions, "other_regions"))]  # fmt: skip
    present = [one for one in given if one is not None]
    if not present:
        return None, None, None
    both = np.concatenate(present)
    if not (np.abs(both) < 2**53).all() or (both != np.floor(both)).any():
        raise InputError.about("regions", "one integer for each point is needed, below 2^53 in magnitude")
    labels, ranks = np.unique(both, return_inverse=True)
    parts = iter(np.split(ranks.reshape(-1).astype(np.int32), [len(present[0])]))
    first, second = (None if one is None else next(parts) for one in given)
    return labels.astype(np.int64), first, second


def _totals(
    weights: Array | None, others: Array | None, numbers: Array | None, other_numbers: Array | None, regions: int, is_cross: bool
) -> tuple[float, Array | None]:
    """Returns the weight of all pairs, and for each region the weight of all pairs with a point in the region."""

    def sums(values: Array, labels: Array | None) -> tuple[float, float, Any, Any]:
        wide = values.astype(np.float64)
        squares = wide * wide
        if labels is None:
            return wide.sum(), squares.sum(), None, None
        return (
            wide.sum(), squares.sum(), np.bincount(labels, wide, regions), np.bincount(labels, squares, regions),
        )  # fmt: skip

    assert weights is not None
    total, square, by_region, squares = sums(weights, numbers)
    if is_cross:
        assert others is not None
        other, _, other_by_region, _ = sums(others, other_numbers)
        if by_region is None or other_by_region is None:
            return total * other, None
        return total * other, by_region * other + other_by_region * total - by_region * other_by_region
    if by_region is None:
        return (total * total - square) / 2, None
    rest = total - by_region
    return (total * total - square) / 2, (total * total - square - rest * rest + (square - squares)) / 2


@names_arguments
def pair_counts(
    points: Any,
    *,
    edges: Sequence[float] | Array,
    kind: str = "rp_pi",
    pi_max: float | None = None,
    pi_bins: int | None = None,
    mu_max: float | None = None,
    mu_bins: int | None = None,
    second_edges: Sequence[float] | Array | None = None,
    others: Any = None,
    box: Sequence[float] | Array | None = None,
    line_of_sight: str | None = None,
    weights: Any = None,
    other_weights: Any = None,
    regions: Any = None,
    other_regions: Any = None,
    threads: int | None = None,
    pinning: str = "none",
    memory_limit: int | None = None,
    device: str = "auto",
    progress: Progress | None = None,
    communicator: Any = None,
) -> PairCountsResult:
    """Counts pairs across and along the line of sight. Each pair counts once, whereas Corrfunc counts pairs of one set twice.

    * `points`: n x 3 array, float32 or float64. For kind "theta": n x 2, right ascension and declination in degrees
    * `edges`: increasing non-negative numbers, the edges of the bins of r_p, s or theta (degrees)
    * `kind`: "rp_pi" (across and along the line of sight), "s_mu" (separation, cosine to the line of sight) or "theta"
    * `pi_max`, `pi_bins`: float, int; bins of pi from 0 to pi_max; None: int(pi_max) bins
    * `mu_max`, `mu_bins`: float, int; bins of mu from 0 to mu_max (None: 1)
    * `second_edges`: edges of pi or mu, instead of the four arguments above
    * `others`: m x 3 (or 2) array; count pairs (point, other) instead of pairs of points
    * `box`: three lengths of a periodic box; None: open space
    * `line_of_sight`: "x", "y", "z", or "midpoint": from the origin through the midpoint of a pair; None: z in a box,
        otherwise midpoint
    * `weights`, `other_weights`: one number per point and per other; `weighted` then sums their products
    * `regions`, `other_regions`: one integer per point and per other; counts per region, for gradus.correlation.jackknife()
    * `communicator`: communicator of mpi4py, or "torchrun", whose processes all make this call with the same arguments.
        They share the work, and each returns the whole result.

    Bins are half-open and decided in exact arithmetic on the stored coordinates: a pair on an edge is in the bin above it.
    A pair with mu = 1 is thus beyond the last bin, as in Corrfunc. The other arguments are the same as for kmeans();
    pairs are counted on the CPU. Returns a PairCountsResult.

    Raises UsageError for invalid arguments, InputError for NaN, infinity, inexact conversions and points farther apart
    than the box, UnsupportedError for a GPU, and OutOfMemoryError.

    Examples
    --------
    >>> dd = gradus.pair_counts(galaxies, edges=[1, 2, 5, 10], pi_max=40, box=[500, 500, 500])
    >>> dd.counts.shape
    (3, 40)
    """
    call = locals()
    call["second_edges"] = _second_edges(kind, second_edges, pi_max, pi_bins, mu_max, mu_bins)
    if line_of_sight is None:
        call["line_of_sight"] = "midpoint" if box is None else "z"
    elif kind == "theta":
        raise UsageError.about("line_of_sight", "it has no effect on kind='theta'")
    if kind == "theta" and box is not None:
        raise UsageError.about("box", "it has no effect on kind='theta'")
    labels, ranks, other_ranks = _region_numbers(regions, other_regions)

    def prepared() -> tuple[Any, ...]:
        rows = _unit_vectors(points, "points") if kind == "theta" else _arrays.matrix(points, "points", None, None)
        second = None
        if others is not None:
            second = _unit_vectors(others, "others") if kind == "theta" else _arrays.matrix(others, "others", rows.dtype, None)
        weighed = None if weights is None else _arrays.vector(weights, "weights", rows.dtype, None)
        other_weighed = None if other_weights is None else _arrays.vector(other_weights, "other_weights", rows.dtype, None)
        options = options_in("pair_counts", call)
        return (
            rows, second, weighed, other_weighed, ranks, other_ranks, options,
            request(device, None, threads, pinning, None, memory_limit, None, progress),
        )  # fmt: skip

    arguments, fields = run(communicator, _core.pair_counts, prepared)
    counts, weighted, region_counts, region_weighted, bins, second_bins, pairs, report = fields
    rows, second, weighed, other_weighed = arguments[:4]
    shape = (bins,) if kind == "theta" else (bins, second_bins)
    ones = [None if side is None else np.ones(len(side)) for side in (rows, second)]
    first_weights, second_weights = (ones[0], ones[1]) if weighed is None else (weighed, other_weighed)
    count = 0 if labels is None else len(labels)
    total, region_totals = _totals(first_weights, second_weights, ranks, other_ranks, count, second is not None)
    return PairCountsResult(
        kind,
        np.array(edges, np.float64),
        call["second_edges"],
        counts.reshape(shape),
        None if weighed is None else weighted.reshape(shape),
        labels,
        None if labels is None else region_counts.reshape(-1, *shape),
        None if labels is None or weighed is None else region_weighted.reshape(-1, *shape),
        pairs,
        float(pairs) if weighed is None else total,
        region_totals,
        RunReport(*report),
    )
