"""Periods of a trace."""

from dovemq.pipeline.calibration.periods import Period


def test_a_period_is_split_at_a_share_of_it() -> None:
    first, rest = Period(100, 500).split(0.25)
    assert (first, rest) == (Period(100, 200), Period(200, 500))
