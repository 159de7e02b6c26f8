"""The queue service of 000, sender → broker → receiver, by the kernel of the tandem.

Parameters have the names that `dovemq model vma` gives them; one of `service_rate` and `threads`
stands for both stations. Times may vary less or more than exponential ones (`…_scv`).
"""

from collections.abc import Mapping
from typing import Any, Final

from dovemq.models.distributions import Distribution, by_moments
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.simulation import TandemResult, simulate_tandem
from dovemq.models.sweeping.trials import (
    Measure,
    Quantile,
    Question,
    Trial,
    Value,
    check_names,
    chosen,
    number,
    value_of,
    whole,
)
from dovemq.models.vma.parameters import VmaParameters, timed_vma

_BOTH: Final = {
    "service_rate": ("sender_rate", "broker_rate"),
    "threads": ("sender_threads", "broker_threads"),
}
_TEXTS: Final = {"order": "out", "failure": "ideal"}
_NAMES: Final = (
    "arrival_rate",
    *_BOTH,
    *(name for names in _BOTH.values() for name in names),
    "arrival_scv",
    "sender_scv",
    "broker_scv",
    "reliability",
    *_TEXTS,
    "visibility_timeout",
    "link_delay",
)
_MEASURES: Final[Mapping[str, Measure[TandemResult]]] = {
    "delivery_time": lambda found: found.sojourn,
    "sending_time": lambda found: found.sending,
    "waiting": lambda found: found.waiting,
    "number": lambda found: found.in_system,
    "sender_utilisation": lambda found: found.sender_busy,
    "broker_utilisation": lambda found: found.broker_busy,
    "sender_any_busy": lambda found: found.sender_any_busy,
    "broker_any_busy": lambda found: found.broker_any_busy,
    "throughput": lambda found: found.throughput,
    "gets": lambda found: found.leases,
}
_QUANTILES: Final[Mapping[str, Quantile[TandemResult]]] = {
    "delivery": lambda found, level: found.quantile(level)
}


def prepare_vma(values: Mapping[str, Value], question: Question) -> Trial:
    tandem = tandem_of(values)
    measures = chosen(question.measures, _MEASURES, _QUANTILES)

    def replicate(seed: int, replication: int) -> tuple[float, ...]:
        found = simulate_tandem(tandem, question.run(seed, replication))
        return tuple(value_of(measure(found)) for measure in measures)

    return Trial(replicate, not tandem.overloaded)


def tandem_of(values: Mapping[str, Value]) -> VmaParameters:
    check_names(values, _NAMES)
    given = dict(values)
    for name, own in _BOTH.items():
        if name in given:
            given = {**dict.fromkeys(own, given[name]), **given}
    texts: dict[str, Any] = {name: _text(given, name) for name in _TEXTS}
    return timed_vma(
        arrival=_time(given, "arrival"),
        sender=_time(given, "sender"),
        broker=_time(given, "broker"),
        sender_threads=whole(given, "sender_threads"),
        broker_threads=whole(given, "broker_threads"),
        reliability=number(given, "reliability", 1.0),
        order=texts["order"],
        failure=texts["failure"],
        visibility_timeout=number(given, "visibility_timeout", 0.0),
        link_delay=number(given, "link_delay", 0.0),
    )


def _time(values: Mapping[str, Value], name: str) -> Distribution:
    rate = number(values, f"{name}_rate")
    if not rate > 0:
        raise ModelSpecInvalid(f"{name}_rate", f"{rate:g}: a number above 0 is needed")
    return by_moments(1.0 / rate, number(values, f"{name}_scv", 1.0))


def _text(values: Mapping[str, Value], name: str) -> str:
    value = values.get(name, _TEXTS[name])
    if not isinstance(value, str):
        raise ModelSpecInvalid(name, f"{value!r} is no text")
    return value
