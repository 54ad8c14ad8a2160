"""Passes tables and columns of lists to Gradus through Arrow's PyCapsule interface. They come from a producer in this
file and from other libraries."""

import ctypes
import dataclasses
import errno
import gc
import itertools
import re
import struct
import sys
from ctypes import CFUNCTYPE, PYFUNCTYPE, addressof, c_char_p, c_int, c_int64, c_void_p, py_object

import gradus
import numpy as np
import pytest
from gradus import _arrays, _arrow

# The producer in this file. It defines Arrow's structures again, so that the tests find errors in the package's
# definitions.
Release = CFUNCTYPE(None, c_void_p)
Export = CFUNCTYPE(c_int, c_void_p, c_void_p)
LastError = CFUNCTYPE(c_void_p, c_void_p)
LENGTH = c_int64


class Schema(ctypes.Structure):
    _fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", LENGTH), ("n_children", LENGTH),
                ("children", c_void_p), ("dictionary", c_void_p), ("release", Release), ("private_data", c_void_p)]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [("length", LENGTH), ("null_count", LENGTH), ("offset", LENGTH), ("n_buffers", LENGTH), ("n_children", LENGTH),
                ("buffers", c_void_p), ("children", c_void_p), ("dictionary", c_void_p), ("release", Release),
                ("private_data", c_void_p)]  # fmt: skip


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", Export), ("get_next", Export), ("get_last_error", LastError), ("release", Release),
                ("private_data", c_void_p)]  # fmt: skip


new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
pointer_in = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


CALLBACKS = []  # keeps the callbacks alive until each of them has been called for the last time


@dataclasses.dataclass
class Node:
    """An array and its type. `schema` and `array` hold incorrect values that replace members of the two structures."""

    format: str
    length: int
    buffers: list
    children: list = dataclasses.field(default_factory=list)
    name: str = ""
    offset: int = 0
    null_count: int = 0
    dictionary: bool = False
    metadata: bytes = None
    schema: dict = dataclasses.field(default_factory=dict)
    array: dict = dataclasses.field(default_factory=dict)


def replaced(node, **members):
    return dataclasses.replace(node, **members)


class Exports:
    """Exports nodes and counts released structures. Overwrites each released structure, so that the tests find late
    reads."""

    def __init__(self):
        self.kept, self.given, self.wrong = {}, 0, []

    def callback(self, kind, function):
        CALLBACKS.append(kind(function))
        return CALLBACKS[-1]

    def owned(self, one, *kept):
        """Gives the structure a release callback, which keeps the objects `kept` alive until it is called."""
        self.given += 1
        number = self.given
        self.kept[number] = kept

        def release(address):
            given = type(one).from_address(address)
            if number not in self.kept or not given.release:
                self.wrong.append(f"{type(one).__name__} {number} was released already")
                return
            for memory in self.kept.pop(number):
                if isinstance(memory, np.ndarray):
                    memory.view(np.uint8)[:] = 0xA5
            given.release = Release()

        one.release = self.callback(Release, release)

    def _belongs_to_parent(self, address):
        self.wrong.append("a child was released")

    def schema(self, node, to, is_child=False):
        children = [Schema() for _ in node.children]
        kept = [one for pair in zip(node.children, children) for one in self.schema(*pair, is_child=True)]
        pointers = (c_void_p * max(1, len(children)))(*map(addressof, children))
        dictionary = Schema(format=b"u")
        to.format, to.name, to.metadata = node.format.encode(), node.name.encode(), node.metadata
        to.n_children, to.children = len(children), addressof(pointers) if children else None
        to.dictionary = addressof(dictionary) if node.dictionary else None
        kept += [children, pointers, dictionary, node]
        if is_child:
            to.release = self.callback(Release, self._belongs_to_parent)
        else:
            self.owned(to, *kept)
        for name, value in node.schema.items():
            setattr(to, name, value)
        return kept

    def array(self, node, to, is_child=False):
        children = [Array() for _ in node.children]
        kept = [one for pair in zip(node.children, children) for one in self.array(*pair, is_child=True)]
        pointers = (c_void_p * max(1, len(children)))(*map(addressof, children))
        memory = [one if one is None else np.array(one) for one in node.buffers]
        buffers = (c_void_p * max(1, len(memory)))(*(None if one is None else one.ctypes.data for one in memory))
        to.length, to.null_count, to.offset = node.length, node.null_count, node.offset
        to.n_buffers, to.buffers = len(memory), addressof(buffers)
        to.n_children, to.children = len(children), addressof(pointers) if children else None
        kept += [children, pointers, buffers, *memory]
        if is_child:
            to.release = self.callback(Release, self._belongs_to_parent)
        else:
            self.owned(to, *kept)
        for name, value in node.array.items():
            setattr(to, name, value)
        return kept

    def capsule(self, one, name):
        def destroy(capsule):
            held = type(one).from_address(pointer_in(capsule, name))
            if held.release:
                held.release(addressof(held))

        CALLBACKS.append((one, name))
        destructor = self.callback(PYFUNCTYPE(None, c_void_p), destroy)
        return new_capsule(addressof(one), name, ctypes.cast(destructor, c_void_p))

    def all_released(self):
        if self.kept:
            gc.collect()
        assert self.wrong == []
        return not self.kept


class Single:
    """An array of another library, with the method __arrow_c_array__."""

    def __init__(self, exports, node):
        self.exports, self.node = exports, node

    def __len__(self):  # scikit-learn requires a length or a shape for some arguments
        return self.node.length

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = Schema(), Array()
        self.exports.schema(self.node, schema)
        self.exports.array(self.node, array)
        return self.exports.capsule(schema, b"arrow_schema"), self.exports.capsule(array, b"arrow_array")


