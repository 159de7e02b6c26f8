"""Leases of front ends: who lives, who is dead, and who must be alone."""

import asyncio

import pytest

from dovemq.cluster.membership import LOOK_MS_MIN, AnotherFrontEnd, FrontEndRefused
from dovemq.cluster.sightings import (
    FrontEnd,
    FrontEndState,
    Heartbeat,
    LeaseTimes,
    Memory,
    decide,
)
from dovemq.cluster.tenure import Tenure
from dovemq.core.errors import UnavailableError
from tests.cluster.world import FAILOVER_SECONDS, FrontEnds, in_virtual_time

TIMES = LeaseTimes(heartbeat_ms=2_000, lease_ms=6_000, margin_ms=1_000, record_ms=60_000)
ME = 1


def _front_end(
    incarnation: int, version: int, state: FrontEndState = FrontEndState.SERVING
) -> FrontEnd:
    return FrontEnd(incarnation, version, Heartbeat("host:1", "1", version, state))


class _Watch:
    """One front end that reads records at the times that the test says."""

    def __init__(self) -> None:
        self._memory: Memory = {}

    def silent(self, now_ms: int, *observed: FrontEnd) -> list[int]:
        verdict = decide(observed, self._memory, now_ms, ME, TIMES)
        self._memory = verdict.memory
        return [each.incarnation for each in verdict.silent]

    def outdated(self, now_ms: int, *observed: FrontEnd) -> list[int]:
        verdict = decide(observed, self._memory, now_ms, ME, TIMES)
        self._memory = verdict.memory
        return [each.incarnation for each in verdict.outdated]


def test_front_end_is_silent_after_a_lease_and_a_margin_without_change() -> None:
    watch = _Watch()
    assert watch.silent(0, _front_end(2, 5)) == []
    assert watch.silent(6_999, _front_end(2, 5)) == []
    assert watch.silent(7_000, _front_end(2, 5)) == [2]


def test_heartbeat_starts_the_wait_anew() -> None:
    watch = _Watch()
    watch.silent(0, _front_end(2, 5))
    assert watch.silent(6_000, _front_end(2, 6)) == []
    assert watch.silent(12_999, _front_end(2, 6)) == []
    assert watch.silent(13_000, _front_end(2, 6)) == [2]


def test_next_silence_is_that_of_the_front_end_not_seen_for_longest() -> None:
    first = decide([_front_end(ME, 1), _front_end(2, 5), _front_end(3, 5)], {}, 0, ME, TIMES)
    assert first.due_ms == 7_000
    seen = [_front_end(ME, 1), _front_end(2, 5), _front_end(3, 6)]
    second = decide(seen, first.memory, 2_000, ME, TIMES)
    assert second.due_ms == 7_000
    third = decide(seen, second.memory, 7_000, ME, TIMES)
    assert [each.incarnation for each in third.silent] == [2]
    assert third.due_ms == 9_000


def test_no_silence_is_due_of_front_ends_that_have_ended() -> None:
    ended = [_front_end(2, 5, FrontEndState.LEFT), _front_end(3, 5, FrontEndState.DEAD)]
    assert decide([_front_end(ME, 1), *ended], {}, 0, ME, TIMES).due_ms is None


def test_record_seen_for_the_first_time_is_never_silent_whatever_its_age() -> None:
    assert _Watch().silent(10**9, _front_end(2, 5)) == []


def test_front_end_does_not_judge_itself() -> None:
    watch = _Watch()
    watch.silent(0, _front_end(ME, 5))
    assert watch.silent(60_000, _front_end(ME, 5)) == []


@pytest.mark.parametrize("state", [FrontEndState.LEFT, FrontEndState.DEAD])
def test_record_of_an_ended_front_end_is_kept_for_a_while(state: FrontEndState) -> None:
    watch = _Watch()
    assert watch.outdated(0, _front_end(2, 5, state)) == []
    assert watch.silent(30_000, _front_end(2, 5, state)) == []
    assert watch.outdated(60_000, _front_end(2, 5, state)) == [2]


def test_owner_trusts_its_lease_from_before_the_heartbeat_was_sent() -> None:
    now_ms = 0
    tenure = Tenure(1, lambda: now_ms, TIMES.trusted_ms, sent_ms=0)
    now_ms = 4_000
    assert tenure.renew(sent_ms=2_000)
    now_ms = 6_999
    assert tenure.holds()
    now_ms = 7_000
    assert not tenure.holds()


def test_ended_lease_is_not_renewed() -> None:
    now_ms = 0
    tenure = Tenure(1, lambda: now_ms, TIMES.trusted_ms, sent_ms=0)
    now_ms = 5_000
    assert not tenure.renew(sent_ms=4_999)
    assert not tenure.holds()


