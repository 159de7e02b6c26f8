"""Refusals over real connections: the reason is in the log of both sides, the secret in neither."""

import asyncio
import logging
import random

import msgspec
import pytest

from dovemq.cluster.link import ClusterIdentity, Dialling, LinkCertificate, PeerLinks
from dovemq.cluster.link.bounds import FAILURES_MAX, GREETINGS_MAX, PROTOCOL
from dovemq.cluster.link.greeting import Challenge, Hello
from dovemq.cluster.link.tls import dialling_context
from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.queue import Queue
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock
from tests.link.linked import HOST, SECRET, LinkedStore, identity, nonces
from tests.link.pairs import Pair, new_queue, until

OTHER_SECRET = b"another secret of the cluster"


async def _refused(pair: Pair, stranger: ClusterIdentity, *, tls: bool = False) -> PeerUnreachable:
    """The error of a front end that dials with this identity."""
    context = dialling_context() if tls else None
    links = PeerLinks(Dialling(stranger, random.Random(1), nonces(5), context))
    place = (pair.queue.number, 0)
    address = f"{HOST}:{pair.linked.listener.port}"
    with pytest.raises(PeerUnreachable) as caught:
        await links.partition(address, pair.queue, place).counts(pair.now_ms)
    await links.close()
    return caught.value


def _said(caplog: pytest.LogCaptureFixture, place: str) -> str:
    found = [each.getMessage() for each in caplog.records if each.name.endswith(place)]
    return "\n".join(found)


@pytest.mark.parametrize(
    ("stranger", "reason"),
    [
        (identity(secret=OTHER_SECRET), "secret"),
        (identity(cluster="other"), "clusters differ"),
    ],
    ids=["secret", "cluster"],
)
async def test_reason_is_in_the_log_of_both_sides(
    pair: Pair, caplog: pytest.LogCaptureFixture, stranger: ClusterIdentity, reason: str
) -> None:
    error = await _refused(pair, stranger)
    assert not error.sent
    assert reason in str(error)
    assert reason in _said(caplog, "listener")
    assert reason in _said(caplog, "dialling")
    assert SECRET.decode() not in caplog.text
    assert OTHER_SECRET.decode() not in caplog.text


