"""The effect on one client when another sends requests with a million items each.

    python -m bench.stall [--requests 4] [--seconds 5] [--json]

One client asks for its queues at a steady pace, first alone and then while another process sends
requests whose list of attribute names has a million items. Decoding such a list takes seconds of
the event loop, unless the server refuses the request by its size.

Bound: the p99 of the first client is at most five times its quiet value.
"""

import asyncio
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.tables import Row, parser_of, show
from dovemq.client import SqsClient
from dovemq.client.errors import ClientError
from dovemq.core.access import AccessKey
from dovemq.testing.local_server import LocalServer

RATIO_BOUND: Final = 5.0
ITEMS: Final = 1_000_000
PAUSE_SECONDS: Final = 0.005
ATTACK_SECONDS_MAX: Final = 300.0


async def _attack(url: str, key: AccessKey, count: int) -> None:
    request = {"QueueUrl": f"{url}/000000000000/q", "AttributeNames": ["All"] * ITEMS}

    async def send() -> None:
        async with SqsClient(url, key) as client:
            try:
                await client.call("GetQueueAttributes", request)
            except ClientError as error:
                print(f"refused: {str(error)[:80]}", file=sys.stderr)

    await asyncio.gather(*(send() for _ in range(count)))


def attack(url: str, key: AccessKey, count: int) -> None:
    asyncio.run(_attack(url, key, count))


async def latencies(client: SqsClient, until: "asyncio.Event", seconds: float) -> list[float]:
    """Times of one request after another, for `seconds` and until the event is set."""
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or not until.is_set():
        begun = time.monotonic()
        await client.call("ListQueues", {})
        found.append(1_000 * (time.monotonic() - begun))
        await asyncio.sleep(PAUSE_SECONDS)
    return found


def p99(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]


async def run(requests: int, seconds: float) -> Row:
    with tempfile.TemporaryDirectory() as directory, LocalServer(Path(directory)) as server:
        url, key = server.endpoint_url, server.access_key
        async with SqsClient(url, key) as client:
            await client.create_queue("q", {}, {})
            done = asyncio.Event()
            done.set()
            quiet = await latencies(client, done, seconds)
            done.clear()
            attacker = multiprocessing.get_context("spawn").Process(
                target=attack, args=(url, key, requests)
            )
            attacker.start()

            async def watch() -> None:
                await asyncio.to_thread(attacker.join, ATTACK_SECONDS_MAX)
                done.set()

            watching = asyncio.create_task(watch())
            attacked = await latencies(client, done, seconds)
            await watching
            attacker.kill()
    return {
        "requests": requests,
        "quiet_p99_ms": p99(quiet),
        "attacked_p99_ms": p99(attacked),
        "longest_ms": max(attacked),
        "ratio": p99(attacked) / p99(quiet),
    }


def main() -> int:
    parser = parser_of("stall", __doc__)
    parser.add_argument("--requests", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=5.0, help="default: %(default)s")
    args = parser.parse_args()
    row = asyncio.run(run(args.requests, args.seconds))
    show([row], as_json=args.json)
    return int(float(str(row["ratio"])) > RATIO_BOUND)


if __name__ == "__main__":
    sys.exit(main())
