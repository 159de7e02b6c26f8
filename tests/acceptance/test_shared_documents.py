"""The commands of the pages about shared stores, as they stand there, on real databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.testing.cluster_record import end_cluster
from dovemq.testing.local_stores import LOCAL_STORES
from tests.acceptance.documents import blocks, serving, two_free_ports
from tests.acceptance.programs import clean_environment, run
from tests.real_stores import checked, new_directory

pytestmark = pytest.mark.timeout(600)
PAGES = {
    "cassandra": "docs/how-to/run-on-cassandra.md",
    "postgres": "docs/how-to/run-on-postgresql.md",
    "redis": "docs/how-to/run-on-redis.md",
}
SEVERAL = "docs/how-to/several-front-ends.md"


class Terminal:
    """A directory with a home of its own, in which a user types the commands of a page."""

    def __init__(self, place: Path, port: int) -> None:
        self.place = place
        self.env = clean_environment(place, DOVEMQ_PORT=str(port))

    def shell(self, script: str) -> str:
        return run(["bash", "-euo", "pipefail", "-c", script], env=self.env, cwd=self.place)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the run; a store that a failed test has left in it is ended."""
    directory = new_directory("typed")
    yield directory
    for store in LOCAL_STORES:
        end_cluster(directory / store)


def trial(page: str) -> list[str]:
    """The blocks of a page that try it on one machine."""
    texts = [text for language, text in blocks(page) if language == "sh"]
    first = next(number for number, text in enumerate(texts) if text.startswith("dovemq dev"))
    last = next(number for number, text in enumerate(texts) if " down " in text)
    return texts[first : last + 1]


@pytest.mark.parametrize("store", ["redis", "postgres"])
def test_store_is_tried_as_written(store: str, place: Path) -> None:
    checked(LOCAL_STORES[store](place / store))
    port = two_free_ports()
    terminal = Terminal(place, port)
    started, typed, ended = trial(PAGES[store])
    up, serve = started.splitlines()
    assert "url" in terminal.shell(up)
    with serving(serve, port, env=terminal.env, cwd=place):
        output = terminal.shell(typed)
        assert "hello" in output.splitlines()
        assert "000000000000/jobs" in output
    assert "ended" in terminal.shell(ended)


def test_trial_of_cassandra_has_the_commands_of_the_others() -> None:
    others = [text.replace("redis", "cassandra") for text in trial(PAGES["redis"])]
    assert trial(PAGES["cassandra"]) == others


def test_two_front_ends_are_tried_as_written(place: Path) -> None:
    checked(LOCAL_STORES["redis"](place / "redis"))
    ports = {text: str(two_free_ports()) for text in ("9324", "9334", "9400", "9410")}
    texts = [text for language, text in blocks(SEVERAL) if language == "sh"][:4]
    for written, free in ports.items():
        texts = [text.replace(written, free) for text in texts]
    prepare, first, second, use = texts
    ours, theirs = int(ports["9324"]), int(ports["9334"])
    terminal = Terminal(place, ours)
    terminal.shell(prepare)
    with (
        serving(first, ours, env=terminal.env, cwd=place),
        serving(second, theirs, env=terminal.env, cwd=place),
    ):
        assert "hello" in terminal.shell(use).splitlines()
        status = terminal.shell(f"dovemq cluster status --data ./data --port {ours}")
        assert status.count("serving") == 2
