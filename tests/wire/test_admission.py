"""Quotas of requests, and addresses whose signatures fail too often."""

import asyncio
import itertools
import random

import pytest

from dovemq.core.access import AccessKey
from dovemq.http import HttpRequest, HttpResponse
from dovemq.service import build_service
from dovemq.service.failure_limits import FailureLimit
from dovemq.service.throttle import Throttle
from dovemq.sqs.admission import FAILURE_PAUSE_MS_MIN
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.sqs.signature import Signer
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock
from tests.wire.speaking import JSON, PROTOCOLS, answer_of, request_of

REGION = "us-east-1"
RATE = 5
FAILURES_MAX = 4
BUSY = AccessKey("AKIABUSY", "secret-of-busy", "111111111111")
CALM = AccessKey("AKIACALM", "secret-of-calm", "222222222222")
STRANGER = AccessKey("AKIASTRANGER", "guessed", "333333333333")
HOME = "203.0.113.9:5151"


class Keys:
    def find(self, key_id: str) -> AccessKey | None:
        return {key.key_id: key for key in (BUSY, CALM)}.get(key_id)


class Door:
    def __init__(self) -> None:
        self.clock = ManualClock()
        store = MemoryStore(random.Random(1), b"r" * 32)
        numbers = itertools.count(1)

        def new_id() -> str:
            return f"00000000-0000-4000-8000-{next(numbers):012d}"

        service = build_service(store, self.clock, new_id)
        self.endpoint = SqsEndpoint(
            service,
            Keys(),
            REGION,
            BUSY.account,
            None,
            new_id,
            failures=FailureLimit(FAILURES_MAX, 1_000, "signatures"),
            throttle=Throttle(lambda account: RATE if account == BUSY.account else None),
        )

    def request(
        self, key: AccessKey, protocol: str = JSON, peer: str = HOME, body: bytes | None = None
    ) -> HttpRequest:
        made = request_of(protocol, "ListQueues", {})
        said = made.body if body is None else body
        headers = Signer(key, region=REGION).sign(
            made.method, made.path, made.query, made.headers, said, self.clock.now_ms()
        )
        return HttpRequest(made.method, made.path, made.query, headers, said, peer)

    def ask(self, request: HttpRequest) -> HttpResponse:
        async def asked() -> HttpResponse:
            return await self.endpoint.handle(request)

        return asyncio.run(asked())

    def statuses(self, key: AccessKey, count: int, peer: str = HOME) -> list[int]:
        return [self.ask(self.request(key, peer=peer)).status for _ in range(count)]


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_request_over_the_quota_is_throttled_and_its_connection_rests(
    door: Door, protocol: str
) -> None:
    assert door.statuses(BUSY, RATE) == [200] * RATE
    response = door.ask(door.request(BUSY, protocol))
    answer = answer_of(protocol, "ListQueues", response)
    assert (answer.status, answer.code) == (403, "RequestThrottled")
    assert response.pause_ms == 1_000 // RATE


