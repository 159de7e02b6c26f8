"""A client of the admin API: queues, messages without receiving them, accounts, backups.

Methods return the JSON documents of the API, which `docs/reference/admin.md` describes.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from dovemq.client.admin_session import NOTHING, AdminSession, Document
from dovemq.client.connection import Sink
from dovemq.client.session import ANSWER_SECONDS_MAX

LONG_SECONDS_MAX: Final = 24 * 3_600.0
"""Limit for backups and verifications, which read every message."""


class AdminClient(AdminSession):
    async def health(self) -> Document:
        return await self._get("/v1/health")

    async def cluster(self) -> Document:
        """The front ends that share the store of the server."""
        return await self._get("/v1/cluster")

    async def counters(self) -> Document:
        return await self._get("/v1/counters")

    async def metrics(self) -> bytes:
        """The metrics of the server that answers, in the text format of Prometheus."""
        answer = await self._ask("GET", "/metrics", {}, seconds_max=ANSWER_SECONDS_MAX)
        return answer.body

    async def overview(self) -> Document:
        """Totals, their history, alerts and health, from a snapshot that is at most seconds old."""
        return await self._get("/v1/overview")

    async def overview_queues(
        self, contains: str = "", sort: str = "name", order: str = "up", count_max: int = 50
    ) -> Document:
        """The first queues of that snapshot by a column, with counts, rates and alerts."""
        query = {"contains": contains, "sort": sort, "order": order, "limit": str(count_max)}
        return await self._get("/v1/overview/queues", query)

    async def history(self, account: str, name: str) -> Document:
        """The queue in that snapshot, and its last quarter of an hour."""
        return await self._get(_queue_path(account, name) + "/history")

    async def clients(self, account: str, name: str) -> Document:
        """The connections that send to a queue or receive from it at the server that is asked."""
        return await self._get(_queue_path(account, name) + "/clients")

    async def queues(self, prefix: str = "") -> list[Document]:
        """All queues that the key may see, with settings and counts."""
        return await self._all("/v1/queues", "queues", {"prefix": prefix})

    async def queue(self, account: str, name: str) -> Document:
        return await self._get(_queue_path(account, name))

    async def explanation(self, account: str, name: str) -> Document:
        """Why the queue has its partitions, as the front end that is asked sees it."""
        return await self._get(_queue_path(account, name) + "/explanation")

    async def messages(
        self, account: str, name: str, count_max: int = 10, after: int | str = 0
    ) -> Document:
        """A page of messages after `after`, a sequence or the `next` of the page before."""
        query = {"limit": str(count_max), "after": str(after)}
        return await self._get(_queue_path(account, name) + "/messages", query)

    async def consistency(self, account: str, name: str) -> Document:
        """The figures that a monitor reported last."""
        return await self._get(_queue_path(account, name) + "/consistency")

    async def report_consistency(
        self, account: str, name: str, counts: Mapping[str, Any]
    ) -> Document:
        path = _queue_path(account, name) + "/consistency"
        return await self._document("PUT", path, counts)

    async def backup(self, sink: Sink) -> None:
        """Make a consistent copy of the store and pass it to `sink` piece by piece."""
        await self._ask("POST", "/v1/backups", {}, seconds_max=LONG_SECONDS_MAX, sink=sink)

    async def damage(self) -> Document:
        return await self._get("/v1/damage")

    async def verify(self) -> Document:
        return await self._document("POST", "/v1/verifications", seconds_max=LONG_SECONDS_MAX)

    async def accounts(self) -> list[Document]:
        return await self._all("/v1/accounts", "accounts", {})

    async def account(self, account: str) -> Document:
        """One account. Here and below `account` is a number or a name."""
        return await self._get(_account_path(account))

    async def add_account(self, name: str, fields: Mapping[str, Any] = NOTHING) -> Document:
        return await self._document("POST", "/v1/accounts", {"name": name, **fields})

    async def change_account(self, account: str, changes: Mapping[str, Any]) -> Document:
        return await self._document("PATCH", _account_path(account), changes)

    async def remove_account(self, account: str) -> Document:
        return await self._document("DELETE", _account_path(account))

    async def set_password(self, account: str, password: str) -> Document:
        path = _account_path(account) + "/password"
        return await self._document("PUT", path, {"password": password})

    async def add_credential(self, account: str, lifetime_ms: int | None = None) -> Document:
        """Make a key. Its secret is in this answer and in no other."""
        path = _account_path(account) + "/credentials"
        return await self._document("POST", path, {"lifetime_ms": lifetime_ms})

    async def rotate_credential(self, account: str, key_id: str, grace_ms: int) -> Document:
        path = _credential_path(account, key_id) + "/rotations"
        return await self._document("POST", path, {"grace_ms": grace_ms})

    async def change_credential(
        self, account: str, key_id: str, changes: Mapping[str, Any]
    ) -> Document:
        return await self._document("PATCH", _credential_path(account, key_id), changes)

    async def remove_credential(self, account: str, key_id: str) -> Document:
        return await self._document("DELETE", _credential_path(account, key_id))

    async def may(
        self, account: str, action: str, queue: str, context: Mapping[str, str] = NOTHING
    ) -> Document:
        """Whether the account may use the operation on the queue, and why."""
        query = {"action": action, "queue": queue, **context}
        return await self._get(_account_path(account) + "/may", query)

    async def audit(self, count_max: int = 100, after: int | None = None) -> Document:
        """A page of entries after the sequence `after`, or the newest ones for None."""
        query = {"limit": str(count_max), "after": "" if after is None else str(after)}
        return await self._get("/v1/audit", query)


def _queue_path(account: str, name: str) -> str:
    return f"/v1/queues/{quote(account, safe='')}/{quote(name, safe='')}"


def _account_path(account: str) -> str:
    return f"/v1/accounts/{quote(account, safe='')}"


def _credential_path(account: str, key_id: str) -> str:
    return f"{_account_path(account)}/credentials/{quote(key_id, safe='')}"
