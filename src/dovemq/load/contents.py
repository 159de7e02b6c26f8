"""The body of a message of a load run: a label, a checksum and random filler.

Label and checksum are at the start of the body, so they pass through any SQS endpoint.
"""

import base64
import binascii
import random
from typing import Final

from msgspec import Struct

_SEPARATOR: Final = ":"
_FIELD: Final = "."
_CHECKSUM_LENGTH: Final = 8
STARTS_MIN: Final = 65_536
"""The least number of different filler texts."""


class Label(Struct, frozen=True):
    """Identifies a message. `run` is the name of the load run, without period and colon."""

    run: str
    sender: int
    send_seq: int


def new_body(label: Label, filler: str) -> str:
    head = f"{label.run}.{label.sender}.{label.send_seq}"
    return f"{head}.{crc32(filler):08x}{_SEPARATOR}{filler}"


class Filler:
    """Random text for bodies of up to `size` bytes.

    A filler is a piece of one long text: drawing each anew would cost as much as signing it.
    """

    def __init__(self, size: int, rng: random.Random) -> None:
        self._rng = rng
        self._starts = max(STARTS_MIN, size)
        self._text = base64.b64encode(rng.randbytes(self._starts + size))

    def body(self, label: Label, size: int) -> tuple[str, int]:
        """Returns a body of `size` bytes, or longer if the label needs it, and its checksum."""
        begin = f"{label.run}.{label.sender}.{label.send_seq}."
        room = max(0, size - len(begin) - len(_SEPARATOR) - _CHECKSUM_LENGTH)
        start = int(self._rng.random() * self._starts)
        filler = self._text[start : start + room]
        head = f"{begin}{binascii.crc32(filler):08x}{_SEPARATOR}"
        checksum = binascii.crc32(filler, binascii.crc32(head.encode()))
        return head + filler.decode("ascii"), checksum


def label_of(body: str) -> Label | None:
    """Returns None if the body was not made here, or its start is damaged."""
    head, separator, _ = body.partition(_SEPARATOR)
    fields = head.split(_FIELD)
    if not separator or len(fields) != 4 or not (fields[1].isdecimal() and fields[2].isdecimal()):
        return None
    return Label(fields[0], int(fields[1]), int(fields[2]))


def is_intact(body: str) -> bool:
    """Tells whether the filler matches the checksum in the body."""
    head, _, filler = body.partition(_SEPARATOR)
    return head.endswith(f"{_FIELD}{crc32(filler):08x}")


def crc32(body: str) -> int:
    return binascii.crc32(body.encode())
