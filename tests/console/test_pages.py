"""The pages for all queues and accounts; keyboard, phone, many queues, accessibility, pictures."""

import os
import re
from typing import Any

import boto3
import pytest
from playwright.sync_api import Browser, Page, expect

from dovemq.console import ROOT, Console
from dovemq.http import HttpRequest
from tests.console.accessibility import PHONE, SCHEMES, WINDOW, check_accessible
from tests.console.flows import Flows
from tests.console.site import IMAGES, Site, problems_of

QUEUES = 1_000
TABS = (
    "", "messages", "send", "moves", "attributes", "clients", "partitions", "prediction",
    "consistency", "transfer",
)  # fmt: skip


def test_overview_shows_totals_alerts_and_the_largest_queues(site: Site, page: Page) -> None:
    site.dead_letters(3)
    site.queue("large")
    site.send("large", *("x" for _ in range(90)))
    expect(page.get_by_role("link", name="large")).to_be_visible()
    alert = page.get_by_role("listitem").filter(has_text="dead-letters")
    expect(alert.get_by_role("link", name="orders-dead")).to_be_visible()
    expect(page.get_by_text("Healthy")).to_be_visible()
    alert.get_by_role("link", name="orders-dead").click()
    expect(page.get_by_role("heading", name="orders-dead")).to_be_visible()


def test_figures_change_while_somebody_looks(site: Site, page: Page) -> None:
    site.queue("orders")
    site.open_queue(page, "orders")
    visible = page.locator('dl.tiles div:has(dt:text-is("Visible")) dd')
    expect(visible).to_have_text("0")
    site.send("orders", "a", "b", "c")
    expect(visible).to_have_text("3")
    expect(page.get_by_role("img", name=re.compile("Messages: now visible 3"))).to_be_visible()


def test_thousand_queues_are_filtered_sorted_and_paged(site: Site, page: Page) -> None:
    have = site.admin("GET", "/v1/overview/queues?limit=1&contains=many-")["matching"]
    for number in range(have, QUEUES):
        site.admin("PUT", site.path(f"many-{number:04}"), {})
    site.send("many-0777", "a", "b")
    site.open(page, "queues")
    page.get_by_label("Filter").fill("many-")
    expect(page.get_by_text(f"1 to 50 of {QUEUES:,}")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("link", name="many-0050")).to_be_visible()
    page.get_by_role("button", name="Visible").click()
    expect(page.locator("tbody th").first).to_have_text("many-0777")
    expect(page.get_by_role("columnheader", name="Visible")).to_have_attribute(
        "aria-sort", "descending"
    )
    page.get_by_label("Filter").fill("many-099")
    expect(page.get_by_text("1 to 10 of 10")).to_be_visible()


def test_account_gets_role_key_and_password_and_is_removed(site: Site, page: Page) -> None:
    site.open(page, "accounts")
    page.get_by_role("button", name="Add an account").click()
    page.get_by_label("Name").fill("temp")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="temp")).to_be_visible()
    page.get_by_label("Role").select_option("operator")
    page.get_by_role("button", name="Save the role").click()
    expect(page.get_by_text("The role is changed.")).to_be_visible()
    page.get_by_label("Queues").fill("5")
    page.get_by_role("button", name="Save the quotas").click()
    expect(page.get_by_text("The quotas are changed.")).to_be_visible()
    page.get_by_role("button", name="Add a key").click()
    page.get_by_role("button", name="Make the key").click()
    key_id = page.get_by_label("Key id").input_value()
    assert len(page.get_by_label("Secret").input_value()) >= 32
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_role("rowheader", name=key_id)).to_be_visible()
    account = site.admin("GET", "/v1/accounts/temp")
    assert (account["role"], account["quotas"]["queues_max"]) == ("operator", 5)
    assert [each["key_id"] for each in account["credentials"]] == [key_id]
    page.get_by_role("button", name="Remove", exact=True).first.click()
    page.get_by_label("Type temp to confirm").fill("temp")
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Accounts")).to_be_visible()
    site.open(page, "audit")
    expect(page.get_by_role("cell", name="remove account").first).to_be_visible()


