"""What can be asked of the admin API: one table, from which its reference is generated."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Counts, Page
from dovemq.core.errors import DoveError
from dovemq.core.queue import QueueKey
from dovemq.core.sending import message_bytes
from dovemq.server.admin_views import (
    Document,
    counts_document,
    message_document,
    queue_document,
)
from dovemq.server.backups import Backups
from dovemq.server.care import StoreCare
from dovemq.server.metrics import Metrics
from dovemq.server.traffic import StreamedResponse
from dovemq.service import Service
from dovemq.sqs.http import HttpResponse
from dovemq.telemetry.metrics import CONTENT_TYPE as METRICS_TEXT

PAGE_DEFAULT: Final = 100
PEEK_DEFAULT: Final = 10
PEEK_STEP: Final = 16
"""Messages read at a time, so that a page of large ones is not all in memory."""
PEEK_BYTES_MAX: Final = 8 << 20
"""A page of messages ends early when bodies and attributes exceed this."""
_SEQUENCE: Final = limits.Range(0, 2**63 - 1)


class AdminRefusal(DoveError):
    """Answered as it stands."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Asked(Struct, frozen=True):
    """The variable parts of a request's path, and its query."""

    path: Mapping[str, str]
    query: Mapping[str, str]

    @property
    def queue(self) -> QueueKey:
        return QueueKey(self.path["account"], self.path["name"])

    def number(self, name: str, default: int, allowed: limits.Range) -> int:
        text = self.query.get(name)
        if not text:
            return default
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(allowed.most))
        if not digits or not allowed.holds(int(text)):
            raise AdminRefusal(
                HTTPStatus.BAD_REQUEST,
                "InvalidValue",
                f"{name} must be a number from {allowed.least} to {allowed.most}.",
            )
        return int(text)


