"""What viewers of the console cost the server: `python -m bench.console`.

Fills queues, lets viewers ask what the pages ask each second, and reads the processor time of the
server before and after. The same time without viewers is taken off.
"""

import argparse
import base64
import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bench.measured import cpu_seconds
from dovemq.testing.local_server import LocalServer

BATCH: Final = 100
FILLERS: Final = 4
SHARE_MAX: Final = 0.05
"""Of a core, for all viewers together."""
PAGES: Final = (
    "/v1/overview",
    "/v1/overview/queues?limit=50&sort=visible&order=down",
    "/v1/overview/queues?limit=50&sort=name&contains=9",
    "/v1/queues/{account}/q-0007/history",
)


class Asker:
    def __init__(self, server: LocalServer) -> None:
        key = server.access_key
        basic = base64.b64encode(f"{key.key_id}:{key.secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {basic}"}
        self._url = server.admin_url
        self.account = key.account

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        headers, data = self._headers, None
        if body is not None:
            headers, data = (
                {**headers, "Content-Type": "application/json"},
                json.dumps(body).encode(),
            )
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return bytes(answer.read())


def fill(asker: Asker, queues: int, messages: int) -> None:
    each = messages // queues

    def one(number: int) -> None:
        path = f"/v1/queues/{asker.account}/q-{number:04}"
        asker.ask("PUT", path, {})
        left = each
        while left > 0:
            some = min(left, BATCH)
            asker.ask("POST", f"{path}/messages", {"messages": [{"body": "x" * 100}] * some})
            left -= some
        if number % 100 == 99:
            print(f"  {number + 1} queues filled", flush=True)

    with ThreadPoolExecutor(FILLERS) as pool:
        list(pool.map(one, range(queues)))


def watch(asker: Asker, viewers: int, seconds: float) -> list[float]:
    """Viewers ask for a page each second; returns the times of their answers."""
    end = time.monotonic() + seconds
    times: list[float] = []

    def view(number: int) -> None:
        path = PAGES[number % len(PAGES)].format(account=asker.account)
        time.sleep(number / max(viewers, 1))
        while time.monotonic() < end:
            begun = time.monotonic()
            asker.ask("GET", path)
            times.append(time.monotonic() - begun)
            time.sleep(max(0.0, begun + 1 - time.monotonic()))

    threads = [threading.Thread(target=view, args=(number,)) for number in range(viewers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--queues", type=int, default=1_000, help="number of queues")
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages in all")
    parser.add_argument("--viewers", type=int, default=20, help="number of viewers")
    parser.add_argument("--seconds", type=float, default=30, help="length of each measurement")
    args = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalServer(Path(directory) / "data") as server,
    ):
        asker = Asker(server)
        fill(asker, args.queues, args.messages)
        begun = cpu_seconds(server.pid)
        time.sleep(args.seconds)
        idle = (cpu_seconds(server.pid) - begun) / args.seconds
        begun = cpu_seconds(server.pid)
        times = sorted(watch(asker, args.viewers, args.seconds))
        busy = (cpu_seconds(server.pid) - begun) / args.seconds
    share = busy - idle
    print(f"idle {idle:.1%} of a core; {args.viewers} viewers {share:.1%} more")
    print(
        f"answers: median {times[len(times) // 2] * 1e3:.0f} ms, slowest {times[-1] * 1e3:.0f} ms"
    )
    return int(share > SHARE_MAX)


if __name__ == "__main__":
    raise SystemExit(main())
