"""Accounts with their keys and passwords: stored by the store, looked up in memory.

Implements `core.access.Keyring`. Changes are made one at a time, by compare-and-set. Others see
a change after it is durable, also if its caller has gone away. The root account cannot be
disabled or removed, and the key of its key file is not written to the store.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

import argon2
import msgspec
from msgspec import UNSET, UnsetType

from dovemq.core import errors, limits
from dovemq.core.access import AccessKey, Choose, new_key_id, new_secret
from dovemq.core.accounts import (
    Account,
    Credential,
    Quotas,
    Role,
    check_name,
    check_number,
    check_password,
    check_quotas,
    is_number,
    new_number,
)
from dovemq.core.ports import Catalogue, Clock
from dovemq.service.passwords import Passwords
from dovemq.service.register import NO_QUOTAS, Register
from dovemq.system.outcomes import let_go_unread

T = TypeVar("T")
Edit = Callable[[Account], Account]

ATTEMPTS_MAX: Final = 100


class Accounts:
    def __init__(
        self,
        catalogue: Catalogue,
        clock: Clock,
        root: str,
        *,
        choose: Choose = secrets.choice,
        hasher: argon2.PasswordHasher | None = None,
    ) -> None:
        self.root = root
        self._catalogue = catalogue
        self._clock = clock
        self._choose = choose
        self._passwords = Passwords(hasher or argon2.PasswordHasher())
        self._register = Register(root, clock.now_ms())
        self._keys = self._register.keys
        self._writing = asyncio.Lock()
        self._leaving: set[str] = set()
        self.bytes_max = self._register.bytes_max

    async def load(self) -> None:
        """Read all accounts; called at the start and after a lost race."""
        self._register.replace_all(await self._catalogue.accounts())

    async def refresh(self) -> None:
        """Read all accounts again, since another front end has changed one."""
        await self._alone(self.load())

    def use_root_key(self, key: AccessKey) -> None:
        self._register.use_root_key(key)

    def find(self, key_id: str) -> AccessKey | None:
        return self._keys.get(key_id)

    def quotas(self, number: str) -> Quotas:
        return self._register.quotas(number)

    def get(self, number: str) -> Account:
        return self._register.shown(self._held(number))

    def resolve(self, text: str) -> Account:
        """The account of that number or name."""
        return self.get(text if is_number(text) else self._register.number_of(text) or text)

    def all(self) -> list[Account]:
        return [self._register.shown(account) for account in self._register]

    def check_stays(self, number: str) -> None:
        """Refuse new queues of an account that is being removed."""
        if number in self._leaving:
            raise errors.AccountMissing(number)

    async def add(
        self,
        name: str,
        *,
        number: str | None = None,
        role: Role | None = None,
        quotas: Quotas = NO_QUOTAS,
    ) -> Account:
        check_name(name)
        check_quotas(quotas)
        if number is not None:
            check_number(number)
        return await self._alone(self._add(name, number, role, quotas))

    async def change(
        self,
        number: str,
        *,
        name: str | UnsetType = UNSET,
        role: Role | UnsetType | None = UNSET,
        quotas: Quotas | UnsetType = UNSET,
        enabled: bool | UnsetType = UNSET,
    ) -> Account:
        if name is not UNSET:
            check_name(name)
        if quotas is not UNSET:
            check_quotas(quotas)
        if number == self.root and (role not in (UNSET, Role.ADMIN) or enabled is False):
            raise errors.AccountProtected("The root account stays enabled, and an admin.")
        given = {"name": name, "role": role, "quotas": quotas, "enabled": enabled}
        changes = {field: value for field, value in given.items() if value is not UNSET}
        return await self._edit(number, lambda held: msgspec.structs.replace(held, **changes))

    async def remove(self, number: str) -> None:
        """Remove an account that owns no queues."""
        if number == self.root:
            raise errors.AccountProtected("The root account cannot be removed.")
        await self._alone(self._remove(number))

    async def set_password(self, number: str, password: str) -> None:
        check_password(password)
        self.get(number)
        await self._keep_password(number, password)

    async def password_holds(self, name_or_number: str, password: str) -> Account | None:
        """The account with this password; None if it is wrong or the account is disabled."""
        number = self._register.number_of(name_or_number) or name_or_number
        account = self._register.account(number)
        kept = account.password_hash if account else None
        if not await self._passwords.holds(kept, password) or kept is None:
            return None
        if self._passwords.stale(kept):
            with contextlib.suppress(errors.DoveError):
                # A right password is accepted also while the store accepts no writes.
                await self._keep_password(number, password)
        now = self._register.account(number)
        return self._register.shown(now) if now and now.enabled else None

    async def add_credential(self, number: str, *, expires_ms: int | None = None) -> Credential:
        """Create a key. Its secret is returned here and nowhere else."""
        made = self._new_credential(expires_ms)
        await self._edit(number, lambda held: self._with_credential(held, made))
        return made

    async def rotate(self, number: str, key_id: str, *, grace_ms: int) -> Credential:
        """Replace a key by a new one. The old one stays valid for `grace_ms`, or until its end."""
        if not limits.ROTATION_GRACE_MS.holds(grace_ms):
            most = limits.ROTATION_GRACE_MS.most
            raise errors.InvalidValue("grace_ms", grace_ms, f"From 0 to {most}.")
        made = self._new_credential(None)
        until_ms = made.created_ms + grace_ms

        def edited(held: Account) -> Account:
            old = self._credential(held, key_id)
            ends_ms = until_ms if old.expires_ms is None else min(old.expires_ms, until_ms)
            ending = msgspec.structs.replace(old, expires_ms=ends_ms)
            return self._with_credential(_with_changed(held, ending), made)

        await self._edit(number, edited)
        return made

    async def change_credential(
        self,
        number: str,
        key_id: str,
        *,
        enabled: bool | None = None,
        expires_ms: int | UnsetType | None = UNSET,
    ) -> Credential:
        def edited(held: Account) -> Account:
            old = self._credential(held, key_id)
            changed = msgspec.structs.replace(
                old,
                enabled=old.enabled if enabled is None else enabled,
                expires_ms=old.expires_ms if expires_ms is UNSET else expires_ms,
            )
            return _with_changed(held, changed)

        account = await self._edit(number, edited)
        return self._credential(account, key_id)

    async def remove_credential(self, number: str, key_id: str) -> None:
        def edited(held: Account) -> Account:
            removed = self._credential(held, key_id)
            return _with_credentials(held, (each for each in held.credentials if each != removed))

        await self._edit(number, edited)

    async def _keep_password(self, number: str, password: str) -> None:
        made = await self._passwords.hash(password)
        await self._edit(number, lambda held: msgspec.structs.replace(held, password_hash=made))

    async def _edit(self, number: str, edit: Edit) -> Account:
        return await self._alone(self._replace(number, edit))

    async def _alone(self, change: Coroutine[Any, Any, T]) -> T:
        """Run one change at a time, to its end, so that memory and store agree."""

        async def changed() -> T:
            async with self._writing:
                return await change

        changing = asyncio.ensure_future(changed())
        let_go_unread(changing)
        return await asyncio.shield(changing)

    async def _add(
        self, name: str, number: str | None, role: Role | None, quotas: Quotas
    ) -> Account:
        for _ in range(ATTEMPTS_MAX):
            if len(self._register) >= limits.ACCOUNTS_MAX:
                raise errors.LimitReached(f"There are {limits.ACCOUNTS_MAX} accounts already.")
            chosen = number or self._free_number()
            if self._register.account(chosen) is not None:
                raise errors.AccountExists(chosen)
            if self._register.number_of(name) is not None:
                raise errors.AccountExists(name)
            account = Account(chosen, name, self._clock.now_ms(), role, quotas)
            if await self._catalogue.save_account(account):
                return self._saved(account)
            await self.load()
        raise errors.InvariantError(f"account {name} met another {ATTEMPTS_MAX} times in a row")

    async def _replace(self, number: str, edit: Edit) -> Account:
        for _ in range(ATTEMPTS_MAX):
            held = self._held(number)
            changed = edit(held)
            if changed == held:
                return self._register.shown(held)
            if self._register.number_of(changed.name) not in (None, number):
                raise errors.AccountExists(changed.name)
            if await self._catalogue.save_account(changed):
                return self._saved(changed)
            await self.load()
        raise errors.InvariantError(f"account {number} changed {ATTEMPTS_MAX} times in a row")

    async def _remove(self, number: str) -> None:
        self._held(number)
        # From now on new queues are refused: one created before the removal would have no owner.
        self._leaving.add(number)
        try:
            if not await self._catalogue.remove_account(number):
                await self.load()
                if self._register.account(number) is not None:
                    raise errors.AccountNotEmpty(number)
            self._register.forget(number)
        finally:
            self._leaving.discard(number)

    def _saved(self, account: Account) -> Account:
        account = msgspec.structs.replace(account, version=account.version + 1)
        self._register.hold(account)
        return self._register.shown(account)

    def _held(self, number: str) -> Account:
        account = self._register.account(number)
        if account is None:
            raise errors.AccountMissing(number)
        return account

    def _free_number(self) -> str:
        for _ in range(ATTEMPTS_MAX):
            number = new_number(self._choose)
            if self._register.account(number) is None and number.strip("0"):
                return number
        raise errors.InvariantError(f"{ATTEMPTS_MAX} chosen account numbers were taken")

    def _new_credential(self, expires_ms: int | None) -> Credential:
        made_ms = self._clock.now_ms()
        for _ in range(ATTEMPTS_MAX):
            key_id = new_key_id(self._choose)
            if key_id not in self._keys:
                secret = new_secret(self._choose)
                return Credential(key_id, secret, made_ms, expires_ms=expires_ms)
        raise errors.InvariantError(f"{ATTEMPTS_MAX} chosen key ids were taken")

    def _with_credential(self, account: Account, made: Credential) -> Account:
        held = account.credentials
        if len(held) >= limits.CREDENTIALS_MAX:
            held = tuple(each for each in held if not each.expired(made.created_ms))
        if len(held) >= limits.CREDENTIALS_MAX:
            raise errors.LimitReached(
                f"Account {account.number} has {limits.CREDENTIALS_MAX} access keys: remove one."
            )
        return _with_credentials(account, (*held, made))

    def _credential(self, account: Account, key_id: str) -> Credential:
        root_key = self._register.root_key
        if root_key is not None and root_key.key_id == key_id:
            raise errors.AccountProtected(
                "This key of the root account lives in its key file: remove that file, and the "
                "next start makes another."
            )
        for each in account.credentials:
            if each.key_id == key_id:
                return each
        raise errors.CredentialMissing(account.number, key_id)


def _with_credentials(account: Account, credentials: Iterable[Credential]) -> Account:
    return msgspec.structs.replace(account, credentials=tuple(credentials))


def _with_changed(account: Account, changed: Credential) -> Account:
    return _with_credentials(
        account,
        (changed if each.key_id == changed.key_id else each for each in account.credentials),
    )
