"""The file of the cluster's secret."""

import os
from pathlib import Path

import pytest

from dovemq.cluster.link import read_cluster_secret
from dovemq.core.errors import StoreUnusable

SECRET = b"0123456789abcdef0123"


def _file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_secret_is_read_without_the_line_end(tmp_path: Path) -> None:
    assert read_cluster_secret(_file(tmp_path, SECRET + b"\n")) == SECRET


def test_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="others may read it"):
        read_cluster_secret(_file(tmp_path, SECRET, 0o644))


@pytest.mark.parametrize("content", [b"", b"short\n", b"x" * 5_000], ids=["empty", "short", "long"])
def test_secret_of_another_length_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(StoreUnusable, match="openssl rand") as caught:
        read_cluster_secret(_file(tmp_path, content))
    assert "short" not in str(caught.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="cannot be read"):
        read_cluster_secret(tmp_path / "missing")


def test_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(_file(tmp_path, SECRET))
    assert read_cluster_secret(tmp_path / "link") == SECRET


def test_link_to_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(_file(tmp_path, SECRET, 0o644))
    with pytest.raises(StoreUnusable, match="others may read it"):
        read_cluster_secret(tmp_path / "link")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@as_root
def test_group_may_read_a_secret_of_root(tmp_path: Path) -> None:
    assert read_cluster_secret(_file(tmp_path, SECRET, 0o440)) == SECRET


@as_root
@pytest.mark.parametrize("mode", [0o460, 0o444, 0o604])
def test_nobody_else_may_use_a_secret_of_root(tmp_path: Path, mode: int) -> None:
    with pytest.raises(StoreUnusable, match="others may read it"):
        read_cluster_secret(_file(tmp_path, SECRET, mode))


@as_root
def test_secret_of_another_user_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, SECRET)
    os.chown(path, 12_345, -1)
    with pytest.raises(StoreUnusable, match="belongs to user 12345"):
        read_cluster_secret(path)
