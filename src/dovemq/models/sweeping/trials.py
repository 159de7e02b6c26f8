"""One configuration of a model, ready to be replicated, and the measures to report."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.estimates import Estimate
from dovemq.models.simulation import SimulationRun
from dovemq.models.simulation.columns import SimulationResult

Value: TypeAlias = int | float | str | bool
T = TypeVar("T", bound=SimulationResult)
Measure: TypeAlias = Callable[[T], Estimate]

_QUANTILE: Final = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Question:
    """`source` is the content of the model's file, if it has one; `horizon` follows the warm-up."""

    measures: tuple[str, ...]
    horizon: float
    warm_up: float = 0.0
    source: Any = None

    def run(self, seed: int, replication: int) -> SimulationRun:
        """Returns a run of one replication in one slice, whose figures are those of the whole."""
        return SimulationRun(
            self.horizon, self.warm_up, replications=1, seed=seed, slices=1, first=replication
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """`replicate(seed, replication)` returns one number per measure; NaN if nothing was measured.

    `stable` is None where it is not known.
    """

    replicate: Callable[[int, int], tuple[float, ...]]
    stable: bool | None


Prepare: TypeAlias = Callable[[Mapping[str, Value], Question], Trial]


def value_of(estimate: Estimate) -> float:
    return estimate.values[0] if estimate.values else math.nan


def chosen(
    names: Sequence[str], known: Mapping[str, Measure[T]], quantiles: Mapping[str, str | None]
) -> list[Measure[T]]:
    """Finds measures by name; `quantiles` has the stems of `sojourn_p95` or `response_p95:job`.

    Their values are the job types whose sojourn is meant, or None for all.
    """
    return [_measure(name, known, quantiles) for name in names]


def _measure(
    name: str, known: Mapping[str, Measure[T]], quantiles: Mapping[str, str | None]
) -> Measure[T]:
    if name in known:
        return known[name]
    head, sign, of = name.partition(":")
    stem, _, level = head.rpartition("_")
    stem += sign + of
    found = _QUANTILE.fullmatch(level)
    if stem in quantiles and found and 0 < float(found[1]) < 100:
        return lambda result: result.quantile(float(found[1]) / 100, quantiles[stem])
    stems = (each.partition(":") for each in quantiles)
    names = [*known, *("".join((stem, "_p95", *rest)) for stem, *rest in stems)]
    raise ModelSpecInvalid("measures", f"{name!r} is none of {', '.join(names)}")


def number(values: Mapping[str, Value], name: str, default: float | None = None) -> float:
    value = values.get(name, default)
    if value is None:
        raise ModelSpecInvalid(name, "missing: it must be fixed or in the grid")
    if isinstance(value, bool | str):
        raise ModelSpecInvalid(name, f"{value!r} is not a number")
    return value


def whole(values: Mapping[str, Value], name: str, default: int | None = None) -> int:
    value = number(values, name, default)
    if value != int(value):
        raise ModelSpecInvalid(name, f"{value:g} is not a whole number")
    return int(value)


def check_names(values: Mapping[str, Value], known: Sequence[str]) -> None:
    if unknown := [name for name in values if name not in known]:
        raise ModelSpecInvalid(unknown[0], f"none of {', '.join(known)}")
