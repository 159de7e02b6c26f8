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
_DATED_FORM: Final = struct.Struct(">BIHQIQQ")
_DATED_VERSION: Final = 2
"""The form with the end of the lease, for receipts that have one."""
_TAG_BYTES: Final = 9
_DATED_TAG_BYTES: Final = 10
"""Together with its packed form each is a multiple of three, so the text needs no padding."""
_TEXT_LENGTH: Final = (_FORM.size + _TAG_BYTES) * 4 // 3
_DATED_LENGTH: Final = (_DATED_FORM.size + _DATED_TAG_BYTES) * 4 // 3
_TO_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


class ReceiptCodec:
    def __init__(self, key: bytes) -> None:
        # Copying a keyed state takes half the time of making one for each receipt.
        self._keyed = hashlib.blake2b(digest_size=_TAG_BYTES, key=key)
        self._dated = hashlib.blake2b(digest_size=_DATED_TAG_BYTES, key=key)

    def encode(self, receipt: Receipt) -> str:
        if receipt.until_ms:
            return _text(_packed_dated(receipt), self._dated)
        packed = _FORM.pack(
            _VERSION,
            receipt.queue_number,
            receipt.partition,
            receipt.sequence,
            receipt.receive_count,
            receipt.leased_ms,
        )
        return _text(packed, self._keyed)

    def decode(self, text: str, queue_number: int) -> Receipt:
        """The receipt, if this service made it for this queue; else `ReceiptInvalid`."""
        raw = _raw(text)
        dated = len(text) == _DATED_LENGTH
        form, keyed = (_DATED_FORM, self._dated) if dated else (_FORM, self._keyed)
        packed = raw[: form.size]
        tag = keyed.copy()
        tag.update(packed)
        if not hmac.compare_digest(raw[form.size :], tag.digest()):
            raise ReceiptInvalid(text)
        version, number, *rest = form.unpack(packed)
        if version != (_DATED_VERSION if dated else _VERSION) or number != queue_number:
            raise ReceiptInvalid(text)
        return Receipt(number, *rest)


def _packed_dated(receipt: Receipt) -> bytes:
    return _DATED_FORM.pack(
        _DATED_VERSION,
        receipt.queue_number,
        receipt.partition,
        receipt.sequence,
        receipt.receive_count,
        receipt.leased_ms,
        receipt.until_ms,
    )


def _text(packed: bytes, keyed: "hashlib.blake2b") -> str:
    tag = keyed.copy()
    tag.update(packed)
    text = binascii.b2a_base64(packed + tag.digest(), newline=False)
    return text.translate(_TO_URL_SAFE).decode("ascii")


def _raw(text: str) -> bytes:
    if len(text) not in (_TEXT_LENGTH, _DATED_LENGTH) or not text.isascii():
        raise ReceiptInvalid(text)
    try:
        return binascii.a2b_base64(text.encode().translate(_FROM_URL_SAFE), strict_mode=True)
    except binascii.Error:
        raise ReceiptInvalid(text) from None
