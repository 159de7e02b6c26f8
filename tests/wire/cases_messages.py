"""Refused sends, receives, deletes and changes of visibility, with their errors."""

from typing import Any

from tests.wire.case import (
    BATCH_EMPTY,
    BATCH_ID_INVALID,
    TOKEN_REASON,
    Case,
    Refused,
    batch,
    invalid,
    invalid_text,
    missing,
    unknown_attribute,
)
from tests.wire.speaking import JSON

NOT_FOR_TYPE = "The request include parameter that is not valid for this queue type."
CONTENT_BASED = (
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
    "provided explicitly"
)
NO_RECEIPT = Refused(
    "ReceiptHandleIsInvalid",
    "ReceiptHandleIsInvalid",
    'The input receipt handle "garbage" is not a valid receipt handle.',
    404,
)
CHARACTERS = Refused(
    "InvalidMessageContents",
    "InvalidMessageContents",
    "Invalid characters found. Valid unicode characters are "
    "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
)
TOO_MANY = batch(
    "TooManyEntriesInBatchRequest",
    "Maximum number of entries per request are 10. You have sent 11.",
)


def send(title: str, expected: Refused, source: str, **params: Any) -> Case:
    request = {"QueueUrl": "$queue", "MessageBody": "work", **params}
    return Case(title, "SendMessage", request, expected, source)


def send_fifo(title: str, expected: Refused, source: str, **params: Any) -> Case:
    return send(title, expected, source, QueueUrl="$fifo", **params)


def with_attribute(title: str, expected: Refused, source: str, name: str, **value: Any) -> Case:
    return send(title, expected, source, MessageAttributes={name: value})


def receive(title: str, expected: Refused, source: str, **params: Any) -> Case:
    return Case(title, "ReceiveMessage", {"QueueUrl": "$queue", **params}, expected, source)


def entries(operation: str, title: str, expected: Refused, source: str, listed: list[Any]) -> Case:
    return Case(title, operation, {"QueueUrl": "$queue", "Entries": listed}, expected, source)


