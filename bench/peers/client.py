"""The load client: built from bench/peers/load with Go, runs one task at a time."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.peers.processes import Running
from bench.peers.workloads import CONNECTIONS, PASS_SECONDS_MAX, Workload

SOURCE: Final = Path(__file__).with_name("load")
SPARE_SECONDS: Final = 120.0
"""Time for filling, connecting and clearing up, beside the measured time."""


class NoClient(RuntimeError):
    pass


class LoadFailed(RuntimeError):
    pass


class Task(Struct, frozen=True):
    """One workload against one queue. A kept queue holds messages below the number `first`."""

    workload: Workload
    queue: str
    messages: int
    backlog: int
    held: int = 0
    first: int = 0
    fill_seconds_max: float = PASS_SECONDS_MAX


class Measured(Struct, frozen=True):
    """The client's output; see Result in load/main.go."""

    messages: int
    seconds: float
    server_cpu_seconds: float
    client_cpu_seconds: float
    memory_bytes: int
    p50_ms: float
    p99_ms: float
    receive_p50_ms: float
    from_send_start_p50_ms: float
    sent: int
    backlog: int
    duplicates: int
    missing: int
    cut: bool

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU of the server per 1,000 messages."""
        return self.server_cpu_seconds / self.messages * 1e6

    @property
    def client_cpu_ms(self) -> float:
        return self.client_cpu_seconds / self.messages * 1e6


class Client:
    def __init__(self, program: Path) -> None:
        self._program = program

    @classmethod
    def build(cls, cache: Path) -> "Client":
        if shutil.which("go") is None:
            raise NoClient("the load client is written in Go: install Go 1.26 or newer")
        program = cache / "load" / "load"
        done = subprocess.run(
            ["go", "build", "-o", program, "."],
            cwd=SOURCE,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoClient(f"go build failed:\n{done.stderr}")
        return cls(program)

    def run(self, running: Running, protocol: str, task: Task) -> Measured:
        workload = task.workload
        fields: dict[str, Any] = {
            "protocol": protocol,
            "address": running.address,
            "server_pid": running.pid,
            "queue": task.queue,
            "workload": workload.load,
            "messages": task.messages,
            "backlog": task.backlog,
            "first": task.first,
            "held": task.held,
            "batch": workload.batch,
            "receive": workload.receive,
            "senders": CONNECTIONS,
            "receivers": CONNECTIONS,
            "seconds_max": workload.seconds_max,
            "fill_seconds_max": task.fill_seconds_max,
            "keep": workload.keeps_its_queue,
            **msgspec.to_builtins(running.access),
        }
        return self._ask(msgspec.json.encode(fields), workload.seconds_max)

    def _ask(self, task: bytes, seconds_max: float) -> Measured:
        try:
            done = subprocess.run(
                [self._program],
                input=task,
                capture_output=True,
                timeout=seconds_max + SPARE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise LoadFailed(f"no result after {error.timeout:.0f} s") from None
        if done.returncode != 0:
            raise LoadFailed(done.stderr.decode(errors="replace").strip())
        return msgspec.json.decode(done.stdout, type=Measured)
