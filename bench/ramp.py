"""A queue that sizes itself while its clients come and go: its changes, and an account of messages.

    python -m bench.ramp [--kill MOMENT …] [--waves 3] [--wave-seconds 60] [--json]

Three front ends on a Redis Cluster, each with a small share of a core. The clients of one queue
with `Partitions=auto` come one by one and leave one by one, in each wave. With `--kill`, the front
end that leads is killed at the first such moment of each wave, and started again after ten seconds:

    addition    a partition has just been added
    removal     a partition is marked, or drains
    exchange    messages have moved between partitions

The checker of the load tool accounts for every message. `in_a_row` is the largest number of changes
within one inhibition delay: 2 at most, since a mark may be followed by its removal at once.
`flooded_s` is the longest time for which one partition had messages while consumers of another had
none. Exits with 1 if a message was lost or changes were more frequent.
"""

import asyncio
import contextlib
import datetime
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.shared_faults.runs import WRONG
from bench.tables import Row, parser_of, show
from dovemq.client import AdminClient, ClientError
from dovemq.experiments.limited_service import LimitedService, limited_service
from dovemq.load.checker import Rules
from dovemq.load.judgement import Violation
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.load.run import Live
from dovemq.load.run import run as run_load

FRONT_ENDS: Final = 3
CPU_SHARE: Final = 0.2
SENDERS: Final = 10
RECEIVERS: Final = 20
INHIBITION_SECONDS: Final = 5
PARTITIONS_MAX: Final = 6
LOOK_SECONDS: Final = 0.1
DOWN_SECONDS: Final = 10
FLOODED_COUNT: Final = 50
"""Visible messages from which on a partition counts as flooded."""
MOMENTS: Final = ("addition", "removal", "exchange")
ACCOUNT: Final = "000000000000"
EXCHANGED: Final = "dovemq_messages_exchanged_total"
AUDITED_MAX: Final = 1_000


@dataclass
class Sighting:
    """The queue as a front end shows it."""

    partitions: Sequence[dict[str, Any]]
    leader: int | None

    @property
    def active(self) -> int:
        return sum(each["state"] == "active" for each in self.partitions)

    @property
    def leaving(self) -> int:
        return sum(each["state"] != "active" for each in self.partitions)

    @property
    def unfair(self) -> bool:
        """One partition floods while another has consumers and nothing for them."""
        flooded = any(each["visible"] >= FLOODED_COUNT for each in self.partitions)
        return flooded and any(
            each["consumers"] and not each["visible"] for each in self.partitions
        )


@dataclass
class Watch:
    """Looks at the queue during the load, and kills the leading front end at a moment."""

    service: LimitedService
    queue: str
    kill: str | None
    wave_seconds: float
    active_max: int = 0
    flooded_s: float = 0.0
    kills: int = 0
    _unfair_since: float | None = None
    _waves_hit: set[int] = field(default_factory=set)
    _restarts: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self) -> None:
        began = time.monotonic()
        before: Sighting | None = None
        moved_before = await self._moved()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            seen = await self._look()
            if seen is None:
                continue
            self.active_max = max(self.active_max, seen.active)
            self._note_fairness(seen.unfair)
            moved = await self._moved() if self.kill == "exchange" else moved_before
            moment = _moment(before, seen, exchanged=moved > moved_before)
            before, moved_before = seen, moved
            wave = int((time.monotonic() - began) / self.wave_seconds)
            if self.kill in moment and wave not in self._waves_hit and seen.leader is not None:
                self._waves_hit.add(wave)
                self.kills += 1
                self._restarts.append(asyncio.create_task(self._kill(seen.leader)))

    async def end(self) -> None:
        await asyncio.gather(*self._restarts)

    async def actions(self) -> list[dict[str, Any]]:
        """The actions of the controller from the audit logs of all front ends."""
        entries = []
        for server in self.service.front_ends.servers:
            async with AdminClient(server.admin_url) as admin:
                entries += (await admin.audit(AUDITED_MAX))["entries"]
        return [
            each
            for each in entries
            if each["action"].endswith(" partition") and each["target"].endswith(f"/{self.queue}")
        ]

    async def _look(self) -> Sighting | None:
        """The queue as the leading front end shows it, or another one; None if none answers."""
        found: Sighting | None = None
        for number, server in enumerate(self.service.front_ends.servers):
            with contextlib.suppress(ClientError):
                async with AdminClient(server.admin_url, attempts_max=1) as admin:
                    document = await admin.explanation(ACCOUNT, self.queue)
                if document["leads"]:
                    return Sighting(document["partitions"], number)
                found = Sighting(document["partitions"], None)
        return found

    async def _moved(self) -> int:
        """Messages that the front ends have moved between partitions."""
        urls = [f"{server.admin_url}/metrics" for server in self.service.front_ends.servers]
        return sum(await asyncio.gather(*(asyncio.to_thread(_exchanged, url) for url in urls)))

    def _note_fairness(self, unfair: bool) -> None:
        now = time.monotonic()
        if not unfair:
            self._unfair_since = None
            return
        self._unfair_since = self._unfair_since or now
        self.flooded_s = max(self.flooded_s, now - self._unfair_since)

    async def _kill(self, number: int) -> None:
        server = self.service.front_ends.servers[number]
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(DOWN_SECONDS)
        await asyncio.to_thread(self.service.front_ends.restart, number)


