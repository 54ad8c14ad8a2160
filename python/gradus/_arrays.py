"""Converts arrays of any library to arrays that the extension module accepts, without a copy where possible."""

from __future__ import annotations

import math
import numbers
import os
import sys
from decimal import Decimal
from typing import Any

import numpy as np

from gradus import _arrow, _gpu, _numbers
from gradus._errors import InputError, UnsupportedError, UsageError
from gradus._gpu import OnGpu

Host = np.ndarray[Any, Any]
Placed = Any  # a NumPy array or an OnGpu


def _refuse_gradients(source: Any, what: str) -> None:
    if getattr(source, "requires_grad", False):
        raise UsageError.about(what, f"the tensor requires gradients, which are not computed here: pass {what}.detach()")


def _refuse_non_array(source: Any, what: str) -> None:
    """Raises UsageError for a path, file, sparse matrix or lazy frame, and names the call that converts it to an array."""
    kind, way = type(source).__name__, None
    if isinstance(source, (str, bytes, os.PathLike)):
        kind, way = "path", f"numpy.load({os.fspath(source)!r}); the program, python -m gradus, reads files itself"
    elif isinstance(source, np.lib.npyio.NpzFile):
        arrays = source.files
        if {"format", "shape", "data"} <= set(arrays):
            kind, way = "file of scipy.sparse.save_npz", "scipy.sparse.load_npz(file).toarray()"
        elif arrays:
            kind, way = f"file of the arrays {', '.join(arrays)}", f"{what}[{arrays[0]!r}]"
    elif hasattr(source, "tocsr") and hasattr(source, "toarray"):
        size = math.prod(source.shape) * source.dtype.itemsize
        kind, way = f"sparse {kind}", f"{what}.toarray(), which takes {size} bytes"
        if what == "points":
            way += "; for clusters, gradus.KMeans takes it as it is"
    elif "sparse" in str(getattr(source, "layout", "")):  # PyTorch
        kind, way = f"sparse {kind}", f"{what}.to_dense()"
    elif not hasattr(source, "__array__"):
        calls = ("collect", "compute", "to_table", "toPandas", "to_pandas", "execute")  # methods of lazy and remote data frames
        call = next((name for name in calls if callable(getattr(source, name, None))), None)
        way = None if call is None else f"{what}.{call}()"
    if way is not None:
        raise UsageError.about(what, f"a {kind}; an array is needed: pass {way}")


def refuse_gpu(source: Any, what: str) -> None:
    if _gpu.is_on_gpu(source):
        raise UnsupportedError.about(
            what, f"the array is on a GPU, but must be in host memory here: pass {_gpu.host_copy_call(source, what)}"
        )


def _to_numpy(source: Any, what: str) -> Host:
    if isinstance(source, np.ndarray):
        if not isinstance(source, np.ma.MaskedArray):
            return source
        if not np.ma.is_masked(source):
            return source.data
        rows = f"numpy.ma.compress_rows({what}) for the rows without masked elements, or " if source.ndim == 2 else ""
        raise InputError.about(what, f"a masked array; pass {rows}{what}.filled(value)")
    if _arrow.is_offered(source):
        return _arrow.array(source, what, lambda types: np.result_type(*types))
    _refuse_gradients(source, what)
    refuse_gpu(source, what)
    if not _numbers.is_untyped(source):
        _refuse_non_array(source, what)
    if not hasattr(source, "__array__") and hasattr(source, "__dlpack__"):
        return np.from_dlpack(source)
    if "bfloat16" in str(getattr(source, "dtype", "")) and hasattr(source, "float"):
        source = source.float()  # exact; NumPy lacks bfloat16
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise InputError.about(what, f"not an array of numbers: {error}") from error
    if array.dtype == object and array.ndim == 0 and not isinstance(source, (numbers.Number, Decimal)):
        raise UsageError.about(what, f"a {type(source).__name__}; an array of numbers is needed")
    if array.dtype == object and hasattr(source, "dtypes"):
        array = _numbers_of_frame(source, what)
    _numbers.refuse_lost_integers(source, array, what)
    return array