class Chunks:
    """Imitates a table or column of another library with __arrow_c_stream__. The consumer's call with the number
    `fails` fails. Call 0 requests the schema."""

    def __init__(self, exports, *nodes, type=None, fails=None, status=errno.EIO, text=b"disk on fire"):
        self.exports, self.nodes, self.fails, self.status = exports, nodes, fails, status
        self.type, self.text = nodes[0] if type is None else type, text

    def __len__(self):
        return sum(node.length for node in self.nodes)

    def __arrow_c_stream__(self, requested_schema=None):
        stream, left = Stream(), list(self.nodes)
        message = ctypes.create_string_buffer(self.text or b"")

        def fails():
            return self.fails is not None and len(self.nodes) + 1 - len(left) == self.fails

        def get_schema(_, to):
            if self.fails == 0:
                return self.status
            self.exports.schema(self.type, Schema.from_address(to))
            return 0

        def get_next(_, to):
            if fails():
                return self.status
            if left:
                self.exports.array(left.pop(0), Array.from_address(to))
            else:
                Array.from_address(to).release = Release()
            return 0

        stream.get_schema = self.exports.callback(Export, get_schema)
        stream.get_next = self.exports.callback(Export, get_next)
        stream.get_last_error = self.exports.callback(LastError, lambda _: None if self.text is None else addressof(message))
        self.exports.owned(stream, message)
        return self.exports.capsule(stream, b"arrow_array_stream")


FORMATS = {"i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l", "u8": "L", "f2": "e", "f4": "f", "f8": "g"}


def format_of(values):
    return FORMATS[values.dtype.str[1:]]


def bitmap(valid, offset=0):
    """Returns the bits of `valid`, preceded by `offset` bits of other rows."""
    return np.packbits([False] * offset + list(valid), bitorder="little")


def column(values, name="", offset=0, valid=None):
    """A column of numbers. The buffer begins with `offset` numbers that are not in the column."""
    values = np.asarray(values)
    before = np.full(offset, 77, values.dtype)
    buffers = [None if valid is None else bitmap(valid, offset), np.concatenate([before, values])]
    return Node(format_of(values), len(values), buffers, name=name, offset=offset, null_count=0 if valid is None else -1)


def lists(rows, form="+w", name="", offset=0, inner=0, valid=None, valid_elements=None):
    """A column of lists. The buffer begins with `offset` lists that are not in the column. `inner` is the offset of the
    array of elements."""
    rows = np.asarray(rows)
    count, width = rows.shape
    elements = np.concatenate([np.full((offset, width), 55, rows.dtype), rows]).ravel()
    child_valid = None if valid_elements is None else np.concatenate([np.ones(offset * width, bool), np.ravel(valid_elements)])
    buffers = [None if valid is None else bitmap(valid, offset)]
    if form == "+w":
        form = f"+w:{width}"
    else:
        buffers.append((np.arange(offset + count + 1) * width).astype(np.int32 if form == "+l" else np.int64))
    child = column(elements, "item", inner, child_valid)
    return Node(form, count, buffers, [child], name, offset, 0 if valid is None else -1)


def table(*columns, offset=0, valid=None, length=None):
    length = columns[0].length - offset if length is None else length
    return Node("+s", length, [None if valid is None else bitmap(valid, offset)], list(columns), offset=offset,
                null_count=0 if valid is None else -1)  # fmt: skip


def some(rows, dtype, seed=0):
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "f":
        return (random.normal(size=rows) * 100).astype(dtype)
    large = min(np.iinfo(dtype).max, 2**53)
    return random.integers(max(np.iinfo(dtype).min, -large), large, rows, dtype=dtype, endpoint=True)


def wanted_type(*dtypes):
    return np.result_type(np.float32, *dtypes)


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


@pytest.fixture
def exports():
    one = Exports()
    yield one
    assert one.all_released(), list(one.kept)


def refused(call, text, kind=gradus.InputError):
    """Checks that the call raises `kind` with a message that contains `text`. Returns the message and the error's
    fields."""
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)
    error = caught.value
    fields = {name: getattr(error, name) for name in ("argument", "row", "column", "value", "remedy")}
    error.__traceback__ = None
    return str(error), fields


TYPES = list(FORMATS)


@pytest.mark.parametrize("first", TYPES)
def test_tables_of_all_types(exports, first):
    for second, (offset, parent) in itertools.product(TYPES, ((0, 0), (1, 0), (9, 3))):
        columns = [some(23, first), some(23, second, 1)]
        expected = np.column_stack([one.astype(wanted_type(first, second)) for one in columns])
        node = table(*(column(one, f"c{place}", offset) for place, one in enumerate(columns)), offset=parent)
        for source in (Single(exports, node), Chunks(exports, node)):
            assert same(_arrays.matrix(source, "points"), expected[parent:])
    assert exports.all_released()


@pytest.mark.parametrize("sizes", [(5,), (2, 3), (0, 4, 0, 0, 1), (1,) * 9, (3000, 1, 5000)])
@pytest.mark.parametrize("width", [1, 2, 5, 40])
def test_tables_in_chunks(exports, sizes, width):
    values = some((sum(sizes), width), "f8")
    ends = np.cumsum(sizes)
    nodes = [
        table(*(column(values[end - size : end, place], f"c{place}", place % 3) for place in range(width)))
        for size, end in zip(sizes, ends)
    ]
    assert same(_arrays.matrix(Chunks(exports, *nodes), "points"), values)


