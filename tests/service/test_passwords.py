"""Passwords of accounts: who gets in, at what cost, and how many at a time."""

import asyncio
import threading
from typing import Literal

import argon2
import pytest

from dovemq.core.errors import Busy, InvalidValue, StoreFull
from dovemq.service.accounts import Accounts
from dovemq.service.passwords import HASHINGS_MAX, WAITING_MAX, Passwords
from tests.service.account_world import CHEAP, ROOT, AccountWorld, in_loop

NUMBER = "111122223333"
PASSWORD = "correct horse"


class CountingHasher(argon2.PasswordHasher):
    """Tells how much argon2 work was done, and how much of it at the same time."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.done = self.under_way = self.under_way_max = 0
        self.go = threading.Event()
        self.go.set()
        self._lock = threading.Lock()

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        self._work()
        return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self._work()
        return super().verify(hash, password)

    def _work(self) -> None:
        with self._lock:
            self.under_way += 1
            self.under_way_max = max(self.under_way_max, self.under_way)
        self.go.wait(30)
        with self._lock:
            self.under_way -= 1
            self.done += 1


async def _with_password(world: AccountWorld) -> Accounts:
    accounts = await world.again()
    await accounts.add("team", number=NUMBER)
    await accounts.set_password(NUMBER, PASSWORD)
    return accounts


@in_loop
async def test_password_holds_by_name_and_by_number(world: AccountWorld) -> None:
    accounts = await _with_password(world)
    for named in ("team", NUMBER):
        assert await accounts.password_holds(named, PASSWORD) == accounts.get(NUMBER)
        assert await accounts.password_holds(named, PASSWORD + "x") is None
        assert await accounts.password_holds(named, "") is None


@in_loop
async def test_password_is_kept_as_argon2id_alone(world: AccountWorld) -> None:
    accounts = await _with_password(world)
    kept = accounts.get(NUMBER).password_hash
    assert kept is not None
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept


@in_loop
async def test_password_survives_a_restart_and_a_new_one_ends_the_old(world: AccountWorld) -> None:
    await _with_password(world)
    again = await world.again()
    assert await again.password_holds("team", PASSWORD)
    await again.set_password(NUMBER, "battery staple")
    assert await again.password_holds("team", PASSWORD) is None
    assert await again.password_holds("team", "battery staple")


@in_loop
async def test_disabled_account_does_not_get_in(world: AccountWorld) -> None:
    accounts = await _with_password(world)
    await accounts.change(NUMBER, enabled=False)
    assert await accounts.password_holds("team", PASSWORD) is None


@pytest.mark.parametrize("password", ["", "7 chars", "x" * 129])
@in_loop
async def test_password_of_no_good_length_is_refused_unseen(
    world: AccountWorld, password: str
) -> None:
    accounts = await _with_password(world)
    with pytest.raises(InvalidValue, match="8 to 128") as refused:
        await accounts.set_password(NUMBER, password)
    assert not password or password not in str(refused.value)


@pytest.mark.parametrize("named", ["team", "nobody", "silent", NUMBER, "999999999999"])
@in_loop
async def test_wrong_password_costs_the_same_for_every_account(
    world: AccountWorld, named: str
) -> None:
    await _with_password(world)
    hasher = CountingHasher()
    accounts = Accounts(world.catalogue, world.clock, ROOT, hasher=hasher)
    await accounts.load()
    await accounts.add("silent")
    assert await accounts.password_holds(named, "wrong horse") is None
    assert hasher.done == 1


@in_loop
async def test_overlong_password_is_wrong_and_costs_the_same(world: AccountWorld) -> None:
    await _with_password(world)
    hasher = CountingHasher()
    accounts = Accounts(world.catalogue, world.clock, ROOT, hasher=hasher)
    await accounts.load()
    assert await accounts.password_holds("team", "x" * 100_000) is None
    assert hasher.done == 1


@in_loop
async def test_password_is_hashed_again_when_parameters_changed(world: AccountWorld) -> None:
    accounts = await _with_password(world)
    old = accounts.get(NUMBER).password_hash
    stronger = argon2.PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    later = Accounts(world.catalogue, world.clock, ROOT, hasher=stronger)
    await later.load()
    assert await later.password_holds("team", PASSWORD)
    new = later.get(NUMBER).password_hash
    assert new != old
    assert new is not None
    assert not stronger.check_needs_rehash(new)
    assert await later.password_holds("team", PASSWORD)


@in_loop
async def test_login_works_while_the_store_is_full(world: AccountWorld) -> None:
    await _with_password(world)
    stronger = argon2.PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    later = Accounts(world.catalogue, world.clock, ROOT, hasher=stronger)
    await later.load()
    world.catalogue.failure = StoreFull()
    assert await later.password_holds("team", PASSWORD)


@in_loop
async def test_few_are_hashed_at_a_time_also_when_callers_go_away() -> None:
    hasher = CountingHasher()
    hasher.go.clear()
    passwords = Passwords(hasher)
    checks = [asyncio.ensure_future(passwords.holds(None, PASSWORD)) for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await passwords.hash(PASSWORD)
    for check in checks[:10]:
        check.cancel()
    hasher.go.set()
    assert not any(await asyncio.gather(*checks[10:]))
    while hasher.done < WAITING_MAX:
        # Of those whose callers went away nobody tells when they are done.
        await asyncio.sleep(0.001)
    assert hasher.under_way_max <= HASHINGS_MAX
    await passwords.hash(PASSWORD)


@in_loop
async def test_damaged_hash_accepts_no_password() -> None:
    passwords = Passwords(CHEAP)
    assert not await passwords.holds("not a hash", PASSWORD)
    assert not await passwords.holds("$argon2id$v=19$m=8,t=1,p=1$", PASSWORD)
