"""What came out of runs of the tandem, as estimates with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovemq.models.simulation.estimates import Estimate, Floats, ratio
from dovemq.models.simulation.histogram import Histogram, Whole
from dovemq.models.simulation.runs import Run
from dovemq.models.simulation.sampling import Rows
from dovemq.models.simulation.vma.model import Tandem
from dovemq.models.simulation.vma.state import AREAS, EVENTS, SUMS, Held, scale_of


@dataclass(frozen=True, slots=True)
class TandemResult:
    """Every figure leaves the warm-up out, but `events`.

    sojourn          time from production to the first receive
    sending          of it, until the message is at the broker
    resting          of it, from there to the first lease; service and retries follow
    sojourn_of       the sojourn by class
    sender_waiting   messages that wait for a sender thread, over time
    visible          messages at the broker that are visible and not leased, over time
    waiting          the two together: the waiting number of 000, Fig. 12
    in_system        messages produced and not yet received, over time
    …_busy           share of the threads that are busy, over time
    …_any_busy       share of the time in which at least one thread is busy
    throughput       messages received for the first time per unit of time
    leases, expired, repeated    leases, ended timeouts, further receives per message received
    events           productions, service starts and service ends, counted
    unstable         stations offered more than they can do: figures grow with the horizon
    record           the first events of replication 0: time, message, event (a place in
                     EVENTS), kind (a place in the classes)
    """

    tandem: Tandem
    run: Run
    warm_up: float
    sojourn: Estimate
    sending: Estimate
    resting: Estimate
    sojourn_of: dict[str, Estimate]
    sender_waiting: Estimate
    visible: Estimate
    waiting: Estimate
    in_system: Estimate
    sender_busy: Estimate
    broker_busy: Estimate
    sender_any_busy: Estimate
    broker_any_busy: Estimate
    throughput: Estimate
    leases: Estimate
    expired: Estimate
    repeated: Estimate
    messages: int
    events: int
    unstable: tuple[str, ...]
    histogram: Histogram = field(repr=False)
    histogram_of: dict[str, Histogram] = field(repr=False)
    record: Rows = field(repr=False)

    def quantile(self, probability: float) -> Estimate:
        """Of the sojourn; within the width of a bin, 0.8 %."""
        return self.histogram.quantile(probability)


class Columns:
    """The figures of all replications, by name: a row per replication, a column per slice."""

    def __init__(self, replications: Sequence[Held], tandem: Tandem, run: Run) -> None:
        self._series: Floats = np.array([each.series for each in replications])
        self._classes = len(tandem.classes)
        self._confidence = run.confidence
        self._slice_length = run.horizon / run.slices

    def all(self, name: str) -> Floats:
        """With the warm-up, slice 0."""
        first = AREAS.index(name) if name in AREAS else len(AREAS) + EVENTS.index(name)
        column: Floats = self._series[:, :, first]
        return column

    def __getitem__(self, name: str) -> Floats:
        return self.all(name)[:, 1:]

    def over_time(self, *names: str, per: int = 1) -> Estimate:
        total = np.sum([self[name] for name in names], axis=0)
        return ratio(total, np.full(total.shape, per * self._slice_length), self._confidence)

    def each(self, above: str, below: str) -> Estimate:
        return ratio(self[above], self[below], self._confidence)

    def of_messages(self, name: str, kind: int | None = None) -> Estimate:
        return ratio(self._sum(name, kind), self._sum("received", kind), self._confidence)

    def _sum(self, name: str, kind: int | None) -> Floats:
        first = len(AREAS) + len(EVENTS) + SUMS.index(name)
        kinds = range(self._classes) if kind is None else [kind]
        places = [first + len(SUMS) * each for each in kinds]
        total: Floats = self._series[:, 1:, places].sum(2)
        return total


def result_of(
    tandem: Tandem, run: Run, warm_up: float, replications: Sequence[Held]
) -> TandemResult:
    columns = Columns(replications, tandem, run)
    counts: Whole = np.array([each.histogram for each in replications])
    names = [each.name for each in tandem.classes]
    loads = {"sender": tandem.sender_load, "broker": tandem.broker_load}
    counted = ("arrived", "send_started", "sent", "leased", "served")
    rows = int(replications[0].state["rows"][0])
    scale = scale_of(tandem)
    return TandemResult(
        tandem=tandem,
        run=run,
        warm_up=warm_up,
        sojourn=columns.of_messages("sojourn"),
        sending=columns.of_messages("sending"),
        resting=columns.of_messages("resting"),
        sojourn_of={name: columns.of_messages("sojourn", kind) for kind, name in enumerate(names)},
        sender_waiting=columns.over_time("sender_waiting"),
        visible=columns.over_time("visible"),
        waiting=columns.over_time("sender_waiting", "visible"),
        in_system=columns.over_time("in_system"),
        sender_busy=columns.over_time("sender_busy", per=tandem.sender_threads),
        broker_busy=columns.over_time("broker_busy", per=tandem.broker_threads),
        sender_any_busy=columns.over_time("sender_any_busy"),
        broker_any_busy=columns.over_time("broker_any_busy"),
        throughput=columns.over_time("received"),
        leases=columns.each("leased", "received"),
        expired=columns.each("expired", "received"),
        repeated=columns.each("repeated", "received"),
        messages=int(columns["received"].sum()),
        events=int(sum(columns.all(name).sum() for name in counted)),
        unstable=tuple(name for name, load in loads.items() if load >= 1),
        histogram=Histogram(counts.sum(1), scale, run.confidence),
        histogram_of={
            name: Histogram(counts[:, kind], scale, run.confidence)
            for kind, name in enumerate(names)
        },
        record=replications[0].record[:rows],
    )