def fifo_batch(title: str, expected: Refused, **entry: str) -> Case:
    good = {"Id": "a", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    listed = [good, {"Id": "b", "MessageBody": "m", **entry}]
    request = {"QueueUrl": "$fifo", "Entries": listed}
    return Case(title, "SendMessageBatch", request, expected, "R")


SENDING = (
    send("a body is needed", missing("MessageBody"), "R", MessageBody=None),
    send("an empty body is none", missing("MessageBody"), "R", MessageBody=""),
    send("a body has no control characters", CHARACTERS, "?", MessageBody="a\x01b"),
    send(
        "a message is not longer than the queue allows",
        invalid_text(
            "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."
        ),
        "R",
        QueueUrl="$small",
        MessageBody="x" * 1_025,
    ),
    send(
        "a message is not longer than a mebibyte",
        invalid_text(
            "One or more parameters are invalid. "
            "Reason: Message must be shorter than 1048576 bytes."
        ),
        "R",
        MessageBody="x" * 1_048_577,
    ),
    send(
        "a delay is at most 15 minutes",
        invalid("DelaySeconds", 901, "DelaySeconds must be >= 0 and <= 900."),
        "?",
        DelaySeconds=901,
    ),
    send(
        "a delay is not negative",
        invalid("DelaySeconds", -1, "DelaySeconds must be >= 0 and <= 900."),
        "?",
        DelaySeconds=-1,
    ),
    send(
        "a standard queue takes no deduplication id",
        invalid("MessageDeduplicationId", "d", NOT_FOR_TYPE),
        "?",
        MessageDeduplicationId="d",
    ),
    send(
        "a group id is not empty",
        invalid("MessageGroupId", "", TOKEN_REASON.format("MessageGroupId")),
        "R",
        MessageGroupId="",
    ),
    send(
        "a group id has no spaces",
        invalid("MessageGroupId", "group 1", TOKEN_REASON.format("MessageGroupId")),
        "R",
        MessageGroupId="group 1",
    ),
    send_fifo("a FIFO queue needs a group", missing("MessageGroupId"), "R",
              MessageDeduplicationId="d"),
    send_fifo("a FIFO queue needs a deduplication id", invalid_text(CONTENT_BASED), "R",
              MessageGroupId="g"),
    send_fifo(
        "a FIFO queue has one delay for all",
        invalid("DelaySeconds", 2, NOT_FOR_TYPE),
        "R",
        MessageGroupId="g",
        MessageDeduplicationId="d",
        DelaySeconds=2,
    ),
    send_fifo(
        "a deduplication id is at most 128 long",
        invalid(
            "MessageDeduplicationId", "d" * 129, TOKEN_REASON.format("MessageDeduplicationId")
        ),
        "R",
        MessageGroupId="g",
        MessageDeduplicationId="d" * 129,
    ),
)  # fmt: skip

ATTRIBUTES = (
    with_attribute(
        "an attribute has a value",
        invalid_text("Message (user) attribute 'a' must contain a non-empty value of type "
                     "'String'."),
        "R", "a", DataType="String", StringValue="",
    ),
    with_attribute(
        "an attribute has a type",
        invalid_text("The message attribute 'a' must contain message attribute type."),
        "?", "a", StringValue="x",
    ),
    with_attribute(
        "an attribute's type is one of three",
        invalid_text("The type of message (user) attribute 'a' is invalid. You must use only the "
                     "following supported type prefixes: Binary, Number, String."),
        "?", "a", DataType="Text", StringValue="x",
    ),
    with_attribute(
        "a number is one",
        invalid_text("Can't cast the value of message (user) attribute 'a' to a number."),
        "?", "a", DataType="Number", StringValue="x",
    ),
    with_attribute(
        "a number is in its range",
        invalid_text("Number attribute value 1e127 should be in range (-10**128..10**126)"),
        "?", "a", DataType="Number", StringValue="1e127",
    ),
    with_attribute(
        "an attribute's name has no forbidden characters",
        invalid_text("Message (user) attributes name can only contain upper and lower score "
                     "characters, digits, periods, hyphens and underscores. "),
        "?", "a b", DataType="String", StringValue="x",
    ),
    with_attribute(
        "an attribute's name is not reserved",
        invalid_text("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. "
                     "These strings are reserved for internal use. Additionally, they cannot "
                     "start or end with '.'."),
        "?", "aws.a", DataType="String", StringValue="x",
    ),
    with_attribute(
        "lists are not supported",
        batch("UnsupportedOperation", "Message attribute list values in SendMessage operation "
              "are not supported."),
        "?", "a", DataType="String", StringListValues=["x"],
    ),
    send(
        "at most ten attributes",
        invalid_text("Number of message attributes [11] exceeds the allowed maximum [10]."), "?",
        MessageAttributes={f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)},
    ),
    send(
        "only the trace header can be set among the system's attributes",
        invalid_text("Message system attribute name 'SenderId' is invalid. "
                     "Only 'AWSTraceHeader' can be set."),
        "?",
        MessageSystemAttributes={"SenderId": {"DataType": "String", "StringValue": "x"}},
    ),
    send(
        "the trace header is a string",
        invalid_text("Message system attribute 'AWSTraceHeader' must contain a non-empty value of "
                     "type 'String'."),
        "?",
        MessageSystemAttributes={"AWSTraceHeader": {"DataType": "Number", "StringValue": "1"}},
    ),
)  # fmt: skip

RECEIVING = (
    receive(
        "at most ten messages at a time",
        invalid("MaxNumberOfMessages", 11, "Must be between 1 and 10, if provided."),
        "R",
        MaxNumberOfMessages=11,
    ),
    receive(
        "at least one message at a time",
        invalid("MaxNumberOfMessages", 0, "Must be between 1 and 10, if provided."),
        "?",
        MaxNumberOfMessages=0,
    ),
    receive(
        "a wait is at most 20 seconds",
        invalid("WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."),
        "R",
        WaitTimeSeconds=21,
    ),
    receive(
        "a wait is not negative",
        invalid("WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."),
        "R",
        WaitTimeSeconds=-1,
    ),
    receive(
        "a lease is at most 12 hours",
        invalid("VisibilityTimeout", 43_201, "Must be >= 0 and <= 43200, if provided."),
        "?",
        VisibilityTimeout=43_201,
    ),
    receive("system attributes are known ones", unknown_attribute("Colour"), "?",
            MessageSystemAttributeNames=["Colour"]),
    receive(
        "an attempt id has no spaces",
        invalid("ReceiveRequestAttemptId", "a b", TOKEN_REASON.format("ReceiveRequestAttemptId")),
        "?",
        ReceiveRequestAttemptId="a b",
    ),
)  # fmt: skip

