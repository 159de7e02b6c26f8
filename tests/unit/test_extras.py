"""The optional packages: one line installs them from a clone, and everything names that line."""

import re
import subprocess
import tomllib

import pytest

from dovemq.system.extras import DISK_SIZES, extra_missing, install_line
from tests.tidy.sources import ROOT, text_files

DOCUMENTS = [path for path in text_files() if path.suffix == ".md"]


def test_every_extra_for_users_has_a_size() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*DISK_SIZES} == {*project["optional-dependencies"]} - {"test"}


@pytest.mark.parametrize("extra", DISK_SIZES)
def test_remedy_is_a_line_that_installs_the_extra(extra: str) -> None:
    assert install_line(extra) in extra_missing(extra)
    command = [*install_line(extra).split(), "--dry-run"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"--editable '.[{extra}]'" in " ".join(printed.replace("\\\n", "").split())


def test_documents_name_the_same_line_and_size() -> None:
    for page in DOCUMENTS:
        text = page.read_text()
        assert "pip install 'dovemq" not in text, page
        for extra, size in re.findall(r"EXTRAS=(\w+)`,? \(?([0-9.]+ [MG]B)", text):
            assert DISK_SIZES[extra] == size, page
