"""Reports of load: what a front end knows of its own work, and how it joins what others report."""

import logging
from typing import Any

import msgspec
import pytest

from dovemq.core.commands import Counts
from dovemq.core.errors import StoreUnreachable
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import CapacitySettings
from dovemq.fabric.load_reports import (
    REPORTED_MAX,
    LoadReport,
    LoadReports,
    PartitionReport,
    decoded,
    joined,
)
from dovemq.fabric.load_view import LoadView
from dovemq.fabric.members import Locality
from tests.fabric.sized import SizedWorld

START = CapacitySettings().start


class BrokenStore:
    """A store whose partition 0 cannot be counted."""

    def __init__(self, world: SizedWorld) -> None:
        self._world = world

    def partition(self, queue: Queue, number: int) -> Any:
        return self if number == 0 else self._world.part(number)

    async def counts(self, now_ms: int) -> Counts:
        raise StoreUnreachable("of the test", "it is broken")


def reports_at(world: SizedWorld, is_local: Locality, store: Any = None) -> LoadReports:
    """The reports of a front end that serves some of the partitions."""
    store = store or world.counting
    return LoadReports(
        store, world.clock, world.clients, is_local, world.traffic, lambda: world.busy
    )


async def reported(world: SizedWorld) -> list[PartitionReport]:
    await world.fabric.sizing.reports.take([world.queue])
    return list(world.fabric.sizing.reports.newest.partitions)


async def test_report_has_clients_and_messages_by_partition() -> None:
    world = await SizedWorld(partitions=2).start()
    world.clients.set(1, 2, 3)
    await world.send_to(0, "a", "b")
    await world.send_to(0, "later", delay_ms=5_000)
    number = world.queue.number
    assert await reported(world) == [
        PartitionReport(number, 0, 0, 0, True, 2, 1),
        PartitionReport(number, 1, 2, 3, True),
    ]


async def test_utilisation_is_divided_by_the_share_of_all_operations() -> None:
    world = await SizedWorld(partitions=2).start()
    await reported(world)
    world.busy = 0.5
    world.traffic.by_partition.update({0: 30, 1: 10})
    world.traffic.others += 60
    first, second = await reported(world)
    assert (first.operations, first.utilisation) == (30, 0.15)
    assert (second.operations, second.utilisation) == (10, 0.05)
    first, second = await reported(world)
    assert (first.operations, first.utilisation) == (0, 0.0)


async def test_clients_of_partitions_that_another_front_end_serves_are_reported() -> None:
    world = await SizedWorld(partitions=3).start()
    world.clients.set(0, 1, 0)
    reports = reports_at(world, lambda _, partition: partition == 1)
    await reports.take([world.queue])
    rows = {each.partition: (each.served, each.producers) for each in reports.newest.partitions}
    assert rows == {0: (False, 1), 1: (True, 0)}


async def test_partition_that_cannot_be_counted_does_not_hide_the_others() -> None:
    world = await SizedWorld(partitions=2).start()
    world.clients.set(0, 1, 0)
    reports = reports_at(world, lambda *_: True, BrokenStore(world))
    await reports.take([world.queue])
    assert [each.served for each in reports.newest.partitions] == [False, True]


async def test_report_is_bounded_and_says_what_it_leaves_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = await SizedWorld(partitions=256, partitions_max=256).start()
    reports = world.fabric.sizing.reports
    with caplog.at_level(logging.WARNING):
        await reports.take([world.queue] * 3)
        await reports.take([world.queue] * 3)
    assert len(reports.newest.partitions) == REPORTED_MAX
    assert reports.newest.left_out == 256
    assert len(caplog.records) == 1
    encoded = reports.encoded()
    assert encoded is not None
    assert len(encoded) < 32_768


async def test_nothing_is_reported_while_no_queue_sizes_itself() -> None:
    world = await SizedWorld(auto=False).start()
    await world.step()
    assert world.fabric.sizing.reports.encoded() is None


def test_report_is_read_as_it_was_written() -> None:
    report = LoadReport((PartitionReport(3, 1, 2, 3, True, 4, 5, 6, 0.5),), 7)
    assert list(decoded([msgspec.json.encode(report)])) == [report]


