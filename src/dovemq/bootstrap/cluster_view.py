"""A shared store as the admin API and the metrics show it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from dovemq.bootstrap.shared import SharedStore
from dovemq.telemetry.metrics import MetricSample


class SharedView:
    """Implements `server.care.ClusterView`."""

    def __init__(self, shared: SharedStore) -> None:
        self._shared = shared
        self._store = shared.store

    def unready_reason(self) -> str | None:
        membership = self._store.membership
        if membership.holds():
            return None
        found = f" {membership.trouble.found}" if membership.trouble else ""
        return f"This front end has no lease.{found}"

    async def status(self) -> dict[str, Any]:
        status = await self._store.status()
        queues = {queue.number: str(queue.key) for queue in self._store.catalogue.all_queues()}
        return {
            "database": self._shared.database,
            "front_end": status.incarnation or None,
            "lease": self._store.membership.holds(),
            "leads": status.leads,
            "front_ends": [
                {
                    "front_end": each.incarnation,
                    "address": each.address,
                    "state": each.heartbeat.state.value,
                    "release": each.heartbeat.release,
                }
                for each in status.front_ends
            ],
            "partitions": [
                {
                    "queue": queues[place[0]],
                    "partition": place[1],
                    "front_end": owner.incarnation,
                    "epoch": owner.epoch,
                }
                for place, owner in sorted(status.owners.items())
                if place[0] in queues
            ],
            "links": [msgspec.to_builtins(link) for link in self._links()],
            "recoveries": msgspec.to_builtins(status.statistics),
        }

    def samples(self) -> Iterator[MetricSample]:
        statistics = self._store.statistics
        yield MetricSample("dovemq_front_ends", len(self._store.membership.front_ends))
        yield MetricSample("dovemq_leads", int(self._store.leads()))
        yield MetricSample("dovemq_partitions_owned", len(self._store.owned()))
        yield MetricSample("dovemq_partitions_opened_total", statistics.opened)
        yield MetricSample("dovemq_partitions_handed_over_total", statistics.handed_over)
        yield MetricSample("dovemq_partitions_lost_total", statistics.lost)
        if self._store.unowned is not None:
            seen = self._store.unowned.statistics()
            for event in seen.__struct_fields__:
                count = getattr(seen, event)
                yield MetricSample("dovemq_index_events_total", count, (event,))

    def _links(self) -> list[Any]:
        return self._shared.links.statuses() if self._shared.links else []
