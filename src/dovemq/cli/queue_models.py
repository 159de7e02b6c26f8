"""The model of one station that fits given parameters, its figures and its quantiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovemq.cli.command import WrongUse
from dovemq.cli.modelling import known, number, numbers, required

SWEPT: Final = (
    "arrival_rate", "service_rate", "servers", "capacity", "arrival_scv", "service_scv", "patience",
    "gets_max", "retry_time", "persistence",
)  # fmt: skip
NAMES: Final = (*SWEPT, "approximation", "discipline")
DISCIPLINES: Final = ("fcfs", "ps", "preemptive")
_COLUMNS: Final = (
    "utilisation",
    "wait_probability",
    "waiting",
    "retrying",
    "number",
    "waiting_time",
    "sojourn_time",
    "blocking_probability",
    "abandonment_probability",
    "attempts",
    "lost_share",
    "throughput",
    "gets",
    "exhausted_share",
)
_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "patience": ("gets_max",),
    "retry_time": ("persistence",),
    "capacity": (),
}
"""Parameters that make a model of their own, each with those that belong to it."""


def solved(found: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of the model that fits the parameters, and its station."""
    from dovemq.models import analytic

    rates = numbers("arrival_rate", required(found, "arrival_rate"))
    speeds = numbers("service_rate", required(found, "service_rate"))
    servers = number("servers", found.get("servers", 1))
    scvs = _scvs(found)
    own = _own(found, scvs, len(rates) > 1 or len(speeds) > 1)
    discipline = found.get("discipline", DISCIPLINES[0])
    if discipline not in DISCIPLINES:
        raise WrongUse(f"discipline: {discipline!r} is none of {', '.join(DISCIPLINES)}")
    if len(rates) > 1 or len(speeds) > 1:
        return _priority(rates, speeds, servers, scvs, discipline)
    rate, speed = rates[0], speeds[0]
    if discipline == "preemptive":
        raise WrongUse("preemptive is for classes of priority: give several arrival rates")
    if own is not None:
        if discipline != "fcfs":
            raise WrongUse(f"{own} is for stations of the discipline fcfs")
        return _special(own, rate, speed, servers, found)
    if discipline == "ps":
        return _shared(rate, speed, servers, scvs)
    if "arrival_scv" in found or (servers != 1 and scvs):
        name = found.get("approximation", "allen-cunneen")
        arrivals, services = scvs.get("arrival_scv", 1.0), scvs.get("service_scv", 1.0)
        return f"GI/G/m by {name}", analytic.ggm(rate, arrivals, speed, services, servers, name)
    if scvs:
        return "M/G/1", analytic.mg1(rate, speed, scvs["service_scv"])
    return "M/M/c", analytic.mmc(rate, speed, servers)


def _scvs(found: Mapping[str, Any]) -> dict[str, float]:
    names = [name for name in ("arrival_scv", "service_scv") if name in found]
    return {name: number(name, found[name]) for name in names}


def _own(found: Mapping[str, Any], scvs: Mapping[str, float], classes: bool) -> str | None:
    """The one parameter that makes a model of its own; what does not belong to it is refused."""
    asked = [name for name in _OTHERS if name in found]
    for name, more in _OTHERS.items():
        for other in more:
            if other in found and name not in found:
                raise WrongUse(f"{other} is for {name}: give both, or leave it out")
    if len(asked) > 1:
        raise WrongUse(f"{asked[0]} and {asked[1]} exclude each other")
    if asked and classes:
        reason = f"classes of priority need unlimited places: leave out {asked[0]}"
        raise WrongUse(reason)
    if asked and scvs:
        name = asked[0]
        raise WrongUse(f"{name} is for exponential arrivals and services: leave out the scvs")
    return asked[0] if asked else None


def _special(
    own: str, rate: float, speed: float, servers: float, found: Mapping[str, Any]
) -> tuple[str, Any]:
    from dovemq.models import analytic
    from dovemq.models.analytic.abandonment import ImpatientStation, with_returns
    from dovemq.models.analytic.retrials import retrial

    value = number(own, found[own])
    if own == "capacity":
        return "M/M/c/K", analytic.mmck(rate, speed, servers, value)
    if own == "retry_time":
        again = number("persistence", found.get("persistence", 1.0))
        return "M/M/c with retrials", retrial(rate, speed, _whole(servers), value, again)
    station = ImpatientStation(rate, speed, _whole(servers), value)
    if "gets_max" not in found:
        return "M/M/c+M (Erlang-A)", station
    returning = with_returns(station, number("gets_max", found["gets_max"]))
    return "M/M/c+M (Erlang-A) with returns, approximate", returning


def _whole(servers: float) -> int:
    from dovemq.models import checks

    return int(checks.servers(servers))


def _shared(
    rate: float, speed: float, servers: float, scvs: Mapping[str, float]
) -> tuple[str, Any]:
    from dovemq.models.analytic.sharing import shared

    if "arrival_scv" in scvs:
        raise WrongUse("ps needs Poisson arrivals: leave out arrival_scv")
    name = "M/M/c" if scvs.get("service_scv", 1.0) == 1.0 else "M/G/c"
    return f"{name} with processor sharing", shared(rate, speed, servers)


def _priority(
    rates: Sequence[float],
    speeds: Sequence[float],
    servers: float,
    scvs: Mapping[str, float],
    discipline: str,
) -> tuple[str, Any]:
    from dovemq.models import analytic

    if "arrival_scv" in scvs:
        raise WrongUse("classes of priority need Poisson arrivals: leave out arrival_scv")
    if discipline == "ps":
        raise WrongUse("classes share the servers alike with ps: add their arrival rates")
    interrupts = discipline == "preemptive"
    name = "preemptive priority" if interrupts else "priority"
    if servers == 1:
        one = analytic.preemptive_mg1 if interrupts else analytic.priority_mg1
        return name, one(rates, speeds, scvs.get("service_scv", 1.0))
    if len(set(speeds)) > 1 or scvs:
        raise WrongUse("classes on several servers need one exponential service: one service rate")
    several = analytic.preemptive_mmc if interrupts else analytic.priority_mmc
    return name, several(rates, speeds[0], servers)