def test_queue_is_made_by_keyboard_alone(site: Site, page: Page) -> None:
    site.open(page, "queues")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Create a queue")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="by-keyboard")).to_be_visible()


def test_theme_is_switched_and_remembered(site: Site, page: Page) -> None:
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_are_accessible_and_fit_a_phone(site: Site, browser: Browser, scheme: Any) -> None:
    """axe finds no serious fault, and nothing but tables is wider than a phone."""
    orders, dead = site.dead_letters(3)
    site.send(orders, {"body": '{"a": 1}', "attributes": {"k": {"type": "String", "value": "v"}}})
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    problems = problems_of(context)
    page = context.new_page()
    page.goto(site.url + ROOT)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    check_accessible(page)
    site.log_in(page)
    check_accessible(page)
    places = [("queues",), ("accounts",), ("audit",), ("accounts", site.account), ("account",)]
    for place in [*places, *(("queues", site.account, dead, tab) for tab in TABS)]:
        site.open(page, *place)
        expect(page.locator("h1").first).not_to_have_text("Overview")
        expect(page.locator("main")).not_to_be_empty()
        check_accessible(page)
    context.close()
    assert problems == []


@pytest.mark.skipif("DOVETEST_IMAGES" not in os.environ, reason="it rewrites docs/images")
def test_pictures_of_the_documents_are_taken(site: Site, browser: Browser) -> None:
    _, dead = site.dead_letters(25)
    site.queue("invoices")
    site.send("invoices", *(f"invoice {number}" for number in range(140)))
    flows = Flows(site)
    job = flows.example()
    flows.measure("invoices")
    sqs = boto3.client("sqs", **site.server.boto3_kwargs)
    url = sqs.get_queue_url(QueueName="invoices")["QueueUrl"]
    contexts = {
        scheme: browser.new_context(viewport=WINDOW, color_scheme=scheme) for scheme in SCHEMES
    }
    pages = {scheme: context.new_page() for scheme, context in contexts.items()}
    for page in pages.values():
        site.log_in(page)
    for name, place in (
        ("overview", ()),
        ("queues", ("queues",)),
        ("messages", ("queues", site.account, dead, "messages")),
        ("redrive", ("queues", site.account, dead, "moves")),
        ("queue", ("queues", site.account, "invoices")),
        ("consistency", ("queues", site.account, "invoices", "consistency")),
        ("workflows", ("workflows",)),
        ("workflow", ("workflows", site.account, "report")),
        ("job", ("workflows", site.account, "report", job)),
    ):
        flows.decide()
        for page in pages.values():
            site.open(page, *place)
        for _ in range(20 if name in ("overview", "queue") else 1):
            _work(site, sqs, url)
            pages["light"].wait_for_timeout(1_000)
        for scheme, page in pages.items():
            page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
    for context in contexts.values():
        context.close()


def _work(site: Site, sqs: Any, url: str) -> None:
    """Traffic of a second: more is sent than handled."""
    site.send("invoices", *(f"invoice {number}" for number in range(30)))
    for _ in range(3):
        found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        for message in found.get("Messages", [])[:7]:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def test_every_file_is_served_from_here_with_its_policy() -> None:
    console = Console()
    for name in console.names:
        request = HttpRequest("GET", ROOT + name, "", {}, b"", "1.1.1.1:1")
        response = console.answer(request)
        headers = dict(response.headers)
        assert response.status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert b"https://" not in response.body, "nothing comes from elsewhere"
        again = {"if-none-match": headers["ETag"]}
        assert console.answer(HttpRequest("GET", ROOT + name, "", again, b"", "p")).status == 304
    for path in ("none.js", "../__init__.py", "pages/"):
        request = HttpRequest("GET", ROOT + path, "", {}, b"", "p")
        assert console.answer(request).status == 404
    assert console.answer(HttpRequest("POST", ROOT, "", {}, b"", "p")).status == 405
