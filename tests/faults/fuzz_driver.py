"""Sends mutated requests to a server over raw connections and counts the answers.

Every request is answered, or its connection closed, within a bound; otherwise the run stops.
Requests whose bytes were broken as a whole go over connections of their own, since what follows
them on the same connection means nothing.
"""

import asyncio
import json
import random
import re
import time
from collections import Counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from dovemq.core.access import AccessKey
from dovemq.sqs.signature import Signer
from tests.faults.fuzz_mutations import as_query, mutated, mutated_bytes, mutated_headers
from tests.faults.fuzz_samples import (
    REGION,
    SAMPLES,
    Parameters,
    World,
    setting_up,
)

ANSWER_SECONDS_MAX: Final = 30.0
CONNECTIONS: Final = 16
SET_UP_EVERY: Final = 400
_SIGNED_AGAIN_SECONDS: Final = 60
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_INTERIM: Final = b"HTTP/1.1 100 "
_PATH: Final = re.compile(r"/[\w./-]+", re.ASCII)
_CODE: Final = re.compile(rb"<Code>([^<]*)</Code>")

_WAYS: Final = {
    "none": 10,
    "structure": 45,
    "body": 10,
    "headers": 10,
    "unsigned headers": 10,
    "bytes": 15,
}
_SIGNED_WAYS: Final = ("none", "structure", "body")
"""Signed as they are sent; with odd headers it is open what the signature covers."""

CLOSED: Final = "closed"
OK: Final = "ok"


class Shot(NamedTuple):
    operation: str
    data: bytes
    signed: bool
    broken: bool
    """The bytes of the whole request were changed."""


class Tally(NamedTuple):
    answers: dict[str, Counter[str]]
    signed: int
    total: int

    def as_json(self) -> str:
        table = {name: dict(codes.most_common()) for name, codes in sorted(self.answers.items())}
        summary = {"total": self.total, "signed": self.signed, "answers": table}
        return json.dumps(summary, indent=2)

    def as_table(self) -> str:
        lines = [f"{self.total} requests, {self.signed} correctly signed"]
        for name, codes in sorted(self.answers.items()):
            found = ", ".join(f"{code} {count}" for code, count in codes.most_common())
            lines.append(f"{name:30} {found}")
        return "\n".join(lines)


