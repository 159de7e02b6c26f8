"""Errors of the driver: which statements are repeated, and what callers are told."""

from collections.abc import Sequence

import pytest
from acsylla.errors import (
    CassErrorLibRequestTimedOut,
    CassErrorServerInvalidQuery,
    CassErrorServerUnauthorized,
    CassErrorServerUnavailable,
    CassErrorServerWriteTimeout,
    CassException,
)

from dovemq.core.errors import StoreFull, StoreUnreachable
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.cassandra.session import REPEAT_SECONDS, CassandraSession, StatementRefused

ATTEMPTS = len(REPEAT_SECONDS) + 1
GUARDRAIL = "Write request failed because disk usage exceeds failure threshold in datacenter dc1"


class Statement:
    """A statement that remembers whether the driver may repeat it."""

    def __init__(self) -> None:
        self.idempotent: list[bool] = []

    def bind(self, values: Sequence[object], **options: object) -> "Statement":
        self.idempotent.append(False)
        return self

    def set_is_idempotent(self, is_idempotent: bool) -> None:
        self.idempotent[-1] = is_idempotent


class Driver:
    """A session of the driver that fails in these ways, and then answers."""

    def __init__(self, *failures: CassException) -> None:
        self._failures = list(failures)

    async def execute(self, statement: Statement) -> str:
        if self._failures:
            raise self._failures.pop(0)
        return "answer"


def _session(*failures: CassException) -> CassandraSession:
    return CassandraSession(None, Driver(*failures), CassandraLocation(("h1", "h2"), "k"))


TRANSIENT = [
    CassErrorServerUnavailable("Cannot achieve consistency level QUORUM"),
    CassErrorServerWriteTimeout("timed out"),
    CassErrorLibRequestTimedOut("Request timed out"),
]


@pytest.mark.parametrize("error", TRANSIENT, ids=lambda error: type(error).__name__)
async def test_plain_statement_is_repeated_after_a_failure_that_may_pass(
    error: CassException,
) -> None:
    statement = Statement()
    assert await _session(*[error] * (ATTEMPTS - 1)).ask(statement, ()) == "answer"
    assert statement.idempotent == [True] * ATTEMPTS


@pytest.mark.parametrize("error", TRANSIENT, ids=lambda error: type(error).__name__)
async def test_plain_statement_is_given_up_with_the_name_of_the_cluster(
    error: CassException,
) -> None:
    with pytest.raises(StoreUnreachable, match=r"cassandra://h1,h2/k .*") as caught:
        await _session(*[error] * ATTEMPTS).ask(Statement(), ())
    assert str(error) in str(caught.value)


@pytest.mark.parametrize(
    "error", [CassErrorServerInvalidQuery("no table"), CassErrorServerUnauthorized("no right")]
)
async def test_statement_that_is_refused_is_not_repeated(error: CassException) -> None:
    statement = Statement()
    with pytest.raises(StatementRefused, match="no "):
        await _session(error).ask(statement, ())
    assert len(statement.idempotent) == 1


@pytest.mark.parametrize("error", TRANSIENT, ids=lambda error: type(error).__name__)
async def test_compare_and_set_is_sent_once_and_its_outcome_is_unknown(
    error: CassException,
) -> None:
    statement = Statement()
    assert await _session(error).swap(statement, ()) is None
    assert statement.idempotent == [False]


async def test_full_disks_are_reported_if_the_cluster_has_a_limit() -> None:
    with pytest.raises(StoreFull):
        await _session(CassErrorServerInvalidQuery(GUARDRAIL)).ask(Statement(), ())
