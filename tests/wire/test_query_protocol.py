"""The Query protocol: URLs, parameters and responses."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.sqs.errors import SerializationError
from dovemq.sqs.forms import parameters
from tests.wire.speaking import HOST, QUERY
from tests.wire.world import World, url

QUEUE_PATH = "/123456789012/orders"
NAMESPACE = 'xmlns="http://queue.amazonaws.com/doc/2012-11-05/"'


def get(path: str, accept: str = "", **params: Any) -> HttpRequest:
    headers = {"host": HOST, "accept": accept} if accept else {"host": HOST}
    return HttpRequest("GET", path, urlencode(params), headers, b"", "peer")


async def answered(*requests: HttpRequest) -> list[HttpResponse]:
    """The responses of a world with the queues `orders` and `others`."""
    world = World()
    await world.queue("orders")
    await world.queue("others")
    return [await world.endpoint.handle(request) for request in requests]


async def test_get_on_a_queue_url_is_about_that_queue() -> None:
    request = get(QUEUE_PATH, Action="GetQueueAttributes", **{"AttributeName.1": "QueueArn"})
    [response] = await answered(request)
    assert response.body.startswith(
        f'<?xml version="1.0"?><GetQueueAttributesResponse {NAMESPACE}>'
        "<GetQueueAttributesResult><Attribute><Name>QueueArn</Name>"
        "<Value>arn:aws:sqs:us-east-1:123456789012:orders</Value></Attribute>"
        "</GetQueueAttributesResult><ResponseMetadata><RequestId>".encode()
    )


async def test_queue_url_parameter_wins_over_the_path() -> None:
    request = get(
        QUEUE_PATH,
        Action="GetQueueAttributes",
        QueueUrl=url("others"),
        **{"AttributeName.1": "QueueArn"},
    )
    [response] = await answered(request)
    assert b":others</Value>" in response.body


async def test_parameters_may_stand_in_the_url_of_a_post() -> None:
    request = HttpRequest("POST", QUEUE_PATH, "Action=DeleteQueue", {"host": HOST}, b"", "peer")
    [response] = await answered(request)
    assert response.status == 200
    assert b"<DeleteQueueResponse" in response.body
    assert b"Result" not in response.body


async def test_empty_answer_is_an_empty_element() -> None:
    [response] = await answered(get(QUEUE_PATH, Action="ReceiveMessage"))
    assert b"<ReceiveMessageResult/>" in response.body


async def test_answers_hold_no_white_space_between_elements() -> None:
    send = get(QUEUE_PATH, Action="SendMessage", MessageBody="work")
    receive = get(QUEUE_PATH, Action="ReceiveMessage", **{"AttributeName.1": "All"})
    for response in await answered(send, receive, get("/", Action="ListQueues")):
        assert b"> <" not in response.body
        assert b"\n" not in response.body
        assert response.content_type == "text/xml"


@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues"])
async def test_some_actions_are_not_for_a_queue_url(action: str) -> None:
    [response] = await answered(get(QUEUE_PATH, Action=action, QueueName="new"))
    assert response.status == 400
    assert b"<Code>InvalidAction</Code>" in response.body
    text = f"<Message>The action {action} is not valid for this endpoint.</Message><Detail/>"
    assert text.encode() in response.body


async def test_unknown_action_is_invalid() -> None:
    [response] = await answered(get("/", Action="FooBar"))
    assert response.status == 400
    assert b"<Message>The action FooBar is not valid for this endpoint.</Message>" in response.body
    assert b"<Type>Sender</Type>" in response.body


async def test_url_of_another_queue_may_be_asked_for_on_a_queue_url() -> None:
    [response] = await answered(get(QUEUE_PATH, Action="GetQueueUrl", QueueName="others"))
    assert f"<QueueUrl>{url('others')}</QueueUrl>".encode() in response.body


@pytest.mark.parametrize("accept", ["", "application/json"])
async def test_look_at_a_queue_url_without_an_action_is_an_unknown_operation(accept: str) -> None:
    [response] = await answered(get(QUEUE_PATH, accept))
    assert (response.status, response.content_type) == (404, "text/xml")
    assert response.body == b"<UnknownOperationException/>"


async def test_other_methods_are_unknown_operations() -> None:
    [response] = await answered(
        HttpRequest("PUT", "/", "Action=ListQueues", {"host": HOST}, b"", "peer")
    )
    assert response.status == 404


async def test_answers_are_json_for_a_caller_that_accepts_it() -> None:
    send = get(QUEUE_PATH, "application/json", Action="SendMessage", MessageBody='"&quot;\r')
    receive = get(QUEUE_PATH, "application/json", Action="ReceiveMessage")
    listing = get("/", "application/json", Action="ListQueues")
    attributes = get(
        QUEUE_PATH, "application/json", Action="GetQueueAttributes",
        **{"AttributeName.1": "QueueArn"},
    )  # fmt: skip
    responses = await answered(send, receive, listing, attributes)
    assert {response.content_type for response in responses} == {"application/json"}
    sent, received, listed, told = (json.loads(response.body) for response in responses)
    assert sent["SendMessageResponse"]["SendMessageResult"]["MessageId"]
    assert sent["SendMessageResponse"]["ResponseMetadata"]["RequestId"]
    [message] = received["ReceiveMessageResponse"]["ReceiveMessageResult"]["messages"]
    assert message["Body"] == '"&quot;\r'
    found = listed["ListQueuesResponse"]["ListQueuesResult"]["queueUrls"]
    assert found == [url("orders"), url("others")]
    assert told["GetQueueAttributesResponse"]["GetQueueAttributesResult"]["Attributes"] == [
        {"Name": "QueueArn", "Value": "arn:aws:sqs:us-east-1:123456789012:orders"}
    ]


async def test_errors_are_json_for_a_caller_that_accepts_it() -> None:
    [response] = await answered(get(QUEUE_PATH, "application/json", Action="ListQueues"))
    assert response.status == 400
    told = json.loads(response.body)
    assert told["Error"]["Code"] == "InvalidAction"
    assert told["Error"]["Message"] == "The action ListQueues is not valid for this endpoint."


@pytest.mark.parametrize("body", ["{\r\n}", "a & b < c > d", " spaced ", "\t\n\r", "é\U0001f54a"])
async def test_bodies_survive_the_way_through_xml(body: str) -> None:
    world = World()
    queue = await world.queue()
    await world.call(QUERY, "SendMessage", {"QueueUrl": queue, "MessageBody": body})
    got = await world.call(QUERY, "ReceiveMessage", {"QueueUrl": queue})
    assert got.body["Messages"][0]["Body"] == body


async def test_error_that_quotes_strange_characters_is_well_formed() -> None:
    [response] = await answered(get("/", Action="CreateQueue", QueueName="a<&\x08\ud7ff>"))
    error = ElementTree.fromstring(response.body)
    assert "a<&\ufffd\ud7ff>" in "".join(error.itertext())


@pytest.mark.parametrize(
    "query",
    [
        "Action=SendMessage&MessageBody=%ff",
        "Action=SendMessage&MessageBody=m&DelaySeconds=soon",
        "&".join(f"a{number}=1" for number in range(5_000)),
    ],
)
async def test_parameters_that_cannot_be_read_are_refused(query: str) -> None:
    request = HttpRequest("GET", QUEUE_PATH, query, {"host": HOST}, b"", "peer")
    [response] = await answered(request)
    assert response.status == 400
    assert b"<Code>SerializationException</Code>" in response.body


@pytest.mark.parametrize(
    "params",
    [
        {"Attribute": "x"},
        {"Attribute.1": "x"},
        {"Attribute.one.Name": "x"},
        {"Attribute.1.Name.2": "x", "Attribute.1": "y"},
        {"Attribute." * 9 + "1": "x"},
    ],
)
async def test_parameters_of_no_known_form_are_as_if_absent(params: dict[str, str]) -> None:
    [response] = await answered(get(QUEUE_PATH, Action="SetQueueAttributes", **params))
    assert response.status == 400
    assert b"<ErrorResponse" in response.body


async def test_lists_are_in_the_order_of_their_numbers() -> None:
    world = World()
    queue = await world.queue()
    name = "SendMessageBatchRequestEntry"
    params = {f"{name}.{n}.Id": f"e{n}" for n in (10, 9, 2)}
    params |= {f"{name}.{n}.MessageBody": str(n) for n in (2, 9, 10)}
    request = get("/", Action="SendMessageBatch", QueueUrl=queue, **params)
    body = (await world.endpoint.handle(request)).body.decode()
    assert body.index("<Id>e2</Id>") < body.index("<Id>e9</Id>") < body.index("<Id>e10</Id>")


async def test_old_list_of_system_attributes_hides_the_new_one() -> None:
    world = World()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="work")
    request = {
        "QueueUrl": queue,
        "MessageSystemAttributeNames": ["All"],
        "AttributeNames": ["SenderId"],
    }
    got = await world.call(QUERY, "ReceiveMessage", request)
    assert got.body["Messages"][0]["Attributes"] == {"SenderId": "123456789012"}


async def test_item_numbered_beyond_reason_is_none() -> None:
    names = {"AttributeName.1": "QueueArn", f"AttributeName.{'9' * 5_000}": "All"}
    [response] = await answered(get(QUEUE_PATH, Action="GetQueueAttributes", **names))
    assert response.status == 200
    assert response.body.count(b"<Attribute>") == 1


@pytest.mark.parametrize(
    "text",
    ["a+b", "a%2Bb", "a%20b", "100%", "%zz%41", "a=b==c", "=3D", "%3D%0A=%0D", "%c3%BC", "ü+%C3%BC",
     "_", "tab\t", "=\n", "%25%32%35", "%"],
)  # fmt: skip
def test_parameters_are_unquoted_as_the_standard_library_does(text: str) -> None:
    form = f"Name=x&Value={text}&{text}=1&&Empty=&Bare"
    assert parameters(form) == dict(parse_qsl(form, keep_blank_values=True))


def test_parameters_that_are_no_utf8_are_refused() -> None:
    for text in ("%ff", "%ff%", "a%C3"):
        with pytest.raises(SerializationError):
            parameters(f"Name={text}")
