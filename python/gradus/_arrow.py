"""Reads tables and columns of other libraries through Arrow's PyCapsule interface, without Arrow's library.

https://arrow.apache.org/docs/format/CDataInterface.html defines the structures. They do not contain the sizes of
buffers, so the reader must trust the producer in this respect. It checks that lengths, offsets and validity agree with
each other.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from typing import Any, Callable, NamedTuple, NoReturn

import numpy as np

from gradus import _numbers
from gradus._errors import Error, InputError, OutOfMemoryError

Host = np.ndarray[Any, Any]
Type = np.dtype[Any]

_NUMBERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4", "g": "f8"}
_OFFSETS: dict[str, Type] = {"+l": np.dtype(np.int32), "+L": np.dtype(np.int64)}  #: types of the offsets of lists
_KINDS = {  # words for messages, by the first characters of the format
    "n": "null", "b": "bool", "u": "string", "U": "string", "vu": "string", "z": "binary", "Z": "binary", "vz": "binary",
    "w": "binary", "d": "decimal", "td": "date", "tt": "time", "ts": "timestamp", "tD": "duration", "ti": "interval",
    "+s": "struct", "+m": "map", "+u": "union", "+r": "run-end encoded", "+": "list",
}  # fmt: skip
_DROPS = ("drop_nulls", "drop_null")  #: methods of polars and pyarrow that drop rows with nulls
_BLOCK = 2**22  #: size in bytes of the blocks of rows in which the result is filled
_BITMAP_BLOCK = 2**14  #: bytes of a validity bitmap that are unpacked at once

_Release = CFUNCTYPE(None, c_void_p)
_Export = CFUNCTYPE(c_int, c_void_p, c_void_p)
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    _fields_ = [
        ("get_schema", _Export), ("get_next", _Export), ("get_last_error", CFUNCTYPE(c_char_p, c_void_p)),
        ("release", _Release), ("private_data", c_void_p),
    ]  # fmt: skip


_Schema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))), ("dictionary", c_void_p), ("release", _Release), ("private_data", c_void_p),
]  # fmt: skip
_Array._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(_Array))), ("dictionary", c_void_p),
    ("release", _Release), ("private_data", c_void_p),
]  # fmt: skip


class _Owned:
    """A structure that is released once, when no view of its memory exists any more."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct
        self.pointer = ctypes.byref(struct)

    def __del__(self) -> None:
        if self.struct.release:
            self.struct.release(self.pointer)


class _Memory:
    """Elements in a buffer, in a form that NumPy can view. The views keep the owner alive."""

    def __init__(self, address: int, count: int, dtype: Type, owner: _Owned) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": (count,), "typestr": dtype.str}


class _Field(NamedTuple):
    """A column, or the elements of a column of lists."""

    name: str
    format: str
    special: str  #: "dictionary" or "extension NAME" if `format` does not describe the elements, otherwise ""
    children: tuple[_Field, ...]

    @property
    def number(self) -> Type | None:
        """The type of the elements; None if they are not numbers."""
        return np.dtype(_NUMBERS[self.format]) if self.format in _NUMBERS and not self.special else None

    @property
    def element(self) -> Type | None:
        """The element type of the lists. None unless the column contains lists of numbers."""
        is_list = (self.format in _OFFSETS or self.format[:3] == "+w:") and len(self.children) == 1 and not self.special
        return self.children[0].number if is_list else None

    @property
    def kind(self) -> str:
        known = (_KINDS.get(self.format[:size]) for size in (2, 1))
        word = self.special or next(filter(None, known), str(self.number or f"format {self.format!r}"))
        return f"list of {self.children[0].kind}" if word == "list" and self.children else word


class _Part(NamedTuple):
    """The values of a chunk for adjacent columns of the result."""

    values: Host
    column: int
    name: str


