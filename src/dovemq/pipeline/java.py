"""Finds the Java that Spark runs on, and checks its version."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dovemq.pipeline.errors import JavaUnfit

VERSIONS: Final = (17, 21)
ASK_SECONDS_MAX: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def check_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the Java program that Spark will start: that of JAVA_HOME, or the first of the
    path."""
    program = _program(environment)
    try:
        asked = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=ASK_SECONDS_MAX
        )
    except OSError as error:
        raise JavaUnfit(f"{program} cannot be run ({error.strerror})", VERSIONS) from None
    except subprocess.TimeoutExpired:
        raise JavaUnfit(f"{program} does not answer", VERSIONS) from None
    version = _VERSION.search(asked.stderr + asked.stdout)
    if version is None:
        raise JavaUnfit(f"{program} does not tell its version", VERSIONS)
    if int(version[1]) not in VERSIONS:
        raise JavaUnfit(f"{program} is Java {version[1]}", VERSIONS)
    return program


def _program(environment: Mapping[str, str]) -> Path:
    home = environment.get("JAVA_HOME")
    if home:
        return Path(home) / "bin" / "java"
    found = shutil.which("java", path=environment.get("PATH"))
    if found is None:
        raise JavaUnfit("no java is found", VERSIONS)
    return Path(found)
