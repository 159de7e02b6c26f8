"""Callers that leave: what they had under way is taken back by the owner."""

import asyncio
import random

import pytest

from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.commands import Ask, Draft
from tests.link.pairs import Pair, until, until_async
from tests.link.slow import SlowStore


async def _slow_pair() -> tuple[Pair, SlowStore]:
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    pair = await Pair(store).start()
    await pair.send(*(f"{number}" for number in range(10)))
    return pair, store


async def test_lease_whose_caller_leaves_is_given_up_by_the_owner() -> None:
    pair, store = await _slow_pair()
    store.gate.clear()
    taking = asyncio.ensure_future(pair.take(4))
    await until(lambda: store.waiting == 1)
    assert await pair.counts() == (6, 4)
    taking.cancel()
    await until(lambda: store.waiting == 0)
    assert await pair.counts() == (10, 0)
    await pair.close()


@pytest.mark.parametrize("turns", range(12))
async def test_lease_that_is_cancelled_at_any_step_leaves_nothing_leased(
    pair: Pair, turns: int
) -> None:
    """The steps are: not sent, sent, done by the owner, answered, the answer received."""
    await pair.send("a", "b", "c")
    await pair.remote.counts(pair.now_ms)
    taking = asyncio.ensure_future(pair.take(2))
    for _ in range(turns):
        await asyncio.sleep(0)
    taking.cancel()
    [outcome] = await asyncio.gather(taking, return_exceptions=True)
    kept = 0 if isinstance(outcome, BaseException) else len(outcome)

    # What was sent before has arrived when this is answered.
    await pair.remote.counts(pair.now_ms)

    async def taken_back() -> bool:
        return await pair.counts() == (3 - kept, kept)

    await until_async(taken_back)
    assert (await pair.remote.counts(pair.now_ms)).leased == kept


async def test_lease_that_is_cancelled_before_the_connection_is_made_is_never_asked(
    pair: Pair,
) -> None:
    await pair.send("a")
    pair.wire.hold()
    taking = asyncio.ensure_future(pair.take())
    await asyncio.sleep(0.01)
    taking.cancel()
    pair.wire.let_go()
    assert (await pair.remote.counts(pair.now_ms)).leased == 0


async def test_hundreds_of_cancelled_leases_lose_no_message(pair: Pair) -> None:
    rng = random.Random(5)
    await pair.send(*(f"{number}" for number in range(200)))
    kept = 0
    for _ in range(30):
        takings = [asyncio.ensure_future(pair.take(3)) for _ in range(10)]
        for _ in range(rng.randrange(8)):
            await asyncio.sleep(0)
        for taking in takings[::2]:
            taking.cancel()
        outcomes = await asyncio.gather(*takings, return_exceptions=True)
        leases = [lease for each in outcomes if isinstance(each, list) for lease in each]
        kept += len(leases)
        await pair.remote.release([lease.receipt for lease in leases], pair.now_ms)

    async def all_back() -> bool:
        return await pair.counts() == (200, 0)

    await until_async(all_back)
    assert kept > 0


async def test_lease_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovemq.cluster.link.channel.TICK_SECONDS", 0.02)
    monkeypatch.setattr("dovemq.cluster.link.session.VERB_TICKS_MAX", 2)
    pair, store = await _slow_pair()
    await pair.remote.counts(pair.now_ms)
    store.gate.clear()
    with pytest.raises(PeerUnreachable, match="no answer within"):
        await pair.take(4)
    await until(lambda: store.waiting == 0)
    assert await pair.counts() == (10, 0)
    await pair.close()


async def test_send_whose_caller_leaves_is_done(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    sending = asyncio.ensure_future(pair.remote.send([Draft("id", "a", "0")], pair.now_ms))
    await asyncio.sleep(0)
    sending.cancel()
    assert (await pair.remote.counts(pair.now_ms)).visible == 1


async def test_owner_that_stops_answers_what_has_arrived() -> None:
    pair, store = await _slow_pair()
    store.gate.clear()
    remote, now_ms = pair.remote, pair.now_ms
    sends = [
        asyncio.ensure_future(remote.send([Draft(f"new-{n}", "x", "0")], now_ms)) for n in range(20)
    ]
    await until(lambda: store.waiting == 20)
    draining = asyncio.ensure_future(pair.linked.listener.drain())
    await asyncio.sleep(0.01)
    assert not draining.done()
    with pytest.raises(PeerUnreachable, match="it stops"):
        await remote.counts(now_ms)
    store.gate.set()
    answers = await asyncio.gather(*sends)
    assert all(len(each) == 1 for each in answers)
    assert await draining
    await pair.close()


async def test_owner_that_cannot_finish_stops_after_its_time() -> None:
    pair, store = await _slow_pair()
    store.gate.clear()
    taking = asyncio.ensure_future(pair.remote.lease(Ask(1, 1_000), pair.now_ms))
    await until(lambda: store.waiting == 1)
    assert not await pair.linked.listener.drain(0.02)
    await pair.linked.listener.close()
    with pytest.raises(PeerUnreachable, match="unknown"):
        await taking
    assert await pair.counts() == (10, 0)
    await pair.close()