class Desk:
    """What the routes work with. A store without care can be neither copied nor verified."""

    def __init__(
        self,
        service: Service,
        gauges: Callable[[], Mapping[str, int]],
        care: StoreCare | None = None,
        scratch: Path | None = None,
        new_id: Callable[[], str] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.service = service
        self.gauges = gauges
        self.metrics = metrics
        self.care = care
        self.backups = Backups(care, scratch, new_id) if care and scratch and new_id else None
        self.verifying = False

    def verified(self) -> None:
        self.verifying = False

    @property
    def store_state(self) -> str:
        if self.care is None:
            return "ok"
        return str(msgspec.to_builtins(self.care.statistics)["state"])

    @property
    def ready(self) -> bool:
        return self.store_state == "ok" and not self.service.draining


Act = Callable[[Desk, Asked], Awaitable["Document | StreamedResponse | HttpResponse"]]


class Route(Struct, frozen=True):
    """`query` names the parameters that it understands; any other is refused.

    `basic`: a key may also be shown by HTTP Basic.
    """

    name: str
    method: str
    path: str
    summary: str
    act: Act
    query: tuple[str, ...] = ()
    signed: bool = True
    basic: bool = False


async def live(desk: Desk, asked: Asked) -> Document:
    return {"live": True}


async def ready(desk: Desk, asked: Asked) -> Document:
    if not desk.ready:
        state = "service is draining" if desk.service.draining else f"store is {desk.store_state}"
        raise AdminRefusal(HTTPStatus.SERVICE_UNAVAILABLE, "NotReady", f"The {state}.")
    return {"ready": True}


async def health(desk: Desk, asked: Asked) -> Document:
    return {"live": True, "ready": desk.ready, "store": desk.store_state}


async def list_queues(desk: Desk, asked: Asked) -> Document:
    count_max = asked.number("limit", PAGE_DEFAULT, limits.QUEUES_LISTED)
    queues = desk.service.queues
    page = await queues.page(
        None, asked.query.get("prefix", ""), asked.query.get("after", ""), count_max
    )
    documents = [queue_document(queue, await queues.counts(queue)) for queue in page]
    return {"queues": documents, "next": str(page[-1].key) if len(page) == count_max else None}


async def show_queue(desk: Desk, asked: Asked) -> Document:
    queue = await desk.service.queues.find(asked.queue)
    return queue_document(queue, await desk.service.queues.counts(queue))


async def peek_messages(desk: Desk, asked: Asked) -> Document:
    left = asked.number("limit", PEEK_DEFAULT, limits.PEEK_COUNT)
    after = asked.number("after", 0, _SEQUENCE)
    queue = await desk.service.queues.find(asked.queue)
    documents: list[Document] = []
    size = 0
    more = True
    while left and more and size < PEEK_BYTES_MAX:
        step = min(left, PEEK_STEP)
        page = await desk.service.messages.peek(queue, Page(step, after))
        for peeked in page:
            documents.append(message_document(peeked))
            size += message_bytes(peeked.message.body, peeked.message.attributes)
        more = len(page) == step
        left -= len(page)
        after = page[-1].message.sequence if page else after
    return {"messages": documents, "next": after if more else None}


async def show_counters(desk: Desk, asked: Asked) -> Document:
    count, total = 0, Counts(0, 0, 0)
    after = ""
    queues = desk.service.queues
    while page := await queues.page(None, "", after, limits.QUEUES_LISTED.most):
        for queue in page:
            total = _sum(total, await queues.counts(queue))
        count += len(page)
        after = str(page[-1].key)
        await asyncio.sleep(0)
    return {
        "queues": count,
        "messages": counts_document(total),
        "polls_parked": desk.service.polls.parked,
        **desk.gauges(),
        "store": msgspec.to_builtins(desk.care.statistics) if desk.care else None,
    }


async def show_metrics(desk: Desk, asked: Asked) -> HttpResponse:
    if desk.metrics is None:
        raise AdminRefusal(HTTPStatus.NOT_FOUND, "NotFound", "This server counts nothing.")
    return HttpResponse(HTTPStatus.OK, METRICS_TEXT, await desk.metrics.text())


async def make_backup(desk: Desk, asked: Asked) -> StreamedResponse:
    if desk.backups is None:
        raise _not_kept("copied")
    if desk.backups.running:
        raise AdminRefusal(HTTPStatus.CONFLICT, "BackupRunning", "One backup at a time.")
    return await desk.backups.make()


async def verify_store(desk: Desk, asked: Asked) -> Document:
    if desk.care is None:
        raise _not_kept("verified")
    if desk.verifying:
        raise AdminRefusal(HTTPStatus.CONFLICT, "VerificationRunning", "One at a time.")
    desk.verifying = True
    # The store's thread goes on reading when the client leaves; another must not begin beside it.
    checking = asyncio.ensure_future(desk.care.verify())
    checking.add_done_callback(lambda _: desk.verified())
    return {"findings": list((await asyncio.shield(checking)).findings)}


ROUTES: Final = (
    Route("live", "GET", "/health/live", "The process answers.", live, signed=False),
    Route("ready", "GET", "/health/ready", "It takes requests; else 503.", ready, signed=False),
    Route("health", "GET", "/v1/health", "Both of them, and the state of the store.", health),
    Route(
        "show metrics",
        "GET",
        "/metrics",
        "All metrics in the text format of Prometheus.",
        show_metrics,
        basic=True,
    ),
    Route(
        "list queues",
        "GET",
        "/v1/queues",
        "Queues by account and name, with settings and counts.",
        list_queues,
        ("prefix", "after", "limit"),
    ),
    Route(
        "show queue",
        "GET",
        "/v1/queues/{account}/{name}",
        "One queue with settings and counts.",
        show_queue,
    ),
    Route(
        "peek messages",
        "GET",
        "/v1/queues/{account}/{name}/messages",
        "Messages in order of sequence, as they lie: none is received.",
        peek_messages,
        ("after", "limit"),
    ),
    Route(
        "show counters",
        "GET",
        "/v1/counters",
        "Totals of all queues, connections, parked polls, and what the store counts.",
        show_counters,
    ),
    Route(
        "make backup",
        "POST",
        "/v1/backups",
        "A consistent copy of the store, as the body of the answer.",
        make_backup,
    ),
    Route(
        "verify store",
        "POST",
        "/v1/verifications",
        "Reads every message; answers what is damaged.",
        verify_store,
    ),
)


def _sum(one: Counts, other: Counts) -> Counts:
    ages = [age for age in (one.oldest_ms, other.oldest_ms) if age is not None]
    return Counts(
        one.visible + other.visible,
        one.leased + other.leased,
        one.delayed + other.delayed,
        min(ages, default=None),
    )


def _not_kept(what: str) -> AdminRefusal:
    return AdminRefusal(
        HTTPStatus.NOT_IMPLEMENTED,
        "NotKept",
        f"This store keeps nothing on disk that could be {what}.",
    )
