"""bdqs-fig4 and bdqs-fig5 as figures: measured points, simulated curves with bands, verdicts."""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from dovemq.experiments.bdqs_performance import (
    MESSAGES_QUICK,
    PHASES,
    QUEUES_SIMULATED,
    RECEIVE,
    SEND,
    SERVERS_SIMULATED,
    SHARE,
    LoadGrid,
    LoadPoint,
    ServersMeasured,
    Simulated,
    measure,
    simulated,
)
from dovemq.experiments.bdqs_station import StationFit, fitted_station
from dovemq.experiments.claims import exact, judge, relative_error
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve, ratio
from dovemq.models.estimates import Interval

THROUGHPUT: Final = LoadGrid((1, 2, 3), (1, 2, 4, 8))
THROUGHPUT_QUICK: Final = LoadGrid((1, 3), (1, 8))
RESPONSE: Final = LoadGrid((1, 3), (1, 4), (0.0, 0.05, 0.2))
RESPONSE_QUICK: Final = LoadGrid((1, 3), (1, 8), (0.0, 0.2))
ERROR_MAX: Final = 0.25
"""The simulation may miss a measured rate by so much before it counts as wrong."""
LINEAR_MIN: Final = 0.9
RESPONSIVE_S: Final = 0.2
RESPONSIVE_LOAD: Final = 0.8
FIT_MIN: Final = 0.9
QUEUES_HIGHEST: Final = QUEUES_SIMULATED[-1]
SERVERS_FITTED: Final = (10, 30, 50, 70)
_FIT_SHOWN: Final = 1.2
"""A fit is drawn up to this multiple of the longest time, so that the points keep their room."""
_UNITS: Final = {SEND: "messages sent/s", RECEIVE: "messages received and deleted/s"}

Points = Mapping[tuple[str, LoadPoint], Interval]
Predicted = Mapping[tuple[str, LoadPoint], Simulated]


def throughput(effort: Effort) -> Figure:
    throughput_grid, _ = _grids(effort)
    return throughput_figure(_measured_once(effort).only(throughput_grid), effort)


def _grids(effort: Effort) -> tuple[LoadGrid, LoadGrid]:
    """The points of fig. 4 and of fig. 5."""
    if effort.quick:
        return THROUGHPUT_QUICK, RESPONSE_QUICK
    return THROUGHPUT, RESPONSE


def _measured_once(effort: Effort) -> ServersMeasured:
    """Both figures share their servers, costs and the points that they have in common."""
    return effort.once("bdqs servers", lambda: measure(effort, *_grids(effort)))


def throughput_figure(measured: ServersMeasured, effort: Effort) -> Figure:
    points = [
        *measured.runs,
        *(LoadPoint(count, each) for count in SERVERS_SIMULATED for each in QUEUES_SIMULATED),
    ]
    predicted: dict[tuple[str, LoadPoint], Simulated] = {}
    for phase in PHASES:
        for point in points:
            effort.tell(f"simulation of {phase}, {point.servers} servers, {point.queues} queues")
            predicted[phase, point] = simulated(measured, point, phase, effort.seed)
    return Figure(
        f"Throughput by load and by size (bdqs, fig. 4); {_scale(measured, quick=effort.quick)}",
        _columns(measured, predicted),
        tuple(_throughput_panels(measured, predicted)),
        tuple(throughput_claims(measured, predicted)),
        readings(measured, quick=effort.quick),
    )


def _scale(measured: ServersMeasured, *, quick: bool) -> str:
    most = max(point.queues for point in measured.runs)
    messages = MESSAGES_QUICK if quick else 100
    return f"measured N ≤ {max(measured.costs)}, Q ≤ {most}, m = {messages}"


def readings(measured: ServersMeasured, *, quick: bool) -> tuple[str, ...]:
    costs = [
        f"{count} server(s): "
        + ", ".join(
            f"{phase} {1e3 * measured.cost(count, phase)[0].front_end:.2f} ms at the front end and "
            f"{1e3 * measured.cost(count, phase)[0].storage:.2f} ms at all nodes of Cassandra"
            for phase in PHASES
        )
        for count in measured.costs
    ]
    return (
        f"Points up to {max(measured.costs)} servers are measured, each server with "
        f"{SHARE:.0%} of a core for its node and its front end ({measured.limit}). Curves are "
        "simulated with servers of the same share and the measured costs; the band is that of the "
        "costs' 95 % intervals.",
        f"T_send = T_recv = 3, m = {MESSAGES_QUICK if quick else 100}, L = 2 KB, K = 1, none, "
        "R = W = 1, 3 replicas or as many as there are servers. Measured Q are 1 to "
        f"{max(point.queues for point in measured.runs)} instead of 20 to 1000.",
        "The senders and receivers share the machine with the servers, and are not limited.",
        *costs,
        f"More than {max(measured.costs)} servers are simulated with the costs of "
        f"{max(measured.costs)}: a message costs Cassandra as much CPU on more nodes.",
    )


