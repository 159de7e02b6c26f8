"""The certificate and key of the listeners, read again when their files change.

If a new pair cannot be used, the previous one stays in use. Open connections keep their pair.
"""

import logging
import os
import ssl
import stat
from pathlib import Path
from typing import Final

from dovemq.core.errors import DoveError

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5
"""Time between two checks of the files."""

TLS12_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Authenticated encryption with forward secrecy; CBC suites have a record of padding attacks."""

_Stamp = tuple[tuple[int, int, int] | None, ...]


class CertificateUnusable(DoveError):
    def __init__(self, place: str, found: str, remedy: str) -> None:
        super().__init__(f"{place}: {found}; {remedy}")


class _KeyEncryptedError(Exception):
    """Raised instead of asking for the password at the terminal."""


class Certificates:
    """The pair of files; `context` is for new connections.

    The constructor raises `CertificateUnusable`; later failures are logged.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._stamp = self._look()
        self.context = self._load()

    def look(self) -> None:
        """Read the pair again if one of its files has changed."""
        if self._look() != self._stamp:
            self.reload()

    def reload(self) -> None:
        # Taken first, so that a change during the reading is noticed next time.
        self._stamp = self._look()
        try:
            self.context = self._load()
        except CertificateUnusable as error:
            log.warning("%s; new connections get the previous certificate", error)
        else:
            log.info("%s: new connections get this certificate", self._certificate)

    def _look(self) -> _Stamp:
        return (_stamp_of(self._certificate), _stamp_of(self._key))

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(TLS12_CIPHERS)
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(["http/1.1"])
        for path in (self._certificate, self._key):
            _check_readable(path)
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except _KeyEncryptedError:
            raise CertificateUnusable(
                str(self._key), "the key is encrypted", "name one without a password"
            ) from None
        except ssl.SSLError as error:
            found = (error.reason or "not PEM").lower().replace("_", " ")
            remedy = f"it must be PEM and fit the key in {self._key}"
            raise CertificateUnusable(str(self._certificate), found, remedy) from None
        self._warn_if_public()
        return context

    def _warn_if_public(self) -> None:
        mode = stat.S_IMODE(self._key.stat().st_mode)
        if mode & stat.S_IRWXO:
            # Not refused, since containers without other users often mount secrets like this.
            log.warning("%s: every user may read this key (mode %04o)", self._key, mode)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _check_readable(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        raise CertificateUnusable(
            str(path), error.strerror or str(error), "name a file that can be read"
        ) from None


def _no_password() -> str:
    raise _KeyEncryptedError
