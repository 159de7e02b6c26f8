"""Closed form of the queue service `vma`: two stations, sender → broker, with retransmission.

    Λ1 = λ, Λ2 = λ·A; each station is M/M/n_i                          (eq. 1–6 of the paper)
    W = (L1 + L2)/λ                                                    (eq. 7–8)
    T = W + passages · D_link + retransmissions · E[(V − D_link − S2)⁺]    (eq. 9, and the timer)

A get succeeds with probability q (the reliability) and fails with p = 1 − q. A = (1 − p^R)/q is the
mean number of gets of a message that is given up after R of them; R is unbounded in the paper, so
that A = 1/q. A message passes the link once to the broker and once for each get: 1 + A times.
`ideal`: the broker knows of a failed get at once. `timer`: the message is visible again when the
timeout V has passed since the get; its service and its passage are within that time.

The station part is exact for delivery in any order (a Jackson network). Timers make it approximate:
messages are taken to return at random times. A get that lasts longer than V is repeated although it
may succeed, which adds work (`models/vma/timers.py`); `early_expiry_probability` is the share of
such gets. Above `EARLY_EXPIRY_MAX` the model says whether the service is stable, without times.
`as_printed=True` computes eq. 8 and 9 with their misprints: p for q in the third term, and 2 + p
passages. For delivery in order only a limit is known: `in_order_limit`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.station import MarkovStation, mmc
from dovemq.models.checks import Flags, Floats
from dovemq.models.distributions import Exponential
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.stability import is_stable
from dovemq.models.vma.parameters import VmaParameters
from dovemq.models.vma.timers import ROUNDS_MAX, TimedBroker

EARLY_EXPIRY_MAX: Final = 0.02
"""The closed form ends where a larger share of gets lasts longer than the visibility timeout."""
EARLY_EXPIRY_UNCOUNTED: Final = 1e-3
"""The same where messages are given up after some gets, for which early expiry is not counted."""
_SETTLED: Final = 1e-11


@dataclass(frozen=True, slots=True)
class VmaMeasures:
    """Means in steady state.

    `waiting` counts messages that wait at the sender, or are visible and not yet taken (Fig. 12).
    `gets` is a mean per message; `delivered_share` is the share that is not given up.
    `delivery_time` is from production to delivery (or giving up); its parts are `station_time`,
    `link_time` and `timer_time`. The first two count every get, so the last is what timers add,
    less the time that gets of one message share.
    """

    sender: MarkovStation
    broker: MarkovStation
    stable: Flags
    gets: Floats
    delivered_share: Floats
    number: Floats
    waiting: Floats
    station_time: Floats
    link_time: Floats
    timer_time: Floats
    delivery_time: Floats
    early_expiry_probability: Floats


def vma(model: VmaParameters, *, as_printed: bool = False) -> VmaMeasures:
    _check_exponential(model)
    rate = np.asarray(model.arrival_rate, dtype=np.float64)
    reliability = np.asarray(model.reliability, dtype=np.float64)
    failed = 1.0 - reliability
    gets, given_up = _gets(reliability, model.gets_max)
    timed = _timed(model) if model.failure == "timer" else None
    repeated = timed is not None and not as_printed and bool(np.isinf(model.gets_max).all())
    if timed is not None and repeated:
        gets = _gets_with_timers(timed)
    sender = mmc(rate, model.sender_rate, checks.servers(model.sender_threads, "sender_threads"))
    broker = mmc(
        rate * gets, model.broker_rate, checks.servers(model.broker_threads, "broker_threads")
    )
    stable = sender.stable & broker.stable
    if timed is not None:
        _check_early(timed, stable, EARLY_EXPIRY_MAX if repeated else EARLY_EXPIRY_UNCOUNTED)
    station_time = sender.sojourn_time + gets * broker.sojourn_time
    passages = 1.0 + gets
    if as_printed:
        station_time = _printed_time(sender, broker, failed)
        passages = 2.0 + failed
    link_delay = np.asarray(model.link_delay, dtype=np.float64)
    link_time = passages * link_delay
    timer_time = np.zeros(np.broadcast_shapes(link_time.shape, gets.shape))
    if timed is not None:
        counted = _time_with_timers(timed, broker, gets) - gets * (broker.sojourn_time + link_delay)
        timer_time = counted if repeated else (gets - 1.0) * _rest(timed)
        timer_time = np.where(stable, np.where(stable, timer_time, 0.0), np.inf)
    delivery_time = station_time + link_time + timer_time
    return VmaMeasures(
        sender=sender,
        broker=broker,
        stable=stable,
        gets=gets,
        delivered_share=1.0 - given_up,
        number=sender.number + broker.number,
        waiting=sender.waiting + broker.waiting,
        station_time=station_time,
        link_time=link_time,
        timer_time=timer_time,
        delivery_time=delivery_time,
        early_expiry_probability=np.zeros(gets.shape) if timed is None else timed.early,
    )


def in_order_limit(
    arrival_rate: ArrayLike,
    sender_rate: ArrayLike,
    broker_rate: ArrayLike,
    reliability: ArrayLike = 1.0,
) -> Floats:
    """Returns the mean delivery time in order with unlimited threads and ideal failures.

    With r = λ/μ1, sending and waiting for earlier ids take (1/μ1)·[Ein(r) + (1 − e^−r)/r] together,
    where Ein(r) = ∫₀^r (1 − e^−t)/t dt: message k waits for the slowest of all before it.
    """
    rate = checks.not_negative(arrival_rate, "arrival_rate")
    sender = checks.positive(sender_rate, "sender_rate")
    load = rate / sender
    safe = np.where(load > 0.0, load, 1.0)
    whole = special.exp1(safe) + np.log(safe) + np.euler_gamma
    ordered = np.where(load > 0.0, whole - special.expm1(-safe) / safe, 1.0) / sender
    broker = checks.positive(broker_rate, "broker_rate")
    total: Floats = ordered + 1.0 / (checks.reliability(reliability) * broker)
    return total


def _check_exponential(model: VmaParameters) -> None:
    if model.order == "in":
        raise ModelSpecInvalid("order", "delivery in order has no closed form; it can be simulated")
    own = [model.arrival, model.sender, model.broker]
    own += [times for each in model.classes for times in (each.sender, each.broker)]
    if len(model.classes) > 1 or not all(isinstance(times, Exponential | None) for times in own):
        raise ModelSpecInvalid("vma", "several classes, or times that are not exponential, have no "
                          "closed form; they can be simulated")  # fmt: skip


def _gets(reliability: Floats, gets_max: ArrayLike) -> tuple[Floats, Floats]:
    """Returns the mean gets of a message, and the share of messages that is given up."""
    most = np.asarray(gets_max, dtype=np.float64)
    whole = (most >= 1) & ((most == np.floor(most)) | np.isinf(most))
    if not whole.all():
        needed = "a whole number of at least 1, or infinity,"
        raise ModelParameterInvalid("gets_max", gets_max, needed)
    failed = 1.0 - reliability
    # p^R with 0^∞ = 0: a get that always succeeds is never given up.
    given_up = np.where(failed > 0.0, np.power(failed, most, where=failed > 0.0, out=None), 0.0)
    return (1.0 - given_up) / reliability, given_up


def _timed(model: VmaParameters) -> TimedBroker:
    numbers = (
        model.arrival_rate,
        model.broker_rate,
        model.broker_threads,
        model.reliability,
        model.visibility_timeout,
        model.link_delay,
    )
    names = ("arrival_rate", "service_rate", "threads", "reliability", "timeout", "link_delay")
    arrays = (np.asarray(number, dtype=np.float64) for number in numbers)
    return TimedBroker(*checks.same_shape(**dict(zip(names, arrays, strict=True))))


def _check_early(timed: TimedBroker, stable: Flags, most: float) -> None:
    """Refuses short timeouts; an unstable service is named as such instead."""
    refused = stable & (timed.early > most)
    if refused.any():
        place = checks.first_place(np.asarray(refused))
        early = float(np.broadcast_to(timed.early, refused.shape)[place])
        raise ModelSpecInvalid(
            "visibility_timeout",
            f"{early:.3g} of the gets last longer than it, and the closed form ends at {most:g}; "
            "choose a longer one, or simulate",
        )


def _gets_with_timers(timed: TimedBroker) -> Floats:
    """Returns the mean gets of a message; those at full load where that is unstable."""
    full = timed.gets_at_full_load()
    capacity = timed.threads * timed.service_rate
    stable = is_stable(timed.arrival_rate * full / capacity)
    gets = full
    for _ in range(ROUNDS_MAX):
        arriving = np.where(stable, timed.arrival_rate * gets, 0.0)
        busy = mmc(np.minimum(arriving, capacity), timed.service_rate, timed.threads)
        found = timed.gets(timed.timeout + timed.wait_again(gets, busy.wait_probability))
        found = np.where(stable, found, full)
        if np.allclose(found, gets, rtol=_SETTLED, atol=0.0):
            break
        gets = 0.5 * (gets + found)
    return found


def _time_with_timers(timed: TimedBroker, broker: MarkovStation, gets: Floats) -> Floats:
    """Returns the mean time from a message's arrival at the broker to its delivery."""
    waits = np.where(broker.stable, broker.wait_probability, 0.0)
    again = timed.wait_again(gets, waits)
    # The wait for the first get: that of the class that all others precede (Cobham 1954).
    first = again / np.where(broker.stable, 1.0 - broker.utilisation, 1.0)
    return first + timed.response_time(timed.timeout + again)


def _rest(timed: TimedBroker) -> Floats:
    """Returns E[(V − D − S)⁺], the mean time from a failed get to the end of its timer."""
    left = np.maximum(timed.timeout - timed.link_delay, 0.0)
    return left - (1.0 - timed.early) / timed.service_rate


def _printed_time(sender: MarkovStation, broker: MarkovStation, failed: Floats) -> Floats:
    """Computes eq. 8 as printed: it divides the wait at the broker by p, where q is meant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        third = broker.waiting_time / np.where(failed > 0.0, failed, np.nan)
    if np.isnan(third).any():
        needed = "a number below 1, since eq. 8 as printed divides by 1 − reliability,"
        raise ModelParameterInvalid("reliability", 1.0, needed)
    printed: Floats = sender.sojourn_time + third + 1.0 / ((1.0 - failed) * broker.service_rate)
    return printed
