"""The rules of a topic beyond first come, first served in unlimited room.

Only simulations know them. A topic may share its consumers among all its tasks (`ps`: n tasks on c
consumers each run at the speed min(1, c/n)), or let urgent tasks interrupt others, which resume
later (`preemptive`). It may have room for so many tasks, in line and in service. A task that finds
no room is lost with its job, or blocks the consumer that has just ended the task before it
(`blocked`: blocking after service); a job that arrives from outside is lost. A task whose patience
ends in line leaves. A task that would be lost may try again later.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dovemq.models import checks
from dovemq.models.distributions import Distribution
from dovemq.models.errors import ModelSpecInvalid

Discipline: TypeAlias = Literal["fcfs", "ps", "preemptive"]
Full: TypeAlias = Literal["lost", "blocked"]
DISCIPLINES: Final = ("fcfs", "ps", "preemptive")
FULL: Final = ("lost", "blocked")
ROOM_MAX: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TopicRules:
    """`room` is the most tasks at the topic, with those in service; None is unlimited.

    A task that is refused or loses its patience tries again with probability `retry_share`, after
    a time of the distribution `retry`; without one it is lost.
    """

    discipline: Discipline = "fcfs"
    room: int | None = None
    full: Full = "lost"
    patience: Distribution | None = None
    retry: Distribution | None = None
    retry_share: float = 1.0

    @property
    def plain(self) -> bool:
        return self == PLAIN

    @property
    def blocks(self) -> bool:
        return self.room is not None and self.full == "blocked"

    @property
    def sheds(self) -> bool:
        """Says whether tasks leave unserved, so that the topic is stable at any load."""
        leaves = self.patience is not None or (self.room is not None and self.full == "lost")
        return leaves and (self.retry is None or self.retry_share < 1.0)

    def check(self, place: str, consumers: int) -> None:
        """Refuses rules that are invalid or that do not go together; `place` is the topic."""
        if self.discipline not in DISCIPLINES:
            raise ModelSpecInvalid(
                place, f"discipline {self.discipline!r} is none of {DISCIPLINES}"
            )
        if self.full not in FULL:
            raise ModelSpecInvalid(place, f"full {self.full!r} is none of {FULL}")
        if self.room is not None:
            checks.whole(self.room, f"{place}: room", consumers, ROOM_MAX)
        elif self.full == "blocked":
            raise ModelSpecInvalid(place, "full = 'blocked' needs a room")
        checks.share(self.retry_share, f"{place}: retry_share")
        if self.patience is not None and self.discipline != "fcfs":
            raise ModelSpecInvalid(place, f"patience is for fcfs, not for {self.discipline}")
        if self.retry is not None:
            checks.positive(self.retry.mean, f"{place}: retry")
            if self.patience is None and (self.room is None or self.full == "blocked"):
                raise ModelSpecInvalid(
                    place, "retry is for topics that refuse: give room or patience"
                )


PLAIN: Final = TopicRules()
