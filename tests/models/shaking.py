"""Changed copies of data: numbers multiplied at random, everything else as it was."""

import dataclasses
import math
import random
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from dovemq.models.estimates import Estimate, Interval

SIZES = (0.1, 1.0, 3.0)


class Shaker:
    """Multiplies a share of the numbers by random factors; values of one estimate stay together.

    Elements of a list get equal factors if `alike`, so that repeated runs still agree.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._size = self._rng.choice(SIZES)
        self._share = self._rng.choice((0.2, 1.0))
        self._alike = self._rng.random() < 0.7

    def changed(self, value: Any) -> Any:
        if isinstance(value, bool):
            return value if self._rng.random() < 0.5 else not value
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, Interval | Estimate):
            return self._together(value)
        if isinstance(value, Mapping):
            return {key: self.changed(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._elements(value))
        if isinstance(value, np.ndarray):
            return np.array([self.changed(row) for row in value.tolist()])
        return self._fields(value)

    def _number(self, value: float) -> float:
        scaled = value * self._factor()
        return round(scaled) if isinstance(value, int) else scaled

    def _factor(self) -> float:
        if self._rng.random() > self._share:
            return 1.0
        return math.exp(self._rng.gauss(0.0, self._size))

    def _together(self, value: Interval | Estimate) -> Interval | Estimate:
        factor = self._factor()
        if isinstance(value, Estimate):
            return dataclasses.replace(value, values=tuple(factor * x for x in value.values))
        return Interval(factor * value.mean, factor * value.low, factor * value.high)

    def _elements(self, values: list[Any] | tuple[Any, ...]) -> list[Any]:
        if not self._alike:
            return [self.changed(each) for each in values]
        state, changed = self._rng.getstate(), []
        for each in values:
            self._rng.setstate(state)
            changed.append(self.changed(each))
        return changed

    def _fields(self, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            pairs = {name: getattr(value, name) for name in value.__struct_fields__}
            return msgspec.structs.replace(
                value, **{name: self.changed(each) for name, each in pairs.items()}
            )
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return dataclasses.replace(
                value, **{name: self.changed(getattr(value, name)) for name in names}
            )
        return value
