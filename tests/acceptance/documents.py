"""The fenced blocks of documents, for tests that use them as they stand there."""

import re

from tests.acceptance.programs import ROOT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: str) -> list[tuple[str, str]]:
    """The fenced blocks of a document as (language, text)."""
    return BLOCK.findall((ROOT / document).read_text())
