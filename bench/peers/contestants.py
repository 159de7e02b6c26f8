"""The contestants, and what each promises for an acknowledged message."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.peers import starting
from bench.peers.processes import Running


class Contestant(Struct, frozen=True):
    name: str
    title: str
    protocol: str
    durable: str
    """yes: on disk and synced before the answer; late: on disk, synced later; no: in memory."""
    sync: str
    signed: str
    start: Callable[[Path, Path], Running]
    """Given the cache directory with what was installed, and an empty directory."""
    warm_seconds: int = 3
    """Longer where a compiler works at run time."""

    @property
    def speaks_sqs(self) -> bool:
        return self.protocol == "sqs"


OURS: Final = "dovemq"
NATS: Final = "nats"

CONTESTANTS: Final = (
    Contestant(
        OURS, "DoveMQ", "sqs", "yes", "each commit, shared by a group", "yes", starting.dovemq
    ),
    Contestant(
        "elasticmq",
        "ElasticMQ in memory",
        "sqs",
        "no",
        "none",
        "not checked",
        starting.elasticmq_memory,
        warm_seconds=20,
    ),
    Contestant(
        "elasticmq-h2",
        "ElasticMQ on H2",
        "sqs",
        "late",
        "H2 writes behind; no sync was seen while sending",
        "not checked",
        starting.elasticmq_h2,
        warm_seconds=20,
    ),
    Contestant("moto", "moto", "sqs", "no", "none", "not checked", starting.moto),
    Contestant("ministack", "ministack", "sqs", "no", "none", "not checked", starting.ministack),
    Contestant(
        "fauxqs",
        "fauxqs",
        "sqs",
        "no",
        "none",
        "not checked",
        starting.fauxqs,
        warm_seconds=10,
    ),
    Contestant(
        NATS,
        "NATS JetStream",
        "nats",
        "late",
        "file store, synced every 2 minutes by default",
        "no login",
        starting.nats,
    ),
    Contestant(
        "redis",
        "Redis streams",
        "redis",
        "late",
        "appendonly, synced every second",
        "no login",
        starting.redis,
    ),
    Contestant(
        "rabbitmq",
        "RabbitMQ quorum queue",
        "amqp",
        "yes",
        "log of the quorum queue, one member",
        "password at login",
        starting.rabbitmq,
    ),
    Contestant(
        "postgresql",
        "PostgreSQL SKIP LOCKED",
        "postgres",
        "yes",
        "each commit",
        "no login",
        starting.postgres,
    ),
)
