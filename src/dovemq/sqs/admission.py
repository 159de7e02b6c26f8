"""Who gets in: a signature that holds, an address that has not failed too often, a quota.

In this order, and before anything of a request is decoded or looked up.
"""

from collections.abc import Callable
from typing import Final

from dovemq.core.access import AccessKey
from dovemq.core.errors import AccessDenied, Throttled
from dovemq.http import HttpRequest, client_of
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.sqs.signature import Verifier

FAILURE_PAUSE_MS_MIN: Final = 1_000
"""A connection from an address that is not heard is not read from for so long."""


class Admission:
    def __init__(
        self,
        verifier: Verifier,
        failures: FailureLimit | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        self._verifier = verifier
        self._failures = failures
        self._throttle = throttle

    def admit(
        self,
        request: HttpRequest,
        now_ms: int,
        verify: Callable[[HttpRequest, int], AccessKey] | None = None,
    ) -> AccessKey:
        """`verify` stands in for the check of a signature, where a key is shown otherwise."""
        failures = self._failures
        if failures is not None and now_ms < failures.restricted_until_ms:
            self._check_address(failures, request, now_ms)
        try:
            key = (verify or self._verifier.verify)(request, now_ms)
        except AccessDenied:
            if failures is not None:
                failures.failed(client_of(request.peer), now_ms)
            raise
        self.charge(key.account, now_ms)
        return key

    def charge(self, account: str, now_ms: int) -> None:
        """Count a request against the account's quota."""
        if self._throttle is not None and (wait_ms := self._throttle.take(account, now_ms)):
            raise Throttled(
                f"Account {account} exceeds its quota of requests per second; try again in "
                f"{wait_ms} ms.",
                wait_ms,
            )

    def _check_address(self, failures: FailureLimit, request: HttpRequest, now_ms: int) -> None:
        """A key that was verified before is heard: others may share the address with it."""
        wait_ms = failures.wait_ms(client_of(request.peer), now_ms)
        if wait_ms and not self._verifier.knows(request):
            raise Throttled(
                "Too many signatures from this address did not hold; try again later.",
                max(wait_ms, FAILURE_PAUSE_MS_MIN),
            )
