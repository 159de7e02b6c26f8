"""Receipts as text: unforgeable, so a garbage or foreign receipt is known without a look-up."""

import base64
import binascii
import hashlib
import hmac
import struct
from typing import Final

from dovemq.core.commands import Receipt
from dovemq.core.errors import ReceiptInvalid

_FORM: Final = struct.Struct(">BIHQIQ")
_VERSION: Final = 1
_TAG_BYTES: Final = 9
"""With the packed form a multiple of three, so the text needs no padding."""
_TEXT_LENGTH: Final = (_FORM.size + _TAG_BYTES) * 4 // 3


class ReceiptCodec:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def encode(self, receipt: Receipt) -> str:
        packed = _FORM.pack(
            _VERSION,
            receipt.queue_number,
            receipt.partition,
            receipt.sequence,
            receipt.receive_count,
            receipt.leased_ms,
        )
        return base64.urlsafe_b64encode(packed + self._tag(packed)).decode("ascii")

    def decode(self, text: str, queue_number: int) -> Receipt:
        """The receipt, if it was made here and for this queue."""
        raw = _raw(text)
        packed, tag = raw[: _FORM.size], raw[_FORM.size :]
        if not hmac.compare_digest(tag, self._tag(packed)):
            raise ReceiptInvalid(text)
        version, *fields = _FORM.unpack(packed)
        receipt = Receipt(*fields)
        if version != _VERSION or receipt.queue_number != queue_number:
            raise ReceiptInvalid(text)
        return receipt

    def _tag(self, packed: bytes) -> bytes:
        return hashlib.blake2b(packed, digest_size=_TAG_BYTES, key=self._key).digest()


def _raw(text: str) -> bytes:
    if len(text) != _TEXT_LENGTH or not text.isascii():
        raise ReceiptInvalid(text)
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except binascii.Error:
        raise ReceiptInvalid(text) from None
