"""Sets of NumPy columns of equal length, and their form as bytes."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dovemq.models.consistency.columns import Flags, Integers

SENT: Final = 0
LEASED: Final = 1
UNKNOWN: Final = -1
"""The value of a missing checksum."""


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns of equal length, as fields of a data class."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def picked(self, which: Any) -> Self:
        return type(self)(*(column[which] for column in self.named().values()))

    def followed_by(self, other: Self) -> Self:
        pairs = zip(self.named().values(), other.named().values(), strict=True)
        return type(self)(*(np.concatenate(pair) for pair in pairs))

    def named(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        return {prefix + each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def none(cls) -> Self:
        return cls(*(np.empty(0, each.metadata.get("of", np.int64)) for each in fields(cls)))

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self:
        return cls(*(arrays[prefix + each.name] for each in fields(cls)))


@dataclass(frozen=True, slots=True)
class MonitoredRows(ColumnSet):
    """Sends and leases. `message` and `stream` are hashes of the message id and of the sender."""

    moment_us: Integers
    kind: Integers
    message: Integers
    stream: Integers
    seq: Integers
    crc: Integers
    front_end: NDArray[np.str_] = field(metadata={"of": np.str_})
    receive_seq: Integers

    def in_order(self) -> "MonitoredRows":
        """Sorts by time; at the same time sends come first, then leases by front end and its
        count."""
        return self.picked(
            np.lexsort((self.receive_seq, self.front_end, self.kind, self.moment_us))
        )


@dataclass(frozen=True, slots=True)
class RememberedMessages(ColumnSet):
    """The remembered messages; `crc` is the checksum of the send, or of the lease if it came
    first."""

    message: Integers
    heard_us: Integers
    stream: Integers
    seq: Integers
    crc: Integers
    sent: Flags = field(metadata={"of": np.bool_})
    received: Flags = field(metadata={"of": np.bool_})
    intact: Flags = field(metadata={"of": np.bool_})


def to_blob(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def of_blob(blob: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(blob), allow_pickle=False) as file:
        return dict(file)
