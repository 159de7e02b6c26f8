"""Builds Helm for tests, from the Go registry: `python -m tools.helm`.

The program goes into a cache outside the tree. `make test-full` builds it; a Helm on the path is as
good. Without either, the tests that need it are skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from dovemq.testing.local_kubernetes import program_cache

VERSION: Final = "v3.22.0"
BUILD_SECONDS_MAX: Final = 3_600


def find_helm() -> Path | None:
    """The Helm of the path, else the one that was built here, else none."""
    built = _target()
    found = shutil.which("helm")
    return Path(found) if found else built if built.is_file() else None


def _target() -> Path:
    return program_cache() / f"helm-{VERSION}" / "helm"


def build(folder: Path, target: Path) -> None:
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-modcacherw",
        "GOPATH": str(folder / "modules"),
        "GOCACHE": str(folder / "compiled"),
        "GOBIN": str(folder / "programs"),
    }
    package = f"helm.sh/helm/v3/cmd/helm@{VERSION}"
    command = ["go", "install", "-trimpath", "-ldflags", "-s -w", package]
    subprocess.run(command, env=environment, check=True, timeout=BUILD_SECONDS_MAX)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(folder / "programs" / "helm", target)


def main() -> int:
    if find_helm() is not None:
        return 0
    if shutil.which("go") is None:
        print("neither helm nor go is installed: tests of the Helm chart will be skipped")
        return int(os.environ.get("CI") == "true")
    print("building helm", flush=True)
    with tempfile.TemporaryDirectory(prefix="dovemq-helm-") as folder:
        build(Path(folder), _target())
    return 0


if __name__ == "__main__":
    sys.exit(main())
