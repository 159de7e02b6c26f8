"""Who asks: an access key and the account that it speaks for."""

from typing import Protocol

from msgspec import Struct


class AccessKey(Struct, frozen=True):
    """A key ends at `expires_ms`; None never. One that is not enabled signs nothing."""

    key_id: str
    secret: str
    account: str
    enabled: bool = True
    expires_ms: int | None = None

    def __repr__(self) -> str:
        return f"AccessKey({self.key_id!r}, account={self.account!r})"


class Keyring(Protocol):
    def find(self, key_id: str) -> AccessKey | None:
        """Also one that is disabled or has expired: the verifier tells why it does not serve."""
        ...
