"""Redrive policies as JSON text: the target of exhausted messages, and its allowed sources."""

from functools import partial
from typing import Any

import msgspec

from dovemq.core import limits
from dovemq.core.errors import InvalidValue
from dovemq.core.queue import Redrive, RedriveAllow
from dovemq.sqs.arns import QueueNames


def read_redrive(text: str, names: QueueNames) -> Redrive | None:
    if not text:
        return None
    invalid = partial(InvalidValue, "RedrivePolicy", text)
    policy = _object("RedrivePolicy", text)
    arn = policy.get("deadLetterTargetArn")
    count = policy.get("maxReceiveCount")
    for name, value in (("deadLetterTargetArn", arn), ("maxReceiveCount", count)):
        if value is None:
            raise invalid(f"Redrive policy does not contain mandatory attribute: {name}.")
    target = names.key_of_arn(arn) if isinstance(arn, str) else None
    if target is None:
        raise invalid("Invalid value for deadLetterTargetArn.")
    receives_max = _whole(count)
    if receives_max is None or not limits.RECEIVES_BEFORE_REDRIVE.holds(receives_max):
        raise invalid(
            f"Invalid value for maxReceiveCount: {count}, valid values are from 1 to "
            f"{limits.RECEIVES_BEFORE_REDRIVE.most} both inclusive."
        )
    return Redrive(target, receives_max)


def write_redrive(redrive: Redrive, names: QueueNames) -> str:
    target = names.arn(redrive.target)
    return json_text({"deadLetterTargetArn": target, "maxReceiveCount": redrive.receives_max})


def read_allow(text: str, names: QueueNames) -> RedriveAllow | None:
    if not text:
        return None
    invalid = partial(InvalidValue, "RedriveAllowPolicy", text)
    policy = _object("RedriveAllowPolicy", text)
    permission = policy.get("redrivePermission")
    if permission not in ("allowAll", "denyAll", "byQueue"):
        raise invalid("Invalid value for redrivePermission.")
    arns = policy.get("sourceQueueArns")
    if permission != "byQueue":
        if arns:
            raise invalid("sourceQueueArns is only for redrivePermission byQueue.")
        return RedriveAllow(permission)
    if not isinstance(arns, list) or not 1 <= len(arns) <= limits.REDRIVE_SOURCES_MAX:
        raise invalid(f"sourceQueueArns must hold 1 to {limits.REDRIVE_SOURCES_MAX} queues.")
    keys = [names.key_of_arn(arn) if isinstance(arn, str) else None for arn in arns]
    known = tuple(key for key in keys if key is not None)
    if len(known) != len(keys):
        raise invalid("Invalid value for sourceQueueArns.")
    return RedriveAllow("byQueue", known)


def write_allow(allow: RedriveAllow, names: QueueNames) -> str:
    policy: dict[str, Any] = {"redrivePermission": allow.permission}
    if allow.sources:
        policy["sourceQueueArns"] = [names.arn(key) for key in allow.sources]
    return json_text(policy)


def _object(parameter: str, text: str) -> dict[str, Any]:
    found = json_object(text)
    if found is None:
        raise InvalidValue(parameter, text, f"{parameter} is not a valid JSON map.")
    return found


def json_object(text: str) -> dict[str, Any] | None:
    """The object of a JSON text; None if the text is something else."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()
