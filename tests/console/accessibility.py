"""A page as axe and a phone judge it."""

from importlib.resources import files
from typing import Literal

from playwright.sync_api import Page, ViewportSize

AXE = files("axe_core_python") / "axe.min.js"
SERIOUS = ("serious", "critical")
PHONE: ViewportSize = {"width": 390, "height": 800}
WINDOW: ViewportSize = {"width": 1280, "height": 860}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def check_accessible(page: Page) -> None:
    """Axe finds no serious fault, and nothing but tables is wider than the window."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (each["id"], each["nodes"][0]["html"])
        for each in found["violations"]
        if each["impact"] in SERIOUS
    ]
    assert serious == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page.url
