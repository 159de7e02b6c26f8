"""The workloads, and their number of messages for a fast contestant."""

from typing import Final

from msgspec import Struct

CONNECTIONS: Final = 8
TEN: Final = 10
PASS_SECONDS_MAX: Final = 60.0
DEEP_SECONDS_MAX: Final = 20.0
SHALLOW: Final = 1_000
DEEP: Final = 200_000


class Workload(Struct, frozen=True):
    name: str
    title: str
    timed: str
    """The quantity that p50 and p99 describe."""
    load: str
    """The load client's word for it."""
    messages: int
    batch: int = 1
    receive: int = 1
    backlog: int = 0

    @property
    def keeps_its_queue(self) -> bool:
        """A deep backlog is filled once and topped up before each pass."""
        return self.backlog == DEEP

    @property
    def seconds_max(self) -> float:
        """The time at which it is cut; a slow peer would be cut in each pass of a deep drain."""
        return DEEP_SECONDS_MAX if self.keeps_its_queue else PASS_SECONDS_MAX


LIFECYCLE: Final = "lifecycle"
LIFECYCLE_BATCH: Final = "lifecycle-batch"
WAKE: Final = "wake"
DRAIN_SHALLOW: Final = "drain-1000"
DRAIN_DEEP: Final = "drain-200000"

WORKLOADS: Final = (
    Workload("send", "Send", "one send", "send", 20_000),
    Workload("send-batch", "Send, batches of 10", "one send of 10", "send", 50_000, TEN),
    Workload(
        LIFECYCLE,
        "Lifecycle: single sends, receive 10, delete batch",
        "one send",
        "lifecycle",
        20_000,
        1,
        TEN,
    ),
    Workload(
        LIFECYCLE_BATCH,
        "Lifecycle: batch sends, receive 10, delete batch",
        "one send of 10",
        "lifecycle",
        50_000,
        TEN,
        TEN,
    ),
    Workload("singles", "Lifecycle: all singles", "one send", "lifecycle", 20_000),
    Workload("latency", "One connection", "send, receive and delete in turn", "latency", 2_000),
    Workload(WAKE, "Wake-up of a long poll", "send answered to receive answered", "wake", 100),
    Workload(
        DRAIN_SHALLOW,
        f"Drain at a backlog of {SHALLOW:,}",
        "receive 10 and delete batch",
        "drain",
        20_000,
        TEN,
        TEN,
        SHALLOW,
    ),
    Workload(
        DRAIN_DEEP,
        f"Drain at a backlog of {DEEP:,}",
        "receive 10 and delete batch",
        "drain",
        20_000,
        TEN,
        TEN,
        DEEP,
    ),
)