@pytest.mark.parametrize("form", ["+w", "+l", "+L"])
@pytest.mark.parametrize("dtype", TYPES)
def test_columns_of_lists(exports, form, dtype):
    rows = some((17, 3), dtype)
    expected = rows.astype(wanted_type(dtype))
    for offset, inner in itertools.product((0, 1, 5), (0, 2)):
        whole = lists(rows, form, "e", offset, inner)
        parts = [lists(rows[:9], form, "e", offset, inner), lists(rows[:0], form, "e"), lists(rows[9:], form, "e", inner, offset)]
        for source in (
            Single(exports, whole), Chunks(exports, whole), Chunks(exports, table(whole)), Single(exports, table(whole)),
            Chunks(exports, *parts), Chunks(exports, *map(table, parts)),
            Chunks(exports, table(lists(np.concatenate([rows[:2], rows]), form, "e", offset), offset=2)),
        ):  # fmt: skip
            assert same(_arrays.matrix(source, "points"), expected)
    assert exports.all_released()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("make", [
    lambda rows: lists(rows), lambda rows: lists(rows, "+l", offset=2, inner=1), lambda rows: lists(rows, "+L"),
    lambda rows: lists(rows, offset=3, inner=4, valid=[True] * len(rows), valid_elements=np.ones(rows.shape, bool)),
    lambda rows: table(lists(rows, name="e")),
])  # fmt: skip
def test_lists_in_one_buffer_are_used_in_place(exports, dtype, make):
    rows = some((50, 4), dtype)
    for source in (Single(exports, make(rows)), Chunks(exports, make(rows[:0]), make(rows), make(rows[:0]))):
        points = _arrays.matrix(source, "points")
        (kept,) = exports.kept.values()  # only the array is left, because the stream and the schema were released
        assert any(isinstance(one, np.ndarray) and np.shares_memory(one, points) for one in kept)
        assert not points.flags.writeable and points.flags.c_contiguous and same(points, rows)
        part = points[7:9]
        del points, kept
        gc.collect()
        assert len(exports.kept) == 1 and same(part, rows[7:9])
        del part
        assert exports.all_released()


def test_what_must_be_converted_is_copied_and_released(exports):
    for node in (lists(some((5, 2), "i4")), lists(some((5, 2), "f2")), table(column(some(5, "f8")), column(some(5, "f8")))):
        points = _arrays.matrix(Single(exports, node), "points")
        assert points.flags.writeable and exports.all_released()
    rows = some((5, 2), "f4")
    assert same(_arrays.matrix(Single(exports, lists(rows)), "points", np.dtype(np.float64)), rows.astype(np.float64))


def test_chunks_are_released_one_by_one(exports, monkeypatch):
    held, fill = [], _arrow._Reader._fill
    monkeypatch.setattr(_arrow._Reader, "_fill", lambda *call: (held.append(len(exports.kept)), fill(*call)))
    nodes = [table(column(some(5, "f8")), column(some(5, "i4"))) for _ in range(4)]
    assert _arrays.matrix(Chunks(exports, *nodes), "points").shape == (20, 2)
    assert held == [4, 3, 2, 1]


def test_elements_that_are_not_aligned(exports):
    rows = some((5, 2), "f8")
    node = lists(rows)
    node.children[0].buffers[1] = np.frombuffer(b"123" + rows.tobytes(), np.uint8)
    source = Single(exports, node)
    original = exports.array

    def shifted(node, to, is_child=False):
        kept = original(node, to, is_child)
        if node.format == "g":
            pointers = (c_void_p * 2).from_address(to.buffers)
            pointers[1] += 3
        return kept

    exports.array = shifted
    points = _arrays.matrix(source, "points")
    assert points.flags.aligned and same(points, rows)


def test_empty_objects(exports):
    one = table(column(some(0, "f4"), "a"), column(some(0, "f4"), "b"))
    for source, shape, dtype in [
        (Chunks(exports, one), (0, 2), "f4"), (Chunks(exports, one, one), (0, 2), "f4"), (Single(exports, one), (0, 2), "f4"),
        (Chunks(exports, type=one), (0, 2), "f4"), (Chunks(exports, type=lists(some((0, 3), "i2"))), (0, 3), "f4"),
        (Chunks(exports, type=lists(some((0, 3), "f8"), "+l")), (0, 0), "f8"), (Single(exports, table(length=0)), (0, 0), "f8"),
        (Single(exports, table(length=7)), (7, 0), "f8"), (Single(exports, lists(some((4, 0), "f4"))), (4, 0), "f4"),
        (Single(exports, lists(some((4, 0), "f4"), "+L")), (4, 0), "f4"),
    ]:  # fmt: skip
        points = _arrays.matrix(source, "points")
        assert points.shape == shape and points.dtype == dtype
        with pytest.raises(gradus.Error) as ours:
            gradus.kmeans(source, 1)
        with pytest.raises(gradus.Error) as numpys:
            gradus.kmeans(np.empty(shape, dtype), 1)
        assert str(ours.value) == str(numpys.value)
    missing = replaced(column(some(0, "f4"), "a"), buffers=[None, None])
    assert _arrays.matrix(Single(exports, table(missing)), "points").shape == (0, 1)


NULL = " is null; leave such rows out, or replace the nulls"


