"""Keeps the damaged files, with their report, beside the database that replaced them.

The new database is complete, under a name of its own, before the old one is touched. The next start
finishes an exchange that was interrupted.
"""

from pathlib import Path
from typing import Final

import msgspec

from dovemq.stores.sqlite.damage.report import DamageReport
from dovemq.stores.sqlite.directory import DATABASE_NAME, EVIDENCE_NAME, SEALS_NAME
from dovemq.system.private_files import new_private_file, sync_directory

REPORT_NAME: Final = "report.json"
REBUILT_NAME: Final = DATABASE_NAME + ".rebuilt"
REPORTS_MAX: Final = 100
"""Number of reports that are read, the newest ones."""

_MOVED: Final = (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-journal", SEALS_NAME)
_SHARED_MEMORY: Final = f"{DATABASE_NAME}-shm"


def new_evidence(directory: Path) -> str:
    """Make a directory for the damaged files; returns its path relative to the data directory."""
    number = 1 + max(map(int, _numbers(directory)), default=0)
    name = f"{EVIDENCE_NAME}/{number:04d}"
    (directory / name).mkdir(mode=0o700, parents=True)
    return name


def save_report(directory: Path, report: DamageReport) -> None:
    with new_private_file(directory / report.evidence / REPORT_NAME) as file:
        file.write(msgspec.json.encode(report))


def read_reports(directory: Path) -> list[DamageReport]:
    """The reports whose directories the operator has not removed, oldest first."""
    reports = []
    for number in _numbers(directory)[-REPORTS_MAX:]:
        try:
            data = (directory / EVIDENCE_NAME / number / REPORT_NAME).read_bytes()
            reports.append(msgspec.json.decode(data, type=DamageReport))
        except (FileNotFoundError, msgspec.DecodeError):
            # Made by a start that was interrupted before it wrote its report.
            continue
    return reports


def change_places(directory: Path) -> None:
    """Replace the damaged database by the rebuilt one, if there is one."""
    rebuilt = directory / REBUILT_NAME
    if not rebuilt.exists():
        return
    evidence = directory / EVIDENCE_NAME / _numbers(directory)[-1]
    for name in _MOVED:
        damaged = directory / name
        if damaged.exists():
            damaged.rename(evidence / name)
    (directory / _SHARED_MEMORY).unlink(missing_ok=True)
    sync_directory(evidence)
    rebuilt.rename(directory / DATABASE_NAME)
    sync_directory(directory)


def _numbers(directory: Path) -> list[str]:
    evidence = directory / EVIDENCE_NAME
    if not evidence.is_dir():
        return []
    return sorted(each.name for each in evidence.iterdir() if each.name.isdigit())
