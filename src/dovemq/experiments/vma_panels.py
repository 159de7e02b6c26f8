"""The three panels that vma-fig14 and vma-fig15 share."""

from collections.abc import Sequence

from dovemq.experiments.figure import Panel
from dovemq.experiments.sweeps import Point, curves


def three_panels(found: Sequence[Point], x_label: str) -> tuple[Panel, ...]:
    busy = curves(found, "sender_utilisation"), curves(found, "broker_utilisation")
    return (
        Panel("delivery time", x_label, "seconds", curves(found, "delivery_time")),
        Panel("waiting", x_label, "messages", curves(found, "waiting")),
        Panel("sender", x_label, "busy threads / n", busy[0]),
        Panel("broker", x_label, "busy threads / n", busy[1]),
    )
