"""The real service for experiments: CPU-limited front ends on one Redis Cluster, on this machine.

Redis takes little CPU, so that the front ends that own the partitions are the limit, and neither
the database nor the clients. All files are in memory if possible.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dovemq.experiments.service_runs import RAM_DISK
from dovemq.testing.local_front_ends import LocalFrontEnds
from dovemq.testing.local_redis import LocalRedisCluster


class LimitedService:
    def __init__(self, database: LocalRedisCluster, front_ends: LocalFrontEnds) -> None:
        self.database = database
        self.front_ends = front_ends
        self.directory = front_ends.directory

    @property
    def reading(self) -> str:
        """The way in which the limit is made, as a reading of a figure."""
        count = len(self.front_ends.servers)
        return (
            f"{count} front end(s) that own the partitions, each a process of its own with "
            f"{self.front_ends.limit}; one Redis Cluster of six processes without a limit. All of "
            "them and the clients share one machine."
        )


@contextlib.contextmanager
def limited_service(
    front_ends: int, partitions: int, cpu_share: float | None
) -> Iterator[LimitedService]:
    """The partitions of the first queue that is created are spread evenly over the front ends."""
    place = RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    with contextlib.ExitStack() as ending:
        folder = tempfile.TemporaryDirectory(
            prefix="dovemq-figure-", dir=place, ignore_cleanup_errors=True
        )
        directory = Path(ending.enter_context(folder))
        database = ending.enter_context(LocalRedisCluster(directory / "redis", appendfsync="no"))
        started = LocalFrontEnds(
            directory / "front-ends", database.url, front_ends, partitions, cpu_share=cpu_share
        )
        yield LimitedService(database, ending.enter_context(started))
