"""The admin API over the memory store, with a fake of what a durable one offers."""

import asyncio
import io
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dovemq.core.access import AccessKey
from dovemq.core.accounts import Role
from dovemq.core.commands import Draft
from dovemq.core.queue import Queue, QueueKey
from dovemq.fabric.store import FabricStore
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.admin import SERVICE, AdminApi
from dovemq.server.admin_context import AdminContext
from dovemq.server.answers import StreamedResponse
from dovemq.server.audit import AuditLog, MemoryAudit
from dovemq.server.sessions import LoginLimits, Sessions
from dovemq.server.snapshots import Snapshots
from dovemq.service import Service, build_service
from dovemq.service.failure_limits import FailureLimit
from dovemq.sqs.signature import Signer
from dovemq.stores.memory import MemoryStore
from dovemq.stores.owned.statistics import Statistics
from dovemq.stores.sqlite.damage.report import DamageReport
from dovemq.telemetry.meter import Meter, QueueTally
from dovemq.testing.clock import ManualClock

ACCOUNT = "000000000000"
REGION = "us-east-1"
PEER = "192.0.2.1:5000"
KEY = AccessKey("AKIAAAAAAAAAAAAAAAAA", "secret", ACCOUNT)


class Verified:
    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = findings


class FakeCare:
    def __init__(self) -> None:
        self.statistics = Statistics()
        self.copy = b"a whole database" * 50_000
        self.findings: list[str] = []
        self.reports: list[DamageReport] = []
        self.go = asyncio.Event()
        self.go.set()
        self.failure: Exception | None = None

    async def backup(self) -> BinaryIO:
        await self.go.wait()
        if self.failure:
            raise self.failure
        return io.BytesIO(self.copy)

    async def verify(self) -> Verified:
        await self.go.wait()
        return Verified(self.findings)

    def damage(self) -> list[DamageReport]:
        return self.reports


class World:
    """If `root`, the root account signs requests, unless they have another key."""

    def __init__(
        self,
        scratch: Path,
        *,
        durable: bool = True,
        signed: bool = False,
        root: bool = False,
        audit: AuditLog | None = None,
        logins_max: int = 8,
    ) -> None:
        self.clock = ManualClock()
        self.scratch = scratch
        ids = itertools.count()
        self.meter = Meter()
        store = MemoryStore(random.Random(1), b"key", self.meter)
        self.fabric = FabricStore(store, self.clock, self.meter)
        self.service: Service = build_service(
            self.fabric,
            self.clock,
            lambda: f"id-{next(ids)}",
            observer=self.meter,
            timer_ns=lambda: self.clock.now_ms() * 1_000_000,
        )
        self.care = FakeCare()
        self.audit = MemoryAudit()
        self.logins = LoginLimits(FailureLimit(3, 1_000, "logins"), logins_max)
        self.sessions = Sessions()
        self.leaving = False
        context = self.context = AdminContext(
            self.service,
            lambda: {"connections": 7, "requests": 9},
            self.care if durable else None,
            new_id=lambda: f"id-{next(ids)}",
            snapshots=Snapshots(self.service, self._tally),
            leaving=lambda: self.leaving,
            audit=audit or self.audit,
            sessions=self.sessions,
            logins=self.logins,
            explain=self.fabric.explain,
        )
        self.accounts = self.service.accounts
        self.accounts.use_root_key(KEY)
        keyring = self.accounts if signed or root else None
        self._key = KEY if root else None
        self.api = AdminApi(context, keyring, REGION, lambda: f"request-{next(ids)}")

    def _tally(self, queue: Queue) -> QueueTally:
        return self.meter.queues.get(queue.number) or QueueTally(queue.key)

    async def queue(self, name: str, **changes: Any) -> Queue:
        key = QueueKey(ACCOUNT, name)
        if key.fifo:
            changes["fifo"] = True
        return await self.service.queues.create(key, changes, {"team": "a"})

    async def send(self, queue: Queue, *bodies: str, **fields: Any) -> None:
        drafts = [Draft(f"m-{body[:9]}", body, ACCOUNT, **fields) for body in bodies]
        await self.service.messages.send(queue, drafts)

    async def member(self, name: str, role: Role | None) -> AccessKey:
        """A key of a new account in that role."""
        account = await self.accounts.add(name, role=role)
        made = await self.accounts.add_credential(account.number)
        return AccessKey(made.key_id, made.secret, account.number)

    async def call(
        self,
        method: str,
        path: str,
        query: str = "",
        headers: dict[str, str] | None = None,
        *,
        body: Any = None,
        key: AccessKey | None = None,
        token: str | None = None,
    ) -> HttpResponse | StreamedResponse:
        if token is None:
            key = key or self._key
        sent = dict(headers or {"host": "h"})
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            sent["content-type"] = "application/json"
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        if key is not None:
            signer = Signer(key, region=REGION, service=SERVICE)
            sent = dict(signer.sign(method, path, query, sent, data, self.clock.now_ms()))
        return await self.api.handle(HttpRequest(method, path, query, sent, data, PEER))

    async def raw(
        self, method: str, path: str, headers: dict[str, str], data: bytes
    ) -> HttpResponse:
        response = await self.api.handle(HttpRequest(method, path, "", headers, data, PEER))
        assert isinstance(response, HttpResponse)
        return response

    async def ask(self, method: str, path: str, query: str = "", **more: Any) -> tuple[int, Any]:
        response = await self.call(method, path, query, **more)
        assert isinstance(response, HttpResponse)
        assert response.content_type == "application/json"
        return response.status, json.loads(response.body)

    async def get(self, path: str, query: str = "", **more: Any) -> Any:
        return await self.done("GET", path, query, **more)

    async def done(self, method: str, path: str, query: str = "", **more: Any) -> Any:
        """The answer to what must succeed."""
        status, document = await self.ask(method, path, query, **more)
        assert status == 200, document
        return document

    async def refused(self, method: str, path: str, **more: Any) -> tuple[int, str]:
        """Status and code of a refusal."""
        status, document = await self.ask(method, path, **more)
        assert document["error"]["message"]
        return status, document["error"]["code"]

    async def recorded(self) -> list[dict[str, Any]]:
        return await self.audit.page(None, 1_000)
