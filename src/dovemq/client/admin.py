"""The admin API as methods: queues, messages without receiving them, health, backups.

Answers are the API's own JSON documents; the server's reference describes their fields.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from dovemq.client.connection import Answer, Sink
from dovemq.client.errors import AnswerMalformed, Refused
from dovemq.client.session import ANSWER_SECONDS_MAX, Session
from dovemq.core.access import AccessKey
from dovemq.core.ports import Clock

SERVICE: Final = "dovemq"
LONG_SECONDS_MAX: Final = 24 * 3_600.0
"""For backups and verifications, which read every message."""
PAGES_MAX: Final = 10_000
_PAGE: Final = 1_000

Document = dict[str, Any]


class AdminClient:
    def __init__(
        self,
        admin_url: str,
        key: AccessKey | None = None,
        *,
        region: str = "us-east-1",
        clock: Clock | None = None,
    ) -> None:
        self._session = Session(admin_url, key, region=region, service=SERVICE, clock=clock)

    async def health(self) -> Document:
        return await self._get("/v1/health")

    async def counters(self) -> Document:
        return await self._get("/v1/counters")

    async def queues(self, prefix: str = "") -> list[Document]:
        """All pages, each queue with its settings and counts."""
        queues: list[Document] = []
        after = ""
        for _ in range(PAGES_MAX):
            page = await self._get(
                "/v1/queues", {"prefix": prefix, "after": after, "limit": str(_PAGE)}
            )
            queues += page["queues"]
            after = page.get("next") or ""
            if not after:
                break
        return queues

    async def queue(self, account: str, name: str) -> Document:
        return await self._get(_queue_path(account, name))

    async def messages(
        self, account: str, name: str, count_max: int = 10, after: int = 0
    ) -> Document:
        """A page of messages as they lie, after that sequence."""
        query = {"limit": str(count_max), "after": str(after)}
        return await self._get(_queue_path(account, name) + "/messages", query)

    async def backup(self, sink: Sink) -> None:
        """A consistent copy of the store, handed to `sink` piece by piece."""
        await self._ask("POST", "/v1/backups", {}, seconds_max=LONG_SECONDS_MAX, sink=sink)

    async def verify(self) -> Document:
        return await self._document("POST", "/v1/verifications", {}, LONG_SECONDS_MAX)

    async def close(self) -> None:
        await self._session.close()

    async def __aenter__(self) -> "AdminClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Document:
        return await self._document("GET", path, query or {}, ANSWER_SECONDS_MAX)

    async def _document(
        self, method: str, path: str, query: Mapping[str, str], seconds_max: float
    ) -> Document:
        answer = await self._ask(method, path, query, seconds_max=seconds_max)
        try:
            return msgspec.json.decode(answer.body, type=Document)
        except msgspec.DecodeError as error:
            raise AnswerMalformed(self._session.url, f"unreadable answer: {error}") from None

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        seconds_max: float,
        sink: Sink | None = None,
    ) -> Answer:
        answer = await self._session.ask(
            method,
            path,
            {},
            query=urlencode({name: value for name, value in query.items() if value}),
            seconds_max=seconds_max,
            repeatable=method == "GET",
            sink=sink,
        )
        if answer.status != 200:
            raise _refusal(self._session.url, answer)
        return answer


class _Error(msgspec.Struct):
    code: str
    message: str


class _Refusal(msgspec.Struct):
    error: _Error


def _refusal(url: str, answer: Answer) -> Exception:
    try:
        error = msgspec.json.decode(answer.body, type=_Refusal).error
    except msgspec.DecodeError:
        return AnswerMalformed(url, f"HTTP status {answer.status} without an error of ours")
    request_id = answer.headers.get("x-amzn-requestid", "")
    return Refused(answer.status, error.code, error.message, request_id)


def _queue_path(account: str, name: str) -> str:
    return f"/v1/queues/{quote(account, safe='')}/{quote(name, safe='')}"
