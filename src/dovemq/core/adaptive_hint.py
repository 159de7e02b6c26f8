"""Adaptive K: the window of a receive on a queue whose index no front end owns (bdqs, §VI).

A receive reads the first K tuples and claims one of them at random. Until others see the claim,
their receives may claim the same tuple, which makes a duplicate. A large K avoids that, and
disturbs the order. With `crowding` for the number of other claims that compete with one, claims
meet others' on crowding / K of the tuples. A message is overtaken by about `disturbance` × (K - 1)
others. If a duplicate is worth `price` positions, the sum of both costs is least at

    K = √(price · crowding / disturbance)

Both numbers are measured by each front end for itself, so that none has to ask another:

- *crowding* starts from the receives that are under way here when one begins, since those of other
  front ends are likely to be as many. Collisions correct it: other claims that were found of
  tuples claimed here, whichever front end made them. They are Poisson events at the rate
  crowding / K, and the receives under way count for `prior` claims with K = 1: the estimate is the
  mean of a gamma distribution.
- *disturbance* is how many later messages were handed out here before an earlier one, per step
  of K above 1.

Older measurements fade with the number of claims, not with time. K rises at once and falls after
`patience` decisions that all ask for less; differences within a band change nothing.
"""

import enum
import math
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import InvariantError

WIDEST: Final = 64
"""The largest K that is chosen; beyond, a receive reads more than it saves."""


class HintSettings(Struct, frozen=True):
    """`price` is the worth of one duplicate in positions of displacement.

    `prior` is the number of claims that receives under way here count for. `memory_claims` is the
    number of claims after which a measurement has faded to 1/e. `disturbance` is what is assumed
    before any was measured; its bounds keep K sensible when other things disturb the order. `band`
    is the relative difference of K that changes nothing. Fewer than `claims_min` claims are no
    reason to decide.
    """

    least: int = 1
    most: int = WIDEST
    price: float = 10.0
    prior: float = 2.0
    memory_claims: float = 60.0
    disturbance: float = 0.5
    disturbance_min: float = 0.25
    disturbance_max: float = 4.0
    band: float = 0.3
    patience: int = 3
    claims_min: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or self.price <= 0 or self.prior <= 0:
            raise InvariantError("The settings of an adaptive K are not in order.")


class HintObservation(Struct, frozen=True):
    """Counts since the last decision, at one front end.

    claims        tuples that were claimed by receives
    checked       claims of which it is known by now whether others claimed the same tuple
    collisions    the other claims of those tuples
    under_way     other receives of the queue that were under way here when one began, summed
                  over receives
    receives      receives that began
    first         claims of messages that were never received before
    overtaken     messages that came after such a one and were handed out here before it, summed
    """

    claims: int = 0
    checked: int = 0
    collisions: int = 0
    under_way: int = 0
    receives: int = 0
    first: int = 0
    overtaken: int = 0


class HintMemory(Struct, frozen=True):
    """The K that holds, and measurements that fade.

    `exposure` is the number of checked claims divided by K, so that collisions / exposure is the
    crowding. `asked_less` decisions in a row asked for a smaller K.
    """

    k: int = 1
    collisions: float = 0.0
    exposure: float = 0.0
    overtaken: float = 0.0
    steps: float = 0.0
    """Claims times (K - 1), which is what `overtaken` is in proportion to."""
    under_way: float = 0.0
    crowding: float = 0.0
    """The crowding at the last decision."""
    crowding_changed: float = 0.0
    """The crowding at the last change of K."""
    asked_less: int = 0


class HintCause(enum.Enum):
    CROWDED = "crowded"
    QUIET = "quiet"
    DISTURBED = "disturbed"
    SUITED = "suited"
    WAITING = "waiting"
    FEW = "few"


