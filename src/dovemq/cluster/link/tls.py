"""TLS of the link. Certificates are proved by the cluster's secret, not by an authority.

`greeting.py` says why that is enough. So a front end needs no certificates of the others, and each
may have its own.
"""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from dovemq.cluster.link.greeting import fingerprint_of

PEM_START = "-----BEGIN CERTIFICATE-----"
PEM_END = "-----END CERTIFICATE-----"


class LinkCertificate(Struct, frozen=True):
    """A context of the accepting side and the fingerprint of the certificate in it."""

    context: ssl.SSLContext
    fingerprint: bytes


def read_fingerprint(certificate: Path) -> bytes:
    """The fingerprint of the first certificate in a PEM file: the one that a server shows."""
    text = certificate.read_text()
    start = text.index(PEM_START)
    end = text.index(PEM_END, start) + len(PEM_END)
    return fingerprint_of(ssl.PEM_cert_to_DER_cert(text[start:end]))


def dialling_context() -> ssl.SSLContext:
    """Checks no certificate: the greeting does, by the fingerprint in its proofs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class AcceptingContexts:
    """The context of a listener, which uses the newest certificate for each new connection."""

    def __init__(self, newest: Callable[[], LinkCertificate]) -> None:
        self._newest = newest
        self._used: LinkCertificate = newest()
        self._before: LinkCertificate = self._used
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        # OpenSSL calls it in every handshake, before it chooses the certificate.
        self.context.sni_callback = self._choose

    def fingerprint(self, ssl_object: ssl.SSLObject) -> bytes:
        """The fingerprint of the certificate that this connection was shown."""
        for each in (self._used, self._before):
            if ssl_object.context is each.context:
                return each.fingerprint
        return b""

    def _choose(self, ssl_object: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        newest = self._newest()
        if newest.context is not self._used.context:
            self._before, self._used = self._used, newest
        ssl_object.context = newest.context
