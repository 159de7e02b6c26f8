"""The text of the repository holds no marks of unfinished work and no trace of one machine."""

import re

import pytest

from tests.tidy.sources import ROOT, name_of, text_files

UNFINISHED = re.compile(
    r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b"
)
MACHINE_PATHS = re.compile(r"(?<![\w.$~])/(?:work|farm|root|home|Users)/[\w.-]+")
REGISTRY_HOSTS = re.compile(
    r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|registry\.|maven\.org|crates\.io|deb\.debian)"
)
RESOLVED = re.compile(r'"resolved"\s*:')
LOCK_FILES = ("package-lock.json", "poetry.lock", "uv.lock", "Pipfile.lock", "yarn.lock")


@pytest.mark.parametrize("pattern", [UNFINISHED, MACHINE_PATHS, REGISTRY_HOSTS, RESOLVED])
def test_no_line_holds_what_does_not_belong_here(pattern: re.Pattern[str]) -> None:
    found = [
        f"{name_of(path)}:{number}"
        for path in text_files()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not [place for place in found if not place.startswith("tests/tidy/test_marks.py")]


def test_no_lock_file_records_where_packages_came_from() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    tracked = [path.name for path in text_files() if path.name in LOCK_FILES]
    assert not [name for name in tracked if name not in ignored]


def test_every_pin_is_exact_and_names_no_address() -> None:
    pins = (ROOT / "constraints.txt").read_text().split()
    names = [pin.partition("==")[0].lower() for pin in pins]
    assert names == sorted(set(names))
    assert not [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin)]
