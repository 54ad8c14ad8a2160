"""Numbers in the types that the library computes in: converted exactly, or refused with the place of the first that is not.

This is the rule of the readers of files too (core/exact_conversion.hpp). Rounding happens in one place: numbers in a list
have no type, as those of a text file have none, and become the nearest ones of the type that is needed. Integers never do.
"""

from __future__ import annotations

import itertools
import numbers
from decimal import Decimal
from typing import Any, Iterable, NoReturn

import numpy as np

from gradus import _core
from gradus._errors import InputError, UnsupportedError, UsageError

Host = np.ndarray[Any, Any]
Type = np.dtype[Any]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_CONSECUTIVE = 2.0**53  #: float64 holds every integer up to here

_ADVICE = {  # by the kind of the elements; {0}: the argument
    "c": "complex numbers; real numbers are needed: pass {0}.real where the imaginary parts do not matter",
    "M": "dates; real numbers are needed, such as ({0} - {0}.min()) / numpy.timedelta64(1, 's')",
    "m": "durations; real numbers are needed, such as {0} / numpy.timedelta64(1, 's')",
    "U": "text; real numbers are needed: pass {0}.astype(numpy.float64)",
    "S": "text; real numbers are needed: pass {0}.astype(numpy.float64)",
    "V": "a structure; real numbers are needed: pass numpy.lib.recfunctions.structured_to_unstructured({0})",
}


def place(index: tuple[int, ...]) -> str:
    if len(index) == 0:
        return "the only place"
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]} (counted from 0)"
    return f"place {', '.join(map(str, index))} (counted from 0)"


def refuse_shape(shape: tuple[int, ...], what: str) -> NoReturn:
    """Raises the error for what are no rows of points."""
    way = ""
    if len(shape) == 1:
        way = f": pass {what}.reshape(-1, 1) for points of one coordinate, or {what}.reshape(1, -1) for one point"
    raise UsageError.about(what, f"an array of the shape {shape}; two dimensions are needed, a row for each point{way}")


def refuse_elements(array: Host, what: str) -> NoReturn:
    """Raises the error for elements that are no real numbers, or none of NumPy's."""
    if array.dtype.kind != "O":
        advice = _ADVICE.get(array.dtype.kind, "real numbers are needed").format(what)
        raise InputError.about(what, f"the elements are of the type {array.dtype}: {advice}")
    for index, value in np.ndenumerate(array):
        if not isinstance(value, (numbers.Real, Decimal, np.bool_)):
            told = repr(value) if isinstance(value, (str, type(None), numbers.Number)) else f"a {type(value).__name__}"
            raise InputError.about(what, f"the value in {place(index)} is {told}; a number is needed")
    kinds = sorted({type(value).__name__ for value in array.flat})
    raise InputError.about(
        what, f"the elements are Python objects of the type {', '.join(kinds)}, and numbers of NumPy are needed: pass "
        f"numpy.asarray({what}, numpy.float64), which rounds what is not exactly a float64"
    )


def floating_type(dtype: Type, what: str) -> Type:
    """Returns the least of float32 and float64 that holds the numbers of the type, but for integers of 64 bits."""
    if dtype.kind not in "biuf":
        raise InputError.about(what, f"the type {dtype}; one of real numbers is needed")
    wanted = np.promote_types(dtype, np.float32)
    if wanted not in FLOATS:
        raise UnsupportedError.about(
            what, f"the elements are of the type {dtype}; float64 is the widest that is computed in: pass "
            f"{what}.astype(numpy.float64) to round them"
        )
    return wanted


def may_round(given: Type, wanted: Type) -> bool:
    """Returns true unless the wanted type holds all numbers of the given one."""
    if wanted.kind == "f" and given.kind in "iu" and given.itemsize == 8:  # NumPy calls this safe
        return wanted.itemsize <= 8
    return not np.can_cast(given, wanted, "safe")


