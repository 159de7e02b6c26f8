"""The share of the CPU that this process uses, and the quota that it is a share of."""

from pathlib import Path

import pytest

from dovemq.system.cpu import CpuUse, cpu_cores


class Clocks:
    def __init__(self) -> None:
        self.cpu = 5.0
        self.wall = 100.0


def used(clocks: Clocks, cores: float) -> CpuUse:
    return CpuUse(lambda: clocks.cpu, lambda: clocks.wall, lambda: cores)


def test_changed_quota_counts_from_the_next_look_on() -> None:
    clocks, cores = Clocks(), [1.0]
    use = CpuUse(lambda: clocks.cpu, lambda: clocks.wall, lambda: cores[0])
    cores[0] = 0.25
    clocks.cpu, clocks.wall = 5.5, 102.0
    assert use.look() == pytest.approx(1.0)


def test_use_is_a_share_of_the_quota_since_the_last_look() -> None:
    clocks = Clocks()
    use = used(clocks, 0.5)
    clocks.cpu, clocks.wall = 5.5, 102.0
    assert use.look() == pytest.approx(0.5)
    clocks.wall = 103.0
    assert use.look() == 0.0


def test_no_time_is_no_use() -> None:
    assert used(Clocks(), 1.0).look() == 0.0


def group(root: Path, path: str, **files: str) -> None:
    (root / path).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / path / name.replace("__", ".")).write_text(text)


def test_quota_of_the_second_version_is_read_from_the_group_and_those_around_it(
    tmp_path: Path,
) -> None:
    groups = tmp_path / "groups"
    groups.write_text("0::/pods/one\n")
    group(tmp_path, "pods/one", cpu__max="max 100000\n")
    assert cpu_cores(tmp_path, groups) == 1.0
    group(tmp_path, "pods", cpu__max="25000 100000\n")
    assert cpu_cores(tmp_path, groups) == 0.25


def test_quota_of_the_first_version_is_read(tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    groups.write_text("5:memory:/one\n4:cpu,cpuacct:/one\n")
    group(tmp_path, "cpu/one", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert cpu_cores(tmp_path, groups) == 1.0
    group(tmp_path, "cpu/one", cpu__cfs_quota_us="50000")
    assert cpu_cores(tmp_path, groups) == 0.5


def test_group_that_is_named_from_outside_a_container_is_looked_for_at_the_root(
    tmp_path: Path,
) -> None:
    groups = tmp_path / "groups"
    groups.write_text("0::/../../machine/one\n")
    group(tmp_path, ".", cpu__max="50000 100000\n")
    assert cpu_cores(tmp_path, groups) == 0.5


def test_one_loop_uses_one_core_of_a_larger_quota(tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    groups.write_text("0::/\n")
    group(tmp_path, ".", cpu__max="400000 100000\n")
    assert cpu_cores(tmp_path, groups) == 1.0


def test_machine_without_control_groups_has_one_core_for_the_loop(tmp_path: Path) -> None:
    assert cpu_cores(tmp_path, tmp_path / "missing") == 1.0
