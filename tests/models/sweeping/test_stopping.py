"""A configuration is replicated until it is known well enough, looked at at fixed numbers."""

import math
import random

import pytest

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.sweeping import Question, Stopping, Sweep, SweepFindings

SPREADS = (0.001, 0.2, 0.9, 20.0)


def _sweep(stopping: Stopping) -> Sweep:
    return Sweep(
        model="queue",
        axes=("arrival_rate",),
        points=((0.1,), (0.2,), (0.3,), (0.4,)),
        question=Question(("sojourn_time", "number"), 10.0),
        stopping=stopping,
        fixed={"service_rate": 1},
    )


def _measured(configuration: int, replication: int) -> tuple[float, float]:
    chance = random.Random(f"{configuration}/{replication}")
    return 1 + SPREADS[configuration] * chance.gauss(0, 1), 5.0


STOPPING = Stopping(least=5, most=40, batch=5, half_width=0.1, judged=(0, 1))


def _run(
    findings: SweepFindings, shuffled: random.Random | None = None, slice_rows: int = 1000
) -> int:
    rounds = 0
    while asked := findings.asked():
        rounds += 1
        if shuffled:
            shuffled.shuffle(asked)
        for configuration, replication in asked[:slice_rows]:
            findings.add(configuration, replication, _measured(configuration, replication))
    return rounds


def test_replications_go_on_until_the_interval_is_narrow_or_the_most_is_reached() -> None:
    findings = SweepFindings(_sweep(STOPPING))
    assert _run(findings) == 8
    assert [findings.replications(place) for place in range(4)][0::3] == [5, 40]
    assert [findings.content(place) for place in range(4)] == [True, True, False, False]
    assert 5 < findings.replications(1) < 40
    first = findings.estimates(1)[0]
    assert first.samples == findings.replications(1)
    assert first.half_width <= 0.1 * first.mean


def test_figures_do_not_depend_on_the_order_nor_on_the_size_of_slices() -> None:
    plain = SweepFindings(_sweep(STOPPING))
    _run(plain)
    for slice_rows in (1, 3, 17):
        other = SweepFindings(_sweep(STOPPING))
        _run(other, random.Random(slice_rows), slice_rows)
        for place in range(4):
            assert other.estimates(place) == plain.estimates(place)


def test_without_a_half_width_the_least_number_is_enough() -> None:
    findings = SweepFindings(_sweep(Stopping(least=5, most=5, batch=5)))
    assert _run(findings) == 1
    assert findings.done == 20
    assert all(findings.content(place) for place in range(4))


def test_a_replication_that_saw_nothing_is_left_out() -> None:
    findings = SweepFindings(_sweep(Stopping(least=3, most=3, batch=3)))
    for replication, value in enumerate((1.0, math.nan, 3.0)):
        findings.add(0, replication, (value, 0.0))
    assert findings.estimates(0)[0].values == (1.0, 3.0)


@pytest.mark.parametrize(
    ("stopping", "place"),
    [
        ({"least": 1, "most": 5, "batch": 1, "half_width": 0.1}, "replications"),
        ({"least": 5, "most": 4, "batch": 1, "half_width": 0.1}, "replications"),
        ({"least": 5, "most": 9, "batch": 0, "half_width": 0.1}, "batch"),
        ({"least": 5, "most": 9, "batch": 1}, "half_width"),
        ({"least": 5, "most": 9, "batch": 1, "half_width": 0.0}, "half_width"),
    ],
)
def test_rules_that_make_no_sense_are_refused(stopping: dict[str, float], place: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=place):
        Stopping(**stopping)  # type: ignore[arg-type]
