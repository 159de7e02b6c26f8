"""What the file of a sweep says, as a `Sweep`: `read_sweep` of parsed TOML, checked key by key.

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

A key that is not known is refused, as is one of another type; the place is named.
"""

import itertools
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final

from dovemq.models.errors import ModelError, SweepInvalid
from dovemq.models.grids import spaced
from dovemq.models.simulation import Run
from dovemq.models.sweeping.stopping import Stopping
from dovemq.models.sweeping.sweep import CONFIGURATIONS_MAX, Sweep
from dovemq.models.sweeping.trials import Question, Value

_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(("model", "measures", "file", "fixed", "grid", "run", "replications")),
    "run": frozenset(("horizon", "warm_up", "seed", "confidence", "unstable", "common")),
    "replications": frozenset(("min", "max", "batch", "half_width", "of")),
}
REPLICATIONS: Final = 10


def read_sweep(text: Mapping[str, Any], read_file: Callable[[str], str]) -> Sweep:
    """`read_file` gives the text of a file that is named relative to this one."""
    top = _Table("", text)
    run, replications = top.table("run"), top.table("replications")
    measures = top.names("measures")
    if not measures:
        raise SweepInvalid("measures", "absent: name at least one")
    model = top.get("model", str)
    horizon, warm_up = run.number("horizon"), run.number("warm_up", 0.0)
    seed, confidence = run.get("seed", int, 0), run.number("confidence", 0.95)
    try:
        Run(horizon, warm_up, seed=seed, confidence=confidence)
    except ValueError as error:
        raise SweepInvalid("run", str(error)) from error
    axes, points = _grid(top.get("grid", dict, {}))
    return Sweep(
        model=model,
        axes=axes,
        points=points,
        question=Question(measures, horizon, warm_up, _source(top, model, read_file)),
        stopping=_stopping(replications, measures),
        fixed={
            name: _value(f"fixed.{name}", each) for name, each in top.get("fixed", dict, {}).items()
        },
        seed=seed,
        common=run.get("common", bool, False),
        unstable=run.get("unstable", bool, False),
        confidence=confidence,
    )


class _Table:
    def __init__(self, place: str, content: Any) -> None:
        if not isinstance(content, Mapping):
            raise SweepInvalid(place, "a table is needed")
        self._place = place
        self._content = content
        if unknown := sorted(set(content) - _KEYS[place]):
            known = ", ".join(sorted(_KEYS[place]))
            raise SweepInvalid(self._at(unknown[0]), f"not known; keys: {known}")

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        value = self._content.get(key, default)
        if value is None:
            raise SweepInvalid(self._at(key), "absent")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise SweepInvalid(self._at(key), f"{value!r} is no {kind.__name__}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._content.get(key, default)
        return float(value) if type(value) is int else float(self.get(key, float, default))

    def names(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        if not all(isinstance(value, str) for value in values):
            raise SweepInvalid(self._at(key), f"{values!r} is no list of names")
        return tuple(dict.fromkeys(values))

    def table(self, key: str) -> "_Table":
        return _Table(key, self._content.get(key, {}))

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key


def _source(top: _Table, model: str, read_file: Callable[[str], str]) -> Any:
    if "file" not in top:
        return None
    if model not in ("network", "cpn"):
        raise SweepInvalid("file", f"a model {model!r} has none: its parameters are fixed or swept")
    text = read_file(top.get("file", str))
    if model == "cpn":
        return text
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SweepInvalid("file", str(error)) from error


def _stopping(table: _Table, measures: tuple[str, ...]) -> Stopping:
    least = table.get("min", int, REPLICATIONS)
    of = table.names("of") or measures
    if unknown := [name for name in of if name not in measures]:
        raise SweepInvalid("replications.of", f"{unknown[0]!r} is not among the measures")
    return Stopping(
        least=least,
        most=table.get("max", int, least),
        batch=table.get("batch", int, least),
        half_width=table.number("half_width") if "half_width" in table else None,
        judged=tuple(measures.index(name) for name in of),
    )


def _grid(axes: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[Value, ...], ...]]:
    """Every combination, the last axis fastest."""
    values = [_axis(f"grid.{name}", each) for name, each in axes.items()]
    count = 1
    for each in values:
        count *= len(each)
    if count > CONFIGURATIONS_MAX:
        raise SweepInvalid("grid", f"{count} configurations are more than {CONFIGURATIONS_MAX:,}")
    return tuple(axes), tuple(itertools.product(*values))


def _axis(place: str, given: Any) -> list[Value]:
    if isinstance(given, str) and ":" in given:
        try:
            return list(spaced(place, given))
        except ModelError as error:
            raise SweepInvalid(place, str(error)) from error
    if not isinstance(given, list) or not given:
        raise SweepInvalid(place, f"{given!r} is neither a list nor FROM:TO:STEP")
    return [_value(place, each) for each in given]


def _value(place: str, given: Any) -> Value:
    if not isinstance(given, int | float | str):
        raise SweepInvalid(place, f"{given!r} is no number, text, true or false")
    return given
