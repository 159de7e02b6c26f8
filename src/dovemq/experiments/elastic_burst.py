"""elastic-fig8 on real processes: a burst, with the resource manager and without it.

The paper does not say from which response time on its manager acts, over which window it measures,
and how long a new consumer takes to start. The burst is therefore repeated with other settings.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.experiments.claims import exact, judge
from dovemq.experiments.elastic import HEAVY, case_study
from dovemq.experiments.elastic_points import BACKLOG_READING, SCALE_READING
from dovemq.experiments.elastic_service import (
    MINUTE_S,
    PAPER_MINUTE_S,
    TOPICS,
    Arrival,
    ElasticService,
    arrivals_of,
    counted_arrivals,
    elastic_service,
    response_s,
)
from dovemq.experiments.elastic_steps import BUDGET, LIGHT, ONE_EACH
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, PaperMark, Tell, Verdict
from dovemq.models.analytic import network_measures
from dovemq.workflows.sizing.decisions import SizingDecision
from dovemq.workflows.sizing.loop import SizingLoop
from dovemq.workflows.sizing.monitor import MonitorSettings
from dovemq.workflows.sizing.settings import ConsumerBounds, SizingSettings
from dovemq.workflows.sizing.source import JobSource

EACH: Final = 100
"""Jobs of each type."""
BEFORE: Final = 60
"""The first 20 % of all jobs arrive slowly."""
END_SECONDS_MAX: Final = 150.0
PAPER_ALLOCATION: Final = (2, 2, 1, 4)
PAPER_SHARE: Final = 0.15
SHARE: Final = (0.1, 0.2)
BACK: Final = 1.5
"""The mean of the last tenth of the jobs is back if it is at most so many times that before."""
LIGHT_SECONDS_MAX: Final = 10_000.0
TOUCHED_TIMES: Final = 3.0


class BurstSettings(Struct, frozen=True):
    """Settings of the manager in seconds of the paper; `name` is for the figure."""

    name: str
    threshold_s: float = 90.0
    window_s: float = 600.0
    every_s: float = 60.0
    foresee: bool = False


DEFAULT: Final = BurstSettings("window 10 min, threshold 90 s")
SETTINGS: Final = (
    DEFAULT,
    BurstSettings("window 5 min", window_s=300.0),
    BurstSettings("window 20 min", window_s=1_200.0),
    BurstSettings("threshold 60 s", threshold_s=60.0),
    BurstSettings("threshold 180 s", threshold_s=180.0),
    BurstSettings("looks every 5 min", every_s=300.0),
    BurstSettings("acts on rates too", foresee=True),
)


class BurstRun(Struct, frozen=True):
    """`responses` are in the order of arrival, in seconds of the paper."""

    name: str
    responses: tuple[float, ...]
    consumers: tuple[int, ...]
    decisions: tuple[SizingDecision, ...] = ()

    @property
    def touched(self) -> float:
        """The share of all requests that came in the burst and took far longer than before it."""
        most_s = TOUCHED_TIMES * expected_s()
        slow = sum(each > most_s for each in self.responses[BEFORE:])
        return slow / len(self.responses)

    @property
    def back(self) -> float:
        """The mean of the last tenth relative to the mean before the burst."""
        last = self.responses[-len(self.responses) // 10 :]
        before = self.responses[:BEFORE]
        return (sum(last) / len(last)) / (sum(before) / len(before))

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(each.text for each in self.decisions if each.changes)


def expected_s() -> float:
    """The mean response time before the burst by the model, in seconds of the paper."""
    return PAPER_MINUTE_S * float(network_measures(case_study(LIGHT)).time_per_job)


def burst(effort: Effort) -> Figure:
    """Fig. 8."""
    with_manager, without, busyness = asyncio.run(_runs(effort))
    default = with_manager[0]
    runs = [*with_manager, without]
    x = tuple(map(float, range(1, len(runs) + 1)))
    data: dict[str, Column] = {
        "run": [each.name for each in runs for _ in each.responses],
        "request": [place for each in runs for place in range(1, len(each.responses) + 1)],
        "response_s": [value for each in runs for value in each.responses],
    }
    return Figure(
        "A burst, with the resource manager and without it (elastic, fig. 8)",
        data,
        (
            Panel(
                "means of 10 requests in the order of arrival",
                "request",
                "response time, s",
                tuple(_smoothed(each) for each in (default, without)),
                (PaperMark("the burst begins", x=float(BEFORE)),),
            ),
            Panel(
                "share of requests that the burst touches",
                "settings of the manager",
                "share",
                (Curve("touched", x, tuple(each.touched for each in runs), points=True),),
                (PaperMark("paper's text: about 15 %", y=PAPER_SHARE),),
                x_names=tuple(each.name for each in runs),
            ),
        ),
        burst_claims(default, without),
        (
            SCALE_READING,
            BACKLOG_READING,
            f"A request of the burst is touched if it takes more than {TOUCHED_TIMES:g} times the "
            f"mean that the model expects before the burst, {expected_s():.0f} s.",
            "Threshold, window and period are not given in the paper. "
            + "; ".join(
                f"{each.name}: {each.touched:.0%} touched, {each.consumers}" for each in runs
            ),
            busyness,
            *(f"Decision: {text}" for text in default.reasons),
        ),
    )


def burst_claims(default: BurstRun, without: BurstRun) -> tuple[Verdict, ...]:
    return (
        Verdict(
            "the allocation after the last reschedule is (2, 2, 1, 4)",
            "the same allocation",
            default.consumers == PAPER_ALLOCATION,
            str(default.consumers),
        ),
        judge(
            "the burst touches about 15 % of the requests",
            "share of the requests",
            exact([default.touched]),
            least=SHARE[0],
            most=SHARE[1],
        ),
        judge(
            "the response time returns to the level before the burst",
            "mean of the last tenth / mean before the burst",
            exact([default.back]),
            most=BACK,
        ),
        judge(
            "without the manager the burst touches more requests",
            "share without / share with the manager",
            exact([without.touched / max(default.touched, 1e-9)]),
            least=1.0,
        ),
    )


def _smoothed(run: BurstRun) -> Curve:
    parts = [run.responses[first : first + 10] for first in range(0, len(run.responses), 10)]
    means = [sum(part) / len(part) for part in parts]
    x = tuple(10.0 * place + 5.0 for place in range(len(means)))
    return Curve(run.name, x, tuple(means))


def burst_arrivals(seed: int) -> list[Arrival]:
    """Arrivals of 100 jobs of each type: the first 60 of all slowly, the others in a burst."""
    slow = arrivals_of(LIGHT, LIGHT_SECONDS_MAX * MINUTE_S, seed)[:BEFORE]
    begun = slow[-1].at_s
    left = {name: EACH - sum(each.type == name for each in slow) for name in "123"}
    fast = []
    for at_s, name in counted_arrivals(HEAVY, EACH, seed + 1):
        if left[name]:
            left[name] -= 1
            fast.append(Arrival(begun + at_s, name))
    return [*slow, *fast]


async def _runs(effort: Effort) -> tuple[list[BurstRun], BurstRun, str]:
    arrivals = burst_arrivals(effort.seed)
    settings = (DEFAULT,) if effort.quick else SETTINGS
    found = []
    async with elastic_service() as service:
        without = await _one(service, None, arrivals, effort.seed, effort.tell)
        for each in settings:
            found.append(await _one(service, each, arrivals, effort.seed, effort.tell))
        return found, without, service.busyness


async def _one(
    service: ElasticService,
    settings: BurstSettings | None,
    arrivals: Sequence[Arrival],
    seed: int,
    tell: Tell,
) -> BurstRun:
    name = "no manager" if settings is None else settings.name
    await service.allocate(ONE_EACH)
    since_ms = service.clock.now_ms()
    decisions: list[SizingDecision] = []
    stopped = asyncio.Event()
    managing = None
    if settings is not None:
        loop = _manager(service, settings, decisions)
        every = settings.every_s / PAPER_MINUTE_S * MINUTE_S
        managing = asyncio.ensure_future(loop.run(stopped.wait(), every))
    try:
        ids = await service.submit(arrivals, seed, lambda text: tell(f"{name}: {text}"))
        jobs = await service.jobs(ids, END_SECONDS_MAX, since_ms)
    finally:
        stopped.set()
        if managing is not None:
            await managing
    now_ms = service.clock.now_ms()
    await service.cancel(jobs)
    service.note_ready()
    consumers = tuple(decisions[-1].after[topic] for topic in TOPICS) if decisions else ONE_EACH
    responses = tuple(response_s(job, now_ms) for job in jobs)
    return BurstRun(name, responses, consumers, tuple(decisions))


def _manager(
    service: ElasticService, settings: BurstSettings, decisions: list[SizingDecision]
) -> SizingLoop:
    real_ms = 1_000.0 * MINUTE_S / PAPER_MINUTE_S
    return SizingLoop(
        JobSource(service.client, since_ms=service.clock.now_ms()),
        service.allocator,
        service.clock,
        SizingSettings(
            budget=BUDGET,
            threshold_ms=settings.threshold_s * real_ms,
            cool_down_ms=round(300.0 * real_ms),
            calm_ms=round(86_400.0 * real_ms),
            span_ms_min=round(300.0 * real_ms),
            foresee=settings.foresee,
            bounds_of_others=ConsumerBounds(),
        ),
        MonitorSettings(round(settings.window_s * real_ms)),
        record=decisions.append,
        report=lambda _: None,
    )
