"""The catalogue keeps accounts: saved by compare-and-set, one number and one name each."""

import asyncio

import msgspec

from dovemq.core.accounts import Account, Credential, Quotas, Role
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from tests.contract.world import World

ONE, TWO, THREE = "111111111111", "222222222222", "333333333333"
FULL = Account(
    ONE,
    "billing",
    1_000,
    Role.OPERATOR,
    Quotas(5, 6, 7),
    (
        Credential("AKIAONE", "secret one", 2_000),
        Credential("AKIATWO", 'secret "two" ü', 3_000, enabled=False, expires_ms=9_000),
    ),
    "$argon2id$hash",
    enabled=False,
)


def _as_kept(account: Account, version: int = 1) -> Account:
    return msgspec.structs.replace(account, version=version)


def _account(number: str, name: str) -> Account:
    return Account(number, name, 1_000)


async def test_saved_account_is_listed_as_it_is(world: World) -> None:
    assert await world.store.catalogue.save_account(FULL)
    assert await world.store.catalogue.accounts() == [_as_kept(FULL)]


async def test_accounts_are_listed_by_number(world: World) -> None:
    for number, name in ((TWO, "a"), (THREE, "b"), (ONE, "c")):
        assert await world.store.catalogue.save_account(_account(number, name))
    listed = await world.store.catalogue.accounts()
    assert [account.number for account in listed] == [ONE, TWO, THREE]


async def test_new_account_with_a_taken_number_is_refused(world: World) -> None:
    assert await world.store.catalogue.save_account(_account(ONE, "a"))
    assert not await world.store.catalogue.save_account(_account(ONE, "b"))
    assert await world.store.catalogue.accounts() == [_as_kept(_account(ONE, "a"))]


async def test_new_account_with_a_taken_name_is_refused(world: World) -> None:
    assert await world.store.catalogue.save_account(_account(ONE, "a"))
    assert not await world.store.catalogue.save_account(_account(TWO, "a"))
    assert await world.store.catalogue.accounts() == [_as_kept(_account(ONE, "a"))]


async def test_change_to_a_taken_name_is_refused_and_changes_nothing(world: World) -> None:
    for number, name in ((ONE, "a"), (TWO, "b")):
        assert await world.store.catalogue.save_account(_account(number, name))
    before = await world.store.catalogue.accounts()
    renamed = msgspec.structs.replace(before[1], name="a")
    assert not await world.store.catalogue.save_account(renamed)
    assert await world.store.catalogue.accounts() == before


async def test_saving_the_version_that_is_there_replaces_it(world: World) -> None:
    await world.store.catalogue.save_account(FULL)
    changed = msgspec.structs.replace(_as_kept(FULL), name="books", credentials=())
    assert await world.store.catalogue.save_account(changed)
    assert await world.store.catalogue.accounts() == [_as_kept(changed, 2)]


async def test_name_that_was_given_up_is_free(world: World) -> None:
    await world.store.catalogue.save_account(_account(ONE, "a"))
    await world.store.catalogue.save_account(_as_kept(_account(ONE, "b")))
    assert await world.store.catalogue.save_account(_account(TWO, "a"))


async def test_saving_an_old_version_changes_nothing(world: World) -> None:
    await world.store.catalogue.save_account(FULL)
    kept = _as_kept(FULL)
    assert await world.store.catalogue.save_account(msgspec.structs.replace(kept, name="books"))
    assert not await world.store.catalogue.save_account(msgspec.structs.replace(kept, name="x"))
    [account] = await world.store.catalogue.accounts()
    assert account.name == "books"


async def test_change_of_an_account_that_is_gone_is_refused(world: World) -> None:
    await world.store.catalogue.save_account(FULL)
    await world.store.catalogue.remove_account(ONE)
    assert not await world.store.catalogue.save_account(_as_kept(FULL))
    assert await world.store.catalogue.accounts() == []


async def test_of_two_changes_at_the_same_time_one_is_made(world: World) -> None:
    save = world.store.catalogue.save_account
    await save(FULL)
    changes = [msgspec.structs.replace(_as_kept(FULL), name=name) for name in "ab"]
    assert sorted(await asyncio.gather(*map(save, changes))) == [False, True]
    [account] = await world.store.catalogue.accounts()
    assert account.version == 2


async def test_removed_account_is_gone_and_its_name_is_free(world: World) -> None:
    await world.store.catalogue.save_account(_account(ONE, "a"))
    assert await world.store.catalogue.remove_account(ONE)
    assert await world.store.catalogue.accounts() == []
    assert await world.store.catalogue.save_account(_account(TWO, "a"))


async def test_removing_an_account_that_is_not_there_answers_so(world: World) -> None:
    assert not await world.store.catalogue.remove_account(ONE)


async def test_account_that_owns_a_queue_is_not_removed(world: World) -> None:
    catalogue = world.store.catalogue
    await catalogue.save_account(_account(ONE, "a"))
    key = QueueKey(ONE, "jobs")
    await catalogue.create(Queue(0, key, QueueSettings(), 1, 1))
    assert not await catalogue.remove_account(ONE)
    assert await catalogue.accounts() == [_as_kept(_account(ONE, "a"))]
    await catalogue.remove(key)
    assert await catalogue.remove_account(ONE)


async def test_queues_of_others_do_not_keep_an_account(world: World) -> None:
    catalogue = world.store.catalogue
    await catalogue.save_account(_account(ONE, "a"))
    await catalogue.create(Queue(0, QueueKey(TWO, "jobs"), QueueSettings(), 1, 1))
    assert await catalogue.remove_account(ONE)


async def test_accounts_survive_a_stop(durable_world: World) -> None:
    world = durable_world
    await world.store.catalogue.save_account(FULL)
    await world.store.catalogue.save_account(_account(TWO, "b"))
    await world.store.catalogue.save_account(_account(THREE, "c"))
    await world.store.catalogue.save_account(_as_kept(_account(TWO, "d")))
    await world.store.catalogue.remove_account(THREE)
    await world.reopen()
    kept = [_as_kept(FULL), _as_kept(_account(TWO, "d"), 2)]
    assert await world.store.catalogue.accounts() == kept


async def test_answered_changes_of_accounts_survive_a_crash(durable_world: World) -> None:
    world = durable_world
    await world.store.catalogue.save_account(FULL)
    await world.store.catalogue.save_account(msgspec.structs.replace(_as_kept(FULL), name="x"))
    await world.crash()
    [account] = await world.store.catalogue.accounts()
    assert (account.name, account.version) == ("x", 2)
    await world.store.catalogue.remove_account(ONE)
    await world.crash()
    assert await world.store.catalogue.accounts() == []
