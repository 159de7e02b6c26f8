"""The pair of certificate and key: read at start, read again when its files change."""

import logging
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from dovemq.server.certificates import Certificates, CertificateUnusable
from tests.server.secured import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def encrypt(key: Path) -> None:
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(
        loaded.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
    )


def test_only_suites_with_authenticated_encryption_are_offered(pair: Pair) -> None:
    names = [suite["name"] for suite in pair.certificates().context.get_ciphers()]
    assert names
    assert not [name for name in names if "GCM" not in name and "CHACHA20" not in name]
    old = [name for name in names if not name.startswith(("TLS_", "ECDHE-"))]
    assert not old


def test_pair_that_stays_is_not_read_again(pair: Pair) -> None:
    certificates = pair.certificates()
    before = certificates.context
    certificates.look()
    assert certificates.context is before


def test_pair_that_changes_is_read_again(pair: Pair) -> None:
    certificates = pair.certificates()
    before = certificates.context
    pair.renew()
    certificates.look()
    assert certificates.context is not before


def test_pair_behind_a_link_that_is_turned_is_read_again(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    other = Pair(tmp_path / "new")
    links = [tmp_path / "certificate.link", tmp_path / "key.link"]
    for link, target in zip(links, (pair.certificate, pair.key), strict=True):
        link.symlink_to(target)
    certificates = Certificates(*links)
    before = certificates.context
    for link, target in zip(links, (other.certificate, other.key), strict=True):
        fresh = link.with_suffix(".fresh")
        fresh.symlink_to(target)
        fresh.replace(link)
    certificates.look()
    assert certificates.context is not before


def test_half_a_change_keeps_the_pair_before_until_the_other_half_comes(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = pair.certificates()
    before, old_key = certificates.context, pair.key.read_bytes()
    pair.renew()
    new_key = pair.key.read_bytes()
    pair.key.write_bytes(old_key)
    certificates.look()
    assert certificates.context is before
    assert "key values mismatch" in caplog.text
    caplog.clear()
    certificates.look()
    assert not caplog.text
    pair.key.write_bytes(new_key)
    os.utime(pair.key, ns=(1, 1))
    certificates.look()
    assert certificates.context is not before


@pytest.mark.parametrize("damage", ["text", "gone", "empty", "encrypted"])
def test_broken_pair_keeps_the_previous_one_and_logs_why(
    pair: Pair, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    certificates = pair.certificates()
    before = certificates.context
    if damage == "encrypted":
        encrypt(pair.key)
    elif damage == "gone":
        pair.key.unlink()
    else:
        pair.key.write_text("no key\n" if damage == "text" else "")
    certificates.look()
    assert certificates.context is before
    assert str(pair.key) in caplog.text


@pytest.mark.parametrize("which", ["certificate", "key"])
def test_pair_that_is_not_there_at_the_start_is_refused(pair: Pair, which: str) -> None:
    path: Path = getattr(pair, which)
    path.unlink()
    with pytest.raises(CertificateUnusable, match=f"{path}: No such file"):
        pair.certificates()


def test_encrypted_key_is_refused_without_asking_for_its_password(pair: Pair) -> None:
    encrypt(pair.key)
    with pytest.raises(CertificateUnusable, match="encrypted"):
        pair.certificates()


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True)])
def test_key_that_every_user_may_read_is_warned_about(
    pair: Pair, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    pair.key.chmod(mode)
    with caplog.at_level(logging.WARNING):
        pair.certificates()
    assert ("every user may read" in caplog.text) is warned


def test_no_error_shows_the_key(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    certificates = pair.certificates()
    lines = pair.key.read_text().splitlines()
    pair.key.write_text("\n".join([lines[0], *lines[2:]]))
    certificates.look()
    assert caplog.text
    assert not [line for line in lines[1:-1] if line in caplog.text]
