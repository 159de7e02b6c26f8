"""The parameters of a load run."""

import enum
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.access import AccessKey
from dovemq.core.errors import DoveError

BODY_BYTES_MIN: Final = 64
"""Room for the label at the start of a body."""
ATTRIBUTE_BYTES_MAX: Final = 64
"""Room for the sequence number that a message carries as an attribute."""
NAME_LENGTH_MAX: Final = 24
DRAIN_SPARE_MS: Final = 5_000
INTERVALS_MAX: Final = 20
"""Random intervals are longer than so many times their mean less than once in a billion."""

WAVE_SECONDS_MIN: Final = 1

_COUNTS: Final = (
    *("applications", "receivers", "senders"),
    *("processes", "repetitions", "lease_seconds"),
)
_ONE_BY_ONE: Final = (
    "1 on FIFO queues with resend: a repeated part of a batch would be out of order"
)
_NO_ATTRIBUTES: Final[Mapping[str, str]] = {}


class Phases(enum.StrEnum):
    TOGETHER = "together"
    APART = "apart"
    """Receivers start when the last sender has ended."""


class ArrivalPattern(enum.StrEnum):
    POISSON = "poisson"
    CONSTANT = "constant"


class Pauses(enum.StrEnum):
    CONSTANT = "constant"
    EXPONENTIAL = "exponential"


class PlanInvalid(DoveError):
    """A field is invalid; the text names the field and its valid values."""


class Endpoint(Struct, frozen=True):
    """A service and its credentials. Requests are unsigned if there is no key."""

    url: str
    key: AccessKey | None = None
    region: str = "us-east-1"
    ca_bundle: str | None = None


