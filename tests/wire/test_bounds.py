"""Bounds on requests: too long ones are refused before they are decoded."""

import json
from typing import Any

import pytest

from dovemq.core import limits
from dovemq.http import HttpRequest
from dovemq.sqs.bounds import ENTRIES_COUNTED_MAX, ITEMS_MAX
from dovemq.sqs.forms import PARAMETERS_MAX
from tests.wire.speaking import HOST, JSON, PROTOCOLS, QUERY, Answer, answer_of, request_of
from tests.wire.world import World

NO_JSON = b"!"
"""JSON with this text cannot be decoded, so a request with it must be refused before."""
MANY = 1 << 16


def json_request(operation: str, body: bytes) -> HttpRequest:
    headers = {"host": HOST, "x-amz-target": f"AmazonSQS.{operation}"}
    return HttpRequest("POST", "/", "", headers, body, "peer")


def form_request(form: bytes) -> HttpRequest:
    return HttpRequest("POST", "/", "", {"host": HOST}, form, "peer")


async def answered(protocol: str, operation: str, request: HttpRequest) -> Answer:
    return answer_of(protocol, operation, await World().endpoint.handle(request))


async def asked(protocol: str, operation: str, **params: Any) -> Answer:
    world = World()
    request = {"QueueUrl": await world.queue(), **params}
    return await world.call(protocol, operation, request)


