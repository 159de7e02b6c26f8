"""The admin API over the memory store, with a fake of what a durable one offers."""

import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovemq.core.access import AccessKey
from dovemq.core.commands import Draft
from dovemq.core.queue import Queue, QueueKey
from dovemq.server.admin import AdminApi
from dovemq.server.admin_routes import Desk
from dovemq.server.traffic import StreamedResponse
from dovemq.service import Service, build_service
from dovemq.sqs.http import HttpRequest, HttpResponse
from dovemq.stores.memory import MemoryStore
from dovemq.stores.sqlite.statistics import Statistics
from dovemq.telemetry.meter import Meter
from dovemq.testing.clock import ManualClock

ACCOUNT = "000000000000"
KEY = AccessKey("AKIAAAAAAAAAAAAAAAAA", "secret", ACCOUNT)


class OneKey:
    def find(self, key_id: str) -> AccessKey | None:
        return KEY if key_id == KEY.key_id else None


class Verified:
    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = findings


class FakeCare:
    def __init__(self) -> None:
        self.statistics = Statistics()
        self.copy = b"a whole database" * 50_000
        self.findings: list[str] = []
        self.go = asyncio.Event()
        self.go.set()
        self.failure: Exception | None = None

    async def backup(self, target: Path) -> None:
        await self.go.wait()
        if self.failure:
            raise self.failure
        target.write_bytes(self.copy)

    async def verify(self) -> Verified:
        await self.go.wait()
        return Verified(self.findings)


class World:
    def __init__(self, scratch: Path, *, durable: bool = True, signed: bool = False) -> None:
        self.clock = ManualClock()
        self.scratch = scratch
        ids = itertools.count()
        self.meter = Meter()
        self.service: Service = build_service(
            MemoryStore(random.Random(1), b"key", self.meter),
            self.clock,
            lambda: f"id-{next(ids)}",
            observer=self.meter,
        )
        self.care = FakeCare()
        desk = Desk(
            self.service,
            lambda: {"connections": 7, "requests": 9},
            self.care if durable else None,
            scratch,
            lambda: f"request-{next(ids)}",
        )
        keyring = OneKey() if signed else None
        self.api = AdminApi(desk, keyring, "us-east-1", lambda: f"request-{next(ids)}")

    async def queue(self, name: str, **changes: Any) -> Queue:
        key = QueueKey(ACCOUNT, name)
        if key.fifo:
            changes["fifo"] = True
        return await self.service.queues.create(key, changes, {"team": "a"})

    async def send(self, queue: Queue, *bodies: str, **fields: Any) -> None:
        drafts = [Draft(f"m-{body[:9]}", body, ACCOUNT, **fields) for body in bodies]
        await self.service.messages.send(queue, drafts)

    async def call(
        self, method: str, path: str, query: str = "", headers: dict[str, str] | None = None
    ) -> HttpResponse | StreamedResponse:
        request = HttpRequest(method, path, query, headers or {"host": "h"}, b"", "peer")
        return await self.api.handle(request)

    async def ask(self, method: str, path: str, query: str = "") -> tuple[int, Any]:
        response = await self.call(method, path, query)
        assert isinstance(response, HttpResponse)
        assert response.content_type == "application/json"
        return response.status, json.loads(response.body)

    async def get(self, path: str, query: str = "") -> Any:
        status, document = await self.ask("GET", path, query)
        assert status == 200, document
        return document
