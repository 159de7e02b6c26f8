"""AddPermission and RemovePermission: statements of a queue's policy, by their label."""

import re
from collections.abc import Sequence
from typing import Any, Final

from dovemq.core import limits
from dovemq.core.errors import InvalidAttribute, InvalidValue, LimitReached, MissingValue
from dovemq.core.queue import Changes, QueueKey, QueueSettings
from dovemq.sqs import shapes
from dovemq.sqs.arns import ACCOUNT, QueueNames
from dovemq.sqs.call import Call
from dovemq.sqs.context import principal_arn
from dovemq.sqs.policies import OLD_VERSION, read_policy
from dovemq.sqs.redrive import json_object, json_text
from dovemq.sqs.rights import RIGHTS, SHARED

_LABEL: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


async def add_permission(call: Call, request: shapes.AddPermissionRequest) -> None:
    label = _checked_label(request.label)
    statement = _permission(request.account_ids, request.actions)
    queue = await call.queue(request.queue_url)

    def changes(settings: QueueSettings) -> Changes:
        policy = settings.policy
        return {"policy": _with_permission(policy, queue.key, call.names, label, statement)}

    await call.service.queues.change(queue.key, changes)


async def remove_permission(call: Call, request: shapes.RemovePermissionRequest) -> None:
    label = _checked_label(request.label)
    queue = await call.queue(request.queue_url)
    await call.service.queues.change(
        queue.key, lambda settings: {"policy": _without_permission(settings.policy, label)}
    )


def _checked_label(label: str | None) -> str:
    if not label:
        raise MissingValue("Label")
    if not limits.LABEL_LENGTH.holds(len(label)) or not _LABEL.fullmatch(label):
        raise InvalidValue(
            "Label",
            label,
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.",
        )
    return label


def _with_permission(
    policy: str | None, key: QueueKey, names: QueueNames, label: str, statement: dict[str, Any]
) -> str:
    """The policy with one more statement, under a new label."""
    arn = names.arn(key)
    document = _document(policy) or {
        "Version": OLD_VERSION,
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
    text = json_text(document)
    read_policy(text, key.account)
    return text


def _without_permission(policy: str | None, label: str) -> str | None:
    """The policy without the statement. It is not checked, so that any policy can be repaired."""
    document = _document(policy)
    statements = _statements(document)
    kept = [each for each in statements if each.get("Sid") != label]
    if len(kept) == len(statements):
        raise InvalidValue("Label", label, "can't find label.")
    return json_text({**document, "Statement": kept}) if kept else None


def _permission(accounts: Sequence[str] | None, actions: Sequence[str] | None) -> dict[str, Any]:
    """The principal and action of a statement that allows these accounts these actions."""
    if not accounts:
        raise MissingValue("AWSAccountIds")
    if not actions:
        raise MissingValue("Actions")
    if len(actions) > limits.PERMISSION_ACTIONS_MAX:
        raise LimitReached(
            f"{len(actions)} Actions were found, "
            f"maximum allowed is {limits.PERMISSION_ACTIONS_MAX}."
        )
    if len(accounts) > limits.POLICY_PRINCIPALS_MAX:
        raise LimitReached(
            f"{len(accounts)} principals were found, "
            f"maximum allowed is {limits.POLICY_PRINCIPALS_MAX}."
        )
    for account in accounts:
        if not ACCOUNT.fullmatch(account):
            raise InvalidValue("PrincipalId", f"[{account}]", "Unable to verify.")
    for action in actions:
        _check_action(action)
    return {
        "Principal": {"AWS": _one_or_many([principal_arn(each) for each in accounts])},
        "Action": _one_or_many([f"SQS:{action}" for action in actions]),
    }


def _check_action(action: str) -> None:
    if action == "*" or action in SHARED:
        return
    reason = "Please refer to the appropriate WSDL for a list of valid actions."
    if action in RIGHTS:
        reason = "Only the queue owner is allowed to invoke this action."
    raise InvalidValue("ActionName", f"SQS:{action}", reason)


def _document(policy: str | None) -> dict[str, Any]:
    found = json_object(policy or "{}")
    if found is None:
        raise InvalidAttribute("policy", "it is not JSON; set it anew.")
    return found


def _statements(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document.get("Statement", [])
    return [
        each for each in ([found] if isinstance(found, dict) else found) if isinstance(each, dict)
    ]


def _one_or_many(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)
