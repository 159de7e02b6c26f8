"""Settings of the whole suite: signals, shared fixtures, and the summary at the end.

The latter stands here and not beside the contract since the front process of a parallel run reads
no other conftest.
"""

import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.unit.embedded import Place

CONTRACT = re.compile(r"tests/contract/.*\[(\w+)\]$")


def pytest_configure() -> None:
    """A shell lets what it starts in the background ignore them, and so would all its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many sentences of the contract hold on each store."""
    tally: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if match := CONTRACT.search(report.nodeid):
                tally.setdefault(match[1], Counter())[outcome] += 1
    for store, outcomes in sorted(tally.items()):
        broken = outcomes["failed"] + outcomes["error"]
        line = f"contract on {store}: {outcomes['passed']} sentences hold, {broken} do not"
        terminalreporter.write_line(line)


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A data directory with an embedded store, on a disk that can be made to fail."""
    made = Place(tmp_path)
    yield made
    made.leave()