def _numbers_of_frame(frame: Any, what: str) -> Host:
    """Converts a data frame with nullable columns, such as pandas' Int64, to float64; missing values become NaN."""
    first = frame.iloc[0] if frame.ndim == 1 and len(frame) > 0 else None
    if isinstance(first, (list, tuple, np.ndarray)):
        raise InputError.about(what, f"a column whose elements are of the type {type(first).__name__}: pass numpy.stack({what})")
    columns = zip(getattr(frame, "columns", ()), np.atleast_1d(np.asarray(frame.dtypes, dtype=object)))
    without = [repr(name) for name, dtype in columns if getattr(dtype, "kind", "O") not in "biuf"]
    if without:
        raise InputError.about(what, f"no numbers in the columns {', '.join(without)}; leave them out")
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def matrix(
    source: Any, what: str, dtype: np.dtype[Any] | None = None, stream: int | None = None
) -> Placed:
    """Returns a two-dimensional array with contiguous rows. Copies the source only if the layout or the type must
    change.

    `dtype` is the wanted type (None: float32 or float64, whichever fits the source). Raises InputError if the wanted
    type cannot represent an element exactly, and UsageError unless there are two dimensions.
    """
    if _arrow.is_offered(source):
        source = _points_of_arrow(source, what, dtype)
    if not isinstance(source, np.ndarray):
        _refuse_gradients(source, what)
        if _gpu.is_on_gpu(source):
            return _gpu.as_rows(source, what, 2, dtype, stream)
    array = _to_numpy(source, what)
    if array.ndim != 2:
        _numbers.refuse_shape(array.shape, what)
    return with_contiguous_rows(_numbers.in_type(array, what, dtype, _numbers.is_untyped(source)))


class Parts:
    """Points in several arrays, which may be on several GPUs. Stands for the array of all their rows."""

    def __init__(self, arrays: list[Placed]) -> None:
        self.arrays = arrays
        self.dtype: np.dtype[Any] = arrays[0].dtype

    def __len__(self) -> int:
        return sum(map(len, self.arrays))

    def split(self, rows: Host) -> list[Any]:
        """Returns the rows of each array, as an array of the same library in the same place."""
        ends = np.cumsum([len(array) for array in self.arrays])
        return [come_out(rows[end - len(array) : end], array) for array, end in zip(self.arrays, ends)]


def is_list_of_arrays(source: Any) -> bool:
    """Returns true for a list or tuple of arrays of two dimensions."""
    return isinstance(source, (list, tuple)) and len(source) > 0 and all(
        not isinstance(one, (list, tuple)) and len(getattr(one, "shape", ())) == 2 for one in source
    )


_STORED = {"uint8": "u8", "int8": "i8", "float16": "f16", "bfloat16": "bf16"}


def stored_type(dtype: Any) -> str | None:
    """Returns the name of a type of 8 or 16 bits whose arrays points() keeps, otherwise None. Accepts types of NumPy,
    ml_dtypes and PyTorch."""
    return _STORED.get(getattr(dtype, "name", str(dtype).rpartition(".")[2]))


def points(source: Any, stream: int | None) -> tuple[Placed, str | None]:
    """Returns the points as matrix() does, and None. NumPy arrays, and PyTorch tensors in host memory, of a type of 8 or 16
    bits are not converted: returns them and the name of their type. Elements of 16 bits then are the bits, as uint16.
    """
    name = stored_type(getattr(source, "dtype", None))
    array = None if name is None or getattr(source, "ndim", 0) != 2 else _in_stored_type(source)
    if array is None:
        return matrix(source, "points", None, stream), None
    return with_contiguous_rows(array if array.itemsize == 1 else array.view(np.uint16)), name


def type_of_job(rows: Placed, stored: str | None) -> np.dtype[Any]:
    """Returns the type of centroids, weights and distances for the result of points()."""
    return rows.dtype if stored is None else np.dtype(np.float32)


def _in_stored_type(source: Any) -> Host | None:
    """Returns the elements as an array, whose bits are the bits of the source, or None if matrix() must convert them."""
    if isinstance(source, np.ndarray):
        return source if source.dtype.isnative and not isinstance(source, np.ma.MaskedArray) else None
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(source, torch.Tensor) or source.requires_grad:
        return None
    if source.device.type != "cpu" or source.layout != torch.strided:
        return None
    return (source if source.element_size() == 1 else source.view(torch.int16)).numpy()  # type: ignore[no-any-return]


