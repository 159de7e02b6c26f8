"""`dovemq faults run` reports each wrong use with a remedy."""

from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.load.faults.shim import ShimUnavailable, build_shim


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "storm.toml"
    path.write_text("[network]\ncut = 0.1\n")
    return path


def test_neither_or_both_of_spec_and_replay_is_wrong_use(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["faults", "run"]) == 2
    assert main(["faults", "run", str(spec), "--replay", str(spec)]) == 2
    assert "--replay" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[network]\ncut = 2\n", "network.cut"),
        ("[network\n", "not TOML"),
        ("[network]\nsharks = 1\n", "sharks"),
    ],
)
def test_invalid_fault_file_is_reported_in_one_line(
    spec: Path, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text(text)
    assert main(["faults", "run", str(spec)]) != 0
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error


def test_file_that_is_no_log_is_not_replayed(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["faults", "run", "--replay", str(spec)]) == 1
    assert "not a log of faults" in capsys.readouterr().err


def test_log_that_exists_is_not_overwritten(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["faults", "run", str(spec), "--log", str(spec)])
    assert "exists" in capsys.readouterr().err


def test_server_that_is_not_ours_is_not_killed(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text("[server]\nkill_mttf_seconds = 5\n")
    url = "http://127.0.0.1:1"
    assert main(["faults", "run", str(spec), "--endpoint-url", url]) == 1
    assert "a server that this run starts" in capsys.readouterr().err


def test_missing_compiler_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ShimUnavailable, match="install gcc"):
        build_shim(tmp_path)
