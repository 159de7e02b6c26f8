"""No verdict is written by hand: each changes with the data that it is about.

Data of each figure are made up and changed at random, until every claim has had two outcomes. The
pages of the net have tests of their own in `petri/test_figures.py`, and simulated sweeps in
`test_swept_verdicts.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovemq.experiments import (
    bdqs_adaptive,
    bdqs_consistency,
    bdqs_faults,
    bdqs_scaling,
    elastic,
    elastic_burst,
    elastic_measured,
    elastic_steps,
    joram_balance,
    joram_provisioning,
    joram_queue,
    joram_service_balance,
    joram_service_provisioning,
    joram_service_queue,
    rds_points,
    rds_service,
    vma_pages,
)
from dovemq.experiments.bdqs_consistency import hint_points
from dovemq.experiments.bdqs_faults import FaultPoint
from dovemq.experiments.bdqs_performance import PHASES, SERVERS_SIMULATED, LoadPoint
from dovemq.experiments.bdqs_runs import MODES, BdqsRun
from dovemq.experiments.bdqs_station import StationFit
from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.elastic_points import MeasuredPoint
from dovemq.experiments.figure import Verdict
from dovemq.experiments.joram_clients import CountSample
from dovemq.experiments.joram_service import ArrangedRuns
from dovemq.experiments.loop import verdict_on
from dovemq.experiments.loop_cases import LoopPoint
from dovemq.experiments.rds_clients import RdsRun
from dovemq.fabric.autonomic import ActionKind
from dovemq.fabric.dequeue import DequeueCounts
from dovemq.fabric.dequeue.costs import DequeueUnitCosts
from dovemq.models.estimates import Estimate, Interval
from dovemq.workflows.sizing.workload import MeasuredWorkload
from tests.models.shaking import Shaker
from tests.models.test_swept_verdicts import SWEPT

ATTEMPTS_MAX = 600
Claims = Callable[..., Iterable[Verdict]]


def _near(value: float) -> Interval:
    return Interval(value, 0.999 * value, 1.001 * value)


def _estimate(value: float) -> Estimate:
    return Estimate((0.999 * value, 1.001 * value))


@dataclass(frozen=True)
class Case:
    """Claims and the data that they are about."""

    claims: Claims
    data: tuple[Any, ...]
    attempts: int = field(default=ATTEMPTS_MAX)

    def verdicts(self, seed: int) -> Iterable[Verdict]:
        return (
            self.claims(*map(Shaker(seed).changed, self.data)) if seed else self.claims(*self.data)
        )


def _point(mean: float, *types: float) -> MeasuredPoint:
    by_type = {name: _estimate(each) for name, each in zip("123", types, strict=True)}
    nothing = MeasuredWorkload(0, 1, {}, {})
    return MeasuredPoint((1.0,), (1,), 100, 0, _estimate(mean), by_type, nothing)


def _work_in_progress(plans: elastic.WipPlans, level: float, apart: int) -> Iterable[Verdict]:
    """All runs of Random are at one level, a little apart."""
    last = level * (1.0 + 1e-3 * apart * np.arange(40))
    return elastic.wip_claims(plans, np.column_stack([last + 1.0, last]))


def _course(produced: float, consumed: float) -> list[CountSample]:
    return [CountSample(t, int(produced * t), int(consumed * t)) for t in map(float, range(30))]


def _runs(produced: float, consumed: float) -> ArrangedRuns:
    return ArrangedRuns((_course(produced, consumed), _course(produced, consumed)), 5.0)


def _provisioned(after: float) -> joram_service_provisioning.ProvisionedRun:
    course = [
        CountSample(t, 0, int(100 * min(t, 120) + after * max(0.0, t - 120)))
        for t in map(float, range(0, 211, 5))
    ]
    return joram_service_provisioning.ProvisionedRun(course, 120.0, 210.0, ())


def _provisioning(static: float, hand: float, auto: float) -> Iterable[Verdict]:
    """The rates after the second partition, which scale the courses."""
    rates = {"static": static, "by hand": hand, "auto": auto}
    found = {name: [_provisioned(rate)] * 2 for name, rate in rates.items()}
    return joram_service_provisioning.provisioning_claims(found)


def _filled(first: float, last: float, counted: str) -> list[CountSample]:
    course, now = [CountSample(0.0, 0, 0)], 0.0
    for part, rate in enumerate((first, (first + last) / 2, last), 1):
        now += 100 / rate
        produced, consumed = (100 * part, 0) if counted == "produced" else (300, 100 * part)
        course.append(CountSample(now, produced, consumed))
    return course


def _waiting(sent: float, sent_last: float, read: float, read_last: float) -> Iterable[Verdict]:
    filling, emptying = _filled(sent, sent_last, "produced"), _filled(read, read_last, "consumed")
    return joram_service_queue.waiting_claims(
        {"filling": [filling] * 2, "emptying": [emptying] * 2}
    )


def _capacity(rates: Mapping[str, float]) -> Iterable[Verdict]:
    found = {name: _runs(rate, rate) for name, rate in rates.items()}
    by_count = {float(n): found[f"{n} and {2 * n}"].consumed for n in (1, 2, 4)}
    return joram_service_queue.capacity_claims(by_count, found)


def _balance() -> dict[tuple[str, str], joram_balance.BalanceRates]:
    def rates(name: str) -> joram_balance.BalanceRates:
        consumed = 0.35 if name == joram_balance.BALANCED else 0.2
        produced = 0.35 if name == joram_balance.BALANCED else 0.3
        return joram_balance.BalanceRates(_near(produced), _near(consumed), _near(1.0))

    return {
        (name, exchange): rates(name)
        for name in joram_balance.DISTRIBUTIONS
        for exchange in joram_balance.EXCHANGES
    }


def _simulated_courses(
    added_ms: int, rates: Mapping[str, tuple[float, float]]
) -> Iterable[Verdict]:
    step = SimpleNamespace(now_ms=added_ms, action=SimpleNamespace(kind=ActionKind.ADD))
    windows = joram_provisioning.END_S // joram_provisioning.WINDOW_S
    courses = {
        name: [
            joram_provisioning.SimulatedCourse(
                (before,) * (windows // 2) + (after * factor,) * (windows - windows // 2),
                (step,),  # type: ignore[arg-type]
            )
            for factor in (0.999, 1.001)
        ]
        for name, (before, after) in rates.items()
    }
    return joram_provisioning.course_claims(courses)


def _queue_runs(
    produced: Mapping[tuple[int, int], Interval], consumed: Mapping[tuple[int, int], Interval]
) -> Iterable[Verdict]:
    runs: Any = SimpleNamespace(produced=produced, consumed=consumed)
    return joram_queue.queue_claims(runs)


def _queue_rates(one: float, two: float) -> dict[tuple[int, int], Interval]:
    return {
        (producers, consumers): _near(min(producers, 2) * (one if consumers == 1 else two))
        for producers in joram_queue.PRODUCERS
        for consumers in joram_queue.RATIOS
    }


def _rds() -> dict[rds_points.ServicePoint, list[RdsRun]]:
    def run(point: rds_points.ServicePoint) -> RdsRun:
        rate = 1_000.0
        if point.rate == rds_points.HIGHEST:
            slow = 500.0 if point.method == rds_points.CONVENTIONAL else 1_000.0
            rate = 0.8 * slow if point.method == rds_points.method_of(2.0) else slow
        counts = DequeueCounts(int(10 * rate), int(2 * rate), int(10 * rate), int(rate))
        return RdsRun(10.0, counts, int(10 * rate), 100, 5, 0, 4.5)

    return {point: [run(point)] * 2 for point in rds_points.plan(quick=True)}


def _rds_claims(runs: Mapping[rds_points.ServicePoint, list[RdsRun]]) -> Iterable[Verdict]:
    costs = DequeueUnitCosts(0.0004, 0.0005, 0.00002, 0.0002)
    return rds_service.service_claims(rds_points.RdsMeasured(runs, costs, ""))


RUN = BdqsRun(200.0, 100.0, 0.01, 0.02, 0.1, 0.1, 1.0, 0.0, 300, 0, 0, 0)

CALM = replace(RUN, duplication_rate=0.001)


def _hints(runs: Mapping[Any, list[BdqsRun]], lost: Interval) -> Iterable[Verdict]:
    changed = {point: [_with_lost(run, lost) for run in own] for point, own in runs.items()}
    return bdqs_consistency.hint_claims(changed)


def _with_lost(run: BdqsRun, lost: Interval) -> BdqsRun:
    """A product would never change a zero; so losses come from a number beside it."""
    return replace(run, lost=int(lost.mean))


def _chances(runs: Mapping[FaultPoint, list[BdqsRun]], lost: Interval) -> Iterable[Verdict]:
    return bdqs_faults.chance_claims(
        {point: [_with_lost(run, lost) for run in own] for point, own in runs.items()}
    )


def _mttfs(runs: Mapping[FaultPoint, list[BdqsRun]], lost: Interval) -> Iterable[Verdict]:
    return bdqs_faults.mttf_claims(
        {point: [_with_lost(run, lost) for run in own] for point, own in runs.items()}
    )


def _fault_runs(series: Iterable[str], places: Iterable[float]) -> dict[FaultPoint, list[BdqsRun]]:
    xs = list(places)
    return {FaultPoint(name, x): [RUN, RUN] for name in series for x in xs}


def _servers(
    rates: Mapping[tuple[str, Any], Interval],
    predicted: Mapping[tuple[str, Any], float],
) -> Iterable[Verdict]:
    measured: Any = SimpleNamespace(
        runs=dict.fromkeys(point for _, point in rates if point.servers <= 3),
        costs={1: [], 3: []},
        rate=lambda point, phase: rates[phase, point],
    )
    simulated: Any = {
        key: SimpleNamespace(rate=_near(rate), middle=SimpleNamespace(rate=rate))
        for key, rate in predicted.items()
    }
    return bdqs_scaling.throughput_claims(measured, simulated)


def _server_rates(*counts: int) -> dict[tuple[str, Any], float]:
    queues = (8,) if max(counts) <= 3 else (bdqs_scaling.QUEUES_HIGHEST,)
    return {
        (phase, LoadPoint(count, each)): 10.0 * count / (1 + place)
        for place, phase in enumerate(PHASES)
        for count in counts
        for each in queues
    }


def _responses(
    fits: Mapping[tuple[str, int], StationFit], times: Mapping[tuple[str, Any], Interval]
) -> Iterable[Verdict]:
    measured: Any = SimpleNamespace(
        runs=dict.fromkeys(point for _, point in times),
        costs={1: [], 3: []},
        rate=lambda point, phase: _near(10.0 * point.queues),
        response=lambda point, phase: times[phase, point],
    )
    predicted: Any = dict.fromkeys(times)
    return bdqs_scaling.response_claims(measured, predicted, fits)


_SMALL = _server_rates(1, 3)
_LARGE = _server_rates(*SERVERS_SIMULATED)
_LOSS = _near(0.4)
_OUTCOMES = {
    hint: bdqs_adaptive.HintOutcome((0.2, 0.201), (2.0, 2.01))
    for hint in (*bdqs_adaptive.HINTS, bdqs_adaptive.ADAPTIVE)
}
_ERRORS = [_near(0.1)] * 3
_BURST = tuple(elastic_burst.expected_s() * (1.0 if n < 60 else 3.0) for n in range(300))

CASES: Mapping[str, Case] = {
    "elastic-fig4": Case(
        _work_in_progress,
        (elastic.WipPlans((6.0, 5.0), (2, 2, 1, 4), 42.0, 5, 43.0, True), 9.0, 3),
    ),
    "elastic-fig5": Case(
        elastic_steps.rising_claims,
        ([_point(10.0, 9.0, 9.0, 9.0), _point(20.0, 30.0, 31.0, 12.0)],),
    ),
    "elastic-fig6": Case(
        elastic_steps.min_time_claims,
        ([_point(9.0 / n, *(9.0 / n,) * 3) for n in range(1, 7)], [_point(3.0, 1.0, 1.0, 1.0)]),
    ),
    "elastic-fig7": Case(
        elastic_steps.min_cost_claims,
        (
            {n: _point(90.0 - 9 * n, 1.0, 1.0, 1.0) for n in range(6)},
            _point(51.0, 1.0, 1.0, 1.0),
            SimpleNamespace(steps=(), time_per_job=0.7),
        ),
    ),
    "elastic-fig8": Case(
        elastic_burst.burst_claims,
        (
            elastic_burst.BurstRun("with", _BURST, (2, 2, 1, 4)),
            elastic_burst.BurstRun("without", _BURST, (1, 1, 1, 1)),
        ),
    ),
    "elastic-measured": Case(elastic_measured.measured_claims, ({"a": _ERRORS, "b": _ERRORS},)),
    "elastic-model": Case(elastic.model_claims, (_ERRORS,)),
    "rds-fig14": Case(_rds_claims, (_rds(),)),
    "joram-fig4": Case(_waiting, (100.0, 50.0, 25.0, 50.0)),
    "joram-fig5": Case(joram_service_queue.one_consumer_claims, (_runs(100.0, 50.0),)),
    "joram-fig6": Case(
        joram_service_queue.two_consumer_claims, (_runs(100.0, 100.0), _runs(100.0, 100.0))
    ),
    "joram-fig7": Case(
        _capacity,
        ({"1 and 2": 9.0, "2 and 4": 12.0, "4 and 8": 12.0, "2 and 2": 8.0, "2 and 6": 9.0},),
    ),
    "joram-fig8": Case(
        joram_service_balance.unbalanced_claims,
        (
            {
                name: _runs(100.0, 100.0 if name == joram_balance.BALANCED else 60.0)
                for name in joram_balance.DISTRIBUTIONS
            },
        ),
    ),
    "joram-fig9": Case(
        joram_service_balance.balanced_claims, (_runs(100.0, 100.0), _runs(50.0, 50.0))
    ),
    "joram-fig10": Case(_provisioning, (100.0, 195.0, 195.0)),
    "joram-fig11": Case(_provisioning, (100.0, 195.0, 195.0)),
    "joram-model-queue": Case(_queue_runs, (_queue_rates(2.0, 2.0), _queue_rates(1.0, 2.0)), 3_000),
    "joram-model-balance": Case(joram_balance.balance_claims, (_balance(),)),
    "joram-model-provisioning": Case(
        _simulated_courses,
        (
            120_000,
            {
                name: (1.0, 1.0 if name == "static" else 1.95)
                for name in joram_provisioning.POLICIES
            },
        ),
    ),
    "bdqs-fig4": Case(_servers, ({k: _near(v) for k, v in _SMALL.items()}, {**_SMALL, **_LARGE})),
    "bdqs-fig5": Case(
        _responses,
        (
            {
                (phase, count): StationFit(2, 0.1, 0.95)
                for phase in PHASES
                for count in (1, 3, *bdqs_scaling.SERVERS_FITTED)
            },
            {
                (phase, LoadPoint(count, queues)): _near(0.1)
                for phase in PHASES
                for count in (1, 3)
                for queues in (1, 8)
            },
        ),
    ),
    "bdqs-fig6": Case(
        _hints,
        (
            {
                point: [CALM if point.threads == 1 else RUN] * 2
                for mode in MODES
                for point in hint_points(mode, quick=True)
            },
            _LOSS,
        ),
    ),
    "bdqs-fig7": Case(_chances, (_fault_runs(bdqs_faults.KINDS, (0.0, 0.01, 0.1)), _LOSS)),
    "bdqs-fig8": Case(_mttfs, (_fault_runs(bdqs_faults.STORES, (100.0, 10_000.0)), _LOSS)),
    "bdqs-adaptive": Case(bdqs_adaptive.adaptive_claims_of, ({"few": _OUTCOMES},)),
    "bdqs-adaptive-service": Case(bdqs_adaptive.adaptive_claims_of, ({"few": _OUTCOMES},)),
    "loop": Case(
        lambda point: [verdict_on(point)],
        (LoopPoint("consumers", 0.7, 0.7, 300.0, 1.1, _estimate(1.0), (1.1, 1.1, 1.1)),),
    ),
}


def _outcomes(verdicts: Iterable[Iterable[Verdict]]) -> dict[int, set[bool | None]]:
    """The outcomes of each claim, by its place: some texts name what was found best."""
    found: dict[int, set[bool | None]] = defaultdict(set)
    for each in verdicts:
        for place, verdict in enumerate(each):
            found[place].add(verdict.holds)
    return found


@pytest.mark.parametrize("name", CASES)
def test_verdicts_change_with_the_data(name: str) -> None:
    case = CASES[name]
    texts = [each.claim for each in case.verdicts(0)]
    seen: dict[int, set[bool | None]] = defaultdict(set)
    for seed in range(case.attempts):
        for place, outcomes in _outcomes([case.verdicts(seed)]).items():
            seen[place] |= outcomes
        if len(seen) == len(texts) and all({True, False} <= each for each in seen.values()):
            return
    constant = [text for place, text in enumerate(texts) if not {True, False} <= seen[place]]
    assert not constant


def test_every_experiment_is_changed() -> None:
    assert {*CASES, *SWEPT, *vma_pages.TITLES} == set(EXPERIMENTS)
