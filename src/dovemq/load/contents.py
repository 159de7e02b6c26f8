"""What a message of a load run carries: who sent it as which number, and filler up to a length.

The label stands at the head of the body, so that it goes through any SQS endpoint and a receiver
needs no other word about a message.
"""

import binascii
from typing import Final

from msgspec import Struct

_SEPARATOR: Final = ":"
_FIELD: Final = "."


class Label(Struct, frozen=True):
    """`run` names the load run and holds neither period nor colon."""

    run: str
    sender: int
    send_seq: int


def new_body(label: Label, filler: str) -> str:
    return f"{label.run}.{label.sender}.{label.send_seq}{_SEPARATOR}{filler}"


def label_of(body: str) -> Label | None:
    """None when the body was not made here, or its head did not survive."""
    head, separator, _ = body.partition(_SEPARATOR)
    fields = head.split(_FIELD)
    if not separator or len(fields) != 3 or not (fields[1].isdecimal() and fields[2].isdecimal()):
        return None
    return Label(fields[0], int(fields[1]), int(fields[2]))


def crc32(body: str) -> int:
    return binascii.crc32(body.encode())
