"""Who asks: an access key and the account that it speaks for."""

from typing import Protocol

from msgspec import Struct


class AccessKey(Struct, frozen=True):
    key_id: str
    secret: str
    account: str

    def __repr__(self) -> str:
        return f"AccessKey({self.key_id!r}, account={self.account!r})"


class Keyring(Protocol):
    def find(self, key_id: str) -> AccessKey | None: ...
