"""Static structure factors of trajectories in periodic boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradus import _arrays, _core, _numbers
from gradus._errors import Error, InputError, UsageError
from gradus._options import names_arguments, request
from gradus._radial_distribution import _rows_of, _wanted
from gradus._trajectories import open_source

Array = np.ndarray[Any, Any]

@dataclass(frozen=True, eq=False, repr=False)
class StructureFactorResult:
    """Result of structure_factor(). A bin without vectors has NaN."""

    q: Array  #: mean wave number of the vectors in each bin, in the inverse unit of lengths
    s: Array  #: S(q): mean over the vectors of the bin and the frames
    s_error: Array  #: standard error of s from the spread of the blocks; NaN with a single block
    vectors: Array  #: number of vectors in each bin in the first frame; a vector and its opposite count as one
    frame_s: Array  #: frames x bins: S(q) of each frame
    unit: str  #: unit of lengths; "" if the library does not fix it

    def __repr__(self) -> str:
        return f"StructureFactorResult({len(self.frame_s)} frames, {len(self.q)} bins, {self.vectors.sum()} vectors)"


@names_arguments
def structure_factor(
    atoms: Any,
    *,
    q_max: float,
    q_width: float,
    select: Any = None,
    vectors_per_bin: int | None = None,
    frames: slice | None = None,
    blocks: int = 10,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> StructureFactorResult:
    """Computes the static structure factor S(q) on the reciprocal lattice of periodic boxes, with standard errors.

    S(q) = |sum of exp(-i q r)|^2 / n, for the vectors q that fit the box of each frame, averaged in bins of |q|. The same
    bits for any number of threads.

    * `atoms`, `select`, `frames`, `blocks`: as for radial_distribution(). The boxes repeat in all directions.
    * `q_max`, `q_width`: float; greatest wave number and width of the bins, in the inverse unit of the library's lengths
    * `vectors_per_bin`: int; sums over at most this many vectors of each bin, evenly spread over all of them; None: all

    The other arguments are the same as for kmeans(). Returns a StructureFactorResult. Time and memory: points times
    vectors, and 160 bytes for each vector.

    Raises UsageError for invalid arguments and boxes that do not repeat in all directions, InputError for NaN and
    infinity, with the number of the frame.

    Examples
    --------
    >>> result = gradus.structure_factor(universe.select_atoms("name OW"), q_max=10, q_width=0.1, vectors_per_bin=200)
    >>> result.q, result.s, result.s_error
    """
    q_max, q_width = _numbers.number(q_max, "q_max"), _numbers.number(q_width, "q_width")
    if not 0 < q_width <= q_max < np.inf:
        raise UsageError.about("q_width", f"{q_width:g}; it is above 0 and at most q_max, {q_max:g}")
    if blocks < 1:
        raise UsageError.about("blocks", f"{blocks}; at least 1 is needed")
    if vectors_per_bin is not None and vectors_per_bin < 1:
        raise UsageError.about("vectors_per_bin", f"{vectors_per_bin}; at least 1 is needed")
    library, source, opened = open_source(atoms)
    if select is None and hasattr(source, "ix"):
        select = source
    grid: Array | None = None
    found: list[Array] = []
    waves: list[Array] = []
    sizes: Array | None = None
    for number, frame in _wanted(opened, frames):
        try:
            if frame.box is None or (frame.periodic != "xyz" and frame.dimensions is None):
                raise UsageError.about("atoms", "the reciprocal lattice needs a box that repeats in all directions")
            box = frame.box.ravel().tolist()
            points = _arrays.matrix(frame.positions, "positions")
            if select is not None:
                points = points[_rows_of(library, source if frame.source is None else frame.source, select, "select", len(points))]
            if grid is None:
                grid = np.asarray(_core.structure_factor_vectors(box, q_max, q_width, vectors_per_bin or 0, frame.dimensions == "xy"))
            q, s, in_bin = _core.structure_factor(
                np.ascontiguousarray(points, np.float64), box, grid, q_max, q_width,
                request("cpu", None, threads, "none", None, memory_limit, None, None),
            )  # fmt: skip
            sizes = in_bin.astype(np.int64) if sizes is None else sizes
            found.append(s)
            waves.append(q)
        except Error as error:
            error.args = (f"{error} (in frame {number}, counted from 0)",)
            raise
    if sizes is None:
        raise InputError.about("atoms", "there are no frames" if frames is None else f"no frame is among {frames}")
    s, s_error = _core.average_frames(np.array(found), min(blocks, len(found)))
    return StructureFactorResult(_core.average_frames(np.array(waves), 1)[0], s, s_error, sizes, np.array(found), library.unit)
