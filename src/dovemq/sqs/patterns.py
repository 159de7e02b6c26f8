"""Patterns in policies, with wildcards (`*`, `?`) and variables (`${key}`), and their matching.

Matching goes from left to right and never back, so that no pattern is slow to match;
`limits.POLICY_SINGLE_WILDCARDS_MAX` bounds the number of `?`, which cost more.
"""

import enum
import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

ARN_PARTS: Final = 6
_ESCAPES: Final = ("*", "?", "$")
_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")
_WILDCARD: Final = re.compile(r"([*?])")
_COLON: Final = re.compile(r":(?![^{}]*\})")
"""A colon outside of a variable."""

ValueOf = Callable[[str], str]


class Wildcard(enum.Enum):
    MANY = "*"
    """Matches any number of characters, or none."""
    ONE = "?"


class Variable(Struct, frozen=True):
    key: str


Token = str | Wildcard | Variable


class Segment(Struct, frozen=True):
    """The part between two `*`: literal runs at their offsets, and any characters elsewhere."""

    width: int
    runs: tuple[tuple[int, str], ...]

    def at(self, text: str, start: int) -> bool:
        for offset, run in self.runs:  # noqa: SIM110 (three times as fast as `all`)
            if not text.startswith(run, start + offset):
                return False
        return True

    def find(self, text: str, start: int, end: int) -> int:
        """The first place between start and end that matches; -1 if there is none."""
        last = end - self.width
        if not self.runs:
            return start if start <= last else -1
        offset, run = self.runs[0]
        while start <= last:
            found = text.find(run, start + offset, last + offset + len(run))
            if found < 0:
                return -1
            start = found - offset
            if self.at(text, start):
                return start
            start += 1
        return -1


class TextPattern(Struct, frozen=True):
    """A pattern with variables has `tokens`, and one without has `segments`."""

    text: str
    tokens: tuple[Token, ...]
    segments: tuple[Segment, ...] | None
    any_case: bool = False

    def matches(self, text: str, value_of: ValueOf) -> bool:
        segments = self.segments
        if segments is None:
            bound = [value_of(t.key) if isinstance(t, Variable) else t for t in self.tokens]
            segments = _segments(bound, any_case=self.any_case)
        return _match(segments, text.lower() if self.any_case else text)


class ArnPattern(Struct, frozen=True):
    """The parts of an ARN are matched one by one: a wildcard does not reach over a colon.

    A text that is no ARN has no parts and matches nothing.
    """

    text: str
    parts: tuple[TextPattern, ...]

    def matches(self, arn: str, value_of: ValueOf) -> bool:
        if arn == self.text:
            return bool(self.parts)
        given = arn.split(":", ARN_PARTS - 1)
        return len(given) == len(self.parts) and all(
            pattern.matches(part, value_of) for pattern, part in zip(self.parts, given, strict=True)
        )


def read_pattern(
    text: str,
    *,
    wildcards: bool,
    variables: frozenset[str] | None = None,
    any_case: bool = False,
) -> TextPattern:
    """Read a pattern. `variables` are the allowed keys in lower case; for None, `${` is literal.

    A ValueError names a variable that is not allowed.
    """
    tokens = tuple(_tokens(text, wildcards=wildcards, variables=variables))
    bound = [token for token in tokens if not isinstance(token, Variable)]
    whole = len(bound) == len(tokens)
    segments = _segments(bound, any_case=any_case) if whole else None
    return TextPattern(text, () if whole else tokens, segments, any_case)


def read_arn(text: str, *, variables: frozenset[str] | None, shortened: bool) -> ArnPattern:
    """A `shortened` ARN may lack parts at its end."""
    parts = _COLON.split(text, ARN_PARTS - 1)
    if parts[0] != "arn" or len(parts) < (3 if shortened else ARN_PARTS):
        return ArnPattern(text, ())
    parts += ["*"] * (ARN_PARTS - len(parts))
    patterns = [read_pattern(part, wildcards=True, variables=variables) for part in parts]
    return ArnPattern(text, tuple(patterns))


def _tokens(text: str, *, wildcards: bool, variables: frozenset[str] | None) -> list[Token]:
    found: list[Token] = []
    pieces = [text] if variables is None else _VARIABLE.split(text)
    for number, piece in enumerate(pieces):
        # `split` by a pattern with one group returns texts and, between them, the groups.
        if variables is not None and number % 2:
            found.append(_variable(piece, variables))
            continue
        if variables is not None and "${" in piece:
            raise ValueError("a variable in it is not closed")
        found += [
            Wildcard(part) if wildcards and part in ("*", "?") else part
            for part in (_WILDCARD.split(piece) if wildcards else [piece])
            if part
        ]
    return found


def _variable(inner: str, variables: frozenset[str]) -> Token:
    if inner in _ESCAPES:
        return inner
    key = inner.strip().lower()
    if key not in variables:
        known = ", ".join(sorted(variables))
        raise ValueError(f"${{{inner[:64]}}} is no variable; the variables are: {known}")
    return Variable(key)


def _segments(tokens: Sequence[str | Wildcard], *, any_case: bool) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    width = 0
    runs: list[tuple[int, str]] = []
    for token in [*tokens, Wildcard.MANY]:
        if token is Wildcard.MANY:
            segments.append(Segment(width, tuple(runs)))
            width, runs = 0, []
        elif isinstance(token, Wildcard):
            width += 1
        else:
            run = token.lower() if any_case else token
            runs.append((width, run))
            width += len(run)
    return tuple(segments)


def _match(segments: tuple[Segment, ...], text: str) -> bool:
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return len(text) == first.width and first.at(text, 0)
    start, end = first.width, len(text) - last.width
    if start > end or not first.at(text, 0) or not last.at(text, end):
        return False
    for segment in segments[1:-1]:
        found = segment.find(text, start, end)
        if found < 0:
            return False
        start = found + segment.width
    return True
