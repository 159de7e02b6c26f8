"""The reference pages say what the code says, and leave nothing out."""

import pytest

from dovemq.settings import all_settings
from tools.reference import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_reference_page_is_what_the_code_would_write(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run make docs"


def test_no_reference_page_is_written_by_hand() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(PAGES)


def test_every_setting_says_what_it_means() -> None:
    assert not [setting.name for setting in all_settings() if len(setting.help.split()) < 3]
