"""The shim is built once per test run, into a directory of that run."""

from pathlib import Path

import pytest

from dovemq.load.faults.powercut import PowerCutDisk
from dovemq.load.faults.shim import build_shim


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def disk(tmp_path: Path, shim: Path) -> PowerCutDisk:
    return PowerCutDisk(tmp_path, shim)
