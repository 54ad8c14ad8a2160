"""Conway's Game of Life and all other two-state B/S rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradus import _arrays, _core
from gradus._errors import InputError, UsageError
from gradus._options import Progress, RunReport, names_arguments, options_in, request

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class LifeTree:
    """A pattern too large for an array, as a quadtree in which equal parts share one node.

    A node of level L covers 2^L x 2^L cells. Node 0 is empty. A node of level 3 stores its cells, other nodes store the
    numbers of their quarters.
    """

    root: int  #: number of the root node
    levels: Array  #: int32 level of each node
    cells: Array  #: uint64 for each node; at level 3, bit 8 * row + column is a cell
    quarters: Array  #: nodes x 4 of uint32: numbers of the nw, ne, sw and se quarters


@dataclass(frozen=True, eq=False, repr=False)
class LifeResult:
    """Result of life()."""

    cells: Array  #: height x width, in the type of the input; on a plane, the smallest rectangle with all live cells
    left: int  #: column of the first cell of `cells`, or of the centre of `tree`
    top: int  #: row of the first cell of `cells`, or of the centre of `tree`
    background: bool  #: True if all cells outside of `cells` are alive; `cells` then marks the dead cells
    tree: LifeTree | None  #: set instead of `cells` if the rectangle is too large for an array
    population: int  #: number of live cells; if `background` is True: number of dead cells
    generations: int  #: number of computed generations; fewer than requested if `until_stable` found a cycle
    hashes: Array | None  #: uint64 hashes of generations 0 to `generations`, if requested
    cycle: tuple[int, int] | None  #: (preperiod, period): generation `preperiod` recurs after `period` generations
    report: RunReport

    def __repr__(self) -> str:
        height, width = self.cells.shape
        cells = "a tree" if self.tree is not None else f"{height} x {width} cells"
        return (
            f"LifeResult({cells}, population={self.population}, generations={self.generations}, "
            f"variant={self.report.variant!r})"
        )


def _packed(cells: Array) -> Array:
    """Packs cells into 64-bit words: the cell in column x is bit x % 64 of word x / 64 of its row."""
    height, width = cells.shape
    packed = np.zeros((height, -(-width // 64) * 8), np.uint8)
    packed[:, : -(-width // 8)] = np.packbits(cells, axis=1, bitorder="little")
    return packed.view("<u8")


def _unpacked(words: Array, width: int, dtype: np.dtype[Any]) -> Array:
    if words.size == 0:
        return np.zeros((len(words), width), dtype)
    cells = np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little")
    return cells.view(dtype) if dtype.itemsize == 1 else cells.astype(dtype)


@names_arguments
def life(
    cells: Any,
    generations: int,
    *,
    rule: str = "B3/S23",
    boundary: str = "dead",
    left: int = 0,
    top: int = 0,
    hashes: bool = False,
    until_stable: bool = False,
    device: str = "auto",
    variant: str | None = None,
    threads: int | None = None,
    pinning: str = "none",
    block_size: int | None = None,
    memory_limit: int | None = None,
    stream: Any = None,
    progress: Progress | None = None,
) -> LifeResult:
    """Computes generations of a cellular automaton.

    * `cells`: height x width array of booleans or of integers 0 (dead) and 1 (alive), in host memory
    * `generations`: int, at least 0
    * `rule`: str; neighbours for birth and survival, such as "B3/S23"
    * `boundary`: "dead" (cells outside stay dead), "torus", or "plane" (unbounded)
    * `left`, `top`: int; column and row of the first cell on the plane, which also enter the hashes
    * `hashes`: bool; also return a hash of each generation
    * `until_stable`: bool; stop as soon as a generation equals an earlier one

    The other arguments are the same as for kmeans(). Returns a LifeResult. On a plane, its cells are the smallest
    rectangle with all live cells, at `left` and `top`. With a rule with B0, the plane outside may be alive; then
    `background` is True, and `cells` and `population` describe the dead cells.

    Raises UsageError for invalid arguments and InputError for other values than 0 and 1.

    Examples
    --------
    >>> glider = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> result = gradus.life(glider, 4, boundary="plane")
    >>> result.left, result.top
    (1, 1)
    """
    options = options_in("life", locals())
    array = _arrays._to_numpy(cells, "cells")
    if array.ndim != 2:
        raise UsageError.about("cells", f"an array of the shape {array.shape}; two dimensions are needed, a row for each row")
    if array.dtype.kind not in "biu":
        raise InputError.about("cells", f"the elements are of the type {array.dtype}; booleans or integers are needed")
    if array.dtype.kind != "b" and array.size > 0 and (array.min() < 0 or array.max() > 1):
        row, column = np.argwhere((array < 0) | (array > 1))[0]
        raise InputError.about("cells", f"{array[row, column]} in row {row}, column {column}; 0 (dead) or 1 (alive) is needed")
    if (left != 0 or top != 0) and boundary != "plane" and not hashes:
        raise UsageError(
            f"left, top: {left}, {top} with the boundary {boundary!r}, where they matter for hashes alone; leave them out, "
            "or pass boundary='plane'"
        )
    running = request(device, variant, threads, pinning, block_size, memory_limit, stream, progress)
    words, width, left, top, background, tree, high, low, computed, all_hashes, cycle, report = _core.life(
        _packed(array), array.shape[1], options, running
    )
    if tree is not None:
        root, levels, leaves, quarters = tree
        tree = LifeTree(root, levels, leaves, quarters.reshape(-1, 4))
    return LifeResult(
        _unpacked(words, width, array.dtype.newbyteorder("=")),
        left,
        top,
        background,
        tree,
        (high << 64) + low,
        computed,
        all_hashes,
        cycle,
        RunReport(*report),
    )
