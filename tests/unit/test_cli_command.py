"""Values that options of several commands share."""

import argparse
import os
from pathlib import Path

import pytest

from dovemq.cli.values import output_file


def test_an_output_file_may_be_new_or_replaced(tmp_path: Path) -> None:
    there = tmp_path / "there.json"
    there.write_text("old")
    assert output_file(str(there)) == there
    assert output_file(str(tmp_path / "new.json")) == tmp_path / "new.json"


def test_an_output_file_without_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"there is no directory .*missing"):
        output_file(str(tmp_path / "missing" / "plot.png"))


def test_an_output_file_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is a directory"):
        output_file(str(tmp_path))


def test_an_output_file_in_a_forbidden_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The superuser may write anywhere, so the answer of the system is given here.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(argparse.ArgumentTypeError, match="permission denied"):
        output_file(str(tmp_path / "plot.png"))
