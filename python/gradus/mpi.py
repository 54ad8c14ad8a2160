"""k-means on the rows of many processes of MPI, which the functions take as `communicator=`:

    from mpi4py import MPI
    own = gradus.mpi.rows_of_rank(len(points), MPI.COMM_WORLD)
    result = gradus.kmeans(points[own], 4096, communicator=MPI.COMM_WORLD)

Gradus meets MPI in a library of its own, which is opened by the first such call. It has to be of the MPI of mpi4py.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import os
import sys
from typing import Any, Callable, Iterator, NoReturn, TypeVar

from gradus import _core, _errors
from gradus._errors import Error, UnsupportedError, UsageError
from gradus._options import names_arguments, request

Result = TypeVar("Result")

_VARIABLE = "GRADUS_MPI_LIBRARY"
_NAME = "libgradus_mpi_process.so"


def library() -> str:
    """The file by which Gradus meets MPI: that of the package, or the one that GRADUS_MPI_LIBRARY names."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", _NAME)
    return os.environ.get(_VARIABLE, own)


@functools.lru_cache(maxsize=1)
def _opened(file: str) -> ctypes.CDLL:
    # Stays open to the end of the process, as MPI does.
    try:
        functions = ctypes.CDLL(file)
        functions.gradus_mpi_library_version.restype = ctypes.c_char_p
        functions.gradus_mpi_open.restype = ctypes.c_void_p
        functions.gradus_mpi_open.argtypes = [
            ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
        ]  # fmt: skip
        functions.gradus_mpi_close.restype = None
        functions.gradus_mpi_close.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError) as error:
        raise UnsupportedError.about(
            "communicator", f"the library by which Gradus meets MPI cannot be used ({error}); install Gradus where "
            f"MPI is (GRADUS_MPI=ON), or name the {_NAME} of an installation in {_VARIABLE}"
        ) from error
    return functions


def library_version() -> str:
    """What the MPI of that library says of itself. UnsupportedError where there is no such library."""
    version: bytes = _opened(library()).gradus_mpi_library_version()
    return version.decode()


def _checked(communicator: Any) -> Any:
    """The module MPI of mpi4py, to which the communicator belongs; which is of our MPI."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not isinstance(communicator, mpi.Intracomm) or communicator == mpi.COMM_NULL:
        raise UsageError.about(
            "communicator", f"{communicator!r}; one of mpi4py is needed whose processes are of one group, such as MPI.COMM_WORLD"
        )
    ours, theirs = library_version(), mpi.Get_library_version().rstrip("\0")
    if ours != theirs:
        raise UnsupportedError.about(
            "communicator", f"it is of {theirs!r}, but {library()!r} is of {ours!r}; both have to be of the same MPI: "
            "install mpi4py from source (pip install --no-binary mpi4py mpi4py), or build Gradus, with that of the other"
        )
    return mpi


def _agreed(communicator: Any, prepared: Callable[[], Result]) -> Result:
    """prepared() on all processes. Where it fails on one, nobody is left waiting for it: all raise."""
    caught: Exception | None = None
    try:
        result = prepared()
    except Exception as error:  # noqa: BLE001: whatever it is, the others have to know
        caught = error
    trouble = None if caught is None else (type(caught).__name__, str(caught), getattr(caught, "__dict__", {}))
    troubles = communicator.allgather(trouble)
    if caught is not None:
        raise caught
    for rank, trouble in enumerate(troubles):
        if trouble is not None:
            name, text, fields = trouble
            kind = getattr(_errors, name, Error)
            raise kind(f"rank {rank} of {communicator.size}: {text}", **(fields if hasattr(_errors, name) else {}))
    return result


def end_for_all(communicator: Any, error: Exception) -> NoReturn:
    """Raises what was wrong with a call before it began, here and on the processes that did begin it."""

    def prepared() -> NoReturn:
        raise error

    _checked(communicator)
    _agreed(communicator, prepared)
    raise error


@contextlib.contextmanager
def _joined(communicator: Any, request: _core.Request) -> Iterator[None]:
    """The request on a copy of the communicator, which no message of the caller's is mistaken in."""
    mpi = sys.modules["mpi4py.MPI"]
    functions = _opened(library())
    why = ctypes.create_string_buffer(500)
    opened = functions.gradus_mpi_open(
        _core.version().encode(), mpi._addressof(communicator), mpi._sizeof(communicator), why, len(why)
    )
    if not opened:
        raise UnsupportedError.about("communicator", why.value.decode())
    try:
        request.communicator = opened
        yield
    finally:
        request.communicator = None
        functions.gradus_mpi_close(opened)


def run(communicator: Any, function: Callable[..., Result], prepared: Callable[[], tuple[Any, ...]]) -> tuple[tuple[Any, ...], Result]:
    """prepared(), and the function of the compiled part with what it gives, of which the last is the request."""
    _checked(communicator)

    def converted() -> tuple[Any, ...]:
        """What the compiled part refuses, it refuses here: behind this, the others would wait for a process that raises."""
        arguments = prepared()
        arguments[-1].only_checks = True
        try:
            function(*arguments)
        except StopIteration:
            pass
        finally:
            arguments[-1].only_checks = False
        return arguments

    arguments = _agreed(communicator, converted)
    with _joined(communicator, arguments[-1]):
        return arguments, function(*arguments)


@names_arguments
def rows_of_rank(rows: int, communicator: Any) -> slice:
    """The rows of this process where `rows` are split evenly over the processes of `communicator`, in the order of the
    ranks, as the program splits the rows of its files. All processes call this with the same number of rows."""

    def prepared() -> tuple[Any, ...]:
        return operator.index(rows), request("cpu", None, 1, "none", None, None, None, None)

    _, (first, count) = run(communicator, _core.rows_of_rank, prepared)
    return slice(first, first + count)
