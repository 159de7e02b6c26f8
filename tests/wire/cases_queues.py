"""Refused operations on queues, with their errors."""

import json
from typing import Any

from dovemq.core.coordination import LITERAL_NEEDS_INDEX, NEEDS_OWNER, NOT_THIS_STORE
from tests.wire.case import (
    NO_QUEUE,
    WSDL,
    Case,
    Refused,
    bad_attribute,
    batch,
    denied,
    invalid,
    invalid_text,
    missing,
    over_limit,
    resource,
    unknown_attribute,
)

NAME_REASON = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
POLICY = {"deadLetterTargetArn": "$dead_arn", "maxReceiveCount": "3"}
NO_SOURCE = resource("The resource that you specified for the SourceArn parameter doesn't exist.")
OTHER_REGION = "arn:aws:sqs:mars-north-1:123456789012:dead"
OTHERS = "arn:aws:sqs:us-east-1:999999999999:dead"
PERMISSION = {
    "QueueUrl": "$queue",
    "Label": "one",
    "AWSAccountIds": ["210987654321"],
    "Actions": ["SendMessage"],
}


def create(title: str, expected: Refused, source: str, name: str = "new", **more: Any) -> Case:
    return Case(title, "CreateQueue", {"QueueName": name, **more}, expected, source)


def create_with(title: str, expected: Refused, source: str, **attributes: str) -> Case:
    return create(title, expected, source, Attributes=attributes)


def change(
    title: str, expected: Refused, source: str, url: str = "$queue", **attributes: str
) -> Case:
    request = {"QueueUrl": url, "Attributes": attributes}
    return Case(title, "SetQueueAttributes", request, expected, source)


def redrive(title: str, reason: str, source: str, **policy: object) -> Case:
    text = json.dumps(policy)
    return change(title, invalid("RedrivePolicy", text, reason), source, RedrivePolicy=text)


def permit(title: str, expected: Refused, source: str, **params: Any) -> Case:
    return Case(title, "AddPermission", {**PERMISSION, **params}, expected, source)


CREATING = (
    Case("a queue has a name", "CreateQueue", {}, missing("QueueName"), "?"),
    create("a name has no spaces", invalid("QueueName", "a b", NAME_REASON), "?", "a b"),
    create("a name has no slashes", invalid("QueueName", "a/b", NAME_REASON), "?", "a/b"),
    create("a name is at most 80 long", invalid("QueueName", "a" * 81, NAME_REASON), "?", "a" * 81),
    create("only FIFO queues end in .fifo", invalid("QueueName", "a.fifo", NAME_REASON), "?",
           "a.fifo"),
    create_with("a FIFO queue ends in .fifo",
                invalid("QueueName", "new", "The name of a FIFO queue can only end with .fifo."),
                "?", FifoQueue="true"),
    create_with("a standard queue is not asked whether it is FIFO",
                unknown_attribute("FifoQueue"), "R", FifoQueue="false"),
    create_with("a standard queue does not deduplicate",
                unknown_attribute("ContentBasedDeduplication"), "R",
                ContentBasedDeduplication="false"),
    create_with("a scope of deduplication is for FIFO",
                Refused("InvalidAttributeName", "InvalidAttributeName", "You can specify the "
                        "DeduplicationScope only when FifoQueue is set to true."),
                "R", DeduplicationScope="queue"),
    create_with("a limit of throughput is for FIFO",
                Refused("InvalidAttributeName", "InvalidAttributeName", "You can specify the "
                        "FifoThroughputLimit only when FifoQueue is set to true."),
                "R", FifoThroughputLimit="perQueue"),
    create_with("an attribute is a known one", unknown_attribute("Colour"), "?", Colour="red"),
    create_with("a store in memory owns its queues", bad_attribute("Coordination",
                NOT_THIS_STORE.format(known="lease")), "?", Coordination="none"),
    create_with("groups of a queue without an owner have no limits", bad_attribute(
                "GroupConcurrency",
                NEEDS_OWNER.format(coordination="serial", what="limits of groups")), "?",
                Coordination="serial", GroupConcurrency="2"),
    create_with("an owned queue draws visible messages", bad_attribute("ReceiveDraw",
                LITERAL_NEEDS_INDEX), "?", ReceiveDraw="literal"),
    create_with("what is counted cannot be set", unknown_attribute("QueueArn"), "?", QueueArn="x"),
    create_with("a timeout is in its range", bad_attribute("VisibilityTimeout"), "?",
                VisibilityTimeout="43201"),
    create_with("a delay is a number", bad_attribute("DelaySeconds"), "?", DelaySeconds="soon"),
    create_with("a retention is in its range", bad_attribute("MessageRetentionPeriod"), "?",
                MessageRetentionPeriod="59"),
    create_with("a size is in its range", bad_attribute("MaximumMessageSize"), "?",
                MaximumMessageSize="1023"),
    create_with("a wait is in its range", bad_attribute("ReceiveMessageWaitTimeSeconds"), "?",
                ReceiveMessageWaitTimeSeconds="21"),
    create_with("an order hint is in its range", bad_attribute("OrderHint"), "?", OrderHint="1001"),
    create_with("an adaptive order hint is spelt so", bad_attribute("OrderHint"), "?",
                OrderHint="Adaptive"),
    create_with("no order is asked for by name", bad_attribute("OrderHint"), "?", OrderHint="0"),
    create("tags have keys", invalid("TagKey", "", "Tag keys are 1 to 128 characters long."), "?",
           tags={"": "v"}),
    create("tags are not AWS's", invalid("TagKey", "aws:a", "The prefix aws: is reserved."), "?",
           tags={"aws:a": "v"}),
    Case("a queue is not made twice with other attributes", "CreateQueue",
         {"QueueName": "orders", "Attributes": {"DelaySeconds": "2"}},
         Refused("QueueAlreadyExists", "QueueNameExists", "A queue already exists with the same "
                 "name and a different value for attribute DelaySeconds"), "R"),
    Case("a name rests for a minute", "CreateQueue", {"QueueName": "orders"},
         batch("QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before "
               "you can create another with the same name."), "R",
         before=(("DeleteQueue", {"QueueUrl": "$queue"}),), strict_aws=True),
)  # fmt: skip

