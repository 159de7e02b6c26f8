"""Accounts as records: the number and the name of an account are both unique.

An account is two records: the account by its number, and its number by its name. They cannot change
together, so each writer writes its own first and then reads the other's: of two front ends that
want the same name at least one sees the other and gives up. A name whose account does not have it
(after a crash, or a rename) is free.
"""

import msgspec

from dovemq.cluster.catalogue_records import ACCOUNT, ACCOUNT_NAME, account_of, remove_record
from dovemq.core.accounts import Account
from dovemq.stores.owned.logged.ports import Records, StoredRecord


async def save_account(records: Records, account: Account) -> bool:
    """Store the account with its version + 1; False if version, number or name do not allow it."""
    before = await _account(records, account.number)
    if (before.version if before else 0) != account.version:
        return False
    renamed = before is None or before.name != account.name
    if renamed and not await _take_name(records, account.name, account.number):
        return False
    value = msgspec.json.encode(account)
    if not await records.put(ACCOUNT, account.number, value, account.version):
        return False
    if not renamed:
        return True
    if await _number(records, account.name) != account.number:
        await _undo(records, account, before)
        return False
    if before is not None and await _number(records, before.name) == account.number:
        await remove_record(records, ACCOUNT_NAME, before.name)
    return True


async def remove_account(records: Records, number: str) -> bool:
    record = await records.get(ACCOUNT, number)
    if record is None or not await records.remove(ACCOUNT, number, record.version):
        return False
    name = account_of(record).name
    if await _number(records, name) == number:
        await remove_record(records, ACCOUNT_NAME, name)
    return True


async def _take_name(records: Records, name: str, number: str) -> bool:
    """Whether the name is this account's now."""
    record = await records.get(ACCOUNT_NAME, name)
    if record is not None and record.value == number.encode():
        return True
    if record is not None and await _has_name(records, record, name):
        return False
    version = record.version if record else 0
    if not await records.put(ACCOUNT_NAME, name, number.encode(), version):
        return False
    if record is None or not await _has_name(records, record, name):
        return True
    # Its account was stored meanwhile: give the name back.
    await records.put(ACCOUNT_NAME, name, record.value, version + 1)
    return False


async def _has_name(records: Records, record: StoredRecord, name: str) -> bool:
    account = await _account(records, record.value.decode())
    return account is not None and account.name == name


async def _undo(records: Records, account: Account, before: Account | None) -> None:
    """Take back the account that was stored just now, whose name another account has got."""
    if before is None:
        await records.remove(ACCOUNT, account.number, account.version + 1)
    else:
        await records.put(ACCOUNT, account.number, msgspec.json.encode(before), account.version + 1)


async def _account(records: Records, number: str) -> Account | None:
    record = await records.get(ACCOUNT, number)
    return account_of(record) if record else None


async def _number(records: Records, name: str) -> str | None:
    record = await records.get(ACCOUNT_NAME, name)
    return record.value.decode() if record else None