class Armoury:
    """Makes shots: a sample, mutated in one of several ways, then signed or not."""

    def __init__(self, world: World, host: str, key: AccessKey) -> None:
        self._world = world
        self._rng = world.rng
        self._host = host
        self._signer = Signer(key, region=REGION)
        self._operations = sorted(SAMPLES)

    def next(self) -> Shot:
        rng = self._rng
        operation = rng.choice(self._operations)
        parameters = SAMPLES[operation](self._world)
        as_json = rng.random() < 0.5
        (way,) = rng.choices(list(_WAYS), list(_WAYS.values()))
        if way == "structure":
            parameters = mutated(parameters, rng)
        return self._shot(operation, parameters, as_json=as_json, way=way)

    def plain(self, operation: str, parameters: Parameters) -> Shot:
        return self._shot(operation, parameters, as_json=True, way="none")

    def _shot(self, operation: str, parameters: Parameters, *, as_json: bool, way: str) -> Shot:
        headers, body = self._encoded(operation, parameters, as_json=as_json)
        if way == "body":
            body = mutated_bytes(body, self._rng)
        if way == "headers":
            headers = mutated_headers(headers, self._rng)
        path = self._path(parameters) if way != "none" else "/"
        signed = self._sign(path, headers, body) if "host" in headers else headers
        if way == "unsigned headers":
            signed = mutated_headers(signed, self._rng)
        signed["Content-Length"] = str(len(body))
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {text}" for name, text in signed.items())]
        data = "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + body
        if way == "bytes":
            return Shot(operation, mutated_bytes(data, self._rng), False, True)
        return Shot(operation, data, way in _SIGNED_WAYS, False)

    def _path(self, parameters: Parameters) -> str:
        """The root, or the queue's own path, which names the queue under Query."""
        path = urlsplit(str(parameters.get("QueueUrl"))).path
        return path if self._rng.random() < 0.5 and _PATH.fullmatch(path) else "/"

    def _encoded(
        self, operation: str, parameters: Parameters, *, as_json: bool
    ) -> tuple[dict[str, str], bytes]:
        headers = {"host": self._host}
        if as_json:
            headers["x-amz-target"] = f"AmazonSQS.{operation}"
            headers["content-type"] = "application/x-amz-json-1.0"
            return headers, json.dumps(parameters).encode()
        headers["content-type"] = "application/x-www-form-urlencoded"
        return headers, as_query(operation, parameters)

    def _sign(self, path: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
        now_ms = int(time.time()) // _SIGNED_AGAIN_SECONDS * _SIGNED_AGAIN_SECONDS * 1_000
        return {**headers, **self._signer.sign("POST", path, "", headers, body, now_ms)}


class Gun:
    """One keep-alive connection, opened again whenever the server closed it."""

    def __init__(self, host: str) -> None:
        self._place, _, port = host.partition(":")
        self._port = int(port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def fire(self, shot: Shot) -> tuple[int, bytes] | None:
        """Status and body of the answer, or None when the connection was closed instead."""
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            try:
                if shot.broken:
                    return await self._fire_alone(shot.data)
                if self._streams is None:
                    self._streams = await asyncio.open_connection(self._place, self._port)
                self._streams[1].write(shot.data)
                return await self._answer(self._streams[0])
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
                return None

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _fire_alone(self, data: bytes) -> tuple[int, bytes] | None:
        reader, writer = await asyncio.open_connection(self._place, self._port)
        try:
            writer.write(data)
            writer.write_eof()
            received = await reader.read(-1)
        finally:
            writer.close()
        while received.startswith(_INTERIM):
            received = received.partition(b"\r\n\r\n")[2]
        head, _, rest = received.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        # What is left over answers what the mutation made a second request of.
        body = rest[: int(found[1])] if found else rest
        return (int(head[9:12]), body) if head.startswith(b"HTTP/1.") else None

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        body = await reader.readexactly(int(found[1])) if found else b""
        if b"connection: close" in head.lower():
            self.close()
        return int(head[9:12]), body


def code_of(answer: tuple[int, bytes] | None) -> str:
    """`ok`, `closed`, or the status with the error's own code."""
    if answer is None:
        return CLOSED
    status, body = answer
    if status == 200:
        return OK
    if body.startswith(b"{"):
        name = str(json.loads(body).get("__type", "")).rpartition("#")[2]
    else:
        found = _CODE.search(body)
        name = found[1].decode() if found else ""
    return f"{status} {name}".strip()


class Fuzz:
    def __init__(self, endpoint_url: str, key: AccessKey, seed: int) -> None:
        self._host = endpoint_url.removeprefix("http://")
        self._world = World(endpoint_url, random.Random(seed))
        self._armoury = Armoury(self._world, self._host, key)
        self._answers: dict[str, Counter[str]] = {name: Counter() for name in SAMPLES}
        self._signed = 0
        self._fired = 0

    async def run(self, count: int) -> Tally:
        guns = [Gun(self._host) for _ in range(CONNECTIONS)]
        try:
            await self._set_up(guns[0])
            await asyncio.gather(*(self._fire(gun, self._fired + count) for gun in guns))
        finally:
            for gun in guns:
                gun.close()
        return Tally(self._answers, self._signed, self._fired)

    async def _fire(self, gun: Gun, until: int) -> None:
        while self._fired < until:
            self._fired += 1
            if self._fired % SET_UP_EVERY == 0:
                await self._set_up(gun)
            shot = self._armoury.next()
            answer = await gun.fire(shot)
            self._signed += shot.signed
            self._answers[shot.operation][code_of(answer)] += 1
            if answer is not None:
                self._world.learn(answer[1])

    async def _set_up(self, gun: Gun) -> None:
        """Called again from time to time, since a mutation may delete or change a queue."""
        for operation, parameters in setting_up(self._world):
            await gun.fire(self._armoury.plain(operation, parameters))

    async def clear(self) -> None:
        """Delete every queue that the run may have made."""
        gun = Gun(self._host)
        while urls := await self._listed(gun):
            for url in urls:
                await gun.fire(self._armoury.plain("DeleteQueue", {"QueueUrl": url}))
        gun.close()

    async def _listed(self, gun: Gun) -> list[str]:
        answer = await gun.fire(self._armoury.plain("ListQueues", {}))
        assert answer is not None
        urls: list[str] = json.loads(answer[1]).get("QueueUrls", [])
        return urls
