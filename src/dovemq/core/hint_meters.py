"""The meters of all queues with an adaptive K at one front end, and what they say for people."""

from collections.abc import Callable
from typing import Final

from dovemq.core.adaptive_hint import HintDecision
from dovemq.core.hint_meter import HintMeter
from dovemq.core.queue import ADAPTIVE_ORDER, Queue, QueueKey

METERS_MAX: Final = 10_000
"""Beyond, the queue that came first is measured anew when it is used again."""
_OWNED: Final = "order hint 1, adaptive: the queue has an owner, so that no claims collide"
_START: Final = "order hint {k}, adaptive: too few messages were received here to change it"
_DECIDED: Final = "order hint {k} at this front end, adaptive: {reason}"

HintRecorder = Callable[[QueueKey, HintDecision, int], None]
"""Called with each change of K and its time in milliseconds; it returns at once."""


def _unrecorded(key: QueueKey, decision: HintDecision, now_ms: int) -> None:
    """Nobody keeps the changes."""


class HintMeters:
    def __init__(self) -> None:
        self._meters: dict[int, HintMeter] = {}
        self.recorder: HintRecorder = _unrecorded

    def of(self, queue: Queue) -> HintMeter:
        """The meter of a queue; it stays the same while the queue exists."""
        meter = self._meters.get(queue.number)
        if meter is None:
            if len(self._meters) >= METERS_MAX:
                del self._meters[next(iter(self._meters))]
            key = queue.key
            meter = HintMeter(changed=lambda decision, now_ms: self.recorder(key, decision, now_ms))
            self._meters[queue.number] = meter
        return meter

    def k_of(self, queue: Queue) -> int:
        """The K of the queue here; a queue with an owner that adapts stays at 1."""
        hint = queue.settings.order_hint
        if hint != ADAPTIVE_ORDER:
            return int(hint)
        return 1 if queue.settings.coordination == "lease" else self.of(queue).k

    def explain(self, queue: Queue) -> tuple[str, ...]:
        """Why the queue has its K here; nothing if its K does not adapt."""
        if queue.settings.order_hint != ADAPTIVE_ORDER:
            return ()
        if queue.settings.coordination == "lease":
            return (_OWNED,)
        meter = self.of(queue)
        if meter.decision is None:
            return (_START.format(k=meter.k),)
        return (_DECIDED.format(k=meter.k, reason=meter.decision.reason.text),)