def test_nulls_are_refused_with_their_place(exports):
    rows = some((20, 3), "f4")
    holes = np.ones((20, 3), bool)
    holes[13, 2] = holes[17, 0] = False
    some_valid, all_valid = holes[:, 2], np.ones(20, bool)
    number = [column(rows[:, place], "abc"[place], 5, holes[:, place] if place == 2 else all_valid) for place in range(3)]
    cases = [
        (Single(exports, table(*number)), "row 13, column 2 'c' (counted from 0)", (13, 2)),
        (Chunks(exports, *[table(*number[:2], replaced(number[2], buffers=[None, number[2].buffers[1]])), table(*number)]),
         "row 33, column 2 'c' (counted from 0)", (33, 2)),
        (Single(exports, lists(rows, valid=some_valid, offset=3)), "row 13 (counted from 0)", (13, None)),
        (Single(exports, lists(rows, "+l", valid=some_valid)), "row 13 (counted from 0)", (13, None)),
        (Single(exports, lists(rows, valid_elements=holes, offset=2, inner=3)), "row 13, column 2 (counted from 0)", (13, 2)),
        (Single(exports, lists(rows, "+L", valid_elements=holes, offset=2)), "row 13, column 2 (counted from 0)", (13, 2)),
        (Single(exports, table(*(column(rows[:, place]) for place in range(3)), valid=some_valid)), "row 13 (counted from 0)", (13, None)),
    ]  # fmt: skip
    for source, place, (row, place_of_column) in cases:
        for argument, call in [("points", lambda x: gradus.kmeans(x, 2)), ("X", lambda x: gradus.KMeans(2).fit(x))]:
            text, fields = refused(lambda: call(source), f"{argument}: the value in {place}{NULL}")
            assert fields["row"] == row and fields["column"] == place_of_column and fields["value"] == "null"
            assert fields["remedy"]
    many = np.ones(300_000, bool)
    many[299_999] = False
    text, _ = refused(lambda: gradus.kmeans(Single(exports, table(column(some(300_000, "f4"), valid=many, offset=7))), 1), "row 299999")
    # The bitmap decides which elements are null. The number of nulls that the producer reports does not matter.
    for count in (0, 1, 20):
        source = Single(exports, table(replaced(column(rows[:, 2], "c", 5, some_valid), null_count=count)))
        refused(lambda: gradus.kmeans(source, 1), "row 13, column 0 'c' (counted from 0) is null")
        source = Single(exports, table(replaced(column(rows[:, 2], "c", 5, all_valid), null_count=count)))
        assert same(_arrays.matrix(source, "points"), np.ascontiguousarray(rows[:, 2:]))
    # Bits before and after the column do not matter.
    around = column(rows[:, 0], "a", 5, all_valid)
    assert not around.buffers[0][0] & 31 and around.buffers[0][-1] < 255
    assert same(_arrays.matrix(Single(exports, table(around)), "points"), np.ascontiguousarray(rows[:, :1]))


def test_nulls_in_weights(exports):
    for node in (column(np.ones(4), valid=[True, False, True, True]), column(np.ones(4), "w", 3, [True, False, True, True])):
        source = type("Series", (Single,), {"drop_nulls": None})(exports, node)
        for argument, call in [
            ("weights", lambda: gradus.kmeans(np.eye(4), 1, weights=source)),
            ("sample_weight", lambda: gradus.KMeans(1).fit(np.eye(4), sample_weight=source)),
        ]:
            text, fields = refused(call, f"{argument}: the value in row 1 (counted from 0) is null; replace the nulls")
            assert fields["row"] == 1 and fields["column"] is None


def test_the_remedy_for_nulls_is_a_call_of_the_library(exports):
    node = table(column(some(3, "f4"), "a", valid=[True, False, True]))
    for call in ("drop_nulls", "drop_null"):
        source = type("Frame", (Single,), {call: None})(exports, node)
        refused(lambda: gradus.kmeans(source, 1), f"leave such rows out by points.{call}(), or replace the nulls")


OTHER = {  # maps each kind, as the message names it, to a node of this kind
    "string": Node("u", 2, [None, None, None]), "binary": Node("vz", 2, [None, None]), "bool": Node("b", 2, [None, None]),
    "decimal": Node("d:38,2", 2, [None, None]), "date": Node("tdD", 2, [None, None]), "null": Node("n", 2, []),
    "timestamp": Node("tsu:UTC", 2, [None, None]), "time": Node("ttm", 2, [None, None]), "duration": Node("tDs", 2, [None, None]),
    "interval": Node("tiM", 2, [None, None]), "map": Node("+m", 2, [None, None], [Node("u", 2, [])]),
    "union": Node("+ud:0,1", 2, [None, None]), "run-end encoded": Node("+r", 2, []), "dictionary": Node("i", 2, [None, None], dictionary=True),
    "struct": Node("+s", 2, [None], [column(some(2, "f4"))]), "format '?'": Node("?", 2, []),
    "list of string": Node("+w:2", 2, [None], [Node("vu", 4, [])]),
    "list of list of float32": Node("+l", 2, [None, None], [Node("+w:2", 4, [None], [column(some(4, "f4"))])]),
    "list of float64": Node("+vl", 2, [None, None, None], [column(some(4, "f8"))]),
}  # fmt: skip


def metadata(**pairs):
    words = [word.encode() for pair in pairs.items() for word in pair]
    return struct.pack("=i", len(pairs)) + b"".join(struct.pack("=i", len(word)) + word for word in words)


def test_other_columns_are_refused_by_name(exports):
    number = column(some(2, "f4"), "x")
    for kind, node in OTHER.items():
        remedy = "leave them out, or convert them to numbers"
        named = table(number, replaced(node, name="who"), number)
        for source in (Single(exports, named), Chunks(exports, named)):
            refused(lambda: gradus.kmeans(source, 1), f"points: no numbers in the columns 'who' ({kind}")
            refused(lambda: gradus.KMeans(1).fit(source), f"X: no numbers in the columns 'who' ({kind}")
        refused(lambda: gradus.kmeans(Single(exports, table(node, node)), 1), remedy)
        if kind != "struct":
            refused(lambda: gradus.kmeans(Chunks(exports, node), 1), f"points: a column of the type {kind}")
    refused(
        lambda: gradus.kmeans(Single(exports, table(replaced(OTHER["string"], name="a"), number, replaced(OTHER["bool"], name="b"))), 1),
        "points: no numbers in the columns 'a' (string), 'b' (bool); leave them out, or convert them to numbers",
    )
    for node in (number, lists(some((2, 2), "f4"))):
        extension = replaced(node, name="v", metadata=metadata(**{"other": "x", "ARROW:extension:name": "arrow.bool8"}))
        refused(lambda: gradus.kmeans(Single(exports, table(extension)), 1), "'v' (extension arrow.bool8); leave")
        plain = replaced(node, metadata=metadata(comment="of no matter"))
        assert gradus.kmeans(Single(exports, table(plain)), 1).inertia > 0
    for columns in ((number, lists(some((2, 2), "f4"), name="e")), (lists(some((2, 2), "f4"), name="e"),) * 2):
        refused(lambda: gradus.kmeans(Single(exports, table(*columns)), 1), "points: the column 'e' holds lists; pass it alone, or leave it out")


