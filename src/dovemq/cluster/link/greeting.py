"""The handshake of a link: both sides prove that they know the secret of the cluster.

    dialling side                                    accepting side
    Hello (protocol, product, cluster, incarnation, nonce) →
                             ← Challenge (the same of the accepting side)
    Proof (HMAC of all of it, as "dialler") →
                             ← Welcome (HMAC of all of it, as "acceptor"), or LinkRefusal

The proofs are HMAC-SHA256 with the secret as key, over both greetings, the role of the prover and
the fingerprint of the accepting side's certificate if TLS is on. The secret itself never travels.
The dialling side proves itself first, so that a stranger who connects gets nothing to guess the
secret from.

Without TLS, keys for each direction of this connection are derived from the same values, and every
frame carries a tag (`channel.py`). So nobody in the path can forge, change, repeat or leave out a
frame; but anybody in the path can read it. With TLS nobody can read it either. TLS needs no
certificate authority here: a man in the middle must show a certificate of his own, and then the
two sides compute proofs over different fingerprints.

All of this is without I/O: each side is given the frames that arrive, and answers with the frames
to send.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.cluster.link.bounds import PROTOCOL, REASON_LENGTH_MAX, SECRET_BYTES_MIN
from dovemq.core.errors import DoveError

NONCE_BYTES: Final = 32
_DIALLER: Final = "dialler"
_ACCEPTOR: Final = "acceptor"
_TLS_RECORD: Final = 22
"""The first byte of a TLS connection."""


class LinkRejected(DoveError):
    """A greeting failed for a reason that only an operator can change."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class ClusterIdentity(Struct, frozen=True):
    """The values that a front end states about itself when it greets another one.

    `cluster` and `incarnation` are callables: the first is known once the shared store is open
    (`cluster_name`), and a front end that has lost its lease goes on under a new incarnation.
    """

    cluster: Callable[[], str]
    product: str
    incarnation: Callable[[], str]
    secret: bytes

    def check(self) -> None:
        if len(self.secret) < SECRET_BYTES_MIN:
            raise LinkRejected(
                f"the cluster's secret has {len(self.secret)} bytes; "
                f"it must have at least {SECRET_BYTES_MIN}"
            )


class Hello(Struct, array_like=True, tag="hello", frozen=True):
    protocol: int
    product: str
    cluster: str
    incarnation: str
    nonce: bytes


class Challenge(Struct, array_like=True, tag="challenge", frozen=True):
    protocol: int
    product: str
    cluster: str
    incarnation: str
    nonce: bytes


class Proof(Struct, array_like=True, tag="proof", frozen=True):
    mac: bytes


class Welcome(Struct, array_like=True, tag="welcome", frozen=True):
    mac: bytes


class LinkRefusal(Struct, array_like=True, tag="refusal", frozen=True):
    reason: str


_Greeting = Hello | Challenge | Proof | Welcome | LinkRefusal


class FrameKeys(Struct, frozen=True):
    """The keys of one connection, for the frames of each direction."""

    from_dialler: bytes
    from_acceptor: bytes


class _Transcript(Struct, frozen=True):
    """Both greetings and the certificate's fingerprint: what the proofs are about."""

    secret: bytes
    hello: Hello
    challenge: Challenge
    fingerprint: bytes

    def mac(self, purpose: str) -> bytes:
        # msgpack writes the length of each part, so that no two lists have the same bytes.
        said = msgspec.msgpack.encode([purpose, self.hello, self.challenge, self.fingerprint])
        return hmac.digest(self.secret, said, "sha256")

    def is_proved(self, role: str, mac: bytes) -> bool:
        return hmac.compare_digest(mac, self.mac(role))

    def keys(self) -> FrameKeys:
        return FrameKeys(self.mac("frames of the dialler"), self.mac("frames of the acceptor"))


