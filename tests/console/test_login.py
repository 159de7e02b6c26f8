"""People log in to the console, and see and do what their role allows."""

from playwright.sync_api import Page, expect

from tests.console.site import Site


def test_root_logs_in_and_out(site: Site, stranger: Page) -> None:
    stranger.goto(site.url)
    expect(stranger).to_have_url(site.url + "/console/#/login")
    site.log_in(stranger)
    assert stranger.evaluate("document.cookie") == "", "scripts cannot read the session"
    stranger.get_by_role("button", name="Log out").click()
    expect(stranger.get_by_role("heading", name="Log in")).to_be_visible()
    site.open(stranger, "queues")
    expect(stranger.get_by_role("heading", name="Log in")).to_be_visible()


def test_wrong_password_is_refused_in_words(site: Site, stranger: Page) -> None:
    site.log_in(stranger, password="wrong")
    alert = stranger.get_by_role("alert").filter(has_text="not its password")
    expect(alert).to_be_visible()
    expect(stranger.get_by_label("Password")).to_be_focused()


def test_session_that_has_ended_leads_back_to_the_login(site: Site, stranger: Page) -> None:
    name = site.member("ann", "viewer")
    site.log_in(stranger, name)
    site.member(name, "viewer")
    expect(stranger.get_by_role("heading", name="Log in")).to_be_visible()


def test_viewer_sees_queues_and_is_offered_no_change(site: Site, stranger: Page) -> None:
    site.queue("orders")
    site.log_in(stranger, site.member("vera", "viewer"))
    expect(stranger.get_by_role("link", name="Accounts")).to_have_count(0)
    site.open_queue(stranger, "orders")
    expect(stranger.get_by_role("heading", name="orders")).to_be_visible()
    for name in ("Purge", "Delete", "Pause"):
        expect(stranger.get_by_role("button", name=name)).to_have_count(0)
    expect(stranger.get_by_role("link", name="Messages")).to_have_count(0)
    site.open(stranger, "accounts")
    expect(stranger.get_by_text("This needs the role admin")).to_be_visible()
    refused = stranger.evaluate(
        """async (path) => {
            const { csrf } = await (await fetch("/v1/sessions/current")).json();
            const headers = { "X-DoveMQ-CSRF": csrf };
            return (await fetch(path, { method: "DELETE", headers })).status;
        }""",
        site.path("orders", "/messages"),
    )
    assert refused == 403, "the server refuses what the page does not offer"


def test_account_without_a_role_works_with_its_own_queues(site: Site, stranger: Page) -> None:
    site.queue("of-root")
    site.log_in(stranger, site.member("olga", None))
    site.open(stranger, "queues")
    expect(stranger.get_by_text("There are no queues here.")).to_be_visible()
    stranger.get_by_role("button", name="Create a queue").click()
    stranger.get_by_label("Name").fill("mine")
    stranger.get_by_role("button", name="Create", exact=True).click()
    expect(stranger.get_by_role("heading", name="mine")).to_be_visible()
    stranger.get_by_role("button", name="Pause").click()
    expect(stranger.get_by_role("button", name="Resume")).to_be_visible()
    site.open(stranger, "queues")
    expect(stranger.get_by_role("link", name="mine")).to_be_visible()
    expect(stranger.get_by_role("link", name="of-root")).to_have_count(0)
