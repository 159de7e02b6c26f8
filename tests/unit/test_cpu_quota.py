"""A quota limits processes by a control group, and says plainly where that is not permitted."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from dovemq.testing.cpu_quota import CpuQuota, QuotaNotPermitted, QuotaTooSmall
from dovemq.testing.local_front_ends import NoEvenSpread, owners_of, spreading_addresses


def first_version(root: Path) -> Path:
    hierarchy = root / "cpu"
    hierarchy.mkdir()
    (hierarchy / "cpu.cfs_quota_us").write_text("-1")
    return hierarchy


def test_first_version_gets_quota_and_period(tmp_path: Path) -> None:
    hierarchy = first_version(tmp_path)
    quota = CpuQuota(0.15, root=tmp_path).start()
    quota.add(77)
    (group,) = (each for each in hierarchy.iterdir() if each.is_dir())
    assert (group / "cpu.cfs_quota_us").read_text() == "3000"
    assert (group / "cpu.cfs_period_us").read_text() == "20000"
    assert (group / "cgroup.procs").read_text() == "77"
    assert quota.text == "control groups v1: 3 ms of CPU in every 20 ms (15% of a core)"


def test_second_version_enables_the_controller(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory cpu\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory\n")
    quota = CpuQuota(0.5, period_ms=100, root=tmp_path).start()
    (group,) = (each for each in tmp_path.iterdir() if each.is_dir())
    assert (group / "cpu.max").read_text() == "50000 100000"
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    assert quota.version == 2


def test_missing_controller_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(QuotaNotPermitted, match=r"no controller cpu below .* as root"):
        CpuQuota(0.1, root=tmp_path).start()


def test_refused_group_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu")
    quota = CpuQuota(0.1, root=tmp_path)
    # There is no file that enables the controller below.
    with pytest.raises(QuotaNotPermitted, match="No such file"):
        quota.start()


def test_quota_below_the_least_of_the_kernel_is_refused() -> None:
    with pytest.raises(QuotaTooSmall, match=r"at least 0\.05"):
        CpuQuota(0.04)


def test_real_group_holds_the_process_and_is_removed() -> None:
    try:
        quota = CpuQuota(0.5).start()
    except QuotaNotPermitted as error:
        pytest.skip(str(error))
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        quota.add(process.pid)
        inside = Path(f"/proc/{process.pid}/cgroup").read_text()
        quota.stop()
        outside = Path(f"/proc/{process.pid}/cgroup").read_text()
        process.communicate(b"\n")
    assert "dovemq-" in inside
    assert "dovemq-" not in outside


@pytest.mark.parametrize(("front_ends", "partitions"), [(1, 3), (2, 2), (3, 16), (5, 10)])
def test_addresses_spread_partitions_evenly(front_ends: int, partitions: int) -> None:
    addresses = spreading_addresses(range(100, 160), front_ends, partitions, random.Random(7))
    owners = owners_of(addresses, partitions, 1)
    numbers = [owners.count(place) for place in range(front_ends)]
    assert sum(numbers) == partitions
    assert max(numbers) - min(numbers) <= 1


def test_spread_that_no_addresses_give_is_refused() -> None:
    # The owner of each partition is the one with the highest hash, which these never change.
    with pytest.raises(NoEvenSpread, match="7 partitions evenly over 3 front ends"):
        spreading_addresses(range(100, 103), 3, 7, _Unlucky(1))


class _Unlucky(random.Random):
    """Draws the same ports each time; they are none that spread evenly."""

    def sample(self, population, k, *, counts=None):  # type: ignore[no-untyped-def]
        return [population[0]] * k
