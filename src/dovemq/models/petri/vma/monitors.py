"""The 26 monitors of the VMA net.

The paper (vma) mentions 26 and describes two of them. These are: a breakpoint; four latencies in
ticks of the clock; four lengths; busy threads, and whether any is busy, for sender and broker; nine
counts; the time between arrivals; pending delete requests; repeated sends of a message; and
messages that wait for an older one although a thread is idle. A message that is delivered twice
counts at its first delivery: `Msg_Delivery_Latency` and the rate of `cancelled`, the throughput,
are those of first deliveries; `delivered` counts all. A message `m` has three times: `AT`, when it
was produced, `IT`, when it entered the queue, and `OT`, when a thread of the broker took it.
"""

from typing import Any, Final

from dovemq.models.petri.monitors import (
    Breakpoint,
    Call,
    Collector,
    Count,
    FunctionCollector,
    ListLength,
    MarkingSize,
    Monitor,
    TimeAverage,
)
from dovemq.models.vma.parameters import VmaParameters

SEND: Final = "cloud_queue.Send_Proc"
BROKER: Final = "cloud_queue.Broker"
RECEIVE: Final = "cloud_queue.Recv_Proc"
TIMEOUT: Final = f"{BROKER}.Visibility_Timeout"
WAITING: Final = f"length('cloud_queue.Queue') - length('{BROKER}.Invisible')"
"""Visible messages that no thread has started: in the queue, with no thread or receiver."""

FIRST: Final = "ifMsgArrived(msgs, m.id)"
"""Whether an acknowledgement is the first of its message: it deletes the message at once."""


def vma_monitors(given: VmaParameters, stop: int) -> tuple[Monitor, ...]:
    get = f"{BROKER}.Get_Oldest_Msg" if given.order == "in" else f"{BROKER}.Get_Msg"
    deliver, cancel = f"{RECEIVE}.Deliver", f"{TIMEOUT}.Cancel"
    return (
        Breakpoint("stop", f"now >= {stop}"),
        Collector("Msg_Delivery_Latency", cancel, "now - m.AT", FIRST),
        Collector("latency_send", f"{SEND}.Enqueue", "now - m.AT"),
        Collector("latency_queue", get, "now - m.IT"),
        Collector("latency_receive", deliver, "recvtime - m.OT"),
        ListLength("sender_queue", f"{SEND}.Send_Queue"),
        TimeAverage("visible", WAITING),
        ListLength("invisible", f"{BROKER}.Invisible"),
        MarkingSize("timers", f"{BROKER}.Timer"),
        MarkingSize("sender_busy", f"{SEND}.Sending"),
        TimeAverage("sender_any_busy", f"size('{SEND}.Sending') > 0"),
        MarkingSize("broker_busy", f"{BROKER}.Processing"),
        TimeAverage("broker_any_busy", f"size('{BROKER}.Processing') > 0"),
        Count("produced", f"{SEND}.Produce"),
        Count("enqueued", f"{SEND}.Enqueue"),
        Count("got", get),
        Count("sent", f"{BROKER}.Send"),
        Count("lost", f"{RECEIVE}.Lose"),
        Count("triggered", f"{TIMEOUT}.Trigger", "isIn(inv, i)"),
        Count("cancelled", cancel, FIRST),
        Count("delivered", deliver),
        Count("duplicate", cancel, f"not {FIRST}"),
        Collector("inter_arrival", f"{SEND}.Produce", "gap"),
        MarkingSize("delete_requests", "cloud_queue.Delete_Req"),
        FunctionCollector(
            "retransmissions", (get, deliver), lambda: _retransmissions(get, deliver)
        ),
        TimeAverage("blocked", f"({WAITING}) if size('{BROKER}.Threads') > 0 else 0"),
    )


def _retransmissions(get: str, deliver: str) -> dict[str, Call]:
    """Collects how many times a message was got again before its first delivery."""
    times: dict[int, int] = {}

    def got(now: float, binding: dict[str, Any]) -> None:
        times[binding["i"]] = times.get(binding["i"], 0) + 1

    def delivered(now: float, binding: dict[str, Any]) -> float | None:
        found = times.pop(binding["m"].id, None)
        return None if found is None else found - 1

    return {get: got, deliver: delivered}
