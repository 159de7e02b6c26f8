"""Lost connections: every verb has one outcome, and nothing is done twice or stays leased."""

import asyncio
import random

import pytest

from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.commands import Ask, Draft, Peek, Sent
from tests.link.pairs import Pair, until, until_async
from tests.link.slow import SlowStore

SIDES = ("caller", "owner")


def _limit(pair: Pair, side: str, count: int | None) -> None:
    if side == "caller":
        pair.wire.caller_bytes_max = count
    else:
        pair.wire.owner_bytes_max = count


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.usefixtures("hurried")
async def test_cut_at_any_byte_gives_every_send_one_outcome(side: str) -> None:
    """Cuts in the length, the tag, the greeting and the verb; each send is there at most once."""
    rng = random.Random(11)
    pair = await Pair().start()
    outcomes: dict[str, object] = {}
    for number, at in enumerate(sorted(rng.sample(range(1, 420), 60))):
        _limit(pair, side, at)
        for part in range(3):
            name = f"{number}-{part}"
            try:
                [outcomes[name]] = await pair.remote.send([Draft(name, name, "0")], pair.now_ms)
            except PeerUnreachable as error:
                outcomes[name] = error.sent
            pair.clock.advance(1)
        pair.wire.cut()
        await asyncio.sleep(0.002)
    _limit(pair, side, None)
    leased = await pair.own.lease(Ask(10_000, 30_000), pair.now_ms)
    stored = [lease.message.message_id for lease in leased.messages]
    assert len(set(stored)) == len(stored)
    assert {name for name, outcome in outcomes.items() if isinstance(outcome, Sent)} <= set(stored)
    assert not [name for name, outcome in outcomes.items() if outcome is False and name in stored]
    assert any(isinstance(outcome, Sent) for outcome in outcomes.values())
    assert any(outcome is False for outcome in outcomes.values())
    await pair.close()


async def test_lost_connection_fails_the_verbs_under_way_with_an_unknown_outcome(
    pair: Pair,
) -> None:
    await pair.remote.counts(pair.now_ms)
    pair.wire.hold()
    sends = [
        asyncio.ensure_future(pair.remote.send([Draft(f"{n}", "x", "0")], pair.now_ms))
        for n in range(50)
    ]
    await asyncio.sleep(0.01)
    pair.wire.cut()
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    assert all(isinstance(each, PeerUnreachable) and each.sent for each in outcomes)


@pytest.mark.usefixtures("hurried")
async def test_verbs_work_again_after_a_lost_connection(pair: Pair) -> None:
    await pair.send("a")
    await pair.remote.counts(pair.now_ms)
    pair.wire.cut()

    async def answered() -> bool:
        try:
            return (await pair.remote.counts(pair.now_ms)).visible == 1
        except PeerUnreachable:
            return False

    await until_async(answered)
    assert pair.linked.links.statuses()[0].openings == 2


async def test_verb_to_an_address_where_nobody_listens_was_not_sent(pair: Pair) -> None:
    nowhere = pair.linked.links.partition("127.0.0.1:1", pair.queue, (1, 0))
    with pytest.raises(PeerUnreachable) as caught:
        await nowhere.counts(pair.now_ms)
    assert not caught.value.sent
    with pytest.raises(PeerUnreachable, match=r"Connect|refused"):
        await nowhere.counts(pair.now_ms)


async def test_malformed_address_is_unreachable(pair: Pair) -> None:
    nowhere = pair.linked.links.partition("no port", pair.queue, (1, 0))
    with pytest.raises(PeerUnreachable):
        await nowhere.counts(pair.now_ms)


@pytest.mark.usefixtures("hurried")
async def test_dead_side_is_noticed_without_a_closed_connection(pair: Pair) -> None:
    """The wire stays open and passes nothing, as after a power cut of the other machine."""
    await pair.remote.counts(pair.now_ms)
    pair.wire.hold()
    with pytest.raises(PeerUnreachable, match="no sign of life"):
        await pair.remote.counts(pair.now_ms)
    await until(lambda: not pair.linked.listener.linked)


