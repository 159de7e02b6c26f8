"""Errors of nets. Each names the net, page, transition and arc where it occurred.

ModelError
└── NetError
    ├── NetInvalid      the net, its file or a request about it is invalid
    ├── NetFailed       an expression failed, or gave a wrong value, while the net ran
    └── NetTooLarge     an analysis would need more than its limit allows
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dovemq.models.errors import ModelError


@dataclass(frozen=True, slots=True)
class Where:
    """A part of a net; its text leaves out the empty fields. `part` is such as "guard", "delay"."""

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
        parts = [f"{word} {name}" for word, name in named if name]
        return ", ".join([*parts, *([self.part] if self.part else [])])


class NetError(ModelError):
    def __init__(self, where: Where, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class NetInvalid(NetError):
    """The net must be changed."""


class NetFailed(NetError):
    """An expression of the net failed, or gave a value that its place does not allow."""


class NetTooLarge(NetError):
    """The analysis stopped at a limit, which the text names."""


class ExpressionInvalid(Exception):
    """An error of an expression, raised before its place in the net is known."""


@contextmanager
def locating(where: Where) -> Iterator[None]:
    """Adds a location to the errors of expressions."""
    try:
        yield
    except ExpressionInvalid as error:
        raise NetInvalid(where, str(error)) from None
