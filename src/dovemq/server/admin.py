"""The admin API as a function from a request to a response: caller, route, errors.

Nothing is looked up for a signed route before its signature is verified.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from dovemq.core import errors
from dovemq.core.access import AccessKey, Keyring
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server import basic
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute, Caller
from dovemq.server.admin_requests import path_parts, read_body, read_query, recorded_fields
from dovemq.server.admin_routes import ROUTES
from dovemq.server.admin_store import METRICS_PATH
from dovemq.server.admin_views import JSON
from dovemq.server.answers import StreamedResponse
from dovemq.server.cookies import cookie_token
from dovemq.server.local_only import comes_from_another_site
from dovemq.server.openapi import openapi_document
from dovemq.service.audit import AuditEntry, audited, bounded
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.sqs.admission import Admission
from dovemq.sqs.faults import pause_ms_of
from dovemq.sqs.signature import Verifier
from dovemq.telemetry.counters import UNNAMED
from dovemq.telemetry.logs import log_failure, log_request

log = logging.getLogger(__name__)

SERVICE: Final = "dovemq"
"""The service name in the scope of signatures; the SQS endpoint has `sqs`."""
TARGET_LENGTH_MAX: Final = 256
BEARER: Final = "bearer"
_STATUSES: Final = (
    (errors.QueueMissing, HTTPStatus.NOT_FOUND),
    (errors.AccountMissing, HTTPStatus.NOT_FOUND),
    (errors.CredentialMissing, HTTPStatus.NOT_FOUND),
    (errors.WorkflowMissing, HTTPStatus.NOT_FOUND),
    (errors.JobMissing, HTTPStatus.NOT_FOUND),
    (errors.TaskMissing, HTTPStatus.NOT_FOUND),
    (errors.JobRefused, HTTPStatus.CONFLICT),
    (errors.AccountExists, HTTPStatus.CONFLICT),
    (errors.AccountNotEmpty, HTTPStatus.CONFLICT),
    (errors.AccountProtected, HTTPStatus.CONFLICT),
    (errors.LimitReached, HTTPStatus.CONFLICT),
    (errors.AccessDenied, HTTPStatus.FORBIDDEN),
    (errors.Throttled, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.RequestError, HTTPStatus.BAD_REQUEST),
    (errors.UnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
)


class SessionEnded(errors.AccessDenied):
    def __init__(self) -> None:
        super().__init__("The session has ended; log in again.")


Found = list[tuple[AdminRoute, dict[str, str]]]
Answered = Mapping[str, object] | StreamedResponse | HttpResponse


class AdminApi:
    """Handles the requests of the admin listener.

    Without a keyring signatures are not checked, and every caller is the root account. With
    `metrics_open` metrics need no key.
    """

    def __init__(
        self,
        context: AdminContext,
        keyring: Keyring | None,
        region: str,
        new_id: Callable[[], str],
        failures: FailureLimit | None = None,
        throttle: Throttle | None = None,
        *,
        metrics_open: bool = False,
        log_requests: bool = False,
        timer_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._context = context
        context.openapi = openapi_document(ROUTES)
        self._keyring = keyring
        self._metrics_open = metrics_open
        self._log_requests = log_requests
        self._timer_ns = timer_ns
        self._admission = None
        if keyring is not None:
            verifier = Verifier(keyring, region=region, service=SERVICE)
            self._admission = Admission(verifier, failures, throttle)
        self._new_id = new_id

    async def handle(self, request: HttpRequest) -> HttpResponse | StreamedResponse:
        request_id = self._new_id()
        begun_ns = self._timer_ns()
        found = _found(request.path)
        try:
            answered = await self._answer(request, request_id, found)
        except Exception as error:
            answered = _refused(error, request_id)
        if not isinstance(answered, StreamedResponse | HttpResponse):
            headers = (("X-Amzn-RequestId", request_id),)
            answered = HttpResponse(HTTPStatus.OK, JSON, msgspec.json.encode(answered), headers)
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

    async def _answer(self, request: HttpRequest, request_id: str, found: Found) -> Answered:
        method = "GET" if request.method == "HEAD" else request.method
        chosen = next((each for each in found if each[0].method == method), None)
        caller = None
        if chosen is None or self._is_closed(chosen[0]):
            caller = self._caller(request)
        if chosen is None:
            raise _no_such_route([route for route, _ in found])
        route, path = chosen
        call = AdminCall(path, caller, request.peer, origin=request)
        if not route.audited:
            return await self._act(route, call, request)
        return await self._recorded(route, call, request, request_id)

    async def _act(self, route: AdminRoute, call: AdminCall, request: HttpRequest) -> Answered:
        _check_role(route, call)
        if route.credentials and self._keyring is None:
            raise AdminRefusal(
                "CredentialsProtected",
                "Access keys and passwords cannot be made or changed while signatures are not "
                "checked: start the server without --insecure-no-auth.",
                HTTPStatus.FORBIDDEN,
            )
        call.query = read_query(route, request.query)
        call.body = read_body(route, request)
        assert route.act is not None
        return await route.act(self._context, call)

    async def _recorded(
        self, route: AdminRoute, call: AdminCall, request: HttpRequest, request_id: str
    ) -> Answered:
        answered: Answered | None = None

        async def act() -> Answered:
            nonlocal answered
            answered = await self._act(route, call, request)
            return answered

        def entry(outcome: str) -> AuditEntry:
            caller = call.caller
            return AuditEntry(
                at_ms=self._context.now_ms,
                request_id=request_id,
                account=caller.account.number if caller else None,
                key_id=caller.key_id if caller else None,
                peer=request.peer,
                action=route.name,
                target=call.target[:TARGET_LENGTH_MAX],
                outcome=outcome,
                details=bounded({**recorded_fields(route, call.body), **call.notes}),
            )

        try:
            return await audited(
                self._context.audit, act, entry, lambda error: _described(error)[1]
            )
        except BaseException:
            if isinstance(answered, StreamedResponse):
                # It was made but not recorded, so the client does not get it.
                answered.close()
            raise

    def _is_closed(self, route: AdminRoute) -> bool:
        return route.signed and not (self._metrics_open and route.path == METRICS_PATH)

    def _caller(self, request: HttpRequest) -> Caller:
        accounts, now_ms = self._context.service.accounts, self._context.now_ms
        if self._admission is None:
            return Caller(accounts.get(accounts.root))
        cookie = None
        if "authorization" not in request.headers and "X-Amz-Signature=" not in request.query:
            cookie = cookie_token(request)
        if cookie is not None:
            return self._session_caller(cookie, now_ms, in_cookie=True)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != BEARER:
            shown = scheme == basic.SCHEME
            key = self._admission.admit(request, now_ms, self._shown_key if shown else None)
            return Caller(accounts.get(key.account), key.key_id)
        return self._session_caller(token.strip(), now_ms)

    def _session_caller(self, token: str, now_ms: int, *, in_cookie: bool = False) -> Caller:
        session = self._context.sessions.use(token, now_ms)
        if session is None:
            raise SessionEnded()
        account = self._context.service.accounts.get(session.account)
        if not account.enabled:
            raise SessionEnded()
        assert self._admission is not None
        self._admission.charge(account.number, now_ms)
        return Caller(account, token=token, in_cookie=in_cookie)

    def _shown_key(self, request: HttpRequest, now_ms: int) -> AccessKey:
        assert self._keyring is not None
        if comes_from_another_site(request):
            # A browser that knows a key would send it with the requests of any page.
            raise errors.AccessDenied("Requests of web pages are refused.")
        return basic.basic_key(request.headers["authorization"], self._keyring, now_ms)


def _found(path: str) -> Found:
    """The routes of a path, each with the variable parts of the path."""
    return [
        (route, parts) for route in ROUTES if (parts := path_parts(route.path, path)) is not None
    ]


def _check_role(route: AdminRoute, call: AdminCall) -> None:
    caller = call.caller
    if route.role is None or caller is None:
        return
    if route.own and call.path.get("account", caller.account.number) == caller.account.number:
        return
    role = caller.account.role
    if role is None or not role.covers(route.role):
        has = f"the role {role.value}" if role else "no role"
        raise errors.AccessDenied(
            f"This needs the role {route.role.value}; account {caller.account.number} has {has}."
        )


def _no_such_route(others: Sequence[AdminRoute]) -> AdminRefusal:
    if others:
        text = f"This path accepts {', '.join(route.method for route in others)}."
        return AdminRefusal("MethodNotAllowed", text, HTTPStatus.METHOD_NOT_ALLOWED)
    return AdminRefusal("NotFound", "The admin API has no such path.", HTTPStatus.NOT_FOUND)


def _refused(error: Exception, request_id: str) -> HttpResponse:
    status, code, message = _described(error)
    if isinstance(error, errors.UnavailableError):
        fields = {"request_id": request_id}
        log.warning("admin request %s: %s", request_id, error, extra=fields)
    elif status is HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(log, f"admin request {request_id} failed", error, request_id)
    body = msgspec.json.encode({"error": {"code": code, "message": message}})
    headers = (("X-Amzn-RequestId", request_id),)
    return HttpResponse(status, JSON, body, headers, pause_ms=pause_ms_of(error))


def _described(error: Exception) -> tuple[HTTPStatus, str, str]:
    if isinstance(error, AdminRefusal):
        return error.status, error.code, str(error)
    if isinstance(error, errors.DoveError):
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return status, type(error).__name__, str(error)
    return (
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "InternalFailure",
        "The server failed; the reason is in its log.",
    )
