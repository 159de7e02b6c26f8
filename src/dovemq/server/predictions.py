"""Predictions of queues beside what was measured, as documents for the admin API.

Parameters come from the window of `service/tempo.py`, and figures from `models/live`. One answer is
computed at a time, in a thread, and kept for all who ask the same within two seconds.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from dovemq.core.queue import Queue
from dovemq.models.live import (
    SAMPLES_MIN,
    SERVERS_MAX,
    CurvePoint,
    Forecast,
    LiveCalibration,
    LiveFigure,
    Scenario,
    calibrated,
    curve,
    forecast,
    known_figure,
    quantile,
    saturation,
    servers_for,
)
from dovemq.server.admin_views import Document
from dovemq.server.prediction_words import (
    NO_CONSUMERS,
    PARTITION_ALONE,
    PREDICTED,
    TOO_FEW,
    TOO_MANY,
    UNSTABLE,
    assumptions_of,
    summary_of,
)
from dovemq.server.queue_rows import CONSUMER_MS
from dovemq.service import Service
from dovemq.service.tempo import TempoWindow

KEPT_MS: Final = 2_000
KEPT_MAX: Final = 64
ESTIMATED_MAX: Final = 2_000
"""Samples from which parameters are estimated; of more, equally distant ones are taken."""
PERCENTILE: Final = 95.0
_MS: Final = 1_000.0
MODEL: Final = (
    "GI/G/m: the share of messages that wait by Erlang C, their mean wait by Kraemer and "
    "Langenbach-Belz, waits taken as exponential, services as measured"
)
BAND: Final = (
    "95 %: each parameter goes to the ends of its interval, and the changes are combined as the "
    "root of the sum of their squares, on a logarithmic scale (variance estimates recovery)"
)


class WhatIf(Struct, frozen=True):
    """Parameters that replace the measured ones where they are not None."""

    arrival_rate: float | None = None
    consumers: int | None = None
    partitions: int | None = None
    percentile: float | None = None
    target_ms: int | None = None


class _Observed(Struct, frozen=True):
    """All that a prediction is computed from, so that a thread can do it."""

    window: TempoWindow
    consumers: int
    partitions: int
    fifo: bool
    shared: bool

    @property
    def per_receive(self) -> float:
        return self.window.received / self.window.hits if self.window.hits else 1.0


class Predictions:
    """`shared` says whether other front ends serve the same queues."""

    def __init__(self, service: Service, *, shared: bool = False) -> None:
        self._service = service
        self._shared = shared
        self._kept: OrderedDict[tuple[int, WhatIf], tuple[int, Document]] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def of(self, queue: Queue, what_if: WhatIf) -> Document:
        async with self._one_at_a_time:
            now_ms = self._service.clock.now_ms()
            place = (queue.number, what_if)
            kept = self._kept.get(place)
            if kept is not None and now_ms - kept[0] < KEPT_MS:
                return kept[1]
            observed = self._observe(queue, now_ms)
            found = await asyncio.to_thread(_document, observed, what_if)
            document = {"at_ms": now_ms, **found}
            self._kept[place] = (now_ms, document)
            self._kept.move_to_end(place)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
            return document

    def _observe(self, queue: Queue, now_ms: int) -> _Observed:
        consumers = self._service.clients.consumers(queue.key, now_ms - CONSUMER_MS)
        settings = queue.settings
        return _Observed(
            self._service.tempo.window(queue, now_ms),
            max(consumers, self._service.polls.parked_at(queue.number)),
            len(settings.layout.active),
            settings.fifo,
            self._shared,
        )


def _document(observed: _Observed, what_if: WhatIf) -> Document:
    window = observed.window
    gaps, services = _thinned(window.gaps), _thinned(window.services)
    known = calibrated(window.sent, window.seconds, _seconds(gaps), _seconds(services))
    level = (what_if.percentile or PERCENTILE) / 100
    consumers = observed.consumers if what_if.consumers is None else what_if.consumers
    scenario = Scenario(_servers(observed, consumers), what_if.partitions or 1, level)
    wanted = known
    if known is not None and what_if.arrival_rate is not None:
        wanted = _at_rate(known, what_if.arrival_rate)
    predicted: Document | None = None
    state = _hindrance(wanted, consumers, scenario)
    if wanted is not None and state is None:
        predicted = _predicted(wanted, scenario)
        predicted["curve"] = [_point(each) for each in curve(wanted, scenario)]
        state = PREDICTED if predicted["stable"] else UNSTABLE
    document: Document = {
        "state": state,
        "window_seconds": round(window.seconds, 1),
        "measured": _measured(observed, known, level),
        "scenario": {
            "arrival_rate": wanted.arrival_rate.value if wanted else what_if.arrival_rate,
            "consumers": consumers,
            "handled_at_once": scenario.servers,
            "partitions": scenario.partitions,
            "percentile": level * 100,
        },
        "model": {"name": "GI/G/m", "method": MODEL, "band": BAND, "samples_min": SAMPLES_MIN},
        "as_measured": _as_measured(observed, known, level),
        "predicted": predicted,
    }
    if what_if.target_ms is not None:
        document["target"] = _target(observed, wanted, level, what_if.target_ms)
    document["summary"] = summary_of(document)
    document["assumptions"] = assumptions_of(
        per_receive=observed.per_receive,
        repeated=window.repeated / window.received if window.received else 0.0,
        partitions=observed.partitions,
        divided=scenario.partitions > 1,
        fifo=observed.fifo,
        shared=observed.shared,
    )
    return document


def _servers(observed: _Observed, consumers: int) -> int:
    return max(round(consumers * observed.per_receive), 1)


def _hindrance(known: LiveCalibration | None, consumers: int, scenario: Scenario) -> str | None:
    """Why there is no prediction, if so."""
    if known is None:
        return TOO_FEW
    if not consumers:
        return NO_CONSUMERS
    if scenario.partitions > consumers:
        return PARTITION_ALONE
    return TOO_MANY if scenario.servers > SERVERS_MAX else None


def _as_measured(
    observed: _Observed, known: LiveCalibration | None, level: float
) -> Document | None:
    """The prediction for the arrivals and consumers that were measured."""
    scenario = Scenario(_servers(observed, observed.consumers), 1, level)
    if known is None or _hindrance(known, observed.consumers, scenario) is not None:
        return None
    return _predicted(known, scenario)


def _at_rate(known: LiveCalibration, rate: float) -> LiveCalibration:
    return LiveCalibration(
        known_figure(rate),
        known.arrival_scv,
        known.service_time,
        known.service_scv,
        known.service_nodes,
    )


def _predicted(known: LiveCalibration, scenario: Scenario) -> Document:
    found: Forecast = forecast(known, scenario)
    return {
        "stable": found.stable,
        "utilisation": _figure(found.utilisation),
        "throughput": _figure(found.throughput),
        "wait_ms": _times(found.wait, found.wait_quantile),
        "response_ms": _times(found.response, found.response_quantile),
        "saturation_rate": _figure(saturation(known, scenario)),
    }


def _point(point: CurvePoint) -> Document:
    return {
        "arrival_rate": point.arrival_rate,
        "response_ms": _times(point.response, point.response_quantile),
    }


def _measured(observed: _Observed, known: LiveCalibration | None, level: float) -> Document:
    window = observed.window
    rate = window.settled / window.seconds if window.seconds else 0.0
    service = known.service_time.value if known else 0.0
    return {
        **{name: getattr(window, name) for name in ("sent", "received", "repeated", "settled")},
        "throughput": rate,
        "consumers": observed.consumers,
        "partitions": observed.partitions,
        "messages_per_receive": observed.per_receive,
        "leased_mean": rate * service,
        "wait_ms": _sampled(window.waits, level),
        "service_ms": _sampled(window.services, level),
        "response_ms": _sampled(window.responses, level),
        "parameters": _parameters(known),
    }


def _parameters(known: LiveCalibration | None) -> Document | None:
    """The parameters of the model; the scv says how much times vary: 1 is exponential."""
    if known is None:
        return None
    return {
        "arrival_rate": _sized(known.arrival_rate),
        "arrival_scv": _sized(known.arrival_scv),
        "service_ms": _sized(known.service_time, _MS),
        "service_scv": _sized(known.service_scv),
    }


def _target(
    observed: _Observed, known: LiveCalibration | None, level: float, target_ms: int
) -> Document:
    servers = None if known is None else servers_for(known, target_ms / _MS, level)
    needed = None if servers is None else math.ceil(servers / observed.per_receive)
    return {"target_ms": target_ms, "consumers": needed}


def _sampled(values: Sequence[float], level: float) -> Document:
    mean = math.fsum(values) / len(values) if values else None
    return {"samples": len(values), "mean": mean, "quantile": quantile(values, level)}


def _times(mean: LiveFigure, level: LiveFigure) -> Document:
    return {"mean": _figure(mean, _MS), "quantile": _figure(level, _MS)}


def _sized(figure: LiveFigure, unit: float = 1.0) -> Document:
    return {**_figure(figure, unit), "samples": figure.samples}


def _figure(figure: LiveFigure, unit: float = 1.0) -> dict[str, Any]:
    """The figure and its interval; null stands for infinity."""
    return {name: _finite(getattr(figure, name) * unit) for name in ("value", "low", "high")}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _seconds(values_ms: Sequence[float]) -> list[float]:
    return [each / _MS for each in values_ms]


def _thinned(values: Sequence[float]) -> Sequence[float]:
    return values[:: len(values) // ESTIMATED_MAX + 1]
