"""Policies that the wire carries as JSON text: access, redrive, and who may redrive here.

An access policy is kept as it came, for the part of the product that will judge by it.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from dovemq.core import limits
from dovemq.core.errors import InvalidAttribute, InvalidValue, LimitReached, MissingValue
from dovemq.core.queue import QueueKey, Redrive, RedriveAllow
from dovemq.sqs.arns import ACCOUNT, Names

POLICY_VERSION: Final = "2008-10-17"
PERMITTED_ACTIONS: Final = (
    "*",
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
)
"""What an owner can permit to others; everything else stays the owner's own."""


def read_redrive(text: str, names: Names) -> Redrive | None:
    if not text:
        return None
    policy = _object("RedrivePolicy", text)
    arn = policy.get("deadLetterTargetArn")
    count = policy.get("maxReceiveCount")
    if arn is None:
        raise _redrive_error(
            text, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."
        )
    if count is None:
        raise _redrive_error(
            text, "Redrive policy does not contain mandatory attribute: maxReceiveCount."
        )
    target = names.key_of_arn(arn) if isinstance(arn, str) else None
    if target is None:
        raise _redrive_error(text, "Invalid value for deadLetterTargetArn.")
    receives_max = _whole(count)
    if receives_max is None or not limits.RECEIVES_BEFORE_REDRIVE.holds(receives_max):
        raise _redrive_error(
            text,
            "Invalid value for maxReceiveCount: "
            f"{count}, valid values are from 1 to {limits.RECEIVES_BEFORE_REDRIVE.most} "
            "both inclusive.",
        )
    return Redrive(target, receives_max)


def write_redrive(redrive: Redrive, names: Names) -> str:
    return _json(
        {
            "deadLetterTargetArn": names.arn(redrive.target),
            "maxReceiveCount": redrive.receives_max,
        }
    )


def read_allow(text: str, names: Names) -> RedriveAllow | None:
    if not text:
        return None
    policy = _object("RedriveAllowPolicy", text)
    permission = policy.get("redrivePermission")
    if permission not in ("allowAll", "denyAll", "byQueue"):
        raise _allow_error(text, "Invalid value for redrivePermission.")
    arns = policy.get("sourceQueueArns")
    if permission != "byQueue":
        if arns:
            raise _allow_error(text, "sourceQueueArns is only for redrivePermission byQueue.")
        return RedriveAllow(permission)
    if not isinstance(arns, list) or not 1 <= len(arns) <= limits.REDRIVE_SOURCES_MAX:
        raise _allow_error(
            text, f"sourceQueueArns must hold 1 to {limits.REDRIVE_SOURCES_MAX} queues."
        )
    keys = [names.key_of_arn(arn) if isinstance(arn, str) else None for arn in arns]
    known = tuple(key for key in keys if key is not None)
    if len(known) != len(keys):
        raise _allow_error(text, "Invalid value for sourceQueueArns.")
    return RedriveAllow("byQueue", known)


def write_allow(allow: RedriveAllow, names: Names) -> str:
    policy: dict[str, Any] = {"redrivePermission": allow.permission}
    if allow.sources:
        policy["sourceQueueArns"] = [names.arn(key) for key in allow.sources]
    return _json(policy)


def read_policy(text: str) -> str | None:
    """The text itself, if it is a policy at all."""
    if not text:
        return None
    try:
        policy = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        policy = None
    statements = policy.get("Statement") if isinstance(policy, dict) else None
    if not isinstance(statements, list | dict) or len(text.encode()) > limits.POLICY_BYTES_MAX:
        raise InvalidAttribute("policy")
    return text


def with_permission(
    policy: str | None, key: QueueKey, names: Names, label: str, statement: dict[str, Any]
) -> str:
    """The policy with one more statement under a label that is new to it."""
    arn = names.arn(key)
    document = _document(policy) or {
        "Version": POLICY_VERSION,
        "Id": f"{arn}/SQSDefaultPolicy",
        "Statement": [],
    }
    statements = _statements(document)
    if any(each.get("Sid") == label for each in statements):
        raise InvalidValue("Label", label, "Already exists.")
    document["Statement"] = [
        *statements,
        {"Sid": label, "Effect": "Allow", **statement, "Resource": arn},
    ]
    text = _json(document)
    if len(text.encode()) > limits.POLICY_BYTES_MAX:
        raise LimitReached(f"A policy can be at most {limits.POLICY_BYTES_MAX} bytes long.")
    return text


def without_permission(policy: str | None, label: str) -> str | None:
    document = _document(policy)
    statements = _statements(document)
    kept = [each for each in statements if each.get("Sid") != label]
    if len(kept) == len(statements):
        raise InvalidValue("Label", label, "can't find label.")
    return _json({**document, "Statement": kept}) if kept else None


def permission(accounts: Sequence[str] | None, actions: Sequence[str] | None) -> dict[str, Any]:
    """Principal and action of a statement that lets these accounts do these things."""
    if not accounts:
        raise MissingValue("AWSAccountIds")
    if not actions:
        raise MissingValue("Actions")
    if len(actions) > limits.PERMISSION_ACTIONS_MAX:
        raise LimitReached(
            f"{len(actions)} Actions were found, "
            f"maximum allowed is {limits.PERMISSION_ACTIONS_MAX}."
        )
    for account in accounts:
        if not ACCOUNT.fullmatch(account):
            raise InvalidValue("PrincipalId", f"[{account}]", "Unable to verify.")
    for action in actions:
        if action not in PERMITTED_ACTIONS:
            raise InvalidValue(
                "ActionName",
                f"SQS:{action}",
                "Only the queue owner is allowed to invoke this action.",
            )
    return {
        "Principal": {"AWS": _one_or_many([f"arn:aws:iam::{each}:root" for each in accounts])},
        "Action": _one_or_many([f"SQS:{action}" for action in actions]),
    }


def _document(policy: str | None) -> dict[str, Any]:
    return dict(msgspec.json.decode(policy)) if policy else {}


def _statements(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document.get("Statement", [])
    return [
        each for each in ([found] if isinstance(found, dict) else found) if isinstance(each, dict)
    ]


def _one_or_many(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


def _object(parameter: str, text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidValue(parameter, text, f"{parameter} is not a valid JSON map.")
    return found


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _redrive_error(text: str, reason: str) -> InvalidValue:
    return InvalidValue("RedrivePolicy", text, reason)


def _allow_error(text: str, reason: str) -> InvalidValue:
    return InvalidValue("RedriveAllowPolicy", text, reason)
