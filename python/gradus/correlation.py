"""Correlation functions of galaxies from pair counts: estimators, projections, multipoles, and errors by the jackknife.

All functions take results of gradus.pair_counts() or tables of normalized counts (PairCountsResult.normalized).

Examples
--------
>>> from gradus import correlation
>>> xi = correlation.landy_szalay(dd, dr, rr)
>>> wp = correlation.projected(xi, dd.second_edges)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np

from gradus import _arrays
from gradus._errors import InputError, UsageError
from gradus._pair_counts import PairCountsResult

__all__ = ["JackknifeResult", "box_pairs", "jackknife", "landy_szalay", "multipoles", "natural", "projected"]

Array = np.ndarray[Any, Any]


def _shown(edges: Array) -> str:
    return np.array2string(np.asarray(edges, np.float64), separator=", ", threshold=8, max_line_width=1000)


def _require_same_bins(**counts: Any) -> None:
    """Compares the bins of all counts that know them."""
    known = [(name, one) for name, one in counts.items() if isinstance(one, PairCountsResult)]
    for name, one in known[1:]:
        first, other = known[0]
        if one.kind != other.kind:
            raise InputError(f"{name}: its bins are of kind {one.kind!r}, but the bins of {first} of {other.kind!r}")
        for field in ("edges", "second_edges"):
            edges, others = getattr(one, field), getattr(other, field)
            if not np.array_equal(edges, others):
                raise InputError(
                    f"{name}: its {field} are {_shown(edges)}, but the {field} of {first} are {_shown(others)}; "
                    "count with the same bins"
                )


def _tables(**counts: Any) -> list[Array]:
    """Returns normalized tables of the same bins."""
    _require_same_bins(**counts)
    tables = [one.normalized if isinstance(one, PairCountsResult) else np.asarray(one, np.float64) for one in counts.values()]
    for name, table in zip(counts, tables):
        if table.shape != tables[0].shape:
            first = next(iter(counts))
            raise InputError(f"{name}: a table of {table.shape} bins, but {first} has {tables[0].shape}; count with the same bins")
    return tables


def _quotient(numerator: Array, denominator: Array) -> Array:
    quotient: Array = np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator != 0)
    return quotient


def landy_szalay(dd: Any, dr: Any, rr: Any, rd: Any = None) -> Array:
    """Returns the Landy-Szalay estimate (DD - DR - RD + RR) / RR per bin; NaN where RR = 0.

    * `dd`, `rr`: pairs of data, and of random points
    * `dr`: pairs of data and random points
    * `rd`: for two sets of data: pairs of the random points of the first and the data of the second; None: `dr`
    """
    data, mixed, random, other = _tables(dd=dd, dr=dr, rr=rr, rd=dr if rd is None else rd)
    return _quotient(data - mixed - other + random, random)


def natural(dd: Any, rr: Any) -> Array:
    """Returns the natural estimate DD / RR - 1 per bin; NaN where RR = 0. `rr` may be box_pairs()."""
    data, random = _tables(dd=dd, rr=rr)
    return _quotient(data, random) - 1


def box_pairs(counts: PairCountsResult, box: Sequence[float] | Array) -> Array:
    """Returns the share of pairs that uniform points in a periodic box have in each bin, as a table for natural().

    * `counts`: the bins, of kind "rp_pi" or "s_mu"
    * `box`: three lengths. Bins that reach beyond half of the box are refused.
    """
    lengths = _arrays.numbers_of(box, "box")
    if counts.second_edges is None or len(lengths) != 3 or not all(0 < length < np.inf for length in lengths):
        raise UsageError.about("box", "three positive lengths and bins of rp_pi or s_mu are needed")
    first, second = np.asarray(counts.edges), np.asarray(counts.second_edges)
    # Across and along the line of sight, which is one of the axes
    reach = (first[-1], second[-1]) if counts.kind == "rp_pi" else (first[-1], first[-1])
    axes = [(min(lengths[axis - 1], lengths[axis - 2]), lengths[axis]) for axis in range(3)]
    if not any(2 * reach[0] <= across and 2 * reach[1] <= along for across, along in axes):
        ends = f"{reach[0]:g} across and {reach[1]:g} along the line of sight" if counts.kind == "rp_pi" else f"{reach[0]:g}"
        raise UsageError.about("box", f"the bins reach to {ends}, beyond half of the box of lengths {list(map(float, lengths))}")
    if counts.kind == "rp_pi":
        across, along = np.pi * np.diff(first**2), 2 * np.diff(second)
    else:
        across, along = 4 / 3 * np.pi * np.diff(first**3), np.diff(np.minimum(second, 1))
    return np.outer(across, along) / float(np.prod(lengths))


def projected(xi: Array, pi_edges: Sequence[float] | Array) -> Array:
    """Returns the projected correlation function w_p(r_p) = 2 sum of xi(r_p, pi) times the width of the bin of pi.

    * `xi`: table of n x m values
    * `pi_edges`: m + 1 edges (PairCountsResult.second_edges)
    """
    return 2 * _summed(xi, np.diff(_increasing(pi_edges, "pi_edges")), "pi_edges")


def multipoles(xi: Array, mu_edges: Sequence[float] | Array, orders: Sequence[int] = (0, 2, 4)) -> Array:
    """Returns multipoles of xi(s, mu), one row per order: (2 l + 1) times the integral of xi times the Legendre polynomial.

    * `xi`: table of n x m values, constant within a bin
    * `mu_edges`: m + 1 edges from 0 to 1 (PairCountsResult.second_edges); a last edge above 1 counts as 1
    * `orders`: even orders l; the odd ones are zero, because mu has no sign

    The polynomials are integrated exactly over each bin.
    """
    edges = _increasing(mu_edges, "mu_edges")
    if edges[0] != 0 or not edges[-2] < 1 <= edges[-1]:
        raise InputError.about("mu_edges", f"{_shown(edges)}; edges from 0 to 1 are needed, and at most the last may be above 1")
    edges = np.minimum(edges, 1)
    rows = []
    for order in orders:
        if order < 0 or order % 2 != 0:
            raise UsageError.about("orders", f"{order}; even orders from 0 on are needed")
        integral = np.polynomial.legendre.Legendre.basis(order).integ()
        rows.append((2 * order + 1) * _summed(xi, np.diff(integral(edges)), "mu_edges"))
    return np.array(rows)


def _increasing(edges: Any, name: str) -> Array:
    numbers = np.asarray(edges, np.float64)
    if numbers.ndim != 1 or len(numbers) < 2 or not (np.diff(numbers) > 0).all():
        raise InputError.about(name, "at least two increasing numbers are needed")
    return numbers


def _summed(xi: Array, widths: Array, name: str) -> Array:
    table = np.asarray(xi, np.float64)
    if table.ndim != 2 or table.shape[1] != len(widths):
        raise InputError(f"{name}: {len(widths) + 1} edges for a table of shape {table.shape}; one more than columns is needed")
    sums: Array = table @ widths
    return sums


@dataclass(frozen=True, eq=False)
class JackknifeResult:
    """Result of jackknife()."""

    value: Array  #: the estimate from all points, with k elements
    covariance: Array  #: k x k
    samples: Array  #: the estimates that leave out one region, regions x k

    @property
    def error(self) -> Array:
        """Standard errors, the roots of the covariance's diagonal."""
        errors: Array = np.sqrt(np.diag(self.covariance))
        return errors


