"""Requests to the admin API, which the clients of its routes share."""

from collections.abc import Mapping
from typing import Any, Final, Unpack
from urllib.parse import urlencode

import msgspec

from dovemq.client.connection import ClientResponse, Sink
from dovemq.client.errors import AnswerMalformed, Refused
from dovemq.client.session import ANSWER_SECONDS_MAX, SessionClient, SessionOptions, SignedSession
from dovemq.core.access import AccessKey

SERVICE: Final = "dovemq"
PAGES_MAX: Final = 10_000
NOTHING: Final[Mapping[str, str]] = {}
_PAGE: Final = 1_000

Document = dict[str, Any]


class AdminSession(SessionClient):
    def __init__(
        self, admin_url: str, key: AccessKey | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        self._session = SignedSession(admin_url, key, service=SERVICE, **options)

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Document:
        return await self._document("GET", path, query=query or {})

    async def _all(self, path: str, field: str, query: Mapping[str, str]) -> list[Document]:
        """The items under `field` of all pages."""
        found: list[Document] = []
        after = ""
        for _ in range(PAGES_MAX):
            page = await self._get(path, {**query, "after": after, "limit": str(_PAGE)})
            found += page[field]
            after = page.get("next") or ""
            if not after:
                break
        return found

    async def _document(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] = NOTHING,
        seconds_max: float = ANSWER_SECONDS_MAX,
        repeatable: bool = False,
    ) -> Document:
        """`repeatable` requests are sent again when their connection breaks; reads always are."""
        answer = await self._ask(
            method, path, query, body, seconds_max=seconds_max, repeatable=repeatable
        )
        try:
            return msgspec.json.decode(answer.body, type=Document)
        except msgspec.DecodeError as error:
            raise AnswerMalformed(self._session.url, f"unreadable answer: {error}") from None

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        *,
        seconds_max: float,
        sink: Sink | None = None,
        repeatable: bool = False,
    ) -> ClientResponse:
        headers = {} if body is None else {"content-type": "application/json"}
        given = urlencode({name: value for name, value in query.items() if value})
        answer = await self._session.ask(
            self._session.form(method, path, headers, given),
            b"" if body is None else msgspec.json.encode(body),
            seconds_max=seconds_max,
            repeatable=repeatable or method == "GET",
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


def _refusal(url: str, answer: ClientResponse) -> Exception:
    try:
        error = msgspec.json.decode(answer.body, type=_Refusal).error
    except msgspec.DecodeError:
        return AnswerMalformed(url, answer.outline)
    request_id = answer.headers.get("x-amzn-requestid", "")
    return Refused(answer.status, error.code, error.message, request_id)
