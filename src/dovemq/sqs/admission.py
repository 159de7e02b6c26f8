"""Checks that run before a request is decoded: its signature, then the quota of its account.

Valid credentials are never refused because of the failures of others. An address whose signatures
fail too often waits longer for each further failure, and its connections are not read meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dovemq.core.access import AccessKey
from dovemq.core.errors import AccessDenied, Throttled
from dovemq.http import HttpRequest, client_of
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.sqs.signature import Verifier

FAILURE_PAUSE_MS_MIN: Final = 1_000
"""The least time for which a connection of such an address is not read."""
CHARGED_BODY_BYTES: Final = 64 << 10
"""Each started 64 KiB of a body count as one request, as SQS bills them."""


@dataclass(frozen=True, slots=True)
class Admission:
    _verifier: Verifier
    _failures: FailureLimit | None = None
    _throttle: Throttle | None = None

    def admit(
        self,
        request: HttpRequest,
        now_ms: int,
        verify: Callable[[HttpRequest, int], AccessKey] | None = None,
    ) -> AccessKey:
        """The key of the request. `verify` replaces the check of a signature, for HTTP Basic."""
        try:
            key = (verify or self._verifier.verify)(request, now_ms)
        except AccessDenied:
            self._record_failure(request, now_ms)
            raise
        self.charge(key.account, now_ms, len(request.body))
        return key

    def check_head(self, head: HttpRequest, now_ms: int) -> None:
        """Refuse a request whose signature is invalid whatever its body is."""
        try:
            self._verifier.check_head(head)
        except AccessDenied:
            self._record_failure(head, now_ms)
            raise

    def charge(self, account: str, now_ms: int, body_bytes: int = 0) -> None:
        """Count a request against the account's quota, a large one as several."""
        throttle = self._throttle
        if throttle is None:
            return
        cost = 1 if body_bytes <= CHARGED_BODY_BYTES else -(-body_bytes // CHARGED_BODY_BYTES)
        if wait_ms := throttle.take(account, now_ms, cost):
            raise Throttled(
                f"Account {account} exceeds its quota of requests per second; try again in "
                f"{wait_ms} ms.",
                wait_ms,
            )

    def _record_failure(self, request: HttpRequest, now_ms: int) -> None:
        failures = self._failures
        if failures is None:
            return
        client = client_of(request.peer)
        wait_ms = failures.wait_ms(client, now_ms)
        failures.record(client, now_ms)
        if wait_ms:
            raise Throttled(
                "Too many requests from this address had invalid credentials, and this one has "
                "too; try again later.",
                max(wait_ms, FAILURE_PAUSE_MS_MIN),
            ) from None
