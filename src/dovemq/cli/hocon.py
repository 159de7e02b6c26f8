"""A parser for the part of HOCON that ElasticMQ's files use.

It knows objects, lists, text, comments and dotted keys, and refuses `+=`. Substitutions (`${name}`)
stay in the text unchanged. `include` lines are listed and not followed; the caller reports them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from dovemq.core.errors import DoveError

DEPTH_MAX: Final = 64
SUBSTITUTION: Final = "${"

_TOKEN: Final = re.compile(
    r"(?P<space>[^\S\n]+)"
    r"|(?P<comment>(?://|\#)[^\n]*)"
    r"|(?P<end>[\n,])"
    r'|(?P<triple>"""(?:.|\n)*?"""+)'
    r'|(?P<quoted>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<append>\+=)"
    r"|(?P<sign>[=:{}\[\]])"
    r"|(?P<substitution>\$\{[^}\n]*\})"
    r'|(?P<plain>(?:(?!//)[^\s"#,=:{}\[\]+$]|\+(?!=)|\$(?!\{))+)'
)
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")


class HoconInvalid(DoveError):
    def __init__(self, line: int, found: str) -> None:
        super().__init__(f"line {line}: {found}")
        self.line = line


class Document(NamedTuple):
    """`root` holds dicts, lists and text. `includes` holds the names of included files."""

    root: dict[str, Any]
    includes: list[str]


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse_hocon(text: str) -> Document:
    parser = _Parser(list(_tokens(text)))
    return Document(parser.document(), parser.includes)


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            raise HoconInvalid(line, f"{text[place]!r} is not valid HOCON")
        if found.lastgroup != "comment":
            yield _Token(found.lastgroup, found[0], line)
        line += found[0].count("\n")
        place = found.end()
    yield _Token("end", "\n", line)


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self.includes: list[str] = []

    def document(self) -> dict[str, Any]:
        self._pass_ends()
        braced = self._takes("{")
        root = self._members("}" if braced else "")
        self._pass_ends()
        if self._place < len(self._tokens):
            raise self._error("expected the end of the file")
        return root

    def _members(self, closing: str) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self._closes(closing):
            path = self._path()
            if path is not None:
                _put(members, path, self._assigned())
            self._end_of_item()
        return members

    def _items(self) -> list[Any]:
        items = []
        while not self._closes("]"):
            items.append(self._value())
            self._end_of_item()
        return items

    def _path(self) -> list[str] | None:
        """The parts of a key, or None for an `include` line, which is recorded."""
        parts = self._gather(("plain", "quoted", "space"))
        if not parts:
            raise self._error("expected a key")
        if parts[0][:2] == ("plain", "include") and self._peek().kind == "end":
            self.includes.append("".join(part.text for part in parts[1:]).strip())
            return None
        return _split(parts)

    def _assigned(self) -> Any:
        token = self._peek()
        if token.kind == "append":
            raise self._error("+= is not supported")
        if token.text in ("=", ":"):
            self._place += 1
            self._pass_ends()
        elif token.text != "{":
            raise self._error("expected = or { after a key")
        return self._value()

    def _value(self) -> Any:
        self._pass()
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._error(f"nested deeper than {DEPTH_MAX}")
        if self._takes("{"):
            value: Any = self._members("}")
        elif self._takes("["):
            value = self._items()
        else:
            value = self._text()
        self._depth -= 1
        return value

    def _text(self) -> str:
        """The text up to the end of the item. HOCON joins its parts."""
        parts: list[_Token] = []
        while (token := self._peek()).kind != "end" and token.text not in ("}", "]"):
            if token.kind == "sign" and token.text != ":":
                raise self._error(f"{token.text} is not allowed in a value")
            parts.append(token)
            self._place += 1
        if not parts:
            raise self._error("expected a value")
        return "".join(map(_meant, parts[:-1] if parts[-1].kind == "space" else parts))

    def _closes(self, closing: str) -> bool:
        self._pass_ends()
        if self._place >= len(self._tokens):
            if closing:
                raise self._error(f"{closing} is missing")
            return True
        return bool(closing) and self._takes(closing)

    def _end_of_item(self) -> None:
        self._pass()
        if self._place < len(self._tokens):
            token = self._peek()
            if token.kind != "end" and token.text not in ("}", "]"):
                raise self._error(f"{token.text!r} is not allowed here")

    def _takes(self, sign: str) -> bool:
        token = self._peek()
        if token.kind != "sign" or token.text != sign:
            return False
        self._place += 1
        return True

    def _pass_ends(self) -> None:
        self._pass(("end", "space"))

    def _pass(self, kinds: Sequence[str] = ("space",)) -> None:
        while self._place < len(self._tokens) and self._tokens[self._place].kind in kinds:
            self._place += 1

    def _gather(self, kinds: Sequence[str]) -> list[_Token]:
        """The next tokens of these kinds, without space at the end."""
        start = self._place
        self._pass(kinds)
        parts = self._tokens[start : self._place]
        return parts[:-1] if parts and parts[-1].kind == "space" else parts

    def _peek(self) -> _Token:
        return self._tokens[min(self._place, len(self._tokens) - 1)]

    def _error(self, found: str) -> HoconInvalid:
        return HoconInvalid(self._peek().line, found)


def _put(members: dict[str, Any], path: list[str], value: Any) -> None:
    """Set a key. Two objects under one key are merged; otherwise the last value wins."""
    for part in path[:-1]:
        inner = members.get(part)
        if not isinstance(inner, dict):
            inner = members[part] = {}
        members = inner
    old = members.get(path[-1])
    if isinstance(old, dict) and isinstance(value, dict):
        for key, each in value.items():
            _put(old, [key], each)
    else:
        members[path[-1]] = value


def _split(parts: list[_Token]) -> list[str]:
    """Split a key at periods that are not in quotes."""
    path = [""]
    for part in parts:
        if part.kind == "quoted":
            path[-1] += _meant(part)
        else:
            first, *rest = part.text.split(".")
            path[-1] += first
            path += rest
    if not all(path):
        raise HoconInvalid(parts[0].line, "a key has an empty part")
    return path


def _meant(token: _Token) -> str:
    if token.kind == "triple":
        return token.text[3:-3]
    if token.kind == "quoted":
        return _ESCAPE.sub(_unescaped, token.text[1:-1])
    return token.text


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _ESCAPES.get(found[2], found[2])
