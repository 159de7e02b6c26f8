"""The code blocks of the tutorial run."""

import re
import shlex
from pathlib import Path

import pytest

from dovemq.cli import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tutorial" / "petri.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NET_LINES_MAX = 40


def test_code_of_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            for line in text.splitlines():
                assert main(shlex.split(line)[1:]) == 0
    printed = capsys.readouterr().out
    assert "82 markings; stuck at: 1`0 + 1`1 + 1`2 + 1`3 + 1`4" in printed
    assert "net wrong, page Main, transition Go, arc In → Go" in printed
    assert (tmp_path / "drawings" / "Shop.svg").exists()


def test_net_of_the_tutorial_takes_forty_lines() -> None:
    first = next(text for language, text in BLOCK.findall(PAGE.read_text()))
    assert len(first.splitlines()) <= NET_LINES_MAX
