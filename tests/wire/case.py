"""Rows of the tables of cases, and shorthands for writing them.

`source` is the origin of the expected response: R a response of AWS, M the service model, D the
documentation of AWS, ? an assumption. The conformance page is generated from these rows.
"""

from typing import Any

from msgspec import Struct

from tests.wire.speaking import PROTOCOLS

Call = tuple[str, dict[str, Any]]


class Refused(Struct, frozen=True):
    """An error: its Query code, its JSON type, its text in JSON and, if other, in Query."""

    code: str
    shape: str
    text: str
    status: int = 400
    query_text: str = ""


class Case(Struct, frozen=True):
    """`$name` in a request stands for a part of the furnished scene (`tests/wire/world.py`)."""

    title: str
    operation: str
    request: dict[str, Any]
    expected: Refused | dict[str, Any]
    source: str
    before: tuple[Call, ...] = ()
    strict_aws: bool = False
    protocols: tuple[str, ...] = PROTOCOLS


def invalid_text(text: str) -> Refused:
    return Refused("InvalidParameterValue", "InvalidParameterValueException", text)


def invalid(parameter: str, value: object, reason: str) -> Refused:
    return invalid_text(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


def missing(parameter: str) -> Refused:
    return Refused(
        "MissingParameter",
        "MissingRequiredParameterException",
        f"The request must contain the parameter {parameter}.",
    )


def unknown_attribute(name: str) -> Refused:
    return Refused("InvalidAttributeName", "InvalidAttributeName", f"Unknown Attribute {name}.")


def bad_attribute(name: str, reason: str = "") -> Refused:
    tail = f" Reason: {reason}" if reason else ""
    text = f"Invalid value for the parameter {name}.{tail}"
    return Refused("InvalidAttributeValue", "InvalidAttributeValue", text)


def batch(name: str, text: str) -> Refused:
    return Refused(f"AWS.SimpleQueueService.{name}", name, text)


def resource(text: str) -> Refused:
    return Refused("ResourceNotFoundException", "ResourceNotFoundException", text, 404)


NO_QUEUE = Refused(
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "The specified queue does not exist.",
    query_text="The specified queue does not exist for this wsdl version.",
)

WSDL = "Please refer to the appropriate WSDL for a list of valid actions."


def denied(account: str, name: str) -> Refused:
    """The error for a queue of another account, whether or not it exists."""
    url = f"http://localhost:9324/{account}/{name}"
    text = f"Access to the resource {url} is denied."
    return Refused("AccessDenied", "AccessDeniedException", text, 403)


def over_limit(text: str) -> Refused:
    return Refused("OverLimit", "OverLimit", text, 403)


BATCH_EMPTY = batch("EmptyBatchRequest", "There should be at least one entry in the request.")
BATCH_ID_INVALID = batch(
    "InvalidBatchEntryId",
    "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
    "It can be at most 80 letters long.",
)
TOKEN_REASON = "{} can only include alphanumeric and punctuation characters. 1 to 128 in length."
"""A text without the parameter's name, which is filled in."""
