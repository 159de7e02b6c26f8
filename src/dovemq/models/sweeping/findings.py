"""The replications so far: which ones are still needed, and figures by configuration.

The order in which replications arrive does not matter.
"""

from collections.abc import Sequence

from dovemq.models.estimates import Estimate
from dovemq.models.sweeping.sweep import Sweep


class SweepFindings:
    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        count = len(sweep.points)
        self._values: list[dict[int, tuple[float, ...]]] = [{} for _ in range(count)]
        self._wanted = [sweep.stopping.least] * count
        self.stable = [sweep.trial(number).stable for number in range(count)]
        self._ended = [stable is False and not sweep.unstable for stable in self.stable]

    def add(self, configuration: int, replication: int, values: Sequence[float]) -> None:
        self._values[configuration][replication] = tuple(values)

    @property
    def done(self) -> int:
        """The number of finished replications of all configurations."""
        return sum(map(len, self._values))

    def asked(self) -> list[tuple[int, int]]:
        """Returns the replications that are needed next; none when all have ended."""
        return [
            (configuration, replication)
            for configuration in range(len(self._values))
            for replication in self._missing(configuration)
        ]

    def replications(self, configuration: int) -> int:
        return min(self._wanted[configuration], len(self._values[configuration]))

    def estimates(self, configuration: int) -> list[Estimate]:
        """Returns an estimate for each measure from the replications up to the last check."""
        values = self._values[configuration]
        rows = [values[number] for number in range(self.replications(configuration))]
        return [
            Estimate(tuple(row[place] for row in rows if row[place] == row[place]), confidence)
            for confidence in [self._sweep.confidence]
            for place in range(len(self._sweep.question.measures))
        ]

    def content(self, configuration: int) -> bool:
        """Says whether its figures are as precise as the sweep demands."""
        if not self.replications(configuration):
            return False
        return self._sweep.stopping.content_with(self.estimates(configuration))

    def _missing(self, configuration: int) -> list[int]:
        stopping, values = self._sweep.stopping, self._values[configuration]
        while not self._ended[configuration]:
            wanted = self._wanted[configuration]
            if missing := [number for number in range(wanted) if number not in values]:
                return missing
            if wanted == stopping.most or self.content(configuration):
                self._ended[configuration] = True
            else:
                self._wanted[configuration] = stopping.next_after(wanted)
        return []
