"""Workflows in the console: graph, topics, jobs, decisions; and the consistency over time."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.accessibility import PHONE, check_accessible
from tests.console.flows import Flows
from tests.console.site import Site, problems_of
from tests.server.test_admin_consistency import COUNTS


@pytest.fixture
def flows(site: Site) -> Flows:
    return Flows(site)


def test_graph_shows_live_counts_and_the_bottleneck(flows: Flows, site: Site, page: Page) -> None:
    flows.put("report")
    flows.submit("report")
    flows.decide()
    flows.open(page)
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("heading", name="report", exact=True)).to_be_visible()
    boxes = page.locator("svg.graph g.task")
    expect(boxes).to_have_count(4)
    expect(page.locator("svg.graph g.bottleneck")).to_contain_text("bottleneck, 88 % of 3")
    waiting = site.admin("GET", site.path("topic-fetch"))["counts"]["visible"]
    expect(boxes.first).to_contain_text(f"{waiting} visible")
    flows.submit("report")
    expect(boxes.first).to_contain_text(f"{waiting + 1} visible")
    expect(
        page.get_by_text("The bottleneck is image: its utilisation is the highest")
    ).to_be_visible()
    row = page.get_by_role("row").filter(has_text="image")
    expect(row.get_by_role("cell").nth(6)).to_have_text("3")
    expect(row.get_by_role("cell").nth(7)).to_have_text("88 %")
    name = re.compile("Tasks of report. .*image: 0 visible, 0 leased, bottleneck")
    expect(page.get_by_role("img", name=name)).to_be_visible()


def test_lines_of_a_graph_keep_clear_of_its_boxes(flows: Flows, page: Page) -> None:
    """A line that skips layers runs between the boxes, and no text leaves its box."""
    tasks = {
        "a": {"topic": "a"},
        "b": {"topic": "b", "after": ["a"]},
        "c": {"topic": "c", "after": ["b"]},
        "d": {"topic": "d", "after": ["c", "a"]},
        "e": {"topic": "with-a-very-long-name-that-no-box-can-hold", "after": ["d", "a", "b"]},
    }
    flows.put("skips", tasks=tasks)
    flows.open(page, "skips")
    expect(page.locator("svg.graph g.task")).to_have_count(5)
    crossed = page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll("svg.graph g.task")].map((each) =>
                each.querySelector("rect").getBBox());
            const inside = (point, box) => point.x > box.x + 1 && point.x < box.x + box.width - 1
                && point.y > box.y + 1 && point.y < box.y + box.height - 1;
            let crossed = 0;
            for (const edge of document.querySelectorAll("svg.graph path.edge")) {
                for (let at = 0; at <= edge.getTotalLength(); at += 2)
                    crossed += boxes.filter((box) => inside(edge.getPointAtLength(at), box)).length;
            }
            const wide = [...document.querySelectorAll("svg.graph g.task")].filter((each) => {
                const box = each.querySelector("rect").getBBox();
                return [...each.querySelectorAll("text")].some((text) =>
                    text.getBBox().x + text.getBBox().width > box.x + box.width);
            });
            return [document.querySelectorAll("path.edge").length, crossed, wide.length];
        }"""
    )
    assert crossed == [7, 0, 0]


def test_alternative_routes_have_a_graph_each(flows: Flows, page: Page) -> None:
    routes = [{"share": 0.25, "path": ["A", "B"]}, {"share": 0.75, "path": ["A", "C"]}]
    flows.put("upload", routes=routes)
    flows.open(page, "upload")
    expect(page.get_by_role("heading", name="Route 1 of upload, 25 % of the jobs")).to_be_visible()
    expect(page.locator("svg.graph")).to_have_count(2)


def test_job_is_submitted_and_followed_to_its_result(flows: Flows, page: Page) -> None:
    flows.put("chain", path=["A", "B"])
    flows.open(page, "chain")
    page.get_by_label("Input").fill('{"pages": 3')
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text="The input is not JSON")).to_be_visible()
    page.get_by_label("Input").fill('{"pages": 3}')
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1, name="Job ")).to_be_visible()
    expect(page.get_by_label("Input")).to_have_text(json.dumps({"pages": 3}, indent=2))
    job = page.url.rpartition("/")[2]
    flows.end(job, "A", result=1)
    expect(page.get_by_role("row").filter(has_text="ended")).to_have_count(1)
    flows.end(job, "B", result={"words": 7})
    expect(page.get_by_label("Result")).to_have_text(json.dumps({"words": 7}, indent=2))
    expect(page.locator("svg.timeline rect.worked")).to_have_count(2)
    expect(page.get_by_role("img", name=re.compile(r"Timeline\. A: .*; B: "))).to_be_visible()
    expect(page.get_by_role("button", name="Cancel the job")).to_have_count(0)


