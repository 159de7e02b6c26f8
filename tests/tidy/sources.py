"""The repository's own text as the tidy tests see it: files, parsed once."""

import ast
import functools
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("src", "tests", "tools", "bench", "examples")
TEXT_SUFFIXES = frozenset(
    (
        ".c",
        ".cfg",
        ".html",
        ".ini",
        ".js",
        ".json",
        ".lua",
        ".md",
        ".mjs",
        ".py",
        ".sh",
        ".sql",
        ".toml",
        ".txt",
    )
)
TEXT_NAMES = frozenset(("Makefile", "run", ".gitignore"))
PASSED_OVER = frozenset(("__pycache__", "build", "dist", "node_modules"))


class Source(msgspec.Struct, frozen=True):
    """One Python file. `name` is its path from the root, with forward slashes."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def module(self) -> str:
        parts = self.name.removeprefix("src/").removesuffix(".py").split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        return self.module if self.name.endswith("/__init__.py") else self.module.rpartition(".")[0]


def text_files() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(
            name
            for name in folders
            if name not in PASSED_OVER and (not name.startswith(".") or name == ".ci")
        )
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix in TEXT_SUFFIXES or name in TEXT_NAMES:
                found.append(path)
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def sources(*folders: str) -> tuple[Source, ...]:
    wanted = folders or CODE_FOLDERS
    names = (name_of(path) for path in text_files() if path.suffix == ".py")
    return tuple(_read(name) for name in names if name.split("/")[0] in wanted)


@functools.cache
def _read(name: str) -> Source:
    text = (ROOT / name).read_text()
    return Source(name, text, ast.parse(text, name))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node


def imported_names(source: Source) -> Iterator[tuple[str, str | None, int]]:
    """Every import as (module, name taken from it, line), relative ones made absolute."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None, node.lineno
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parents = source.package.split(".")
                kept = parents[: len(parents) - node.level + 1]
                module = ".".join([*kept, *filter(None, [module])])
            for alias in node.names:
                yield module, alias.name, node.lineno


def called_names(source: Source) -> Iterator[tuple[str, ast.Call]]:
    """Every call by its full dotted name, as far as the file's imports tell it."""
    aliases: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                aliases[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            head, dot, rest = ast.unparse(node.func).partition(".")
            yield aliases.get(head, head) + dot + rest, node
