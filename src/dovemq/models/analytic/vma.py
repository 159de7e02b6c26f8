"""The queue service of 000 as two stations: sender → broker → receiver, with retransmission.

    Λ1 = λ, Λ2 = λ·A; each station is M/M/n_i                          (000, eq. 1–6)
    W = (L1 + L2)/λ                                                    (eq. 7–8)
    T = W + passages · D_link + retransmissions · E[(V − D_link − S2)⁺]    (eq. 9, and the timer)

A = (1 − p^R)/q is the mean number of gets of a message that is given up after R of them; R is
unbounded in the paper, then A = 1/q. A message passes the link once to the broker and once a get:
1 + A times. A get fails with p = 1 − q. `ideal`: the broker knows at once. `timer`: a message whose
get failed is visible again when the timeout V has passed, counted from the get; its service and its
passage are within that time.

The station part is exact for delivery in any order (a Jackson network; a bound on the gets only
gives the visits a class each). The timer part takes what comes back by timers as if it came at any
time, and leaves out the work that gets add which outlast V; their share is told as
`early_expiry_probability`.
`as_printed=True` computes eq. 8 and 9 with their misprints: p for q in the third term, and 2 + p
passages. For delivery in order only a limit is known: `in_order_limit`.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dovemq.models.analytic import parameters
from dovemq.models.analytic.parameters import Flags, Floats
from dovemq.models.analytic.station import MarkovStation, mmc
from dovemq.models.errors import ParameterInvalid

Failure: TypeAlias = Literal["ideal", "timer"]
FAILURES: Final = ("ideal", "timer")


@dataclass(frozen=True, slots=True)
class Vma:
    """Parameters; every one may be an array. Rates and times share one unit of time.

    `gets_max` is R; infinite means that a message is never given up.
    """

    arrival_rate: ArrayLike
    sender_rate: ArrayLike
    broker_rate: ArrayLike
    sender_threads: ArrayLike
    broker_threads: ArrayLike
    reliability: ArrayLike = 1.0
    link_delay: ArrayLike = 0.0
    visibility_timeout: ArrayLike = 0.0
    gets_max: ArrayLike = np.inf
    failure: Failure = "ideal"


@dataclass(frozen=True, slots=True)
class VmaMeasures:
    """`waiting` is that of Fig. 12: waiting at the sender, and visible but not yet taken.

    `gets` is the mean number per message, `delivered_share` the share not given up.
    `delivery_time` is the whole, from production to delivery (or giving up); its parts are
    `station_time`, `link_time` and `timer_time`.
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


def vma(model: Vma, *, as_printed: bool = False) -> VmaMeasures:
    rate = parameters.arrival_rate(model.arrival_rate)
    reliability = _reliability(model.reliability)
    failed = 1.0 - reliability
    gets, given_up = _gets(reliability, model.gets_max)
    sender = mmc(
        rate,
        parameters.service_rate(model.sender_rate, "sender_rate"),
        parameters.servers(model.sender_threads, "sender_threads"),
    )
    broker = mmc(
        rate * gets,
        parameters.service_rate(model.broker_rate, "broker_rate"),
        parameters.servers(model.broker_threads, "broker_threads"),
    )
    stable = sender.stable & broker.stable
    station_time = sender.sojourn_time + gets * broker.sojourn_time
    passages = 1.0 + gets
    if as_printed:
        station_time = _printed_time(sender, broker, failed)
        passages = 2.0 + failed
    link_delay = parameters.duration(model.link_delay, "link_delay")
    link_time = passages * link_delay
    timer_time, early = _timer(model, broker, gets, link_delay)
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
        early_expiry_probability=early,
    )


def in_order_limit(
    arrival_rate: ArrayLike,
    sender_rate: ArrayLike,
    broker_rate: ArrayLike,
    reliability: ArrayLike = 1.0,
) -> Floats:
    """Mean delivery time in order as both numbers of threads grow without end, ideal failures.

    With r = λ/μ1, sending and waiting for earlier ids take (1/μ1)·[Ein(r) + (1 − e^−r)/r] together,
    where Ein(r) = ∫₀^r (1 − e^−t)/t dt: message k waits for the slowest of all before it.
    """
    rate = parameters.arrival_rate(arrival_rate)
    sender = parameters.service_rate(sender_rate, "sender_rate")
    load = rate / sender
    safe = np.where(load > 0.0, load, 1.0)
    whole = special.exp1(safe) + np.log(safe) + np.euler_gamma
    ordered = np.where(load > 0.0, whole - special.expm1(-safe) / safe, 1.0) / sender
    broker = parameters.service_rate(broker_rate, "broker_rate")
    total: Floats = ordered + 1.0 / (_reliability(reliability) * broker)
    return total


def _reliability(value: ArrayLike) -> Floats:
    found = parameters.share(value, "reliability")
    return parameters.positive(found, "reliability")


def _gets(reliability: Floats, gets_max: ArrayLike) -> tuple[Floats, Floats]:
    """Mean gets of a message, and the share that is given up."""
    most = np.asarray(gets_max, dtype=np.float64)
    whole = (most >= 1) & ((most == np.floor(most)) | np.isinf(most))
    if not whole.all():
        raise ParameterInvalid("gets_max", gets_max, "a whole number of at least 1, or infinity,")
    failed = 1.0 - reliability
    # p^R with 0^∞ = 0: no certain success is ever given up.
    given_up = np.where(failed > 0.0, np.power(failed, most, where=failed > 0.0, out=None), 0.0)
    return (1.0 - given_up) / reliability, given_up


def _timer(
    model: Vma, broker: MarkovStation, gets: Floats, link_delay: Floats
) -> tuple[Floats, Floats]:
    if model.failure not in FAILURES:
        raise ParameterInvalid("failure", model.failure, f"one of {FAILURES}")
    timeout = parameters.duration(model.visibility_timeout, "visibility_timeout")
    left = np.maximum(timeout - link_delay, 0.0)
    early = np.exp(-broker.service_rate * left)
    if model.failure == "ideal":
        shape = np.broadcast_shapes(left.shape, gets.shape)
        return np.zeros(shape), np.zeros(shape)
    rest = left - (1.0 - early) / broker.service_rate
    return (gets - 1.0) * rest, early


def _printed_time(sender: MarkovStation, broker: MarkovStation, failed: Floats) -> Floats:
    """Eq. 8 letter by letter: the wait at the broker is divided by p where q is meant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        third = broker.waiting_time / np.where(failed > 0.0, failed, np.nan)
    if np.isnan(third).any():
        raise ParameterInvalid("reliability", 1.0, "below 1, for eq. 8 as printed divides by p: it")
    printed: Floats = sender.sojourn_time + third + 1.0 / ((1.0 - failed) * broker.service_rate)
    return printed
