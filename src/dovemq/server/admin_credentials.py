"""Routes for access keys. A secret is in the answer that creates its key, and in no other."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from dovemq.core import limits
from dovemq.core.accounts import Credential, Role
from dovemq.server.admin_accounts import credential_route, named_account
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document, credential_document

LIFETIME_MS_MAX: Final = 100 * 365 * limits.DAY_MS

Lifetime = Annotated[int, Meta(ge=1, le=LIFETIME_MS_MAX)]
"""Milliseconds from now."""


class NewCredential(Struct, frozen=True, forbid_unknown_fields=True):
    lifetime_ms: Lifetime | None = None


class CredentialChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of an access key; with a lifetime of null it never expires."""

    enabled: bool | None = None
    lifetime_ms: Lifetime | UnsetType | None = UNSET


class CredentialRotation(Struct, frozen=True, forbid_unknown_fields=True):
    grace_ms: int = limits.DAY_MS


@credential_route("POST", "/v1/accounts/{account}/credentials", body=NewCredential)
async def add_credential(admin: AdminContext, call: AdminCall) -> Document:
    """Adds an access key; its secret is shown only here."""
    wanted: NewCredential = call.body
    account = named_account(admin, call)
    ends_ms = _end_ms(admin, wanted.lifetime_ms)
    made = await admin.service.accounts.add_credential(account.number, expires_ms=ends_ms)
    return _made(call, account.number, made)


@credential_route(
    "POST", "/v1/accounts/{account}/credentials/{key_id}/rotations", body=CredentialRotation
)
async def rotate_credential(admin: AdminContext, call: AdminCall) -> Document:
    """Adds a new key; the old one expires after `grace_ms`, by default a day."""
    wanted: CredentialRotation = call.body
    number, key_id = _named_credential(admin, call)
    made = await admin.service.accounts.rotate(number, key_id, grace_ms=wanted.grace_ms)
    return _made(call, number, made)


@credential_route("PATCH", "/v1/accounts/{account}/credentials/{key_id}", body=CredentialChanges)
async def change_credential(admin: AdminContext, call: AdminCall) -> Document:
    """Disables or enables a key, or sets its expiry."""
    wanted: CredentialChanges = call.body
    number, key_id = _named_credential(admin, call)
    expires_ms: int | UnsetType | None = UNSET
    if wanted.lifetime_ms is not UNSET:
        expires_ms = _end_ms(admin, wanted.lifetime_ms)
    changed = await admin.service.accounts.change_credential(
        number, key_id, enabled=wanted.enabled, expires_ms=expires_ms
    )
    return {"account": number, **credential_document(changed)}


@AdminRoute("DELETE", "/v1/accounts/{account}/credentials/{key_id}", Role.ADMIN, audited=True)
async def remove_credential(admin: AdminContext, call: AdminCall) -> Document:
    """Removes a key."""
    number, key_id = _named_credential(admin, call)
    await admin.service.accounts.remove_credential(number, key_id)
    return {"removed": key_id}


def _named_credential(admin: AdminContext, call: AdminCall) -> tuple[str, str]:
    number, key_id = named_account(admin, call).number, call.path["key_id"]
    call.target = f"{number}/{key_id}"
    return number, key_id


def _end_ms(admin: AdminContext, lifetime_ms: int | None) -> int | None:
    return None if lifetime_ms is None else admin.now_ms + lifetime_ms


def _made(call: AdminCall, number: str, made: Credential) -> Document:
    call.notes["key_id"] = made.key_id
    return {"account": number, **credential_document(made), "secret": made.secret}
