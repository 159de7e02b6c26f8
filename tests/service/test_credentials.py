"""Access keys of accounts: made, rotated, disabled, ended and removed."""

import re

import msgspec
import pytest

from dovemq.core.access import AccessKey
from dovemq.core.errors import (
    AccountProtected,
    CredentialMissing,
    InvalidValue,
    LimitReached,
)
from tests.service.account_world import ROOT, AccountWorld, in_loop

NUMBER = "111122223333"


@in_loop
async def test_key_of_the_file_is_the_first_of_the_root_and_is_not_stored(
    world: AccountWorld,
) -> None:
    key = AccessKey("AKIAFILE", "file secret", ROOT)
    world.accounts.use_root_key(key)
    made = await world.accounts.add_credential(ROOT)
    shown = world.accounts.get(ROOT)
    assert [each.key_id for each in shown.credentials] == ["AKIAFILE", made.key_id]
    [kept] = await world.store.catalogue.accounts()
    assert [each.key_id for each in kept.credentials] == [made.key_id]
    assert world.accounts.find("AKIAFILE") == key
    await world.accounts.load()
    assert world.accounts.find("AKIAFILE") == key


@in_loop
async def test_key_of_the_file_is_changed_in_the_file_alone(world: AccountWorld) -> None:
    world.accounts.use_root_key(AccessKey("AKIAFILE", "file secret", ROOT))
    for refused in (
        world.accounts.rotate(ROOT, "AKIAFILE", grace_ms=0),
        world.accounts.change_credential(ROOT, "AKIAFILE", enabled=False),
        world.accounts.remove_credential(ROOT, "AKIAFILE"),
    ):
        with pytest.raises(AccountProtected, match="key file"):
            await refused


@in_loop
async def test_credential_is_found_by_its_key_id(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER, expires_ms=5)
    assert re.fullmatch("AKIA[A-Z2-7]{16}", made.key_id)
    assert re.fullmatch("[A-Za-z0-9]{40}", made.secret)
    expected = AccessKey(made.key_id, made.secret, NUMBER, expires_ms=5)
    assert world.accounts.find(made.key_id) == expected
    assert (await world.again()).find(made.key_id) == expected
    assert world.accounts.find("AKIANOBODY") is None


@in_loop
async def test_disabled_account_disables_its_keys(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER)
    for enabled in (False, True):
        await world.accounts.change(NUMBER, enabled=enabled)
        key = world.accounts.find(made.key_id)
        assert key is not None
        assert key.enabled is enabled


@in_loop
async def test_disabled_key_stays_disabled_when_its_account_is_enabled(
    world: AccountWorld,
) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER)
    changed = await world.accounts.change_credential(NUMBER, made.key_id, enabled=False)
    assert changed == msgspec.structs.replace(made, enabled=False)
    await world.accounts.change(NUMBER, enabled=True)
    key = world.accounts.find(made.key_id)
    assert key is not None
    assert not key.enabled


@in_loop
async def test_expiry_of_a_key_can_be_set_and_taken_away(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER)
    key_id = made.key_id
    assert (await world.accounts.change_credential(NUMBER, key_id, expires_ms=7)).expires_ms == 7
    assert (await world.accounts.change_credential(NUMBER, key_id, enabled=True)).expires_ms == 7
    changed = await world.accounts.change_credential(NUMBER, key_id, expires_ms=None)
    assert changed.expires_ms is None


@in_loop
async def test_removed_key_and_keys_of_a_removed_account_are_unknown(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    first = await world.accounts.add_credential(NUMBER)
    second = await world.accounts.add_credential(NUMBER)
    await world.accounts.remove_credential(NUMBER, first.key_id)
    assert world.accounts.find(first.key_id) is None
    assert world.accounts.find(second.key_id) is not None
    with pytest.raises(CredentialMissing):
        await world.accounts.remove_credential(NUMBER, first.key_id)
    await world.accounts.remove(NUMBER)
    assert world.accounts.find(second.key_id) is None


@in_loop
async def test_rotation_makes_a_key_and_lets_the_old_one_end(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    old = await world.accounts.add_credential(NUMBER)
    new = await world.accounts.rotate(NUMBER, old.key_id, grace_ms=60_000)
    ending = world.accounts.find(old.key_id)
    assert ending is not None
    assert ending.expires_ms == world.clock.now_ms() + 60_000
    assert new.key_id != old.key_id
    assert new.secret != old.secret
    assert new.expires_ms is None


@in_loop
async def test_rotation_does_not_prolong_a_key(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    soon_ms = world.clock.now_ms() + 10
    old = await world.accounts.add_credential(NUMBER, expires_ms=soon_ms)
    await world.accounts.rotate(NUMBER, old.key_id, grace_ms=60_000)
    ending = world.accounts.find(old.key_id)
    assert ending is not None
    assert ending.expires_ms == soon_ms


@in_loop
async def test_rotation_of_another_accounts_key_is_refused(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    other = await world.accounts.add("b")
    theirs = await world.accounts.add_credential(other.number)
    with pytest.raises(CredentialMissing):
        await world.accounts.rotate(NUMBER, theirs.key_id, grace_ms=0)
    with pytest.raises(InvalidValue):
        await world.accounts.rotate(other.number, theirs.key_id, grace_ms=-1)


@in_loop
async def test_keys_are_bounded_and_expired_ones_make_room(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = [await world.accounts.add_credential(NUMBER) for _ in range(10)]
    with pytest.raises(LimitReached):
        await world.accounts.add_credential(NUMBER)
    await world.accounts.rotate(NUMBER, made[3].key_id, grace_ms=0)
    kept = [each.key_id for each in world.accounts.get(NUMBER).credentials]
    assert len(kept) == 10
    assert made[3].key_id not in kept


@in_loop
async def test_no_secret_shows_when_an_account_is_printed(world: AccountWorld) -> None:
    await world.accounts.add("a", number=NUMBER)
    made = await world.accounts.add_credential(NUMBER)
    await world.accounts.set_password(NUMBER, "correct horse")
    account = world.accounts.get(NUMBER)
    printed = f"{account!r} {account} {made!r} {world.accounts.find(made.key_id)!r}"
    assert made.secret not in printed
    assert "argon2" not in printed


@in_loop
async def test_key_of_the_store_that_was_put_into_the_file_is_that_of_the_file(
    world: AccountWorld,
) -> None:
    made = await world.accounts.add_credential(ROOT)
    key = AccessKey(made.key_id, made.secret, ROOT)
    world.accounts.use_root_key(key)
    assert [each.key_id for each in world.accounts.get(ROOT).credentials] == [made.key_id]
    await world.accounts.change(ROOT, name="boss")
    await world.accounts.load()
    assert world.accounts.find(made.key_id) == key
