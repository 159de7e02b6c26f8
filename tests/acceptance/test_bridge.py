"""A real Mosquitto, a real bridge and a real server: nothing is lost, whatever is killed."""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.mosquitto import (
    BridgeProcess,
    LocalMosquitto,
    Publisher,
    await_that,
    emptied,
    numbered,
    received,
)
from tests.acceptance.programs import clean_environment, program, run
from tests.server.secured import Pair

TOPIC = "sensors/7/temperature"
ROUTE = "sensors/+/temperature=readings"
PAGE = "docs/how-to/bridge-mqtt.md"
AWAY = re.compile("broker keeps the messages")

NewBridge = Callable[..., BridgeProcess]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(tmp_path / "data") as running:
        yield running


@pytest.fixture
def sqs(server: LocalServer) -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client("sqs", config=config, **server.boto3_kwargs)
    yield client
    client.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LocalMosquitto]:
    program("mosquitto")
    with LocalMosquitto(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def device(broker: LocalMosquitto) -> Iterator[Publisher]:
    publisher = Publisher(broker)
    yield publisher
    publisher.close()


@pytest.fixture
def new_bridge(server: LocalServer, broker: LocalMosquitto, tmp_path: Path) -> Iterator[NewBridge]:
    """Makes bridges that create their queues, and kills them at the end."""
    with contextlib.ExitStack() as ending:

        def create(*args: str, **more: str) -> BridgeProcess:
            log = tmp_path / "bridge.log"
            bridge = BridgeProcess(server, broker, log, *args, "--create", **more)
            ending.push(bridge.__exit__)
            return bridge

        yield create


def url_of(sqs: Any, name: str) -> str:
    url: str = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return url


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_messages_become_messages_of_queues(
    protocol: str, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    routes = ["--route", ROUTE, "--route", "alarms/#=alarms.fifo"]
    bridge = new_bridge(*routes, "--protocol", protocol).start()
    device.publish(TOPIC, "21.5", ContentType="text/plain", UserProperty=[("unit", "C")])
    device.publish("alarms/a", *numbered(0, 100))
    device.publish("alarms/b", b"\xff\x00")
    fifo = url_of(sqs, "alarms.fifo")
    bodies = received(sqs, fifo, [*numbered(0, 100), "/wA="])
    assert [body for body in bodies if body != "/wA="] == numbered(0, 100)
    [reading] = emptied(sqs, url_of(sqs, "readings"))
    attributes = {
        name: value["StringValue"] for name, value in reading["MessageAttributes"].items()
    }
    expected = {"mqtt.topic": TOPIC, "mqtt.qos": "1"}
    if protocol == "5":
        expected |= {"mqtt.content-type": "text/plain"}
        assert json.loads(attributes.pop("mqtt.user-properties")) == [["unit", "C"]]
    assert (reading["Body"], attributes) == ("21.5", expected)
    counts = bridge.stop()
    assert counts["acknowledged"] == counts["stored"] == counts["received"] == 102


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_each_route_of_overlapping_filters_gets_a_message_once(
    protocol: str, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    new_bridge("--route", "a/b=one", "--protocol", protocol).start().stop()
    routes = ["--route", "a/#=all", "--route", "a/+=some", "--route", "a/b=one"]
    bridge = new_bridge(*routes, "--protocol", protocol).start()
    device.publish("a/b", *numbered(0, 50))
    for name in ("all", "some", "one"):
        assert sorted(received(sqs, url_of(sqs, name), numbered(0, 50))) == sorted(numbered(0, 50))
    assert bridge.stop()["stored"] == 150


def test_nothing_is_lost_when_the_server_is_killed(
    server: LocalServer, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE).start()
    device.publish(TOPIC, *numbered(0, 300))
    server.kill()
    device.publish(TOPIC, *numbered(300, 600))
    bridge.await_report(AWAY)
    server.start()
    bodies = received(sqs, url_of(sqs, "readings"), numbered(0, 600))
    assert set(bodies) == set(numbered(0, 600))
    assert bridge.stop()["acknowledged"] >= 600


def test_broker_holds_what_the_server_has_not_stored(
    server: LocalServer, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE).start()
    server.kill()
    device.publish(TOPIC, *numbered(0, 50))
    bridge.await_report(AWAY)
    bridge.kill()
    server.start()
    url = url_of(sqs, "readings")
    assert list(emptied(sqs, url)) == []
    bridge.start()
    assert sorted(received(sqs, url, numbered(0, 50))) == sorted(numbered(0, 50))
    counts = bridge.stop()
    assert counts["acknowledged"] == 50
    assert counts["redelivered"] > 0


def test_nothing_is_lost_when_the_broker_is_restarted(
    broker: LocalMosquitto, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE, "--route", "sensors/#=all").start()
    device.publish(TOPIC, *numbered(0, 300))
    broker.stop()
    bridge.await_report(re.compile("trying again"))
    broker.start()
    device.publish(TOPIC, *numbered(300, 600))
    for name in ("readings", "all"):
        bodies = received(sqs, url_of(sqs, name), numbered(0, 600))
        assert set(bodies) == set(numbered(0, 600))
    counts = bridge.stop()
    assert (counts["connections"], counts["sessions_lost"]) == (2, 0)


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_restarted_broker_has_for_every_route_what_came_while_the_bridge_was_away(
    protocol: str, broker: LocalMosquitto, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    routes = ["--route", "sensors/#=all", "--route", ROUTE]
    bridge = new_bridge(*routes, "--protocol", protocol).start()
    bridge.stop()
    broker.stop()
    broker.start()
    device.publish(TOPIC, *numbered(0, 200))
    bridge.start()
    for name in ("readings", "all"):
        bodies = received(sqs, url_of(sqs, name), numbered(0, 200))
        assert sorted(map(int, bodies)) == list(range(200))


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_nothing_is_lost_when_the_bridge_is_killed(
    protocol: str, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE, "--protocol", protocol).start()
    for start in range(0, 900, 300):
        device.publish(TOPIC, *numbered(start, start + 200))
        bridge.kill()
        device.publish(TOPIC, *numbered(start + 200, start + 300))
        bridge.start()
    bodies = received(sqs, url_of(sqs, "readings"), numbered(0, 900))
    assert set(bodies) == set(numbered(0, 900))
    assert "resumed session" in bridge.log.read_text()


def test_bridge_that_is_stopped_leaves_no_message_to_be_repeated(
    sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE).start()
    device.publish(TOPIC, *numbered(0, 500))
    first = bridge.stop()
    assert first["received"] == first["acknowledged"]
    device.publish(TOPIC, *numbered(500, 600))
    bridge.start()
    bodies = received(sqs, url_of(sqs, "readings"), numbered(0, 600))
    assert sorted(map(int, bodies)) == list(range(600))
    assert bridge.stop()["received"] == 600 - first["received"]


def test_message_that_is_too_large_goes_to_the_queue_for_refused_ones(
    sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    sqs.create_queue(QueueName="small", Attributes={"MaximumMessageSize": "1024"})
    bridge = new_bridge("--route", "#=small", "--refused-queue", "refused").start()
    secret = "secret" * 500
    device.publish("a", secret, "b")
    [message] = [*wait_for(sqs, "refused")]
    assert message["Body"] == secret
    assert "InvalidParameterValue" in message["MessageAttributes"]["mqtt.refused"]["StringValue"]
    assert received(sqs, url_of(sqs, "small"), ["b"]) == ["b"]
    counts = bridge.stop()
    assert (counts["refused"], counts["discarded"], counts["acknowledged"]) == (1, 0, 2)
    assert "secret" not in bridge.log.read_text()


def wait_for(sqs: Any, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        found.extend(emptied(sqs, url_of(sqs, name)))
        return bool(found)

    await_that(is_there)
    return found


def test_deleted_queue_ends_the_bridge_and_the_broker_keeps_the_messages(
    sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    bridge = new_bridge("--route", ROUTE).start()
    sqs.delete_queue(QueueUrl=url_of(sqs, "readings"))
    device.publish(TOPIC, *numbered(0, 50))
    code, _ = bridge.ended()
    assert code == 1
    assert "NonExistentQueue" in bridge.log.read_text()
    bridge.start()
    bodies = received(sqs, url_of(sqs, "readings"), numbered(0, 50))
    assert sorted(bodies) == sorted(numbered(0, 50))


def test_two_bridges_of_one_name_are_told_of_it(
    tmp_path: Path, server: LocalServer, broker: LocalMosquitto, new_bridge: NewBridge
) -> None:
    first = new_bridge("--route", ROUTE).start()
    with BridgeProcess(server, broker, tmp_path / "second.log", "--route", ROUTE):
        first.await_report(re.compile("does another client use the id 'dovemq-bridge'"))


@pytest.mark.parametrize("ending", [["--clean-start"], ["--unsubscribe", "old/#"]])
def test_subscription_of_a_removed_route_can_be_ended(
    ending: list[str], sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    new_bridge("--route", "old/#=readings").start().stop()
    for args, unrouted in (([], 1), (ending, 0)):
        bridge = new_bridge("--route", "new/#=readings", *args).start()
        device.publish("old/1", "x")
        device.publish("new/1", "y")
        assert received(sqs, url_of(sqs, "readings"), ["y"]) == ["y"]
        assert bridge.stop()["unrouted"] == unrouted


def test_bridges_share_the_messages_of_a_shared_filter(
    tmp_path: Path, server: LocalServer, broker: LocalMosquitto, sqs: Any, device: Publisher
) -> None:
    args = ["--route", "$share/bridges/sensors/#=readings", "--create"]
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    bridges = [BridgeProcess(server, broker, log, *args, "--client-id", log.stem) for log in logs]
    with bridges[0], bridges[1]:
        device.publish(TOPIC, *numbered(0, 200))
        bodies = received(sqs, url_of(sqs, "readings"), numbered(0, 200))
        counts = [bridge.stop()["stored"] for bridge in bridges]
    assert sorted(map(int, bodies)) == list(range(200))
    assert sum(counts) == 200
    assert all(counts)


def test_how_to_works_as_written(
    tmp_path: Path, server: LocalServer, broker: LocalMosquitto, sqs: Any
) -> None:
    (_, start), (_, publish), (_, receive), (_, decode), (_, file) = blocks(PAGE)
    env = clean_environment(tmp_path, **server.env)

    def fitted(text: str) -> str:
        return re.sub(r"mqtts?://[a-z0-9.]+:(1883|8883)", broker.url, text)

    path = tmp_path / "bridge.toml"
    path.write_text(fitted(file))
    (tmp_path / "plant-7.login").write_text("plant-7:sesame")
    for command in (fitted(start), f"dovemq bridge mqtt {path.name} --create"):
        with running(command, env, tmp_path):
            script = publish.replace("port=1883", f"port={broker.port}")
            run([sys.executable, "-c", script], env=env, cwd=tmp_path)
            await_that(lambda: "21.5" in run(["bash", "-c", receive], env=env, cwd=tmp_path))
    scope: dict[str, Any] = {}
    exec(decode, scope)
    encoding = {"mqtt.encoding": {"StringValue": "base64"}}
    assert scope["payload"]({"Body": "/wA=", "MessageAttributes": encoding}) == b"\xff\x00"
    assert scope["payload"]({"Body": "21.5", "MessageAttributes": {}}) == b"21.5"


@contextlib.contextmanager
def running(command: str, env: Mapping[str, str], place: Path) -> Iterator[None]:
    """A bridge by a command of a shell, connected and at the end asked to stop."""
    log = place / "written.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], env=dict(env), cwd=place, stderr=output
        )
    try:
        await_that(lambda: "connected to" in log.read_text() or process.poll() is not None)
        yield
    finally:
        process.terminate()
        assert process.wait() == 0, log.read_text()


def test_retained_message_is_stored_once_although_the_bridge_connects_again(
    broker: LocalMosquitto, sqs: Any, device: Publisher, new_bridge: NewBridge
) -> None:
    device.publish(TOPIC, "kept", retain=True)
    bridge = new_bridge("--route", ROUTE).start()
    [message] = wait_for(sqs, "readings")
    assert message["MessageAttributes"]["mqtt.retain"]["StringValue"] == "true"
    broker.stop()
    bridge.await_report(re.compile("trying again"))
    broker.start()
    device.publish(TOPIC, "next")
    assert received(sqs, url_of(sqs, "readings"), ["next"]) == ["next"]
    assert bridge.stop()["stored"] == 2


def test_broker_with_tls_gets_certificate_user_and_password(
    tmp_path: Path, server: LocalServer, sqs: Any
) -> None:
    pair, authority, passwords = Pair(tmp_path), tmp_path / "ca.pem", tmp_path / "passwords"
    authority.write_bytes(pair.authority.cert_pem.bytes())
    env = clean_environment(tmp_path)
    run([program("mosquitto_passwd"), "-b", "-c", passwords, "plant", "open sesame"], env=env)
    login = tmp_path / "login"
    login.write_text("plant:open sesame\n")
    settings = {
        "allow_anonymous": "false",
        "password_file": passwords,
        "cafile": authority,
        "certfile": pair.certificate,
        "keyfile": pair.key,
        "require_certificate": "true",
    }
    lines = [f"{name} {value}" for name, value in settings.items()]
    own = ["--broker-certificate", str(pair.certificate), "--broker-key", str(pair.key)]
    args = ["--route", ROUTE, "--create", "--broker-ca", str(authority), *own]
    context = pair.trust()
    context.load_cert_chain(pair.certificate, pair.key)
    with LocalMosquitto(tmp_path / "broker", *lines) as broker:
        url = f"mqtts://127.0.0.1:{broker.port}"
        log = tmp_path / "bridge.log"
        stranger = {"MQTT_USER": "plant", "MQTT_PASSWORD": "wrong"}
        refused = BridgeProcess(server, broker, log, *args, url=url, **stranger)
        code, _ = refused.start(connected=False).ended()
        assert code == 1
        assert "Not authorized" in log.read_text()
        assert "wrong" not in log.read_text()
        device = Publisher(broker, context, ("plant", "open sesame"))
        with BridgeProcess(server, broker, log, *args, "--login", str(login), url=url) as bridge:
            device.publish(TOPIC, *["x" * 20_000] * 20, "end")
            received(sqs, url_of(sqs, "readings"), ["end"])
            assert bridge.stop()["stored"] == 21
        device.close()
