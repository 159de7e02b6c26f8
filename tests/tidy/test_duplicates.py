"""No six lines stand in two places: what is the same is written once."""

import ast
import re
from collections.abc import Iterator

from tests.tidy.sources import Source, sources

LINES_MIN = 6
TELLS_NOTHING = re.compile(r"[\w.]*[\]\[(){}:,]*")
"""A bracket, `else:`, or one name of a list that the formatter spread over lines."""
TELLING_LINES_MIN = 5


def _silent_lines(tree: ast.Module) -> set[int]:
    """Lines of docstrings and imports, which may well be equal."""
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
            silent.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return silent


def _normal_lines(source: Source) -> list[tuple[int, str]]:
    silent = _silent_lines(source.tree)
    lines = ((number, line.strip()) for number, line in enumerate(source.lines, 1))
    return [
        (number, line)
        for number, line in lines
        if line and not line.startswith("#") and number not in silent
    ]


def _windows(source: Source) -> Iterator[tuple[int, tuple[str, ...]]]:
    lines = _normal_lines(source)
    for start in range(len(lines) - LINES_MIN + 1):
        window = tuple(line for _, line in lines[start : start + LINES_MIN])
        if sum(not TELLS_NOTHING.fullmatch(line) for line in window) >= TELLING_LINES_MIN:
            yield lines[start][0], window


def _repeated(*folders: str) -> list[str]:
    first_seen: dict[tuple[str, ...], str] = {}
    found = []
    for source in sources(*folders):
        for number, window in _windows(source):
            place = f"{source.name}:{number}"
            if (other := first_seen.setdefault(window, place)) != place:
                found.append(f"{place} is {other}")
    return found


def test_no_six_lines_of_the_product_stand_in_two_places() -> None:
    assert not _repeated("src", "tools", "bench", "examples")


def test_no_six_lines_of_the_tests_stand_in_two_places() -> None:
    assert not _repeated("tests")
