"""The MD5 digests by which clients check the messages that they sent and received."""

import hashlib
from collections.abc import Mapping
from typing import Final

from dovemq.core.message import Attribute

_TEXT: Final = b"\x01"
_BINARY: Final = b"\x02"
_EMPTY: Final = hashlib.md5(usedforsecurity=False)


def md5_of_body(body: str) -> str:
    # Copying an empty state takes less time than looking the algorithm up.
    digest = _EMPTY.copy()
    digest.update(body.encode())
    return digest.hexdigest()


def md5_of_attributes(attributes: Mapping[str, Attribute]) -> str | None:
    """The digest of the attributes in order of their names; None if there are none."""
    if not attributes:
        return None
    digest = hashlib.md5(usedforsecurity=False)
    for name in sorted(attributes):
        attribute = attributes[name]
        digest.update(_with_length(name.encode()))
        digest.update(_with_length(attribute.type.encode()))
        value = attribute.value
        if isinstance(value, bytes):
            digest.update(_BINARY + _with_length(value))
        else:
            digest.update(_TEXT + _with_length(value.encode()))
    return digest.hexdigest()


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
