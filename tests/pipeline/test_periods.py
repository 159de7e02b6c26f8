"""Periods of a trace: split, and the dispersion of what happens in them."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.pipeline.calibration.periods import Period, Traced
from tests.pipeline.traces import START_US, Maker, write

SECONDS = 200
BY_SECOND = 50
BATCH = 3
WINDOW_US = 1_000_000


def _traced(folder: Path, next_us: Callable[[], float]) -> Traced:
    """Sends of three messages each, whose answers are written at intervals."""
    maker, at_us = Maker(1), float(START_US)
    while (at_us := at_us + next_us()) < START_US + SECONDS * 1e6:
        for _ in range(BATCH):
            times = {"ot_us": int(at_us), "latency_us": 500}
            maker.event("sent", "account/q", int(at_us), client="one", **times)
    write(maker.rows, folder / "t.parquet")
    return Traced(folder, "account/q")


def _whole() -> Period:
    return Period(START_US, START_US + SECONDS * 1_000_000)


def test_a_period_is_split_at_a_share_of_it() -> None:
    first, rest = Period(100, 500).split(0.25)
    assert (first, rest) == (Period(100, 200), Period(200, 500))


@pytest.mark.parametrize("moment", ["ot_us", "ot_us - latency_us"])
def test_sends_by_chance_have_a_dispersion_of_one(tmp_path: Path, moment: str) -> None:
    rng = random.Random(1)
    traced = _traced(tmp_path, lambda: rng.expovariate(BY_SECOND / 1e6))
    # The standard error of a variance of 200 Poisson counts is a tenth of it.
    assert traced.dispersion(_whole(), moment, WINDOW_US) == pytest.approx(1.0, abs=0.3)


def test_regular_sends_have_hardly_any_dispersion(tmp_path: Path) -> None:
    traced = _traced(tmp_path, lambda: 1e6 / BY_SECOND)
    assert traced.dispersion(_whole(), "ot_us", WINDOW_US) < 0.01


def test_pauses_are_dispersion(tmp_path: Path) -> None:
    rng = random.Random(2)

    def interval_us() -> float:
        pause_us = 3e6 if rng.random() < 0.01 else 0.0
        return rng.expovariate(BY_SECOND / 1e6) + pause_us

    traced = _traced(tmp_path, interval_us)
    assert traced.dispersion(_whole(), "ot_us", WINDOW_US) > 5.0
