"""Accounts as the service keeps them: who exists, and what the root may not lose."""

import asyncio
import random
import re

import pytest

from dovemq.core.accounts import Account, Quotas, Role
from dovemq.core.errors import (
    AccountExists,
    AccountMissing,
    AccountNotEmpty,
    AccountProtected,
    InvalidValue,
    LimitReached,
    StoreFull,
)
from dovemq.core.queue import QueueKey
from dovemq.service.accounts import Accounts
from tests.service.account_world import ROOT, AccountWorld, in_loop

NUMBER = "111122223333"


@in_loop
async def test_root_account_is_always_there(world: AccountWorld) -> None:
    root = world.accounts.get(ROOT)
    assert (root.name, root.role, root.enabled) == ("root", Role.ADMIN, True)
    assert world.accounts.resolve("root") == root
    assert world.accounts.all() == [root]
    assert await world.store.catalogue.accounts() == []


@in_loop
async def test_root_cannot_be_disabled_demoted_or_removed(world: AccountWorld) -> None:
    for refused in (
        world.accounts.change(ROOT, enabled=False),
        world.accounts.change(ROOT, role=Role.VIEWER),
        world.accounts.change(ROOT, role=None),
        world.accounts.remove(ROOT),
    ):
        with pytest.raises(AccountProtected):
            await refused
    changed = await world.accounts.change(ROOT, name="boss", quotas=Quotas(queues_max=5))
    assert (changed.name, changed.role, changed.quotas.queues_max) == ("boss", Role.ADMIN, 5)


@in_loop
async def test_account_that_was_root_before_keeps_its_name(world: AccountWorld) -> None:
    await world.accounts.change(ROOT, quotas=Quotas(queues_max=5))
    again = await world.again(root=NUMBER)
    assert [(each.number, each.name) for each in again.all()] == [
        (ROOT, "root"),
        (NUMBER, f"root-{NUMBER}"),
    ]
    assert (await again.change(NUMBER, quotas=Quotas(queues_max=1))).version == 1


@in_loop
async def test_stored_account_that_becomes_root_is_an_enabled_admin(world: AccountWorld) -> None:
    await world.accounts.add("team", number=NUMBER, role=Role.VIEWER)
    await world.accounts.change(NUMBER, enabled=False)
    root = (await world.again(root=NUMBER)).get(NUMBER)
    assert (root.name, root.role, root.enabled) == ("team", Role.ADMIN, True)


@in_loop
async def test_added_account_is_found_by_number_and_by_name(world: AccountWorld) -> None:
    quotas = Quotas(1, 2, 3)
    added = await world.accounts.add("team.a-1", role=Role.OPERATOR, quotas=quotas)
    assert re.fullmatch("[0-9]{12}", added.number)
    assert added.created_ms == world.clock.now_ms()
    assert world.accounts.get(added.number) == added
    assert world.accounts.resolve("team.a-1") == added
    assert world.accounts.resolve(added.number) == added
    assert world.accounts.quotas(added.number) == quotas
    assert await world.store.catalogue.accounts() == [added]


@in_loop
async def test_accounts_are_listed_by_number(world: AccountWorld) -> None:
    for number in ("333333333333", "222222222222"):
        await world.accounts.add(f"n{number}", number=number)
    numbers = [each.number for each in world.accounts.all()]
    assert numbers == [ROOT, "222222222222", "333333333333"]


@in_loop
async def test_number_is_never_all_zeros_nor_taken(world: AccountWorld) -> None:
    digits = iter("0" * 12 + NUMBER + NUMBER + "444455556666")
    accounts = Accounts(
        world.store.catalogue, world.clock, "999999999999", choose=lambda _: next(digits)
    )
    assert (await accounts.add("a")).number == NUMBER
    assert (await accounts.add("b")).number == "444455556666"


@in_loop
async def test_taken_number_or_name_is_refused(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    with pytest.raises(AccountExists, match=NUMBER):
        await world.accounts.add("b", number=NUMBER)
    with pytest.raises(AccountExists, match="account a already"):
        await world.accounts.add("a")
    with pytest.raises(AccountExists):
        await world.accounts.add("root")
    other = await world.accounts.add("c")
    with pytest.raises(AccountExists):
        await world.accounts.change(other.number, name="a")
    assert world.accounts.resolve("c").number == other.number


@in_loop
async def test_of_many_adds_of_one_name_one_is_done(world: AccountWorld) -> None:
    outcomes = await asyncio.gather(
        *(world.accounts.add("a") for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Account) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, AccountExists) for outcome in outcomes) == 4


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "123", "é", "a/b", "123456789012", "a\n"])
@in_loop
async def test_name_that_could_be_mistaken_is_refused(world: AccountWorld, name: str) -> None:
    with pytest.raises(InvalidValue):
        await world.accounts.add(name)


@pytest.mark.parametrize("number", ["1", "x" * 12, "1" * 13, "\uff11" * 12])
@in_loop
async def test_number_is_twelve_digits(world: AccountWorld, number: str) -> None:
    with pytest.raises(InvalidValue):
        await world.accounts.add("a", number=number)


@in_loop
async def test_negative_quota_is_refused(world: AccountWorld) -> None:
    with pytest.raises(InvalidValue, match="queues_max"):
        await world.accounts.add("a", quotas=Quotas(queues_max=-1))


