"""The wheel with each extra alone: it installs, `dovemq doctor` knows it, and its command works.

They fetch a lot, so `make test-full` does it, or `DOVETEST_EXTRAS=1`;
`DOVETEST_EXTRAS=redis,top` takes these alone. With `-s` each prints the space and the time that it
takes.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from dovemq.system.extras import DISK_SIZES
from tests.acceptance.installed import INSTALL_SECONDS_MAX, Installed

CHOSEN: Final = os.environ.get("DOVETEST_EXTRAS", "")
NOBODY: Final = "127.0.0.1:9"
"""An address at which nothing listens."""


def trace_is_written(installed: Installed) -> None:
    trace = installed.home / "trace"
    with installed.serving("--trace", str(trace)) as server:
        installed.env.update(server.env)
        installed.dovemq("queue", "create", "letters")
        installed.dovemq("send", "letters", "hello")
        installed.dovemq("receive", "letters", "--delete")
    assert list(trace.glob("trace-*.parquet"))


def figures_come_from_a_trace(installed: Installed) -> None:
    trace_is_written(installed)
    trace = installed.home / "trace"
    printed = installed.dovemq("pipeline", "metrics", trace, "--engine", "duckdb", "--json")
    assert json.loads(printed)


def queue_is_modelled(installed: Installed) -> None:
    rates = ("--arrival-rate", "30", "--service-rate", "10", "--servers", "4")
    assert json.loads(installed.dovemq("model", "queue", *rates, "--json"))["results"]


def database_is_asked(url: str) -> Callable[[Installed], None]:
    """Nothing answers there, which only the driver can find out."""

    def ask(installed: Installed) -> None:
        options = ("--store", url, "--store-wait-seconds", "0", "--data", "data", "--port", "0")
        code, _, said = installed.attempted("serve", *options, "--admin-port", "0")
        assert code == 1, said
        assert "cannot be reached" in said

    return ask


def spans_are_exported(installed: Installed) -> None:
    with installed.serving("--otel-endpoint", f"http://{NOBODY}") as server:
        installed.env.update(server.env)
        installed.dovemq("queue", "create", "letters")


def module_is_there(name: str, *command: str) -> Callable[[Installed], None]:
    def look(installed: Installed) -> None:
        installed.python("-c", f"import {name}")
        assert "example:" in installed.dovemq(*command, "--help")

    return look


def everything_is_there(installed: Installed) -> None:
    for call in (queue_is_modelled, figures_come_from_a_trace):
        call(installed)


ALLOCATORS: Final = "dovemq.workflows.sizing.allocators"
CALLS: Final[Mapping[str, Callable[[Installed], None]]] = {
    "all": everything_is_there,
    "cassandra": database_is_asked(f"cassandra://{NOBODY}/dovemq"),
    "keda": module_is_there(f"{ALLOCATORS}.keda", "workflow", "manager"),
    "kubernetes": module_is_there(f"{ALLOCATORS}.kubernetes", "workflow", "manager"),
    "models": queue_is_modelled,
    "mqtt": module_is_there("dovemq.bridge.broker", "bridge", "mqtt"),
    "otel": spans_are_exported,
    "postgresql": database_is_asked(f"postgresql://dovemq@{NOBODY}/dovemq"),
    "redis": database_is_asked(f"redis://{NOBODY}"),
    "spark": figures_come_from_a_trace,
    "top": module_is_there("dovemq.terminal.app", "top"),
    "trace": trace_is_written,
}


def chosen(extra: str) -> bool:
    return CHOSEN == "1" or extra in CHOSEN.split(",")


def extras_that_doctor_finds(installed: Installed) -> set[str]:
    _, printed, _ = installed.attempted("doctor", "--json")
    checks = json.loads(printed)["checks"]
    # Spark is absent for `doctor` if Java is, which no extra brings.
    return {
        check["name"].removeprefix("extra ")
        for check in checks
        if check["name"].startswith("extra ")
        and (check["state"] == "ok" or "Java" in check["found"])
    }


def test_every_extra_has_a_call() -> None:
    assert {*CALLS} == {*DISK_SIZES}


@pytest.mark.timeout(INSTALL_SECONDS_MAX)
@pytest.mark.parametrize("extra", sorted(CALLS))
def test_extra_installs_and_works(
    extra: str, distribution: tuple[Path, Path], tmp_path: Path
) -> None:
    if not chosen(extra):
        pytest.skip("it fetches and installs the extra: DOVETEST_EXTRAS=1 runs it")
    began = time.monotonic()
    installed = Installed(tmp_path, distribution[1], extra)
    files = [path.lstat() for path in (tmp_path / "venv").rglob("*")]
    size = sum(each.st_blocks for each in files) * 512 / 1_000_000
    print(f"{extra}: {size:.0f} MB, {time.monotonic() - began:.0f} s")
    found = extras_that_doctor_finds(installed)
    wanted = {*DISK_SIZES} - {"all"} if extra == "all" else {extra}
    assert wanted <= found
    CALLS[extra](installed)
