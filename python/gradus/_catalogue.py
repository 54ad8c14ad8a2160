"""Columns of FITS and HDF5 catalogues, through astropy and h5py."""

from __future__ import annotations

import importlib
import os
from typing import Any, Sequence

import numpy as np

from gradus._errors import InputError, UnsupportedError, UsageError

Array = np.ndarray[Any, Any]

_FITS = (".fits", ".fit", ".fits.gz", ".fit.gz", ".fits.fz")
_HDF5 = (".h5", ".hdf5", ".hdf", ".he5")


def _import(name: str, package: str, path: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnsupportedError(f"'{path}' is read by {package}, which is not installed: pip install {package}") from error


def _stacked(path: str, found: Sequence[Any], names: Sequence[str]) -> Array:
    """Returns columns, or columns of vectors, side by side, in native byte order."""
    for name, column in zip(names, found):
        if column.ndim not in (1, 2) or column.dtype.kind not in "iufb":
            raise InputError(f"'{path}': {name!r} has the type {column.dtype} and the shape {column.shape}; numbers in one or two dimensions are needed")
        if len(column) != len(found[0]):
            raise InputError(f"'{path}': {name!r} has {len(column)} rows, but {names[0]!r} has {len(found[0])}")
    parts = [column.reshape(len(column), -1) for column in found]
    kind = np.result_type(*(part.dtype.newbyteorder("=") for part in parts))
    return np.concatenate([part.astype(kind) for part in parts], axis=1)


def _fits(path: str, columns: Sequence[str] | None, table: str | int) -> Array:
    fits = _import("astropy.io.fits", "astropy", path)
    with fits.open(path, memmap=False) as units:
        try:
            unit = units[table]
        except (KeyError, IndexError) as error:
            raise InputError(f"'{path}': there is no HDU {table!r}; there are {[one.name or 'PRIMARY' for one in units]}") from error
        if getattr(unit, "columns", None) is None:
            raise InputError(f"'{path}': HDU {table!r} is no table; name one by table=")
        known = unit.columns.names
        names = known if columns is None else columns
        lower = {name.lower() for name in known}  # FITS compares names without regard to case
        for name in names:
            if name.lower() not in lower:
                raise InputError(f"'{path}': there is no column {name!r}; there are {', '.join(known)}")
        return _stacked(path, [np.asarray(unit.data[name]) for name in names], names)


def _hdf5(path: str, columns: Sequence[str] | None, table: str | int) -> Array:
    h5py = _import("h5py", "h5py", path)
    with h5py.File(path, "r") as file:
        place = "/" if isinstance(table, int) else table
        if place not in file:
            raise InputError(f"'{path}': there is no {place!r}; there are {', '.join(file)}")
        item = file[place]
        if isinstance(item, h5py.Dataset) and item.dtype.names is None:
            if columns is not None:
                raise UsageError.about("columns", f"the dataset {place!r} has no names of columns; leave them out")
            return _stacked(path, [item[()]], [place])
        known = list(item.dtype.names) if isinstance(item, h5py.Dataset) else [name for name in item if isinstance(item[name], h5py.Dataset)]
        names = known if columns is None else columns
        for name in names:
            if name not in known:
                raise InputError(f"'{path}': there is no {name!r} in {place!r}; there are {', '.join(known)}")
        if isinstance(item, h5py.Dataset):
            rows = item[()]
            return _stacked(path, [rows[name] for name in names], names)
        return _stacked(path, [item[name][()] for name in names], names)


def read_catalogue(path: str | os.PathLike[str], columns: Sequence[str] | None = None, *, table: str | int = 1) -> Array:
    """Reads columns of a FITS or HDF5 catalogue into an array for pair_histogram() and kmeans().

    * `path`: a file with an ending of FITS (.fits, .fit, also .gz and .fz) or HDF5 (.h5, .hdf5, .hdf, .he5)
    * `columns`: names of columns; None: all. A column of vectors becomes several columns.
    * `table`: FITS: number or name of the HDU. HDF5: path of a dataset with named columns or without, or of a group with a
        dataset for each column; a number stands for "/"

    Returns an array (rows x columns) of the type that holds all columns, in native byte order. Raises UsageError for other
    endings, UnsupportedError if astropy or h5py is missing, InputError for missing tables and columns, for columns that are
    not numbers, and of other lengths, and OSError if the file cannot be read.

    Examples
    --------
    >>> positions = gradus.read_catalogue("galaxies.fits", ["x", "y", "z"])
    >>> gradus.pair_histogram(positions, bin_width=5, bins=30)
    """
    name = os.fspath(path)
    if isinstance(columns, str):
        raise UsageError.about("columns", f"{columns!r}; a list of names is needed")
    if columns is not None and not len(columns):
        raise UsageError.about("columns", "at least one name is needed")
    if name.lower().endswith(_FITS):
        return _fits(name, columns, table)
    if name.lower().endswith(_HDF5):
        return _hdf5(name, columns, table)
    raise UsageError.about("path", f"'{name}' has no ending of FITS or HDF5: {', '.join(_FITS + _HDF5)}")
