"""Docstrings are sentences that a newcomer understands, and a class name means one thing."""

import ast
import re
from collections.abc import Iterator

from tests.tidy.exemptions import SHARED_CLASS_NAMES
from tests.tidy.sources import Source, sources

ELLIPTIC = re.compile(r"(And|As|Beside|By|Nor|Of|So|Than|Those|To|Until|What|Who|Whoever|Whose)\b")
"""First words of a docstring without a subject, or without a verb that a reader can find."""
NOT_PRIVATE = frozenset(("_actions", "_compositor", "_filters", "_replace"))
"""Names of argparse and of Textual, which have no public ones for it, and of named tuples."""


def _docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Every string that stands alone: of a module, a class, a function or a constant."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()


def test_no_docstring_begins_in_the_middle_of_a_sentence() -> None:
    found = [
        f"{source.name}:{line} {text.splitlines()[0]}"
        for source in sources()
        for line, text in _docstrings(source)
        if ELLIPTIC.match(text)
    ]
    assert not found, "say what it is or does: a noun, or subject and verb"


def _class_places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for source in sources("src"):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(source.name)
    return places


def _shared_names() -> set[str]:
    return {name for name, places in _class_places().items() if len(places) > 1}


def test_public_class_name_belongs_to_one_module() -> None:
    found = {name: _class_places()[name] for name in _shared_names() - SHARED_CLASS_NAMES}
    assert not found, "one word, one meaning: give one of them a name of its own"


def test_every_exempted_class_name_is_still_shared() -> None:
    assert not SHARED_CLASS_NAMES - _shared_names()


def _private_uses(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Attribute)
            and re.match(r"_[a-z]", node.attr)
            and node.attr not in NOT_PRIVATE
            and ast.unparse(node.value) not in ("self", "cls", "super()")
        ):
            yield f"{source.name}:{node.lineno} {ast.unparse(node)}"


def test_no_test_uses_a_private_attribute() -> None:
    found = [use for source in sources("tests") for use in _private_uses(source)]
    assert not found, "test what it does, or make it public"
