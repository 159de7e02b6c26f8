"""Questions to `dovemq model`, for the tests of its commands."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dovemq.cli import main


@pytest.fixture
def ask_model(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Answers of `dovemq model` as JSON, or the text of an error."""

    def asked(*args: object, code: int = 0) -> Any:
        assert main(["model", *(str(arg) for arg in args), "--json"]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else json.loads(printed.out)

    return asked