def points_or_parts(source: Any, stream: int | None) -> tuple[Placed, str | None]:
    """Returns points(), or Parts and None for a list of arrays. All parts get the same type."""
    if not is_list_of_arrays(source):
        return points(source, stream)
    if stream is not None:
        raise UsageError.about("stream", "a stream belongs to one GPU, but the points are a list of arrays; leave it out")
    arrays = [matrix(one, "points") for one in source]
    common = np.result_type(*(array.dtype for array in arrays))
    parts = [array if array.dtype == common else matrix(one, "points", common) for one, array in zip(source, arrays)]
    return Parts(parts), None


def _points_of_arrow(source: Any, what: str, dtype: np.dtype[Any] | None) -> Host:
    found = _arrow.array(source, what, lambda types: np.result_type(np.float32, *types) if dtype is None else dtype)
    if found.ndim == 2:
        return found
    raise UsageError.about(
        what, "a column of numbers; a table, with a column for each coordinate, or a column of lists, with a list for each "
        "point, is needed: pass a table of one column for points of one coordinate"
    )


def with_contiguous_rows(array: Host) -> Host:
    """Returns the array itself if its rows are contiguous and aligned, otherwise a copy in C order."""
    rows, columns = array.shape
    apart = array.strides[0]
    in_place = (columns <= 1 or array.strides[1] == array.itemsize) and (
        rows <= 1 or (apart >= columns * array.itemsize and apart % array.itemsize == 0)
    )
    return array if in_place and array.flags.aligned else np.ascontiguousarray(array)


def batch(source: Any, what: str, dtype: np.dtype[Any] | None = None) -> tuple[Host, str | None]:
    """Returns a three-dimensional array in host memory, a matrix for each problem, and the name of its type of 8 or 16 bits
    or None, like points(). If `dtype` is given, converts the elements to this type. Copies the source only if the
    elements of a row are not contiguous, if rows are not in ascending order, or if the type must change."""
    name = stored_type(getattr(source, "dtype", None)) if dtype is None else None
    array = None if name is None else _in_stored_type(source)
    if array is None:
        name, array = None, _to_numpy(source, what)
        array = _numbers.in_type(array, what, dtype, _numbers.is_untyped(source))
    elif array.itemsize == 2:
        array = array.view(np.uint16)
    if array.ndim != 3:
        raise UsageError.about(
            what, f"an array of the shape {array.shape}; three dimensions are needed, a matrix for each problem"
        )
    first = array[0] if len(array) > 0 else None
    in_place = first is not None and with_contiguous_rows(first) is first and array.strides[0] % array.itemsize == 0
    return array if in_place and array.flags.aligned else np.ascontiguousarray(array), name


def vector(source: Any, what: str, dtype: np.dtype[Any], stream: int | None = None) -> Placed:
    if _arrow.is_offered(source):
        source = _arrow.array(source, what, lambda types: dtype)
        source = source[:, 0] if source.shape[1:] == (1,) else source  # a table of one column
    if not isinstance(source, np.ndarray):
        _refuse_gradients(source, what)
        if _gpu.is_on_gpu(source):
            return _gpu.as_rows(source, what, 1, dtype, stream)
    array = _to_numpy(source, what)
    if array.ndim != 1:
        raise UsageError.about(what, f"an array of the shape {array.shape}; one dimension is needed")
    return np.ascontiguousarray(_numbers.in_type(array, what, dtype, _numbers.is_untyped(source)))


def column(source: Any, what: str) -> Host:
    """Returns numbers, or rows of one number, as an n x 1 array of float32 or float64 in host memory."""
    array = _to_numpy(source, what)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise UsageError.about(what, f"an array of the shape {array.shape}; one dimension is needed")
    return with_contiguous_rows(_numbers.in_type(array, what, None, _numbers.is_untyped(source)))


def host_vector(source: Any, what: str) -> Host:
    """Returns numbers as a one-dimensional array of float64 in host memory."""
    refuse_gpu(source, what)
    numbers: Host = vector(source, what, np.dtype(np.float64))
    return numbers


