"""Every step of the tutorial of the console, in its order: commands, clicks, words on the pages."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.programs import ROOT, clean_environment
from tests.console.site import IMAGES, PASSWORD, Site, problems_of

DOCUMENT = "docs/tutorial/console.md"
SECONDS_MAX = 120
ENDED_SECONDS = 30


Role = Literal["button", "link"]


class Reader:
    """Somebody who follows the page: each click must be the next bold word of it."""

    def __init__(self, site: Site, page: Page, place: Path) -> None:
        self.site, self.page, self.place = site, page, place
        self.blocks = blocks(DOCUMENT)
        text = re.sub(r"\s+", " ", (ROOT / DOCUMENT).read_text())
        self.words = re.findall(r"\*\*(.+?)\*\*", text)
        home = place / "home"
        home.mkdir()
        self.env = clean_environment(home, **site.server.env)
        folder = Path(sys.executable).parent
        self.env["PATH"] = f"{folder}:{self.env['PATH']}"

    def block(self, language: str) -> str:
        found, text = self.blocks.pop(0)
        assert found == language
        return text

    def word(self, *expected: str) -> None:
        for each in expected:
            assert self.words.pop(0) == each

    def shell(self, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-euc", self.block("sh")],
            env=self.env, cwd=self.place, input=given, text=True, timeout=SECONDS_MAX,
            capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def click(self, role: Role, name: str, inside: Locator | None = None) -> None:
        self.word(name)
        (inside or self.page).get_by_role(role, name=name, exact=True).click()

    def fill(self, name: str, value: str) -> None:
        self.word(name)
        self.page.get_by_label(name, exact=True).fill(value)

    def slide(self, name: str, value: int) -> None:
        self.word(name)
        slider = self.page.get_by_role("slider", name=name, exact=True)
        expect(slider).to_be_enabled()
        slider.fill(str(value))

    def picture(self, name: str) -> None:
        assert (IMAGES / f"tutorial-{name}-light.png").exists() or "DOVETEST_IMAGES" in os.environ
        if "DOVETEST_IMAGES" in os.environ:
            self.page.screenshot(path=IMAGES / f"tutorial-{name}-light.png", full_page=True)


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    with LocalServer(tmp_path / "data") as server:
        context = browser.new_context(viewport={"width": 1280, "height": 760})
        problems = problems_of(context)
        yield Reader(Site(server, browser), context.new_page(), tmp_path)
        context.close()
        assert problems == []


def test_tutorial_of_the_console_works_as_written(reader: Reader) -> None:
    page = reader.page
    assert reader.block("sh") == "make serve\n"
    reader.shell(f"{PASSWORD}\n")
    page.goto(reader.site.url)
    reader.fill("Account", "root")
    reader.fill("Password", PASSWORD)
    reader.click("button", "Log in")
    _make_queues(reader, ["parcels-lost", "parcels"])
    _send_and_fail(reader)
    _redrive(reader)
    _predict(reader)
    assert (reader.words, reader.blocks) == ([], [])


def _make_queues(reader: Reader, names: Sequence[str]) -> None:
    for name in names:
        reader.click("link", "Queues")
        reader.click("button", "Create a queue")
        reader.fill("Name", name)
        reader.click("button", "Create", reader.page.get_by_role("dialog"))
        expect(reader.page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    reader.click("link", "Attributes")
    reader.fill("RedrivePolicy", reader.block("json"))
    reader.click("button", "Save")
    expect(reader.page.get_by_text("The attributes are changed.")).to_be_visible()


def _send_and_fail(reader: Reader) -> None:
    page = reader.page
    reader.click("link", "Send")
    reader.fill("Body", "a parcel for Ada")
    reader.click("button", "Send")
    expect(page.get_by_text("is sent.")).to_be_visible()
    reader.click("link", "Messages")
    expect(page.get_by_role("cell", name="a parcel for Ada")).to_be_visible()
    expect(page.get_by_role("cell", name="visible", exact=True)).to_be_visible()
    reader.picture("messages")
    output = reader.shell()
    assert output.count("a parcel for Ada") == 1
    reader.click("button", "Look")
    expect(page.get_by_text("0 messages, at")).to_be_visible()


def _redrive(reader: Reader) -> None:
    page = reader.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview").click()
    reader.word("Overview")
    alert = page.get_by_role("listitem").filter(has_text="dead-letters")
    reader.click("link", "parcels-lost", alert)
    reader.click("link", "Redrive")
    reader.click("button", "Move all messages")
    expect(page.get_by_role("cell", name="COMPLETED")).to_be_visible()
    reader.picture("redrive")
    assert reader.site.bodies("parcels") == ["a parcel for Ada"]


def _predict(reader: Reader) -> None:
    page = reader.page
    (reader.place / "letters.py").write_text(reader.block("python"))
    *commands, setting, serving = reader.block("sh").splitlines()
    reader.blocks.insert(0, ("sh", "\n".join(commands)))
    reader.shell()
    assert (setting, serving) == ('eval "$(dovemq env)"', "python letters.py")
    program = subprocess.Popen([sys.executable, "letters.py"], env=reader.env, cwd=reader.place)
    try:
        reader.click("link", "Queues")
        reader.click("link", "letters")
        reader.click("link", "Prediction")
        expect(page.get_by_text("The queue saturates at")).to_be_visible(timeout=90_000)
        for heading in ("Measured", "Predicted for this load"):
            expect(page.get_by_role("columnheader", name=heading)).to_be_visible()
        reader.slide("Arrival rate", 160)
        expect(page.get_by_text("The queue only grows")).to_be_visible()
        reader.slide("Consumers", 3)
        expect(page.get_by_text("The queue saturates at")).to_be_visible()
        reader.fill("Response time to keep, in milliseconds", "500")
        expect(page.get_by_text(re.compile("within 500 ms"))).to_be_visible()
        reader.picture("prediction")
        reader.click("button", "As measured")
        expect(page.get_by_role("slider", name="Consumers", exact=True)).to_have_value("1")
    finally:
        program.terminate()
        program.wait(ENDED_SECONDS)
