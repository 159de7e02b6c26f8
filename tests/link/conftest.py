"""Fixtures of two front ends with a link between them."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from dovemq.cluster.link import LinkCertificate, bounds, read_fingerprint
from tests.link.pairs import Pair


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    made = await Pair().start()
    yield made
    await made.close()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks and waits of the link take a twentieth of their time."""
    for module, names in {
        "channel": ("TICK_SECONDS",),
        "dialling": ("RETRY_SECONDS_MIN", "RETRY_SECONDS_MAX", "REFUSED_SECONDS"),
    }.items():
        for name in names:
            value = getattr(bounds, name) / 20
            monkeypatch.setattr(f"dovemq.cluster.link.{module}.{name}", value)


def _certificate(folder: Path) -> LinkCertificate:
    folder.mkdir()
    issued = trustme.CA().issue_cert("front-end.example")
    issued.private_key_and_cert_chain_pem.write_to_path(str(folder / "both.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    (folder / "certificate.pem").write_bytes(issued.cert_chain_pems[0].bytes())
    return LinkCertificate(context, read_fingerprint(folder / "certificate.pem"))


@pytest.fixture
def certificate(tmp_path: Path) -> LinkCertificate:
    return _certificate(tmp_path / "one")


@pytest.fixture
def other_certificate(tmp_path: Path) -> LinkCertificate:
    return _certificate(tmp_path / "two")
