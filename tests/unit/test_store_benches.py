"""Verdicts of the benchmarks of shared stores: a missed bar is never shown as kept."""

from typing import Any

import pytest

from bench import takeover, through

EMBEDDED: dict[str, Any] = {"bytes": 130.0}
TAKEN: dict[str, Any] = {"messages": 1_000, "counted": 1_000, "first_s": 2.9, "bytes": 150.0}
TENTH: dict[str, Any] = {
    **dict.fromkeys(through.LATENCIES, 10.0),
    "segments": 5,
    "rows_max": 16.0,
    "tombstones_max": 1.0,
}


def test_takeover_in_time_with_all_messages_keeps_the_bars() -> None:
    row = takeover.judged(dict(TAKEN), EMBEDDED)
    assert (row["holds"], row["ratio"]) == (True, 1.15)


@pytest.mark.parametrize("missed", [{"counted": 999}, {"first_s": 3.1}, {"bytes": 251.0}])
def test_takeover_that_is_late_or_loses_or_is_large_misses_the_bars(missed: dict[str, Any]) -> None:
    assert not takeover.judged({**TAKEN, **missed}, EMBEDDED)["holds"]


def test_flat_figures_keep_the_bars() -> None:
    *tenths, ratios = through.judged([dict(TENTH) for _ in range(through.PARTS)], 60_000)
    assert all(row["holds"] for row in tenths)
    assert ratios["receive_p99"] == 1.0


@pytest.mark.parametrize(
    "missed",
    [{"segments": 1_000}, {"rows_max": 64.0}, {"tombstones_max": 100.0}, {"send_p50": 20.1}],
)
def test_last_tenth_that_has_grown_misses_the_bars(missed: dict[str, Any]) -> None:
    tenths = [dict(TENTH) for _ in range(through.PARTS)]
    tenths[-1] |= missed
    assert [row["holds"] for row in through.judged(tenths, 60_000)[:-1]] == [True] * 9 + [False]


def test_slow_first_tenth_is_not_judged() -> None:
    tenths = [dict(TENTH) for _ in range(through.PARTS)]
    tenths[0] |= dict.fromkeys(through.LATENCIES, 1_000.0)
    assert all(row["holds"] for row in through.judged(tenths, 60_000)[:-1])