def jackknife(estimate: Callable[..., Any], *counts: PairCountsResult) -> JackknifeResult:
    """Returns an estimate and its covariance by the delete-one jackknife over regions.

    * `estimate`: function of as many tables of normalized counts as there are `counts`; returns an array
    * `counts`: results of pair_counts() with regions=..., which have the same labels of regions

    A sample leaves out all pairs with a point in its region. With R regions, the covariance is (R - 1) / R times the sum
    of (x - mean)(x - mean)^T over all samples x. Raises UsageError if regions are missing or differ, and InputError if
    tables of one kind and shape have different bins.

    Examples
    --------
    >>> wp = lambda dd, dr, rr: correlation.projected(correlation.landy_szalay(dd, dr, rr), pi_edges)
    >>> result = correlation.jackknife(wp, dd, dr, rr)
    >>> result.value, result.error
    """
    if not counts or any(one.regions is None for one in counts):
        raise UsageError.about("jackknife", "counts with regions are needed: pass regions=... to pair_counts()")
    labels = counts[0].regions
    assert labels is not None
    if any(one.regions is None or not np.array_equal(one.regions, labels) for one in counts):
        raise UsageError.about("jackknife", "all counts need points in the same regions")
    if len(labels) < 2:
        raise UsageError.about("jackknife", "at least two regions are needed")
    for place, one in enumerate(counts):  # `estimate` gets tables without their bins
        for before, other in enumerate(counts[:place]):
            if (one.kind, one.counts.shape) == (other.kind, other.counts.shape):
                _require_same_bins(**{f"table {before} of the counts": other, f"table {place} of the counts": one})
    value = np.asarray(estimate(*(one.normalized for one in counts)), np.float64)
    left_out = [one.without_regions() for one in counts]
    samples = np.array([np.ravel(estimate(*tables)) for tables in zip(*left_out)], np.float64)
    apart = samples - samples.mean(axis=0)
    return JackknifeResult(value, (len(labels) - 1) / len(labels) * (apart.T @ apart), samples)
