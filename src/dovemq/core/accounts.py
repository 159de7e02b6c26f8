"""An account: its keys, its quotas, and its role in the admin API.

This module owns the rules on their values. `service/accounts.py` stores accounts, and
`core/access.py` has the keys that signatures are checked against.
"""

import enum
import re
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.access import Choose
from dovemq.core.errors import InvalidValue

ROOT_NAME: Final = "root"
ROOT_NUMBER: Final = "000000000000"
"""The number of the root account, unless the operator sets another."""

_NUMBER: Final = re.compile(r"[0-9]{12}", re.ASCII)
_NUMBER_LENGTH: Final = 12
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


class Role(enum.Enum):
    """A role in the admin API. Each role may do what the roles before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Quotas(Struct, frozen=True):
    """Limits of an account; None is no limit. Bytes are those of stored messages."""

    queues_max: int | None = None
    bytes_max: int | None = None
    requests_per_second_max: int | None = None


class Credential(Struct, frozen=True):
    """One access key of an account, as it is stored."""

    key_id: str
    secret: str
    created_ms: int
    enabled: bool = True
    expires_ms: int | None = None

    def expired(self, now_ms: int) -> bool:
        return self.expires_ms is not None and self.expires_ms <= now_ms

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


def new_number(choose: Choose) -> str:
    return "".join(choose("0123456789") for _ in range(_NUMBER_LENGTH))


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def check_number(number: str) -> None:
    if not is_number(number):
        raise InvalidValue("account", number, "An account is twelve digits.")


def check_name(name: str) -> None:
    """A name must not be digits alone: it could be mistaken for a number."""
    if not _NAME.fullmatch(name) or name.isdigit():
        raise InvalidValue(
            "name",
            name,
            "Letters, digits, hyphens, underscores and periods, 1 to 64, and not digits alone.",
        )


def check_password(password: str) -> None:
    if not limits.PASSWORD_LENGTH.holds(len(password)):
        least, most = limits.PASSWORD_LENGTH
        raise InvalidValue(
            "password", f"of {len(password)} characters", f"It has {least} to {most} characters."
        )


def check_quotas(quotas: Quotas) -> None:
    for name in quotas.__struct_fields__:
        value = getattr(quotas, name)
        if value is not None and not limits.QUOTA.holds(value):
            least, most = limits.QUOTA
            raise InvalidValue(name, value, f"A quota is a number from {least} to {most}.")
