"""Accounts in memory: by number, by name, by access key.

The root account is always present, and the key of its key file is its first key. It is not in the
store until it is changed. The register checks and writes nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dovemq.core.access import AccessKey
from dovemq.core.accounts import ROOT_NAME, Account, Credential, Quotas, Role

NO_QUOTAS: Final = Quotas()


class Register:
    def __init__(self, root: str, now_ms: int) -> None:
        self.root = root
        self.root_key: AccessKey | None = None
        self.bytes_max: dict[str, int] = {}
        """The accounts that have this quota, so that the others need one look-up."""
        self._created_ms = now_ms
        self._accounts: dict[str, Account] = {}
        self._numbers: dict[str, str] = {}
        self.keys: dict[str, AccessKey] = {}
        """Access keys by id, also those that are disabled or have expired."""
        self.replace_all(())

    def __len__(self) -> int:
        return len(self._accounts)

    def __iter__(self) -> Iterator[Account]:
        return (self._accounts[number] for number in sorted(self._accounts))

    def replace_all(self, accounts: Iterable[Account]) -> None:
        for number in list(self._accounts):
            self.forget(number)
        for account in accounts:
            self.hold(account)
        if self.root not in self._accounts:
            self.hold(self._new_root())

    def use_root_key(self, key: AccessKey) -> None:
        self.root_key = key
        self._root_key_prevails()

    def account(self, number: str) -> Account | None:
        """The account as the store has it."""
        return self._accounts.get(number)

    def number_of(self, name: str) -> str | None:
        return self._numbers.get(name)

    def quotas(self, number: str) -> Quotas:
        account = self._accounts.get(number)
        return NO_QUOTAS if account is None else account.quotas

    def shown(self, account: Account) -> Account:
        """The account with the key that is not in the store."""
        key = self.root_key
        if key is None or account.number != self.root:
            return account
        first = Credential(key.key_id, key.secret, account.created_ms)
        others = (each for each in account.credentials if each.key_id != key.key_id)
        return msgspec.structs.replace(account, credentials=(first, *others))

    def hold(self, account: Account) -> None:
        number = account.number
        self.forget(number)
        if number == self.root:
            account = msgspec.structs.replace(account, role=Role.ADMIN, enabled=True)
        self._accounts[number] = account
        self._numbers[account.name] = number
        for each in account.credentials:
            enabled = account.enabled and each.enabled
            self.keys[each.key_id] = AccessKey(
                each.key_id, each.secret, number, enabled, each.expires_ms
            )
        self._root_key_prevails()
        if account.quotas.bytes_max is not None:
            self.bytes_max[number] = account.quotas.bytes_max

    def forget(self, number: str) -> None:
        old = self._accounts.pop(number, None)
        if old is None:
            return
        del self._numbers[old.name]
        self.bytes_max.pop(number, None)
        for each in old.credentials:
            self.keys.pop(each.key_id, None)
        self._root_key_prevails()

    def _root_key_prevails(self) -> None:
        """The key file wins, also if it holds a key id of another account."""
        if self.root_key is not None:
            self.keys[self.root_key.key_id] = self.root_key

    def _new_root(self) -> Account:
        # The account that was root before the setting changed keeps the name.
        name = f"{ROOT_NAME}-{self.root}" if ROOT_NAME in self._numbers else ROOT_NAME
        return Account(self.root, name, self._created_ms, Role.ADMIN)
