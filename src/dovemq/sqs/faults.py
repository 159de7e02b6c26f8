"""The one table from our errors to SQS's: codes, status, names of parameters, texts.

The Query protocol and the header `x-amzn-query-error` of the JSON protocol carry the code; the
body of a JSON response carries the shape. `verified` means that AWS was seen to answer with this
code and text; the others follow the documentation.

Errors of the core name fields as the core does, and have texts of their own. Where SQS has a text
for the case, the table gives that one, word for word, because users search for it.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from dovemq.core import errors as core
from dovemq.core.errors import DoveError
from dovemq.core.queue import THROUGHPUT_NEEDS_SCOPE
from dovemq.sqs import errors as wire
from dovemq.sqs.attributes import wire_name_of

MODEL: Final = "com.amazonaws.sqs#"
FRAMEWORK: Final = "com.amazon.coral.service#"
DETAIL_LENGTH_MAX: Final = 512
_PREFIX: Final = "AWS.SimpleQueueService."

PARAMETERS: Final[Mapping[str, str]] = {
    "attempt_id": "ReceiveRequestAttemptId",
    "body": "MessageBody",
    "deduplication_id": "MessageDeduplicationId",
    "delay_seconds": "DelaySeconds",
    "group": "MessageGroupId",
    "lease_seconds": "VisibilityTimeout",
    "queue_name": "QueueName",
}
"""SQS's names of the fields that our errors carry; `attributes` has those of queue settings."""

_REASONS: Final[Mapping[str, str]] = {
    THROUGHPUT_NEEDS_SCOPE: "FifoThroughputLimit may be perMessageGroupId only when "
    "DeduplicationScope is messageGroup.",
}
"""SQS's words for reasons that the core words otherwise."""

_RECEIPT: Final = "Value {receipt} for parameter ReceiptHandle is invalid. Reason: "
_RESOURCES: Final[Mapping[str, str]] = {
    "source": "The resource that you specified for the SourceArn parameter doesn't exist.",
    "target": "The resource that you specified for the DestinationArn parameter doesn't exist.",
    "task": "Task does not exist.",
}


class Fault(Struct, frozen=True):
    code: str
    shape: str
    status: int = 400
    verified: bool = False
    namespace: str = MODEL
    text: str = "{error}"
    """SQS's text, where it is not the error's own; `_fields` has the names in braces."""
    query_text: str = ""
    """The text of the Query protocol, where it is not that of JSON."""
    detailed: bool = False
    """Whether the response carries the error's own text beside SQS's, as its detail."""

    @property
    def sender(self) -> bool:
        return self.status < 500


def _model(
    name: str, status: int = 400, *, code: str = "", verified: bool = False, **more: Any
) -> Fault:
    return Fault(code or name, name, status, verified, **more)


def _prefixed(name: str, status: int = 400, *, verified: bool = False, **more: Any) -> Fault:
    return Fault(_PREFIX + name, name, status, verified, **more)


def _framework(code: str, status: int = 400, *, shape: str = "", **more: Any) -> Fault:
    return Fault(code, shape or f"{code}Exception", status, namespace=FRAMEWORK, **more)


def _invalid(*, verified: bool, **more: Any) -> Fault:
    return _framework("InvalidParameterValue", verified=verified, **more)


_ACCOUNT: Final = _invalid(verified=False)
"""No operation of SQS is about accounts, but one can meet an account that was just removed."""

_MISMATCH: Final = _framework("SignatureDoesNotMatch", 403, shape="InvalidSignatureException")