async def test_accepting_side_tells_of_another_version_of_the_protocol(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    hello = msgspec.msgpack.encode(Hello(PROTOCOL + 1, "9.9", "tests", "two", b"n" * 32))
    reader, writer = await asyncio.open_connection(HOST, pair.linked.listener.port)
    writer.write(len(hello).to_bytes(4, "big") + hello)
    assert b"protocol versions differ" in await reader.read()
    assert "protocol versions differ" in _said(caplog, "listener")
    writer.close()


async def test_dialling_side_tells_of_another_version_of_the_protocol(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    challenge = msgspec.msgpack.encode(Challenge(PROTOCOL + 1, "9.9", "tests", "one", b"n" * 32))

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(len(challenge).to_bytes(4, "big") + challenge)
        await writer.drain()
        writer.close()

    newer = await asyncio.start_server(answer, HOST, 0)
    address = f"{HOST}:{newer.sockets[0].getsockname()[1]}"
    with pytest.raises(PeerUnreachable, match="protocol versions differ"):
        await pair.linked.links.partition(address, pair.queue, (1, 0)).counts(pair.now_ms)
    assert "protocol versions differ" in _said(caplog, "dialling")
    newer.close()


async def test_refused_front_end_does_not_dial_again_at_once(pair: Pair) -> None:
    links = PeerLinks(Dialling(identity(secret=OTHER_SECRET), random.Random(1), nonces(5)))
    remote = links.partition(pair.address, pair.queue, (1, 0))
    for _ in range(20):
        with pytest.raises(PeerUnreachable, match="secret"):
            await remote.counts(pair.now_ms)
    assert pair.wire.connections == 1
    await links.close()


async def test_address_that_fails_too_often_is_not_listened_to(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(FAILURES_MAX):
        await _refused(pair, identity(secret=OTHER_SECRET))
    caplog.clear()
    for _ in range(3):
        error = await _refused(pair, identity())
        assert "secret" not in str(error)
    assert "refused" not in _said(caplog, "listener")


async def test_linked_front_end_is_not_disturbed_by_failures_of_its_address(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    for _ in range(FAILURES_MAX + 1):
        await _refused(pair, identity(secret=OTHER_SECRET))
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


async def test_silent_connections_do_not_keep_front_ends_out(pair: Pair) -> None:
    silent = [
        await asyncio.open_connection(HOST, pair.linked.listener.port)
        for _ in range(GREETINGS_MAX + 5)
    ]
    await until(lambda: len(pair.linked.listener.greeting) == GREETINGS_MAX)
    assert (await pair.remote.counts(pair.now_ms)).visible == 0
    for _, writer in silent:
        writer.close()


async def test_silent_connection_is_ended(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dovemq.cluster.link.listener.GREETING_SECONDS_MAX", 0.05)
    reader, writer = await asyncio.open_connection(HOST, pair.linked.listener.port)
    said = await reader.read()
    assert b"in time" in said
    assert "in time" in _said(caplog, "listener")
    writer.close()


async def test_dialler_gives_up_on_a_side_that_never_answers(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    monkeypatch.setattr("dovemq.cluster.link.session.GREETING_SECONDS_MAX", 0.05)
    pair.wire.hold()
    with pytest.raises(PeerUnreachable, match="in time") as caught:
        await pair.remote.counts(pair.now_ms)
    assert not caught.value.sent


async def test_tls_on_one_side_alone_is_refused_with_a_hint(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    await _refused(pair, identity(), tls=True)
    assert "turn TLS on for all front ends or for none" in _said(caplog, "listener")


async def test_plain_side_that_dials_a_tls_side_is_told_so(certificate: LinkCertificate) -> None:
    linked = await _with_tls(certificate)
    plain = PeerLinks(Dialling(identity(), random.Random(1), nonces(5)))
    queue = await _queue(linked)
    with pytest.raises(PeerUnreachable, match=r"TLS|closed|reset|lost"):
        await plain.partition(linked.address, queue, (1, 0)).counts(1)
    await plain.close()
    await linked.close()


async def test_verbs_pass_over_tls(certificate: LinkCertificate) -> None:
    linked = await _with_tls(certificate)
    queue = await _queue(linked)
    remote = linked.links.partition(linked.address, queue, (queue.number, 0))
    assert (await remote.counts(1)).visible == 0
    await linked.close()


async def test_certificate_with_another_fingerprint_is_refused(
    certificate: LinkCertificate, caplog: pytest.LogCaptureFixture
) -> None:
    """A man in the middle shows his own certificate: the owner's proof is about another one."""
    forged = LinkCertificate(certificate.context, b"fingerprint of the owner's own certificate")
    linked = await _with_tls(forged)
    queue = await _queue(linked)
    with pytest.raises(PeerUnreachable, match="secret"):
        await linked.links.partition(linked.address, queue, (1, 0)).counts(1)
    assert "secret" in _said(caplog, "listener")
    await linked.close()


async def test_renewed_certificate_serves_the_next_connection(
    certificate: LinkCertificate, other_certificate: LinkCertificate
) -> None:
    newest = [certificate]
    linked = await _with_tls(certificate, newest)
    queue = await _queue(linked)
    remote = linked.links.partition(linked.address, queue, (queue.number, 0))
    await remote.counts(1)
    newest[0] = other_certificate
    await remote.counts(1)
    linked.links.forget(linked.address)
    await until(lambda: not linked.links.statuses()[0].connected)
    await remote.counts(1)
    assert linked.links.statuses()[0].openings == 2
    await linked.close()


def test_connection_beyond_loopback_without_tls_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def dial() -> None:
        links = PeerLinks(Dialling(identity(), random.Random(1), nonces(5)))
        place = (1, 0)
        queue = new_queue()
        for address in ("127.0.0.1:1", "[::1]:1", "localhost:1", "10.0.0.7:9000"):
            links.partition(address, queue, place)
        await links.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(dial())
    [record] = caplog.records
    assert "10.0.0.7:9000" in record.getMessage()


async def _with_tls(
    certificate: LinkCertificate, newest: list[LinkCertificate] | None = None
) -> LinkedStore:
    owner = MemoryStore(random.Random(1), b"receipt key of the tests")
    chosen = newest or [certificate]
    return await LinkedStore(owner, ManualClock(), certificate=lambda: chosen[0]).start()


async def _queue(linked: LinkedStore) -> Queue:
    queue = await linked.catalogue.create(new_queue())
    linked.local.know(queue)
    return queue
