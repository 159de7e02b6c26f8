"""All viewers share one snapshot, which shows rates, alerts, histories and clients."""

import asyncio
from pathlib import Path
from typing import Any

from dovemq.core.queue import QueueKey, Redrive
from dovemq.core.sessions import SESSION, ClientSession
from dovemq.server.queue_rows import CONSUMER_MS
from dovemq.server.sharing import INTERVAL_MS
from dovemq.server.snapshots import POINT_MS
from dovemq.service.clients import SILENT_MS_MAX, Clients
from tests.server.admin_world import ACCOUNT, World


async def _row(world: World, name: str) -> Any:
    rows = (await world.get("/v1/overview/queues"))["queues"]
    return next(row for row in rows if row["name"] == name)


async def _kinds(world: World) -> list[tuple[str, str]]:
    alerts = (await world.get("/v1/overview"))["alerts"]
    return [(each["name"], each["kind"]) for each in alerts]


async def test_any_number_of_viewers_share_a_snapshot_a_second(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    snapshots = world.context.snapshots
    assert snapshots is not None
    for _ in range(3):
        await asyncio.gather(*(world.get("/v1/overview") for _ in range(20)))
        await asyncio.gather(*(world.get("/v1/overview/queues") for _ in range(20)))
    assert snapshots.made == 1
    world.clock.advance(INTERVAL_MS * 60)
    await asyncio.gather(*(world.get("/v1/overview") for _ in range(20)))
    assert snapshots.made == 2


async def test_rates_are_those_since_the_snapshot_before(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    await _row(world, "orders")
    await world.send(queue, *(str(number) for number in range(600)))
    await world.service.messages.receive(queue, 10)
    world.clock.advance(60_000)
    row = await _row(world, "orders")
    assert (row["rates"]["sent"], row["rates"]["received"]) == (10.0, 0.17)
    assert (row["visible"], row["leased"], row["oldest_age_ms"]) == (600, 0, 60_000)
    world.clock.advance(60_000)
    assert (await _row(world, "orders"))["rates"]["sent"] == 0


async def test_alerts_name_the_queues_that_need_somebody(tmp_path: Path) -> None:
    world = World(tmp_path)
    dead = await world.queue("dead")
    orders = await world.queue("orders", redrive=Redrive(dead.key, 1))
    await world.queue("quiet")
    paused = await world.queue("paused", delivery_paused=True)
    for queue in (orders, paused, dead):
        await world.send(queue, "a")
    assert await _kinds(world) == [("dead", "dead-letters"), ("paused", "paused")]
    world.clock.advance(CONSUMER_MS)
    assert ("orders", "no-consumers") in await _kinds(world)
    now_ms = world.clock.now_ms()
    world.service.clients.saw(orders.key, "1.1.1.1:1", ACCOUNT, "", now_ms, producer=False)
    world.clock.advance(POINT_MS)
    assert ("orders", "no-consumers") not in await _kinds(world)
    assert (await _row(world, "orders"))["consumers"] == 1


async def test_age_that_only_grows_is_an_alert_though_somebody_receives(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    await world.send(queue, "a")
    for _ in range(20):
        world.clock.advance(POINT_MS + 60_000)
        now_ms = world.clock.now_ms()
        world.service.clients.saw(queue.key, "1.1.1.1:1", ACCOUNT, "", now_ms, producer=False)
        kinds = await _kinds(world)
    assert kinds == [("orders", "growing-age")]


async def test_rows_are_sorted_filtered_and_paged(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(12):
        queue = await world.queue(f"q-{number:02}")
        await world.send(queue, *"x" * number)
    page = await world.get("/v1/overview/queues", "sort=visible&order=down&limit=2&offset=1")
    assert [row["visible"] for row in page["queues"]] == [10, 9]
    assert page["matching"] == 12
    found = await world.get("/v1/overview/queues", "contains=q-1")
    assert [row["name"] for row in found["queues"]] == ["q-10", "q-11"]
    for query in ("sort=odd", "order=odd", "limit=0", "limit=1001", "offset=x"):
        status, _ = await world.ask("GET", "/v1/overview/queues", query)
        assert status == 400, query


async def test_history_goes_on_while_somebody_looks(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    path = f"/v1/queues/{queue.key}/history"
    for _ in range(4):
        await world.get(path)
        await world.send(queue, "a")
        world.clock.advance(POINT_MS + 60_000)
    shown = await world.get(path)
    assert [point[1] for point in shown["points"]] == [0, 1, 2, 3, 4]
    assert shown["now"]["visible"] == 4
    overview = await world.get("/v1/overview")
    assert [point[1] for point in overview["history"]] == [0, 1, 2, 3, 4]


async def test_account_without_a_role_sees_its_own_queues_only(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("ann", None)
    mine = await world.service.queues.create(QueueKey(key.account, "mine"), {}, {})
    await world.send(mine, "a")
    await world.send(await world.queue("of-root"), "a", "b")
    overview = await world.get("/v1/overview", key=key)
    assert overview["queues"] == 1
    assert overview["total"][1] == 1
    assert [row["name"] for row in overview["largest"]] == ["mine"]
    assert overview["health"] is None
    assert overview["history"] == []
    rows = await world.get("/v1/overview/queues", key=key)
    assert [row["name"] for row in rows["queues"]] == ["mine"]
    assert await world.refused("GET", "/v1/decisions", key=key) == (403, "AccessDenied")


async def test_clients_of_a_queue_are_listed_until_their_connection_ends(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders")
    session = ClientSession()
    SESSION.set(session)
    saw = world.service.clients.saw
    saw(queue.key, "192.0.2.7:1", ACCOUNT, "boto3", world.clock.now_ms(), producer=True)
    world.clock.advance(10)
    for _ in range(2):
        saw(queue.key, "192.0.2.7:1", ACCOUNT, "boto3", world.clock.now_ms(), producer=False)
    listed = await world.get(f"/v1/queues/{queue.key}/clients")
    roles = [(each["role"], each["requests"], each["peer"]) for each in listed["clients"]]
    assert roles == [("consumer", 2, "192.0.2.7:1"), ("producer", 1, "192.0.2.7:1")]
    session.end()
    listed = await world.get(f"/v1/queues/{queue.key}/clients")
    assert (listed["clients"], listed["waiting"]) == ([], 0)


def test_table_of_clients_is_bounded_and_forgets_the_silent() -> None:
    clients = Clients(clients_max=3)
    key = QueueKey(ACCOUNT, "orders")
    for number in range(5):
        clients.saw(key, f"p{number}", ACCOUNT, "", number, producer=False)
    assert [each.peer for each in clients.of_queue(key, 5)] == ["p4", "p3", "p2"]
    clients.saw(key, "p2", ACCOUNT, "", SILENT_MS_MAX + 10, producer=False)
    assert [each.peer for each in clients.of_queue(key, SILENT_MS_MAX + 11)] == ["p2"]
    assert clients.consumers(key, SILENT_MS_MAX) == 1
    assert len(clients) == 1