class LoadPlan(Struct, frozen=True, kw_only=True):
    """Parameters of a run with `applications` queues, each with its own `senders` and `receivers`.

    A sender or receiver is a coroutine with one connection. Each sender sends `messages` messages,
    or sends until `seconds_max`. Queues are created and removed at `setup`, or at the endpoint.
    With `further_endpoints` of the same service the clients are spread over all of them, and one
    that fails goes on at the next, as behind a load balancer.
    `send_rate` and `receive_rate` are messages and requests per second of all clients together;
    with a rate there is no pause. `punctual` requests go out at their exact time, at the cost of a
    processor. `receive_pauses`: the work on received messages takes `receive_pause_ms` each time,
    or on average. `wave_seconds`: the clients of a queue come and leave again and again, in waves
    of this length; all but the first of each kind.

    `resend`: a send that was refused or has no answer is repeated. `plain`: messages have no
    attributes, and receivers request none. After `answer_ms_max` an answer counts as lost. After
    `outage_ms_max` without success a client gives up, and the run ends. After `drain_ms_max`
    without any event the run stops waiting for missing messages. Receivers continue for `linger_ms`
    after everything was received. Rates and times leave out `warm_up_ms` at the start of each
    phase. `server_pid` is the server's process on this machine, whose CPU time is measured.
    """

    endpoint: Endpoint
    name: str
    setup: Endpoint | None = None
    further_endpoints: tuple[Endpoint, ...] = ()
    seed: int = 0
    applications: int = 1
    senders: int = 8
    receivers: int = 8
    messages: int | None = 1_000
    seconds_max: float | None = None
    wave_seconds: float | None = None
    send_pause_ms: int = 0
    receive_pause_ms: int = 0
    receive_pauses: Pauses = Pauses.CONSTANT
    body_bytes: int = 1_024
    send_batch: int = 1
    receive_batch: int = 10
    wait_seconds: int = 1
    lease_seconds: int = 30
    phases: Phases = Phases.TOGETHER
    send_rate: float | None = None
    receive_rate: float | None = None
    arrivals: ArrivalPattern = ArrivalPattern.POISSON
    punctual: bool = False
    fifo: bool = False
    queue_attributes: Mapping[str, str] = _NO_ATTRIBUTES
    keep_queues: bool = False
    resend: bool = False
    plain: bool = False
    quit_probability: float = 0.0
    answer_ms_max: int = 30_000
    outage_ms_max: int = 10_000
    drain_ms_max: int | None = None
    linger_ms: int = 0
    warm_up_ms: int = 0
    repetitions: int = 1
    processes: int = 1
    server_pid: int | None = None

    def __post_init__(self) -> None:
        for field, holds, wanted in self._rules():
            if not holds:
                raise PlanInvalid(f"{field} must be {wanted}")

    def _rules(self) -> Iterator[tuple[str, bool, str]]:
        """Yields each rule with its field, whether it holds, and the valid values."""
        is_plain = self.name.isascii() and self.name.replace("-", "").isalnum()
        named = is_plain and len(self.name) <= NAME_LENGTH_MAX
        yield "name", named, f"up to {NAME_LENGTH_MAX} letters, digits and hyphens"
        for field in _COUNTS:
            yield field, getattr(self, field) >= 1, "at least 1"
        ends = self.messages is not None or self.seconds_max is not None
        yield "messages", ends, "a number, unless seconds_max is one"
        batch_max = limits.BATCH_COUNT.most
        for field in ("send_batch", "receive_batch"):
            yield field, 1 <= getattr(self, field) <= batch_max, f"1 to {batch_max}"
        bytes_max = limits.BATCH_BYTES_MAX // self.send_batch - ATTRIBUTE_BYTES_MAX
        fits = BODY_BYTES_MIN <= self.body_bytes <= bytes_max
        yield "body_bytes", fits, f"{BODY_BYTES_MIN} to {bytes_max}"
        for field in ("send_rate", "receive_rate"):
            rate = getattr(self, field)
            yield field, rate is None or rate > 0, "more than 0"
        wave = self.wave_seconds
        rated = self.send_rate is not None or self.receive_rate is not None
        in_waves = wave is None or (wave >= WAVE_SECONDS_MIN and not rated)
        yield "wave_seconds", in_waves, f"at least {WAVE_SECONDS_MIN}, and without rates"
        patient = self.answer_ms_max > 1_000 * self.wait_seconds
        yield "answer_ms_max", patient, "longer than a receive may wait"
        in_order = not (self.fifo and self.resend) or self.send_batch == 1
        yield "send_batch", in_order, _ONE_BY_ONE
        clients = self.applications * max(self.senders, self.receivers)
        yield "processes", self.processes <= clients, "at most as many as clients"

    @property
    def drain_ms(self) -> int:
        if self.drain_ms_max is not None:
            return self.drain_ms_max
        return 2 * self.lease_ms + self.between_receives_ms + DRAIN_SPARE_MS

    @property
    def between_receives_ms(self) -> int:
        """Returns how long the plan may leave a queue without a receive."""
        intervals_ms = INTERVALS_MAX * 1_000 / self.receive_rate if self.receive_rate else 0
        drawn = self.receive_pauses is Pauses.EXPONENTIAL
        pauses = INTERVALS_MAX if drawn else 1
        return pauses * self.receive_pause_ms + round(intervals_ms)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return (self.endpoint, *self.further_endpoints)

    @property
    def lease_ms(self) -> int:
        return 1_000 * self.lease_seconds

    @property
    def senders_total(self) -> int:
        return self.applications * self.senders

    @property
    def receivers_total(self) -> int:
        return self.applications * self.receivers

    @property
    def sends_at_once(self) -> bool:
        """Tells whether a sender sends its next message as soon as the last one is answered."""
        return self.send_batch == 1 and self.send_rate is None and not self.send_pause_ms

    def run_name(self, repetition: int) -> str:
        return f"{self.name}-{repetition}"

    def queue_name(self, repetition: int, application: int) -> str:
        suffix = limits.FIFO_SUFFIX if self.fifo else ""
        return f"{self.run_name(repetition)}-{application}{suffix}"
