"""Programs that acceptance tests start; one that is missing skips, and fails under CI=true."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
OUR_PROGRAMS = Path(sys.executable).parent
RUN_SECONDS_MAX = 500
KEPT_VARIABLES = ("LANG", "SSL_CERT_FILE", "TMPDIR")
KEPT_PREFIXES = ("PIP_", "NPM_CONFIG_", "HTTP", "http", "NO_PROXY", "no_proxy", "REQUESTS_CA")


def missing(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: needed under CI=true")
    pytest.skip(what)


def program(name: str) -> str:
    found = shutil.which(name, path=f"{OUR_PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}")
    return found or missing(f"{name} is not installed")


def clean_environment(home: Path, **variables: str) -> dict[str, str]:
    """The environment of a new login, without the developer's AWS and DoveMQ settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)
    }
    path = f"{OUR_PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "HOME": str(home), "PATH": path, **variables}


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    cwd: Path = ROOT,
    seconds_max: float = RUN_SECONDS_MAX,
) -> str:
    """The standard output of a command that must succeed."""
    done = subprocess.run(
        command, env=dict(env), cwd=cwd, capture_output=True, text=True, timeout=seconds_max
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
