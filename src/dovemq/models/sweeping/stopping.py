"""The rule that says when a configuration has enough replications.

It is applied only at fixed numbers of replications (`least`, then every `batch` more), to all
replications up to there. So the result does not depend on where and in which order they ran.
Repeated checks make intervals hold the true value a little less often than they claim; few and late
checks cost little.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.estimates import Estimate
from dovemq.models.simulation.runs import REPLICATIONS_MAX


@dataclass(frozen=True, slots=True)
class Stopping:
    """`half_width` is relative to the mean; None means that `least` replications are enough.

    `judged` are the positions of the measures that must be within it.
    """

    least: int
    most: int
    batch: int
    half_width: float | None = None
    judged: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        place = "replications"
        if not 2 <= self.least <= self.most <= REPLICATIONS_MAX:
            reason = f"2 ≤ min ≤ max ≤ {REPLICATIONS_MAX:,} is needed"
            raise ModelSpecInvalid(place, f"min is {self.least}, max {self.most}: {reason}")
        if self.batch < 1:
            raise ModelSpecInvalid(f"{place}.batch", f"{self.batch}: at least 1 is needed")
        if self.half_width is None and self.most > self.least:
            raise ModelSpecInvalid(
                f"{place}.half_width", "missing: without it max is never reached"
            )
        if self.half_width is not None and not 0 < self.half_width < math.inf:
            raise ModelSpecInvalid(f"{place}.half_width", f"{self.half_width:g}: above 0 is needed")

    def next_after(self, replications: int) -> int:
        return min(replications + self.batch, self.most)

    def content_with(self, estimates: Sequence[Estimate]) -> bool:
        """Says whether the estimates, one for each measure, are precise enough."""
        if self.half_width is None:
            return True
        return all(self._known(estimates[place]) for place in self.judged)

    def _known(self, estimate: Estimate) -> bool:
        assert self.half_width is not None
        return estimate.half_width <= self.half_width * abs(estimate.mean)
