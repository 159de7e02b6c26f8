"""What can be wrong with a net, and where: net, page, transition, arc.

    ModelError
    └── NetError
        ├── NetInvalid      the net, its file or a question about it makes no sense as written
        ├── NetFailed       an expression failed, or gave a wrong value, while the net ran
        └── NetTooLarge     an analysis would need more than its limit allows

Owns the form of the texts. Refuses to hide a cause: the first error of an expression is told whole.
"""

from dataclasses import dataclass, replace

from dovemq.models.errors import ModelError


@dataclass(frozen=True, slots=True)
class Where:
    """A spot of a net; empty parts are not told."""

    net: str
    page: str = ""
    transition: str = ""
    arc: str = ""
    place: str = ""
    part: str = ""

    def at(self, **parts: str) -> "Where":
        return replace(self, **parts)

    def __str__(self) -> str:
        named = (
            (word, getattr(self, word)) for word in ("net", "page", "transition", "place", "arc")
        )
        told = [f"{word} {name}" for word, name in named if name]
        return ", ".join([*told, *([self.part] if self.part else [])])


class NetError(ModelError):
    def __init__(self, where: Where, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class NetInvalid(NetError):
    """The net must be changed."""


class NetFailed(NetError):
    """The net ran into something that its colours or delays do not allow."""


class NetTooLarge(NetError):
    """The analysis was given up at its limit; the text names the limit."""


class ExpressionInvalid(Exception):
    """What is wrong with an expression, before it is known where the expression stands."""
