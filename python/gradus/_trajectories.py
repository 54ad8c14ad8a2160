"""Frames of other libraries: a table with a row for each library. Objects are recognized by their attributes, so that no
library is imported."""

from __future__ import annotations

import itertools
import sys
from typing import Any, Callable, Iterable, Iterator, NamedTuple

import numpy as np

from gradus._errors import UsageError

Array = np.ndarray[Any, Any]


class Frame(NamedTuple):
    """Positions of all atoms of a frame, and its box in the arguments of pair_histogram()."""

    positions: Array
    box: Array | None  #: lengths, or vectors as rows; None in open space
    periodic: str = "xyz"
    box_origin: Array | None = None
    dimensions: str | None = None
    #: the object to which selections, groups and masses of this frame refer; None: the first object, for all frames
    source: Any = None


class Library(NamedTuple):
    """A library that reads trajectories."""

    name: str
    unit: str  #: unit of its lengths; "" if the library does not fix the unit
    source: str  #: the object that it passes, for messages
    accepts: Callable[[Any], bool]
    frames: Callable[[Any], Iterable[Frame]]
    #: rows of the atoms that a text selects, in the language of the library
    select: Callable[[Any, str], Any] | None
    #: for "residue" and "molecule": one number per atom of the frame, equal for the atoms of a group; for "bonded": the
    #: indices of the two atoms of each bond; for "masses": one number per atom
    groups: dict[str, Callable[[Any], Any]] = {}


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda source: all(hasattr(source, name) for name in names)


def _lattice(vectors: Any, periodic: Iterable[Any] = (True, True, True)) -> tuple[Array | None, str]:
    """Returns the box and its directions. Vectors along the axes become lengths."""
    letters = "".join(letter for letter, repeats in zip("xyz", periodic) if repeats)
    if vectors is None or not letters:
        return None, "none"
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.diag(rows)
    return (lengths.copy() if (rows == np.diag(lengths)).all() else rows), letters


# ---- MDAnalysis ----


def _of_universe(source: Any) -> Iterator[Frame]:
    for step in source.universe.trajectory:
        box, periodic = _lattice(None if step.dimensions is None else step.triclinic_dimensions)
        yield Frame(step.positions, box, periodic)


def _molecules_of_universe(source: Any) -> Any:
    atoms = source.universe.atoms
    return atoms.molnums if hasattr(atoms, "molnums") else atoms.fragindices  # the latter follow from bonds


# ---- mdtraj ----


def _of_mdtraj(source: Any) -> Iterator[Frame]:
    vectors = itertools.repeat(None) if source.unitcell_vectors is None else source.unitcell_vectors
    for positions, cell in zip(source.xyz, vectors):
        yield Frame(positions, *_lattice(cell))


def _molecules_of_mdtraj(source: Any) -> Array:
    numbers = np.arange(source.topology.n_atoms)
    for molecule in source.topology.find_molecules():
        rows = [atom.index for atom in molecule]
        numbers[rows] = min(rows)
    return numbers


# ---- ASE ----


def _of_ase(source: Any) -> Iterator[Frame]:
    box, periodic = _lattice(source.cell[:], source.pbc)
    origin = None if box is None else np.ravel(source.get_celldisp()).astype(np.float64)
    yield Frame(source.positions, box, periodic, origin, source=source)


# ---- chemfiles ----


def _of_chemfiles(source: Any) -> Iterator[Frame]:
    vectors = np.asarray(source.cell.matrix).T  # its columns are the vectors
    yield Frame(np.array(source.positions), *_lattice(vectors if vectors.any() else None), source=source)


def _residues_of_chemfiles(source: Any) -> Array:
    numbers = -1 - np.arange(len(source.atoms))  # an atom without a residue is alone
    for number, residue in enumerate(source.topology.residues):
        numbers[list(residue.atoms)] = number
    return numbers


# ---- freud ----


def _is_box_and_points(source: Any) -> bool:
    return isinstance(source, tuple) and len(source) == 2 and getattr(source[1], "ndim", 0) == 2