CHANGING = (
    Case("a change changes something", "SetQueueAttributes", {"QueueUrl": "$queue"},
         missing("Attributes"), "?"),
    change("a standard queue does not become FIFO", unknown_attribute("FifoQueue"), "R",
           FifoQueue="true"),
    change("a FIFO queue stays one",
           bad_attribute("FifoQueue", "Modifying queue type is not supported."), "R",
           "$fifo", FifoQueue="false"),
    change("encryption is of one type",
           Refused("InvalidAttributeName", "InvalidAttributeName", "You can use one type of "
                   "server-side encryption (SSE) at one time. You can either enable KMS SSE or "
                   "SQS SSE."), "R", KmsMasterKeyId="k", SqsManagedSseEnabled="true"),
    change("throughput per group needs deduplication per group",
           bad_attribute("FifoThroughputLimit", "FifoThroughputLimit may be perMessageGroupId "
                         "only when DeduplicationScope is messageGroup."), "?", "$fifo",
           FifoThroughputLimit="perMessageGroupId"),
    change("a redrive policy is JSON",
           invalid("RedrivePolicy", "x", "RedrivePolicy is not a valid JSON map."), "?",
           RedrivePolicy="x"),
    redrive("a redrive policy has a target", "Redrive policy does not contain mandatory "
            "attribute: deadLetterTargetArn.", "?", maxReceiveCount=3),
    redrive("a redrive policy has a count", "Redrive policy does not contain mandatory "
            "attribute: maxReceiveCount.", "?", deadLetterTargetArn="$dead_arn"),
    redrive("a redrive target is an ARN", "Invalid value for deadLetterTargetArn.", "R",
            deadLetterTargetArn="dummy", maxReceiveCount=42),
    redrive("a redrive target is of this region", "Invalid value for deadLetterTargetArn.", "?",
            deadLetterTargetArn=OTHER_REGION, maxReceiveCount=42),
    redrive("a redrive target is of the same account",
            "Dead letter target owner should be same as the source.", "?",
            deadLetterTargetArn=OTHERS, maxReceiveCount=3),
    redrive("a redrive count is a number", "Invalid value for maxReceiveCount: many, valid values "
            "are from 1 to 1000 both inclusive.", "?", deadLetterTargetArn="$dead_arn",
            maxReceiveCount="many"),
    redrive("a redrive target exists", "Dead letter target does not exist.", "?",
            deadLetterTargetArn="${dead_arn}er", maxReceiveCount=3),
    redrive("a redrive target is of the same type",
            "Dead-letter queue must be same type as source.", "?",
            deadLetterTargetArn="$fifo_arn", maxReceiveCount=3),
    redrive("a redrive target allows it", "The dead-letter queue does not allow this queue as a "
            "source.", "?", deadLetterTargetArn="$closed_arn", maxReceiveCount=3),
    change("who may redrive here is one of three", invalid(
        "RedriveAllowPolicy", '{"redrivePermission":"some"}',
        "Invalid value for redrivePermission."), "?",
        RedriveAllowPolicy='{"redrivePermission":"some"}'),
    change("redrive by queue names queues", invalid(
        "RedriveAllowPolicy", '{"redrivePermission":"byQueue"}',
        "sourceQueueArns must hold 1 to 10 queues."), "?",
        RedriveAllowPolicy='{"redrivePermission":"byQueue"}'),
    Case("attributes are asked for by name", "GetQueueAttributes",
         {"QueueUrl": "$queue", "AttributeNames": ["Foobar"]}, unknown_attribute("Foobar"), "R"),
    Case("one purge in a minute", "PurgeQueue", {"QueueUrl": "$queue"},
         Refused("AWS.SimpleQueueService.PurgeQueueInProgress", "PurgeQueueInProgress",
                 "Only one PurgeQueue operation on orders is allowed every 60 seconds.", 403),
         "R", before=(("PurgeQueue", {"QueueUrl": "$queue"}),), strict_aws=True),
    Case("tags to set are needed", "TagQueue", {"QueueUrl": "$queue"}, missing("Tags"), "?"),
    Case("at most fifty tags", "TagQueue",
         {"QueueUrl": "$queue", "Tags": {f"t{n}": "" for n in range(51)}},
         invalid_text("Too many tags: 51. A queue can have 50."), "?"),
    Case("a tag's value is at most 256 long", "TagQueue",
         {"QueueUrl": "$queue", "Tags": {"t": "v" * 257}},
         invalid("TagValue", "v" * 257, "Tag values are up to 256 characters long."), "?"),
    Case("keys to untag are needed", "UntagQueue", {"QueueUrl": "$queue"}, missing("TagKeys"), "?"),
)  # fmt: skip

