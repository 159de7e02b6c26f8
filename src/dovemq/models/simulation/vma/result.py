"""Simulation of the tandem of `vma`, and its results as estimates with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.estimates import Estimate
from dovemq.models.simulation.columns import SeriesColumns
from dovemq.models.simulation.histogram import TimeHistogram
from dovemq.models.simulation.runs import (
    Progress,
    ReplicationSpan,
    SimulationRun,
    replicated,
    run_to_end,
    warm_up_of,
)
from dovemq.models.simulation.sampling import Rows
from dovemq.models.simulation.vma.kernel import advance
from dovemq.models.simulation.vma.state import (
    AREAS,
    EVENTS,
    SUMS,
    TandemArrays,
    grown,
    scale_of,
    tandem_arrays,
)
from dovemq.models.vma.parameters import VmaParameters


@dataclass(frozen=True, slots=True)
class TandemResult:
    """Every figure but `events` leaves the warm-up out.

    sojourn          time from production to the first receive
    sending          the part of the sojourn until the message is at the broker
    resting          the part from there to the first lease; service and retries follow
    sojourn_of       the sojourn by message class
    sender_waiting   messages that wait for a thread of the sender, over time
    visible          messages at the broker that are visible and not leased, over time
    waiting          the sum of both: the waiting number of Fig. 12 in the paper
    in_system        messages produced and not yet received, over time
    …_busy           share of the threads that are busy, over time
    …_any_busy       share of the time in which at least one thread is busy
    throughput       messages received for the first time per unit of time
    leases, expired, repeated    leases, ended timeouts, further receives per message received
    events           productions, service starts and service ends, counted
    unstable         stations with more work than they can do: figures grow with the horizon
    record           the first events of replication 0: time, message, event (a place in
                     EVENTS), kind (a place in the classes)
    """

    tandem: VmaParameters
    run: SimulationRun
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
    histogram: TimeHistogram = field(repr=False)
    histogram_of: dict[str, TimeHistogram] = field(repr=False)
    record: Rows = field(repr=False)

    def quantile(self, probability: float) -> Estimate:
        """A quantile of the sojourn, within the width of a bin, 0.8 %."""
        return self.histogram.quantile(probability)


class _Columns(SeriesColumns):
    """The measurements of the tandem by name."""

    def __init__(
        self, replications: Sequence[TandemArrays], tandem: VmaParameters, run: SimulationRun
    ) -> None:
        super().__init__(replications, run)
        self._classes = len(tandem.classes)

    def named(self, name: str, warm: int = 1) -> Floats:
        place = AREAS.index(name) if name in AREAS else len(AREAS) + EVENTS.index(name)
        return self.column(place, warm=warm)

    def number(self, *names: str, per: float = 1) -> Estimate:
        total: Floats = np.sum([self.named(name) for name in names], axis=0)
        return self.over_time(total, per)

    def per_message(self, name: str) -> Estimate:
        return self.each(self.named(name), self.named("received"))

    def of_messages(self, name: str, kind: int | None = None) -> Estimate:
        return self.each(self._sum(name, kind), self._sum("received", kind))

    def _sum(self, name: str, kind: int | None) -> Floats:
        first = len(AREAS) + len(EVENTS) + SUMS.index(name)
        kinds = range(self._classes) if kind is None else [kind]
        return self.column(*(first + len(SUMS) * each for each in kinds))


def simulate_tandem(
    tandem: VmaParameters, run: SimulationRun, progress: Progress | None = None
) -> TandemResult:
    """Runs all replications; calls `progress` with the number done, from this thread."""
    tandem.check_simulable()

    def one(replication: int, span: ReplicationSpan) -> TandemArrays:
        return run_to_end(tandem_arrays(tandem, span, run.seed, replication), advance, grown)

    def in_system(arrays: TandemArrays) -> Floats:
        column: Floats = arrays.series[1:, AREAS.index("in_system")]
        return column

    warm_up = warm_up_of(run, one, in_system)
    return _result(tandem, run, warm_up, replicated(run, warm_up, one, progress))


def _result(
    tandem: VmaParameters,
    run: SimulationRun,
    warm_up: float,
    replications: Sequence[TandemArrays],
) -> TandemResult:
    columns = _Columns(replications, tandem, run)
    names = [each.name for each in tandem.classes]
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
        sender_waiting=columns.number("sender_waiting"),
        visible=columns.number("visible"),
        waiting=columns.number("sender_waiting", "visible"),
        in_system=columns.number("in_system"),
        sender_busy=columns.number("sender_busy", per=float(tandem.sender_threads)),
        broker_busy=columns.number("broker_busy", per=float(tandem.broker_threads)),
        sender_any_busy=columns.number("sender_any_busy"),
        broker_any_busy=columns.number("broker_any_busy"),
        throughput=columns.number("received"),
        leases=columns.per_message("leased"),
        expired=columns.per_message("expired"),
        repeated=columns.per_message("repeated"),
        messages=int(columns.named("received").sum()),
        events=int(sum(columns.named(name, warm=0).sum() for name in counted)),
        unstable=tandem.overloaded,
        histogram=columns.histogram(scale),
        histogram_of=columns.histograms(names, scale),
        record=replications[0].record[:rows],
    )
