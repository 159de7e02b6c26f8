"""The pytest plugin: `dovemq_server`, a server for the tests of a program."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dovemq.testing.local_server import LocalServer


@pytest.fixture(scope="session")
def dovemq_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[LocalServer]":
    """A real server on free ports with an empty data directory, for the whole session.

    `boto3.client("sqs", **dovemq_server.boto3_kwargs)` connects to it; `dovemq_server.env` is for
    processes. Tests that share it should use different queue names.
    """
    # Imported here, so that only sessions with a server pay for it.
    from dovemq.testing.local_server import LocalServer

    with LocalServer(tmp_path_factory.mktemp("dovemq") / "data") as server:
        yield server
