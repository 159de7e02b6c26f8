"""A fake of the admin API that `dovemq top` asks, with queues that a test may change."""

from dataclasses import dataclass, field
from typing import Any

from dovemq.client.errors import Refused
from dovemq.terminal.pictures import Document

ACCOUNT = "000000000000"
AT_MS = 1_700_000_000_000
SORT_FIELDS = {"visible": "visible", "leased": "leased", "age": "oldest_age_ms"}


def row(name: str, account: str = ACCOUNT, **changes: Any) -> Document:
    rates = {"sent": 1.5, "received": 0.0, "settled": 0.0, "redriven": 0.0, "misses": 0.0}
    return {
        "account": account,
        "name": name,
        "fifo": False,
        "paused": False,
        "dead_letters": False,
        "visible": 0,
        "leased": 0,
        "delayed": 0,
        "bytes": 0,
        "oldest_age_ms": None,
        "consumers": 0,
        "rates": rates,
        "alerts": [],
        **changes,
    }


def point(visible: int = 0, age_ms: int = 0, sent: float = 0.0) -> list[float]:
    return [AT_MS, visible, 0, 0, age_ms, sent, 0.0, 0.0]


@dataclass
class FakeAdmin:
    """`failure` is raised by each request. `asked` has the verbs of all requests."""

    rows: list[Document]
    cluster_status: Document | None = None
    failure: Exception | None = None
    clients_listed: list[Document] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def _ask(self, verb: str) -> None:
        self.asked.append(verb)
        if self.failure is not None:
            raise self.failure

    async def overview(self) -> Document:
        self._ask("overview")
        alerts = [
            {"account": each["account"], "name": each["name"], **alert}
            for each in self.rows
            for alert in each["alerts"]
        ]
        total = [AT_MS, sum(each["visible"] for each in self.rows), 0, 0, 61_000, 1.5, 0.0, 0.0]
        return {
            "at_ms": AT_MS,
            "queues": len(self.rows),
            "total": total,
            "history": [],
            "alerts": alerts,
            "alert_count": len(alerts),
            "largest": [],
            "health": {"ready": True, "reason": None, "damage": 0, "shared": False},
            "polls_parked": 0,
        }

    async def overview_queues(
        self, contains: str, sort: str, order: str, count_max: int
    ) -> Document:
        self._ask("queues")
        found = [each for each in self.rows if contains in f"{each['account']}/{each['name']}"]
        key = SORT_FIELDS.get(sort, "name")
        found.sort(key=lambda each: each[key] or 0, reverse=order == "down")
        return {"at_ms": AT_MS, "matching": len(found), "queues": found[:count_max]}

    async def cluster(self) -> Document:
        self._ask("cluster")
        if self.cluster_status is None:
            raise Refused(404, "NotShared", "The store of this server belongs to it alone.", "id")
        return self.cluster_status

    async def history(self, account: str, name: str) -> Document:
        self._ask(f"history {name}")
        now = next((each for each in self.rows if each["name"] == name), None)
        points = [point(visible, visible * 1_000, visible / 2) for visible in range(8)]
        return {"at_ms": AT_MS, "now": now, "points": points}

    async def clients(self, account: str, name: str) -> Document:
        self._ask(f"clients {name}")
        found = self.clients_listed
        return {"clients": found, "count": len(found), "waiting": 2}
