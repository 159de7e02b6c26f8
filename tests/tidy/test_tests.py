"""Tests check something, and none is passed over in silence."""

import ast
import functools
import re
from collections.abc import Mapping

from tests.tidy.sources import Source, called_names, functions, sources

CHECKS = re.compile(r"assert|raises|check|expect|verif|fail|warns|run_state_machine")
CALL_DEPTH_MAX = 2
MAY_SKIP: Mapping[str, str] = {
    "tests/acceptance/test_helm.py": "a control plane that takes long to build: test-full",
    "tests/acceptance/test_extras.py": "extras that it fetches and installs: make test-full",
    "tests/acceptance/test_kubernetes.py": "a control plane that takes long to build: test-full",
    "tests/acceptance/programs.py": "programs of other languages; fails under CI=true",
    "tests/clusters/test_limited_service.py": "a machine whose control groups we may not use",
    "tests/console/test_pages.py": "it takes the pictures of the documents: DOVETEST_IMAGES=1",
    "tests/console/test_prediction.py": "it takes pictures of the documents: DOVETEST_IMAGES=1",
    "tests/link/test_secret_file.py": "a user who cannot give files away, as only root can",
    "tests/pipeline/conftest.py": "a machine without Java; fails under CI=true",
    "tests/pipeline/test_sweep.py": "a cluster whose executors compile a kernel: make test-full",
    "tests/unit/test_cpu_quota.py": "a machine whose control groups we may not use",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _called(function: Function) -> set[str]:
    """The last names of what a function calls."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return {ast.unparse(call.func).rpartition(".")[2] for call in calls}


def _asserts(function: Function) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(function)) or any(
        CHECKS.search(name.lower()) for name in _called(function)
    )


@functools.cache
def _checking_names() -> frozenset[str]:
    """Functions of the tests that assert something, by themselves or through one another."""
    defined = [node for source in sources("tests") for node in functions(source.tree)]
    checking = {node.name for node in defined if _asserts(node)}
    for _ in range(CALL_DEPTH_MAX):
        checking |= {node.name for node in defined if _called(node) & checking}
    return frozenset(checking)


def _skips(source: Source) -> list[int]:
    names = re.compile(r"pytest\.(skip|xfail|importorskip|mark\.(skip|skipif|xfail))")
    return [call.lineno for name, call in called_names(source) if names.fullmatch(name)]


def test_every_test_checks_something() -> None:
    found = [
        f"{source.name}:{node.name}"
        for source in sources("tests")
        for node in functions(source.tree)
        if node.name.startswith("test_") and node.name not in _checking_names()
    ]
    assert not found


def test_tests_are_skipped_only_where_a_reason_is_listed() -> None:
    found = {
        source.name: lines
        for source in sources("tests")
        if (lines := _skips(source)) and source.name not in MAY_SKIP
    }
    assert not found