def _of_freud(source: Any) -> Iterator[Frame]:
    box, points = source
    if not hasattr(box, "to_matrix"):  # lengths, or vectors as rows
        given = None if box is None else np.asarray(box)
        if given is not None and (given.shape not in ((3,), (3, 3)) or given.dtype.kind not in "iuf"):
            raise UsageError.about("atoms", f"a box of shape {given.shape}; 3 lengths or 3 vectors as rows are needed")
        yield Frame(points, *_lattice(np.diag(given) if given is not None and given.ndim == 1 else given))
        return
    vectors = np.array(box.to_matrix(), dtype=np.float64).T  # its columns are the vectors
    if box.is2D:
        vectors[2] = [0, 0, vectors[0, 0]]
    lattice, periodic = _lattice(vectors, [*box.periodic[:2], box.is2D or box.periodic[2]])
    origin = None if lattice is None else -vectors.sum(axis=0) / 2
    yield Frame(points, lattice, periodic, origin, "xy" if box.is2D else None)


LIBRARIES = (
    Library(
        "MDAnalysis", "Å", "an AtomGroup or Universe", lambda source: hasattr(getattr(source, "universe", None), "trajectory"),
        _of_universe, lambda source, text: source.universe.select_atoms(text).ix,
        {
            "residue": lambda source: source.universe.atoms.resindices, "molecule": _molecules_of_universe,
            "bonded": lambda source: source.universe.atoms.bonds.indices, "masses": lambda source: source.universe.atoms.masses,
        },
    ),
    Library(
        "mdtraj", "nm", "a Trajectory", _has("xyz", "unitcell_vectors", "topology"),
        _of_mdtraj, lambda source, text: source.topology.select(text),
        {
            "residue": lambda source: [atom.residue.index for atom in source.topology.atoms], "molecule": _molecules_of_mdtraj,
            "bonded": lambda source: [[bond[0].index, bond[1].index] for bond in source.topology.bonds],
            "masses": lambda source: [atom.element.mass for atom in source.topology.atoms],
        },
    ),
    Library(
        "ASE", "Å", "Atoms", _has("positions", "cell", "pbc", "get_celldisp"),
        _of_ase, lambda source, text: np.flatnonzero(np.isin(source.get_chemical_symbols(), text.split())),
        {
            "residue": lambda source: source.arrays["residuenumbers"], "molecule": lambda source: source.arrays["mol-id"],
            "masses": lambda source: source.get_masses(),
        },
    ),
    Library(
        "chemfiles", "Å", "a Trajectory or Frame", _has("positions", "cell", "topology", "step"),
        _of_chemfiles, lambda source, text: sys.modules["chemfiles"].Selection(text).evaluate(source),
        {
            "residue": _residues_of_chemfiles, "bonded": lambda source: source.topology.bonds,
            "masses": lambda source: [atom.mass for atom in source.atoms],
        },
    ),
    Library("freud", "", "a tuple (box, points)", _is_box_and_points, _of_freud, None),
)  # fmt: skip


def _library_of(source: Any) -> Library | None:
    return next((library for library in LIBRARIES if library.accepts(source)), None)


def open_source(source: Any) -> tuple[Library, Any, Iterator[Frame]]:
    """Returns the library of a source, the first object that it passes, and the frames, which are read on demand.

    A source is an object of a row of the table, or a list or iterator of such objects. Raises UsageError for others.
    """
    library = _library_of(source)
    if library is not None:
        return library, source, iter(library.frames(source))
    if hasattr(source, "read_step") and hasattr(source, "nsteps"):  # a Trajectory of chemfiles
        source = map(source.read_step, range(source.nsteps))
    objects = iter(source) if hasattr(source, "__iter__") and not isinstance(source, (str, np.ndarray)) else iter(())
    first = next(objects, None)
    library = _library_of(first)
    if library is None:
        known = "; ".join(f"{row.source} of {row.name}" for row in LIBRARIES)
        raise UsageError.about(
            "atoms", f"a {type(source).__name__} holds no frames that are understood; needed are, alone or in a list: {known}"
        )

    def frames() -> Iterator[Frame]:
        for number, one in enumerate(itertools.chain([first], objects)):
            if not library.accepts(one):
                raise UsageError.about("atoms", f"item {number} (counted from 0) is not {library.source} of {library.name}")
            yield from library.frames(one)

    return library, first, frames()
