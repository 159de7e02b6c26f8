"""The pages that show several front ends. One server has none, so its answers are changed."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.console.site import Site

FIRST, SECOND = 4_001, 4_002
ENDS = [
    {"front_end": FIRST, "address": "10.0.0.1:9326", "state": "serving", "release": "0.1.0"},
    {"front_end": SECOND, "address": "10.0.0.2:9326", "state": "leaving", "release": "0.1.0"},
]

HINTED = {
    "ts": "2026-01-31T12:00:00.000Z",
    "action": "adapt order hint",
    "queue": "spread",
    "before": 1,
    "order_hint": 4,
    "rule": "crowded",
    "reason": "more claims compete",
    "numbers": {"claims": 20},
}


def _answers(page: Page, path: str, change: Callable[[Any], Any]) -> None:
    """Changes what the server answers to a path."""

    def answer(route: Route) -> None:
        response = route.fetch()
        found = response.json() if response.ok else {}
        route.fulfill(status=200, json=change(found))

    page.route(re.compile(path), answer)


def _cluster(queue: str) -> Any:
    owners = [(0, FIRST), (1, FIRST), (2, SECOND)]
    places = [
        {"queue": queue, "partition": number, "front_end": owner, "epoch": 1}
        for number, owner in owners
    ]
    return {"front_ends": ENDS, "partitions": places}


def test_overview_shows_the_front_ends_and_what_they_own(site: Site, page: Page) -> None:
    section = page.get_by_role("region", name="Cluster")
    expect(page.get_by_text("Healthy")).to_be_visible()
    expect(section).to_have_count(0)
    _answers(page, r"/v1/cluster$", lambda _: _cluster("orders"))
    _answers(
        page,
        r"/v1/overview$",
        lambda found: {**found, "health": {**found["health"], "shared": True}},
    )
    rows = section.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("serving")
    expect(rows.nth(0).get_by_role("cell").last).to_have_text("2")
    expect(rows.nth(1)).to_contain_text("leaving")


def test_store_in_trouble_is_told_in_place_of_healthy(site: Site, page: Page) -> None:
    trouble = {"ready": False, "reason": "The store is full.", "damage": 0, "shared": False}
    _answers(page, r"/v1/overview$", lambda found: {**found, "health": trouble})
    expect(page.get_by_text("The store is full.")).to_be_visible()
    expect(page.get_by_text("Healthy")).to_have_count(0)


def test_map_shows_partitions_below_their_front_ends_and_exchanges(site: Site, page: Page) -> None:
    site.queue("spread", Partitions="3")
    moved = {"messages": 40}

    def change(found: Any) -> Any:
        moved["messages"] += 10
        flow = {"source": 2, "target": 0, "messages": moved["messages"]}
        owners = {"0": FIRST, "1": FIRST, "2": SECOND}
        return {**found, "owners": owners, "flows": [flow], "actions": [HINTED]}

    _answers(page, r"/explanation$", change)
    site.open_queue(page, "spread", "partitions")
    tiles = {
        end: page.get_by_role("region", name=f"Front end {end}").get_by_role("listitem")
        for end in (FIRST, SECOND)
    }
    expect(tiles[FIRST]).to_have_count(2)
    expect(tiles[SECOND]).to_have_text([re.compile("Partition 2")])
    flow = page.get_by_role("region", name="Exchanges").locator("tbody tr")
    expect(flow).to_have_count(1)
    before = flow.inner_text()
    expect(flow).not_to_have_text(before)
    decision = page.get_by_role("region", name="Decisions").locator("tbody tr")
    expect(decision).to_contain_text("adapt order hint from 1 to 4")


def test_producers_and_consumers_of_a_queue_are_told_apart(site: Site, page: Page) -> None:
    site.queue("met")
    client = {"peer": "10.1.1.1:5", "account": site.account, "agent": "boto3", "requests": 3}
    times = {"first_ms": 1, "last_ms": 2}
    clients = [{**client, **times, "role": role} for role in ("producer", "consumer")]
    _answers(page, r"/clients$", lambda _: {"clients": clients, "count": 2, "waiting": 7})
    site.open_queue(page, "met", "clients")
    for role in ("producer", "consumer"):
        expect(page.get_by_role("row").filter(has_text=role)).to_have_count(1)
    expect(page.get_by_text(re.compile("7 .*wait"))).to_be_visible()
