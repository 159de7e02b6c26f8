"""Runs with monitors, one or many, and their report.

The seed of a replication is made of the common seed and its number. A report can therefore be
repeated, and each of its runs can be repeated alone. Results never decide how long a run lasts, but
they may decide how many runs there are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.estimates import CONFIDENCE, Estimate
from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.firing import NEVER, compiled
from dovemq.models.petri.monitors import Monitor, names_of, probes_of, statistics_of
from dovemq.models.petri.nets import Net
from dovemq.models.petri.simulation import RunEnd, Simulation


@dataclass(frozen=True, slots=True)
class MonitorFigure:
    """The figures of one monitor in one run; `mean` is None without observations."""

    monitor: str
    kind: str
    count: int
    mean: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Replication:
    seed: str
    ending: RunEnd
    duration: float
    """Model time after the warm-up."""
    figures: dict[str, MonitorFigure]


@dataclass(frozen=True, slots=True)
class NetReport:
    net: str
    confidence: float
    runs: tuple[Replication, ...]

    @property
    def steps(self) -> int:
        return sum(run.ending.steps for run in self.runs)

    def interval(self, monitor: str) -> Estimate:
        """The interval of the means of the runs; the mean of a count is the count."""
        values = [run.figures[monitor].mean for run in self.runs]
        return Estimate(tuple(value for value in values if value is not None), self.confidence)

    def rate(self, monitor: str) -> Estimate:
        """The interval of a count per unit of model time."""
        values = tuple(
            run.figures[monitor].count / run.duration for run in self.runs if run.duration > 0
        )
        return Estimate(values, self.confidence)

    @property
    def summaries(self) -> list[tuple[MonitorFigure, Estimate]]:
        """The figures of the first run, each with the interval over all runs."""
        first = self.runs[0].figures if self.runs else {}
        return [(figure, self.interval(name)) for name, figure in first.items()]


class Laboratory:
    """A net with its monitors, compiled once and run any number of times."""

    def __init__(self, net: Net | CheckedNet, monitors: Sequence[Monitor] = ()) -> None:
        self.net = checked(net)
        self.monitors = tuple(monitors)
        names = [monitor.name for monitor in self.monitors]
        if len(set(names)) < len(names):
            raise NetInvalid(self.net.net.where, "two monitors have the same name")
        probes, first = probes_of(self.net, self.monitors)
        self._compiled = compiled(self.net, probes, first)
        self._simulation: Simulation | None = None
        self._stopped = False

    def stop(self) -> None:
        """Ends the current run soon and starts no other; may be called by another thread."""
        self._stopped = True
        if self._simulation is not None:
            self._simulation.stopped = True

    def run(
        self,
        seed: int | str = 0,
        *,
        until: float = NEVER,
        steps: int | None = None,
        warmup: float = 0,
    ) -> Replication:
        """Runs once. Monitors ignore what happens before `warmup`."""
        records = statistics_of(self.monitors)
        simulation = Simulation(self._compiled, seed=seed, names=names_of(self.monitors, records))
        simulation.stopped = self._stopped
        self._simulation = simulation
        simulation.begin()
        if warmup > 0:
            simulation.run(until=warmup)
            for each in records.values():
                each.reset(warmup)
        ending = simulation.run(until=until, steps=steps)
        figures = {}
        for monitor in self.monitors:
            if record := records.get(monitor.name):
                kind, mean = type(monitor).__name__, record.mean(ending.now)
                ends = (record.least, record.most) if record.count else (None, None)
                figures[monitor.name] = MonitorFigure(monitor.name, kind, record.count, mean, *ends)
        return Replication(str(seed), ending, ending.now - warmup, figures)

    def replicate(
        self,
        replications: int,
        *,
        until: float = NEVER,
        steps: int | None = None,
        warmup: float = 0,
        seed: int = 0,
        confidence: float = CONFIDENCE,
        progress: Callable[[int], None] | None = None,
        enough: Callable[[NetReport], bool] | None = None,
        replications_max: int | None = None,
    ) -> NetReport:
        """Runs `replications` times, and as often again until it is `enough`.

        There are at most `replications_max` runs, which without `enough` is not used.
        """
        if replications < 1:
            raise ModelParameterInvalid("replications", replications, "a number of at least 1")
        if not 0 < confidence < 1:
            raise ModelParameterInvalid("confidence", confidence, "a number between 0 and 1")
        if not 0 <= warmup < until:
            raise ModelParameterInvalid("warmup", warmup, f"a time from 0 to less than {until}")
        most = replications if enough is None else replications_max or replications
        runs: list[Replication] = []
        while len(runs) < most and not self._stopped:
            number = len(runs)
            runs.append(self.run(f"{seed}/{number}", until=until, steps=steps, warmup=warmup))
            if progress is not None:
                progress(number + 1)
            report = NetReport(self.net.name, confidence, tuple(runs))
            if enough is not None and len(runs) % replications == 0 and enough(report):
                break
        return NetReport(self.net.name, confidence, tuple(runs))
