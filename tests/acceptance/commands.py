"""The command as a process, in the environment of a new login."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.acceptance.programs import RUN_SECONDS_MAX, clean_environment

DOVEMQ: Final = (sys.executable, "-m", "dovemq")


def dovemq(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a command, which must end with this exit code."""
    done = subprocess.run(
        [*DOVEMQ, *map(str, words)],
        env=clean_environment(Path("/nonexistent")),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
    )
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


def dovemq_json(*words: str | Path, code: int = 0) -> Any:
    return json.loads(dovemq(*words, "--json", code=code).stdout)
