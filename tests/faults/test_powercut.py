"""The power cut itself: it keeps what was synced and nothing but what the disk could hold."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from dovemq.load.faults.powercut import SECTOR_BYTES, Damage, Effects, PowerCutDisk
from dovemq.load.faults.shim import SkewedClock

_SEEDS = 40
_PRELUDE = """
import os, sys
os.chdir(sys.argv[1])
def write(name, data, offset=0):
    file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(file, data, offset)
    return file
def sync(name):
    file = os.open(name, os.O_RDONLY)
    os.fsync(file)
    os.close(file)
"""
_DIE = "\nos.kill(os.getpid(), 9)\n"


def run(disk: PowerCutDisk, script: str, **options: int | bool) -> None:
    environment = {**os.environ, **disk.environment(**options)}  # type: ignore[arg-type]
    command = [sys.executable, "-S", "-c", _PRELUDE + script + _DIE, str(disk.root)]
    died = subprocess.run(command, env=environment, check=False)
    assert died.returncode == -signal.SIGKILL


def fates(tmp_path: Path, shim: Path, script: str, **options: int | bool) -> list[PowerCutDisk]:
    """The same script, struck under many seeds."""
    disks = []
    for seed in range(_SEEDS):
        disk = PowerCutDisk(tmp_path / str(seed), shim)
        run(disk, script, **options)
        disk.strike(random.Random(seed))
        disks.append(disk)
    return disks


def contents(disk: PowerCutDisk, name: str) -> bytes | None:
    path = disk.root / name
    return path.read_bytes() if path.exists() else None


def test_synced_file_in_a_synced_directory_is_always_whole(tmp_path: Path, shim: Path) -> None:
    script = "os.fsync(write('a', b'x' * 5000)); sync('.')"
    assert {contents(disk, "a") for disk in fates(tmp_path, shim, script)} == {b"x" * 5000}


def test_unsynced_sectors_are_lost_one_by_one(tmp_path: Path, shim: Path) -> None:
    script = "f = write('a', b'o' * 2048); os.fsync(f); sync('.'); write('a', b'n' * 2048)"
    found = {contents(disk, "a") for disk in fates(tmp_path, shim, script)}
    sectors = [
        tuple(data[at : at + SECTOR_BYTES] for at in range(0, 2048, SECTOR_BYTES))
        for data in found
        if data is not None
    ]
    assert len(sectors) > 8
    assert all(set(parts) <= {b"o" * SECTOR_BYTES, b"n" * SECTOR_BYTES} for parts in sectors)


def test_sector_written_twice_may_hold_the_middle_version(tmp_path: Path, shim: Path) -> None:
    script = "f = write('a', b'1'); os.fsync(f); sync('.'); write('a', b'2'); write('a', b'3')"
    found = {contents(disk, "a") for disk in fates(tmp_path, shim, script)}
    assert found == {b"1", b"2", b"3"}


def test_new_name_may_vanish_although_the_file_was_synced(tmp_path: Path, shim: Path) -> None:
    script = "os.fsync(write('a', b'x'))"
    assert {contents(disk, "a") for disk in fates(tmp_path, shim, script)} == {b"x", None}


def test_unsynced_unlink_may_come_back(tmp_path: Path, shim: Path) -> None:
    script = "os.fsync(write('a', b'x')); sync('.'); os.unlink('a')"
    assert {contents(disk, "a") for disk in fates(tmp_path, shim, script)} == {b"x", None}


def test_unsynced_rename_is_whole_or_undone(tmp_path: Path, shim: Path) -> None:
    script = """
os.fsync(write('a', b'old')); os.fsync(write('b', b'new')); sync('.'); os.rename('b', 'a')
"""
    disks = fates(tmp_path, shim, script)
    found = {(contents(disk, "a"), contents(disk, "b")) for disk in disks}
    assert found == {(b"new", None), (b"old", b"new")}


def test_unsynced_truncate_may_come_back(tmp_path: Path, shim: Path) -> None:
    script = "f = write('a', b'x' * 1024); os.fsync(f); sync('.'); os.ftruncate(f, 0)"
    sizes = {len(contents(disk, "a") or b"") for disk in fates(tmp_path, shim, script)}
    assert sizes == {0, 1024}


def test_sync_that_lies_keeps_nothing_safe(tmp_path: Path, shim: Path) -> None:
    script = "os.fsync(write('a', b'x')); sync('.')"
    found = {contents(disk, "a") for disk in fates(tmp_path, shim, script, lie=True)}
    assert None in found


def test_process_dies_at_the_operation_asked_for(disk: PowerCutDisk) -> None:
    run(disk, "write('a', b'1'); write('a', b'2'); write('a', b'3')", cut_at=3)
    assert contents(disk, "a") == b"2"
    assert disk.operations() == 3


def test_failing_sync_and_full_disk_can_be_switched_while_the_process_runs(
    disk: PowerCutDisk,
) -> None:
    disk.switch("fail-sync", on=True)
    disk.switch("full", on=True)
    script = """
import errno
file = os.open('a', os.O_RDWR | os.O_CREAT, 0o600)
def failure(act):
    try: act()
    except OSError as error: return errno.errorcode[error.errno]
found = (failure(lambda: os.write(file, b'x')), failure(lambda: os.fsync(file)))
os.write(os.open('../found', os.O_WRONLY | os.O_CREAT), ' '.join(map(str, found)).encode())
"""
    run(disk, script)
    assert (disk.root.parent / "found").read_text() == "ENOSPC EIO"


def test_strike_tells_which_files_were_at_risk(disk: PowerCutDisk) -> None:
    run(disk, "os.fsync(write('a', b'x')); write('b', b'x')")
    damage = disk.strike(random.Random(1))
    assert isinstance(damage, Damage)
    assert damage.unsynced_files == {"b"}


def test_write_after_a_sync_is_still_at_risk(tmp_path: Path, shim: Path) -> None:
    script = """
f = write('a', b'o' * 2048); os.fsync(f); sync('.')
for _ in range(200):
    os.pwrite(f, b's' * 65536, 0); os.fsync(f)
write('a', b'n' * 512)
"""
    found = set()
    for seed in range(10):
        disk = PowerCutDisk(tmp_path / str(seed), shim)
        run(disk, script)
        assert (tmp_path / str(seed) / "journal" / "journal").stat().st_size < 9 << 20
        disk.strike(random.Random(seed))
        found.add(contents(disk, "a"))
    assert found == {b"s" * 65536, b"n" * 512 + b"s" * 65024}


def test_effects_of_switches_are_counted_over_processes(disk: PowerCutDisk) -> None:
    script = """
file = os.open('a', os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
for act in (lambda: os.write(file, b'x'), lambda: os.fsync(file)):
    try: act()
    except OSError: pass
"""
    disk.switch("fail-sync", on=True)
    run(disk, script)
    disk.switch("full", on=True)
    disk.forget()
    run(disk, script)
    assert disk.effects() == Effects(syncs_failed=2, writes_refused=1)


def test_clock_of_a_process_can_be_set_while_it_runs(tmp_path: Path, shim: Path) -> None:
    clock = SkewedClock(tmp_path, shim)
    script = "import time; print(time.time_ns() - int(input()), flush=True); " * 2
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", script],
        env={**os.environ, **clock.environment()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    seen = []
    for offset_ms in (0, -3_600_000):
        clock.set(offset_ms)
        process.stdin.write(b"%d\n" % time.time_ns())
        process.stdin.flush()
        seen.append(int(process.stdout.readline()) // 3_600_000_000_000)
    process.communicate()
    assert seen == [0, -1]