def test_an_index_that_pandas_stored_is_refused(exports):
    for name in ("__index_level_0__", "__index_level_12__"):
        source = Single(exports, table(column(some(4, "f4"), "x"), column(some(4, "i8"), name)))
        refused(lambda: gradus.kmeans(source, 1), f"points: the column {name!r} is an index of pandas and no coordinate; leave it out")


def test_a_query_is_not_run_if_its_types_are_refused(exports):
    source = Chunks(exports, table(replaced(OTHER["string"], name="a")), fails=1)
    refused(lambda: gradus.kmeans(source, 1), "'a' (string)")


def test_one_column_of_numbers_is_no_matrix(exports):
    for source in (Single(exports, column(some(4, "f4"))), Chunks(exports, column(some(4, "f4")))):
        refused(lambda: gradus.kmeans(source, 1), "points: a column of numbers; a table, with a column for each coordinate", gradus.UsageError)
        with pytest.raises(ValueError):
            gradus.KMeans(1).fit(source)


@pytest.mark.parametrize("dtype", TYPES)
def test_columns_of_weights(exports, dtype):
    points = some((11, 2), "f8")
    weights = np.abs(some(11, dtype).astype(np.float64)).astype(dtype)
    expected = gradus.kmeans(points, 3, weights=weights)
    for node in (column(weights, offset=3), table(column(weights, "w"))):
        for source in (Single(exports, node), Chunks(exports, node)):
            found = gradus.kmeans(points, 3, weights=source)
            assert same(found.centroids, expected.centroids) and found.inertia == expected.inertia
    parts = Chunks(exports, column(weights[:4]), column(weights[4:], offset=1))
    assert gradus.kmeans(points, 3, weights=parts).inertia == expected.inertia
    model = gradus.KMeans(3, random_state=0).fit(points, sample_weight=Chunks(exports, column(weights)))
    assert same(model.cluster_centers_, gradus.KMeans(3, random_state=0).fit(points, sample_weight=weights).cluster_centers_)


def test_weights_with_many_columns_are_refused(exports):
    source = Single(exports, table(*[column(some(4, "f8"))] * 2))
    refused(lambda: gradus.kmeans(np.ones((4, 1)), 1, weights=source), "weights: an array of the shape (4, 2); one dimension", gradus.UsageError)


ODD = 2**53 + 1


def test_inexact_numbers_are_refused_with_their_place(exports):
    rows = np.arange(12).reshape(6, 2)
    rows[4, 1] = ODD
    message = f"is {ODD}, which is not exactly a float64; subtract a constant, or cast it to float64 to round"
    for source, place in [
        (Single(exports, table(column(rows[:, 0], "a"), column(rows[:, 1], "b"))), "row 4, column 1 'b' (counted from 0)"),
        (Chunks(exports, *[table(column(rows[:, 0].astype("f4"), "a"), column(rows[:, 1], "b"))] * 1), "row 4, column 1 'b'"),
        (Chunks(exports, table(column(rows[:3, 1], "b")), table(column(rows[3:, 1], "b"))), "row 4, column 0 'b'"),
        (Chunks(exports, lists(rows[:3]), lists(rows[3:])), "row 4, column 1 (counted from 0)"),
        (Single(exports, lists(rows, "+l", offset=3)), "row 4, column 1 (counted from 0)"),
    ]:
        text, _ = refused(lambda: gradus.kmeans(source, 1), f"points: the value in {place}")
        assert message in text
        refused(lambda: gradus.KMeans(1).fit(source), f"X: the value in {place}")
    weights = Single(exports, column(np.float64([1, 2, 0.1])))
    refused(
        lambda: gradus.kmeans(np.ones((3, 1), np.float32), 1, weights=weights),
        "is 0.1, which is not exactly a float32, the type of points; cast it to float32 to round, or points in float64",
    )
    whole = np.int64([2**53, -(2**53), 2**60])
    assert same(_arrays.matrix(Single(exports, table(column(whole))), "points"), whole.astype(np.float64).reshape(-1, 1))


def test_lists_of_unequal_length_are_refused(exports):
    for kind, form in ((np.int32, "+l"), (np.int64, "+L")):
        def ragged(*offsets):
            return Node(form, len(offsets) - 1, [None, kind(offsets)], [column(some(40, "f4"))])

        need = "lists of equal length are needed"
        refused(lambda: gradus.kmeans(Single(exports, ragged(0, 2, 4, 7, 9)), 1),
                f"points: the list in row 2 (counted from 0) has 3 elements, but the list in row 0 has 2; {need}")  # fmt: skip
        refused(lambda: gradus.kmeans(Single(exports, ragged(0, 2, 4, 4)), 1), "row 2 (counted from 0) has 0 elements")
        refused(lambda: gradus.kmeans(Chunks(exports, ragged(3, 5, 7), ragged(0, 3, 6)), 1), "row 2 (counted from 0) has 3 elements, but")
        refused(lambda: gradus.kmeans(Chunks(exports, ragged(3, 5, 7), ragged(0, 2, 5)), 1), "row 3 (counted from 0) has 3 elements, but")
        assert same(_arrays.matrix(Single(exports, ragged(3, 5, 7, 9)), "points"), some(40, "f4")[3:9].reshape(3, 2))


