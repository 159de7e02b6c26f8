"""Stopping by the width of intervals costs only a little of their confidence."""

from dovemq.models.analytic import mmc
from tests.models.sweeping.asking import run_here, sweep_of

TEXT = """
model = "queue"
measures = ["sojourn_time"]
[fixed]
service_rate = 1
[grid]
arrival_rate = "0.2:0.7:0.05"
consumers = [1, 2, 3, 4]
[run]
horizon = 2000
warm_up = 200
seed = 2
[replications]
min = 10
max = 200
half_width = 0.02
"""


def test_intervals_of_a_sweep_that_stops_by_looking_hold_little_less() -> None:
    sweep = sweep_of(TEXT)
    findings = run_here(sweep)
    places = range(len(sweep.points))
    assert len({findings.replications(place) for place in places}) > 3
    assert all(findings.content(place) for place in places)
    held = [
        findings.estimates(place)[0].holds(float(mmc(rate, 1, consumers).sojourn_time))
        for place, (rate, consumers) in enumerate(sweep.points)
    ]
    assert sum(held) / len(held) >= 0.85
