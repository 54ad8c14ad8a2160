"""Converts numbers to the library's types: exactly, or with an error that names the first inexact element.

Readers of files follow the same rule (core/exact_conversion.hpp). One case rounds: floating-point numbers in a Python
list, which have no array type, become the nearest numbers of the wanted type, as in a text file. Integers never round.
"""

from __future__ import annotations

import itertools
import numbers
from decimal import Decimal
from typing import Any, Callable, Iterable, NoReturn

import numpy as np

from gradus import _core
from gradus._errors import InputError, UnsupportedError, UsageError

Host = np.ndarray[Any, Any]
Type = np.dtype[Any]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_CONSECUTIVE = 2.0**53  #: float64 represents every integer up to here

_ADVICE = {  # advice for each kind of element type (NumPy's letters); {0} is the name of the argument
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
    """Raises UsageError for an array that is not two-dimensional."""
    way = ""
    if len(shape) == 1:
        way = f": pass {what}.reshape(-1, 1) for points of one coordinate, or {what}.reshape(1, -1) for one point"
    raise UsageError.about(what, f"an array of the shape {shape}; two dimensions are needed, a row for each point{way}")


def refuse_elements(array: Host, what: str) -> NoReturn:
    """Raises InputError for elements that are not real numbers, or are Python objects."""
    if array.dtype.kind != "O":
        advice = _ADVICE.get(array.dtype.kind, "real numbers are needed").format(what)
        raise InputError.about(what, f"the elements are of the type {array.dtype}: {advice}")
    for index, value in np.ndenumerate(array):
        if not isinstance(value, (numbers.Real, Decimal, np.bool_)):
            shown = repr(value) if isinstance(value, (str, type(None), numbers.Number)) else f"a {type(value).__name__}"
            raise InputError.about(what, f"the value in {place(index)} is {shown}; a number is needed")
    kinds = sorted({type(value).__name__ for value in array.flat})
    raise InputError.about(
        what, f"the elements are Python objects of the type {', '.join(kinds)}, and numbers of NumPy are needed: pass "
        f"numpy.asarray({what}, numpy.float64), which rounds what is not exactly a float64"
    )


def floating_type(dtype: Type, what: str) -> Type:
    """Returns float32 if it represents all values of the type exactly, otherwise float64 (also for 64-bit integers)."""
    if dtype.kind not in "biuf":
        raise InputError.about(what, f"the type {dtype}; one of real numbers is needed")
    wanted = np.promote_types(dtype, np.float32)
    if wanted not in FLOATS:
        raise UnsupportedError.about(
            what, f"the elements are of the type {dtype}; float64 is the widest supported type: pass "
            f"{what}.astype(numpy.float64) to round them"
        )
    return wanted


def may_round(given: Type, wanted: Type) -> bool:
    """Returns false if the wanted type represents all values of the given type exactly, otherwise true."""
    if wanted.kind == "f" and given.kind in "iu" and given.itemsize == 8:  # NumPy considers this conversion safe
        return wanted.itemsize <= 8
    return not np.can_cast(given, wanted, "safe")


def in_element_strides(array: Host) -> Host:
    """Returns the array if it is aligned, if it has native byte order, and if its strides are multiples of the element
    size. Otherwise returns a copy."""
    if array.dtype.isnative and array.flags.aligned and not any(step % array.itemsize for step in array.strides):
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def _advice(wanted: Type, cast: str, same_type_as: str) -> str:
    if wanted.kind != "f":
        return f"{wanted} is the widest accepted type"
    rounding = f"{cast} to round"
    if wanted == np.float32:
        return f"{rounding}, or {same_type_as} in float64"
    return f"subtract a constant, or {rounding}"


def refuse_rounding(
    array: Host, what: str, wanted: Type, same_type_as: str = "points", *,
    place: Callable[[tuple[int, ...]], str] = place, cast: str | None = None,
) -> None:  # fmt: skip
    """Raises InputError if the type `wanted` does not represent all elements exactly.

    `same_type_as` is the name of the argument that determines the type `wanted`. The message mentions this name.
    `place` converts an index to words for the message. `cast` is the advice on how to convert the elements with
    rounding.
    """
    if not may_round(array.dtype, wanted):
        return
    given = in_element_strides(array)
    position = _core.first_inexact(given, wanted.name)
    if position is None:
        return
    index = tuple(map(int, np.unravel_index(position, array.shape)))
    cast = f"pass {what}.astype(numpy.{wanted})" if cast is None else cast
    of = f", the type of {same_type_as}" if wanted == np.float32 else ""
    raise InputError.about(
        what, f"the value in {place(index)} is {given[index]}, which is not exactly a {wanted}{of}; "
        f"{_advice(wanted, cast, same_type_as)}"
    )


def in_type(array: Host, what: str, wanted: Type | None, untyped: bool = False, same_type_as: str = "points") -> Host:
    """Converts an array to the wanted type, or by default to the smallest floating-point type that represents all values of
    its type.

    With `untyped` (the source is a list), floating-point numbers may round, but not to infinity. Otherwise raises
    InputError if a conversion is inexact.
    """
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
    refuse_rounding(array, what, target, same_type_as)
    return array.astype(target)


def is_untyped(source: Any) -> bool:
    return isinstance(source, (list, tuple, range, int, float))


def refuse_lost_integers(source: Any, array: Host, what: str) -> None:
    """Raises InputError if NumPy rounded an integer when it converted a list or a data frame to a floating-point array.
    """
    if array.dtype.kind != "f" or array.size == 0:
        return
    columns = _columns(source)
    ends = () if columns is None else (float(find.reduce(array, axis=None)) for find in (np.fmin, np.fmax))
    if columns is None or not max(map(abs, ends)) >= _CONSECUTIVE:
        return
    for value in itertools.chain.from_iterable(columns):
        if isinstance(value, numbers.Integral) and int(value) != float(value):
            raise InputError.about(
                what, f"the integer {value} is not exactly a float64, the common type of all numbers; "
                "subtract a constant, or round it"
            )


def _columns(source: Any) -> Iterable[Iterable[Any]] | None:
    """Returns the elements of a list, or of each column of a data frame, with their original types. Returns None for
    other objects."""
    if is_untyped(source):
        return (np.asarray(source, dtype=object).flat,)
    if hasattr(source, "iloc"):  # pandas
        columns = [source.iloc[:, column] for column in range(source.shape[1])] if source.ndim == 2 else [source]
        return (column.tolist() for column in columns)
    if hasattr(source, "get_columns"):  # polars, in versions that do not export Arrow's structures
        return (column.to_list() for column in source.get_columns())
    if hasattr(source, "itercolumns"):  # pyarrow, in versions that do not export Arrow's structures
        return (column.to_pylist() for column in source.itercolumns())
    return None


def number(value: Any, what: str) -> float:
    """Returns a number as float64. Raises UsageError if float64 does not represent it, and TypeError if `value` is not
    a number."""
    if isinstance(value, float):
        return value
    if isinstance(value, (numbers.Real, Decimal)):
        try:
            found = float(value)
        except OverflowError:
            raise UsageError.about(what, f"{value!r} is beyond the range of a float64") from None
        given = int(value) if isinstance(value, numbers.Integral) else value  # NumPy integers would compare as float64
        if found == given or given != given:
            return found
        raise UsageError.about(what, f"{value!r} is not exactly a float64; pass float({what}) to round it")
    # an array without dimensions, which holds one number
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return number(value.item(), what)
    shown = repr(value) if isinstance(value, (str, bytes, numbers.Number, type(None))) else f"a {type(value).__name__}"
    raise TypeError(f"{what}: {shown}; a number is needed")
