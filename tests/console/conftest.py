"""A real server, and real Chromium with a page for each test. Errors of a page fail its test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import program
from tests.console.site import PASSWORD, WAIT_MS_MAX, Site, problems_of

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def console_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    directory = tmp_path_factory.mktemp("console") / "data"
    with LocalServer(directory, args=["--address-logins-max", "100"]) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module: while it runs, no test of this process can use asyncio."""
    with sync_playwright() as playwright:
        path = program("chromium")
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(console_server: LocalServer, browser: Browser) -> Site:
    made = Site(console_server, browser)
    made.admin("PUT", "/v1/accounts/root/password", {"password": PASSWORD})
    return made


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Page]:
    """A page that is not logged in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(WAIT_MS_MAX)
    problems = problems_of(context)
    yield context.new_page()
    context.close()
    assert problems == []


@pytest.fixture
def page(site: Site, stranger: Page) -> Page:
    """A page on which root is logged in."""
    site.log_in(stranger)
    return stranger