@pytest.mark.usefixtures("hurried")
async def test_idle_connection_stays_open(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    await asyncio.sleep(0.6)
    await pair.remote.counts(pair.now_ms)
    assert pair.wire.connections == 1


@pytest.mark.usefixtures("hurried")
async def test_damaged_byte_ends_the_connection_and_changes_no_message(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    for at in range(1, 60, 7):
        await _linked(pair)
        pair.wire.flip = pair.wire.passed["caller"] + at
        with pytest.raises(PeerUnreachable):
            await pair.remote.send([Draft("id", "x" * 40, "0")], pair.now_ms)
        pair.wire.flip = None
    assert await pair.counts() == (0, 0)


async def _linked(pair: Pair) -> None:
    async def answered() -> bool:
        try:
            await pair.remote.counts(pair.now_ms)
        except PeerUnreachable:
            return False
        return True

    await until_async(answered)


async def test_lease_under_way_is_given_up_when_the_connection_is_lost() -> None:
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    pair = await Pair(store).start()
    await pair.send("a", "b")
    store.gate.clear()
    taking = asyncio.ensure_future(pair.take(2))
    await until(lambda: store.waiting == 1)
    pair.wire.cut()
    with pytest.raises(PeerUnreachable):
        await taking
    await until(lambda: store.waiting == 0)
    store.gate.set()
    assert await pair.counts() == (2, 0)
    await pair.close()


async def test_send_under_way_is_finished_when_the_connection_is_lost() -> None:
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    pair = await Pair(store).start()
    store.gate.clear()
    sending = asyncio.ensure_future(pair.remote.send([Draft("id", "a", "0")], pair.now_ms))
    await until(lambda: store.waiting == 1)
    pair.wire.cut()
    with pytest.raises(PeerUnreachable) as caught:
        await sending
    assert caught.value.sent
    store.gate.set()
    await until(lambda: store.waiting == 0)
    assert await pair.counts() == (1, 0)
    await pair.close()


async def test_leases_whose_answer_has_not_left_are_taken_back_when_the_connection_is_lost(
    pair: Pair,
) -> None:
    await pair.send(*("x" * 1_000_000 + f"{number}" for number in range(8)))
    await pair.remote.counts(pair.now_ms)
    [incoming] = pair.linked.listener.linked
    pair.wire.stop_answers()
    peeks = []
    for _ in range(100):
        if incoming.channel.unsent_bytes:
            break
        peeks.append(asyncio.ensure_future(pair.remote.peek(Peek(1), pair.now_ms)))
        await asyncio.sleep(0.01)
    taking = asyncio.ensure_future(pair.take(2))

    async def leased() -> bool:
        return await pair.counts() == (6, 2)

    await until_async(leased)
    pair.wire.cut()
    with pytest.raises(PeerUnreachable):
        await taking
    await asyncio.gather(*peeks, return_exceptions=True)

    async def taken_back() -> bool:
        return await pair.counts() == (8, 0)

    await until_async(taken_back)
    assert not pair.linked.listener.linked


async def test_verbs_that_have_not_left_when_the_connection_is_lost_were_not_sent(
    pair: Pair,
) -> None:
    await pair.remote.counts(pair.now_ms)
    pair.wire.hold()
    sends = []
    for number in range(40):
        draft = Draft(f"{number}", "x" * 500_000, "0")
        sends.append(asyncio.ensure_future(pair.remote.send([draft], pair.now_ms)))
        await asyncio.sleep(0.001)
    pair.wire.cut()
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    sent = [each.sent for each in outcomes if isinstance(each, PeerUnreachable)]
    assert len(sent) == 40
    assert sent == sorted(sent, reverse=True)
    assert set(sent) == {True, False}