X = some((6, 2), "f4")
MALFORMED = {  # maps each fault to a node with this fault
    "a negative length": replaced(column(X[:, 0]), array={"length": -1}),
    "a negative offset": replaced(column(X[:, 0]), array={"offset": -8}),
    "a great offset": replaced(column(X[:, 0]), array={"offset": 2**62}),
    "too many nulls": replaced(column(X[:, 0]), array={"null_count": 7}),
    "a null count below -1": replaced(column(X[:, 0]), array={"null_count": -2}),
    "nulls without a bitmap": replaced(column(X[:, 0]), array={"null_count": 1}),
    "no buffers": replaced(column(X[:, 0]), array={"buffers": None}),
    "one buffer": replaced(column(X[:, 0]), array={"n_buffers": 1}),
    "three buffers": replaced(column(X[:, 0]), array={"n_buffers": 3}),
    "no values": replaced(column(X[:, 0]), buffers=[None, None]),
    "a child without memory": replaced(lists(X), array={"n_children": 1, "children": None}),
    "a child of numbers": replaced(column(X[:, 0]), children=[column(X[:, 1])], schema={"n_children": 0}),
    "a column that is shorter": replaced(column(X[:, 0]), array={"length": 5}),
    "lists without elements": replaced(lists(X), array={"n_children": 0}),
    "lists with no pointers": replaced(lists(X), array={"children": None}),
    "elements that are fewer": replaced(lists(X), children=[column(X.ravel()[:11])]),
    "elements that are fewer, with an offset": replaced(lists(X, offset=1), children=[column(X.ravel())]),
    "elements without a buffer": replaced(lists(X), children=[replaced(column(X.ravel()), buffers=[None, None])]),
    "a list format without a number": replaced(lists(X), format="+w:"),
    "a list format of a negative number": replaced(lists(X), format="+w:-2"),
    "a list format of text": replaced(lists(X), format="+w:two"),
    "offsets without a buffer": replaced(lists(X, "+l"), buffers=[None, None]),
    "lists of one buffer": replaced(lists(X, "+l"), array={"n_buffers": 1}),
    "offsets that descend": replaced(lists(X, "+l"), buffers=[None, np.int32([0, 2, 4, 2, 4, 6, 8])]),
    "offsets that are negative": replaced(lists(X, "+L"), buffers=[None, np.arange(-2, 12, 2)]),
    "offsets beyond the elements": replaced(lists(X, "+L"), buffers=[None, np.arange(2, 16, 2)]),
    "offsets that wrap": replaced(lists(X, "+L"), length=2, buffers=[None, np.int64([0, 2**62 + 2**61, -(2**62)])]),
    "more lists than elements": replaced(lists(X), length=2**40),
}  # fmt: skip


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_arrays_are_refused(exports, what):
    node = MALFORMED[what]
    named = table(replaced(node, name="bad"), length=node.length)
    sources = [Single(exports, named), Chunks(exports, named)]
    if node.format[0] == "+":
        sources += [Single(exports, node), Chunks(exports, node)]
        after_others = Chunks(exports, lists(X, node.format[:2]), node, type=node)
        refused(lambda: _arrays.matrix(after_others, "points"), "points: ", gradus.Error)
    for source in sources:
        text, _ = refused(lambda: _arrays.matrix(source, "points"), f"points: the Arrow data of a {type(source).__name__} is malformed: ")
        assert " 'bad' has " in text or "without a name has " in text


def test_malformed_tables_are_refused(exports):
    good = [column(X[:, place], "ab"[place]) for place in range(2)]
    for members in ({"length": -3}, {"offset": -1}, {"n_children": 1}, {"n_children": 3}, {"children": None}, {"n_buffers": 2}, {"length": 7},
                    {"offset": 1}, {"offset": 2**63 - 1}, {"length": 2**63 - 1}, {"null_count": 1}):  # fmt: skip
        for kind in (Single, Chunks):
            text, _ = refused(lambda: gradus.kmeans(kind(exports, replaced(table(*good), array=members)), 1), "is malformed: ")
    for members in ({"format": None}, {"n_children": -1}, {"children": None}, {"n_children": 1, "children": None}):
        for kind in (Single, Chunks):
            refused(lambda: gradus.kmeans(kind(exports, replaced(table(*good), schema=members)), 1), "is malformed: an incomplete schema")


def test_more_rows_than_memory(exports):
    for length in (2**58, 2**60):
        source = Chunks(exports, lists(X), replaced(lists(X), length=length))
        refused(lambda: gradus.kmeans(source, 1), f"points: {length + 6} x 2 elements of float32 do not fit in memory", gradus.OutOfMemoryError)


def test_a_producer_that_fails(exports):
    chunk = lists(X)
    for call, status, text in itertools.product((0, 1, 2, 3), (errno.EIO, errno.ENOMEM), (b"disk on fire", None)):
        message = "disk on fire" if text else errno_text(status)
        source = Chunks(exports, chunk, chunk, fails=call, status=status, text=text)
        refused(lambda: gradus.kmeans(source, 1), f"points: the Chunks could not be read: {message}", gradus.Error)
    with pytest.raises(ValueError):
        gradus.kmeans(type("Odd", (), {"__arrow_c_stream__": lambda self, requested_schema=None: object()})(), 1)


def errno_text(status):
    import os

    return os.strerror(status)


def frame(exports, points):
    """Returns producers of the same points: a table, and a column of lists."""
    cut = len(points) // 3
    return [
        Chunks(exports, *(table(*(column(part[:, place], f"c{place}") for place in range(part.shape[1]))) for part in (points[:cut], points[cut:]))),
        Single(exports, lists(points, "+l", offset=2)),
    ]