def _columns(measured: ServersMeasured, predicted: Predicted) -> dict[str, Column]:
    keys = list(predicted)
    gap = Interval(math.nan, math.nan, math.nan)
    rates = [
        measured.rate(point, phase) if point in measured.runs else gap for phase, point in keys
    ]
    times = [
        measured.response(point, phase) if point in measured.runs else gap for phase, point in keys
    ]
    return {
        "phase": [phase for phase, _ in keys],
        "servers": [point.servers for _, point in keys],
        "queues": [point.queues for _, point in keys],
        "delay_s": [point.delay_s for _, point in keys],
        **interval_columns("measured_rate", rates),
        **interval_columns("measured_response_s", times),
        **interval_columns("simulated_rate", [each.rate for each in predicted.values()]),
        **interval_columns("simulated_response_s", [each.response for each in predicted.values()]),
    }


def _throughput_panels(measured: ServersMeasured, predicted: Predicted) -> Iterator[Panel]:
    for phase in PHASES:
        unit = _UNITS[phase]
        yield Panel(
            f"{phase}, measured", "queues, Q", unit, tuple(_measured(measured, phase, predicted))
        )
    for phase in PHASES:
        unit = _UNITS[phase]
        curves = [
            interval_curve(
                f"N = {count}, simulated",
                {
                    float(queues): predicted[phase, LoadPoint(count, queues)].rate
                    for queues in QUEUES_SIMULATED
                },
            )
            for count in SERVERS_SIMULATED
        ]
        yield Panel(f"{phase}, simulated", "queues, Q", unit, tuple(curves))
    for phase in PHASES:
        unit = _UNITS[phase]
        yield Panel(
            f"{phase} by size", "servers, N", unit, tuple(_by_size(measured, phase, predicted))
        )


def _measured(measured: ServersMeasured, phase: str, predicted: Predicted) -> Iterator[Curve]:
    for count in measured.costs:
        own = [point for point in measured.runs if point.servers == count]
        name = f"N = {count}"
        yield interval_curve(
            f"{name}, simulated",
            {float(point.queues): predicted[phase, point].rate for point in own},
            family=name,
        )
        yield _dots(
            f"{name}, measured",
            {float(point.queues): measured.rate(point, phase) for point in own},
            name,
        )


def _by_size(measured: ServersMeasured, phase: str, predicted: Predicted) -> Iterator[Curve]:
    for queues in QUEUES_SIMULATED[1::2]:
        name = f"Q = {queues}"
        values = {
            float(count): predicted[phase, LoadPoint(count, queues)].rate
            for count in SERVERS_SIMULATED
        }
        yield interval_curve(f"{name}, simulated", values, family=name)
    most = max(point.queues for point in measured.runs)
    values = {
        float(count): measured.rate(LoadPoint(count, most), phase) for count in measured.costs
    }
    yield _dots(f"Q = {most}, measured", values, f"Q = {most}")


def _dots(label: str, values: Mapping[float, Interval], family: str) -> Curve:
    means, lows, highs = (
        tuple(getattr(each, name) for each in values.values()) for name in ("mean", "low", "high")
    )
    return Curve(label, tuple(values), means, lows, highs, points=True, family=family)


def throughput_claims(measured: ServersMeasured, predicted: Predicted) -> Iterator[Verdict]:
    most = max(point.queues for point in measured.runs)
    for phase in PHASES:
        yield judge(
            f"the simulation predicts what was measured ({phase})",
            "simulated / measured rate - 1, at every measured point",
            [
                relative_error(predicted[phase, point].rate, measured.rate(point, phase))
                for point in measured.runs
            ],
            least=-ERROR_MAX,
            most=ERROR_MAX,
        )
        least, largest = min(measured.costs), max(measured.costs)
        yield judge(
            f"more servers deliver more, measured ({phase})",
            f"rate with {largest} servers / with {least}, {most} queues",
            [
                ratio(
                    measured.rate(LoadPoint(largest, most), phase),
                    measured.rate(LoadPoint(least, most), phase),
                )
            ],
            least=1.0,
        )
        yield judge(
            f"throughput grows linearly with the servers, simulated ({phase})",
            f"rate / (N / 10 × rate of 10 servers), Q = {QUEUES_HIGHEST}, N = 20 to 70",
            [
                _per_server(predicted, phase, count)
                for count in SERVERS_SIMULATED
                if count > SERVERS_SIMULATED[0]
            ],
            least=LINEAR_MIN,
        )
    yield judge(
        "receiving and deleting is slower than sending, measured",
        "receive+delete rate / send rate, at every measured point",
        [ratio(measured.rate(each, RECEIVE), measured.rate(each, SEND)) for each in measured.runs],
        most=1.0,
    )


