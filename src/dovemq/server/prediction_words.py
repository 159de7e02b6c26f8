"""Sentences for predictions: the outcome, and what is taken for granted."""

from collections.abc import Iterator
from typing import Final

from dovemq.models.live import SERVERS_MAX
from dovemq.server.admin_views import Document

PREDICTED: Final = "predicted"
UNSTABLE: Final = "unstable"
TOO_FEW: Final = "too-few-samples"
NO_CONSUMERS: Final = "no-consumers"
PARTITION_ALONE: Final = "partition-without-consumer"
TOO_MANY: Final = "too-many-consumers"
_PER_RECEIVE_NOTED: Final = 1.05
_REPEATED_NOTED: Final = 0.01


def summary_of(document: Document) -> str:
    """The outcome of a prediction in a few sentences."""
    return " ".join([_outcome(document), *_target(document)])


def assumptions_of(
    *,
    per_receive: float,
    repeated: float,
    partitions: int,
    divided: bool,
    fifo: bool,
    shared: bool,
) -> list[str]:
    return [
        "The load stays as it was: sends are independent of each other, and so are services.",
        "A consumer is a connection that asked for a message in the last minute. It asks for the "
        "next one as soon as it has deleted the last one.",
        "A service lasts from the receive until the delete, so it includes what the consumer does "
        "with other messages meanwhile.",
        *_special(per_receive, repeated, partitions, divided=divided, fifo=fifo, shared=shared),
    ]


def _outcome(document: Document) -> str:
    measured, scenario = document["measured"], document["scenario"]
    match document["state"]:
        case "too-few-samples":
            least, minutes = document["model"]["samples_min"], document["window_seconds"] / 60
            return (
                f"Too few messages for a prediction: in the last {max(minutes, 0.1):.1f} minutes "
                f"{measured['sent']} were sent, and {measured['service_ms']['samples']} were both "
                f"received and deleted. It needs {least} or more of each."
            )
        case "no-consumers":
            return (
                "No consumer has asked for a message in the last minute. Choose a number of "
                "consumers to see what they would do."
            )
        case "partition-without-consumer":
            return (
                f"{scenario['consumers']} consumers cannot be divided among "
                f"{scenario['partitions']} partitions: each partition needs one."
            )
        case "too-many-consumers":
            handled = scenario["handled_at_once"]
            return (
                f"These consumers would handle {handled} messages at once; predictions go up to "
                f"{SERVERS_MAX}."
            )
    saturation = document["predicted"]["saturation_rate"]["value"]
    if document["state"] == UNSTABLE:
        return (
            f"The queue only grows: {_rate(scenario['arrival_rate'])} messages arrive per second, "
            f"and its consumers handle {_rate(saturation)}."
        )
    used = document["predicted"]["utilisation"]["value"]
    return (
        f"The consumers are busy {100 * used:.0f} % of the time. The queue saturates at "
        f"{_rate(saturation)} messages per second."
    )


def _target(document: Document) -> Iterator[str]:
    target = document.get("target")
    if target is None or document["measured"]["parameters"] is None:
        return
    goal = f"{document['scenario']['percentile']:g} % of the responses within "
    goal += f"{target['target_ms']} ms"
    if target["consumers"] is None:
        yield f"No number of consumers keeps {goal}: the service itself takes too long."
    else:
        yield f"For {goal} it needs {target['consumers']} consumers."


def _special(
    per_receive: float, repeated: float, partitions: int, *, divided: bool, fifo: bool, shared: bool
) -> Iterator[str]:
    if per_receive >= _PER_RECEIVE_NOTED:
        yield (
            f"A receive brings {per_receive:.1f} messages at a time, which are taken as handled "
            "at once. If a consumer handles them one after the other, it saturates earlier."
        )
    if repeated >= _REPEATED_NOTED:
        yield (
            f"{100 * repeated:.0f} % of the receives repeat a message; the model handles each "
            "message once."
        )
    if divided:
        yield (
            "The consumers are divided evenly among the partitions, and each asks its own "
            "partition only. Receives that look further wait less."
        )
    elif partitions > 1:
        yield "Every consumer serves all partitions."
    if fifo:
        yield "Messages of one group wait for each other, which the model leaves out."
    if shared:
        yield (
            "Other servers share this database. What they send, receive and delete is not in "
            "these figures."
        )


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
