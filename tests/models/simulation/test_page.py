"""The page on simulation: its examples run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "simulation.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("place", range(len(EXAMPLES)))
def test_example_of_the_page_runs_and_prints_figures(
    place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(EXAMPLES[place], PAGE.name, "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"\d\.\d", printed)
    assert "nan" not in printed


def test_page_has_an_example_of_either_kind() -> None:
    assert [re.findall(r"simulate_\w+(?=\()", text) for text in EXAMPLES] == [
        ["simulate_tandem"],
        ["simulate_network"],
    ]