def test_tokens_return(door: Door) -> None:
    door.statuses(BUSY, RATE)
    door.clock.advance(1_000 // RATE)
    assert door.statuses(BUSY, 2) == [200, 403]


def test_account_without_a_quota_is_not_touched_by_another_s(door: Door) -> None:
    door.statuses(BUSY, 2 * RATE)
    assert door.statuses(CALM, 2 * RATE) == [200] * (2 * RATE)


def test_body_over_the_quota_is_not_decoded(door: Door) -> None:
    noise = b"{" * 100
    for _ in range(RATE):
        assert door.ask(door.request(BUSY, body=noise)).status == 400
    assert door.ask(door.request(BUSY, body=noise)).status == 403


def test_signature_that_does_not_hold_takes_no_token(door: Door) -> None:
    forged = AccessKey(BUSY.key_id, "not its secret", BUSY.account)
    assert door.statuses(forged, FAILURES_MAX - 1) == [403] * (FAILURES_MAX - 1)
    assert door.statuses(BUSY, RATE) == [200] * RATE


def test_further_failures_of_an_address_are_throttled(door: Door) -> None:
    for _ in range(FAILURES_MAX):
        response = door.ask(door.request(STRANGER))
        assert answer_of(JSON, "ListQueues", response).code == "InvalidClientTokenId"
        assert response.pause_ms == 0
    response = door.ask(door.request(STRANGER))
    assert answer_of(JSON, "ListQueues", response).code == "RequestThrottled"
    assert response.pause_ms == FAILURE_PAUSE_MS_MIN


def test_one_more_failure_is_told_its_cause_each_second(door: Door) -> None:
    door.statuses(STRANGER, FAILURES_MAX + 1)
    door.clock.advance(1_000)
    codes = [answer_of(JSON, "ListQueues", door.ask(door.request(STRANGER))).code for _ in range(2)]
    assert codes == ["InvalidClientTokenId", "RequestThrottled"]


def test_valid_key_is_accepted_though_its_address_fails_too_often(door: Door) -> None:
    door.statuses(STRANGER, 2 * FAILURES_MAX)
    assert door.statuses(CALM, 3) == [200] * 3


def test_other_addresses_are_told_the_cause(door: Door) -> None:
    door.statuses(STRANGER, FAILURES_MAX)
    response = door.ask(door.request(STRANGER, peer="203.0.113.10:5151"))
    assert answer_of(JSON, "ListQueues", response).code == "InvalidClientTokenId"


def test_addresses_of_one_network_of_version_6_are_one_client(door: Door) -> None:
    for number in range(FAILURES_MAX):
        door.statuses(STRANGER, 1, f"[2001:db8::{number + 1}]:5151")
    same = door.ask(door.request(STRANGER, peer="[2001:db8::ffff]:5151"))
    assert answer_of(JSON, "ListQueues", same).code == "RequestThrottled"
    other = door.ask(door.request(STRANGER, peer="[2001:db8:0:1::1]:5151"))
    assert answer_of(JSON, "ListQueues", other).code == "InvalidClientTokenId"


def test_forged_signature_under_a_verified_key_still_counts_as_failure(door: Door) -> None:
    assert door.statuses(CALM, 1) == [200]
    forged = AccessKey(CALM.key_id, "not its secret", CALM.account)
    assert door.statuses(forged, FAILURES_MAX) == [403] * FAILURES_MAX
    assert door.statuses(STRANGER, 1) == [403]
    assert door.statuses(CALM, 1) == [200]


def test_request_without_a_signature_counts_as_failure(door: Door) -> None:
    made = request_of(JSON, "ListQueues", {})
    unsigned = HttpRequest(made.method, made.path, made.query, made.headers, made.body, HOME)
    for _ in range(FAILURES_MAX):
        code = answer_of(JSON, "ListQueues", door.ask(unsigned)).code
        assert code == "MissingAuthenticationToken"
    assert answer_of(JSON, "ListQueues", door.ask(unsigned)).code == "RequestThrottled"


def test_large_body_costs_as_many_requests_as_it_has_parts_of_64_kib(door: Door) -> None:
    noise = b"{" * ((RATE - 1) * 65_536)
    assert door.ask(door.request(BUSY, body=noise)).status == 400
    assert door.statuses(BUSY, 2) == [200, 403]


def head_of(request: HttpRequest, **headers: str) -> HttpRequest:
    """The request before its body is read."""
    known = {**request.headers, **headers}
    return HttpRequest(request.method, request.path, request.query, known, b"", request.peer)


def test_body_of_a_request_with_a_known_key_is_read(door: Door) -> None:
    assert door.endpoint.check_head(head_of(door.request(CALM))) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("nonsense", "IncompleteSignature"),
        (
            "AWS4-HMAC-SHA256 Credential=AKIASTRANGER/20231114/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=0",
            "InvalidClientTokenId",
        ),
        (
            "AWS4-HMAC-SHA256 Credential=AKIACALM/20231114/mars-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=0",
            "SignatureDoesNotMatch",
        ),
    ],
)
def test_body_is_not_read_when_the_headers_cannot_hold(
    door: Door, protocol: str, authorization: str, code: str
) -> None:
    head = head_of(door.request(CALM, protocol), authorization=authorization)
    response = door.endpoint.check_head(head)
    assert response is not None
    assert answer_of(protocol, "ListQueues", response).code == code


def test_refused_headers_count_as_failures(door: Door) -> None:
    head = head_of(door.request(STRANGER))
    codes = []
    for _ in range(FAILURES_MAX + 1):
        response = door.endpoint.check_head(head)
        assert response is not None
        codes.append(answer_of(JSON, "ListQueues", response).code)
    assert codes == ["InvalidClientTokenId"] * FAILURES_MAX + ["RequestThrottled"]


def test_nothing_of_a_request_is_in_the_log_of_failures(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    door.statuses(STRANGER, 3 * FAILURES_MAX)
    assert len(caplog.records) == 1
    assert "203.0.113.9" in caplog.text
    assert STRANGER.key_id not in caplog.text
