"""Pages that show new figures each second leave the reader's place alone."""

from playwright.sync_api import Page, expect

from tests.console.flows import Flows
from tests.console.site import Site


def test_alert_keeps_the_focus_while_others_come_and_go(site: Site, page: Page) -> None:
    site.dead_letters(1)
    alerts = page.get_by_role("region", name="Alerts").get_by_role("listitem")
    mine = alerts.filter(has_text="orders-dead").get_by_role("link")
    mine.focus()
    _is_paused(site, "a-first-one", True)
    first = alerts.filter(has_text="a-first-one")
    expect(first).to_be_visible()
    expect(mine).to_be_focused()
    _is_paused(site, "a-first-one", False)
    expect(first).to_have_count(0)
    expect(mine).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="orders-dead")).to_be_visible()


def test_queue_keeps_the_focus_while_the_table_is_sorted_anew(site: Site, page: Page) -> None:
    for name in ("sorted-a", "sorted-b"):
        site.queue(name)
    site.send("sorted-a", "x")
    site.open(page, "queues")
    page.get_by_label("Filter").fill("sorted-")
    page.get_by_role("button", name="Visible").click()
    names = page.locator("tbody th a")
    expect(names).to_have_text(["sorted-a", "sorted-b"])
    for focused in ("sorted-a", "sorted-b"):
        page.get_by_role("link", name=focused).focus()
        behind = "sorted-b" if focused == "sorted-a" else "sorted-a"
        site.send(behind, "x", "x")
        expect(names).to_have_text([behind, focused])
        expect(page.get_by_role("link", name=focused)).to_be_focused()


def test_queue_keeps_the_focus_when_it_gets_an_alert(site: Site, page: Page) -> None:
    site.queue("stopped", DeliveryPaused="false")
    site.open(page, "queues")
    page.get_by_label("Filter").fill("stopped")
    link = page.get_by_role("link", name="stopped")
    link.focus()
    _is_paused(site, "stopped", True)
    expect(page.get_by_role("rowheader", name="stopped paused")).to_be_visible()
    expect(link).to_be_focused()
    _is_paused(site, "stopped", False)


def test_failed_tasks_are_an_alert_that_leads_to_them(site: Site, page: Page) -> None:
    flows = Flows(site)
    flows.put("report")
    site.send("topic-image-dead", "a task")
    alert = page.get_by_role("listitem").filter(has_text="topic-image-dead")
    expect(alert).to_contain_text("tasks have failed for good: retry their jobs")
    alert.get_by_role("link").click()
    page.get_by_role("link", name="Redrive").click()
    expect(page.get_by_text("Failed tasks do not move: retry their jobs")).to_be_visible()


def _is_paused(site: Site, queue: str, paused: bool) -> None:
    """Makes a queue in which a message waits, and pauses or resumes its delivery."""
    site.queue(queue, DeliveryPaused=str(paused).lower())
    site.send(queue, "x")