def test_report_of_another_release_is_read_as_far_as_it_is_known() -> None:
    later = b'{"partitions":[[3,1,2,3,true,4,5,6,0.5,"new"]],"more":1}'
    earlier = b'{"partitions":[[3,1,2,3]]}'
    assert [each.partitions[0] for each in decoded([later, earlier])] == [
        PartitionReport(3, 1, 2, 3, True, 4, 5, 6, 0.5),
        PartitionReport(3, 1, 2, 3),
    ]


def test_report_of_an_unknown_form_is_passed_over() -> None:
    known = LoadReport((PartitionReport(1, 0),))
    reports = [b'"busy"', b'{"partitions":[["x"]]}', b"{", msgspec.json.encode(known)]
    assert list(decoded(reports)) == [known]


def test_clients_of_all_front_ends_add_up() -> None:
    known = joined([PartitionReport(1, 0, 2, 3), PartitionReport(1, 0, 4, 5, True, 7, 1, 9, 0.5)])
    assert known == {(1, 0): PartitionReport(1, 0, 6, 8, True, 7, 1, 9, 0.5)}


def test_messages_of_a_partition_that_moves_are_counted_once() -> None:
    reports = [PartitionReport(1, 0, 0, 0, True, 7, 1), PartitionReport(1, 0, 0, 0, True, 0, 0)]
    (known,) = joined(reports).values()
    assert (known.visible, known.held) == (7, 1)


def other(world: SizedWorld, *rows: tuple[Any, ...]) -> bytes:
    """The report of another front end, by partition, producers, consumers and more."""
    partitions = tuple(PartitionReport(world.queue.number, *row) for row in rows)
    return msgspec.json.encode(LoadReport(partitions))


def view_of(world: SizedWorld) -> LoadView:
    return world.fabric.sizing.view


async def test_observation_joins_own_clients_of_this_moment_with_the_reports_of_others() -> None:
    world = await SizedWorld(partitions=2).start()
    world.other_reports = [other(world, (0, 1, 1)), other(world, (1, 0, 2, True, 5, 6))]
    await world.step()
    world.clients.set(0, 2, 0)
    load = view_of(world).observation(world.queue)
    assert [(each.producers, each.consumers) for each in load.partitions] == [(3, 1), (0, 2)]
    assert [(each.visible, each.held) for each in load.partitions] == [(0, 0), (5, 6)]
    assert [each.capacity for each in load.partitions] == [START, START]


async def test_front_ends_that_are_gone_do_not_count() -> None:
    world = await SizedWorld().start()
    world.other_reports = [other(world, (0, 3, 3))]
    await world.step()
    world.other_reports = []
    await world.step()
    assert view_of(world).observation(world.queue).partitions[0].clients == 0


async def test_partitions_that_the_queue_does_not_have_are_ignored() -> None:
    world = await SizedWorld().start()
    world.other_reports = [other(world, (7, 3, 3))]
    await world.step()
    assert [each.number for each in view_of(world).observation(world.queue).partitions] == [0]


async def test_capacity_follows_the_utilisation_of_the_front_end_that_serves() -> None:
    world = await SizedWorld(partitions_max=1).start()
    world.other_reports = [other(world, (0, 10, 10, True, 0, 0, 1_000, 0.4))]
    await world.step(300)
    (partition,) = view_of(world).observation(world.queue).partitions
    assert partition.capacity == pytest.approx(40, rel=0.01)


async def test_partition_without_a_measurement_has_the_capacity_of_the_others() -> None:
    world = await SizedWorld(partitions=2, partitions_min=2, partitions_max=2).start()
    world.other_reports = [other(world, (0, 10, 10, True, 0, 0, 1_000, 0.4))]
    await world.step(300)
    first, second = view_of(world).observation(world.queue).partitions
    assert second.capacity == first.capacity
    assert view_of(world).measured_capacity(world.queue, 1) is None


async def test_estimate_of_a_partition_that_is_gone_is_forgotten() -> None:
    world = await SizedWorld(partitions_max=1).start()
    world.other_reports = [other(world, (0, 10, 10, True, 0, 0, 1_000, 0.4))]
    await world.step(10)
    assert view_of(world).measured_capacity(world.queue, 0)
    view_of(world).follow([])
    assert view_of(world).measured_capacity(world.queue, 0) is None


async def test_busy_clients_make_the_queue_grow_before_it_has_many() -> None:
    world = await SizedWorld().start()
    world.clients.set(0, 2, 4)
    world.busy = 1.0
    for _ in range(60):
        world.traffic.by_partition[0] += 5_000
        await world.step()
    assert len(world.layout.active) > 1
