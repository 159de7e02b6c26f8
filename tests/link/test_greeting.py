"""The handshake: both sides prove themselves, and whoever does not fit is refused with a reason."""

import msgspec
import pytest

from dovemq.cluster.link.bounds import PROTOCOL
from dovemq.cluster.link.greeting import (
    AcceptorGreeting,
    Challenge,
    ClusterIdentity,
    DiallerGreeting,
    Hello,
    LinkRejected,
    Welcome,
    cluster_name,
)
from tests.link.linked import SECRET, identity, nonces


def greetings(
    dialler: ClusterIdentity | None = None,
    acceptor: ClusterIdentity | None = None,
    *,
    shown: bytes = b"",
    seen: bytes = b"",
) -> tuple[DiallerGreeting, AcceptorGreeting]:
    return (
        DiallerGreeting(dialler or identity(incarnation="two"), nonces(1)(), seen),
        AcceptorGreeting(acceptor or identity(), nonces(2)(), shown),
    )


def said(frame: bytes | None) -> memoryview:
    assert frame is not None
    return memoryview(frame)


def proof_of(dialler: DiallerGreeting, acceptor: AcceptorGreeting) -> memoryview:
    return said(dialler.answer(said(acceptor.answer(said(dialler.opening())))))


def test_both_sides_learn_who_the_other_one_is() -> None:
    dialler, acceptor = greetings()
    assert dialler.answer(said(acceptor.answer(proof_of(dialler, acceptor)))) is None
    assert dialler.peer is not None
    assert acceptor.peer is not None
    assert (dialler.peer.incarnation, acceptor.peer.incarnation) == ("one", "two")


def test_keys_are_the_same_on_both_sides_and_differ_by_direction_and_connection() -> None:
    dialler, acceptor = greetings()
    proof_of(dialler, acceptor)
    keys = dialler.keys()
    assert keys == acceptor.keys()
    assert keys.from_dialler != keys.from_acceptor
    other = AcceptorGreeting(identity(), nonces(9)())
    other.answer(said(dialler.opening()))
    assert other.keys() != keys


def test_secret_is_in_no_frame() -> None:
    dialler, acceptor = greetings()
    hello = dialler.opening()
    challenge = acceptor.answer(said(hello))
    proof = dialler.answer(said(challenge))
    welcome = acceptor.answer(said(proof))
    assert not [each for each in (hello, challenge, proof, welcome) if SECRET in (each or b"")]


def test_dialler_with_another_secret_is_refused() -> None:
    dialler, acceptor = greetings(dialler=identity(secret=b"another secret of the cluster"))
    proof = proof_of(dialler, acceptor)
    with pytest.raises(LinkRejected, match="secret"):
        acceptor.answer(proof)
    assert acceptor.peer is None


def test_acceptor_that_does_not_know_the_secret_is_refused() -> None:
    dialler, acceptor = greetings()
    proof_of(dialler, acceptor)
    with pytest.raises(LinkRejected, match="secret"):
        dialler.answer(said(msgspec.msgpack.encode(Welcome(b"x" * 32))))
    assert dialler.peer is None


def test_proof_of_the_dialler_does_not_pass_as_that_of_the_acceptor() -> None:
    dialler, acceptor = greetings()
    proof = msgspec.msgpack.decode(proof_of(dialler, acceptor))
    with pytest.raises(LinkRejected, match="secret"):
        dialler.answer(said(msgspec.msgpack.encode(Welcome(proof[1]))))


def test_own_greeting_that_is_sent_back_is_refused() -> None:
    dialler, _ = greetings()
    hello = msgspec.msgpack.decode(dialler.opening(), type=Hello)
    mirrored = Challenge(*msgspec.structs.astuple(hello))
    with pytest.raises(LinkRejected, match="nonce"):
        dialler.answer(said(msgspec.msgpack.encode(mirrored)))


def test_proof_of_another_connection_is_refused() -> None:
    dialler, acceptor = greetings()
    old_proof = proof_of(dialler, acceptor)
    again = AcceptorGreeting(identity(), nonces(3)())
    again.answer(said(dialler.opening()))
    with pytest.raises(LinkRejected, match="secret"):
        again.answer(old_proof)


def test_man_in_the_middle_with_a_certificate_of_his_own_is_refused() -> None:
    dialler, acceptor = greetings(shown=b"certificate of the owner", seen=b"another certificate")
    proof = proof_of(dialler, acceptor)
    with pytest.raises(LinkRejected, match="secret"):
        acceptor.answer(proof)


def test_same_certificate_on_both_sides_is_accepted() -> None:
    dialler, acceptor = greetings(shown=b"certificate", seen=b"certificate")
    acceptor.answer(proof_of(dialler, acceptor))
    assert acceptor.peer is not None


def test_front_end_of_another_cluster_is_refused_by_both_sides() -> None:
    dialler, acceptor = greetings(dialler=identity(cluster="other"))
    with pytest.raises(LinkRejected, match="clusters differ: tests here, other there"):
        acceptor.answer(said(dialler.opening()))
    _, other = greetings()
    challenge = other.answer(said(greetings()[0].opening()))
    with pytest.raises(LinkRejected, match="clusters differ: other here, tests there"):
        dialler.answer(said(challenge))


def test_other_version_of_the_protocol_is_refused() -> None:
    _, acceptor = greetings()
    hello = Hello(PROTOCOL + 1, "9.9", "tests", "two", b"n" * 32)
    with pytest.raises(LinkRejected, match=f"{PROTOCOL + 1} .DoveMQ 9.9. there"):
        acceptor.answer(said(msgspec.msgpack.encode(hello)))


def test_short_nonce_is_refused() -> None:
    _, acceptor = greetings()
    hello = Hello(PROTOCOL, "1.0", "tests", "two", b"short")
    with pytest.raises(LinkRejected, match="nonce"):
        acceptor.answer(said(msgspec.msgpack.encode(hello)))


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xc1", b"\x91" * 4_000, b"GET / HTTP/1.1\r\n", msgspec.msgpack.encode(["hello", 1])],
    ids=["empty", "invalid", "nested", "http", "short"],
)
def test_frame_that_is_no_greeting_is_refused(frame: bytes) -> None:
    dialler, acceptor = greetings()
    for side in (dialler, acceptor):
        with pytest.raises(LinkRejected, match="cannot be read"):
            side.answer(memoryview(frame))


def test_proof_before_the_hello_is_refused() -> None:
    dialler, acceptor = greetings()
    proof = proof_of(dialler, acceptor)
    fresh = greetings()[1]
    with pytest.raises(LinkRejected, match="out of turn"):
        fresh.answer(proof)


def test_text_of_a_stranger_stays_on_one_line_of_the_log() -> None:
    _, acceptor = greetings()
    hello = Hello(PROTOCOL, "1.0", "x\nforged line" + "y" * 3_000, "two", b"n" * 32)
    with pytest.raises(LinkRejected) as caught:
        acceptor.answer(said(msgspec.msgpack.encode(hello)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_short_secret_is_refused() -> None:
    with pytest.raises(LinkRejected, match="at least 16"):
        identity(secret=b"short").check()


def test_name_of_a_cluster_follows_from_its_key_and_does_not_show_it() -> None:
    key = b"receipt key of a cluster"
    assert cluster_name(key) == cluster_name(key)
    assert cluster_name(key) != cluster_name(b"receipt key of another")
    assert key.hex() not in cluster_name(key)
