"""bdqs-adaptive-service: adaptive K and fixed ones on the real service, in waves of receivers.

The receivers of each queue come one after the other and leave in the reverse order, in waves. Half
of the K run at once, each with a queue of its own: all of them would fill a small machine, and
claims that take long collide more. The halves are drawn for each round.
"""

import asyncio
import random
from typing import Final

from dovemq.experiments.bdqs_adaptive import (
    ADAPTIVE,
    HINTS,
    LABELS,
    MEASURES,
    HintOutcome,
    adaptive_claims_of,
    outcome_panel,
)
from dovemq.experiments.bdqs_runs import BdqsRun, BdqsWorkload, run_bdqs
from dovemq.experiments.bdqs_service import BdqsServers, bdqs_database, bdqs_servers
from dovemq.experiments.figure import Effort, Figure
from dovemq.experiments.intervals import interval_columns

NODES: Final = 3
RUNS: Final = 5
RUNS_QUICK: Final = 2
RECEIVERS: Final = 8
AT_ONCE: Final = 4
"""Half of the K."""
WORK_S: Final = 0.5
WAVE_S: Final = 30.0
WAVE_QUICK_S: Final = 10.0
MESSAGES: Final = 200
MESSAGES_QUICK: Final = 30


def measured(effort: Effort) -> Figure:
    with bdqs_database(NODES) as database, bdqs_servers(database, "one") as servers:
        found = asyncio.run(_measured(servers, effort))
    columns = {
        hint: HintOutcome(*(tuple(getattr(run, name) for run in runs) for name in MEASURES))
        for hint, runs in found.items()
    }
    lost = sum(run.lost for runs in found.values() for run in runs)
    times = [run.receive_time for runs in found.values() for run in runs]
    quick = effort.quick
    return Figure(
        "Adaptive K and fixed ones while receivers come and go, real service",
        {
            "order_hint": list(columns),
            **{
                name: column
                for measure in MEASURES
                for name, column in interval_columns(
                    measure, [each.mean(measure) for each in columns.values()]
                ).items()
            },
        },
        (outcome_panel(f"1 to {RECEIVERS} receivers", columns),),
        tuple(adaptive_claims_of({"real service": columns})),
        (
            f"{NODES} servers, {RUNS_QUICK if quick else RUNS} runs, one queue for each K, R = W = "
            f"1, none. 3 senders send {MESSAGES_QUICK if quick else MESSAGES} messages each before "
            f"the first receive. Receivers come and leave in waves of "
            f"{WAVE_QUICK_S if quick else WAVE_S:g} s; their work takes {WORK_S:g} s.",
            f"{AT_ONCE} of the K run at a time, drawn for each round. A receive took "
            f"{1e3 * sum(times) / len(times):.0f} ms in the mean.",
            f"{LABELS[0]} and {LABELS[1]} are those of the pipeline, of what clients saw.",
            f"Lost messages: {lost}.",
        ),
    )


async def _measured(servers: BdqsServers, effort: Effort) -> dict[str, list[BdqsRun]]:
    hints = (*HINTS, ADAPTIVE)
    rounds = RUNS_QUICK if effort.quick else RUNS
    found: dict[str, list[BdqsRun]] = {hint: [] for hint in hints}
    for number in range(rounds):
        drawn = list(enumerate(hints))
        random.Random(f"{effort.seed}/{number}").shuffle(drawn)
        for half, chosen in enumerate((drawn[:AT_ONCE], drawn[AT_ONCE:])):
            effort.tell(f"round {number + 1}/{rounds}, half {half + 1}")
            runs = await asyncio.gather(
                *(
                    run_bdqs(
                        servers.endpoints,
                        f"fa-{place}-r{number}",
                        _workload(hint, quick=effort.quick),
                        effort.seed + 1_000 * number + place,
                    )
                    for place, hint in chosen
                )
            )
            for (_, hint), run in zip(chosen, runs, strict=True):
                found[hint].append(run)
    return found


def _workload(hint: str, *, quick: bool) -> BdqsWorkload:
    return BdqsWorkload(
        hint=hint,
        receivers=RECEIVERS,
        messages=MESSAGES_QUICK if quick else MESSAGES,
        work_s=WORK_S,
        wave_s=WAVE_QUICK_S if quick else WAVE_S,
    )
