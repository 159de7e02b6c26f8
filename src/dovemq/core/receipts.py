"""Receipts as signed text: an invalid or foreign receipt is recognised without a look-up."""

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
"""Together with the packed form this is a multiple of three, so the text needs no padding."""
_TEXT_LENGTH: Final = (_FORM.size + _TAG_BYTES) * 4 // 3
_TO_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


class ReceiptCodec:
    def __init__(self, key: bytes) -> None:
        # Copying a keyed state takes half the time of making one for each receipt.
        self._keyed = hashlib.blake2b(digest_size=_TAG_BYTES, key=key)

    def encode(self, receipt: Receipt) -> str:
        packed = _FORM.pack(
            _VERSION,
            receipt.queue_number,
            receipt.partition,
            receipt.sequence,
            receipt.receive_count,
            receipt.leased_ms,
        )
        tag = self._keyed.copy()
        tag.update(packed)
        text = binascii.b2a_base64(packed + tag.digest(), newline=False)
        return text.translate(_TO_URL_SAFE).decode("ascii")

    def decode(self, text: str, queue_number: int) -> Receipt:
        """The receipt, if this service made it for this queue; else `ReceiptInvalid`."""
        raw = _raw(text)
        packed = raw[: _FORM.size]
        tag = self._keyed.copy()
        tag.update(packed)
        if not hmac.compare_digest(raw[_FORM.size :], tag.digest()):
            raise ReceiptInvalid(text)
        version, number, partition, sequence, receive_count, leased_ms = _FORM.unpack(packed)
        if version != _VERSION or number != queue_number:
            raise ReceiptInvalid(text)
        return Receipt(number, partition, sequence, receive_count, leased_ms)


def _raw(text: str) -> bytes:
    if len(text) != _TEXT_LENGTH or not text.isascii():
        raise ReceiptInvalid(text)
    try:
        return binascii.a2b_base64(text.encode().translate(_FROM_URL_SAFE), strict_mode=True)
    except binascii.Error:
        raise ReceiptInvalid(text) from None
