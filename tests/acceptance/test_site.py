"""`make site`: the documents as a site, without a warning and without another host."""

import html.parser
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.acceptance.programs import ROOT, clean_environment, missing, program, run
from tests.tidy.sources import name_of, text_files

LOADED = {
    "audio": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "srcset",
    "video": "src",
}
"""The attribute by which an element makes the browser fetch something."""
NOT_FETCHED = frozenset(("canonical", "next", "prev", "search", "index", "genindex"))
CSS_URL = re.compile(r"(?:url\(|@import\s+)['\"]?([^'\")\s]+)")


class Page(html.parser.HTMLParser):
    """A page of the site: the files that it fetches, its links and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif LOADED.get(tag, "") in given and given.get("rel") not in NOT_FETCHED:
            self.fetched.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program("make")
    if not (ROOT / ".cache" / "site" / ".installed").exists():
        missing("the generator of the site is not installed; `make setup` does it")
    place = tmp_path_factory.mktemp("site")
    run(["make", "--silent", "site", f"SITE={place / 'site'}"], env=clean_environment(place))
    return place / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_document_is_a_page(site: Path) -> None:
    names = [name_of(path) for path in text_files() if path.suffix == ".md"]
    wanted = [name for name in names if name.startswith("docs/") or "/" not in name]
    assert wanted
    assert [name for name in wanted if not (site / name).with_suffix(".html").exists()] == []


def test_no_page_asks_another_host(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [url for url in page.fetched if urlsplit(url).netloc] == [], path


def test_no_style_asks_another_host(site: Path) -> None:
    for path in site.rglob("*.css"):
        found = CSS_URL.findall(path.read_text())
        assert [url for url in found if urlsplit(url).netloc] == [], path


def test_everything_that_a_page_fetches_or_links_to_is_there(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for url in (*page.fetched, *page.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path}: {url}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path}: {url}"


def test_search_is_made_of_files_of_the_site(site: Path) -> None:
    assert "visibility" in (site / "searchindex.js").read_text()
    assert "searchindex.js" in (site / "search.html").read_text()


def test_first_page_leads_to_the_index_and_to_every_section(site: Path) -> None:
    assert "docs/index.html" in (site / "index.html").read_text()
    text = (site / "docs" / "index.html").read_text()
    sections = re.findall(r"<details class=\"branch\"[^>]*><summary>(.*?)</summary>", text)
    assert sections == ["Learn", "Do", "Look up", "Understand", "Decisions", "Project"]