def _exchanged(metrics_url: str) -> int:
    """The counter of one front end; 0 if it does not answer."""
    with contextlib.suppress(OSError), urllib.request.urlopen(metrics_url, timeout=1) as answer:
        lines = answer.read().decode().splitlines()
        found = (line.split() for line in lines if line.startswith(EXCHANGED))
        return sum(int(float(words[-1])) for words in found)
    return 0


def _moment(before: Sighting | None, seen: Sighting, *, exchanged: bool) -> set[str]:
    """The moments that lie between two sightings."""
    found = {"exchange"} if exchanged else set()
    if before is not None and seen.active > before.active and seen.leaving == before.leaving:
        found.add("addition")
    if before is not None and seen.leaving > before.leaving:
        found.add("removal")
    return found


def in_a_row(times: Sequence[float], span: float) -> int:
    """The largest number of these times within one span."""
    return max((sum(first <= each < first + span for each in times) for first in times), default=0)


async def measure(
    service: LimitedService, kill: str | None, waves: int, wave_seconds: float, journals: Path
) -> Row:
    first, *others = (Endpoint(url) for url in service.front_ends.urls)
    plan = LoadPlan(
        endpoint=first,
        further_endpoints=tuple(others),
        name=f"ramp-{kill or 'none'}",
        senders=SENDERS,
        receivers=RECEIVERS,
        messages=None,
        seconds_max=waves * wave_seconds,
        wave_seconds=wave_seconds,
        body_bytes=256,
        lease_seconds=10,
        resend=True,
        answer_ms_max=10_000,
        outage_ms_max=120_000,
        drain_ms_max=60_000,
        linger_ms=2_000,
        keep_queues=True,
        queue_attributes={
            "Partitions": "auto",
            "PartitionsMax": str(PARTITIONS_MAX),
            "InhibitionSeconds": str(INHIBITION_SECONDS),
            "SessionMigration": "on",
        },
    )
    watch = Watch(service, plan.queue_name(1, 0), kill, wave_seconds)
    watching = asyncio.create_task(watch.run())
    rules = Rules(allowed=frozenset({Violation.COLLIDED}))
    try:
        result = await run_load(plan, journals=journals, rules=rules, live=Live())
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await watch.end()
    report = result.repetitions[0].report
    actions = await watch.actions()
    kinds = Counter(each["action"].removesuffix(" partition") for each in actions)
    times = [datetime.datetime.fromisoformat(each["ts"]).timestamp() for each in actions]
    wrong = {name: count for name in WRONG if (count := report.faults.get(Violation(name), 0))}
    return {
        "kill": kill or "none",
        "messages": report.messages,
        "wrong": result.failure or (str(wrong) if wrong else "none"),
        "duplicates": sum(report.duplicates.values()),
        "kills": watch.kills,
        "partitions": watch.active_max,
        **{name: kinds.get(name, 0) for name in ("add", "mark", "unmark", "remove")},
        "in_a_row": in_a_row(times, INHIBITION_SECONDS),
        "flooded_s": round(watch.flooded_s, 1),
    }


def main(arguments: list[str]) -> int:
    parser = parser_of("ramp", __doc__)
    parser.add_argument(
        "--kill", nargs="*", choices=MOMENTS, help="moments (default: none and all)"
    )
    parser.add_argument("--waves", type=int, default=3)
    parser.add_argument("--wave-seconds", type=float, default=60.0)
    options = parser.parse_args(arguments)
    rows = []
    for kill in options.kill or (None, *MOMENTS):
        with limited_service(FRONT_ENDS, 1, CPU_SHARE) as service:
            journals = service.directory / "journals"
            row = asyncio.run(measure(service, kill, options.waves, options.wave_seconds, journals))
        print(row, file=sys.stderr, flush=True)
        rows.append(row)
    show(rows, as_json=options.json)
    return int(any(row["wrong"] != "none" or int(str(row["in_a_row"])) > 2 for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
