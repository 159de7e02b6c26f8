"""Text of strangers that tries to become markup or script, on every page that shows it."""

from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.flows import Flows
from tests.console.site import Site
from tests.server.test_admin_consistency import COUNTS

HARM = "window.harmed = true"
MARKUP = f"\"'><img src=x onerror='{HARM}'><script>{HARM}</script><svg onload='{HARM}'>"
LINK = f"javascript:{HARM}"
GROUP = "<img/src=x/onerror=window.harmed=true>"
QUEUE = "hostile"


def _places(site: Site, job: str) -> list[tuple[str, ...]]:
    tabs = ("messages", "send", "moves", "attributes", "clients", "partitions", "consistency")
    account = site.account
    return [
        (),
        ("queues",),
        *(("queues", account, QUEUE, tab) for tab in tabs),
        ("queues", account, MARKUP),
        ("queues", MARKUP, MARKUP, MARKUP),
        ("workflows",),
        ("workflows", account, QUEUE),
        ("workflows", account, QUEUE, job),
        ("workflows", MARKUP, MARKUP, MARKUP),
        ("accounts",),
        ("accounts", MARKUP),
        ("audit",),
        (MARKUP,),
    ]


def test_text_of_strangers_is_never_run(site: Site, page: Page) -> None:
    site.queue(QUEUE)
    attributes = {"kind": {"type": "String", "value": MARKUP}}
    site.send(QUEUE, {"body": MARKUP, "attributes": attributes}, {"body": LINK, "group": GROUP})
    site.admin("PUT", site.path(QUEUE, "/consistency"), {**COUNTS, "source": MARKUP})
    flows = Flows(site)
    flows.put(QUEUE, path=["A"], attempts_max=1)
    job = flows.submit(QUEUE, {MARKUP: MARKUP})
    flows.fail(job, "A", MARKUP, MARKUP)
    flows.decide(reason=MARKUP, note=MARKUP, allocator=MARKUP[:60], cause=MARKUP[:60])
    for place in _places(site, job):
        site.open(page, *place)
        expect(page.locator("main h1").first).to_be_visible()
        _unharmed(page)
    flows.open(page, QUEUE, job)
    expect(page.get_by_role("cell", name=MARKUP).first).to_be_visible()
    flows.open(page)
    page.get_by_role("button", name="Figures of").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("onerror")
    _unharmed(page)
    page.keyboard.press("Escape")
    site.open_queue(page, QUEUE, "messages")
    for number in range(2):
        page.get_by_role("button", name="Details").nth(number).click()
        _unharmed(page)


def _unharmed(page: Page) -> None:
    assert page.evaluate("window.harmed") is None, page.url
    made = "main img, main script, dialog img, dialog script, svg[onload], a[href^='javascript:']"
    assert page.locator(made).count() == 0, page.url


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"/v1/queues/000000000000/{quote(MARKUP, safe='')}", {}),
        ("POST", "/v1/accounts", {"name": MARKUP}),
        ("PUT", f"/v1/workflows/{quote(MARKUP, safe='')}", {"path": ["A"]}),
        ("PUT", "/v1/workflows/fine", {"path": [MARKUP]}),
    ],
    ids=["queue", "account", "workflow", "topic"],
)  # fmt: skip
def test_names_cannot_hold_markup(site: Site, method: str, path: str, body: Any) -> None:
    site.queue(QUEUE)
    with pytest.raises(HTTPError) as refused:
        site.admin(method, path, body)
    assert refused.value.code == 400
    refused.value.close()


def test_page_with_hostile_address_logs_nobody_in(site: Site, stranger: Page) -> None:
    """Scripts that a page could get from its own address do not run either."""
    stranger.goto(f"{site.url}/console/?{quote(MARKUP)}#/{quote(MARKUP)}")
    expect(stranger.get_by_role("heading", name="Log in")).to_be_visible()
    _unharmed(stranger)
