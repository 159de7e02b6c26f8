"""Costs of consumers: F_j of `elastic`, a growing convex function of their number."""

from dataclasses import dataclass

import numpy as np

from dovemq.models.checks import Floats, not_negative
from dovemq.models.errors import ModelParameterInvalid


@dataclass(frozen=True, slots=True)
class Cost:
    """F(m) = linear·m + quadratic·m², or the listed F(1), F(2), …, whose last step continues.

    Each consumer costs something, and at least as much as the one before.
    """

    linear: float = 1.0
    quadratic: float = 0.0
    listed: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.listed:
            steps = np.diff(np.array([0.0, *self.listed]))
            if not np.isfinite(steps).all() or (steps[1:] <= 0).any() or steps[0] < 0:
                raise ModelParameterInvalid("cost", list(self.listed), "a list that grows")
            if len(self.listed) < 2 or (np.diff(steps[1:]) < 0).any():
                raise ModelParameterInvalid(
                    "cost", list(self.listed), "two or more, with steps that never shrink,"
                )
            return
        not_negative(self.linear, "cost: linear")
        not_negative(self.quadratic, "cost: quadratic")
        if self.linear + self.quadratic <= 0.0:
            raise ModelParameterInvalid("cost", 0, "a number above 0")

    def of(self, consumers: Floats) -> Floats:
        if not self.listed:
            return self.linear * consumers + self.quadratic * consumers**2
        listed = np.asarray(self.listed)
        last = np.minimum(consumers, len(listed)).astype(np.int64)
        further = listed[-1] - listed[-2]
        total: Floats = listed[last - 1] + (consumers - last) * further
        return total
