"""A broad `except` is allowed only where a loop or a connection must survive any failure."""

import ast
from collections.abc import Mapping

from tests.tidy.sources import functions, sources

BROAD = frozenset(("Exception", "BaseException"))
MAY_CATCH_ALL: Mapping[str, str] = {
    "src/dovemq/cluster/link/serving.py": "the boundary of the link between front ends",
    "src/dovemq/experiments/running.py": "a figure that fails must not end the others",
    "src/dovemq/pipeline/source/reader.py": "the loop of a stream's claim",
    "src/dovemq/pipeline/source/keeping.py": "the loop of a stream's heartbeat",
    "src/dovemq/server/admin.py": "the HTTP boundary of the admin API",
    "src/dovemq/server/connection.py": "the HTTP boundary",
    "src/dovemq/server/outbox.py": "the driver of a connection's answers",
    "src/dovemq/sqs/endpoint.py": "the HTTP boundary of SQS",
    "src/dovemq/stores/owned/committing.py": "a commit that cannot be published fails the store",
    "src/dovemq/stores/owned/logged/writer.py": "the loop of a log's writer",
    "src/dovemq/stores/sqlite/reader.py": "the loop of the reader thread",
    "src/dovemq/stores/sqlite/writer.py": "the loop of the writer thread",
    "src/dovemq/telemetry/meter.py": "a trace that fails must not fail the store",
    "src/dovemq/telemetry/writing.py": "the loop of the trace's thread",
    "src/dovemq/workflows/worker.py": "whatever a user's function raises is a failed attempt",
}


def _is_broad(clause: ast.ExceptHandler) -> bool:
    if clause.type is None:
        return True
    caught = clause.type.elts if isinstance(clause.type, ast.Tuple) else [clause.type]
    return any(ast.unparse(name) in BROAD for name in caught)


def _lets_it_pass(clause: ast.ExceptHandler) -> bool:
    """Whether the clause ends with a bare `raise`: it only cleans up after a failure."""
    last = clause.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _broad_clauses() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for source in sources("src", "tools", "examples"):
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ExceptHandler):
                continue
            if _is_broad(node) and not _lets_it_pass(node):
                found.setdefault(source.name, []).append(node.lineno)
    return found


def test_broad_except_is_only_in_named_modules() -> None:
    found = {name: lines for name, lines in _broad_clauses().items() if name not in MAY_CATCH_ALL}
    assert not found, "catch named errors, or add the module to MAY_CATCH_ALL with a reason"


def test_every_module_named_for_broad_except_still_needs_it() -> None:
    assert not set(MAY_CATCH_ALL) - set(_broad_clauses())


def test_no_function_is_a_stub() -> None:
    found = [
        f"{source.name}:{node.name}"
        for source in sources("src")
        for node in functions(source.tree)
        if len(node.body) == 1 and "NotImplementedError" in ast.unparse(node.body[0])
    ]
    assert not found
