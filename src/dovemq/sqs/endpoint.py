"""The SQS endpoint without I/O: it turns a request value into a response value and never raises.

A request is neither decoded nor acted upon before its signature is verified.
"""

import itertools
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from dovemq.core.access import Keyring
from dovemq.core.bounded import BoundedDict
from dovemq.core.errors import RequestError, UnavailableError
from dovemq.fabric.autonomic import ClientRole
from dovemq.http import HttpRequest, HttpResponse, is_host
from dovemq.service import Service
from dovemq.service.audit import Audit
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.sqs import json10, query
from dovemq.sqs.admission import Admission
from dovemq.sqs.arns import QueueNames, path_names_queue
from dovemq.sqs.auditing import recorded
from dovemq.sqs.authorisation import Judge
from dovemq.sqs.call import Call
from dovemq.sqs.errors import HostInvalid
from dovemq.sqs.faults import fault_of
from dovemq.sqs.operations import OPERATIONS, Operation
from dovemq.sqs.signature import Verifier
from dovemq.sqs.spanning import begin_span, end_span
from dovemq.telemetry.counters import UNNAMED, RequestMeter
from dovemq.telemetry.logs import log_failure, log_request
from dovemq.telemetry.trace import Trace

if TYPE_CHECKING:
    from dovemq.telemetry.spans import MessageSpans

log = logging.getLogger(__name__)

AGENT_LENGTH_MAX: Final = 200
"""Characters of a User-Agent header that are kept for the list of a queue's clients."""


class SqsEndpoint:
    """The endpoint of one region.

    Without a keyring signatures are not checked, and every caller is `account`. Without an audit
    log nothing is recorded.
    """

    def __init__(
        self,
        service: Service,
        keyring: Keyring | None,
        region: str,
        account: str,
        public_url: str | None,
        new_id: Callable[[], str],
        audit: Audit | None = None,
        failures: FailureLimit | None = None,
        throttle: Throttle | None = None,
        *,
        trace: Trace | None = None,
        spans: "MessageSpans | None" = None,
        timer_ns: Callable[[], int] = time.perf_counter_ns,
        log_requests: bool = False,
    ) -> None:
        self.requests = RequestMeter(OPERATIONS)
        self._trace = trace
        self._spans = spans
        self._timer_ns = timer_ns
        self._log_requests = log_requests
        self._service = service
        self._admission = None
        if keyring is not None:
            self._admission = Admission(Verifier(keyring, region=region), failures, throttle)
        self._account = account
        self._public_url = public_url.rstrip("/") if public_url else None
        self._new_id = new_id
        self._audit = audit
        # Ids are counted: a random one for each request would take a fiftieth of its time.
        self._ids_prefix = new_id()[:-12]
        self._numbers = itertools.count(1)
        self._names = QueueNames(region)
        self._judge = Judge(self._names)
        self._origins: BoundedDict[str, str] = BoundedDict()
        self._secure_origins: BoundedDict[str, str] = BoundedDict()

    def check_head(self, head: HttpRequest) -> HttpResponse | None:
        """The refusal of a request whose body need not be read, or None."""
        if self._admission is None:
            return None
        begun_ns = self._timer_ns()
        try:
            self._admission.check_head(head, self._service.clock.now_ms())
        except RequestError as error:
            request_id = f"{self._ids_prefix}{next(self._numbers):012x}"
            refuse = json10.refuse if json10.speaks(head) else query.refuse
            response = refuse(error, request_id, head)
            self._count(head, request_id, begun_ns, None, None, response.status)
            return response
        return None

    async def handle(self, request: HttpRequest) -> HttpResponse:
        request_id = f"{self._ids_prefix}{next(self._numbers):012x}"
        begun_ns = self._timer_ns()
        call = operation = span = code = None
        is_json = json10.speaks(request)
        try:
            call = self._call(request)
            call.query = not is_json
            operation, asked = json10.read(request) if is_json else query.read(request)
            call.operation = operation.name
            if self._spans is not None:
                span = begin_span(self._spans, operation.name, call, asked)
            audit = self._audit if operation.audited else None
            if audit is None:
                answered = await operation.act(call, asked)
            else:
                answered = await recorded(audit, operation, call, asked, request, request_id)
            answer = json10.answer if is_json else query.answer
            response = answer(answered, request_id, call)
        except Exception as error:
            # Kept as a code: the error holds its frame, and so the request.
            code = fault_of(error).code
            _note(error, request_id)
            refuse = json10.refuse if is_json else query.refuse
            response = refuse(error, request_id, request)
        if span is not None and call is not None:
            end_span(span, call, request_id, code)
        if operation is not None and operation.role is not None and call is not None:
            self._saw(call, request, operation.role)
        self._count(request, request_id, begun_ns, operation, call, response.status)
        return response

    def _saw(self, call: Call, request: HttpRequest, role: ClientRole) -> None:
        """Note the client of a queue. A queue that does not exist, or is closed to it, has none."""
        if call.found is not None:
            self._service.clients.saw(
                call.found,
                request.peer,
                call.account,
                request.headers.get("user-agent", "")[:AGENT_LENGTH_MAX],
                self._service.clock.now_ms(),
                producer=role is ClientRole.PRODUCER,
            )

    def _count(
        self,
        request: HttpRequest,
        request_id: str,
        begun_ns: int,
        operation: Operation | None,
        call: Call | None,
        status: int,
    ) -> None:
        ns = self._timer_ns() - begun_ns
        name = UNNAMED if operation is None else operation.name
        self.requests.operations[name].count(status, ns)
        if self._log_requests:
            log_request(
                request_id,
                name,
                account=call.account if call is not None else None,
                queue=str(call.asked) if call is not None and call.asked is not None else None,
                status=status,
                ms=ns / 1_000_000,
                peer=request.peer,
            )

    def _call(self, request: HttpRequest) -> Call:
        headers = request.headers
        host = headers.get("host", "")
        origins = self._secure_origins if request.secure else self._origins
        origin = origins.get(host)
        if origin is None:
            origin = origins.keep(host, self._origin(host, request.secure))
        account, key_id = self._account, None
        if self._admission is not None:
            key = self._admission.admit(request, self._service.clock.now_ms())
            account, key_id = key.account, key.key_id
        path = request.path
        return Call(
            self._service,
            self._names,
            self._judge,
            self._new_id,
            account,
            origin,
            request,
            path if path != "/" and path_names_queue(path) else None,
            headers.get("x-amzn-trace-id"),
            key_id=key_id,
            trail=None if self._trace is None else self._trace.trail(request.peer, request.read_ns),
        )

    def _origin(self, host: str, secure: bool) -> str:
        """The scheme and host of the queue URLs that this client gets."""
        if not host and self._public_url:
            return self._public_url
        if not is_host(host):
            raise HostInvalid()
        if self._public_url:
            return f"{urlsplit(self._public_url).scheme}://{host}"
        return f"https://{host}" if secure else f"http://{host}"


def _note(error: Exception, request_id: str) -> None:
    """Log what the operator must know; the client learns only that the request failed."""
    if isinstance(error, UnavailableError):
        log.warning("request %s: %s", request_id, error, extra={"request_id": request_id})
    elif not isinstance(error, RequestError):
        log_failure(log, f"request {request_id} failed", error, request_id)
