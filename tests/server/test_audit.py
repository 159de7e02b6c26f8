"""The audit log in files: durable, in order, bounded, and what becomes of a failed write."""

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.errors import AuditUnwritable, Busy, Draining, StoreUnusable, Throttled
from dovemq.server.answers import StreamedResponse
from dovemq.server.audit import DurableAudit, MemoryAudit
from dovemq.server.audit_files import AuditFiles
from dovemq.service.audit import DETAIL_BYTES_MAX, AuditEntry, audited, bounded
from tests.server.admin_world import World

NAME = "audit.jsonl"


def _entry(
    target: str = "t",
    details: dict[str, Any] | None = None,
    account: str | None = "000000000000",
) -> AuditEntry:
    return AuditEntry(
        at_ms=1_767_225_600_123,
        request_id="r",
        account=account,
        key_id="AKIA",
        peer="127.0.0.1:1",
        action="CreateQueue",
        target=target,
        outcome="ok",
        details=details or {},
    )


def _opened(directory: Path, *, bytes_max: int = 1 << 20, files_max: int = 4) -> DurableAudit:
    return DurableAudit(AuditFiles(directory, bytes_max=bytes_max, files_max=files_max))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Disk:
    """Stands in the way of writes, half-way through, while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.syncs = 0
        self._write, self._sync = os.write, os.fsync
        monkeypatch.setattr("dovemq.server.audit_files.os.write", self.write)
        monkeypatch.setattr("dovemq.server.audit_files.os.fsync", self.sync)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.full and len(data) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._write(descriptor, data[: len(data) // 2 or 1])

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        self._sync(descriptor)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def test_entry_is_a_line_of_a_private_file_when_it_is_answered(tmp_path: Path) -> None:
    audit = _opened(tmp_path)
    await audit.add(_entry(details={"QueueName": "ü"}))
    assert _lines(tmp_path / NAME) == [
        {
            "sequence": 1,
            "ts": "2026-01-01T00:00:00.123Z",
            "request_id": "r",
            "account": "000000000000",
            "key_id": "AKIA",
            "peer": "127.0.0.1:1",
            "action": "CreateQueue",
            "target": "t",
            "outcome": "ok",
            "details": {"QueueName": "ü"},
        }
    ]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    await audit.close()


async def test_entries_that_come_together_share_a_sync(tmp_path: Path, disk: Disk) -> None:
    audit = _opened(tmp_path)
    before = disk.syncs
    await asyncio.gather(*(audit.add(_entry(str(number))) for number in range(100)))
    assert disk.syncs - before <= 2
    assert [line["target"] for line in _lines(tmp_path / NAME)] == list(map(str, range(100)))
    await audit.close()


async def test_entry_without_a_waiting_client_is_written_before_the_end(tmp_path: Path) -> None:
    audit = _opened(tmp_path)
    audit.add(_entry())
    await audit.close()
    assert len(_lines(tmp_path / NAME)) == 1


async def test_entries_count_on_after_a_restart(tmp_path: Path) -> None:
    for number in range(1, 4):
        audit = _opened(tmp_path)
        await audit.add(_entry())
        assert [entry["sequence"] for entry in await audit.page(0, 10)] == list(
            range(1, number + 1)
        )
        await audit.close()


async def test_half_a_line_of_a_crash_is_dropped(tmp_path: Path) -> None:
    audit = _opened(tmp_path)
    await audit.add(_entry("kept"))
    await audit.close()
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"sequence":2,"ts":"20')
    audit = _opened(tmp_path)
    await audit.add(_entry("next"))
    told = [(line["sequence"], line["target"]) for line in _lines(tmp_path / NAME)]
    assert told == [(1, "kept"), (2, "next")]
    await audit.close()


async def test_full_file_makes_place_and_the_oldest_goes(tmp_path: Path) -> None:
    audit = _opened(tmp_path, bytes_max=1_000, files_max=3)
    for number in range(1, 41):
        await audit.add(_entry(str(number)))
    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == 3
    assert files[-1] == NAME
    assert all(path.stat().st_size <= 1_000 for path in tmp_path.iterdir())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    kept = [entry["sequence"] for entry in await audit.page(0, 1_000)]
    assert kept == list(range(kept[0], 41))
    assert len(kept) > 4
    await audit.close()
    audit = _opened(tmp_path, bytes_max=1_000, files_max=3)
    await audit.add(_entry())
    assert (await audit.page(None, 1))[0]["sequence"] == 41
    await audit.close()


async def test_account_with_many_changes_displaces_its_own_entries_only(tmp_path: Path) -> None:
    audit = _opened(tmp_path, bytes_max=4_000, files_max=3)
    for number in range(5):
        await audit.add(_entry(f"quiet {number}", account="111111111111"))
        await audit.add(_entry(f"unknown {number}", account=None))
    for number in range(500):
        await audit.add(_entry(f"busy {number}", account="222222222222"))
    entries = await audit.page(0, 1_000)
    quiet = [entry["target"] for entry in entries if not entry["target"].startswith("busy")]
    assert sorted(quiet) == sorted(f"{who} {n}" for who in ("quiet", "unknown") for n in range(5))
    sequences = [entry["sequence"] for entry in entries]
    assert sequences == sorted(set(sequences))
    assert entries[-1]["target"] == "busy 499"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3 * 4_000
    assert len(list(tmp_path.iterdir())) == 3
    await audit.close()


async def test_entries_that_a_crash_left_in_two_files_are_read_once(tmp_path: Path) -> None:
    audit = _opened(tmp_path, bytes_max=1_000, files_max=9)
    for number in range(1, 21):
        await audit.add(_entry(str(number)))
    await audit.close()
    first, second = sorted(tmp_path.glob("audit-*.jsonl"))[:2]
    first.write_bytes(first.read_bytes() + second.read_bytes())
    audit = _opened(tmp_path, bytes_max=1_000, files_max=3)
    for number in range(21, 31):
        await audit.add(_entry(str(number)))
    kept = [entry["sequence"] for entry in await audit.page(0, 1_000)]
    assert kept == list(range(kept[0], 31))
    assert len(list(tmp_path.iterdir())) == 3
    await audit.close()


async def test_log_that_may_forget_nothing_refuses_changes_when_it_is_full(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path, bytes_max=1_000, files_max=3, refuse_when_full=True)
    audit = DurableAudit(files)

    async def fill() -> None:
        for number in range(100):
            await audit.add(_entry(str(number)))

    with pytest.raises(AuditUnwritable, match="it is full: move files away"):
        await fill()
    kept = [entry["target"] for entry in await audit.page(0, 1_000)]
    assert kept == [str(number) for number in range(len(kept))]
    next(iter(sorted(tmp_path.glob("audit-*.jsonl")))).rename(tmp_path / "moved away")
    with pytest.raises(AuditUnwritable):
        audit.check()
    await audit.idle()
    audit.check()
    assert (await audit.page(None, 1))[0]["target"] == str(len(kept))
    await audit.close()


async def test_pages_follow_one_another_over_files(tmp_path: Path) -> None:
    audit = _opened(tmp_path, bytes_max=900, files_max=50)
    for number in range(1, 31):
        await audit.add(_entry(str(number)))
    assert len(list(tmp_path.iterdir())) > 5
    for size in (1, 4, 7, 30, 50):
        after, seen = 0, []
        while page := await audit.page(after, size):
            assert len(page) <= size
            seen += [entry["sequence"] for entry in page]
            after = seen[-1]
        assert seen == list(range(1, 31))
        newest = [entry["sequence"] for entry in await audit.page(None, size)]
        assert newest == list(range(1, 31))[-size:]
    await audit.close()


async def test_failed_write_refuses_changes_until_one_succeeds(tmp_path: Path, disk: Disk) -> None:
    audit = _opened(tmp_path)
    await audit.add(_entry("before"))
    disk.full = True
    with pytest.raises(AuditUnwritable, match="No space left on device"):
        await audit.add(_entry("during"))
    for _ in range(3):
        with pytest.raises(AuditUnwritable):
            audit.check()
        await audit.idle()
    disk.full = False
    with pytest.raises(AuditUnwritable):
        audit.check()
    await audit.idle()
    audit.check()
    await audit.add(_entry("after"))
    told = [(line["sequence"], line["target"]) for line in _lines(tmp_path / NAME)]
    assert told == [(1, "before"), (2, "during"), (3, "after")]
    await audit.close()


async def test_log_that_ends_unwritten_says_so(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    audit = _opened(tmp_path)
    disk.full = True
    with pytest.raises(AuditUnwritable):
        await audit.add(_entry("secret-target"))
    await audit.close()
    assert _lines(tmp_path / NAME) == []
    assert "1 entries of the audit log were not written" in caplog.text
    assert caplog.text.count("changes are refused") == 1
    assert "secret-target" not in caplog.text


async def test_entry_that_failed_is_written_at_the_end_if_it_can_be(
    tmp_path: Path, disk: Disk
) -> None:
    audit = _opened(tmp_path)
    disk.full = True
    with pytest.raises(AuditUnwritable):
        await audit.add(_entry("late"))
    disk.full = False
    await audit.close()
    assert [line["target"] for line in _lines(tmp_path / NAME)] == ["late"]


@pytest.mark.parametrize("how", ["moved", "removed"])
async def test_file_that_is_moved_away_is_created_again(tmp_path: Path, how: str) -> None:
    audit = _opened(tmp_path)
    await audit.add(_entry("one"))
    if how == "moved":
        (tmp_path / NAME).rename(tmp_path / "mine")
    else:
        (tmp_path / NAME).unlink()
    assert await audit.page(None, 10) == []
    await audit.add(_entry("two"))
    assert [line["target"] for line in _lines(tmp_path / NAME)] == ["two"]
    assert [entry["sequence"] for entry in await audit.page(None, 10)] == [2]
    await audit.close()


async def test_damaged_line_does_not_hide_the_others(tmp_path: Path) -> None:
    audit = _opened(tmp_path)
    await audit.add(_entry("one"))
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"\0\xff no JSON\n")
    await audit.close()
    audit = _opened(tmp_path)
    await audit.add(_entry("two"))
    assert [entry["target"] for entry in await audit.page(0, 10)] == ["one", "two"]
    await audit.close()


def test_directory_that_takes_no_log_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(StoreUnusable, match=r"audit\.jsonl: cannot be written"):
        _opened(tmp_path)


async def test_admin_changes_are_refused_while_the_log_cannot_be_written(
    tmp_path: Path, disk: Disk
) -> None:
    audit = _opened(tmp_path)
    world = World(tmp_path, audit=audit)
    disk.full = True
    body = {"name": "first"}
    assert await world.refused("POST", "/v1/accounts", body=body) == (503, "AuditUnwritable")
    body = {"name": "second"}
    assert await world.refused("POST", "/v1/accounts", body=body) == (503, "AuditUnwritable")
    await audit.idle()
    names = [each["name"] for each in (await world.get("/v1/accounts"))["accounts"]]
    assert sorted(names) == ["first", "root"]
    disk.full = False
    await world.refused("POST", "/v1/accounts", body=body)
    await audit.idle()
    await world.done("POST", "/v1/accounts", body=body)
    entries = (await world.get("/v1/audit"))["entries"]
    assert [entry["details"]["name"] for entry in entries] == ["first", "second"]
    await audit.close()


async def test_server_is_not_ready_while_the_log_cannot_be_written(
    tmp_path: Path, disk: Disk
) -> None:
    audit = _opened(tmp_path)
    world = World(tmp_path, audit=audit)
    assert await world.get("/health/ready") == {"ready": True}
    disk.full = True
    await world.refused("POST", "/v1/accounts", body={"name": "first"})
    assert await world.refused("GET", "/health/ready") == (503, "NotReady")
    assert (await world.get("/v1/health"))["ready"] is False
    await audit.idle()
    disk.full = False
    await world.refused("GET", "/health/ready")
    await audit.idle()
    assert await world.get("/health/ready") == {"ready": True}
    await audit.close()


async def test_refusal_for_lack_of_capacity_is_not_recorded(tmp_path: Path) -> None:
    audit = MemoryAudit()
    for error in (Busy("too many"), Draining(), Throttled("too often", 1)):

        async def act(error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error)):
            await audited(audit, act, lambda outcome: _entry(outcome), lambda error: "code")
    assert await audit.page(None, 10) == []


def test_long_details_are_replaced_by_their_size() -> None:
    details = bounded({"name": "a", "policy": "x" * DETAIL_BYTES_MAX})
    assert details == {"name": "a", "policy": {"omitted_bytes": DETAIL_BYTES_MAX + 2}}
    many = bounded({str(number): "x" * 100 for number in range(100)})
    assert list(many) == ["omitted_bytes"]


async def test_backup_that_is_not_recorded_is_not_given(tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "log").mkdir()
    audit = _opened(tmp_path / "log")
    world = World(tmp_path, audit=audit)
    disk.full = True
    assert await world.refused("POST", "/v1/backups") == (503, "AuditUnwritable")
    disk.full = False
    await world.refused("POST", "/v1/backups")
    await audit.idle()
    response = await world.call("POST", "/v1/backups")
    assert isinstance(response, StreamedResponse)
    response.close()
    await audit.close()


async def test_audit_is_listed_page_by_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(5):
        await world.done("POST", "/v1/accounts", body={"name": f"a{number}"})
    newest = await world.get("/v1/audit", "limit=2")
    assert [entry["sequence"] for entry in newest["entries"]] == [4, 5]
    assert newest["next"] is None
    first = await world.get("/v1/audit", "after=0&limit=3")
    assert [entry["details"]["name"] for entry in first["entries"]] == ["a0", "a1", "a2"]
    rest = await world.get("/v1/audit", f"after={first['next']}&limit=3")
    assert [entry["sequence"] for entry in rest["entries"]] == [4, 5]
    assert rest["next"] is None
    status, document = await world.ask("GET", "/v1/audit", "after=x")
    assert (status, document["error"]["code"]) == (400, "InvalidValue")


async def test_admin_change_is_recorded_under_the_number_of_the_account(tmp_path: Path) -> None:
    world = World(tmp_path, root=True)
    await world.done("POST", "/v1/accounts", body={"name": "ann", "number": "1" * 12})
    made = await world.done("POST", "/v1/accounts/ann/credentials", body={})
    place = f"/v1/accounts/ann/credentials/{made['key_id']}"
    new = await world.done("POST", f"{place}/rotations", body={"grace_ms": 5})
    await world.done("PATCH", "/v1/accounts/ann", body={"role": "viewer"})
    told = [
        (entry["action"], entry["target"], entry["details"]) for entry in await world.recorded()
    ]
    assert told[1:] == [
        ("add credential", "1" * 12, {"lifetime_ms": None, "key_id": made["key_id"]}),
        (
            "rotate credential",
            f"{'1' * 12}/{made['key_id']}",
            {"grace_ms": 5, "key_id": new["key_id"]},
        ),
        ("change account", "1" * 12, {"role": "viewer", "quotas": {}}),
    ]
