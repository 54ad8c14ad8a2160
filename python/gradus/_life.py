"""Life: generations of Conway's Game of Life and of every other rule B/S of two states."""

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
    """A plane too large for an array, as a quadtree whose equal parts are there once. Node 0 is empty; a node of level 3
    holds 8 x 8 cells, bit 8 * row + column; another one the numbers of its quarters nw, ne, sw, se."""

    root: int
    levels: Array  #: of each node, in int32
    cells: Array  #: of each node of level 3, in uint64
    quarters: Array  #: four of each node, in uint32


@dataclass(frozen=True, eq=False, repr=False)
class LifeResult:
    cells: Array  #: rows of cells in the type of the given ones; on a plane the smallest rectangle of all live ones
    left: int  #: the column of the first cell of `cells`, or of the middle of `tree`
    top: int  #: its row
    background: bool  #: on a plane: all cells beyond are alive, and `cells` are those that are dead
    tree: LifeTree | None  #: instead of `cells`, where the rectangle is too large
    population: int  #: live cells; dead ones where the background is alive
    generations: int  #: that were computed; fewer than asked for where `until_stable` has found a cycle
    hashes: Array | None  #: of all generations from the first on, in uint64
    cycle: tuple[int, int] | None  #: (preperiod, period): that generation is there again after `period` more
    report: RunReport

    def __repr__(self) -> str:
        height, width = self.cells.shape
        cells = "a tree" if self.tree is not None else f"{height} x {width} cells"
        return (
            f"LifeResult({cells}, population={self.population}, generations={self.generations}, "
            f"variant={self.report.variant!r})"
        )


def _packed(cells: Array) -> Array:
    """Rows of words of 64 bits; cell x is bit x % 64 of word x / 64."""
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
    """The cells after so many generations: an array of 0 and 1, or of booleans, in and out.

    `boundary`: "dead", "torus", or "plane", which is unbounded: there the result is the rectangle of the live cells,
    and `left` and `top` say where the first given cell is and where the result is. After an odd number of generations
    of a rule with B0 the plane beyond is alive: `background` is True, and `cells` and `population` are those of the
    dead cells. `until_stable`: stop when a generation occurs again.
    """
    options = options_in("life", locals())
    array = _arrays._to_numpy(cells, "cells")
    if array.ndim != 2:
        raise UsageError.about("cells", f"an array of the shape {array.shape}; two dimensions are needed, a row for each row")
    if array.dtype.kind not in "biu":
        raise InputError.about("cells", f"the elements are of the type {array.dtype}; booleans or whole numbers are needed")
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