@in_loop
async def test_accounts_are_bounded(world: AccountWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovemq.core.limits.ACCOUNTS_MAX", 3)
    await world.accounts.add("a")
    await world.accounts.add("b")
    with pytest.raises(LimitReached):
        await world.accounts.add("c")


@in_loop
async def test_changes_leave_what_was_not_named(world: AccountWorld) -> None:
    quotas = Quotas(1, 2, 3)
    await world.accounts.add("a", number=NUMBER, role=Role.VIEWER, quotas=quotas)
    changed = await world.accounts.change(NUMBER, name="b")
    assert (changed.name, changed.role, changed.quotas) == ("b", Role.VIEWER, quotas)
    changed = await world.accounts.change(NUMBER, role=None)
    assert (changed.role, changed.quotas) == (None, quotas)
    with pytest.raises(AccountMissing):
        world.accounts.resolve("a")
    assert world.accounts.resolve("b").number == NUMBER


@in_loop
async def test_unknown_account_is_reported(world: AccountWorld) -> None:
    for text in ("nobody", NUMBER):
        with pytest.raises(AccountMissing, match=text):
            world.accounts.resolve(text)
    with pytest.raises(AccountMissing):
        await world.accounts.change(NUMBER, name="a")
    with pytest.raises(AccountMissing):
        await world.accounts.remove(NUMBER)
    with pytest.raises(AccountMissing):
        await world.accounts.add_credential(NUMBER)
    with pytest.raises(AccountMissing):
        await world.accounts.set_password(NUMBER, "long enough")
    assert world.accounts.quotas(NUMBER) == Quotas()


@in_loop
async def test_account_that_owns_queues_is_not_removed(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    key = QueueKey(NUMBER, "jobs")
    await world.service.queues.create(key, {}, {})
    with pytest.raises(AccountNotEmpty):
        await world.accounts.remove(NUMBER)
    await world.service.queues.remove(key)
    await world.accounts.remove(NUMBER)
    with pytest.raises(AccountMissing):
        world.accounts.get(NUMBER)
    assert await world.store.catalogue.accounts() == []


@in_loop
async def test_no_queue_is_made_while_its_account_is_removed(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    world.catalogue.hold_back()
    removing = asyncio.ensure_future(world.accounts.remove(NUMBER))
    await world.catalogue.held_back()
    with pytest.raises(AccountMissing):
        await world.service.queues.create(QueueKey(NUMBER, "jobs"), {}, {})
    world.catalogue.let_go()
    await removing
    assert await world.store.catalogue.page(None, "", "", 10) == []


@in_loop
async def test_view_is_as_before_when_the_write_fails(world: AccountWorld) -> None:
    before = await world.accounts.add("a", number=NUMBER)
    world.catalogue.failure = StoreFull()
    with pytest.raises(StoreFull):
        await world.accounts.change(NUMBER, name="b")
    with pytest.raises(StoreFull):
        await world.accounts.add_credential(NUMBER)
    with pytest.raises(StoreFull):
        await world.accounts.remove(NUMBER)
    assert world.accounts.get(NUMBER) == before


@in_loop
async def test_change_whose_caller_goes_away_is_seen_when_it_is_kept(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER)
    world.catalogue.hold_back()
    disabling = asyncio.ensure_future(world.accounts.change(NUMBER, enabled=False))
    await world.catalogue.held_back()
    key = world.accounts.find(made.key_id)
    assert key is not None
    assert key.enabled
    disabling.cancel()
    world.catalogue.let_go()
    # Waits for its turn behind the change that nobody waits for.
    await world.accounts.change(NUMBER, name="b")
    key = world.accounts.find(made.key_id)
    assert key is not None
    assert not key.enabled


@in_loop
async def test_change_by_another_front_end_is_not_lost(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    other = await world.again()
    await other.change(NUMBER, role=Role.VIEWER)
    changed = await world.accounts.change(NUMBER, quotas=Quotas(queues_max=1))
    assert (changed.role, changed.quotas.queues_max) == (Role.VIEWER, 1)


@in_loop
async def test_account_removed_by_another_front_end_is_missing(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    await (await world.again()).remove(NUMBER)
    with pytest.raises(AccountMissing):
        await world.accounts.change(NUMBER, name="b")


@in_loop
async def test_random_changes_leave_view_and_store_equal(world: AccountWorld) -> None:
    rng = random.Random(4)
    for _ in range(200):
        await _random_change(world.accounts, rng)
        written = [each for each in world.accounts.all() if each.version]
        assert written == await world.store.catalogue.accounts()
    again = await world.again()
    for account in world.accounts.all():
        for each in account.credentials:
            assert again.find(each.key_id) == world.accounts.find(each.key_id) is not None


async def _random_change(accounts: Accounts, rng: random.Random) -> None:
    account = rng.choice(accounts.all())
    keys = [each.key_id for each in account.credentials]
    verb = rng.choice(("add", "rename", "disable", "remove", "key", "rotate", "drop key"))
    try:
        if verb == "add":
            await accounts.add(f"n{rng.randrange(8)}")
        elif verb == "rename":
            await accounts.change(account.number, name=f"n{rng.randrange(8)}")
        elif verb == "disable":
            await accounts.change(account.number, enabled=rng.random() < 0.5)
        elif verb == "remove":
            await accounts.remove(account.number)
        elif verb == "key":
            await accounts.add_credential(account.number)
        elif keys and verb == "rotate":
            await accounts.rotate(account.number, rng.choice(keys), grace_ms=1)
        elif keys:
            await accounts.remove_credential(account.number, rng.choice(keys))
    except (AccountExists, AccountProtected, LimitReached):
        return