CALLS = {
    "kmeans": lambda x: (lambda fit: [fit.centroids, fit.labels, fit.inertia])(gradus.kmeans(x, 3)),
    "kmeans init": lambda x: gradus.kmeans(POINTS, 90, init=x, max_iterations=1).centroids,
    "choose_clusters": lambda x: gradus.choose_clusters(x, range(2, 5)).result.labels,
    "kmeans_initial_centroids": lambda x: gradus.kmeans_initial_centroids(x, 3).centroids,
    "kmeans_predict": lambda x: gradus.kmeans_predict(POINTS[:3], x),
    "kmeans_predict centroids": lambda x: gradus.kmeans_predict(x, POINTS),
    "kmeans_transform": lambda x: gradus.kmeans_transform(POINTS[:3], x),
    "KMeans.fit": lambda x: gradus.KMeans(3, random_state=0).fit(x).cluster_centers_,
    "KMeans.predict": lambda x: gradus.KMeans(3, random_state=0).fit(POINTS).predict(x),
    "KMeans.transform": lambda x: gradus.KMeans(3, random_state=0).fit(POINTS).transform(x),
    "KMeans.fit_transform": lambda x: gradus.KMeans(3, random_state=0).fit_transform(x),
    "KMeans.score": lambda x: gradus.KMeans(3, random_state=0).fit(POINTS).score(x),
    "KMeans init": lambda x: gradus.KMeans(90, init=x, n_init=1).fit(POINTS).cluster_centers_,
    "k_means": lambda x: gradus.k_means(x, 3, random_state=0)[0],
    "pair_histogram": lambda x: gradus.pair_histogram(x, bin_width=9, bins=90).counts,
    "pair_histogram others": lambda x: gradus.pair_histogram(POINTS, others=x, bin_width=9, bins=90).counts,
    "matmul": lambda x: gradus.matmul(np.eye(90, dtype=np.float32), x),
}  # fmt: skip
POINTS = some((90, 3), "f4")


@pytest.mark.parametrize("call", CALLS)
def test_calls_give_the_results_of_numpy(exports, call):
    def flat(found):
        return [np.asarray(one).tobytes() for one in (found if isinstance(found, (list, tuple)) else [found])]

    expected = flat(CALLS[call](POINTS))
    for source in frame(exports, POINTS):
        assert flat(CALLS[call](source)) == expected


def test_batches_of_tables(exports):
    parts = [POINTS[:40], POINTS[40:41], POINTS[41:]]

    def batches():
        yield Single(exports, table(*(column(parts[0][:, place], "abc"[place]) for place in range(3))))
        yield Chunks(exports, lists(parts[1]))
        yield Single(exports, lists(parts[2])), Single(exports, column(np.ones(len(parts[2]))))

    expected = gradus.kmeans_batches(lambda: parts, 3, init=POINTS[:3])
    found = gradus.kmeans_batches(batches, 3, init=POINTS[:3])
    assert same(found.centroids, expected.centroids) and found.inertia == expected.inertia
    whole = gradus.KMeansBatches(POINTS[:3])
    assert same(whole.add(next(batches())), gradus.kmeans_predict(POINTS[:3], parts[0]))


def test_matrices_of_integers_keep_their_type(exports):
    weights = np.int64([[0, 5, 1], [5, 0, 2], [1, 2, 0]])
    for source in frame(exports, weights):
        assert same(gradus.shortest_paths(source).distances, gradus.shortest_paths(weights).distances)


# Libraries


def tables_of_pyarrow(points):
    arrow = pytest.importorskip("pyarrow", minversion="14")
    names = [f"c{place}" for place in range(points.shape[1])]
    one = arrow.table(list(points.T.copy()), names=names)
    uneven = arrow.table([arrow.chunked_array([points[:cut, place], points[cut:, place]]) for place, cut in enumerate((7, 50, 11))], names=names)
    batches = one.to_batches(max_chunksize=13)
    fixed = arrow.FixedSizeListArray.from_arrays(arrow.array(points.ravel()), points.shape[1])
    longer = arrow.concat_arrays([fixed.slice(0, 5), fixed])
    large = arrow.array(points.tolist(), arrow.large_list(arrow.from_numpy_dtype(points.dtype)))
    return [
        one, uneven, arrow.Table.from_batches(batches), arrow.concat_tables([one.slice(80), one]).slice(10),
        one.combine_chunks().to_batches()[0], arrow.RecordBatchReader.from_batches(one.schema, iter(batches)), fixed, longer.slice(5),
        large, large.cast(arrow.list_(arrow.from_numpy_dtype(points.dtype))), arrow.chunked_array([fixed.slice(0, 30), fixed.slice(30)]),
        arrow.table({"embedding": fixed}), arrow.record_batch({"embedding": fixed}), one.to_struct_array() if hasattr(one, "to_struct_array") else one,
    ]  # fmt: skip


def tables_of_polars(points):
    polars = pytest.importorskip("polars", minversion="1.3")
    one = polars.DataFrame(points, schema=[f"c{place}" for place in range(points.shape[1])], orient="row")
    embedding = polars.Series("embedding", points)
    return [one, polars.concat([one[:20], one[20:]], rechunk=False), polars.concat([one, one])[90:], embedding, embedding.to_frame(),
            embedding.cast(polars.List(embedding.dtype.inner)), one.to_struct("all")]  # fmt: skip


def tables_of_duckdb(points):
    duckdb = pytest.importorskip("duckdb")
    if not hasattr(duckdb.DuckDBPyRelation, "__arrow_c_stream__"):
        pytest.skip("this version of duckdb does not export relations")
    names = [f"c{place}" for place in range(points.shape[1])]
    database = duckdb.connect()
    kind = {"float32": "float", "float64": "double", "int16": "smallint"}[points.dtype.name]
    database.execute(f"create table t ({', '.join(f'{name} {kind}' for name in names)}, place integer)")
    database.executemany("insert into t values (?, ?, ?, ?)", [[*map(lambda one: one.item(), row), place] for place, row in enumerate(points)])
    chosen = ", ".join(names)
    return [database.sql(f"select {chosen} from t order by place"), database.sql(f"select [{chosen}] from t order by place"),
            database.sql(f"select array_value({chosen}) from t order by place")]  # fmt: skip


def tables_of_pandas(points):
    pandas = pytest.importorskip("pandas")
    one = pandas.DataFrame(points, columns=[f"c{place}" for place in range(points.shape[1])])
    return [one, one.set_index(np.arange(len(points)) * 3.5)]


