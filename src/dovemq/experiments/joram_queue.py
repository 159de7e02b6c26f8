"""joram-model-queue: one simulated partition by its clients; figures 5 to 7 of the paper."""

from collections.abc import Iterator
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation import JoramParameters, ReplicatedQueue
from dovemq.models.simulation.joram.parameters import CEILING

PRODUCERS: Final = (1, 2, 3, 4, 5, 6, 8)
RATIOS: Final = (1, 2, 3)
SECOND_MS: Final = 1_000.0
CUT_SECONDS: Final = 5.0
"""The first and last seconds that the paper leaves out."""


def _name(consumers: int) -> str:
    return f"{consumers} consumer{'s' if consumers > 1 else ''} for each producer"


class _Runs:
    """Rates of a partition with some clients, one value for each replication."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self.produced: dict[tuple[int, int], Interval] = {}
        self.consumed: dict[tuple[int, int], Interval] = {}
        self.waiting: dict[tuple[int, int], Interval] = {}
        for consumers in RATIOS:
            for producers in PRODUCERS:
                self._measure(producers, consumers)

    def _measure(self, producers: int, consumers: int) -> None:
        self._effort.tell(f"{producers} producers, {_name(consumers)}")
        found = [
            self._one(producers, consumers, number) for number in range(self._effort.replications)
        ]
        for kept, values in zip(
            (self.produced, self.consumed, self.waiting), zip(*found, strict=True), strict=True
        ):
            kept[producers, consumers] = Estimate(tuple(values)).interval

    def _one(self, producers: int, consumers: int, number: int) -> tuple[float, float, float]:
        queue = ReplicatedQueue(JoramParameters(), self._effort.seed, number)
        for _ in range(producers):
            queue.join("producer", 0)
            for _ in range(consumers):
                queue.join("consumer", 0)
        length = self._effort.horizon_seconds * SECOND_MS
        queue.advance(CUT_SECONDS * SECOND_MS)
        first = queue.produced, queue.consumed
        queue.advance(queue.now + length)
        rates = (queue.produced - first[0]) / length, (queue.consumed - first[1]) / length
        return *rates, float(queue.figures()[0].waiting)


def single_queue(effort: Effort) -> Figure:
    runs = _Runs(effort)
    keys = list(runs.consumed)
    data: dict[str, Column] = {
        "producers": [producers for producers, _ in keys],
        "consumers": [producers * consumers for producers, consumers in keys],
    }
    for name in ("produced", "consumed", "waiting"):
        values = getattr(runs, name)
        data |= interval_columns(name, [values[key] for key in keys])
    return Figure(
        "One partition by its clients, simulated (joram, fig. 5 to 7)",
        data,
        tuple(_panels(runs)),
        tuple(queue_claims(runs)),
        (
            "Rates are in messages/ms; those of Fig. 10 and 11 are read as a tenth of what is "
            "printed, which agrees with Fig. 9.",
            "A consumer's round takes twice as long as a producer's: that one producer sends what "
            "two consumers receive is put in, not found.",
            "Every operation takes 10 % longer for each thousand waiting messages. The paper shows "
            "that they slow a queue down (Fig. 4), and gives no number.",
        ),
    )


def _panels(runs: _Runs) -> Iterator[Panel]:
    for title, y_label, values, mark in (
        ("messages received", "messages/ms", runs.consumed, CEILING),
        ("messages left at the end", "waiting messages", runs.waiting, None),
    ):
        curves = tuple(
            interval_curve(
                _name(consumers), {float(each): values[each, consumers] for each in PRODUCERS}
            )
            for consumers in RATIOS
        )
        label = "paper's text: ceiling of one queue (a tenth of the printed 1.9)"
        marks = () if mark is None else (PaperMark(label, y=mark),)
        yield Panel(title, "producers", y_label, curves, marks)


def queue_claims(runs: _Runs) -> Iterator[Verdict]:
    produced, consumed = runs.produced, runs.consumed
    yield judge(
        "one producer and one consumer: about twice as much is produced as consumed (fig. 5)",
        "produced / consumed",
        [ratio(produced[1, 1], consumed[1, 1])],
        least=1.7,
        most=2.3,
    )
    yield judge(
        "one producer and two consumers: as much is produced as consumed (fig. 6)",
        "produced / consumed",
        [ratio(produced[1, 2], consumed[1, 2])],
        least=0.95,
        most=1.05,
    )
    yield judge(
        "a third consumer changes little",
        "consumed with three consumers / with two, one producer",
        [ratio(consumed[1, 3], consumed[1, 2])],
        least=0.95,
        most=1.05,
    )
    yield judge(
        "two consumers for each producer are the best ratio for any number of producers (fig. 7)",
        "consumed with two / with one and with three",
        [ratio(consumed[each, 2], consumed[each, other]) for each in PRODUCERS for other in (1, 3)],
        least=0.97,
    )
    yield judge(
        "the rate grows less than in proportion to the clients (fig. 7)",
        "consumed by 4 producers with 8 consumers / by 1 with 2",
        [ratio(consumed[4, 2], consumed[1, 2])],
        most=3.6,
    )
    yield judge(
        "a ceiling is reached at about 12 clients (fig. 7, 10 and 11)",
        "consumed by 8 producers with 16 consumers / by 4 with 8",
        [ratio(consumed[8, 2], consumed[4, 2])],
        most=1.05,
    )