SETTLING = (
    Case("a receipt is needed", "DeleteMessage", {"QueueUrl": "$queue"},
         missing("ReceiptHandle"), "?"),
    Case("garbage is no receipt", "DeleteMessage",
         {"QueueUrl": "$queue", "ReceiptHandle": "garbage"}, NO_RECEIPT, "R"),
    Case("a FIFO receipt ends with its lease", "DeleteMessage",
         {"QueueUrl": "$fifo", "ReceiptHandle": "$expired"},
         invalid("ReceiptHandle", "$expired", "The receipt handle has expired."), "R"),
    Case("a receipt is needed to extend", "ChangeMessageVisibility",
         {"QueueUrl": "$queue", "VisibilityTimeout": 1}, missing("ReceiptHandle"), "?"),
    Case("a timeout is needed", "ChangeMessageVisibility",
         {"QueueUrl": "$queue", "ReceiptHandle": "$live"}, missing("VisibilityTimeout"), "?"),
    Case("garbage extends nothing", "ChangeMessageVisibility",
         {"QueueUrl": "$queue", "ReceiptHandle": "garbage", "VisibilityTimeout": 1},
         NO_RECEIPT, "?"),
    Case("an extension is at most 12 hours", "ChangeMessageVisibility",
         {"QueueUrl": "$queue", "ReceiptHandle": "$live", "VisibilityTimeout": 43_201},
         invalid("VisibilityTimeout", 43_201, "Must be >= 0 and <= 43200, if provided."), "?"),
    Case("a deleted message has no lease", "ChangeMessageVisibility",
         {"QueueUrl": "$queue", "ReceiptHandle": "$gone", "VisibilityTimeout": 1},
         invalid("ReceiptHandle", "$gone", "Message does not exist or is not available for "
                 "visibility timeout change."), "R"),
)  # fmt: skip

BATCH_ENTRY: dict[str, dict[str, Any]] = {
    "SendMessageBatch": {"MessageBody": "m"},
    "DeleteMessageBatch": {"ReceiptHandle": "garbage"},
    "ChangeMessageVisibilityBatch": {"ReceiptHandle": "garbage", "VisibilityTimeout": 1},
}
SEEN_MALFORMED_ID = {"SendMessageBatch": "R", "DeleteMessageBatch": "R"}
SEEN_WRONG_LENGTH_ID = {"DeleteMessageBatch": "R"}
BATCHES = (
    *(
        case
        for name, entry in BATCH_ENTRY.items()
        for case in (
            entries(name, f"{name} has entries", BATCH_EMPTY, "?", []),
            entries(name, f"{name} takes ten entries", TOO_MANY, "R",
                    [{"Id": str(n), **entry} for n in range(11)]),
            entries(name, f"{name} has ids of a form", BATCH_ID_INVALID,
                    SEEN_MALFORMED_ID.get(name, "?"), [{"Id": "a:b", **entry}]),
            entries(name, f"{name} has no empty ids", BATCH_ID_INVALID,
                    SEEN_WRONG_LENGTH_ID.get(name, "?"), [{"Id": "", **entry}]),
            entries(name, f"{name} has no long ids", BATCH_ID_INVALID,
                    SEEN_WRONG_LENGTH_ID.get(name, "?"), [{"Id": "a" * 81, **entry}]),
            entries(name, f"{name} has distinct ids",
                    batch("BatchEntryIdsNotDistinct", "Id a repeated."), "?",
                    [{"Id": "a", **entry}, {"Id": "a", **entry}]),
        )
    ),
    entries(
        "SendMessageBatch", "a batch is at most a mebibyte",
        batch("BatchRequestTooLong",
              "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."),
        "R", [{"Id": "a", "MessageBody": "x" * 1_048_576}, {"Id": "b", "MessageBody": "x"}],
    ),
    fifo_batch("one entry without a group refuses a FIFO batch",
               invalid_text("The request must contain the parameter MessageGroupId."),
               MessageDeduplicationId="e"),
    fifo_batch("one entry without a deduplication id refuses a FIFO batch",
               invalid_text(CONTENT_BASED), MessageGroupId="g"),
    Case("a number is a number", "SendMessage",
         {"QueueUrl": "$queue", "MessageBody": "m", "DelaySeconds": "soon"},
         Refused("SerializationException", "SerializationException",
                 "Expected `int | null`, got `str` - at `$$.DelaySeconds`"), "?",
         protocols=(JSON,)),
)  # fmt: skip

MESSAGE_CASES = (*SENDING, *ATTRIBUTES, *RECEIVING, *SETTLING, *BATCHES)
