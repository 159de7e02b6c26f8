"""The header by which a client announces its role at a queue, before it sends or receives.

`GetQueueUrl` reads it, which every client may ask first: so a client that announces a role speaks
plain SQS, other servers ignore the header, and no other request pays for it. The client needs the
right of the role, since a session counts for the size of the queue.
"""

from collections.abc import Mapping
from typing import Final

from dovemq.core.errors import InvalidValue
from dovemq.fabric.autonomic import ClientRole
from dovemq.http import HttpRequest

ROLE_HEADER: Final = "x-dovemq-role"
RIGHTS: Final[Mapping[ClientRole, str]] = {
    ClientRole.PRODUCER: "SendMessage",
    ClientRole.CONSUMER: "ReceiveMessage",
}
"""The operation that a client of each role must be allowed."""
_ROLES: Final = {role.value: role for role in ClientRole}
_SHOWN_MAX: Final = 32
"""Characters of an invalid value that its error repeats."""


def announced_role(request: HttpRequest | None) -> ClientRole | None:
    text = None if request is None else request.headers.get(ROLE_HEADER)
    if text is None:
        return None
    role = _ROLES.get(text)
    if role is None:
        reason = "Must be producer or consumer."
        raise InvalidValue("X-Dovemq-Role", text[:_SHOWN_MAX], reason)
    return role
