"""The cost of viewers of the console for the server: `python -m bench.console`.

Fills queues, lets viewers ask what the pages ask each second, and reads the processor time of the
server: first while nothing else happens, less the same time without viewers, then beside loads of
messages that are sent, received and deleted, with and without viewers in turn. Beside the viewers
Chromium opens pages, each with an empty cache, until they show figures and take a click.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import threading
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import uvloop
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from bench.measured import access_of, cpu_seconds, create_queue, dovemq_server
from bench.path import SHAPES, Contestant, cpu_ms
from dovemq.testing.local_server import LocalServer

BATCH: Final = 100
FILLERS: Final = 4
SHARE_MAX: Final = 0.05
"""The share of a core that all viewers together may take."""
RATIO_MAX: Final = 1.1
"""The CPU of a load beside viewers, divided by that of the load alone."""
INTERACTIVE_SECONDS_MAX: Final = 2.0
OPENED: Final = {
    "overview": ("", "tbody th a"),
    "queues": ("queues", "tbody th a"),
    "queue": ("queues/{account}/q-0007", "svg polyline"),
    "messages": ("queues/{account}/q-0007/messages", "tbody th"),
}
"""Places of pages, and elements that are there once they show figures."""
PASSWORD: Final = "correct horse battery"
WAIT_MS_MAX: Final = 60_000
PAGES: Final = (
    "/v1/overview",
    "/v1/overview/queues?limit=50&sort=visible&order=down",
    "/v1/overview/queues?limit=50&sort=name&contains=9",
    "/v1/queues/{account}/q-0007/history",
    "/v1/queues/{account}/q-0007/explanation",
    "/v1/queues/{account}/bench/prediction",
)


class Asker:
    def __init__(self, server: LocalServer) -> None:
        key = server.access_key
        basic = base64.b64encode(f"{key.key_id}:{key.secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {basic}"}
        self.url = server.admin_url
        self.account = key.account

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        headers, data = self._headers, None
        if body is not None:
            headers, data = (
                {**headers, "Content-Type": "application/json"},
                json.dumps(body).encode(),
            )
        request = urllib.request.Request(self.url + path, data, headers, method=method)
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


class Viewers:
    """Viewers who ask for a page each second while the block runs; `times` are of their answers."""

    def __init__(self, asker: Asker, count: int) -> None:
        self.times: list[float] = []
        self._asker = asker
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._view, args=(number, number / max(count, 1)))
            for number in range(count)
        ]

    def __enter__(self) -> "Viewers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _view(self, number: int, pause: float) -> None:
        path = PAGES[number % len(PAGES)].format(account=self._asker.account)
        while not self._ended.wait(pause):
            begun = time.monotonic()
            self._asker.ask("GET", path)
            took = time.monotonic() - begun
            self.times.append(took)
            pause = max(0.0, 1 - took)


def lifecycles(server: LocalServer, asker: Asker, args: argparse.Namespace) -> float:
    """Prints CPU per 1,000 lifecycles without and with viewers, in turn; returns the ratio."""
    access = access_of(server)
    url = uvloop.run(create_queue(access))
    contestant = Contestant("dovemq", server.pid, access, url)
    shape = SHAPES[0]

    def spent(viewers: int) -> float:
        with Viewers(asker, viewers):
            return uvloop.run(cpu_ms(contestant, shape, args.lifecycles))

    spent(0)
    pairs = [(spent(0), spent(args.viewers)) for _ in range(args.rounds)]
    without, beside = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print(
        f"CPU of {shape.name} per 1,000 lifecycles, medians of {args.rounds}: "
        f"{without:.1f} ms alone, {beside:.1f} ms beside {args.viewers} viewers, ratio {ratio:.3f}"
    )
    return ratio


def share(server: LocalServer, asker: Asker, args: argparse.Namespace) -> float:
    """Prints what viewers take of a core while nothing else happens."""
    begun = cpu_seconds(server.pid)
    time.sleep(args.seconds)
    idle = (cpu_seconds(server.pid) - begun) / args.seconds
    begun = cpu_seconds(server.pid)
    with Viewers(asker, args.viewers) as viewers:
        time.sleep(args.seconds)
    found: float = (cpu_seconds(server.pid) - begun) / args.seconds - idle
    times = sorted(viewers.times)
    print(f"idle {idle:.1%} of a core; {args.viewers} viewers {found:.1%} more")
    print(
        f"answers: median {times[len(times) // 2] * 1e3:.0f} ms, slowest {times[-1] * 1e3:.0f} ms"
    )
    return found


def interactive(asker: Asker, args: argparse.Namespace) -> float:
    """Prints the time until each page shows figures and its buttons work; returns the slowest."""
    asker.ask("PUT", "/v1/accounts/root/password", {"password": PASSWORD})
    path = shutil.which("chromium")
    with Viewers(asker, args.viewers), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        state = log_in(browser, asker)
        slowest = 0.0
        for name, (place, shown) in OPENED.items():
            url = f"{asker.url}/console/#/{place.format(account=asker.account)}"
            opened = [
                open_once(browser.new_context(**state), url, shown) for _ in range(args.opened)
            ]
            median = statistics.median(opened)
            print(f"page {name}: median {median:.2f} s, {max(opened):.2f} s at most")
            slowest = max(slowest, *opened)
        browser.close()
    return slowest


def log_in(browser: Browser, asker: Asker) -> Any:
    """Options for contexts in which root is logged in, and whose caches are empty."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{asker.url}/console/")
    page.get_by_label("Account").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Overview").wait_for(timeout=WAIT_MS_MAX)
    state = context.storage_state()
    context.close()
    return {"storage_state": state}


def open_once(context: BrowserContext, url: str, shown: str) -> float:
    page = context.new_page()
    begun = time.monotonic()
    page.goto(url, timeout=WAIT_MS_MAX)
    page.locator(shown).first.wait_for(state="attached", timeout=WAIT_MS_MAX)
    page.get_by_role("button", name="Theme").click(timeout=WAIT_MS_MAX)
    took = time.monotonic() - begun
    context.close()
    return took


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--queues", type=int, default=1_000, help="number of queues")
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages in all")
    parser.add_argument("--viewers", type=int, default=20, help="number of viewers")
    parser.add_argument("--seconds", type=float, default=30, help="length of each measurement")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of loads; 0: no load")
    parser.add_argument(
        "--opened", type=int, default=5, help="times that a page is opened; 0: none"
    )
    parser.add_argument(
        "--lifecycles", type=int, default=25_600, help="messages that each load handles"
    )
    args = parser.parse_args(arguments)
    with dovemq_server() as server:
        asker = Asker(server)
        fill(asker, args.queues, args.messages)
        uvloop.run(create_queue(access_of(server)))
        taken = share(server, asker, args)
        slowest = interactive(asker, args) if args.opened else 0.0
        ratio = lifecycles(server, asker, args) if args.rounds else 1.0
        print(f"load of the machine: {', '.join(f'{each:.1f}' for each in os.getloadavg())}")
    kept = taken <= SHARE_MAX and ratio <= RATIO_MAX and slowest <= INTERACTIVE_SECONDS_MAX
    return int(not kept)


if __name__ == "__main__":
    raise SystemExit(main())
