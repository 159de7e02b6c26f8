"""Names are nouns and verbs of the domain; the words that say nothing are banned."""

import ast
import re

from tests.tidy.sources import classes, functions, name_of, sources, text_files

BANNED_WORD = re.compile(
    "utils?|helpers?|common|misc|managers?|handlers?|base|types|stuff|impl|mixin"
)
BANNED_ENDINGS = ("Impl", "Mixin", "Manager", "Handler", "Helper", "Utils", "Base")
SENTENCE_WORDS_MIN = 2


def _is_banned(name: str) -> bool:
    return any(map(BANNED_WORD.fullmatch, re.split(r"[_\d]+", name.lower())))


def test_no_module_or_folder_has_a_name_that_says_nothing() -> None:
    found = [
        source.name
        for source in sources()
        for part in source.name.removesuffix(".py").split("/")
        if _is_banned(part)
    ]
    assert not found


def test_no_class_has_a_name_that_says_nothing() -> None:
    found = [
        f"{source.name}:{node.name}"
        for source in sources()
        for node in classes(source.tree)
        if node.name.endswith(BANNED_ENDINGS) or _is_banned(node.name)
    ]
    assert not found


def test_no_function_or_variant_is_told_apart_by_a_number() -> None:
    found = [
        f"{source.name}:{node.name}"
        for source in sources("src")
        for node in [*functions(source.tree), *classes(source.tree)]
        if re.fullmatch(r"[A-Za-z_]+[a-z]_?[2-9]", node.name)
    ]
    assert not found


def test_no_function_rebinds_a_global() -> None:
    found = [
        f"{source.name}:{node.lineno}"
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Global)
    ]
    assert not found


def test_every_module_of_the_product_says_what_it_owns() -> None:
    found = [source.name for source in sources("src") if not ast.get_docstring(source.tree)]
    assert not found


def test_every_test_is_named_by_a_sentence() -> None:
    found = [
        f"{source.name}:{node.name}"
        for source in sources("tests")
        for node in functions(source.tree)
        if node.name.startswith("test_")
        and len(node.name.removeprefix("test_").split("_")) < SENTENCE_WORDS_MIN
    ]
    assert not found


PAPER_NUMBER = re.compile(r"(?<![\w.,…-])00[0-4](?![\w.,…]*\d)\b")


def test_papers_go_by_their_short_names() -> None:
    found = [
        f"{name_of(path)}:{number}"
        for path in text_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PAPER_NUMBER.search(line)
    ]
    assert not found, "docs/reference/papers.md has the names"
