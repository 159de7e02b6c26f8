"""Many verbs, large answers and slow readers: everything that waits is bounded."""

import asyncio
import random
import tracemalloc

import pytest

from dovemq.cluster.link import bounds
from dovemq.cluster.link.bounds import VERBS_IN_FLIGHT_MAX
from dovemq.core.commands import Ask, Draft, Peek
from dovemq.core.errors import Busy, InvariantError
from tests.link.pairs import Pair, until, until_async
from tests.link.slow import SlowStore

MODULES = ("channel", "session", "serving")


def _shrink(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    """Make bounds small enough to be reached."""
    for name, value in values.items():
        for module in MODULES:
            monkeypatch.setattr(f"dovemq.cluster.link.{module}.{name}", value, raising=False)


async def test_thousands_of_verbs_are_in_flight_at_once(pair: Pair) -> None:
    drafts = [Draft(f"id-{number}", f"{number}", "0") for number in range(5_000)]
    remote, now_ms = pair.remote, pair.now_ms
    answers = await asyncio.gather(*(remote.send([draft], now_ms) for draft in drafts))
    assert [sent.message_id for [sent] in answers] == [draft.message_id for draft in drafts]
    assert (await remote.counts(now_ms)).visible == 5_000


async def test_answers_come_in_any_order(pair: Pair) -> None:
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    slow = await Pair(store).start()
    store.gate.clear()
    sending = asyncio.ensure_future(slow.remote.send([Draft("id", "a", "0")], slow.now_ms))
    await until(lambda: store.waiting == 1)
    assert (await slow.remote.counts(slow.now_ms)).visible == 0
    assert not sending.done()
    store.gate.set()
    assert len(await sending) == 1
    await slow.close()


async def test_verbs_of_one_turn_share_a_frame(pair: Pair) -> None:
    remote, now_ms = pair.remote, pair.now_ms
    await remote.counts(now_ms)
    before = pair.wire.passed["caller"]
    await remote.counts(now_ms)
    alone = pair.wire.passed["caller"] - before
    await asyncio.gather(*(remote.counts(now_ms) for _ in range(100)))
    together = pair.wire.passed["caller"] - before - alone
    assert together < 100 * alone / 2


async def test_too_many_verbs_in_flight_are_refused_and_were_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    pair = await Pair(store).start()
    await pair.remote.counts(pair.now_ms)
    _shrink(monkeypatch, VERBS_IN_FLIGHT_MAX=5)
    store.gate.clear()
    sends = [
        asyncio.ensure_future(pair.remote.send([Draft(f"{n}", "x", "0")], pair.now_ms))
        for n in range(8)
    ]
    await until(lambda: store.waiting == 5)
    outcomes = [each.exception() for each in sends if each.done()]
    assert [type(each) for each in outcomes] == [Busy] * 3
    store.gate.set()
    await asyncio.gather(*sends, return_exceptions=True)
    assert await pair.counts() == (5, 0)
    await pair.close()


async def test_verbs_that_wait_for_a_connection_are_bounded(pair: Pair) -> None:
    pair.wire.hold()
    remote, now_ms = pair.remote, pair.now_ms
    counts = [asyncio.ensure_future(remote.counts(now_ms)) for _ in range(VERBS_IN_FLIGHT_MAX + 1)]
    with pytest.raises(Busy):
        await counts[-1]
    pair.wire.let_go()
    assert all(each.visible == 0 for each in await asyncio.gather(*counts[:-1]))


async def test_unsent_verbs_are_bounded_while_the_owner_does_not_read(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.remote.counts(pair.now_ms)
    _shrink(monkeypatch, UNSENT_BYTES_MAX=1 << 20)
    pair.wire.hold()
    body = "x" * 200_000
    sends = []
    for number in range(200):
        sends.append(
            asyncio.ensure_future(pair.remote.send([Draft(f"{number}", body, "0")], pair.now_ms))
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    refused = sum(isinstance(each.exception(), Busy) for each in sends if each.done())
    assert refused > 0
    pair.wire.let_go()
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    stored = sum(isinstance(each, list) for each in outcomes)
    assert stored == 200 - refused
    assert await pair.counts() == (stored, 0)


async def test_owner_stops_reading_while_its_answers_are_not_taken(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    _shrink(monkeypatch, UNSENT_BYTES_PAUSE=1 << 20)
    await pair.send(*("x" * 300_000 + f"{number}" for number in range(3)))
    await pair.remote.counts(pair.now_ms)
    [incoming] = pair.linked.listener.linked
    pair.wire.stop_answers()
    peeks = []
    for _ in range(60):
        peeks.append(asyncio.ensure_future(pair.remote.peek(Peek(3), pair.now_ms)))
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert incoming.channel.unsent_bytes < 8 << 20
    pair.wire.let_go()
    pages = await asyncio.gather(*peeks)
    assert {len(page) for page in pages} == {3}


async def test_owner_stops_reading_while_large_verbs_are_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _shrink(monkeypatch, SERVED_BYTES_MAX=500_000)
    store = SlowStore(random.Random(1), b"receipt key of the tests")
    pair = await Pair(store).start()
    await pair.remote.counts(pair.now_ms)
    store.gate.clear()
    sends = []
    for number in range(40):
        draft = Draft(f"{number}", "x" * 100_000, "0")
        sends.append(asyncio.ensure_future(pair.remote.send([draft], pair.now_ms)))
        await asyncio.sleep(0.001)
    await until(lambda: store.waiting >= 5)
    await asyncio.sleep(0.05)
    assert store.waiting < 20
    store.gate.set()
    await asyncio.gather(*sends)
    assert await pair.counts() == (40, 0)
    await pair.close()


async def test_leases_that_find_the_link_full_are_taken_back(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.send("a")
    await pair.remote.counts(pair.now_ms)
    monkeypatch.setattr("dovemq.cluster.link.serving.UNSENT_BYTES_MAX", -1)
    with pytest.raises(Busy):
        await pair.take()
    assert await pair.counts() == (1, 0)


async def test_lease_that_does_not_fit_a_frame_is_shortened(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.send(*("x" * 1_000 + f"{number}" for number in range(10)))
    _shrink(monkeypatch, MESSAGE_BYTES_MAX=4_000)
    leased = await pair.remote.lease(Ask(10, 30_000), pair.now_ms)
    assert len(leased.messages) == 3
    assert leased.more

    async def rest_is_back() -> bool:
        return await pair.counts() == (7, 3)

    await until_async(rest_is_back)


async def test_page_that_does_not_fit_a_frame_comes_in_parts(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.send(*(f"{number:02}" + "x" * 1_000 for number in range(20)))
    _shrink(monkeypatch, MESSAGE_BYTES_MAX=4_000)
    page = await pair.remote.peek(Peek(15), pair.now_ms)
    assert [int(each.message.body[:2]) for each in page] == list(range(15))


async def test_long_lists_are_divided(pair: Pair) -> None:
    drafts = [Draft(f"id-{number}", f"{number}", "0") for number in range(130)]
    answers = await pair.remote.send(drafts, pair.now_ms)
    assert [sent.message_id for sent in answers] == [draft.message_id for draft in drafts]


async def test_largest_messages_pass(pair: Pair) -> None:
    body = "☃" * (1_048_576 // 3)
    for start in range(0, 30, 10):
        drafts = [Draft(f"id-{start + n}", body, "0") for n in range(10)]
        await pair.remote.send(drafts, pair.now_ms)
    leased = await pair.remote.lease(Ask(30, 30_000), pair.now_ms)
    assert {lease.message.body == body for lease in leased.messages} == {True}
    assert len(leased.messages) == 30


async def test_text_that_cannot_be_encoded_fails_its_verb_alone(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    good = asyncio.ensure_future(pair.remote.send([Draft("id", "a", "0")], pair.now_ms))
    with pytest.raises(InvariantError):
        await pair.remote.send([Draft("id", "\ud800", "0")], pair.now_ms)
    assert len(await good) == 1
    assert (await pair.remote.counts(pair.now_ms)).visible == 1


async def test_memory_of_answered_verbs_is_given_back(pair: Pair) -> None:
    remote, now_ms = pair.remote, pair.now_ms

    async def many() -> int:
        for _ in range(20):
            await asyncio.gather(*(remote.counts(now_ms) for _ in range(100)))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    first = await many()
    later = await many()
    tracemalloc.stop()
    assert later - first < 100_000


def test_largest_answer_of_the_wire_fits_a_frame() -> None:
    assert bounds.ITEMS_MAX * (1_048_576 + 4_096) < bounds.MESSAGE_BYTES_MAX
    assert bounds.MESSAGE_BYTES_MAX + bounds.FRAME_BYTES_AIM < bounds.FRAME_BYTES_MAX