def is_offered(source: Any) -> bool:
    """Returns true if the object exports Arrow's structures. Excludes pandas, whose export adds the index as a column."""
    kind = type(source)
    return not hasattr(kind, "iloc") and (hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__"))


def array(source: Any, what: str, target: Callable[[list[Type]], Type]) -> Host:
    """Returns an n x d array. Its rows are the rows of a table of numbers, or the lists of a column of lists. For a
    column of numbers, returns an array of length n.

    `target` chooses the element type of the result from the types of the columns. If the producer stores all values in
    one buffer, row by row and in the element type of the result, the result is a read-only view of the buffer.
    Otherwise it is a copy. Raises InputError for nulls, for numbers that the type does not represent exactly, for
    columns of other types, for lists of unequal length and for malformed structures, and Error if the producer fails.
    """
    return _Reader(source, what).read(target)


def _extension(metadata: int | None) -> str:
    """Returns "extension NAME" if the key-value pairs of a field name an extension type, otherwise an empty string."""
    words: list[bytes] = []
    count, at = (0, 0) if metadata is None else (2 * _int32(metadata), metadata + 4)
    while len(words) < count:
        words.append(ctypes.string_at(at + 4, max(0, _int32(at))))
        at += 4 + len(words[-1])
    name = dict(zip(words[::2], words[1::2])).get(b"ARROW:extension:name")
    return "" if name is None else f"extension {name.decode(errors='replace')}"


def _children(struct: Any) -> list[Any] | None:
    """Returns the children of a schema or array; None if one is missing."""
    count = struct.n_children
    pointers = [struct.children[place] for place in range(count)] if count > 0 and struct.children else []
    return [pointer.contents for pointer in pointers] if len(pointers) == count and all(pointers) else None


def _int32(address: int) -> int:
    return int.from_bytes(ctypes.string_at(address, 4), sys.byteorder, signed=True)


def _first_null(array: Any, first: int, count: int) -> int | None:
    """Searches `count` elements for a null. `first` is the index of the first element in the buffers. Returns the
    number of elements before the null, or None."""
    for start in range(0, count if array.buffers[0] else 0, 8 * _BITMAP_BLOCK):
        begin, end = first + start, first + min(count, start + 8 * _BITMAP_BLOCK)
        packed = ctypes.string_at(array.buffers[0] + begin // 8, (end + 7) // 8 - begin // 8)
        valid = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")[begin % 8 :][: end - begin]
        if not valid.all():
            return start + int(valid.argmin())
    return None


class _Reader:
    """Reads one object. Rows are counted over all of its chunks."""

    def __init__(self, source: Any, what: str) -> None:
        self.source, self.what, self.kind = source, what, type(source).__name__
        self.has_points = True  #: False for a single column of numbers, such as weights

    def read(self, target: Callable[[list[Type]], Type]) -> Host:
        streams = hasattr(type(self.source), "__arrow_c_stream__")
        root, chunks = self._streamed() if streams else self._single()
        self.has_points = root.number is None
        if any(chunk.struct.length < 0 for chunk in chunks):
            self._malformed(root, "a negative length")
        chunks = [chunk for chunk in reversed(chunks) if chunk.struct.length > 0]
        columns = root.children if root.format == "+s" else (root,)
        types = [dtype for column in columns if (dtype := column.number or column.element) is not None]
        wanted = target(types or [np.dtype(np.float64)])
        width = self._width(columns)
        rows, row, made = sum(chunk.struct.length for chunk in chunks), 0, None
        while chunks:
            chunk = chunks.pop()  # this assignment to `chunk` releases the previous chunk
            count = chunk.struct.length
            parts = self._parts(chunk, root, row, width)
            width = sum(part.values.shape[1] for part in parts)
            if made is None:
                is_whole = count == rows and len(parts) == 1
                if is_whole and parts[0].values.dtype == wanted and parts[0].values.flags.aligned:
                    made = parts[0].values
                    break
                made = self._new(rows, width, wanted)
            self._fill(made[row : row + count], parts, row)
            row += count
        made = np.empty((0, width or 0), wanted) if made is None else made
        return made if self.has_points else made[:, 0]

    def _new(self, rows: int, width: int, dtype: Type) -> Host:
        try:
            return np.empty((rows, width), dtype)
        except (MemoryError, ValueError):
            raise OutOfMemoryError.about(self.what, f"{rows} x {width} elements of {dtype} do not fit in memory") from None

    def _single(self) -> tuple[_Field, list[_Owned]]:
        """Returns the type of the object and its only chunk."""
        schema, exported = self.source.__arrow_c_array__()
        root = self._checked(_Schema.from_address(_pointer_of(schema, b"arrow_schema")))
        offered = _Array.from_address(_pointer_of(exported, b"arrow_array"))
        if not offered.release:
            self._malformed(root, "an array that was released")
        chunk = _Owned(_Array.from_buffer_copy(offered))
        offered.release = _Release()  # the capsule no longer releases the array
        return root, [chunk]

    def _streamed(self) -> tuple[_Field, list[_Owned]]:
        """Returns the type of the object and its chunks."""
        capsule = self.source.__arrow_c_stream__()
        address = _pointer_of(capsule, b"arrow_array_stream")
        stream = _Stream.from_address(address)
        chunks: list[_Owned] = []
        try:
            schema = _Owned(_Schema())
            self._succeeded(stream.get_schema(address, schema.pointer), stream, address)
            root = self._checked(schema.struct)
            while True:
                chunk = _Owned(_Array())
                self._succeeded(stream.get_next(address, chunk.pointer), stream, address)
                if not chunk.struct.release:
                    return root, chunks
                chunks.append(chunk)
        finally:
            if stream.release:
                stream.release(address)

    def _succeeded(self, status: int, stream: Any, address: int) -> None:
        if status != 0:
            text = stream.get_last_error(address)
            text = os.strerror(status) if text is None else text.decode(errors="replace")
            raise Error.about(self.what, f"the {self.kind} could not be read: {text.strip()}")

    def _field(self, schema: Any) -> _Field:
        children = _children(schema)
        if not schema.release or schema.format is None or children is None:
            raise InputError.about(self.what, f"the Arrow data of a {self.kind} is malformed: an incomplete schema")
        name, form = ((text or b"").decode(errors="replace") for text in (schema.name, schema.format))
        special = "dictionary" if schema.dictionary else _extension(schema.metadata)
        return _Field(name, form, special, tuple(map(self._field, children)))

    def _checked(self, schema: Any) -> _Field:
        """Returns the type of the object. Raises InputError unless it is a table of numbers or a column of numbers or lists."""
        root = self._field(schema)
        columns = root.children if root.format == "+s" and not root.special else (root,)
        wrong = [column for column in columns if column.number is None and column.element is None]
        if wrong and wrong[0] is root:
            raise InputError.about(
                self.what, f"a column of the type {root.kind}; numbers, or lists of numbers of equal length, are needed"
            )
        if wrong:
            names = ", ".join(f"{column.name!r} ({column.kind})" for column in wrong)
            raise InputError.about(self.what, f"no numbers in the columns {names}; leave them out, or convert them to numbers")
        indexes = [column.name for column in columns if re.fullmatch(r"__index_level_\d+__", column.name)]
        if indexes:
            raise InputError.about(self.what, f"the column {indexes[0]!r} is an index of pandas and no coordinate; leave it out")
        lists = [column.name for column in columns if column.element is not None]
        if lists and len(columns) > 1:
            raise InputError.about(self.what, f"the column {lists[0]!r} holds lists; pass it alone, or leave it out")
        return root

    def _width(self, columns: tuple[_Field, ...]) -> int | None:
        """Returns the number of columns of the result. Returns None if it can be computed only from the offsets of
        lists."""
        if len(columns) != 1 or columns[0].element is None:
            return len(columns)
        if columns[0].format in _OFFSETS:
            return None
        size = columns[0].format[3:]
        if not (size.isdecimal() and int(size) < 2**31):
            self._malformed(columns[0], f"the format {columns[0].format!r}")
        return int(size)

    def _parts(self, chunk: _Owned, root: _Field, row: int, width: int | None) -> list[_Part]:
        """Checks a chunk and returns views of its values. `row` is the number of its first row."""
        top, count = chunk.struct, chunk.struct.length
        if root.format != "+s":
            return [self._part(chunk, top, root, 0, count, row, 0, width)]
        first = self._first(top, root, 0, count, 1, len(root.children))
        self._refuse_null(top, first, count, row, None, 1, "")
        return [
            self._part(chunk, top.children[place].contents, column, first, count, row, place, width)
            for place, column in enumerate(root.children)
        ]

    def _part(
        self, owner: _Owned, array: Any, field: _Field, start: int, count: int, row: int, column: int, width: int | None
    ) -> _Part:
        """Returns a view of `count` elements or lists. `start` is relative to the offset of the array."""
        name = field.name
        if field.number is not None:
            width = 1
        else:
            offsets = _OFFSETS.get(field.format)
            first = self._first(array, field, start, count, 1 if offsets is None else 2, 1)
            self._refuse_null(array, first, count, row, None, 1, "")
            start = first * (width or 0)
            if offsets is not None:
                start, width = self._lists(self._memory(owner, array, field, 1, first, count + 1, offsets), field, row, width)
            array, field, name = array.children[0].contents, field.children[0]._replace(name=name), ""
        assert width is not None and field.number is not None
        first = self._first(array, field, start, count * width, 2, 0)
        self._refuse_null(array, first, count * width, row, column, width, name)
        values = self._memory(owner, array, field, 1, first, count * width, field.number)
        return _Part(values.reshape(count, width), column, name)

    def _lists(self, offsets: Host, field: _Field, row: int, width: int | None) -> tuple[int, int]:
        """Returns the first offset and the common length of the lists. Raises InputError if the lengths differ."""
        sizes = np.diff(offsets.astype(np.int64, copy=False))
        width = int(sizes[0]) if width is None else width
        if width < 0 or offsets[0] < 0 or sizes.min() < 0:
            self._malformed(field, "offsets that are negative or descend")
        if not (sizes == width).all():
            other = int((sizes != width).argmax())
            raise InputError.about(
                self.what, f"the list in {self._place(row + other)} has {sizes[other]} elements, but the list in row 0 has "
                f"{width}; lists of equal length are needed", row=row + other
            )
        return int(offsets[0]), width

    def _first(self, array: Any, field: _Field, start: int, count: int, buffers: int, children: int) -> int:
        """Checks that an array contains `count` elements from `start` on. Returns the index of the first one in the
        buffers."""
        if array.n_buffers != buffers or array.n_children != children or not array.buffers or (children > 0 and _children(array) is None):
            self._malformed(
                field, f"{array.n_buffers} buffers and {array.n_children} children, not {buffers} and {children}, or null pointers"
            )
        length, nulls, offset = int(array.length), int(array.null_count), int(array.offset)
        if length < 0 or offset < 0 or not -1 <= nulls <= length or 8 * (length + offset) >= 2**63:
            self._malformed(field, f"the length {length}, the offset {offset} and {nulls} nulls")
        if start + count > length:
            self._malformed(field, f"{length} elements, of which {start + count} are needed")
        if nulls > 0 and not array.buffers[0]:
            self._malformed(field, f"{nulls} nulls, but no validity bitmap")
        return offset + start

    def _memory(self, owner: _Owned, array: Any, field: _Field, buffer: int, first: int, count: int, dtype: Type) -> Host:
        if count == 0:
            return np.empty(0, dtype)
        address = array.buffers[buffer]
        if address is None:
            self._malformed(field, "no values")
        return np.asarray(_Memory(address + first * dtype.itemsize, count, dtype, owner))

    def _refuse_null(
        self, array: Any, first: int, count: int, row: int, column: int | None, width: int, name: str
    ) -> None:
        """Raises InputError if an element is null. The elements fill rows of `width` elements, from `row` and `column`
        on."""
        null = _first_null(array, first, count)
        if null is None:
            return
        row += null // width
        column = None if column is None or not self.has_points else column + null % width
        call = next((f" by {self.what}.{call}()" for call in _DROPS if hasattr(type(self.source), call)), "")
        remedy = f"leave such rows out{call}, or replace the nulls" if self.has_points else "replace the nulls"
        raise InputError.about(
            self.what, f"the value in {self._place(row, column, name)} is null; {remedy}", row=row, column=column, value="null",
            remedy=remedy
        )

    def _place(self, row: int, column: int | None = None, name: str = "") -> str:
        has_column = column is not None and self.has_points
        return f"row {row}" + (f", column {column}{name and f' {name!r}'}" if has_column else "") + " (counted from 0)"

    def _fill(self, made: Host, parts: list[_Part], row: int) -> None:
        """Copies the parts of a chunk to their place in the result. Raises InputError if the type does not represent a
        value exactly."""
        cast = f"cast it to {made.dtype}"
        for part in parts:
            _numbers.refuse_rounding(
                part.values, self.what, made.dtype, cast=cast,
                place=lambda index: self._place(row + index[0], part.column + index[1], part.name),
            )  # fmt: skip
        rows, width = made.shape
        step = rows if len(parts) == 1 else max(1, _BLOCK // max(1, made.itemsize * width))
        for start in range(0, rows, step):
            for part in parts:
                to = made[start : start + step, part.column : part.column + part.values.shape[1]]
                to[...] = part.values[start : start + step]

    def _malformed(self, field: _Field, detail: str) -> NoReturn:
        where = f"the column {field.name!r}" if field.name else "a column without a name"
        raise InputError.about(self.what, f"the Arrow data of a {self.kind} is malformed: {where} has {detail}")