class DiallerGreeting:
    """The dialling side of one handshake. `peer` is set when the other side has proved itself."""

    def __init__(self, identity: ClusterIdentity, nonce: bytes, fingerprint: bytes = b"") -> None:
        self._identity = identity
        self._fingerprint = fingerprint
        self._hello = Hello(
            PROTOCOL, identity.product, identity.cluster(), identity.incarnation(), nonce
        )
        self._transcript: _Transcript | None = None
        self.peer: Challenge | None = None

    def opening(self) -> bytes:
        return msgspec.msgpack.encode(self._hello)

    def answer(self, frame: memoryview) -> bytes | None:
        """The next frame to send; None when the greeting is complete."""
        match _decoded(frame):
            case LinkRefusal(reason):
                raise LinkRejected(f"it refused the link and said: {_printable(reason)}")
            case Challenge() as challenge if self._transcript is None:
                _check_alike(self._hello, challenge)
                self._transcript = _Transcript(
                    self._identity.secret, self._hello, challenge, self._fingerprint
                )
                return msgspec.msgpack.encode(Proof(self._transcript.mac(_DIALLER)))
            case Welcome(mac) if self._transcript is not None and self.peer is None:
                if not self._transcript.is_proved(_ACCEPTOR, mac):
                    raise LinkRejected("it did not prove that it knows the cluster's secret")
                self.peer = self._transcript.challenge
                return None
        raise LinkRejected("its greeting came out of turn")

    def keys(self) -> FrameKeys:
        assert self._transcript is not None
        return self._transcript.keys()


class AcceptorGreeting:
    """The accepting side of one handshake. `peer` is set when the other side has proved itself."""

    def __init__(self, identity: ClusterIdentity, nonce: bytes, fingerprint: bytes = b"") -> None:
        self._identity = identity
        self._fingerprint = fingerprint
        self._challenge = Challenge(
            PROTOCOL, identity.product, identity.cluster(), identity.incarnation(), nonce
        )
        self._transcript: _Transcript | None = None
        self.peer: Hello | None = None

    def answer(self, frame: memoryview) -> bytes:
        match _decoded(frame):
            case Hello() as hello if self._transcript is None:
                _check_alike(self._challenge, hello)
                self._transcript = _Transcript(
                    self._identity.secret, hello, self._challenge, self._fingerprint
                )
                return msgspec.msgpack.encode(self._challenge)
            case Proof(mac) if self._transcript is not None and self.peer is None:
                if not self._transcript.is_proved(_DIALLER, mac):
                    raise LinkRejected(
                        "the dialling side did not prove that it knows the cluster's secret"
                    )
                self.peer = self._transcript.hello
                return msgspec.msgpack.encode(Welcome(self._transcript.mac(_ACCEPTOR)))
        raise LinkRejected("the dialling side's greeting came out of turn")

    def keys(self) -> FrameKeys:
        assert self._transcript is not None
        return self._transcript.keys()


def cluster_name(receipt_key: bytes) -> str:
    """A name of the cluster that tells nothing of the key, which all its front ends share."""
    return hmac.digest(receipt_key, b"name of the cluster", "sha256").hex()[:32]


def refusal(reason: str) -> bytes:
    return msgspec.msgpack.encode(LinkRefusal(reason[:REASON_LENGTH_MAX]))


def fingerprint_of(certificate_der: bytes) -> bytes:
    return hashlib.sha256(certificate_der).digest()


def reason_for_bytes(start: bytes) -> str:
    """The likely reason why a connection does not begin with a greeting."""
    if start and start[0] == _TLS_RECORD:
        return "the other side speaks TLS: turn TLS on for all front ends or for none"
    return "the other side does not speak the link's protocol"


def _decoded(frame: memoryview) -> _Greeting:
    try:
        greeting: _Greeting = msgspec.msgpack.decode(frame, type=_Greeting)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LinkRejected("its greeting cannot be read") from None
    return greeting


def _check_alike(own: Hello | Challenge, other: Hello | Challenge) -> None:
    if other.protocol != own.protocol:
        raise LinkRejected(
            f"protocol versions differ: {own.protocol} (DoveMQ {own.product}) here, "
            f"{other.protocol} (DoveMQ {_printable(other.product)}) there; run the same release"
        )
    if other.cluster != own.cluster:
        raise LinkRejected(
            f"clusters differ: {own.cluster} here, {_printable(other.cluster)} there; "
            "give front ends of one cluster the same store"
        )
    if len(other.nonce) != NONCE_BYTES:
        raise LinkRejected("its nonce does not have the right length")
    if other.nonce == own.nonce:
        raise LinkRejected("it repeats our own nonce")


def _printable(text: str) -> str:
    """Text of a stranger for the log: short, and on one line."""
    return ascii(text[:REASON_LENGTH_MAX])[1:-1]
