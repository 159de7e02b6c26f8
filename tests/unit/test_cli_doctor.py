"""`dovemq doctor --store`: the verdict about a store, and what it says of a data directory."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.core.checks import clock_check
from dovemq.stores.inspection import schema_check
from dovemq.stores.sqlite.inspection import file_system_of
from dovemq.testing.local_server import LocalServer

PASSWORD = "pigeon"


def _report(
    capsys: pytest.CaptureFixture[str], *args: str, code: int = 0
) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert main(["doctor", "--json", *args]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] == (code == 0)
    return {each["name"].split(" /")[0]: each for each in document["checks"]}


def test_directory_that_is_not_there_is_no_fault(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "none"
    checks = _report(capsys, "--store", "embedded://", "--data", str(data))
    assert checks["data directory"]["found"] == "none yet; the first start makes it"
    assert not data.exists()


def test_store_of_a_running_server_is_looked_at_beside_it(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LocalServer(tmp_path / "data") as server:
        before = {path.name for path in server.data.iterdir()}
        checks = _report(capsys, "--store", "embedded://", "--data", str(server.data))
        assert {path.name for path in server.data.iterdir()} == before
    assert checks["data directory"]["found"] == "holds a store"
    assert checks["SQLite"]["state"] == checks["free space"]["state"] == "ok"
    assert checks["earlier damage"]["found"] == "none"
    assert checks["file system"]["state"] in ("ok", "weak")


def test_directory_that_others_may_change_is_broken(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    place = str(tmp_path / "open")
    checks = _report(capsys, "--store", "embedded://", "--data", place, code=1)
    assert "other users may write to it" in checks["data directory"]["found"]
    assert main(["doctor", "--store", "embedded://", "--data", place]) == 1
    assert capsys.readouterr().out.startswith("broken: data directory")


def test_weak_points_are_in_the_verdict(clean: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--store", "memory://"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "ok: the store can be used; weak: store"


def test_store_of_the_settings_is_checked_without_showing_its_password(
    clean: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOVEMQ_STORE", f"postgresql://dove:{PASSWORD}@127.0.0.1:1/queues")
    assert main(["doctor", "--store", "settings"]) == 1
    printed = capsys.readouterr().out
    assert "postgresql://dove@127.0.0.1:1/queues" in printed
    assert PASSWORD not in printed


def test_missing_driver_is_broken_and_names_the_extra(
    clean: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dovemq.stores.postgresql.inspection", None)
    [check] = _report(capsys, "--store", "postgresql://dove@127.0.0.1:1/queues", code=1).values()
    assert check["state"] == "broken"
    assert "make setup EXTRAS=postgresql" in check["found"]


def test_url_that_names_no_store_is_wrong_use(
    clean: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--store", "mysql://host"]) == 2
    assert "the URL names no store" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "state", "found"),
    [
        (None, "ok", "none yet"),
        (2, "ok", "the next start brings it to version 3"),
        (3, "ok", "version 3"),
        (4, "broken", "use a newer release"),
    ],
)
def test_schema_of_a_newer_release_is_broken(version: int | None, state: str, found: str) -> None:
    check = schema_check(version, 3)
    assert check.state == state
    assert found in check.found


def test_clocks_that_differ_are_weak_unless_the_answer_was_late() -> None:
    assert clock_check("a", 20_000, 10_000, 10_010).state == "weak"
    assert clock_check("a", 20_000, 10_000, 10_010).found == (
        "+10.0 s from the clock of this machine"
    )
    assert clock_check("a", 20_000, 10_000, 30_000).state == "ok"
    assert "give or take 10.0 s" in clock_check("a", 20_000, 10_000, 30_000).found


def test_file_system_is_that_of_the_longest_mounted_path(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "disk / ext4 rw 0 0\n"
        "box:/srv /srv nfs4 rw 0 0\n"
        "ram /srv/my\\040queues tmpfs rw 0 0\n"
        "disk2 /srv/late ext4 rw 0 0\n"
        "disk3 /srv/late xfs rw 0 0\n"
    )
    expected = {"/home": "ext4", "/srv/a": "nfs4", "/srv/my queues/b": "tmpfs", "/srv/late": "xfs"}
    found = {place: file_system_of(Path(place), mounts) for place in expected}
    assert found == expected
    assert file_system_of(Path("/"), tmp_path / "none") is None
