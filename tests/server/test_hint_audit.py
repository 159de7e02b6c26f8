"""Changes of an adaptive order hint are in the audit log and in the explanation of the queue."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dovemq.core.hint_meter import PERIOD_MS
from dovemq.core.queue import Queue
from dovemq.server.control_audit import HINT_ACTION, HintAudit
from tests.server.admin_world import ACCOUNT, World


async def crowded(world: World, queue: Queue) -> None:
    """Receives of a front end whose claims all meet others'."""
    meter = world.fabric.hints.of(queue)
    for number in range(20):
        meter.began(number)
        meter.claimed(1, [(number, number)])
        meter.checked(1, 4)
        meter.ended()
    meter.began(PERIOD_MS)
    meter.ended()


async def explained(world: World) -> Any:
    return await world.get(f"/v1/queues/{ACCOUNT}/jobs/explanation")


async def test_change_of_an_order_hint_is_audited_with_its_reason(tmp_path: Path) -> None:
    world = World(tmp_path)
    audit = HintAudit(world.audit, lambda: "id")
    world.fabric.hints.recorder = audit.record
    queue = await world.queue("jobs", order_hint="adaptive")
    await crowded(world, queue)
    await audit.close()
    (action,) = (await explained(world))["actions"]
    assert (action["action"], action["before"]) == (HINT_ACTION, 1)
    assert action["order_hint"] == world.fabric.hints.of(queue).k > 1
    assert action["rule"] == "crowded"
    assert action["reason"].startswith("more claims compete")


async def test_adaptive_order_hint_of_a_queue_with_an_owner_is_explained(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("jobs", order_hint="adaptive")
    sentences = (await explained(world))["sentences"]
    assert "order hint 1, adaptive: the queue has an owner, so that no claims collide" in sentences


async def test_adaptive_order_hint_without_an_owner_is_explained(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("jobs", order_hint="adaptive")
    settings = replace(queue.settings, coordination="none")
    queue = replace(queue, settings=settings)
    hints = world.fabric.hints
    assert "too few messages" in hints.explain(queue)[0]
    await crowded(world, queue)
    (sentence,) = hints.explain(queue)
    assert sentence.startswith(f"order hint {hints.of(queue).k} at this front end, adaptive: more")


async def test_fixed_order_hint_is_not_explained(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("jobs", order_hint=3)
    assert len((await explained(world))["sentences"]) == 1