_MEASURED: Final = (
    "{crowding:.2f} other claims compete with each one and {disturbance:.2f} messages are "
    "overtaken for each step of K, which asks for K = {wanted:.1f}"
)
_SENTENCES: Final[Mapping[HintCause, str]] = {
    HintCause.CROWDED: f"more claims compete: {_MEASURED}",
    HintCause.QUIET: f"fewer claims compete: {_MEASURED}",
    HintCause.DISTURBED: f"the order suffers more: {_MEASURED}",
    HintCause.SUITED: f"K is kept: {_MEASURED}, which is too close to change it",
    HintCause.WAITING: f"K is kept for now: {_MEASURED}; it is lowered if that lasts",
    HintCause.FEW: "K is kept: {claims} claims since the last decision are too few",
}


class HintReason(Struct, frozen=True):
    """`text` is the sentence for people; `numbers` are those that it tells."""

    cause: HintCause
    numbers: Mapping[str, float]

    @property
    def text(self) -> str:
        return _SENTENCES[self.cause].format(**self.numbers)


class HintDecision(Struct, frozen=True):
    """`k` holds from now on; `before` held until now."""

    k: int
    before: int
    reason: HintReason

    @property
    def changed(self) -> bool:
        return self.k != self.before


def decide_hint(
    seen: HintObservation, memory: HintMemory, settings: HintSettings
) -> tuple[HintDecision, HintMemory]:
    """The K of the next period, and the memory that belongs to it."""
    if seen.claims < settings.claims_min:
        reason = HintReason(HintCause.FEW, {"claims": seen.claims})
        return HintDecision(memory.k, memory.k, reason), memory
    memory = _faded(seen, memory, settings)
    crowding, disturbance = _crowding(memory, settings), _disturbance(memory, settings)
    wanted = math.sqrt(settings.price * crowding / disturbance)
    bounded = min(max(wanted, settings.least), settings.most)
    k, cause = _next(bounded, crowding, memory, settings)
    numbers = {"crowding": crowding, "disturbance": disturbance, "wanted": wanted}
    decision = HintDecision(k, memory.k, HintReason(cause, numbers))
    changed = decision.changed
    return decision, msgspec.structs.replace(
        memory,
        k=k,
        crowding=crowding,
        crowding_changed=crowding if changed else memory.crowding_changed,
        asked_less=memory.asked_less + 1 if cause is HintCause.WAITING else 0,
    )


def _faded(seen: HintObservation, memory: HintMemory, settings: HintSettings) -> HintMemory:
    kept = math.exp(-seen.claims / settings.memory_claims)
    return msgspec.structs.replace(
        memory,
        collisions=kept * memory.collisions + seen.collisions,
        exposure=kept * memory.exposure + seen.checked / memory.k,
        overtaken=kept * memory.overtaken + (seen.overtaken if memory.k > 1 else 0),
        steps=kept * memory.steps + seen.first * (memory.k - 1),
        # Receives that are under way are few and certain: the last period alone counts.
        under_way=seen.under_way / max(1, seen.receives),
    )


def _crowding(memory: HintMemory, settings: HintSettings) -> float:
    """The mean of a gamma distribution after so many Poisson events in so much exposure."""
    # Those that begin while a receive is under way compete with it as those that it found do.
    assumed = 2.0 * memory.under_way
    return (settings.prior * assumed + memory.collisions) / (settings.prior + memory.exposure)


def _disturbance(memory: HintMemory, settings: HintSettings) -> float:
    """The assumed one, until about as many steps as a memory has claims say otherwise."""
    claims = settings.memory_claims
    assumed = settings.disturbance * claims
    found = (assumed + memory.overtaken) / (claims + memory.steps)
    return min(max(found, settings.disturbance_min), settings.disturbance_max)


def _next(
    wanted: float, crowding: float, memory: HintMemory, settings: HintSettings
) -> tuple[int, HintCause]:
    k = memory.k
    margin = max(0.5, settings.band * k)
    if abs(wanted - k) <= margin:
        return k, HintCause.SUITED
    if wanted > k:
        return round(wanted), HintCause.CROWDED
    if memory.asked_less + 1 < settings.patience:
        return k, HintCause.WAITING
    # A crowding that fell by less than the band would not have changed K by itself.
    quieter = crowding < memory.crowding_changed * (1.0 - settings.band)
    return round(wanted), HintCause.QUIET if quieter else HintCause.DISTURBED
