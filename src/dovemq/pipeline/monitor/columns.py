"""Rows as columns of numpy that belong together, and their way into one blob and back."""

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
"""Instead of a checksum that is not there."""


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Its fields are arrays of one length; the first field tells it."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def picked(self, which: Any) -> Self:
        return type(self)(*(column[which] for column in self.named().values()))

    def followed_by(self, other: Self) -> Self:
        pairs = zip(self.named().values(), other.named().values(), strict=True)
        return type(self)(*(np.concatenate(pair) for pair in pairs))

    def named(self) -> dict[str, NDArray[Any]]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

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
        """As they happened: of one moment sends first, then by front end and its own count."""
        return self.picked(
            np.lexsort((self.receive_seq, self.front_end, self.kind, self.moment_us))
        )


@dataclass(frozen=True, slots=True)
class RememberedMessages(ColumnSet):
    """What is remembered of each message; `crc` is that of its send, until then of its lease."""

    message: Integers
    heard_us: Integers
    stream: Integers
    seq: Integers
    crc: Integers
    sent: Flags = field(metadata={"of": np.bool_})
    received: Flags = field(metadata={"of": np.bool_})
    intact: Flags = field(metadata={"of": np.bool_})


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {prefix + name: array for name, array in arrays.items()}


def to_blob(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def of_blob(blob: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(blob), allow_pickle=False) as file:
        return dict(file)