LISTING = (
    Case("the queue to find has a name", "GetQueueUrl", {}, missing("QueueName"), "?"),
    Case("a queue that is not there has no URL", "GetQueueUrl", {"QueueName": "none"},
         NO_QUEUE, "R"),
    Case("the queues of others are not shown", "GetQueueUrl",
         {"QueueName": "orders", "QueueOwnerAWSAccountId": "999999999999"}, NO_QUEUE, "?"),
    Case("a page has at most a thousand queues", "ListQueues", {"MaxResults": 1_001},
         invalid("MaxResults", 1_001, "Must be between 1 and 1000."), "?"),
    Case("a page has at least one queue", "ListQueues", {"MaxResults": 0},
         invalid("MaxResults", 0, "Must be between 1 and 1000."), "?"),
    Case("a token is one of ours", "ListQueues", {"NextToken": "!", "MaxResults": 1},
         invalid_text("Invalid or expired next token."), "?"),
    Case("a page of sources is bounded", "ListDeadLetterSourceQueues",
         {"QueueUrl": "$dead", "MaxResults": 1_001},
         invalid("MaxResults", 1_001, "Must be between 1 and 1000."), "?"),
    Case("a token of sources is one of ours", "ListDeadLetterSourceQueues",
         {"QueueUrl": "$dead", "NextToken": "!"},
         invalid_text("Invalid or expired next token."), "?"),
)  # fmt: skip

