"""The settings of Sphinx for the site of the documents: `make site`.

The sources are the Markdown files as they are read in the repository, so no page has a directive of
Sphinx: the navigation is made from the links of `docs/index.md`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

project = "DoveMQ"
html_title = "DoveMQ"
extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "tools", "bench", "examples", "deploy"]
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]
# Pygments does not know the language of HAProxy, nor CQL.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["front"]
html_copy_source = False
html_show_copyright = False
pygments_style = "tango"
pygments_dark_style = "monokai"

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = ("/README", "/CHANGELOG", "/ARCHITECTURE", "/CONTRIBUTING")
"""Pages beside `docs`, which the index does not list."""

_SECTION: Final = re.compile(r"^\*\*([^*]+)\*\*", re.MULTILINE)
_LINK: Final = re.compile(r"\]\(([\w./-]+)\.md\)")
_LINKED: Final = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)\)")
_THEMED: Final = re.compile(r"</?picture>|<source\b[^>]*>")
_BRANCH: Final = re.compile(
    r'<p class="caption"[^>]*><span class="caption-text">(.*?)</span></p>\s*'
    r'(<ul.*?)(?=<p class="caption"|\Z)',
    re.DOTALL,
)


def navigation(index: str) -> Iterator[str]:
    """The hidden trees: one for each bold word of the index, with the pages that follow it."""
    _, *parts = _SECTION.split(index)
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        yield _tree(caption, dict.fromkeys(_LINK.findall(text)))
    yield _tree("Project", PROJECT)


def _tree(caption: str, pages: Any) -> str:
    return "\n".join(
        ("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", "")
    )


def read_source(app: Any, name: str, source: list[str]) -> None:
    """Adapts a page: the index gets its trees, a picture with a dark form is shown in one form."""
    page = Path(app.srcdir, name)
    source[0] = _LINKED.sub(lambda link: _within(page, link), _THEMED.sub("", source[0]))
    if name == root_doc:
        source[0] += "".join(navigation(source[0]))


def _within(page: Path, link: re.Match[str]) -> str:
    """The link, or its text alone if it leads to a folder or to a document beyond the site."""
    target = (page.parent / link[2]).resolve()
    published = target.parent == ROOT or ROOT / "docs" in target.parents
    unpublished = target.suffix == ".md" and target.exists() and not published
    return link[1] if unpublished or target.is_dir() else link[0]


def fold_navigation(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Lets each section of the navigation be opened and closed; that of the page is open."""
    context["furo_navigation_tree"] = _BRANCH.sub(_folded, context["furo_navigation_tree"])


def _folded(branch: re.Match[str]) -> str:
    caption, pages = branch.groups()
    opened = " open" if 'class="current' in pages else ""
    return f'<details class="branch"{opened}><summary>{caption}</summary>{pages}</details>'


def setup(app: Any) -> None:
    app.connect("source-read", read_source)
    # After the handler of the theme, which makes the tree.
    app.connect("html-page-context", fold_navigation, priority=900)
