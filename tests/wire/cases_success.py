"""One valid request of every operation, with its whole response. `<any>` matches anything."""

from typing import Any

from tests.wire.case import Call, Case
from tests.wire.cases_queues import PERMISSION

ANY = "<any>"
URL = "http://localhost:9324/123456789012/"
MD5_OF_WORK = "67e92c8765a9bc7fb2d335c459de9eb5"
TAGGED: Call = ("TagQueue", {"QueueUrl": "$queue", "Tags": {"a": "1", "b": ""}})
START: Call = (
    "StartMessageMoveTask",
    {"SourceArn": "$dead_arn", "MaxNumberOfMessagesPerSecond": 1},
)


def succeeds(
    title: str, operation: str, request: dict[str, Any], answer: dict[str, Any], *before: Call
) -> Case:
    return Case(title, operation, request, answer, "M", before)


SUCCESS_CASES = (
    succeeds("a permission is added", "AddPermission", PERMISSION, {}),
    succeeds("a permission is removed", "RemovePermission",
             {"QueueUrl": "$queue", "Label": "one"}, {}, ("AddPermission", PERMISSION)),
    succeeds("a queue is made", "CreateQueue", {"QueueName": "new"}, {"QueueUrl": URL + "new"}),
    succeeds("a queue is made twice alike", "CreateQueue",
             {"QueueName": "small", "Attributes": {"MaximumMessageSize": "1024"}},
             {"QueueUrl": URL + "small"}),
    succeeds("a queue is deleted", "DeleteQueue", {"QueueUrl": "$queue"}, {}),
    succeeds("a queue is found", "GetQueueUrl",
             {"QueueName": "orders", "QueueOwnerAWSAccountId": "123456789012"},
             {"QueueUrl": URL + "orders"}),
    succeeds("queues are listed", "ListQueues", {"QueueNamePrefix": "orders"},
             {"QueueUrls": [URL + "orders", URL + "orders.fifo"]}),
    succeeds("queues are listed in pages", "ListQueues", {"MaxResults": 2},
             {"QueueUrls": [URL + "closed", URL + "dead"], "NextToken": ANY}),
    succeeds("no queues are no list", "ListQueues", {"QueueNamePrefix": "none"}, {}),
    succeeds("attributes are told", "GetQueueAttributes",
             {"QueueUrl": "$queue", "AttributeNames": ["QueueArn", "DelaySeconds"]},
             {"Attributes": {"QueueArn": "$queue_arn", "DelaySeconds": "0"}}),
    succeeds("no attributes asked are none told", "GetQueueAttributes", {"QueueUrl": "$queue"}, {}),
    succeeds("attributes are set", "SetQueueAttributes",
             {"QueueUrl": "$queue", "Attributes": {"DelaySeconds": "7"}}, {}),
    succeeds("a queue is purged", "PurgeQueue", {"QueueUrl": "$queue"}, {}),
    succeeds("tags are set", "TagQueue", {"QueueUrl": "$queue", "Tags": {"a": "1"}}, {}),
    succeeds("tags are taken away", "UntagQueue",
             {"QueueUrl": "$queue", "TagKeys": ["a", "c"]}, {}, TAGGED),
    succeeds("tags are listed", "ListQueueTags", {"QueueUrl": "$queue"},
             {"Tags": {"a": "1", "b": ""}}, TAGGED),
    succeeds("no tags are no map", "ListQueueTags", {"QueueUrl": "$queue"}, {}),
    succeeds("a message is sent", "SendMessage", {"QueueUrl": "$queue", "MessageBody": "work"},
             {"MessageId": ANY, "MD5OfMessageBody": MD5_OF_WORK}),
    succeeds("a message is sent in order", "SendMessage",
             {"QueueUrl": "$fifo", "MessageBody": "work", "MessageGroupId": "h",
              "MessageDeduplicationId": "e"},
             {"MessageId": ANY, "MD5OfMessageBody": MD5_OF_WORK, "SequenceNumber": ANY}),
    succeeds("a batch is sent", "SendMessageBatch",
             {"QueueUrl": "$queue", "Entries": [{"Id": "a", "MessageBody": "work"}]},
             {"Successful": [{"Id": "a", "MessageId": ANY, "MD5OfMessageBody": MD5_OF_WORK}]}),
    succeeds("a message is received", "ReceiveMessage", {"QueueUrl": "$dead"},
             {"Messages": [{"MessageId": ANY, "ReceiptHandle": ANY, "MD5OfBody": MD5_OF_WORK,
                            "Body": "work"}]},
             ("SendMessage", {"QueueUrl": "$dead", "MessageBody": "work"})),
    succeeds("no messages are no list", "ReceiveMessage", {"QueueUrl": "$dead"}, {}),
    succeeds("a message is deleted", "DeleteMessage",
             {"QueueUrl": "$queue", "ReceiptHandle": "$live"}, {}),
    succeeds("a message is deleted twice", "DeleteMessage",
             {"QueueUrl": "$queue", "ReceiptHandle": "$gone"}, {}),
    succeeds("a batch is deleted", "DeleteMessageBatch",
             {"QueueUrl": "$queue", "Entries": [{"Id": "a", "ReceiptHandle": "$live"}]},
             {"Successful": [{"Id": "a"}]}),
    succeeds("a lease is extended", "ChangeMessageVisibility",
             {"QueueUrl": "$queue", "ReceiptHandle": "$live", "VisibilityTimeout": 60}, {}),
    succeeds("a batch of leases is extended", "ChangeMessageVisibilityBatch",
             {"QueueUrl": "$queue", "Entries": [
                 {"Id": "a", "ReceiptHandle": "$live", "VisibilityTimeout": 60}]},
             {"Successful": [{"Id": "a"}]}),
    succeeds("the sources of dead letters are listed", "ListDeadLetterSourceQueues",
             {"QueueUrl": "$dead"}, {"queueUrls": [URL + "feeder"]}),
    succeeds("a move is started", *START, {"TaskHandle": ANY}),
    succeeds("a finished move has no handle", "ListMessageMoveTasks", {"SourceArn": "$dead_arn"},
             {"Results": [{"Status": "COMPLETED", "SourceArn": "$dead_arn",
                           "StartedTimestamp": 1_700_000_031_000,
                           "ApproximateNumberOfMessagesMoved": 0,
                           "ApproximateNumberOfMessagesToMove": 0,
                           "MaxNumberOfMessagesPerSecond": 1}]},
             START),
)  # fmt: skip
