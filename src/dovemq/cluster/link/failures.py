"""Errors of the owner, as values that travel over the link.

An error is its class name, its text and its fields. It is built again without its constructor,
since a constructor makes the text from fields that the error need not keep. So the caller gets the
same class, the same text and the same fields. The texts of the tree hold no body and no secret.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from dovemq.cluster.link.bounds import FAILURE_TEXT_MAX
from dovemq.cluster.ports import NotOwner
from dovemq.core.errors import DoveError, InvariantError, UnavailableError

Field = str | int | float | bool | None


class Failure(Struct, array_like=True, frozen=True):
    """An error of the owner on its way to the caller."""

    kind: str
    text: str
    fields: dict[str, Field]


def failure_of(error: Exception) -> Failure:
    """The nearest class of the tree; an error from outside the tree is a bug of ours."""
    for kind in type(error).__mro__:
        if KINDS.get(kind.__name__) is kind:
            return Failure(kind.__name__, _cut(str(error)), _fields(error))
    return Failure(InvariantError.__name__, "The owner of the queue failed: see its log.", {})


def error_of(failure: Failure) -> DoveError:
    kind = KINDS.get(failure.kind)
    if kind is None:
        return UnavailableError(failure.text)
    error = kind.__new__(kind, failure.text)
    error.__dict__.update(failure.fields)
    return error


def _fields(error: Exception) -> dict[str, Field]:
    return {name: _plain(value) for name, value in vars(error).items() if name[0] != "_"}


def _plain(value: object) -> Field:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _cut(str(value))


def _cut(text: str) -> str:
    """Lone surrogates cannot be encoded, and an error must always arrive."""
    return text[:FAILURE_TEXT_MAX].encode(errors="replace").decode()


def _tree(kind: type[DoveError]) -> Iterator[type[DoveError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ in (DoveError.__module__, NotOwner.__module__):
            yield from _tree(child)


KINDS: Final[Mapping[str, type[DoveError]]] = {kind.__name__: kind for kind in _tree(DoveError)}
"""The errors that travel by name; others travel as their nearest ancestor."""
