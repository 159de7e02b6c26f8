"""Prints at the end how many sentences of the contract hold on each store.

It stands here and not beside them since the front process of a parallel run reads no other
conftest.
"""

import re
from collections import Counter

import pytest

CONTRACT = re.compile(r"tests/contract/.*\[(\w+)\]$")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tally: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if match := CONTRACT.search(report.nodeid):
                tally.setdefault(match[1], Counter())[outcome] += 1
    for store, outcomes in sorted(tally.items()):
        broken = outcomes["failed"] + outcomes["error"]
        line = f"contract on {store}: {outcomes['passed']} sentences hold, {broken} do not"
        terminalreporter.write_line(line)
