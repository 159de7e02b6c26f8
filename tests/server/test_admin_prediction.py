"""A queue is predicted from what was measured, and says in words why it cannot be."""

import random
from pathlib import Path

import pytest

from dovemq.server.predictions import KEPT_MS
from tests.server.admin_world import ACCOUNT, World

PATH = f"/v1/queues/{ACCOUNT}/orders/prediction"
SERVICE_MS = 40


async def _busy(world: World, messages: int = 200, gap_ms: int = 100) -> None:
    """One consumer takes exponential times for messages that come at random."""
    queue = await world.queue("orders")
    rng = random.Random(7)
    arrivals, at_ms = [], 0.0
    for _ in range(messages):
        at_ms += rng.expovariate(1 / gap_ms)
        arrivals.append(at_ms)
    begun_ms, done, free_ms = world.clock.now_ms(), 0, 0.0

    def until(ms: float) -> None:
        world.clock.advance(max(int(ms) - (world.clock.now_ms() - begun_ms), 0))

    sent = 0
    while done < messages:
        start = max(arrivals[done], free_ms)
        free_ms = start + rng.expovariate(1 / SERVICE_MS)
        while sent < messages and arrivals[sent] <= start:
            until(arrivals[sent])
            await world.send(queue, str(sent))
            sent += 1
        until(start)
        world.service.clients.saw(
            queue.key, "p:1", ACCOUNT, "t", world.clock.now_ms(), producer=False
        )
        [delivery] = await world.service.messages.receive(queue, 1)
        while sent < messages and arrivals[sent] <= free_ms:
            until(arrivals[sent])
            await world.send(queue, str(sent))
            sent += 1
        until(free_ms)
        await world.service.messages.settle(queue, [delivery.receipt])
        done += 1