def rows_of(model: str, station: Any, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not model.endswith("priority"):
        return [_row(station, None) | _bounds(model, station, found)]
    classes = range(len(station.arrival_rate))
    return [{"class": place + 1, **_row(station, place)} for place in classes]


def _row(station: Any, place: int | None) -> dict[str, Any]:
    # A station with returns has its figures and those of the station inside.
    within = getattr(station, "station", station)
    stable = within.stable if place is None else within.stable[place]
    row: dict[str, Any] = {"stable": bool(stable)}
    for name in _COLUMNS:
        owner = station if hasattr(station, name) else within
        if hasattr(owner, name):
            value = getattr(owner, name)
            row[name] = known(float(value if place is None else value[place]))
    return row


def _bounds(model: str, station: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds of the mean wait of one server, where the mean itself is approximate."""
    from dovemq.models.analytic.bounds import wait_bounds

    if not model.startswith("GI/G") or float(station.servers) != 1.0 or not station.arrival_rate:
        return {}
    scvs = _scvs(found)
    arrivals, services = scvs.get("arrival_scv", 1.0), scvs.get("service_scv", 1.0)
    bounds = wait_bounds(station.arrival_rate, arrivals, station.service_rate, services)
    names = {"low": bounds.low, "high": bounds.high, "kingman": bounds.kingman}
    return {f"waiting_time_{name}": float(value) for name, value in names.items()}


@dataclass(frozen=True, slots=True)
class KnownTimes:
    """Quantiles by closed forms: `how` good they are, of which `kinds` of times.

    `stations` has one entry for each row of the model.
    """

    how: str
    kinds: tuple[str, ...]
    stations: Sequence[Any]

    def at(self, level: float) -> list[dict[str, float]]:
        return [
            {kind: float(getattr(each, f"{kind}_quantile")(level)) for kind in self.kinds}
            for each in self.stations
        ]


def times_of(model: str, station: Any, found: Mapping[str, Any]) -> KnownTimes | None:
    """Returns None where no closed form knows the quantiles, so that a simulation is needed."""
    from dovemq.models.analytic.percentiles import GeneralStation
    from dovemq.models.analytic.sharing import SharedStation

    if model in ("M/M/c", "M/M/c/K"):
        return KnownTimes("exact", ("wait", "sojourn"), [station])
    if "Erlang-A" in model:
        within = getattr(station, "station", station)
        how = "exact" if within is station else "approximate"
        return KnownTimes(how, ("wait", "served_wait"), [within])
    if model.endswith("priority"):
        return _priority_times(station, found)
    if model == "M/M/c with retrials":
        return _retrial_times(station, found)
    if model == "M/M/c with processor sharing":
        rate, speed = float(station.arrival_rate), float(station.service_rate)
        return KnownTimes("exact", ("sojourn",), [SharedStation(rate, speed, int(station.servers))])
    if model == "M/G/c with processor sharing":
        return None
    scvs = _scvs(found)
    general = GeneralStation(
        float(station.arrival_rate),
        float(station.service_rate),
        int(station.servers),
        scvs.get("arrival_scv", 1.0),
        scvs.get("service_scv", 1.0),
    )
    return KnownTimes(general.quality, ("wait", "sojourn"), [general])


def _priority_times(station: Any, found: Mapping[str, Any]) -> KnownTimes | None:
    from dovemq.models.analytic.percentiles import exact_for
    from dovemq.models.analytic.pollaczek import CONSTANT_SCV
    from dovemq.models.analytic.urgency import class_times
    from dovemq.models.distributions import by_moments

    scv, servers = _scvs(found).get("service_scv", 1.0), int(station.servers[0])
    interrupted = found.get("discipline") == "preemptive"
    if interrupted and (servers > 1 or scv < CONSTANT_SCV):
        return None
    services = [by_moments(1.0 / float(speed), scv) for speed in station.service_rate]
    times = class_times(station.arrival_rate, services, servers, interrupted=interrupted)
    # The wait of an interrupted class is not one time, so its quantile is not asked for.
    kinds = ("sojourn",) if interrupted else ("wait", "sojourn")
    return KnownTimes(exact_for(scv), kinds, times)


def _retrial_times(station: Any, found: Mapping[str, Any]) -> KnownTimes:
    from dovemq.models.analytic.orbit import RetrialTimes

    again = float(found.get("persistence", 1.0))
    times = RetrialTimes(
        station.arrival_rate, station.service_rate, station.servers, found["retry_time"], again
    )
    kinds = ("wait", "sojourn") if again == 1.0 else ("wait", "served_wait", "sojourn")
    return KnownTimes("exact", kinds, [times])


def tailed(found: Mapping[str, Any], model: str, station: Any) -> Any:
    """The station with the distribution of its wait."""
    from dovemq.models.analytic import single_server
    from dovemq.models.distributions import by_moments

    if model == "M/G/1":
        scv = number("service_scv", found["service_scv"])
        return single_server(station.arrival_rate, by_moments(1.0 / station.service_rate, scv))
    if "Erlang-A" in model:
        return getattr(station, "station", station)
    if model not in ("M/M/c", "M/M/c/K"):
        raise WrongUse(f"the distribution of the wait is not known for {model}")
    return station