NAMES = [
    ("GetQueueAttributes", "AttributeNames", "All"),
    ("ReceiveMessage", "AttributeNames", "All"),
    ("ReceiveMessage", "MessageSystemAttributeNames", "All"),
    ("ReceiveMessage", "MessageAttributeNames", "a"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("operation", "field", "name"), NAMES)
async def test_list_of_names_is_bounded(
    protocol: str, operation: str, field: str, name: str
) -> None:
    most = limits.NAMES_LISTED_MAX
    full = await asked(protocol, operation, **{field: [name] * most})
    assert full.status == 200
    beyond = await asked(protocol, operation, **{field: [name] * (most + 1)})
    assert (beyond.status, beyond.code) == (400, "InvalidParameterValue")
    assert beyond.text == (
        f"Value of {most + 1} items for parameter {field} is invalid. "
        f"Reason: Must have at most {most} items."
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_name_that_is_repeated_is_answered_once(protocol: str) -> None:
    names = ["QueueArn", "All", "QueueArn", "AllExtended", "All"]
    once = await asked(protocol, "GetQueueAttributes", AttributeNames=["All", "AllExtended"])
    repeated = await asked(protocol, "GetQueueAttributes", AttributeNames=names)
    assert repeated.body == once.body


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_list_of_tag_keys_is_bounded(protocol: str) -> None:
    keys = [f"key-{number}" for number in range(limits.TAGS_MAX + 1)]
    assert (await asked(protocol, "UntagQueue", TagKeys=keys[:-1])).status == 200
    beyond = await asked(protocol, "UntagQueue", TagKeys=keys)
    assert (beyond.status, beyond.code) == (400, "InvalidParameterValue")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_list_of_accounts_is_bounded(protocol: str) -> None:
    accounts = [f"{number:012d}" for number in range(limits.POLICY_PRINCIPALS_MAX + 1)]
    request = {"Label": "all", "Actions": ["SendMessage"]}
    full = await asked(protocol, "AddPermission", AWSAccountIds=accounts[:-1], **request)
    assert full.status == 200
    beyond = await asked(protocol, "AddPermission", AWSAccountIds=accounts, **request)
    assert (beyond.status, beyond.code) == (403, "OverLimit")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_entry_with_too_many_attributes_fails_alone(protocol: str) -> None:
    value = {"DataType": "String", "StringValue": "x"}
    attributes = {f"a{number}": value for number in range(limits.MESSAGE_ATTRIBUTES_MAX + 1)}
    entries = [
        {"Id": "good", "MessageBody": "m"},
        {"Id": "bad", "MessageBody": "m", "MessageAttributes": attributes},
    ]
    answer = await asked(protocol, "SendMessageBatch", Entries=entries)
    assert [each["Id"] for each in answer.body["Successful"]] == ["good"]
    [failed] = answer.body["Failed"]
    assert (
        failed["Message"] == "Number of message attributes [11] exceeds the allowed maximum [10]."
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_system_attributes_are_all_looked_at(protocol: str) -> None:
    value = {"DataType": "String", "StringValue": "Root=1"}
    attributes = {"AWSTraceHeader": value, "Other": value}
    answer = await asked(
        protocol, "SendMessage", MessageBody="m", MessageSystemAttributes=attributes
    )
    assert (answer.status, answer.code) == (400, "InvalidParameterValue")


OTHERS = ["ReceiveMessage", "DeleteMessageBatch", "SetQueueAttributes", "TagQueue", "ListQueues"]


@pytest.mark.parametrize("operation", OTHERS)
async def test_long_json_that_sends_nothing_is_refused_unread(operation: str) -> None:
    body = NO_JSON * (limits.REQUEST_BYTES_MAX + 1)
    answer = await answered(JSON, operation, json_request(operation, body))
    assert (answer.status, answer.shape) == (413, "RequestEntityTooLargeException")
    shorter = await answered(JSON, operation, json_request(operation, body[:-1]))
    assert (shorter.status, shorter.shape) == (400, "SerializationException")


@pytest.mark.parametrize("operation", OTHERS)
async def test_long_form_that_sends_nothing_is_refused(operation: str) -> None:
    form = f"Action={operation}&Other=".encode() + b"x" * limits.REQUEST_BYTES_MAX
    answer = await answered(QUERY, operation, form_request(form))
    assert (answer.status, answer.code) == (413, "RequestEntityTooLarge")


async def test_form_that_no_message_needs_is_refused_unread() -> None:
    form = b"Action=SendMessage&MessageBody=%" + b"x" * limits.FORM_BYTES_MAX
    answer = await answered(QUERY, "SendMessage", form_request(form))
    assert (answer.status, answer.code) == (413, "RequestEntityTooLarge")


async def test_parameters_of_a_form_are_bounded() -> None:
    form = b"Action=SendMessage" + b"&a=b" * PARAMETERS_MAX
    answer = await answered(QUERY, "SendMessage", form_request(form))
    assert (answer.status, answer.code) == (400, "SerializationException")


async def test_long_batch_of_too_many_entries_is_refused_before_its_end() -> None:
    entries = b"{}," * MANY * 2
    body = b'{"Entries":[' + entries + NO_JSON
    answer = await answered(JSON, "SendMessageBatch", json_request("SendMessageBatch", body))
    assert answer.code == "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"
    assert answer.text == (
        "Maximum number of entries per request are 10. "
        f"You have sent more than {ENTRIES_COUNTED_MAX}."
    )


async def test_long_batch_of_countable_entries_is_refused_with_their_number() -> None:
    entries = [{"Id": str(n), "MessageBody": "x" * 50_000} for n in range(11)]
    answer = await asked(JSON, "SendMessageBatch", Entries=entries)
    assert answer.text == "Maximum number of entries per request are 10. You have sent 11."


@pytest.mark.parametrize("field", ["MessageAttributes", "MessageSystemAttributes"])
@pytest.mark.parametrize(
    "item", [b'"a":{},', b'"a":{"StringListValues":["",""]},', b'"a\\"":{"BinaryValue":"a,b"},']
)
async def test_long_send_with_many_attributes_is_refused(field: str, item: bytes) -> None:
    attributes = b"{" + item * MANY + b'"a":null}'
    single = b'{"MessageBody":"m","' + field.encode() + b'":' + attributes + b"}"
    answer = await answered(JSON, "SendMessage", json_request("SendMessage", single))
    wanted = f"The attributes of a message have more than {ITEMS_MAX} items."
    assert (answer.shape, answer.text) == ("SerializationException", wanted)
    batch = b'{"Entries":[null,' + single + b"]}"
    answer = await answered(JSON, "SendMessageBatch", json_request("SendMessageBatch", batch))
    assert (answer.shape, answer.text) == ("SerializationException", wanted)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("text", ["x", ",", '{"a":["b"]},', "ü"])
async def test_longest_message_is_taken_whatever_it_holds(protocol: str, text: str) -> None:
    most = limits.MESSAGE_BYTES.most
    value = text * (most // 2 // len(text.encode()))
    attribute = {"DataType": "String", "StringValue": value[: most // 8]}
    answer = await asked(
        protocol, "SendMessage", MessageBody=value, MessageAttributes={"a": attribute}
    )
    assert answer.status == 200
    entries = [{"Id": "a", "MessageBody": value, "MessageAttributes": {"a": attribute}}]
    assert (await asked(protocol, "SendMessageBatch", Entries=entries)).status == 200


@pytest.mark.parametrize("operation", ["SendMessage", "SendMessageBatch", "ReceiveMessage"])
@pytest.mark.parametrize("length", [1_000, 100_000, 400_000])
async def test_deeply_nested_json_is_refused(operation: str, length: int) -> None:
    nested = b'{"Other":' + b"[" * length + b"]" * length + b"}"
    answer = await answered(JSON, operation, json_request(operation, nested))
    assert answer.status in (400, 413)


def test_largest_tags_fit_into_the_bound() -> None:
    """The largest valid request of another operation fits into the bound."""
    tags = {f"{number:0128d}": "ü" * 256 for number in range(limits.TAGS_MAX)}
    for protocol in PROTOCOLS:
        request = request_of(protocol, "TagQueue", {"QueueUrl": "q" * 128, "Tags": tags})
        assert len(request.body) < limits.REQUEST_BYTES_MAX
    assert len(json.dumps(tags)) < limits.REQUEST_BYTES_MAX