def tables_of_nanoarrow(points):
    nanoarrow = pytest.importorskip("nanoarrow")
    arrow = pytest.importorskip("pyarrow")
    fixed = arrow.FixedSizeListArray.from_arrays(arrow.array(points.ravel()), points.shape[1])
    return [nanoarrow.Array(fixed), nanoarrow.Array(arrow.table(list(points.T.copy()), names=["a", "b", "c"]).to_batches()[0])]


LIBRARIES = {"pyarrow": tables_of_pyarrow, "polars": tables_of_polars, "duckdb": tables_of_duckdb, "pandas": tables_of_pandas,
             "nanoarrow": tables_of_nanoarrow}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_tables_of_libraries(library, dtype):
    points = some((90, 3), dtype)
    expected = gradus.kmeans(points, 4)
    for place, source in enumerate(LIBRARIES[library](points)):
        found = gradus.kmeans(source, 4)
        assert same(found.centroids, expected.centroids) and same(found.labels, expected.labels), place
    for place, source in enumerate(LIBRARIES[library](points)):
        found = gradus.KMeans(4, random_state=0).fit(source)
        assert same(found.cluster_centers_, gradus.KMeans(4, random_state=0).fit(points).cluster_centers_), place


def test_names_of_columns_are_scikit_learns():
    arrow, points = pytest.importorskip("pyarrow"), POINTS.astype(np.float64)
    source = arrow.table(list(points.T.copy()), names=["a", "b", "c"])
    model = gradus.KMeans(3, random_state=0).fit(source)
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    assert same(model.predict(source), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(source.rename_columns(["a", "c", "b"]))
    with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3"):
        gradus.KMeans(3).fit(points).predict(source.select(["a", "b"]))
    lists = arrow.table({"embedding": arrow.FixedSizeListArray.from_arrays(arrow.array(points.ravel()), 3)})
    model = gradus.KMeans(3, random_state=0).fit(lists)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 3 and same(model.predict(lists), model.labels_)


def test_lists_of_pyarrow_and_polars_are_used_in_place():
    arrow = pytest.importorskip("pyarrow")
    values = arrow.array(np.arange(30, dtype=np.float32))
    points = _arrays.matrix(arrow.FixedSizeListArray.from_arrays(values, 3).slice(2), "points")
    assert points.ctypes.data == values.buffers()[1].address + 24 and points.shape == (8, 3)
    del values
    gc.collect()
    assert points[0, 0] == 6
    polars = pytest.importorskip("polars")
    series = polars.Series("e", np.arange(30.0).reshape(10, 3))
    assert not _arrays.matrix(series, "points").flags.writeable
    assert not _arrays.matrix(series.to_frame(), "points").flags.owndata


def test_nulls_and_text_in_tables_of_libraries():
    for name, call in (("pyarrow", "drop_null"), ("polars", "drop_nulls")):
        library = pytest.importorskip(name)
        make = library.table if name == "pyarrow" else library.DataFrame
        source = make({"a": [1.0, 2.0, None], "b": [1, 2, 3]})
        refused(lambda: gradus.kmeans(source, 1), f"points: the value in row 2, column 0 'a' (counted from 0) is null; leave such rows out by points.{call}(), or")
        assert gradus.kmeans(getattr(source, call)(), 1).inertia == 1
        source = make({"a": [1.0, 2.0], "who": ["x", "y"], "when": [None, None], "is": [True, False]})
        refused(lambda: gradus.kmeans(source, 1), "no numbers in the columns 'who' (string), 'when' (null), 'is' (bool); leave them out")


def test_columns_of_arrays_in_pandas():
    pandas = pytest.importorskip("pandas")
    lists = [pandas.Series([[1.0, 2.0], [3.0, 4.0]]), pandas.Series([np.float32([1, 2]), np.float32([3, 4])])]
    if "pyarrow" in sys.modules:
        arrow = sys.modules["pyarrow"]
        lists.append(pandas.Series([[1.0, 2.0], [3.0, 4.0]], dtype=pandas.ArrowDtype(arrow.list_(arrow.float64(), 2))))
    for points in lists:
        text, _ = refused(lambda: gradus.kmeans(points, 1), "pass numpy.stack(points)")
        assert gradus.kmeans(np.stack(points), 1).centroids.tolist() == [[2.0, 3.0]]


def test_datasets_of_pyarrow():
    arrow, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    source = dataset.dataset(arrow.table({"a": [1.0, 2.0]}))
    refused(lambda: gradus.kmeans(source, 1), "points: a InMemoryDataset; an array is needed: pass points.to_table()", gradus.UsageError)
    assert gradus.kmeans(source.to_table(), 1).inertia == 0.5
    batches = source.scanner().to_reader()
    assert gradus.kmeans(batches, 1).inertia == 0.5


def test_an_index_of_pandas_is_no_coordinate():
    pandas = pytest.importorskip("pandas")
    source = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])
    assert gradus.kmeans(source, 1).centroids.tolist() == [[1.5, 3.5]]


# Arrays that are mapped from files


def test_mapped_files_are_used_in_place(tmp_path):
    np.save(tmp_path / "points.npy", POINTS)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert np.shares_memory(_arrays.matrix(mapped, "points"), mapped)
    assert np.shares_memory(_arrays.matrix(mapped[10:, 1:], "points"), mapped)


def test_mapped_tensors_are_used_in_place(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.from_numpy(POINTS), tmp_path / "points.pt")
    POINTS.tofile(tmp_path / "points.raw")
    for tensor in (
        torch.load(tmp_path / "points.pt", mmap=True),
        torch.from_file(str(tmp_path / "points.raw"), size=POINTS.size, dtype=torch.float32).reshape(POINTS.shape),
    ):
        points = _arrays.matrix(tensor, "points")
        assert points.ctypes.data == tensor.data_ptr() and same(points, POINTS)
