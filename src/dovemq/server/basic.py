"""HTTP Basic: an access key as user and password, for clients that cannot sign."""

import base64
import binascii
import hmac
from typing import Final

from dovemq.core.access import AccessKey, Keyring
from dovemq.core.errors import AccessKeyUnknown

SCHEME: Final = "Basic"
_WRONG: Final = "The access key or its secret is wrong, or the key is disabled or has expired."


def basic_key(authorization: str, keyring: Keyring, now_ms: int) -> AccessKey:
    """The key whose id and secret the header holds; all errors have one text."""
    try:
        decoded = base64.b64decode(
            authorization.removeprefix(SCHEME).strip(), validate=True
        ).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise AccessKeyUnknown(_WRONG) from None
    key_id, _, secret = decoded.partition(":")
    key = keyring.find(key_id)
    # Compared also without a key, so that the time does not reveal which ids exist.
    same = hmac.compare_digest(secret.encode(), (key.secret if key else secret + "!").encode())
    if key is None or not same or not key.enabled:
        raise AccessKeyUnknown(_WRONG)
    if key.expires_ms is not None and key.expires_ms <= now_ms:
        raise AccessKeyUnknown(_WRONG)
    return key
