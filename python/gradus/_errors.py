"""Exceptions of the library. Each class also derives from the most similar built-in exception."""

from __future__ import annotations

from typing import Any, TypeVar

AnyError = TypeVar("AnyError", bound="Error")


class Error(RuntimeError):
    """Base class of all errors. Raised directly for a run-time failure such as a full disk.

    Attributes describe the error for programs. An attribute is None if there is no such information.
    """

    code: str = "failed"  #: stable name of the kind of error
    argument: str | None = None  #: name of the argument
    file: str | None = None
    row: int | None = None  #: row of an array (counted from 0) or line of a text file (counted from 1)
    column: int | None = None  #: column, counted like `row`
    byte: int | None = None  #: position in the file, in bytes, counted from 0
    value: str | None = None  #: the refused value
    allowed: str | None = None  #: the allowed values
    remedy: str | None = None  #: what you can do

    def __init__(self, *args: object, **fields: Any) -> None:
        super().__init__(*args)
        self.__dict__.update(fields)

    @classmethod
    def about(cls: type[AnyError], argument: str, text: str, **fields: Any) -> AnyError:
        """Returns an error whose text begins with the name of an argument."""
        return cls(f"{argument}: {text}", argument=argument, **fields)


class UsageError(Error, ValueError):
    """Raised for an invalid option or argument. Also a ValueError."""

    code = "bad_argument"


class InputError(Error, ValueError):
    """Raised for invalid data, such as NaN in an array or a damaged file. Also a ValueError."""

    code = "bad_input"


class UnsupportedError(Error, NotImplementedError):
    """Raised if this machine or this build cannot do what the call asks. Also a NotImplementedError."""

    code = "not_supported"


class OutOfMemoryError(Error, MemoryError):
    """Raised if host or GPU memory, or `memory_limit`, does not suffice. Also a MemoryError."""

    code = "out_of_memory"
