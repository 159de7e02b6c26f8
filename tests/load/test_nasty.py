"""The service over a store that does the worst that a store may, for many seeds."""

import asyncio
import os
import random
from collections import Counter
from typing import Any

import pytest

from dovemq.core.commands import Ask, Draft
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.load.checker import Rules
from dovemq.load.judgement import Violation
from dovemq.stores.memory import MemoryPartition
from dovemq.testing.clock import Stuck, VirtualLoop, run_virtually
from dovemq.testing.nasty import CALM, AnswerLost, NastyStore, Nature, natures
from dovemq.testing.schedules import EXACT, Workload, new_memory_store, play
from tests.contract import bugs

SCHEDULES = int(os.environ.get("DOVETEST_SCHEDULES", "20"))
"""The number of schedules for each workload and nature."""

WORKLOADS = {
    "plain": Workload(),
    "polls": Workload(wait_ms=1_000, quits=0.2),
    "any order": Workload(order_hint=5, batch=2, receivers=3),
    "fifo": Workload(fifo=True, quits=0.1, receivers=3),
    "dead letters": Workload(receives_max=1, neglect=0.5),
}
ROUGH = Nature(
    request_lost=0.1,
    reply_lost=0.1,
    delay_ms_max=20,
    late_ms_max=100,
    pause=0.02,
    pause_ms_max=500,
)
HASTY: dict[str, Any] = {"drain_ms_max": 3_000}
PLANTED: dict[type[MemoryPartition], tuple[Violation, Nature, Workload]] = {
    bugs.LeaseHidesNothing: (Violation.COLLIDED, ROUGH, Workload(**HASTY)),
    bugs.LeaseEndsOneMillisecondEarly: (
        Violation.COLLIDED,
        CALM,
        Workload(wait_ms=1_000, neglect=0.3, **HASTY),
    ),
    bugs.SettleForgets: (Violation.RETURNED, ROUGH, Workload(**HASTY)),
    bugs.DuplicatesGetNewIds: (Violation.LOST, ROUGH, Workload(fifo=True, **HASTY)),
    bugs.SettleForgetsTheDeduplicationId: (Violation.DOUBLED, ROUGH, Workload(fifo=True, **HASTY)),
    bugs.GroupsAreNotLocked: (Violation.LATE, ROUGH, Workload(fifo=True, receivers=3, **HASTY)),
}


def allowed(nature: Nature, workload: Workload) -> frozenset[Violation]:
    """Returns the violations that the ports allow.

    A crash loses leases. A move to the dead-letter queue takes two calls: a settle between them by
    a receiver whose lease has ended is too late for the copy, and a repeated move may find the
    first copy received and settled.
    """
    faults: set[Violation] = set()
    if nature.crash:
        faults.add(Violation.COLLIDED)
    if workload.receives_max is not None and nature.delay_ms_max:
        faults.add(Violation.RETURNED)
    return frozenset(faults)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("nature", natures().values(), ids=natures())
def test_nothing_is_lost_whatever_the_store_does(nature: Nature, workload: Workload) -> None:
    rules = Rules(slack=EXACT, allowed=allowed(nature, workload))
    deeds: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        played = play(seed, nature, workload)
        report = played.report(rules)
        assert not report.failed, f"seed {seed}: {report.culprits}"
        assert report.left == 0 or report.settles.unknown, f"seed {seed}"
        deeds.update(played.deeds)
    chances = {
        "request lost": nature.request_lost,
        "reply lost": nature.reply_lost,
        "pause": nature.pause,
        "crash": nature.crash,
    }
    assert set(deeds) == {deed for deed, chance in chances.items() if chance}


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.__name__)
def test_planted_bug_of_a_store_is_found(bug: type[MemoryPartition]) -> None:
    fault, nature, workload = PLANTED[bug]
    found: Counter[Violation] = Counter()
    for seed in range(10):
        played = play(seed, nature, workload, lambda rng: bugs.BuggyStore(bug, rng))
        found.update(played.report(Rules(slack=EXACT)).faults)
        assert not play(seed, nature, workload).report(Rules(slack=EXACT)).failed
    assert found[fault]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_same_seed_gives_the_same_history(workload: Workload) -> None:
    nature = natures()["all together"]
    histories = [
        tuple(journal.rows.tobytes() for journal in play(seed, nature, workload).journals)
        for seed in (1, 2, 1)
    ]
    assert histories[0] == histories[2] != histories[1]


def run_on(nature: Nature, seed: int = 1) -> tuple[NastyStore, VirtualLoop]:
    rng, loop = random.Random(seed), VirtualLoop()
    return NastyStore(new_memory_store(rng), nature, rng, loop), loop


async def new_queue(store: NastyStore) -> Queue:
    return await store.catalogue.create(Queue(0, QueueKey("0" * 12, "jobs"), QueueSettings(), 0, 0))


@pytest.mark.parametrize(
    ("nature", "visible"), [(Nature(request_lost=1.0), 0), (Nature(reply_lost=1.0), 1)]
)
def test_lost_call_was_done_or_not_done(nature: Nature, visible: int) -> None:
    store, loop = run_on(nature)

    async def scene() -> None:
        partition = store.partition(await new_queue(store), 0)
        with pytest.raises(AnswerLost):
            await partition.send([Draft("m-1", "hello", "s")], loop.now_ms())
        store.nature = CALM
        assert (await partition.counts(loop.now_ms())).visible == visible

    run_virtually(scene(), loop)


def test_receiver_that_goes_away_before_the_reply_leaves_nothing_leased() -> None:
    store, loop = run_on(Nature(delay_ms_max=1_000))

    async def scene() -> None:
        partition = store.partition(await new_queue(store), 0)
        store.nature = CALM
        await partition.send([Draft("m-1", "hello", "s")], loop.now_ms())
        for seed in range(20):
            store.nature = Nature(delay_ms_max=1_000)
            lease = asyncio.create_task(partition.lease(Ask(1, 60_000), loop.now_ms()))
            await asyncio.sleep(seed / 20)
            lease.cancel()
            await asyncio.wait([lease])
            store.nature = CALM
            if lease.cancelled():
                assert (await partition.counts(loop.now_ms())).leased == 0
            else:
                await partition.release([each.receipt for each in lease.result().messages], 0)

    run_virtually(scene(), loop)


def test_crash_makes_leased_messages_visible_again() -> None:
    store, loop = run_on(CALM)

    async def scene() -> None:
        partition = store.partition(await new_queue(store), 0)
        await partition.send([Draft("m-1", "hello", "s")], loop.now_ms())
        await partition.lease(Ask(1, 60_000), loop.now_ms())
        store.nature = Nature(crash=1.0)
        with pytest.raises(AnswerLost):
            await partition.counts(loop.now_ms())
        store.nature = CALM
        assert (await partition.counts(loop.now_ms())).visible == 1

    run_virtually(scene(), loop)


def test_hours_pass_at_once_in_virtual_time() -> None:
    loop = VirtualLoop()
    before_ms = loop.now_ms()
    run_virtually(asyncio.sleep(36_000), loop)
    assert loop.now_ms() == before_ms + 36_000_000


def test_endless_wait_is_reported() -> None:
    loop = VirtualLoop()

    async def waits() -> None:
        await loop.create_future()

    with pytest.raises(Stuck):
        run_virtually(waits(), loop)