def test_running_job_is_cancelled_and_a_failed_one_is_retried(flows: Flows, page: Page) -> None:
    flows.put("one", path=["A"], attempts_max=1)
    job = flows.submit("one")
    flows.open(page, "one", job)
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("The job is cancelled.")).to_be_visible()
    assert flows.state(job) == "cancelled"
    job = flows.submit("one")
    flows.fail(job, "A", "no such file")
    flows.open(page, "one", job)
    expect(page.get_by_role("cell", name="no such file")).to_be_visible()
    expect(page.locator("svg.timeline rect.failed")).to_have_count(1)
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("The failed tasks run again.")).to_be_visible()
    assert flows.state(job) == "running"


def test_jobs_are_listed_by_state_and_page(flows: Flows, page: Page) -> None:
    flows.put("many", path=["A"], attempts_max=1)
    jobs = [flows.submit("many", number) for number in range(30)]
    flows.end(jobs[3], "A")
    flows.open(page, "many")
    table = page.get_by_role("region", name="Jobs").locator("tbody tr")
    expect(table).to_have_count(25)
    expect(page.get_by_role("button", name="Newer")).to_be_disabled()
    page.get_by_role("button", name="Older").click()
    expect(table).to_have_count(5)
    page.get_by_role("button", name="Newer").click()
    expect(table).to_have_count(25)
    page.get_by_label("State").select_option("ended")
    expect(table).to_have_count(1)
    expect(page.get_by_role("link", name=jobs[3])).to_be_visible()


def test_decisions_are_shown_with_their_predicted_gain(flows: Flows, page: Page) -> None:
    flows.put("report")
    flows.decide(predicted_before_ms=3_000.0)
    flows.decide()
    flows.open(page)
    rows = page.get_by_role("region", name="Decisions").locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("image 1 → 3")
    expect(rows.nth(0)).to_contain_text("unstable")
    expect(rows.nth(0)).to_contain_text("stable again")
    expect(rows.nth(1)).to_contain_text("70 %")
    consumers = page.get_by_role("region", name="Consumers of topics").locator("tbody tr")
    expect(consumers.filter(has_text="image").get_by_role("cell").first).to_have_text("3")
    rows.nth(0).get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row").filter(has_text="image")).to_contain_text("2.64")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_viewer_sees_workflows_of_others_and_is_offered_no_change(
    flows: Flows, site: Site, stranger: Page
) -> None:
    flows.put("one", path=["A"])
    job = flows.submit("one")
    site.log_in(stranger, site.member("vera", "viewer"))
    site.open(stranger, "workflows")
    expect(stranger.get_by_text("There are no workflows.")).to_be_visible()
    stranger.get_by_label("Account").fill(site.account)
    stranger.get_by_role("button", name="Show").click()
    stranger.get_by_role("link", name="one", exact=True).click()
    expect(stranger.get_by_role("link", name=job)).to_be_visible()
    expect(stranger.get_by_role("button", name="Submit")).to_have_count(0)
    flows.open(stranger, "one", job)
    expect(stranger.get_by_role("heading", name=f"Job {job}")).to_be_visible()
    expect(stranger.get_by_role("button", name="Cancel the job")).to_have_count(0)


def test_job_is_submitted_by_keyboard_alone(flows: Flows, page: Page) -> None:
    flows.put("one", path=["A"])
    flows.open(page, "one")
    page.get_by_label("Input").focus()
    page.keyboard.type("[1]")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Submit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Job ")).to_be_visible()


def test_consistency_is_drawn_over_time_with_the_effect_of_k(site: Site, page: Page) -> None:
    site.queue("watched", OrderHint="1")
    path = site.path("watched", "/consistency")
    site.admin("PUT", path, COUNTS)
    site.admin("PATCH", site.path("watched"), {"attributes": {"OrderHint": "50"}})
    more = {"messages": 30, "received": 28, "ordered": 28, "out_of_order": 12, "displacement": 44}
    site.admin("PUT", path, {**COUNTS, **more})
    site.open_queue(page, "watched", "consistency")
    chart = page.get_by_role("img", name=re.compile("^Out of order: now since the point before 50"))
    expect(chart).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^K, the messages.* 50$"))).to_be_visible()
    rows = page.get_by_role("region", name="Effect of K").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("25.000 %")
    expect(rows.nth(1)).to_contain_text("50.000 %")
    expect(page.get_by_text("This server writes no trace")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_workflows_are_accessible_and_fit_a_phone(
    flows: Flows, site: Site, browser: Browser, scheme: Any
) -> None:
    flows.put("report")
    flows.decide()
    job = flows.submit("report")
    flows.fail(job, "fetch", "no such file")
    site.queue("watched")
    site.admin("PUT", site.path("watched", "/consistency"), COUNTS)
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    problems = problems_of(context)
    page = context.new_page()
    site.log_in(page)
    root = ("workflows", site.account)
    for place, shown in (
        (root, "svg, [aria-label='Decisions'] td"),
        ((*root, "report"), "g.bottleneck"),
        ((*root, "report", job), "svg.timeline .failed"),
        (("queues", site.account, "watched", "consistency"), "polyline, .chart text"),
    ):
        site.open(page, *place)
        expect(page.locator(shown).first).to_be_attached()
        check_accessible(page)
    site.open(page, *root)
    page.get_by_role("button", name="Figures of").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check_accessible(page)
    context.close()
    assert problems == []
