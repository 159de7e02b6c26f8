"""One run of the workload of bdqs (§V.A): its parameters, the faults of clients and network, and
what the pipeline measures in its trace.

Senders send their messages first, then the receivers start. Each queue has its own senders and
receivers; a client that gets no answer goes on at the next front end.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dovemq.core.access import AccessKey
from dovemq.core.locations import Location, parse_location
from dovemq.experiments.figure import Column
from dovemq.experiments.intervals import interval_columns
from dovemq.load.checker import Rules
from dovemq.load.faults.decisions import Drawn
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader
from dovemq.load.faults.process import Announcement
from dovemq.load.faults.run import Stage
from dovemq.load.faults.run import run as run_faults
from dovemq.load.faults.spec import ClientFaults, FaultSpec, NetworkFaults
from dovemq.load.judgement import Violation
from dovemq.load.plan import Endpoint, LoadPlan, Phases
from dovemq.load.results import LoadResult, Repetition
from dovemq.load.run import Live
from dovemq.load.run import run as run_load
from dovemq.models.estimates import Estimate, Interval
from dovemq.pipeline.metrics.duck import metrics_duckdb

SENDERS: Final = 3
MESSAGES: Final = 100
BODY_BYTES: Final = 2_048
LEASE_SECONDS: Final = 10
RUNS: Final = 3
RUNS_QUICK: Final = 2
MESSAGES_QUICK: Final = 20
ANSWER_MS: Final = 10_000
OUTAGE_MS: Final = 120_000
WINDOW_US: Final = 3_600_000_000
MODES: Final = ("none", "serial", "lease")
RULES: Final = Rules(allowed=frozenset(Violation) - {Violation.CORRUPTED, Violation.STRANGE})
"""Duplicates, order and loss are what is measured."""
ANY: Final = "any"
ADAPTIVE: Final = "adaptive"


class BdqsRunFailed(RuntimeError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"run {name} did not finish: {why}")


@dataclass(frozen=True, slots=True)
class BdqsWorkload:
    """`hint` is K, `any` or `adaptive`; `coordination` is the mode, or the name of another system.

    Delays are δ_send and δ_recv in seconds; `network` is the probability that a request or its
    answer is lost, `client` that a receiver quits with its message.
    """

    coordination: str = "none"
    hint: str = "1"
    literal: bool = False
    queues: int = 1
    senders: int = SENDERS
    receivers: int = 3
    messages: int = MESSAGES
    send_delay_s: float = 0.0
    work_s: float = 0.0
    network: float = 0.0
    client: float = 0.0
    lease_s: int = LEASE_SECONDS
    wave_s: float | None = None
    """Receivers, and senders, come and leave in waves of this length."""

    @property
    def attributes(self) -> dict[str, str]:
        if self.coordination not in MODES:
            return {}
        chosen = {"OrderHint": self.hint}
        if self.coordination != "lease":
            chosen["Coordination"] = self.coordination
            if self.literal:
                chosen["ReceiveDraw"] = "literal"
        return chosen

    def smaller(self, messages: int = MESSAGES_QUICK) -> "BdqsWorkload":
        return replace(self, messages=min(messages, self.messages))


@dataclass(frozen=True, slots=True)
class BdqsRun:
    """Rates are messages a second, times seconds, as the clients saw them.

    `lost` and `left` count messages that were never received, and those that nobody settled with an
    answer; `histories` tell what was seen of each lost one. The measures of consistency are those
    of the pipeline.
    """

    send_rate: float
    receive_rate: float
    send_time: float
    receive_time: float
    duplication_rate: float
    out_of_order_rate: float
    average_displacement: float
    loss_rate: float
    messages: int
    lost: int
    left: int
    failures: int
    histories: tuple[str, ...] = ()


def mean_of(runs: Sequence[BdqsRun], name: str) -> Interval:
    """The mean over runs with its interval; for a single run the interval is open."""
    return Estimate(tuple(float(getattr(run, name)) for run in runs)).interval


def run_columns(found: Sequence[Sequence[BdqsRun]], measures: Sequence[str]) -> dict[str, Column]:
    """The number of runs of each point, its means, and its sums of messages and failures."""
    return {
        "runs": [len(runs) for runs in found],
        **{
            name: column
            for measure in measures
            for name, column in interval_columns(
                measure, [mean_of(runs, measure) for runs in found]
            ).items()
        },
        **{
            name: [sum(getattr(run, name) for run in runs) for runs in found]
            for name in ("messages", "lost", "left", "failures")
        },
    }


async def run_bdqs(
    endpoints: Sequence[Endpoint],
    name: str,
    workload: BdqsWorkload,
    seed: int,
    live: Live | None = None,
) -> BdqsRun:
    """Runs the workload once. `name` names its queues, and must be new."""
    with contextlib.ExitStack() as ending:
        folder = tempfile.TemporaryDirectory(prefix="dovemq-bdqs-")
        place = Path(ending.enter_context(folder))
        trace = parse_location(str(place / "trace"))
        plan = _plan(name, workload, seed, endpoints)
        if workload.network or workload.client:
            result = await _through_faults(ending, plan, workload, place, trace)
        else:
            result = await run_load(
                plan, journals=place / "journals", traces=trace, rules=RULES, live=live
            )
        if result.failed or result.interrupted:
            raise BdqsRunFailed(
                name, result.failure or "messages were corrupted or came from nowhere"
            )
        return await asyncio.to_thread(_measured, result, place / "trace")


async def _through_faults(
    ending: contextlib.ExitStack,
    plan: LoadPlan,
    workload: BdqsWorkload,
    place: Path,
    trace: Location,
) -> LoadResult:
    """A request or its answer is dropped with that probability together."""
    each = workload.network / 2
    spec = FaultSpec(
        network=NetworkFaults(drop_request=each, drop_response=each),
        client=ClientFaults(quit=workload.client),
    )
    log = ending.enter_context(FaultLog(FaultLogHeader(spec, plan.seed)))
    stage = Stage(
        place, _no_key, log, plan.endpoint, journals=place / "journals", traces=trace, rules=RULES
    )
    return (await run_faults(spec, Drawn(spec, plan.seed), plan, stage)).result


def _no_key(announced: Announcement) -> AccessKey:
    raise AssertionError("the servers of the experiment run already")


def _plan(name: str, workload: BdqsWorkload, seed: int, endpoints: Sequence[Endpoint]) -> LoadPlan:
    return LoadPlan(
        endpoint=endpoints[0],
        further_endpoints=tuple(endpoints[1:]),
        name=name,
        seed=seed,
        applications=workload.queues,
        senders=workload.senders,
        receivers=workload.receivers,
        messages=workload.messages,
        send_pause_ms=round(1_000 * workload.send_delay_s),
        receive_pause_ms=round(1_000 * workload.work_s),
        body_bytes=BODY_BYTES,
        wave_seconds=workload.wave_s,
        receive_batch=1,
        # A receive that draws a hidden message is answered at once, and repeated at once.
        wait_seconds=0 if workload.literal else 1,
        lease_seconds=workload.lease_s,
        phases=Phases.APART,
        queue_attributes=workload.attributes,
        resend=True,
        answer_ms_max=ANSWER_MS,
        outage_ms_max=OUTAGE_MS,
    )


def _measured(result: LoadResult, trace: Path) -> BdqsRun:
    repetition: Repetition = result.repetitions[0]
    report = repetition.report
    found = metrics_duckdb([str(trace)], WINDOW_US).overall.to_pylist()[0]
    lost = [each for each in report.culprits if Violation.LOST in each.faults]

    def rate(measure: str) -> float:
        return float(found[measure] or 0.0)

    return BdqsRun(
        send_rate=repetition.sends.rate,
        receive_rate=repetition.settles.rate,
        send_time=repetition.sends.times.mean / 1e3,
        receive_time=repetition.receives.times.mean / 1e3,
        duplication_rate=rate("duplication_rate"),
        out_of_order_rate=rate("out_of_order_rate"),
        average_displacement=rate("average_displacement"),
        loss_rate=report.rates["loss_rate"],
        messages=report.messages,
        lost=report.faults[Violation.LOST],
        left=report.left,
        failures=sum(repetition.failures.values()),
        histories=tuple("; ".join(each.history) for each in lost),
    )
