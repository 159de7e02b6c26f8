"""The documents are short, and what they point to is there."""

import re
from pathlib import Path

import pytest

import dovemq
from tests.tidy.sources import ROOT, name_of, text_files

README_LINES_MAX = 120
ARCHITECTURE_LINES_MAX = 120
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
PRAISE = re.compile(
    r"\b(blazing\w*|effortless\w*|seamless\w*|powerful|robust|cutting-edge|world-class|simply)\b",
    re.IGNORECASE,
)
DOCUMENTS = [path for path in text_files() if path.suffix == ".md"]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
DECISION_SECTIONS = ("## Context", "## Decision", "## Consequences")


def _slug(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def _anchors(path: Path) -> set[str]:
    text = FENCE.sub("", path.read_text())
    return {_slug(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")}


def _is_broken(page: Path, link: str) -> bool:
    if re.match(r"(https?|mailto):", link):
        return False
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    if not target.exists():
        return True
    return bool(anchor) and anchor not in _anchors(target)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_link_of_a_document_resolves(page: Path) -> None:
    links = LINK.findall(FENCE.sub("", page.read_text()))
    assert not [link for link in links if _is_broken(page, link)]


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_no_document_praises_itself(page: Path) -> None:
    assert not PRAISE.findall(page.read_text())


def test_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= README_LINES_MAX
    assert "make serve" in text
    assert "make test" in text


def test_architecture_is_one_page_and_names_every_layer() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= ARCHITECTURE_LINES_MAX
    packages = [path.parent.name for path in (ROOT / "src" / "dovemq").glob("*/__init__.py")]
    assert not [name for name in packages if f"`{name}`" not in text]


def test_continuous_integration_runs_what_a_developer_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert "make test" in script.read_text()
    assert script.stat().st_mode & 0o111


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_every_decision_has_a_number_a_reason_and_a_price(page: Path) -> None:
    number = int(page.name.split("-")[0])
    text = page.read_text()
    assert number == DECISIONS.index(page) + 1
    assert text.startswith(f"# {number}. ")
    assert all(section in text for section in DECISION_SECTIONS)


def test_every_page_of_the_docs_is_reached_from_another() -> None:
    reached = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in DOCUMENTS
        for link in LINK.findall(page.read_text())
    }
    pages = [path for path in DOCUMENTS if name_of(path).startswith("docs/")]
    assert not [name_of(path) for path in pages if path not in reached]


def test_changelog_tells_of_the_version_that_is_built() -> None:
    assert f"## {dovemq.__version__}" in (ROOT / "CHANGELOG.md").read_text()
