"""What an account is: its keys, its quotas, and its role in the admin API.

Owns the rules on values; `service/accounts.py` keeps them, `core/access.py` is what a signature
is checked against.
"""

import enum

from msgspec import Struct


class Role(enum.Enum):
    """What an account may do in the admin API; each may do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Quotas(Struct, frozen=True):
    """None: no limit. Bytes are those of stored messages."""

    queues_max: int | None = None
    bytes_max: int | None = None
    requests_per_second_max: int | None = None


class Credential(Struct, frozen=True):
    """One access key of an account, as it is kept."""

    key_id: str
    secret: str
    created_ms: int
    enabled: bool = True
    expires_ms: int | None = None

    def __repr__(self) -> str:
        return f"Credential({self.key_id!r})"


class Account(Struct, frozen=True):
    """`number` is the twelve digits; `version` counts the writes of the store."""

    number: str
    name: str
    created_ms: int
    role: Role | None = None
    quotas: Quotas = Quotas()
    credentials: tuple[Credential, ...] = ()
    password_hash: str | None = None
    enabled: bool = True
    version: int = 0

    def __repr__(self) -> str:
        return f"Account({self.number!r}, {self.name!r})"
