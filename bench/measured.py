"""Servers as child processes, and their cost: CPU and memory as the kernel counts them."""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench import floor
from bench.load import Access, Signer, connect
from dovemq.testing.local_server import LocalServer

QUEUE: Final = "bench"
_CPU_CLOCK: Final = 2
_PAGE_DROP: Final = Path("/proc/sys/vm/drop_caches")


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process, ended ones included."""
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)


def drop_page_cache() -> bool:
    """Returns whether the kernel allowed it: only root may."""
    subprocess.run(["sync"], check=True)
    try:
        _PAGE_DROP.write_text("3\n")
    except OSError:
        return False
    return True


def access_of(server: LocalServer) -> Access:
    port = int(server.endpoint_url.rpartition(":")[2])
    return Access(port, server.access_key.key_id, server.access_key.secret)


@contextlib.contextmanager
def floor_server() -> Iterator[tuple[int, Access]]:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "bench.floor", "--data", directory]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield process.pid, Access(port, floor.KEY_ID, floor.SECRET)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@contextlib.contextmanager
def dovemq_server(args: Sequence[str] = ()) -> Iterator[LocalServer]:
    with tempfile.TemporaryDirectory() as directory:
        server = LocalServer(Path(directory) / "data", args=args)
        server.start()
        try:
            yield server
        except Exception:
            state = "running" if server.running else "gone"
            print(f"the server is {state}; its log:\n{server.log_tail()}", file=sys.stderr)
            raise
        finally:
            if server.running:
                server.kill()


async def create_queue(access: Access, name: str = QUEUE, **attributes: str) -> str:
    """Returns the queue's URL."""
    body = msgspec.json.encode({"QueueName": name, "Attributes": attributes})
    (connection,) = await connect(access.port, 1)
    answer = await connection.must(Signer(access).request("CreateQueue", body))
    connection.close()
    url: str = msgspec.json.decode(answer)["QueueUrl"]
    return url
