"""Columns of integers as numpy arrays, from numpy or from Arrow."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovemq.models.errors import ModelParameterInvalid

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = ArrayLike | Any
"""A numpy array, an Arrow array or chunked array, or a sequence of numbers."""


def integers(column: Column) -> Integers:
    _refuse_nulls(column)
    array = np.asarray(column)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"the column has type {array.dtype}: integers are needed")
    return array.astype(np.int64, copy=False)


def flags(column: Column) -> Flags:
    _refuse_nulls(column)
    return np.asarray(column).astype(np.bool_, copy=False)


def _refuse_nulls(column: Column) -> None:
    """Refuses nulls, because Arrow would silently turn such a column into floats."""
    nulls = getattr(column, "null_count", 0)
    if nulls:
        raise ModelParameterInvalid("nulls in a column", nulls, "0; leave out those rows: it")
