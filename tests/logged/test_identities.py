"""Deduplication keys and adopted messages."""

from dovemq.core import limits
from dovemq.stores.owned.logged.identities import SWEEP_MIN, Identities
from tests.logged.groups import row

INTERVAL = limits.DEDUPLICATION_MS


def test_key_is_known_for_the_deduplication_interval() -> None:
    known = Identities()
    known.claim(b"k", "id", 7, sent_ms=1_000)
    first = known.first_send(b"k", 1_000 + INTERVAL - 1)
    assert first is not None
    assert (first.message_id, first.sequence) == ("id", 7)
    assert known.first_send(b"k", 1_000 + INTERVAL) is None


def test_keys_of_old_generations_are_freed_and_young_ones_stay() -> None:
    known = Identities()
    for minute in range(20):
        known.claim(b"%d" % minute, "id", minute, sent_ms=minute * 60_000)
        known.expire(minute * 60_000)
    assert len(known.keys()) <= 7
    assert known.first_send(b"18", 19 * 60_000) is not None


def test_newest_claim_of_a_key_counts() -> None:
    known = Identities()
    known.claim(b"k", "old", 1, sent_ms=0)
    known.claim(b"k", "new", 2, sent_ms=INTERVAL)
    first = known.first_send(b"k", INTERVAL + 1)
    assert first is not None
    assert first.message_id == "new"


def test_purge_forgets_keys_of_messages_sent_before() -> None:
    known = Identities()
    known.claim(b"a", "a", 1, sent_ms=10)
    known.claim(b"b", "b", 2, sent_ms=20)
    known.forget(20)
    assert known.first_send(b"a", 30) is None
    assert known.first_send(b"b", 30) is not None


def test_snapshot_does_not_replace_a_newer_claim() -> None:
    known = Identities()
    known.claim(b"k", "new", 2, sent_ms=50)
    known.restore([(b"k", "old", 1, 40 + INTERVAL), (b"l", "other", 3, 40 + INTERVAL)])
    assert {key_row[1] for key_row in known.key_rows(known.keys(), 60)} == {"new", "other"}


def test_adopted_messages_that_left_are_swept() -> None:
    known = Identities()
    for sequence in range(SWEEP_MIN + 1):
        known.note(row(sequence, adopted=True, message_id=f"m{sequence}"))
    known.sweep(lambda sequence: sequence < 3)
    assert known.adopted("m2") == 2
    assert known.adopted("m3") is None
    assert len(known.adopted_rows()) == 3