@in_virtual_time
async def test_oldest_front_end_leads_and_the_next_one_follows(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(3)
    assert [member.store.leads() for member in members] == [True, False, False]
    front_ends.kill(members[0])
    await asyncio.sleep(FAILOVER_SECONDS)
    assert [member.store.leads() for member in members] == [False, True, False]
    await members[1].store.close()
    await asyncio.sleep(3)
    assert [member.store.leads() for member in members] == [False, False, True]


@pytest.mark.parametrize("seed", range(20))
@in_virtual_time
async def test_never_do_two_front_ends_lead(front_ends: FrontEnds, seed: int) -> None:
    members = [front_ends.prepare() for _ in range(4)]
    for number, member in enumerate(members):
        member.faults.seed(100 * seed + number)
        member.faults.delay_ms_max = 300
    joining = [asyncio.ensure_future(member.store.start()) for member in members]
    for step in range(600):
        await asyncio.sleep(0.05)
        if step == 200:
            next(each for each in members if each.store.leads()).faults.pause()
        assert sum(member.store.leads() for member in members) <= 1
    await asyncio.gather(*joining)
    assert sum(member.store.leads() for member in members) == 1


@pytest.mark.parametrize("later_ms", [100, 700, 1_300, 1_900])
@pytest.mark.parametrize("killed_ms", [20_200, 21_100, 21_950])
@in_virtual_time
async def test_dead_front_end_is_noticed_soon_after_its_lease_although_nobody_asks(
    front_ends: FrontEnds, later_ms: int, killed_ms: int
) -> None:
    times = LeaseTimes()
    one = await front_ends.start()
    await asyncio.sleep(later_ms / 1_000)
    two = await front_ends.start()
    await asyncio.sleep((killed_ms - later_ms) / 1_000)
    front_ends.kill(one)
    last_beat_ms = killed_ms - killed_ms % times.heartbeat_ms
    await asyncio.sleep((last_beat_ms + times.silence_ms - killed_ms - 1) / 1_000)
    assert len(two.store.membership.front_ends) == 2
    await asyncio.sleep(times.look_ms / 1_000 + LOOK_MS_MIN / 1_000)
    assert len(two.store.membership.front_ends) == 1


@in_virtual_time
async def test_paused_front_end_comes_back_as_another_incarnation(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    before = one.store.membership.incarnation
    one.faults.pause()
    await asyncio.sleep(FAILOVER_SECONDS)
    assert not one.store.membership.holds()
    assert [each.address for each in two.store.membership.front_ends] == [two.address]
    one.faults.resume()
    await asyncio.sleep(5)
    assert one.store.membership.incarnation > before
    assert {each.address for each in two.store.membership.front_ends} == {one.address, two.address}


@in_virtual_time
async def test_front_ends_survive_a_database_that_loses_answers(front_ends: FrontEnds) -> None:
    members = await front_ends.start_many(2)
    before = [member.store.membership.incarnation for member in members]
    for member in members:
        member.faults.lost = 0.1
    await asyncio.sleep(120)
    assert [member.store.membership.incarnation for member in members] == before


@in_virtual_time
async def test_front_end_without_an_address_is_refused_beside_a_living_one(
    front_ends: FrontEnds,
) -> None:
    await front_ends.start("host-1:7000")
    with pytest.raises(AnotherFrontEnd, match="front end 1 at host-1:7000 serves this store"):
        await front_ends.start(alone=True)


@in_virtual_time
async def test_front_end_is_refused_beside_one_that_is_alone(front_ends: FrontEnds) -> None:
    await front_ends.start(alone=True)
    with pytest.raises(AnotherFrontEnd, match="without an address"):
        await front_ends.start("host-2:7000")
    with pytest.raises(AnotherFrontEnd):
        await front_ends.start(alone=True)


@in_virtual_time
async def test_front_end_that_a_living_one_refuses_does_not_serve(front_ends: FrontEnds) -> None:
    first = await front_ends.start("host-1:7000")
    front_ends.network.refusals["host-1:7000"] = "secrets differ"
    with pytest.raises(FrontEndRefused, match=r"host-1:7000 and this one refuse .* secrets differ"):
        await front_ends.start("host-2:7000")
    assert [each.incarnation for each in first.store.membership.serving()] == [1]


@in_virtual_time
async def test_refusal_by_a_dead_front_end_does_not_count(front_ends: FrontEnds) -> None:
    first = await front_ends.start("host-1:7000")
    first.store.abandon()
    front_ends.network.refusals["host-1:7000"] = "another program listens there"
    second = await front_ends.start("host-2:7000")
    assert second.store.membership.leads()


@in_virtual_time
async def test_front_end_that_must_be_alone_follows_a_dead_one(front_ends: FrontEnds) -> None:
    first = await front_ends.start(alone=True)
    queue = await first.create()
    await first.send(queue, "a")
    front_ends.kill(first)
    second = await front_ends.start(alone=True)
    assert await second.bodies(queue) == ["a"]


@in_virtual_time
async def test_front_end_that_must_be_alone_follows_at_once_on_one_that_left(
    front_ends: FrontEnds,
) -> None:
    first = await front_ends.start(alone=True)
    await first.store.close()
    began = front_ends.loop.time()
    second = await front_ends.start(alone=True)
    assert front_ends.loop.time() == began
    assert second.store.leads()


@in_virtual_time
async def test_link_to_a_dead_front_end_is_ended_and_one_that_left_ends_it_itself(
    front_ends: FrontEnds,
) -> None:
    stays, leaves, dies = await front_ends.start_many(3)
    assert stays.link is not None
    await leaves.store.close()
    await asyncio.sleep(FAILOVER_SECONDS)
    assert stays.link.forgotten == []
    front_ends.kill(dies)
    await asyncio.sleep(FAILOVER_SECONDS)
    assert stays.link.forgotten == [dies.address]


@in_virtual_time
async def test_front_end_without_a_lease_owns_nothing(front_ends: FrontEnds) -> None:
    (member,) = await front_ends.start_many(1)
    queue = await member.create()
    await member.send(queue, "a")
    member.faults.pause()
    await asyncio.sleep(FAILOVER_SECONDS)
    assert member.store.owned() == {}
    asking = asyncio.ensure_future(member.bodies(queue))
    with pytest.raises((UnavailableError, TimeoutError)):
        await asyncio.wait_for(asking, 30)


@in_virtual_time
async def test_records_of_ended_front_ends_disappear(front_ends: FrontEnds) -> None:
    one, two = await front_ends.start_many(2)
    await two.store.close()
    await asyncio.sleep(606)
    names = [name for kind, name in front_ends.state.records if kind == "front_end"]
    assert names == [str(one.store.membership.incarnation)]
