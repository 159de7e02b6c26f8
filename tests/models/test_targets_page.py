"""The commands of the how-to on a target of 95 % give the lines that it shows."""

import re
import shlex
from pathlib import Path

import pytest

from dovemq.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "consumers-for-a-target.md"
FILES = ("model.toml", "dag.toml")


def _blocks(language: str) -> list[str]:
    text = PAGE.read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _answers() -> list[str]:
    text = PAGE.read_text()
    return re.findall(r"^```sh\n.*?^```\n\n```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("place", range(4))
def test_command_of_the_page_prints_the_answer_of_the_page(
    place: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in zip(FILES, _blocks("toml"), strict=True):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    command = shlex.split(_blocks("sh")[place].replace("\\\n", " "))
    assert command[0] == "dovemq"
    assert main(command[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    for line in _answers()[place].splitlines():
        if line.startswith("simulated"):
            found = next(each for each in printed if each.startswith("simulated"))
            assert _seconds(found) == pytest.approx(_seconds(line), rel=0.02)
            assert not found.endswith("target")
        else:
            assert line in printed


def _seconds(line: str) -> float:
    """The simulated time, which changes a little with every change of the kernel."""
    return float(line.partition("95 % within ")[2].split()[0])


def test_worst_rates_of_the_calibrated_file_need_one_consumer_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.toml"
    path.write_text(_blocks("toml")[0])
    args = ["--arrival-rate", "8.66", "--service-rate", "1.756", "--percentile", "95"]
    assert main(["plan", "--from", str(path), *args, "--target", "2"]) == 0
    assert capsys.readouterr().out.startswith("7 consumers")
