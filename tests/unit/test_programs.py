"""The programs of the tests: found, installed without their services, or reported."""

import os
from pathlib import Path

import pytest

from tools.programs import PROGRAMS, Program, install, is_installed, main, services_stay_down


def script(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory of the path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def test_program_is_found_in_the_path_and_in_its_own_places(folder: Path) -> None:
    wanted = Program("sought", "package", "it", str(folder / "*" / "bin").lstrip("/"))
    assert not is_installed(wanted)
    (folder / "15" / "bin").mkdir(parents=True)
    (folder / "15" / "bin" / "sought").touch()
    assert is_installed(wanted)
    script(folder, "other", "")
    assert is_installed(Program("other", "package", "it"))


def test_no_service_starts_while_packages_are_installed(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with services_stay_down(policy):
        assert "exit 101" in policy.read_text()
        assert os.access(policy, os.X_OK)
    assert not policy.exists()


def test_policy_of_the_system_is_kept(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("its own")
    with services_stay_down(policy):
        assert policy.read_text() == "its own"
    assert policy.read_text() == "its own"


def test_packages_are_installed_together_and_their_services_disabled(folder: Path) -> None:
    for name in ("apt-get", "systemctl"):
        script(folder, name, f'echo "{name} $*" >> {folder}/calls')
    install(PROGRAMS[2:4], folder / "policy-rc.d")
    assert (folder / "calls").read_text().splitlines() == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends redis-server postgresql",
        "systemctl disable --quiet redis-server",
        "systemctl disable --quiet postgresql",
    ]


def test_others_than_root_are_told_what_is_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script(folder, "apt-get", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main() == 0
    told = capsys.readouterr().err
    assert "mvn not found: tests with Cassandra" in told
    assert "will be skipped (and fail in CI)" in told
