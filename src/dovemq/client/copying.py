"""Copying the messages of one queue into another. The source stays as it is.

The source must be a DoveMQ server, whose admin API shows messages without receiving them. The
target may be any SQS endpoint. A copy that is run twice sends its messages twice; a FIFO target
drops the second ones within five minutes.
"""

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from msgspec import Struct

from dovemq.client.admin import AdminClient
from dovemq.client.delivering import QueueSide, TargetSender
from dovemq.client.errors import ClientError
from dovemq.client.retrying import ATTEMPTS_MAX, PAUSE_SECONDS, Pause, retried
from dovemq.sqs.digests import md5_of_body
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage

_PAGE: Final = 100
_SYSTEM_ATTRIBUTES: Final = {
    "group": "MessageGroupId",
    "deduplication_id": "MessageDeduplicationId",
    "trace": "AWSTraceHeader",
}


class TargetBusy(ClientError):
    def __init__(self, queue: str) -> None:
        super().__init__(f"{queue}: the target keeps failing to take messages; try again later")


class CopySummary(Struct, frozen=True):
    """`left` messages of the source were not looked at: the limit or a stop came first."""

    copied: int
    refused: int
    left: int
    stopped: bool


@dataclass(slots=True)
class QueueCopier:
    """Copies the messages that the source holds at the start, in order, at most `count_max`."""

    source: AdminClient
    account: str
    name: str
    target: QueueSide
    report: Callable[[str], None]
    _: KW_ONLY
    count_max: int
    keep_ids: bool = False
    pause: Pause = asyncio.sleep
    copied: int = 0
    _sender: TargetSender = field(init=False)
    _stopped: bool = False

    def __post_init__(self) -> None:
        self._sender = TargetSender(
            f"{self.account}/{self.name}",
            self.target,
            self.report,
            keep_ids=self.keep_ids,
            pause=self.pause,
        )

    def stop(self) -> None:
        """End after the messages that are being sent."""
        self._stopped = True

    async def run(self) -> CopySummary:
        queue = await retried(lambda: self.source.queue(self.account, self.name), self.pause)
        counts = queue["counts"]
        held = sum(counts[state] for state in ("visible", "leased", "delayed"))
        after: int | str | None = 0
        looked_at = 0
        wanted = min(held, self.count_max)
        while looked_at < wanted and not (self._stopped or self._sender.hopeless):
            messages, after = await self._page(min(_PAGE, wanted - looked_at), after or 0)
            looked_at += len(messages)
            await self._send(self._sender.fresh(messages))
            if after is None:
                break
        left = held - looked_at if after is not None else 0
        return CopySummary(self.copied, len(self._sender.refused), max(left, 0), self._stopped)

    async def _page(
        self, count_max: int, after: int | str
    ) -> tuple[list[ReceivedMessage], int | str | None]:
        page = await retried(
            lambda: self.source.messages(self.account, self.name, count_max, after), self.pause
        )
        return [_received(each) for each in page["messages"]], page["next"]

    async def _send(self, messages: Sequence[ReceivedMessage]) -> None:
        """Send all messages, and again those that the target failed to take."""
        for _ in range(ATTEMPTS_MAX):
            taken = {each.message_id for each in await self._sender.send(messages)}
            self.copied += len(taken)
            done = taken | self._sender.refused
            messages = [each for each in messages if each.message_id not in done]
            if not messages:
                return
            await self.pause(PAUSE_SECONDS)
        raise TargetBusy(self.target.queue)


def _received(document: dict[str, Any]) -> ReceivedMessage:
    """A message of the admin API as a receive would have given it, without a receipt."""
    body = document["body"]
    return ReceivedMessage(
        document["message_id"],
        "",
        md5_of_body(body),
        body,
        attributes={
            name: document[field] for field, name in _SYSTEM_ATTRIBUTES.items() if document[field]
        },
        message_attributes={
            name: _attribute(value) for name, value in document["attributes"].items()
        },
    )


def _attribute(value: dict[str, str]) -> AttributeValue:
    if "base64" in value:
        return AttributeValue(value["type"], binary_value=base64.b64decode(value["base64"]))
    return AttributeValue(value["type"], value["value"])
