"""Generated code of one net: its lines, and the part of the net that each line came from.

An error in generated code is reported with its net, page, transition and arc. Callers write only
code that was unparsed from checked trees, never the text of an expression.
"""

import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

from dovemq.models.petri.errors import NetFailed, Where

ALLOWED: Final = {
    name: getattr(__import__("builtins"), name)
    for name in ("len", "range", "tuple", "dict", "int", "ValueError")
}
"""The only Python names that generated code can reach."""
FAILURES: Final = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)


class Code:
    def __init__(self, name: str) -> None:
        self.name = f"<net {name}>"
        self._lines: list[str] = []
        self._origins: list[Where] = []
        self._depth = 0
        self._where = Where(name)
        self.objects: dict[str, Any] = {}
        """The Python objects that the code refers to, by name."""

    def named(self, prefix: str, value: Any) -> str:
        """Returns the name of an object, one for all uses of the object with this prefix."""
        for name, known in self.objects.items():
            if known is value and name.startswith(prefix):
                return name
        name = f"{prefix}{len(self.objects)}"
        self.objects[name] = value
        return name

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)
        self._origins.append(self._where)

    def lines(self, *texts: str) -> None:
        for text in texts:
            self.line(text)

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def open(self, head: str) -> None:
        """Opens a block that `restored` closes."""
        self.line(head)
        self._depth += 1

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Closes the blocks opened inside it."""
        depth = self._depth
        yield
        self._depth = depth

    @contextlib.contextmanager
    def at(self, where: Where) -> Iterator[None]:
        before, self._where = self._where, where
        yield
        self._where = before

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compiled(self) -> "Program":
        return Program(compile(self.text, self.name, "exec"), self.name, tuple(self._origins))


class Program:
    """Compiled code of one net. Each call of `loaded` runs it with separate names."""

    def __init__(self, code: CodeType, name: str, origins: tuple[Where, ...]) -> None:
        self._code = code
        self._name = name
        self._origins = origins

    def loaded(self, names: dict[str, Any]) -> dict[str, Any]:
        names["__builtins__"] = ALLOWED
        exec(self._code, names)
        return names

    def failed(self, error: BaseException) -> NetFailed:
        """Wraps an error with the part of the net whose code failed."""
        line = 0
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._name:
                line = trace.tb_lineno
            trace = trace.tb_next
        where = self._origins[line - 1] if line else self._origins[0]
        return NetFailed(where, f"{type(error).__name__}: {error}")
