"""The one table from errors to what SQS calls them.

A code is what the Query protocol says, and the header `x-amzn-query-error` of the JSON protocol;
a shape is what JSON says. `verified` tells that AWS was seen to give this code with our text; the
rest is believed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from dovemq.core import errors as core
from dovemq.core.errors import DoveError, InvalidAttribute, QueueExists
from dovemq.sqs import errors as wire
from dovemq.sqs.attributes import wire_name_of

MODEL: Final = "com.amazonaws.sqs#"
FRAMEWORK: Final = "com.amazon.coral.service#"
_PREFIX: Final = "AWS.SimpleQueueService."


class Fault(Struct, frozen=True):
    code: str
    shape: str
    status: int = 400
    verified: bool = False
    namespace: str = MODEL
    text: Callable[[Any], str] = str
    """How JSON words it; where SQS does not say what the error itself says."""
    query_text: Callable[[Any], str] | None = None
    """Where the Query protocol words it otherwise than JSON."""

    @property
    def sender(self) -> bool:
        return self.status < 500


def _model(
    name: str, status: int = 400, *, code: str = "", verified: bool = False, **more: Any
) -> Fault:
    return Fault(code or name, name, status, verified, **more)


def _prefixed(name: str, status: int = 400, *, verified: bool = False) -> Fault:
    return Fault(_PREFIX + name, name, status, verified)


def _framework(code: str, shape: str, status: int, **more: Any) -> Fault:
    return Fault(code, shape, status, namespace=FRAMEWORK, **more)


def _invalid(*, verified: bool, **more: Any) -> Fault:
    return _framework(
        "InvalidParameterValue", "InvalidParameterValueException", 400, verified=verified, **more
    )


def _too_long(error: DoveError) -> str:
    return f"One or more parameters are invalid. Reason: {error}"


def _attribute(error: InvalidAttribute) -> str:
    reason = f" Reason: {error.reason}" if error.reason else ""
    return f"Invalid value for the parameter {wire_name_of(error.name)}.{reason}"


def _queue_exists(error: QueueExists) -> str:
    return (
        "A queue already exists with the same name and a different value for attribute "
        f"{wire_name_of(error.attribute)}"
    )


def _queue_missing(error: DoveError) -> str:
    return str(error).removesuffix(".") + " for this wsdl version."


def _hidden(_: DoveError) -> str:
    return "We encountered an internal error. Please try again."


def _unavailable(_: DoveError) -> str:
    return "The service is unavailable. Try again later."


_ACCOUNT: Final = _invalid(verified=False)
"""No operation of SQS is about accounts; one that meets a removed account is told so."""

_MISMATCH: Final = _framework("SignatureDoesNotMatch", "InvalidSignatureException", 403)

FAULTS: Final[Mapping[type[DoveError], Fault]] = {
    core.InvalidValue: _invalid(verified=True),
    core.MissingValue: _framework(
        "MissingParameter", "MissingRequiredParameterException", 400, verified=True
    ),
    core.InvalidContents: _model("InvalidMessageContents"),
    core.InvalidMessageAttribute: _invalid(verified=True),
    core.DeduplicationMissing: _invalid(verified=True),
    core.MessageTooLong: _invalid(verified=True, text=_too_long),
    core.UnknownAttribute: _model("InvalidAttributeName", verified=True),
    core.InvalidAttribute: _model("InvalidAttributeValue", verified=True, text=_attribute),
    core.BatchEmpty: _prefixed("EmptyBatchRequest"),
    core.BatchTooMany: _prefixed("TooManyEntriesInBatchRequest", verified=True),
    core.BatchTooLong: _prefixed("BatchRequestTooLong", verified=True),
    core.BatchIdInvalid: _prefixed("InvalidBatchEntryId", verified=True),
    core.BatchIdsNotDistinct: _prefixed("BatchEntryIdsNotDistinct"),
    core.QueueMissing: Fault(
        _PREFIX + "NonExistentQueue",
        "QueueDoesNotExist",
        verified=True,
        query_text=_queue_missing,
    ),
    core.QueueExists: _model(
        "QueueNameExists", code="QueueAlreadyExists", verified=True, text=_queue_exists
    ),
    core.QueueDeletedRecently: _prefixed("QueueDeletedRecently", verified=True),
    core.PurgeInProgress: _prefixed("PurgeQueueInProgress", 403, verified=True),
    core.ReceiptInvalid: _model("ReceiptHandleIsInvalid", 404, verified=True),
    core.ReceiptExpired: _invalid(verified=True),
    core.MessageGone: _invalid(verified=True),
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
    core.ResourceMissing: _model("ResourceNotFoundException", 404, verified=True),
    core.AccessDenied: _framework("AccessDenied", "AccessDeniedException", 403),
    core.SignatureMissing: _framework(
        "MissingAuthenticationToken", "MissingAuthenticationTokenException", 403
    ),
    core.SignatureIncomplete: _framework(
        "IncompleteSignature", "IncompleteSignatureException", 400
    ),
    core.SignatureMismatch: _MISMATCH,
    core.SignatureExpired: _MISMATCH,
    core.AccessKeyUnknown: _framework("InvalidClientTokenId", "UnrecognizedClientException", 403),
    core.AccessKeyExpired: _framework("ExpiredToken", "ExpiredTokenException", 403),
    core.QueueDenied: _framework("AccessDenied", "AccessDeniedException", 403, verified=True),
    core.Throttled: _model("RequestThrottled", 403),
    core.RequestMalformed: _framework("MalformedInput", "MalformedInputException", 400),
    core.UnavailableError: _framework(
        "ServiceUnavailable", "ServiceUnavailableException", 503, text=_unavailable
    ),
    core.InvariantError: _framework("InternalFailure", "InternalFailure", 500, text=_hidden),
    wire.SerializationError: _framework("SerializationException", "SerializationException", 400),
    wire.OperationUnknown: _framework(
        "UnknownOperationException", "UnknownOperationException", 404, verified=True
    ),
    wire.ActionInvalid: _framework("InvalidAction", "InvalidAction", 400, verified=True),
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
"""Modelled errors of SQS that this service has no occasion for."""


def fault_of(error: Exception) -> Fault:
    """The nearest entry up the tree; what is not ours is an internal failure."""
    for kind in type(error).__mro__:
        found = FAULTS.get(kind)
        if found is not None:
            return found
    return FAULTS[core.InvariantError]


def pause_ms_of(error: Exception) -> int:
    """How long the connection of whoever met it is not read from."""
    return error.wait_ms if isinstance(error, core.Throttled) else 0


def text_of(error: Exception, *, query: bool) -> str:
    fault = fault_of(error)
    return (fault.query_text if query and fault.query_text else fault.text)(error)