def _per_server(predicted: Predicted, phase: str, count: int) -> Interval:
    """The means alone: the costs, which make the band, are the same for both sizes."""
    rates = [
        predicted[phase, LoadPoint(each, QUEUES_HIGHEST)].middle.rate
        for each in (count, SERVERS_SIMULATED[0])
    ]
    return exact([rates[0] / rates[1] * SERVERS_SIMULATED[0] / count])[0]


def response_time(effort: Effort) -> Figure:
    _, response_grid = _grids(effort)
    return response_figure(_measured_once(effort).only(response_grid), effort)


def response_figure(measured: ServersMeasured, effort: Effort) -> Figure:
    delays = dict.fromkeys(point.delay_s for point in measured.runs)
    points = [
        LoadPoint(count, queues, delay_s)
        for count in SERVERS_FITTED
        for queues in QUEUES_SIMULATED
        for delay_s in delays
    ]
    predicted: dict[tuple[str, LoadPoint], Simulated] = {}
    for phase in PHASES:
        for point in (*measured.runs, *points):
            effort.tell(f"simulation of {phase}, {point.servers} servers, {point.queues} queues")
            predicted[phase, point] = simulated(measured, point, phase, effort.seed)
    fits = dict(_fits(measured, predicted))
    return Figure(
        "Response time by throughput, with the M/M/k queue that fits (bdqs, fig. 5); "
        f"{_scale(measured, quick=effort.quick)}",
        _columns(measured, predicted),
        tuple(_response_panels(measured, predicted, fits)),
        tuple(response_claims(measured, predicted, fits)),
        (
            *readings(measured, quick=effort.quick),
            "Load is varied by Q and by δ_send = δ_recv. A measured receive is timed without its "
            "delete, a simulated one with it.",
            "The spread is that of the points (rate, response time), both in logarithms. M/M/k "
            "leaves the distances of the points from its curve unexplained.",
            *(
                f"{phase}, N = {count}: k = {fit.servers}, 1/μ = {1e3 * fit.service_s:.1f} ms, "
                f"explains {fit.share:.0%} of the spread of the points"
                for (phase, count), fit in fits.items()
            ),
        ),
    )


Fits = Mapping[tuple[str, int], StationFit]


def _fits(
    measured: ServersMeasured, predicted: Predicted
) -> Iterator[tuple[tuple[str, int], StationFit]]:
    for phase in PHASES:
        for count in (*measured.costs, *SERVERS_FITTED):
            pairs = sorted(_pairs(measured, predicted, phase, count))
            yield (phase, count), fitted_station(*zip(*pairs, strict=True))


def _pairs(
    measured: ServersMeasured, predicted: Predicted, phase: str, count: int
) -> Iterator[tuple[float, float]]:
    for each, point in predicted:
        if each != phase or point.servers != count:
            continue
        if point in measured.runs:
            yield measured.rate(point, phase).mean, measured.response(point, phase).mean
        else:
            figures = predicted[each, point].middle
            yield figures.rate, figures.response


def _response_panels(
    measured: ServersMeasured, predicted: Predicted, fits: Fits
) -> Iterator[Panel]:
    for phase in PHASES:
        for kind, counts in (("measured", tuple(measured.costs)), ("simulated", SERVERS_FITTED)):
            curves: list[Curve] = []
            for count in counts:
                pairs = sorted(_pairs(measured, predicted, phase, count))
                rates, times = zip(*pairs, strict=True)
                name, fit = f"N = {count}", fits[phase, count]
                grid = np.linspace(0.0, max(rates), 80)[1:]
                responses = fit.responses(grid)
                shown = responses <= _FIT_SHOWN * max(times)
                curves.append(
                    Curve(
                        f"{name}, M/M/{fit.servers}",
                        tuple(grid[shown].tolist()),
                        tuple((1e3 * responses[shown]).tolist()),
                        dashed=True,
                        family=name,
                    )
                )
                curves.append(
                    Curve(
                        f"{name}, {kind}",
                        rates,
                        tuple(1e3 * each for each in times),
                        points=True,
                        family=name,
                    )
                )
            yield Panel(f"{phase}, {kind}", _UNITS[phase], "response time, ms", tuple(curves))


def response_claims(
    measured: ServersMeasured, predicted: Predicted, fits: Fits
) -> Iterator[Verdict]:
    for phase in PHASES:
        for kind, counts in (("measured", tuple(measured.costs)), ("simulated", SERVERS_FITTED)):
            yield judge(
                f"response time follows M/M/k ({phase}, {kind})",
                "share of the spread of the points that M/M/k explains, each N",
                exact(fits[phase, count].share for count in counts),
                least=FIT_MIN,
            )
        light = [
            time
            for count in measured.costs
            for pairs in [sorted(_pairs(measured, predicted, phase, count))]
            for rate, time in pairs
            if rate <= RESPONSIVE_LOAD * max(each for each, _ in pairs)
        ]
        yield judge(
            f"below 80 % of the highest throughput an answer takes less than 200 ms ({phase})",
            "mean response time in s, measured",
            exact(light),
            most=RESPONSIVE_S,
        )
