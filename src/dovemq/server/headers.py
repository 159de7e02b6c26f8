"""Collects the header fields of a request and decodes them all at once.

This is the hot path: one decoding costs a fraction of one for each field, and a client sends the
same names in every request.
"""

from collections.abc import Callable
from typing import Final

from dovemq.core.bounded import BoundedDict

NAMES_REMEMBERED_BYTES_MAX: Final = 1_024

KnownNames = BoundedDict[bytes, list[str]]
"""The names of all fields of a request as received, and the same in lower case."""


class HeaderFields:
    __slots__ = ("_known", "_names", "_values")

    def __init__(self, known: KnownNames) -> None:
        self._known = known
        self._names: list[bytes] = []
        self._values: list[bytes] = []

    @property
    def count(self) -> int:
        return len(self._names)

    def clear(self) -> None:
        self._names.clear()
        self._values.clear()

    def collector(self) -> Callable[[bytes, bytes], None]:
        """The function that the parser calls with each field."""
        add_name, add_value = self._names.append, self._values.append

        def add(name: bytes, value: bytes) -> None:
            add_name(name)
            add_value(value)

        return add

    def take(self) -> tuple[int, dict[str, str]]:
        """The size of the fields in bytes, and the fields by lower-case name; repeated ones joined.

        The parser allows no line break in a field, so line breaks can separate them here.
        """
        if not self._names:
            return 0, {}
        names = b"\n".join(self._names)
        values = b"\n".join(map(bytes.rstrip, self._values))
        self.clear()
        keys = self._known.get(names) or self._lowered(names)
        texts = values.decode("latin-1").split("\n")
        fields = dict(zip(keys, texts, strict=False))
        if len(fields) < len(keys):
            fields = _joined(keys, texts)
        return len(names) + len(values), fields

    def _lowered(self, names: bytes) -> list[str]:
        keys = names.decode("latin-1").lower().split("\n")
        if len(names) <= NAMES_REMEMBERED_BYTES_MAX:
            self._known.keep(names, keys)
        return keys


def _joined(keys: list[str], texts: list[str]) -> dict[str, str]:
    fields: dict[str, list[str]] = {}
    for key, text in zip(keys, texts, strict=True):
        fields.setdefault(key, []).append(text)
    return {key: ",".join(values) for key, values in fields.items()}
