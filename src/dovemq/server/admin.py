"""The admin API as one function of a request: who asks, which route, what went wrong.

Nothing of a signed route is looked up before the signature holds.
"""

import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, unquote

from dovemq.core.access import Keyring
from dovemq.core.errors import (
    AccessDenied,
    DoveError,
    QueueMissing,
    RequestError,
    UnavailableError,
)
from dovemq.server import basic
from dovemq.server.admin_routes import ROUTES, AdminRefusal, Asked, Desk, Route
from dovemq.server.admin_views import JSON, document_bytes, error_document
from dovemq.server.traffic import StreamedResponse
from dovemq.sqs.failures import log_failure
from dovemq.sqs.http import HttpRequest, HttpResponse
from dovemq.sqs.signature import Verifier
from dovemq.telemetry.logs import log_request
from dovemq.telemetry.requests import UNNAMED

log = logging.getLogger(__name__)

SERVICE: Final = "dovemq"
"""In the scope of signatures, where the SQS endpoint has `sqs`."""
_PARAMETERS_MAX: Final = 16
_STATUSES: Final = (
    (QueueMissing, HTTPStatus.NOT_FOUND),
    (AccessDenied, HTTPStatus.FORBIDDEN),
    (RequestError, HTTPStatus.BAD_REQUEST),
    (UnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
)


Found = list[tuple[Route, dict[str, str]]]


class AdminApi:
    """Without a keyring signatures are not checked. `metrics_open`: nor are they for metrics."""

    def __init__(
        self,
        desk: Desk,
        keyring: Keyring | None,
        region: str,
        new_id: Callable[[], str],
        *,
        metrics_open: bool = False,
        log_requests: bool = False,
        timer_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._desk = desk
        self._keyring = keyring
        self._metrics_open = metrics_open
        self._log_requests = log_requests
        self._timer_ns = timer_ns
        self._verifier = None
        if keyring is not None:
            self._verifier = Verifier(keyring, region=region, service=SERVICE)
        self._new_id = new_id

    async def handle(self, request: HttpRequest) -> HttpResponse | StreamedResponse:
        request_id = self._new_id()
        begun_ns = self._timer_ns()
        found = _found(request.path)
        try:
            answered = await self._answer(request, found)
        except Exception as error:
            answered = _refused(error, request_id)
        if not isinstance(answered, StreamedResponse | HttpResponse):
            headers = (("X-Amzn-RequestId", request_id),)
            answered = HttpResponse(HTTPStatus.OK, JSON, document_bytes(answered), headers)
        if self._log_requests:
            log_request(
                request_id,
                found[0][0].name if found else UNNAMED,
                account=None,
                queue=None,
                status=answered.status,
                ms=(self._timer_ns() - begun_ns) / 1_000_000,
                peer=request.peer,
            )
        return answered

    async def _answer(
        self, request: HttpRequest, found: Found
    ) -> Mapping[str, object] | StreamedResponse | HttpResponse:
        self._check_access(request, found[0][0] if found else None)
        method = "GET" if request.method == "HEAD" else request.method
        for route, path in found:
            if route.method == method:
                return await route.act(self._desk, Asked(path, _query(route, request.query)))
        if found:
            raise AdminRefusal(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                f"This takes {', '.join(route.method for route, _ in found)}.",
            )
        raise AdminRefusal(HTTPStatus.NOT_FOUND, "NotFound", "The admin API has no such path.")

    def _check_access(self, request: HttpRequest, route: Route | None) -> None:
        if self._verifier is None or self._keyring is None:
            return
        if route is not None and (not route.signed or (route.basic and self._metrics_open)):
            return
        now_ms = self._desk.service.clock.now_ms()
        shown = request.headers.get("authorization", "")
        if route is not None and route.basic and shown.startswith(basic.SCHEME):
            basic.basic_key(shown, self._keyring, now_ms)
        else:
            self._verifier.verify(request, now_ms)


def _found(path: str) -> Found:
    """The routes of a path, each with the variable parts of it."""
    return [(route, parts) for route in ROUTES if (parts := _matched(route.path, path)) is not None]


def _matched(template: str, path: str) -> dict[str, str] | None:
    """The variable parts of a path, or None if it is not of that form."""
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    found = {}
    for want, part in zip(wanted, given, strict=True):
        if want.startswith("{"):
            found[want.strip("{}")] = unquote(part, errors="replace")
        elif want != part:
            return None
    return found


def _query(route: Route, text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_PARAMETERS_MAX)
    except ValueError:
        raise AdminRefusal(
            HTTPStatus.BAD_REQUEST, "InvalidQuery", f"More than {_PARAMETERS_MAX} parameters."
        ) from None
    # A presigned URL carries its signature as parameters.
    query = {name: value for name, value in pairs if not name.startswith("X-Amz-")}
    unknown = [name for name in query if name not in route.query]
    if unknown:
        known = ", ".join(route.query) or "none"
        raise AdminRefusal(
            HTTPStatus.BAD_REQUEST, "UnknownParameter", f"Known parameters here: {known}."
        )
    return query


def _refused(error: Exception, request_id: str) -> HttpResponse:
    status, code, message = _described(error)
    if isinstance(error, UnavailableError):
        fields = {"request_id": request_id}
        log.warning("admin request %s: %s", request_id, error, extra=fields)
    elif status is HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(log, f"admin request {request_id} failed", error, request_id)
    body = document_bytes(error_document(code, message))
    return HttpResponse(status, JSON, body, (("X-Amzn-RequestId", request_id),))


def _described(error: Exception) -> tuple[HTTPStatus, str, str]:
    if isinstance(error, AdminRefusal):
        return error.status, error.code, str(error)
    if isinstance(error, DoveError):
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return status, type(error).__name__, str(error)
    return (
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "InternalFailure",
        "The server failed; its log tells why.",
    )
