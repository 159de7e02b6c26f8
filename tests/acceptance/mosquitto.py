"""A real Mosquitto, a publisher that repeats what was not acknowledged, and a bridge process."""

import contextlib
import getpass
import json
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from dovemq.system.ports import free_ports
from dovemq.testing.daemons import LOOK_SECONDS, START_SECONDS_MAX, Daemon, LocalService
from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import program

HOST: Final = "127.0.0.1"
PORTS: Final = range(29_500, 29_900)
"""Below the ports of clients, so that none is taken while a broker restarts."""
WAIT_SECONDS_MAX: Final = 60
CONNECTED: Final = re.compile("connected to")


class LocalMosquitto(LocalService):
    """A broker with persistence, which may be stopped and started again."""

    def __init__(self, directory: Path, *settings: str) -> None:
        super().__init__(directory)
        self.settings = settings
        [self.port] = free_ports(1, PORTS, random.Random(os.getpid()))

    @property
    def url(self) -> str:
        return f"mqtt://{HOST}:{self.port}"

    def launch(self) -> None:
        lines = [
            f"listener {self.port} {HOST}",
            *(self.settings or ("allow_anonymous true",)),
            "persistence true",
            f"persistence_location {self.directory}/",
            "max_queued_messages 0",
            # Started by root, it would become another user, who cannot write here.
            f"user {getpass.getuser()}",
        ]
        path = self.directory / "mosquitto.conf"
        path.write_text("\n".join(lines))
        command = [program("mosquitto"), "-c", str(path)]
        self.daemon = Daemon(command, os.environ, self.directory / "mosquitto.log")
        await_that(self._listens, START_SECONDS_MAX)

    def _listens(self) -> bool:
        assert self.daemon is not None
        if not self.daemon.running:
            raise self.daemon.failure()
        with contextlib.suppress(ConnectionError):
            socket.create_connection((HOST, self.port)).close()
            return True
        return False


class Publisher:
    """A device: publishes with QoS 1 and repeats until the broker has acknowledged."""

    def __init__(
        self,
        broker: LocalMosquitto,
        context: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        self._client = Client(
            CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5, client_id="device"
        )
        self._client.reconnect_delay_set(1, 1)
        if context is not None:
            self._client.tls_set_context(context)
        if login is not None:
            self._client.username_pw_set(*login)
        self._client.connect(HOST, broker.port, clean_start=False)
        self._client.loop_start()

    def publish(self, topic: str, *bodies: str | bytes, retain: bool = False, **more: Any) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        for name, value in more.items():
            setattr(properties, name, value)
        await_that(self._client.is_connected)
        sent = [
            self._client.publish(topic, body, 1, retain=retain, properties=properties)
            for body in bodies
        ]
        await_that(lambda: all(each.is_published() for each in sent))

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class BridgeProcess:
    """`dovemq bridge mqtt --json`, which may be killed and started again."""

    def __init__(
        self,
        server: LocalServer,
        broker: LocalMosquitto,
        log: Path,
        *args: str,
        url: str = "",
        **variables: str,
    ) -> None:
        self.log = log
        self._command = [sys.executable, "-m", "dovemq", "bridge", "mqtt", "--json"]
        self._command += ["--broker", url or broker.url, *args]
        self._env = {**os.environ, **server.env, **variables}
        self._process: subprocess.Popen[str] | None = None

    def start(self, *, connected: bool = True) -> "BridgeProcess":
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                self._command, env=self._env, stdout=subprocess.PIPE, stderr=log, text=True
            )
        if connected:
            self.await_report(CONNECTED)
        return self

    def await_report(self, pattern: "re.Pattern[str]") -> None:
        """Waits for a line on standard error."""

        def is_there() -> bool:
            assert self._process is not None
            found = pattern.search(self.log.read_text()) is not None
            assert found or self._process.poll() is None, self.log.read_text()
            return found

        await_that(is_there)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def stop(self) -> dict[str, Any]:
        """Asks it to end, and returns its counts."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        code, counts = self.ended()
        assert code == 0, self.log.read_text()
        return counts

    def ended(self) -> tuple[int, dict[str, Any]]:
        """Waits for the end, and returns the exit code and the counts."""
        assert self._process is not None
        out, _ = self._process.communicate(timeout=WAIT_SECONDS_MAX)
        return self._process.returncode, json.loads(out) if out else {}

    def __enter__(self) -> "BridgeProcess":
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


def await_that(holds: Any, seconds_max: float = WAIT_SECONDS_MAX) -> None:
    until = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < until, "waited too long"
        time.sleep(LOOK_SECONDS)


def emptied(sqs: Any, url: str) -> Iterator[dict[str, Any]]:
    """Receives and deletes all messages of a queue."""
    while True:
        answer = sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        )
        for message in answer.get("Messages", []):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            yield message
        if not answer.get("Messages"):
            return


def received(sqs: Any, url: str, wanted: Iterable[str]) -> list[str]:
    """Receives until every wanted body has come. The result has all bodies, in order."""
    missing, bodies = set(wanted), list[str]()

    def are_there() -> bool:
        for message in emptied(sqs, url):
            bodies.append(message["Body"])
            missing.discard(message["Body"])
        return not missing

    await_that(are_there)
    return bodies


def numbered(start: int, end: int) -> Sequence[str]:
    return [str(number) for number in range(start, end)]
