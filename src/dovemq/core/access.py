"""Access keys, and the accounts that they belong to."""

import string
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

_KEY_ID_PREFIX: Final = "AKIA"
_KEY_ID_ALPHABET: Final = string.ascii_uppercase + "234567"
_KEY_ID_LENGTH: Final = 20
_SECRET_ALPHABET: Final = string.ascii_letters + string.digits
_SECRET_LENGTH: Final = 40

Choose = Callable[[str], str]
"""Chooses one of the characters: `secrets.choice`, or a predictable function in tests."""


class AccessKey(Struct, frozen=True):
    """A key ends at `expires_ms`, or never for None. A key that is not enabled signs nothing."""

    key_id: str
    secret: str
    account: str
    enabled: bool = True
    expires_ms: int | None = None

    def __repr__(self) -> str:
        return f"AccessKey({self.key_id!r}, account={self.account!r})"


class Keyring(Protocol):
    def find(self, key_id: str) -> AccessKey | None:
        """The key of that id, even if it is disabled or expired: the verifier says why it fails."""


def new_key_id(choose: Choose) -> str:
    return _KEY_ID_PREFIX + "".join(
        choose(_KEY_ID_ALPHABET) for _ in range(_KEY_ID_LENGTH - len(_KEY_ID_PREFIX))
    )


def new_secret(choose: Choose) -> str:
    return "".join(choose(_SECRET_ALPHABET) for _ in range(_SECRET_LENGTH))
