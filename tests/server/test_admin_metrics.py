"""`GET /metrics`: who may read it, and that it tells what the queues hold."""

import base64
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dovemq.core.access import AccessKey
from dovemq.http import HttpResponse
from dovemq.server.admin import AdminApi
from dovemq.server.admin_context import AdminContext
from dovemq.server.metrics import Metrics, store_samples
from dovemq.sqs.signature import Signer
from dovemq.telemetry.metrics import METRICS, OTHER, MetricSample
from tests.server.admin_world import ACCOUNT, KEY, World

DISABLED = AccessKey("AKIADISABLED", "disabled", ACCOUNT, enabled=False)
EXPIRED = AccessKey("AKIAEXPIRED", "expired", ACCOUNT, expires_ms=1)


class Keys:
    def find(self, key_id: str) -> AccessKey | None:
        known = {key.key_id: key for key in (KEY, DISABLED, EXPIRED)}
        return known.get(key_id)


class MeteredWorld(World):
    def __init__(self, scratch: Path, *, queues_max: int = 200, metrics_open: bool = False) -> None:
        super().__init__(scratch)
        self.metrics = Metrics(
            self.service,
            self.meter,
            queues_max,
            [
                lambda: store_samples(self.care.statistics),
                lambda: [MetricSample("dovemq_connections", 7)],
            ],
        )
        context = AdminContext(
            self.service, dict, new_id=lambda: "id", metrics=self.metrics, logins=self.logins
        )
        self.api = AdminApi(context, Keys(), "us-east-1", lambda: "id", metrics_open=metrics_open)

    async def scrape(self, **headers: str) -> HttpResponse:
        response = await self.call("GET", "/metrics", headers={"host": "h", **headers})
        assert isinstance(response, HttpResponse)
        return response

    async def samples(self) -> dict[tuple[str, ...], float]:
        """Samples by name and label values."""
        text = (await self.metrics.text()).decode()
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def basic(key_id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{key_id}:{secret}".encode()).decode()


async def test_metrics_are_told_to_a_key_shown_by_basic(tmp_path: Path) -> None:
    response = await MeteredWorld(tmp_path).scrape(authorization=basic(KEY.key_id, KEY.secret))
    assert response.status == 200
    assert response.content_type.startswith("text/plain; version=0.0.4")
    assert b"# TYPE dovemq_connections gauge\ndovemq_connections 7.0\n" in response.body


async def test_metrics_are_told_to_a_signature(tmp_path: Path) -> None:
    world = MeteredWorld(tmp_path)
    signer = Signer(KEY, region="us-east-1", service="dovemq")
    headers = signer.sign("GET", "/metrics", "", {"host": "h"}, b"", world.clock.now_ms())
    assert (await world.scrape(**headers)).status == 200


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"\xff\xff").decode(),
        basic(KEY.key_id, "wrong"),
        basic(KEY.key_id, ""),
        basic("AKIANOBODY", KEY.secret),
        basic(DISABLED.key_id, DISABLED.secret),
        basic(EXPIRED.key_id, EXPIRED.secret),
    ],
)
async def test_metrics_need_a_valid_key(tmp_path: Path, shown: str) -> None:
    headers = {"authorization": shown} if shown else {}
    response = await MeteredWorld(tmp_path).scrape(**headers)
    assert response.status in (400, 403)
    assert b"dovemq_" not in response.body


async def test_open_metrics_need_no_key(tmp_path: Path) -> None:
    assert (await MeteredWorld(tmp_path, metrics_open=True).scrape()).status == 200


async def test_metrics_tell_what_a_queue_holds_and_did(tmp_path: Path) -> None:
    world = MeteredWorld(tmp_path)
    queue = await world.queue("jobs")
    await world.send(queue, "a", "b", "c")
    await world.send(queue, "later", delay_ms=60_000)
    world.clock.advance(5_000)
    await world.service.messages.receive(queue, 1)
    labels = (ACCOUNT, "jobs")
    samples = await world.samples()
    held = {
        state: samples["dovemq_queue_messages", *labels, state]
        for state in ("visible", "leased", "delayed")
    }
    assert held == {"visible": 2, "leased": 1, "delayed": 1}
    assert samples["dovemq_queue_oldest_claimable_age_seconds", *labels] == 5
    assert samples["dovemq_messages_sent_total", *labels] == 4
    assert samples["dovemq_messages_received_total", *labels] == 1
    assert samples["dovemq_receive_hits_total", *labels] == 1
    assert samples["dovemq_queues",] == 1
    assert samples["dovemq_store_state", "ok"] == 1


async def test_labels_are_bounded_and_the_rest_is_summed(tmp_path: Path) -> None:
    world = MeteredWorld(tmp_path, queues_max=2)
    for number in range(5):
        queue = await world.queue(f"q{number}")
        await world.send(queue, *(["x"] * (number + 1)))
    world.clock.advance(2_000)
    samples = await world.samples()
    names = {key[2] for key in samples if key[0] == "dovemq_messages_sent_total"}
    assert names == {"q3", "q4", OTHER}
    assert samples["dovemq_messages_sent_total", OTHER, OTHER] == 1 + 2 + 3
    assert samples["dovemq_queue_messages", OTHER, OTHER, "visible"] == 6
    assert samples["dovemq_queue_oldest_claimable_age_seconds", OTHER, OTHER] == 2


async def test_removed_queue_leaves_the_metrics(tmp_path: Path) -> None:
    world = MeteredWorld(tmp_path)
    queue = await world.queue("jobs")
    await world.send(queue, "a")
    await world.service.queues.remove(queue.key)
    samples: dict[Any, float] = await world.samples()
    assert not [key for key in samples if "jobs" in key]
    assert samples["dovemq_queues",] == 0


async def test_every_metric_of_an_answer_is_in_the_table(tmp_path: Path) -> None:
    world = MeteredWorld(tmp_path)
    await world.queue("jobs")
    text = (await world.metrics.text()).decode()
    families = {family.name for family in text_string_to_metric_families(text)}
    known = {metric.name.removesuffix("_total") for metric in METRICS}
    assert {name for name in families if not name.startswith("process_")} <= known


async def test_service_that_drains_is_live_and_not_ready(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert await world.get("/health/ready") == {"ready": True}
    await world.service.drain()
    status, document = await world.ask("GET", "/health/ready")
    assert (status, document["error"]["message"]) == (503, "The service is draining.")
    assert await world.get("/health/live") == {"live": True}