PERMITTING = (
    permit("a permission has a label", missing("Label"), "?", Label=None),
    permit("a label is of a form", invalid("Label", "a b", NAME_REASON + "."), "?", Label="a b"),
    permit("a permission is for someone", missing("AWSAccountIds"), "?", AWSAccountIds=None),
    permit("a permission is for something", missing("Actions"), "?", Actions=None),
    permit("an account has twelve digits",
           invalid("PrincipalId", "[me]", "Unable to verify."), "?", AWSAccountIds=["me"]),
    permit("an owner's action is not given away",
           invalid("ActionName", "SQS:DeleteQueue", "Only the queue owner is allowed to invoke "
                   "this action."), "?", Actions=["DeleteQueue"]),
    permit("at most seven actions",
           over_limit("8 Actions were found, maximum allowed is 7."), "?",
           Actions=["SendMessage"] * 8),
    permit("a batch is permitted by its single form",
           invalid("ActionName", "SQS:SendMessageBatch", WSDL), "R",
           Actions=["SendMessageBatch"]),
    Case("a label is used once", "AddPermission", PERMISSION,
         invalid("Label", "one", "Already exists."), "R",
         before=(("AddPermission", PERMISSION),)),
    Case("a label to remove is needed", "RemovePermission", {"QueueUrl": "$queue"},
         missing("Label"), "?"),
    Case("a label to remove is there", "RemovePermission",
         {"QueueUrl": "$queue", "Label": "two"}, invalid("Label", "two", "can't find label."), "R"),
)  # fmt: skip

MOVING = (
    Case("a move has a source", "StartMessageMoveTask", {}, missing("SourceArn"), "?"),
    Case("a move's source exists", "StartMessageMoveTask", {"SourceArn": "${dead_arn}er"},
         NO_SOURCE, "?"),
    Case("a move's source is an ARN", "StartMessageMoveTask", {"SourceArn": "dead"},
         invalid_text("You must use this format to specify the SourceArn: "
                      "arn:<partition>:<service>:<region>:<account-id>:<resource-id>"), "?"),
    Case("a move's source is a dead-letter queue", "StartMessageMoveTask",
         {"SourceArn": "$queue_arn"},
         invalid_text("Source queue must be configured as a Dead Letter Queue."), "R"),
    Case("a move's target exists", "StartMessageMoveTask",
         {"SourceArn": "$dead_arn", "DestinationArn": "${dead_arn}er"},
         resource("The resource that you specified for the DestinationArn parameter doesn't "
                  "exist."), "R"),
    Case("a move's rate is bounded", "StartMessageMoveTask",
         {"SourceArn": "$dead_arn", "MaxNumberOfMessagesPerSecond": 501},
         invalid("MaxNumberOfMessagesPerSecond", 501, "Must be between 1 and 500, if provided."),
         "?"),
    Case("the moves of a source are asked for", "ListMessageMoveTasks", {},
         missing("SourceArn"), "?"),
    Case("the source of listed moves exists", "ListMessageMoveTasks",
         {"SourceArn": "${dead_arn}er"}, NO_SOURCE, "?"),
    Case("at most ten moves are listed", "ListMessageMoveTasks",
         {"SourceArn": "$dead_arn", "MaxResults": 11},
         invalid("MaxResults", 11, "Must be between 1 and 10."), "?"),
    Case("a move to cancel is named", "CancelMessageMoveTask", {}, missing("TaskHandle"), "?"),
    Case("a move to cancel is named by its handle", "CancelMessageMoveTask",
         {"TaskHandle": "garbage"}, invalid_text("Value for parameter TaskHandle is invalid."),
         "R"),
    Case("a handle's source exists", "CancelMessageMoveTask",
         {"TaskHandle": "$handle_of_no_queue"}, NO_SOURCE, "R"),
    Case("a handle's source is one's own", "CancelMessageMoveTask",
         {"TaskHandle": "$handle_of_others"}, NO_SOURCE, "R"),
    Case("a handle's task exists", "CancelMessageMoveTask",
         {"TaskHandle": "$handle_of_no_task"}, resource("Task does not exist."), "R"),
    Case("a move's source is one's own", "StartMessageMoveTask", {"SourceArn": OTHERS},
         denied("999999999999", "dead"), "?"),
    Case("a move's target is one's own", "StartMessageMoveTask",
         {"SourceArn": "$dead_arn", "DestinationArn": OTHERS}, denied("999999999999", "dead"), "?"),
    Case("the source of listed moves is one's own", "ListMessageMoveTasks", {"SourceArn": OTHERS},
         denied("999999999999", "dead"), "?"),
)  # fmt: skip

QUEUE_CASES = (*CREATING, *CHANGING, *LISTING, *PERMITTING, *MOVING)
