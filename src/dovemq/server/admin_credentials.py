"""Access keys of accounts over the admin API. A secret is in the answer that tells of its making,
and in no other.
"""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from dovemq.core import limits
from dovemq.core.accounts import Credential, Role
from dovemq.server.admin_accounts import named_account
from dovemq.server.admin_desk import Asked, Desk, Route
from dovemq.server.admin_views import Document, credential_document

LIFETIME_MS_MAX: Final = 100 * 365 * limits.DAY_MS

Lifetime = Annotated[int, Meta(ge=1, le=LIFETIME_MS_MAX)]
"""Milliseconds from now on."""


class NewCredential(Struct, frozen=True, forbid_unknown_fields=True):
    lifetime_ms: Lifetime | None = None


class CredentialChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """A lifetime of null: it never ends."""

    enabled: bool | None = None
    lifetime_ms: Lifetime | UnsetType | None = UNSET


class Rotation(Struct, frozen=True, forbid_unknown_fields=True):
    grace_ms: int = limits.DAY_MS


async def add_credential(desk: Desk, asked: Asked) -> Document:
    wanted: NewCredential = asked.body
    account = named_account(desk, asked)
    ends_ms = _end_ms(desk, wanted.lifetime_ms)
    made = await desk.service.accounts.add_credential(account.number, expires_ms=ends_ms)
    return _made(asked, account.number, made)


async def rotate_credential(desk: Desk, asked: Asked) -> Document:
    wanted: Rotation = asked.body
    number, key_id = _named_credential(desk, asked)
    made = await desk.service.accounts.rotate(number, key_id, grace_ms=wanted.grace_ms)
    return _made(asked, number, made)


async def change_credential(desk: Desk, asked: Asked) -> Document:
    wanted: CredentialChanges = asked.body
    number, key_id = _named_credential(desk, asked)
    expires_ms: int | UnsetType | None = UNSET
    if wanted.lifetime_ms is not UNSET:
        expires_ms = _end_ms(desk, wanted.lifetime_ms)
    changed = await desk.service.accounts.change_credential(
        number, key_id, enabled=wanted.enabled, expires_ms=expires_ms
    )
    return {"account": number, **credential_document(changed)}


async def remove_credential(desk: Desk, asked: Asked) -> Document:
    number, key_id = _named_credential(desk, asked)
    await desk.service.accounts.remove_credential(number, key_id)
    return {"removed": key_id}


def _named_credential(desk: Desk, asked: Asked) -> tuple[str, str]:
    number, key_id = named_account(desk, asked).number, asked.path["key_id"]
    asked.target = f"{number}/{key_id}"
    return number, key_id


def _end_ms(desk: Desk, lifetime_ms: int | None) -> int | None:
    return None if lifetime_ms is None else desk.now_ms + lifetime_ms


def _made(asked: Asked, number: str, made: Credential) -> Document:
    asked.notes["key_id"] = made.key_id
    return {"account": number, **credential_document(made), "secret": made.secret}


CREDENTIAL_ROUTES: Final = (
    Route(
        "add credential",
        "POST",
        "/v1/accounts/{account}/credentials",
        "A new access key; its secret is told only now.",
        add_credential,
        Role.ADMIN,
        body=NewCredential,
        audited=True,
    ),
    Route(
        "change credential",
        "PATCH",
        "/v1/accounts/{account}/credentials/{key_id}",
        "Disables or enables a key, or sets its end.",
        change_credential,
        Role.ADMIN,
        body=CredentialChanges,
        audited=True,
    ),
    Route(
        "remove credential",
        "DELETE",
        "/v1/accounts/{account}/credentials/{key_id}",
        "The key signs nothing more.",
        remove_credential,
        Role.ADMIN,
        audited=True,
    ),
    Route(
        "rotate credential",
        "POST",
        "/v1/accounts/{account}/credentials/{key_id}/rotations",
        "A new key; the old one ends after `grace_ms`, by default a day.",
        rotate_credential,
        Role.ADMIN,
        body=Rotation,
        audited=True,
    ),
)
