"""Columns of integers as numpy sees them, whether they come from numpy or from Arrow."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = ArrayLike | Any
"""A numpy array, an Arrow array or chunked array, or a sequence of numbers."""


def integers(column: Column) -> Integers:
    _refuse_nulls(column)
    array = np.asarray(column)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"a column of integers was expected, not of {array.dtype}")
    return array.astype(np.int64, copy=False)


def flags(column: Column) -> Flags:
    _refuse_nulls(column)
    return np.asarray(column).astype(np.bool_, copy=False)


def _refuse_nulls(column: Column) -> None:
    """Arrow would turn a column with nulls into floats without a word."""
    nulls = getattr(column, "null_count", 0)
    if nulls:
        raise ValueError(f"{nulls} values of the column are null: leave those rows out")
