"""Routes for accounts. They never show a secret or the hash of a password."""

from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dovemq.core.accounts import Account, Quotas, Role
from dovemq.server.admin_context import PAGE, PAGE_DEFAULT, AdminCall, AdminContext, AdminRoute
from dovemq.server.admin_views import Document, account_document

credential_route: Final = partial(AdminRoute, role=Role.ADMIN, audited=True, credentials=True)
"""A route that makes or changes access keys or passwords."""


class QuotaChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of quotas; null removes a quota."""

    queues_max: int | UnsetType | None = UNSET
    bytes_max: int | UnsetType | None = UNSET
    requests_per_second_max: int | UnsetType | None = UNSET

    def applied(self, quotas: Quotas) -> Quotas:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        changes = {name: value for name, value in given.items() if value is not UNSET}
        return msgspec.structs.replace(quotas, **changes)


class NewAccount(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    number: str | None = None
    role: Role | None = None
    quotas: QuotaChanges = QuotaChanges()


class AccountChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of an account; null removes the role."""

    name: str | UnsetType = UNSET
    role: Role | UnsetType | None = UNSET
    quotas: QuotaChanges = QuotaChanges()
    enabled: bool | UnsetType = UNSET


class NewPassword(Struct, frozen=True, forbid_unknown_fields=True):
    password: str

    def __repr__(self) -> str:
        return "NewPassword()"


def named_account(admin: AdminContext, call: AdminCall) -> Account:
    """The account of the path, by number or name; it is recorded by its number."""
    account = admin.service.accounts.resolve(call.path["account"])
    call.target = account.number
    return account


@AdminRoute("GET", "/v1/accounts", Role.ADMIN, query=("after", "limit"))
async def list_accounts(admin: AdminContext, call: AdminCall) -> Document:
    """Accounts by number, with role, quotas and keys."""
    count_max = call.number("limit", PAGE_DEFAULT, PAGE)
    after = call.query.get("after", "")
    following = [each for each in admin.service.accounts.all() if each.number > after]
    page = following[:count_max]
    return {
        "accounts": [account_document(account) for account in page],
        "next": page[-1].number if len(following) > count_max else None,
    }


@AdminRoute("GET", "/v1/accounts/{account}", Role.ADMIN)
async def show_account(admin: AdminContext, call: AdminCall) -> Document:
    """One account, by number or name, here and below."""
    return account_document(named_account(admin, call))


@AdminRoute("POST", "/v1/accounts", Role.ADMIN, body=NewAccount, audited=True)
async def add_account(admin: AdminContext, call: AdminCall) -> Document:
    """Adds an account, which has no key yet."""
    wanted: NewAccount = call.body
    account = await admin.service.accounts.add(
        wanted.name,
        number=wanted.number,
        role=wanted.role,
        quotas=wanted.quotas.applied(Quotas()),
    )
    call.target = account.number
    return account_document(account)


@AdminRoute("PATCH", "/v1/accounts/{account}", Role.ADMIN, body=AccountChanges, audited=True)
async def change_account(admin: AdminContext, call: AdminCall) -> Document:
    """Changes the given fields; null removes a role or a quota."""
    wanted: AccountChanges = call.body
    async with admin.changing:
        account = named_account(admin, call)
        changed = await admin.service.accounts.change(
            account.number,
            name=wanted.name,
            role=wanted.role,
            quotas=wanted.quotas.applied(account.quotas),
            enabled=wanted.enabled,
        )
    if not changed.enabled:
        admin.sessions.end_all(account.number)
    return account_document(changed)


@AdminRoute("DELETE", "/v1/accounts/{account}", Role.ADMIN, audited=True)
async def remove_account(admin: AdminContext, call: AdminCall) -> Document:
    """Removes an account that owns no queues."""
    account = named_account(admin, call)
    await admin.service.accounts.remove(account.number)
    admin.sessions.end_all(account.number)
    return {"removed": account.number}


@credential_route(
    "PUT", "/v1/accounts/{account}/password", body=NewPassword, unrecorded=("password",)
)
async def set_password(admin: AdminContext, call: AdminCall) -> Document:
    """Sets the password for logins, and ends the sessions of the account."""
    wanted: NewPassword = call.body
    account = named_account(admin, call)
    await admin.service.accounts.set_password(account.number, wanted.password)
    # A client that knows only the old password must not keep its session.
    admin.sessions.end_all(account.number)
    return {"changed": account.number}
