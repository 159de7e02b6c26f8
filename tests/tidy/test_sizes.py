"""Functions, classes, modules and lines stay within the limits of the house style."""

import ast

from tests.tidy.exemptions import COUNT_MAX, SIZES
from tests.tidy.sources import Source, classes, functions, sources, text_files

FUNCTION_LINES_MAX = 60
CLASS_LINES_MAX = 300
MODULE_LINES_MAX = 450
LINE_LENGTH_MAX = 100
FILE_BYTES_MAX = 1_000_000


def _lines_of_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    has_docstring = ast.get_docstring(node, clean=False) is not None
    start = node.body[1] if has_docstring and len(node.body) > 1 else first
    return (node.end_lineno or 0) - start.lineno + 1


def _lines_of_class(node: ast.ClassDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def _oversized(source: Source) -> dict[str, str]:
    found = {}
    if len(source.lines) > MODULE_LINES_MAX:
        found[source.name] = f"{len(source.lines)} lines"
    for function in functions(source.tree):
        if (count := _lines_of_body(function)) > FUNCTION_LINES_MAX:
            found[f"{source.name}:{function.name}"] = f"{count} lines"
    for klass in classes(source.tree):
        if (count := _lines_of_class(klass)) > CLASS_LINES_MAX:
            found[f"{source.name}:{klass.name}"] = f"{count} lines"
    return found


def _all_oversized() -> dict[str, str]:
    return {place: size for source in sources() for place, size in _oversized(source).items()}


def test_functions_classes_and_modules_keep_to_their_limits() -> None:
    found = {place: size for place, size in _all_oversized().items() if place not in SIZES}
    assert not found, "split by a noun or verb of the domain"


def test_lines_are_at_most_a_hundred_characters_long() -> None:
    found = [
        f"{source.name}:{number}"
        for source in sources()
        for number, line in enumerate(source.lines, 1)
        if len(line) > LINE_LENGTH_MAX
    ]
    assert not found


def test_no_tracked_file_is_large() -> None:
    assert not [path for path in text_files() if path.stat().st_size > FILE_BYTES_MAX]


def test_every_exemption_is_needed_and_tells_its_reason() -> None:
    oversized = _all_oversized()
    assert not [place for place in SIZES if place not in oversized], "remove it from the list"
    assert all(len(reason.split()) >= 4 for reason in SIZES.values())


def test_the_list_of_exemptions_only_shrinks() -> None:
    assert len(SIZES) == COUNT_MAX, "lower COUNT_MAX with every exemption that goes"
