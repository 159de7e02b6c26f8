"""Reads the file of a sweep.

    model = "queue"                      # queue, vma, network or cpn
    measures = ["sojourn_time", "sojourn_p95"]
    file = "plan.toml"                   # of a network or a net
    [fixed]
    service_rate = 10
    [grid]
    arrival_rate = "5:35:5"              # from:to:step, or a list
    consumers = [1, 2, 4]
    [run]
    horizon = 1000
    [replications]
    min = 10
    max = 200
    half_width = 0.02                    # of the mean

Unknown keys and values of a wrong type are refused with their place.
"""

import itertools
import math
import tomllib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from dovemq.models.errors import ModelError, ModelSpecInvalid
from dovemq.models.estimates import CONFIDENCE
from dovemq.models.grids import spaced
from dovemq.models.simulation import SimulationRun
from dovemq.models.specs import SpecTable, read_table
from dovemq.models.sweeping.stopping import Stopping
from dovemq.models.sweeping.sweep import CONFIGURATIONS_MAX, Sweep
from dovemq.models.sweeping.trials import Question, Value

REPLICATIONS: Final = 10


class _Run(SpecTable, frozen=True):
    """`unstable` allows configurations without a steady state; `common` gives all configurations
    the same random numbers, so that they differ by their parameters alone."""

    horizon: float
    warm_up: float = 0.0
    seed: int = 0
    confidence: float = CONFIDENCE
    unstable: bool = False
    common: bool = False


class _Replications(SpecTable, frozen=True):
    """`half_width` is wanted for the measures named in `of`, or for all of them."""

    min: int = REPLICATIONS
    max: int | None = None
    batch: int | None = None
    half_width: float | None = None
    of: tuple[str, ...] = ()


class _File(SpecTable, frozen=True):
    model: str
    measures: Annotated[tuple[str, ...], Meta(min_length=1)]
    run: _Run
    file: str | None = None
    fixed: dict[str, Any] = msgspec.field(default_factory=dict)
    grid: dict[str, Any] = msgspec.field(default_factory=dict)
    replications: _Replications = _Replications()


def read_sweep(content: Mapping[str, Any], read_file: Callable[[str], str]) -> Sweep:
    """`read_file` returns the text of a file whose name is relative to this one."""
    file = read_table(content, _File)
    run, measures = file.run, tuple(dict.fromkeys(file.measures))
    try:
        SimulationRun(run.horizon, run.warm_up, seed=run.seed, confidence=run.confidence)
    except ModelError as error:
        raise ModelSpecInvalid("run", str(error)) from error
    axes, points = _grid(file.grid)
    return Sweep(
        model=file.model,
        axes=axes,
        points=points,
        question=Question(measures, run.horizon, run.warm_up, _source(file, read_file)),
        stopping=_stopping(file.replications, measures),
        fixed={name: _value(f"fixed.{name}", each) for name, each in file.fixed.items()},
        seed=run.seed,
        common=run.common,
        unstable=run.unstable,
        confidence=run.confidence,
    )


def _source(file: _File, read_file: Callable[[str], str]) -> Any:
    if file.file is None:
        return None
    if file.model not in ("network", "cpn"):
        raise ModelSpecInvalid(
            "file", f"model {file.model!r} takes no file: give fixed or grid values"
        )
    text = read_file(file.file)
    if file.model == "cpn":
        return text
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelSpecInvalid("file", str(error)) from error


def _stopping(table: _Replications, measures: tuple[str, ...]) -> Stopping:
    of = table.of or measures
    if unknown := [name for name in of if name not in measures]:
        raise ModelSpecInvalid("replications.of", f"{unknown[0]!r} is not among the measures")
    return Stopping(
        least=table.min,
        most=table.min if table.max is None else table.max,
        batch=table.min if table.batch is None else table.batch,
        half_width=table.half_width,
        judged=tuple(measures.index(name) for name in of),
    )


def _grid(axes: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[Value, ...], ...]]:
    """Returns the axes and every combination of their values; the last axis varies fastest."""
    values = [_axis(f"grid.{name}", each) for name, each in axes.items()]
    count = math.prod(map(len, values))
    if count > CONFIGURATIONS_MAX:
        raise ModelSpecInvalid(
            "grid", f"{count} configurations are more than {CONFIGURATIONS_MAX:,}"
        )
    return tuple(axes), tuple(itertools.product(*values))


def _axis(place: str, given: Any) -> list[Value]:
    if isinstance(given, str) and ":" in given:
        try:
            return list(spaced(place, given))
        except ModelError as error:
            raise ModelSpecInvalid(place, str(error)) from error
    if not isinstance(given, list) or not given:
        raise ModelSpecInvalid(place, f"{given!r} is neither a list nor FROM:TO:STEP")
    return [_value(place, each) for each in given]


def _value(place: str, given: Any) -> Value:
    if not isinstance(given, int | float | str):
        raise ModelSpecInvalid(place, f"{given!r} is not a number, a text, true or false")
    return given