async def test_measured_and_predicted_figures_agree_for_a_queue_that_fits_the_model(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    await _busy(world, 1_500)
    found = await world.get(PATH)
    assert found["state"] == "predicted"
    measured, predicted = found["measured"], found["predicted"]
    assert measured["consumers"] == 1
    assert measured["parameters"]["arrival_rate"]["value"] == pytest.approx(10, rel=0.1)
    assert measured["parameters"]["service_ms"]["value"] == pytest.approx(SERVICE_MS, rel=0.1)
    assert predicted["utilisation"]["value"] == pytest.approx(0.4, abs=0.05)
    for kind in ("mean", "quantile"):
        figure = predicted["response_ms"][kind]
        assert figure["low"] < figure["value"] < figure["high"]
        assert measured["response_ms"][kind] == pytest.approx(figure["value"], rel=0.2)
    assert predicted["saturation_rate"]["value"] == pytest.approx(1_000 / SERVICE_MS, rel=0.1)
    assert "saturates at" in found["summary"]
    assert found["as_measured"]["response_ms"] == predicted["response_ms"]


async def test_what_if_parameters_replace_the_measured_ones(tmp_path: Path) -> None:
    world = World(tmp_path)
    await _busy(world)
    before = await world.get(PATH)
    found = await world.get(PATH, "arrival_rate=60&consumers=3&percentile=99&target_ms=500")
    assert found["scenario"]["arrival_rate"] == 60
    assert (found["scenario"]["consumers"], found["scenario"]["percentile"]) == (3, 99)
    predicted = found["predicted"]
    assert predicted["response_ms"]["quantile"]["value"] > predicted["response_ms"]["mean"]["value"]
    ratio = predicted["saturation_rate"]["value"] / before["predicted"]["saturation_rate"]["value"]
    assert ratio == pytest.approx(3)
    assert found["target"]["consumers"] >= 3
    assert f"needs {found['target']['consumers']} consumers" in found["summary"]
    rates = [point["arrival_rate"] for point in found["predicted"]["curve"]]
    assert rates == sorted(rates)
    divided = await world.get(PATH, "arrival_rate=60&consumers=3&partitions=3&percentile=99")
    slower = divided["predicted"]["response_ms"]["mean"]["value"]
    assert slower > predicted["response_ms"]["mean"]["value"]
    impossible = await world.get(PATH, "target_ms=1")
    assert impossible["target"]["consumers"] is None
    assert "the service itself takes too long" in impossible["summary"]


async def test_queue_that_only_grows_is_called_unstable(tmp_path: Path) -> None:
    world = World(tmp_path)
    await _busy(world)
    found = await world.get(PATH, "arrival_rate=1000")
    assert found["state"] == "unstable"
    assert "only grows" in found["summary"]
    assert found["predicted"]["response_ms"]["mean"]["value"] is None
    assert found["predicted"]["throughput"]["value"] == pytest.approx(
        found["predicted"]["saturation_rate"]["value"]
    )


async def test_missing_messages_and_consumers_are_explained(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    found = await world.get(PATH)
    assert (found["state"], found["predicted"]) == ("too-few-samples", None)
    assert "0 were sent" in found["summary"]
    world.clock.advance(KEPT_MS)
    await _busy(world)
    world.clock.advance(90_000)
    found = await world.get(PATH)
    assert (found["state"], found["as_measured"]) == ("no-consumers", None)
    assert "No consumer has asked" in found["summary"]
    assert (await world.get(PATH, "consumers=2"))["state"] == "predicted"
    alone = await world.get(PATH, "consumers=2&partitions=3")
    assert alone["state"] == "partition-without-consumer"
    assert (await world.get(PATH, "consumers=2&partitions=2"))["state"] == "predicted"


async def test_measurements_leave_the_window(tmp_path: Path) -> None:
    world = World(tmp_path)
    await _busy(world)
    world.clock.advance(400_000)
    found = await world.get(PATH)
    assert (found["state"], found["measured"]["sent"]) == ("too-few-samples", 0)


async def test_viewers_share_an_answer_for_two_seconds(tmp_path: Path) -> None:
    world = World(tmp_path)
    await _busy(world)
    first = await world.get(PATH)
    world.clock.advance(KEPT_MS - 1)
    assert (await world.get(PATH))["at_ms"] == first["at_ms"]
    world.clock.advance(1)
    assert (await world.get(PATH))["at_ms"] > first["at_ms"]


@pytest.mark.parametrize(
    "query",
    [
        "arrival_rate=0", "arrival_rate=-1", "arrival_rate=1e5", "arrival_rate=nan",
        "arrival_rate=.", "arrival_rate=99999999", "consumers=0", "consumers=1001",
        "consumers=1.5", "partitions=101", "percentile=49", "percentile=100", "target_ms=0",
    ],
)  # fmt: skip
async def test_parameters_out_of_range_are_refused(tmp_path: Path, query: str) -> None:
    world = World(tmp_path)
    await world.queue("orders")
    status, document = await world.ask("GET", PATH, query)
    assert (status, document["error"]["code"]) == (400, "InvalidValue")


async def test_batches_repeats_partitions_and_groups_are_mentioned(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("orders.fifo")
    await world.send(queue, "a", "b", group="g", deduplication_id="d")
    found = await world.get(f"/v1/queues/{ACCOUNT}/orders.fifo/prediction")
    assert found["measured"]["sent"] == 1, "the second repeats the first"
    assumed = " ".join(found["assumptions"])
    assert "Messages of one group wait for each other" in assumed
    wide = await world.queue("wide", partitions=2)
    await world.send(wide, "a", "b", "c", "d")
    await world.service.messages.receive(wide, 4, lease_ms=1_000)
    world.clock.advance(2_000)
    await world.service.messages.receive(wide, 4)
    assumed = " ".join((await world.get(PATH.replace("orders", "wide")))["assumptions"])
    assert "Every consumer serves all partitions." in assumed
    assert "messages at a time" in assumed
    assert "repeat a message" in assumed