FAULTS: Final[Mapping[type[DoveError], Fault]] = {
    core.InvalidValue: _invalid(
        verified=True, text="Value {value} for parameter {parameter} is invalid. Reason: {reason}"
    ),
    core.MissingValue: _framework(
        "MissingParameter",
        shape="MissingRequiredParameterException",
        verified=True,
        text="The request must contain the parameter {parameter}.",
    ),
    core.InvalidContents: _model("InvalidMessageContents"),
    core.InvalidMessageAttribute: _invalid(verified=True),
    core.DeduplicationMissing: _invalid(
        verified=True,
        text="The queue should either have ContentBasedDeduplication enabled or "
        "MessageDeduplicationId provided explicitly",
    ),
    core.MessageTooLong: _invalid(
        verified=True, text="One or more parameters are invalid. Reason: {error}"
    ),
    core.UnknownAttribute: _model("InvalidAttributeName", verified=True),
    core.InvalidAttribute: _model(
        "InvalidAttributeValue",
        verified=True,
        text="Invalid value for the parameter {attribute}.{because}",
    ),
    core.BatchEmpty: _prefixed("EmptyBatchRequest"),
    core.BatchTooMany: _prefixed("TooManyEntriesInBatchRequest", verified=True),
    core.BatchTooLong: _prefixed("BatchRequestTooLong", verified=True),
    core.BatchIdInvalid: _prefixed("InvalidBatchEntryId", verified=True),
    core.BatchIdsNotDistinct: _prefixed("BatchEntryIdsNotDistinct"),
    core.QueueMissing: Fault(
        _PREFIX + "NonExistentQueue",
        "QueueDoesNotExist",
        verified=True,
        text="The specified queue does not exist.",
        query_text="The specified queue does not exist for this wsdl version.",
        detailed=True,
    ),
    core.QueueExists: _model(
        "QueueNameExists",
        code="QueueAlreadyExists",
        verified=True,
        text="A queue already exists with the same name and a different value for attribute "
        "{attribute}",
    ),
    core.QueueDeletedRecently: _prefixed("QueueDeletedRecently", verified=True),
    core.PurgeInProgress: _prefixed(
        "PurgeQueueInProgress",
        403,
        verified=True,
        text="Only one PurgeQueue operation on {queue_name} is allowed every {wait_seconds} "
        "seconds.",
    ),
    core.ReceiptInvalid: _model(
        "ReceiptHandleIsInvalid",
        404,
        verified=True,
        text='The input receipt handle "{receipt}" is not a valid receipt handle.',
    ),
    core.ReceiptExpired: _invalid(verified=True, text=_RECEIPT + "The receipt handle has expired."),
    core.MessageGone: _invalid(
        verified=True,
        text=_RECEIPT + "Message does not exist or is not available for visibility timeout change.",
    ),
    core.MessageNotLeased: _prefixed("MessageNotInflight"),
    core.LimitReached: _model("OverLimit", 403),
    core.QuotaReached: _model("OverLimit", 403),
    core.AccountMissing: _ACCOUNT,
    core.AccountExists: _ACCOUNT,
    core.AccountNotEmpty: _ACCOUNT,
    core.AccountProtected: _ACCOUNT,
    core.CredentialMissing: _ACCOUNT,
    core.Unsupported: _prefixed("UnsupportedOperation"),
    core.MoveRefused: _invalid(verified=True),
    core.ResourceMissing: _model("ResourceNotFoundException", 404, verified=True, text="{missing}"),
    core.AccessDenied: _framework("AccessDenied", 403),
    core.SignatureMissing: _framework("MissingAuthenticationToken", 403),
    core.SignatureIncomplete: _framework("IncompleteSignature"),
    core.SignatureMismatch: _MISMATCH,
    core.SignatureExpired: _MISMATCH,
    core.AccessKeyUnknown: _framework(
        "InvalidClientTokenId", 403, shape="UnrecognizedClientException"
    ),
    core.AccessKeyExpired: _framework("ExpiredToken", 403),
    core.QueueDenied: _framework("AccessDenied", 403, verified=True),
    core.Throttled: _model("RequestThrottled", 403),
    core.RequestMalformed: _framework("MalformedInput"),
    core.UnavailableError: _framework(
        "ServiceUnavailable", 503, text="The service is unavailable. Try again later."
    ),
    core.StoreUnreachable: _framework(
        "ServiceUnavailable", 503, text="The service is unavailable: {missing}. Try again later."
    ),
    core.InvariantError: _framework(
        "InternalFailure",
        500,
        shape="InternalFailure",
        text="We encountered an internal error. Please try again.",
    ),
    wire.SerializationError: _framework("SerializationException", shape="SerializationException"),
    wire.RequestTooLong: _framework("RequestEntityTooLarge", 413),
    wire.OperationUnknown: _framework(
        "UnknownOperationException", 404, shape="UnknownOperationException", verified=True
    ),
    wire.ActionInvalid: _framework("InvalidAction", shape="InvalidAction", verified=True),
    wire.HostInvalid: _model("InvalidAddress"),
    wire.ParameterInvalid: _invalid(verified=True),
    wire.AttributesConflict: _model("InvalidAttributeName", verified=True),
}

_NO_KEY_SERVICE: Final = "there is no key service: key ids are kept, nothing is encrypted by them"

NEVER_GIVEN: Final[Mapping[str, str]] = {
    "InvalidIdFormat": "a malformed receipt is ReceiptHandleIsInvalid",
    "InvalidSecurity": "plain HTTP is allowed, and one signature version is known",
    "KmsAccessDenied": _NO_KEY_SERVICE,
    "KmsDisabled": _NO_KEY_SERVICE,
    "KmsInvalidKeyUsage": _NO_KEY_SERVICE,
    "KmsInvalidState": _NO_KEY_SERVICE,
    "KmsNotFound": _NO_KEY_SERVICE,
    "KmsOptInRequired": _NO_KEY_SERVICE,
    "KmsThrottled": _NO_KEY_SERVICE,
}
"""Errors of SQS's model that this service never returns, and why."""


def fault_of(error: Exception) -> Fault:
    """The entry of the nearest class up the tree; exceptions of others are internal failures."""
    for kind in type(error).__mro__:
        found = FAULTS.get(kind)
        if found is not None:
            return found
    return FAULTS[core.InvariantError]


def pause_ms_of(error: Exception) -> int:
    """The time for which the server reads nothing from the client's connection."""
    return error.wait_ms if isinstance(error, core.Throttled) else 0


def text_of(error: Exception, *, query: bool) -> str:
    fault = fault_of(error)
    text = fault.query_text if query and fault.query_text else fault.text
    return text.format_map(_fields(error))


def _fields(error: Exception) -> Mapping[str, object]:
    """The error and its fields, with SQS's names of the core's fields."""
    fields: dict[str, Any] = {**vars(error), "error": error}
    if field := fields.get("field"):
        parameter, reason = PARAMETERS.get(field, field), fields.get("reason", "")
        reason = _REASONS.get(reason, reason).replace(core.FIELD, parameter)
        because = f" Reason: {reason}" if reason else ""
        fields |= {"parameter": parameter, "reason": reason, "because": because}
        fields["attribute"] = wire_name_of(field)
    if resource := fields.get("resource"):
        fields["missing"] = _RESOURCES.get(resource)
    return fields


def detail_of(error: Exception) -> str | None:
    return str(error)[:DETAIL_LENGTH_MAX] if fault_of(error).detailed else None
