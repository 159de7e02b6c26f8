"""Signature Version 4: requests of a foreign signer are accepted, altered ones are not."""

import datetime
import tracemalloc
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from dovemq.core.errors import (
    AccessKeyUnknown,
    SignatureExpired,
    SignatureIncomplete,
    SignatureMismatch,
)
from dovemq.http import HttpRequest
from dovemq.sqs.signature import Signer, Verifier
from tests.wire.speaking import HOST, JSON, QUERY, Answer, answer_of, request_of
from tests.wire.world import KEY, REGION, OneKey, World

QUEUE_PATH = "/123456789012/orders"
NOW_MS = 1_700_000_000_000


class FrozenTime(datetime.datetime):
    """The present time of the foreign signer: that of `ManualClock`."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "FrozenTime":
        return cls.fromtimestamp(1_700_000_000, tz)

    @classmethod
    def utcnow(cls) -> "FrozenTime":
        return cls(2023, 11, 14, 22, 13, 20)


@pytest.fixture(autouse=True)
def _signer_lives_in_test_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def current(remove_tzinfo: bool = True) -> datetime.datetime:
        return FrozenTime.utcnow()

    monkeypatch.setattr("botocore.auth.get_current_datetime", current, raising=False)
    monkeypatch.setattr("botocore.auth.datetime.datetime", FrozenTime, raising=False)


def signed(
    request: HttpRequest, *, service: str = "sqs", region: str = REGION, secret: str = KEY.secret,
    key_id: str = KEY.key_id, token: str | None = None,
) -> HttpRequest:  # fmt: skip
    return _foreign(SigV4Auth(Credentials(key_id, secret, token), service, region), request)


def presigned(request: HttpRequest, expires: int = 60) -> HttpRequest:
    credentials = Credentials(KEY.key_id, KEY.secret)
    return _foreign(SigV4QueryAuth(credentials, "sqs", REGION, expires=expires), request)


def _foreign(auth: SigV4Auth, request: HttpRequest) -> HttpRequest:
    query = f"?{request.query}" if request.query else ""
    url = f"http://{HOST}{request.path}{query}"
    headers = {name: value for name, value in request.headers.items() if name != "host"}
    foreign = AWSRequest(request.method, url, headers=headers, data=request.body)
    auth.add_auth(foreign)
    split = urlsplit(foreign.url)
    found = {name.lower(): value for name, value in foreign.headers.items()}
    return HttpRequest(
        request.method, split.path, split.query, {"host": HOST, **found}, request.body, "peer"
    )


def altered(request: HttpRequest, **changes: object) -> HttpRequest:
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    return HttpRequest(**{**fields, **changes})


def with_headers(request: HttpRequest, headers: Mapping[str, str]) -> HttpRequest:
    return altered(request, headers={**request.headers, **headers})


def create(protocol: str = JSON, path: str = "/") -> HttpRequest:
    return request_of(protocol, "CreateQueue", {"QueueName": "orders"}, path)


async def answered(
    request: HttpRequest, protocol: str = JSON, operation: str = "CreateQueue"
) -> Answer:
    return answer_of(protocol, operation, await World(signed=True).endpoint.handle(request))


def get(query: str, path: str = "/") -> HttpRequest:
    return HttpRequest("GET", path, query, {"host": HOST}, b"", "peer")


@pytest.mark.parametrize("protocol", [JSON, QUERY])
async def test_request_signed_in_its_header_is_accepted(protocol: str) -> None:
    assert (await answered(signed(create(protocol)), protocol)).status == 200


async def test_get_signed_in_its_header_is_accepted() -> None:
    request = signed(get("Action=ListQueues&Version=2012-11-05&QueueNamePrefix=a%20b%2Bc"))
    assert (await answered(request, QUERY, "ListQueues")).status == 200


async def test_presigned_get_is_accepted() -> None:
    request = presigned(get("Action=CreateQueue&QueueName=orders"))
    assert (await answered(request, QUERY)).status == 200


def test_plus_for_an_encoded_plus_breaks_the_signature() -> None:
    """A plus is read as a space, so the altered request would mean something else."""
    request = presigned(get("Action=ListQueues&QueueNamePrefix=a%2Bb"))
    forged = altered(request, query=request.query.replace("a%2Bb", "a+b"))
    verifier = Verifier(OneKey(), region=REGION)
    assert verifier.verify(request, NOW_MS) == KEY
    with pytest.raises(SignatureMismatch):
        verifier.verify(forged, NOW_MS)


def test_plus_for_an_encoded_space_is_the_same_request() -> None:
    request = presigned(get("Action=ListQueues&QueueNamePrefix=a%20b"))
    same = altered(request, query=request.query.replace("a%20b", "a+b"))
    assert Verifier(OneKey(), region=REGION).verify(same, NOW_MS) == KEY


async def test_presigned_post_is_accepted() -> None:
    request = altered(get("Action=CreateQueue&QueueName=orders"), method="POST")
    assert (await answered(presigned(request), QUERY)).status == 200


async def test_our_own_signer_is_accepted() -> None:
    request = create()
    headers = Signer(KEY, region=REGION).sign(
        "POST", "/", "", request.headers, request.body, 1_700_000_000_000
    )
    assert (await answered(altered(request, headers=headers))).status == 200


def test_our_own_signer_says_what_the_foreign_signer_says() -> None:
    request = request_of(JSON, "SendMessage", {"MessageBody": "é"}, "/a b/ü%20c/../d")
    ours = Signer(KEY, region=REGION).sign(
        "POST", request.path, "b=2&a=1", request.headers, request.body, 1_700_000_000_000
    )
    foreign = signed(altered(request, query="b=2&a=1"))
    assert ours["authorization"] == foreign.headers["authorization"]


def test_form_signs_each_body_and_time_as_the_signer_would() -> None:
    request = create()
    signer = Signer(KEY, region=REGION)
    form = signer.form("POST", "/", "", request.headers)
    day_ms = 24 * 3_600 * 1_000
    for now_ms in (
        1_700_000_000_000,
        1_700_000_000_999,
        1_700_000_001_000,
        1_700_000_000_000 + day_ms,
    ):
        for body in (b"{}", request.body, b""):
            expected = signer.sign("POST", "/", "", request.headers, body, now_ms)
            found = form.signed(body, now_ms)
            assert found == (expected["x-amz-date"], expected["authorization"])


@pytest.mark.parametrize("path", [QUEUE_PATH, "/123456789012/a%20b", "/x//y/./z/../w/"])
async def test_path_is_encoded_once_more_before_it_is_signed(path: str) -> None:
    request = signed(request_of(QUERY, "ListQueueTags", {}, path))
    assert (await answered(request, QUERY, "ListQueueTags")).code != "SignatureDoesNotMatch"


async def test_white_space_around_and_within_header_values_does_not_matter() -> None:
    request = signed(with_headers(create(), {"x-amz-note": "a b"}))
    assert (await answered(with_headers(request, {"x-amz-note": "  a \t  b "}))).status == 200


async def test_session_token_is_signed_and_otherwise_ignored() -> None:
    assert (await answered(signed(create(), token="from-elsewhere"))).status == 200


async def test_fields_of_the_authorization_may_come_in_any_order() -> None:
    request = signed(create())
    kind, _, fields = request.headers["authorization"].partition(" ")
    reordered = ",".join(reversed(fields.split(", ")))
    assert (
        await answered(with_headers(request, {"authorization": f"{kind} {reordered}"}))
    ).status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"body": b'{"QueueName":"others"}'},
        {"path": "/123456789012/others"},
        {"query": "QueueName=others"},
        {"method": "PUT"},
    ],
)
async def test_altered_request_does_not_match(change: dict[str, object]) -> None:
    answer = await answered(altered(signed(create()), **change))
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch")
    assert answer.shape == "InvalidSignatureException"
    assert answer.text.startswith("The request signature we calculated does not match")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "elsewhere:9324"},
        {"x-amz-target": "AmazonSQS.DeleteQueue"},
        {"content-type": "application/x-amz-json-1.0; charset=utf-8"},
        {"x-amz-date": "20231114T221321Z"},
        {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"},
    ],
)
async def test_altered_header_does_not_match(headers: dict[str, str]) -> None:
    request = signed(with_headers(create(), {"x-amz-content-sha256": "x"}))
    answer = await answered(with_headers(request, headers))
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch")


async def test_unsigned_payload_does_not_match() -> None:
    request = with_headers(create(), {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"})
    assert (await answered(signed(request))).code == "SignatureDoesNotMatch"


async def test_target_that_is_not_signed_is_refused() -> None:
    request = create()
    headers = {name: value for name, value in request.headers.items() if name != "x-amz-target"}
    untargeted = signed(altered(request, headers=headers))
    answer = await answered(with_headers(untargeted, {"x-amz-target": "AmazonSQS.CreateQueue"}))
    assert answer.code == "SignatureDoesNotMatch"
    assert answer.text == "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."


async def test_wrong_secret_does_not_match() -> None:
    assert (await answered(signed(create(), secret="other"))).code == "SignatureDoesNotMatch"


async def test_another_region_is_refused() -> None:
    answer = await answered(signed(create(), region="mars-north-1"))
    assert answer.code == "SignatureDoesNotMatch"
    assert answer.text == "Credential should be scoped to a valid region, not 'mars-north-1'."


async def test_another_service_is_refused() -> None:
    answer = await answered(signed(create(), service="sns"))
    assert answer.text == "Credential should be scoped to correct service: 'sqs'."


async def test_unknown_key_is_refused() -> None:
    answer = await answered(signed(create(), key_id="AKIANOBODY"))
    assert (answer.status, answer.code) == (403, "InvalidClientTokenId")
    assert answer.shape == "UnrecognizedClientException"
    assert answer.text == "The security token included in the request is invalid."


@pytest.mark.parametrize("protocol", [JSON, QUERY])
async def test_unsigned_request_is_refused(protocol: str) -> None:
    answer = await answered(create(protocol), protocol)
    assert (answer.status, answer.code) == (403, "MissingAuthenticationToken")
    assert answer.text == "Request is missing Authentication Token"


@pytest.mark.parametrize(
    ("authorization", "text"),
    [
        ("Basic abc", "Unsupported AWS 'algorithm': 'Basic'."),
        (
            "AWS4-HMAC-SHA256 nothing",
            "Authorization header requires 'Credential' parameter. Authorization header requires "
            "'Signature' parameter. Authorization header requires 'SignedHeaders' parameter.",
        ),
        (
            "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c",
            "Credential must have exactly 5 slash-delimited elements, "
            "e.g. keyid/date/region/service/term, got 'a/b'",
        ),
    ],
)
async def test_each_incomplete_authorization_has_its_own_error(
    authorization: str, text: str
) -> None:
    answer = await answered(with_headers(create(), {"authorization": authorization}))
    assert (answer.status, answer.code, answer.text) == (400, "IncompleteSignature", text)


async def test_date_in_no_known_form_is_incomplete() -> None:
    answer = await answered(with_headers(signed(create()), {"x-amz-date": "yesterday"}))
    assert answer.code == "IncompleteSignature"


def verified(request: HttpRequest, now_ms: int) -> str:
    return Verifier(OneKey(), region=REGION).verify(request, now_ms).account


@pytest.mark.parametrize("skew_ms", [-900_000, 0, 900_000])
def test_clocks_may_differ_by_a_quarter_of_an_hour(skew_ms: int) -> None:
    assert verified(signed(create()), 1_700_000_000_000 + skew_ms) == KEY.account


@pytest.mark.parametrize(
    ("skew_ms", "text"),
    [
        (
            901_000,
            "Signature expired: 20231114T221320Z is now earlier than 20231114T221321Z "
            "(20231114T222821Z - 15 min.)",
        ),
        (
            -901_000,
            "Signature not yet current: 20231114T221320Z is still later than 20231114T221319Z "
            "(20231114T215819Z + 15 min.)",
        ),
    ],
)
def test_clock_that_differs_too_much_is_named_in_the_error(skew_ms: int, text: str) -> None:
    with pytest.raises(SignatureExpired) as refusal:
        verified(signed(create()), 1_700_000_000_000 + skew_ms)
    assert str(refusal.value) == text


def test_presigned_request_ends_when_it_says() -> None:
    request = presigned(get("Action=ListQueues"), expires=60)
    assert verified(request, 1_700_000_060_000) == KEY.account
    with pytest.raises(SignatureExpired):
        verified(request, 1_700_000_060_001)


def test_presigned_parameters_are_signed_too() -> None:
    request = presigned(get("Action=ListQueues"), expires=60)
    longer = altered(request, query=request.query.replace("Expires=60", "Expires=600"))
    with pytest.raises(SignatureMismatch):
        verified(longer, 1_700_000_000_000)


@pytest.mark.parametrize("expires", ["0", "604801", "-1", "soon"])
def test_presigned_request_lasts_at_most_a_week(expires: str) -> None:
    request = presigned(get("Action=ListQueues"), expires=60)
    other = altered(request, query=request.query.replace("Expires=60", f"Expires={expires}"))
    with pytest.raises(SignatureIncomplete):
        verified(other, 1_700_000_000_000)


@pytest.mark.parametrize("name", ["Credential", "Date", "Expires", "SignedHeaders", "Signature"])
def test_presigned_request_without_a_part_is_incomplete(name: str) -> None:
    request = presigned(get("Action=ListQueues"))
    kept = [part for part in request.query.split("&") if not part.startswith(f"X-Amz-{name}=")]
    with pytest.raises(SignatureIncomplete) as refusal:
        verified(altered(request, query="&".join(kept)), 1_700_000_000_000)
    assert f"X-Amz-{name}" in str(refusal.value)


async def test_response_to_a_bad_signature_says_nothing_about_the_queue() -> None:
    request = request_of(JSON, "DeleteQueue", {"QueueUrl": "none"})
    assert (await answered(request, operation="DeleteQueue")).code == "MissingAuthenticationToken"
    broken = altered(signed(request), body=b"{")
    assert (await answered(broken, operation="DeleteQueue")).code == "SignatureDoesNotMatch"


async def test_signature_in_strange_characters_does_not_match() -> None:
    request = signed(create())
    head = request.headers["authorization"].rpartition("=")[0]
    strange = with_headers(request, {"authorization": f"{head}=\xe9\xff"})
    assert (await answered(strange)).code == "SignatureDoesNotMatch"


def test_claims_of_invalid_signatures_are_not_kept_in_memory() -> None:
    request = signed(create(), key_id="AKIASTRANGER")
    names = ";".join(f"{number:03x}" for number in range(15_000))
    verifier = Verifier(OneKey(), region=REGION)
    tracemalloc.start()
    try:
        for number in range(20):
            claim = request.headers["authorization"].replace("host;", f"host;{number};{names};")
            with pytest.raises(AccessKeyUnknown):
                verifier.verify(with_headers(request, {"authorization": claim}), 1_700_000_000_000)
        assert tracemalloc.get_traced_memory()[0] < 5 << 20
    finally:
        tracemalloc.stop()
