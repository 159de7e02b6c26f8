"""Installs the programs that tests start: `python tools/programs.py`, in `make setup`.

Only root on a system with apt-get can install them. Others are told which tests will be skipped.
Debian's packages start their servers and let them start with the system; both are prevented here,
since the tests start servers of their own.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple


class Program(NamedTuple):
    """A program, Debian's package of it, and the tests that start it.

    `places` is a pattern of directories beside those of the path. `unit` is the service that the
    package starts.
    """

    name: str
    package: str
    tests: str
    places: str = "usr/sbin"
    unit: str | None = None


PROGRAMS: Final = (
    Program("java", "openjdk-17-jre-headless", "Spark and Cassandra"),
    Program("mvn", "maven", "Cassandra, and with Spark on HDFS and S3"),
    Program("redis-server", "redis-server", "Redis Cluster", unit="redis-server"),
    Program("postgres", "postgresql", "PostgreSQL", "usr/lib/postgresql/*/bin", "postgresql"),
    Program("haproxy", "haproxy", "several front ends", unit="haproxy"),
    Program("mosquitto", "mosquitto", "the bridge from MQTT", unit="mosquitto"),
    Program("chromium", "chromium", "the console"),
    Program("tmux", "tmux", "`dovemq top` in a terminal"),
    Program("promtool", "prometheus", "the alert rules", unit="prometheus"),
    Program("systemd-analyze", "systemd", "the unit of systemd"),
    Program("zsh", "zsh", "completion in zsh"),
    Program("fish", "fish", "completion in fish"),
)
POLICY: Final = Path("/usr/sbin/policy-rc.d")
"""Debian's packages ask this program whether they may start a service."""
_REFUSES: Final = "#!/bin/sh\nexit 101\n"


def is_installed(program: Program) -> bool:
    if program.name == "java" and os.environ.get("JAVA_HOME"):
        return True
    placed = Path("/").glob(f"{program.places}/{program.name}")
    return shutil.which(program.name) is not None or any(placed)


@contextlib.contextmanager
def services_stay_down(policy: Path = POLICY) -> Iterator[None]:
    """Lets no package start a service, unless the system has a policy of its own."""
    if policy.exists():
        yield
        return
    policy.write_text(_REFUSES)
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def install(programs: Sequence[Program], policy: Path = POLICY) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = [program.package for program in programs]
    print(f"installing {', '.join(packages)}", flush=True)
    with services_stay_down(policy):
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(command, check=True, env=environment)
    for program in programs:
        if program.unit is not None and shutil.which("systemctl"):
            subprocess.run(["systemctl", "disable", "--quiet", program.unit])


def main() -> int:
    missing = [program for program in PROGRAMS if not is_installed(program)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        try:
            install(missing)
        except subprocess.CalledProcessError as error:
            return error.returncode
        return 0
    for program in missing:
        text = f"tests with {program.tests} will be skipped (and fail in CI)"
        print(f"{program.name} not found: {text}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
