"""The check of the lease before an answer is needed: without it a stopped owner loses messages."""

import asyncio

import msgspec

from dovemq.cluster.sightings import LeaseTimes
from dovemq.core.queue import Queue
from tests.cluster.world import FAILOVER_SECONDS, TIMES, FrontEnds, Member, in_virtual_time

UNCHECKED = msgspec.structs.replace(TIMES, lease_ms=1_000_000_000)
"""A front end that trusts its lease for days, as if it did not check it."""


async def _send_after_a_stop(front_ends: FrontEnds, times: LeaseTimes) -> tuple[Member, Queue]:
    """Stop the owner until another has taken its partition; it is sent a message meanwhile."""
    # A database that fences would refuse the late write, whatever the owner checks.
    front_ends.state.fences = False
    owner = await front_ends.start(times=times)
    queue = await owner.create()
    await owner.send(queue, "early")
    heir = await front_ends.start()
    owner.faults.pause()
    await asyncio.sleep(FAILOVER_SECONDS)
    assert await heir.bodies(queue) == ["early"]
    sending = asyncio.ensure_future(owner.send(queue, "late"))
    await asyncio.sleep(1)
    owner.faults.resume_logs()
    await asyncio.sleep(1)
    owner.faults.resume()
    assert await sending == ["id-late"]
    return heir, queue


@in_virtual_time
async def test_owner_that_checks_its_lease_gives_the_message_to_its_heir(
    front_ends: FrontEnds,
) -> None:
    heir, queue = await _send_after_a_stop(front_ends, TIMES)
    assert await heir.bodies(queue) == ["late"]


@in_virtual_time
async def test_owner_that_does_not_check_its_lease_loses_an_answered_message(
    front_ends: FrontEnds,
) -> None:
    heir, queue = await _send_after_a_stop(front_ends, UNCHECKED)
    await asyncio.sleep(60)
    # The lease of the early one has ended; the late one is nowhere.
    assert await heir.bodies(queue) == ["early"]