def numbers_of(source: Any, what: str) -> list[float]:
    """Converts an array, a number or None to a list of float64."""
    if source is None:
        return []
    array = _to_numpy(source, what).ravel()  # a triclinic box is a matrix of row vectors
    return vector(array, what, np.dtype(np.float64)).tolist()  # type: ignore[no-any-return]


def _place(array: Placed) -> str:
    if isinstance(array, Parts):
        return "a list of arrays"
    return f"on GPU {array.gpu}" if isinstance(array, OnGpu) else "in host memory"


def on_one_gpu(**arrays: Placed) -> None:
    """Raises UsageError if the arrays are on more than one GPU. Some or all arrays may be in host memory."""
    there = [(name, array) for name, array in arrays.items() if isinstance(array, OnGpu)]
    for name, array in there[1:]:
        if array.gpu != there[0][1].gpu:
            refuse_place(name, array, *there[0])


def refuse_place(what: str, array: Placed, other_name: str, other: Placed) -> None:
    raise UsageError.about(
        what, f"the array is {_place(array)}, but {other_name} {_place(other)}; both must be in the same place"
        + (f": pass {_gpu.host_copy_call(array.source, what)}" if isinstance(array, OnGpu) and _is_host(other) else "")
    )


def _is_host(array: Placed) -> bool:
    return not isinstance(array, OnGpu)


def new(shape: tuple[int, ...], dtype: np.dtype[Any], like: Placed, stream: int | None) -> Placed:
    """Allocates memory for a result: on the GPU of `like`, if `like` is on a GPU and its library can allocate memory
    there, otherwise in host memory."""
    made = _gpu.new(shape, dtype, like, stream) if isinstance(like, OnGpu) else None
    return np.empty(shape, dtype) if made is None else made


def come_out(result: Placed, like: Placed) -> Any:
    """Returns a result as an array of the library of `like`, on the same GPU. If `like` is in host memory, returns a
    NumPy array."""
    if isinstance(result, OnGpu):
        return result.source
    return _gpu.copied_from_host(result, like) if isinstance(like, OnGpu) else result


def output(
    out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: Placed, stream: int | None = None
) -> Placed:
    """Checks and returns `out`. If `out` is None, allocates memory.

    Raises UsageError unless `out` is writable, in C order, of the given shape and type, and in the same memory as the
    first input. If `out` is in host memory, it must not overlap an input.
    """
    where = inputs[0]
    if out is None:
        return new(shape, dtype, where, stream)
    if isinstance(out, np.ndarray) and isinstance(where, np.ndarray):
        if out.shape != shape or out.dtype != dtype:
            _refuse_shape(out.dtype, out.shape, dtype, shape)
        _check_order(out.flags.c_contiguous, out.flags.writeable)
        if any(isinstance(read, np.ndarray) and np.may_share_memory(out, read) for read in inputs):
            raise UsageError.about("out", "its memory overlaps an input")
        return out
    if not isinstance(out, np.ndarray):
        _refuse_gradients(out, "out")
        if not _gpu.is_on_gpu(out):
            raise UsageError.about(
                "out", f"a {type(out).__name__}; an array {'of NumPy' if _is_host(where) else _place(where)} is needed"
            )
    written = out if isinstance(out, np.ndarray) else _gpu.imported(out, "out", stream)
    if _place(written) != _place(where):
        raise UsageError.about("out", f"the array is {_place(written)}, but the input is {_place(where)}")
    assert isinstance(written, OnGpu)
    if written.shape != shape or written.element != dtype.name:
        _refuse_shape(written.element, written.shape, dtype, shape)
    _check_order(written.is_c_contiguous(), not written.read_only)
    return written


def _refuse_shape(dtype: Any, shape: tuple[int, ...], wanted_type: np.dtype[Any], wanted: tuple[int, ...]) -> None:
    raise UsageError.about("out", f"{dtype} of the shape {shape}; {wanted_type} of the shape {wanted} is needed")


def _check_order(in_order: bool, writable: bool) -> None:
    if not in_order:
        raise UsageError.about("out", "the elements are not contiguous in C order")
    if not writable:
        raise UsageError.about("out", "the array is read-only")
