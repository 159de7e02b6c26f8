"""A queue without an owner names what it cannot have; the rest of the wire is the same."""

import random
from typing import Any

import pytest

from dovemq.core.coordination import COORDINATION_IS_FIXED, GROUP_NEEDS_OWNER, NEEDS_OWNER
from dovemq.core.observing import Observer
from dovemq.stores.owned.logged.ports import Database
from dovemq.testing.clock import ManualClock
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from dovemq.testing.memory_tables import MemoryIndexTables, ReplicaSet
from tests.contract.shared import SharedOpener
from tests.wire.case import Refused, bad_attribute, invalid
from tests.wire.speaking import PROTOCOLS
from tests.wire.world import World

MODES = ("none", "serial")
NEEDED_FOR = [
    ("FifoQueue", "true", "the order of groups"),
    ("GroupConcurrency", "2", "limits of groups"),
    ("GroupRatePerSecond", "2", "limits of groups"),
    ("Partitions", "2", "several partitions together"),
    ("Partitions", "auto", "several partitions together"),
]
"""An attribute that needs an owner, and what the owner is needed for."""

pytestmark = pytest.mark.parametrize("mode", MODES)
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


async def _shared_world() -> World:
    """An endpoint over a store with all modes."""
    clock, tables = ManualClock(), MemoryIndexTables(ReplicaSet(random.Random(1), lambda: 0))

    async def opened() -> Database:
        database = MemoryDatabase(MemoryDatabaseState(fences=False))
        database.index_tables = tables
        return database

    store = await SharedOpener(opened)(clock, random.Random(1), Observer())
    return World(clock=clock, store=store)


async def _refused(
    world: World, protocol: str, operation: str, request: dict[str, Any], expected: Refused
) -> None:
    answer = await world.call(protocol, operation, request)
    assert (answer.status, answer.code, answer.text) == (400, expected.code, expected.text)


@each_protocol
@pytest.mark.parametrize(("attribute", "value", "what"), NEEDED_FOR)
async def test_attribute_that_needs_an_owner_is_refused_by_its_name(
    mode: str, attribute: str, value: str, what: str, protocol: str
) -> None:
    world = await _shared_world()
    name = "orders.fifo" if attribute == "FifoQueue" else "orders"
    request = {"QueueName": name, "Attributes": {"Coordination": mode, attribute: value}}
    expected = bad_attribute(attribute, NEEDS_OWNER.format(coordination=mode, what=what))
    await _refused(world, protocol, "CreateQueue", request, expected)
    assert "QueueUrls" not in await world.done("ListQueues")


@each_protocol
@pytest.mark.parametrize(("attribute", "value", "what"), NEEDED_FOR[1:])
async def test_attribute_that_needs_an_owner_cannot_be_set_later(
    mode: str, attribute: str, value: str, what: str, protocol: str
) -> None:
    world = await _shared_world()
    queue = await world.queue(Coordination=mode)
    request = {"QueueUrl": queue, "Attributes": {attribute: value}}
    expected = bad_attribute(attribute, NEEDS_OWNER.format(coordination=mode, what=what))
    await _refused(world, protocol, "SetQueueAttributes", request, expected)


@each_protocol
async def test_coordination_of_a_queue_cannot_be_changed(mode: str, protocol: str) -> None:
    world = await _shared_world()
    queue = await world.queue()
    request = {"QueueUrl": queue, "Attributes": {"Coordination": mode}}
    expected = bad_attribute("Coordination", COORDINATION_IS_FIXED)
    await _refused(world, protocol, "SetQueueAttributes", request, expected)


@each_protocol
async def test_message_of_a_group_is_refused_since_fairness_needs_an_owner(
    mode: str, protocol: str
) -> None:
    world = await _shared_world()
    queue = await world.queue(Coordination=mode)
    request = {"QueueUrl": queue, "MessageBody": "a", "MessageGroupId": "tenant"}
    expected = invalid("MessageGroupId", "tenant", GROUP_NEEDS_OWNER)
    await _refused(world, protocol, "SendMessage", request, expected)
    assert "Messages" not in await world.done("ReceiveMessage", QueueUrl=queue)


async def test_message_without_a_group_is_sent_received_and_deleted(mode: str) -> None:
    world = await _shared_world()
    queue = await world.queue(Coordination=mode)
    receipt = await world.receipt(queue)
    await world.done("DeleteMessage", QueueUrl=queue, ReceiptHandle=receipt)
    world.clock.advance(31_000)
    assert "Messages" not in await world.done("ReceiveMessage", QueueUrl=queue)