def in_whole_steps(array: Host) -> Host:
    """Returns the array, or a copy in native byte order at an aligned address where the compiled part needs one."""
    if array.dtype.isnative and array.flags.aligned and not any(step % array.itemsize for step in array.strides):
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def _advice(given: Type, wanted: Type, what: str, beside: str) -> str:
    if wanted.kind != "f":
        return f"{wanted} is the widest type that is taken"
    rounding = f"pass {what}.astype(numpy.{wanted}) to round"
    if wanted == np.float32:
        return f"{rounding}, or {beside} in float64"
    return f"subtract a constant, or {rounding}"


def refuse_rounding(array: Host, what: str, wanted: Type, beside: str = "points") -> None:
    """Raises InputError if the type does not hold all elements exactly. `beside`: the argument whose type it is."""
    if not may_round(array.dtype, wanted):
        return
    given = in_whole_steps(array)
    position = _core.first_inexact(given, wanted.name)
    if position is None:
        return
    index = np.unravel_index(position, array.shape)
    of = f", the type of {beside}" if wanted == np.float32 else ""
    raise InputError.about(
        what, f"the value in {place(tuple(map(int, index)))} is {given[index]}, which is not exactly a {wanted}{of}; "
        f"{_advice(array.dtype, wanted, what, beside)}"
    )


def in_type(array: Host, what: str, wanted: Type | None, untyped: bool = False, beside: str = "points") -> Host:
    """Returns the same numbers in the wanted type, or in the least floating-point type that holds them. `untyped`: they
    come from a list, and floats among them become the nearest ones."""
    if array.dtype.kind not in "biuf":
        refuse_elements(array, what)
    least = floating_type(array.dtype, what)
    target = least if wanted is None else wanted
    if array.dtype == target and array.dtype.isnative:
        return array
    if untyped and array.dtype.kind == target.kind == "f":
        with np.errstate(over="ignore"):
            rounded = array.astype(target)
        if not (np.isinf(rounded) & np.isfinite(array)).any():
            return rounded
    refuse_rounding(array, what, target, beside)
    return array.astype(target)


def is_untyped(source: Any) -> bool:
    return isinstance(source, (list, tuple, range, int, float))


def refuse_lost_integers(source: Any, array: Host, what: str) -> None:
    """Raises InputError if NumPy has rounded integers of a list or data frame when it made the floating-point array."""
    if array.dtype.kind != "f" or array.size == 0:
        return
    columns = _columns(source)
    ends = () if columns is None else (float(find.reduce(array, axis=None)) for find in (np.fmin, np.fmax))
    if columns is None or not max(map(abs, ends)) >= _CONSECUTIVE:
        return
    for value in itertools.chain.from_iterable(columns):
        if isinstance(value, numbers.Integral) and int(value) != float(value):
            raise InputError.about(
                what, f"the integer {value} is not exactly a float64, in which it is computed beside other numbers; "
                "subtract a constant, or round it"
            )


def _columns(source: Any) -> Iterable[Iterable[Any]] | None:
    """The elements of a list, or of each column of a data frame, before NumPy finds one type for all; None of others."""
    if is_untyped(source):
        return (np.asarray(source, dtype=object).flat,)
    if hasattr(source, "iloc"):  # pandas
        columns = [source.iloc[:, column] for column in range(source.shape[1])] if source.ndim == 2 else [source]
        return (column.tolist() for column in columns)
    if hasattr(source, "get_columns"):  # polars
        return (column.to_list() for column in source.get_columns())
    if hasattr(source, "itercolumns"):  # pyarrow
        return (column.to_pylist() for column in source.itercolumns())
    return None


def number(value: Any, what: str) -> float:
    """Returns the float64 that is exactly the number."""
    if isinstance(value, float):
        return value
    if isinstance(value, (numbers.Real, Decimal)):
        try:
            found = float(value)
        except OverflowError:
            raise UsageError.about(what, f"{value!r} is beyond the range of a float64") from None
        given = int(value) if isinstance(value, numbers.Integral) else value  # NumPy's are compared in floating point
        if found == given or given != given:
            return found
        raise UsageError.about(what, f"{value!r} is not exactly a float64; pass float({what}) to round it")
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # an array of one number
        return number(value.item(), what)
    told = repr(value) if isinstance(value, (str, bytes, numbers.Number, type(None))) else f"a {type(value).__name__}"
    raise TypeError(f"{what}: {told}; a number is needed")
